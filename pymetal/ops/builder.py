"""Building IR by writing arithmetic: what the derivative column of the operator table is written in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pymetal import ir
from pymetal.ops.table import TABLE

Operand: TypeAlias = "Term | int | float"


@dataclass(frozen=True)
class Term:
    """An expression whose operators build expressions of the same type."""

    expr: ir.Expr

    def call(self, name: str, *others: Operand) -> Term:
        """Row `name` applied to this term and `others`, all of this term's type."""
        args = (self.expr, *(self.lift(o).expr for o in others))
        op = TABLE[name]
        compares = op.rule in (ir.TypeRule.COMPARE, ir.TypeRule.PREDICATE)
        return Term(ir.Call(op, args, ir.BOOL if compares else self.expr.type))

    def lift(self, other: Operand) -> Term:
        """`other` as a term of this one's type."""
        return other if isinstance(other, Term) else Term(ir.Const(other, self.expr.type))

    def where(self, condition: Term, otherwise: Operand) -> Term:
        """This term where `condition` holds, else `otherwise`."""
        return Term(ir.Select(condition.expr, self.expr, self.lift(otherwise).expr, self.expr.type))

    def sign(self) -> Term:
        """1 where this term is above zero, -1 where it is below, else 0."""
        return self.lift(1).where(self > 0, self.lift(-1).where(self < 0, 0))

    def is_number(self, value: float) -> bool:
        """True if this term is the constant `value`, of either sign if zero."""
        return isinstance(self.expr, ir.Const) and self.expr.value == value

    # Zero and one are simplified away: derivatives are mostly made of them.
    def __add__(self, other: Operand) -> Term:
        other = self.lift(other)
        if self.is_number(0):
            return other
        return self if other.is_number(0) else self.call("add", other)

    def __radd__(self, other: Operand) -> Term:
        return self.lift(other) + self

    def __sub__(self, other: Operand) -> Term:
        other = self.lift(other)
        if self.is_number(0):
            return -other
        return self if other.is_number(0) else self.call("sub", other)

    def __rsub__(self, other: Operand) -> Term:
        return self.lift(other) - self

    def __mul__(self, other: Operand) -> Term:
        other = self.lift(other)
        if self.is_number(0) or other.is_number(0):
            return self.lift(0)
        if self.is_number(1):
            return other
        return self if other.is_number(1) else self.call("mul", other)

    def __rmul__(self, other: Operand) -> Term:
        return self.lift(other) * self

    def __truediv__(self, other: Operand) -> Term:
        other = self.lift(other)
        if self.is_number(0):
            return self
        return self if other.is_number(1) else self.call("truediv", other)

    def __rtruediv__(self, other: Operand) -> Term:
        return self.lift(other) / self

    def __neg__(self) -> Term:
        if isinstance(self.expr, ir.Const):
            return Term(ir.Const(-self.expr.value, self.expr.type))
        return self.call("neg")

    def __gt__(self, other: Operand) -> Term:
        return self.call("gt", other)

    def __lt__(self, other: Operand) -> Term:
        return self.call("lt", other)

    def equals(self, other: Operand) -> Term:
        """A term that is true where the two are equal."""
        return self.call("eq", other)
