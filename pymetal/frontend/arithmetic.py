"""Application of operators to typed operands: promotion, conversion, and constant folding of Python numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pymetal import dtypes, ir
from pymetal.dtypes import DType, Kind
from pymetal.errors import Span
from pymetal.frontend.common_subexpressions import CommonSubexpressions
from pymetal.frontend.refusals import refusal
from pymetal.frontend.typing import Typing
from pymetal.ir import Call, Cast, Const, Expr, Number, Op, Select, Type, TypeRule, Weak
from pymetal.ops import TABLE
from pymetal.ops import python as ops

PythonNumber = bool | int | float | complex
_INTEGERS = frozenset({Kind.SIGNED, Kind.UNSIGNED})
_PROMOTED = frozenset({dtypes.int64, dtypes.int32, dtypes.int16, dtypes.int8, dtypes.uint16, dtypes.uint8})
_WEAK_TYPES: tuple[tuple[type, Type], ...] = (
    (bool, ir.BOOL), (int, ir.WEAK_INT), (float, ir.WEAK_FLOAT), (complex, ir.WEAK_COMPLEX),
)  # fmt: skip


@dataclass(frozen=True)
class Arithmetic:
    """The operators of one function, for one group of dtypes."""

    typing: Typing
    subexpressions: CommonSubexpressions

    def convert(self, value: Expr, target: Type, *, implicit: bool = True, span: Span | None = None) -> Expr:
        """`value` as `target`; no conversion is written where the two are the same type everywhere."""
        if isinstance(value, Const) and (isinstance(value.type, Weak) or value.type == ir.BOOL):
            return replace(value, type=target)
        if self.typing.same(value.type, target):
            return value
        return Cast(target, value, implicit, span)

    def join(self, a: Type, b: Type, span: Span) -> Type:
        """The type in which two operands meet."""
        joined = self.typing.join(a, b)
        if joined is None:
            raise refusal("no-common-type", span, a=self.typing.describe(a), b=self.typing.describe(b))
        return joined

    def join_all(self, args: Sequence[Expr], span: Span) -> Type:
        """The type in which all operands meet."""
        joined = args[0].type
        for arg in args[1:]:
            joined = self.join(joined, arg.type, span)
        return joined

    def apply(self, op: Op, args: Sequence[Expr], span: Span, name: str = "") -> Expr:
        """Operator `op`, which the body calls `name`, on `args`."""
        folded = self._fold(op, args, span, name or op.display)
        if folded is not None:
            return folded
        if op.rule is TypeRule.LOGICAL:
            return Call(op, tuple(self.convert(a, ir.BOOL) for a in args), ir.BOOL, span)
        param_types = op.params or (None,) * len(args)
        joined = self.join_all([a for a, p in zip(args, param_types, strict=True) if p is None], span)
        decided = self._decide(op, args, span)
        if decided is not None:
            return decided
        if (op.rule is TypeRule.COMPARE or op in (ops.MAX, ops.MIN)) and self._mixes_counter(args):
            if op.rule is TypeRule.COMPARE:
                return Call(op, tuple(args), ir.BOOL, span)
            if any(self.typing.at(a.type) != self.typing.at(joined) for a in args):
                return self._limit(op, args, joined, span)
        row = self._row_for(op, joined)
        if row is not op:
            return self.apply(row, args, span)
        # As in torch, all take the common type before the operator widens it: an integer next to half is rounded.
        # Python numbers are not.
        common = joined
        joined, compute = self._value_and_compute_type(op, joined, span)
        for arg, wanted in zip(args, param_types, strict=True):
            if wanted is not None:
                self._check_operand(op, arg, wanted, span)
        met = (
            a if p or isinstance(a.type, Weak) else self.convert(a, common)
            for a, p in zip(args, param_types, strict=True)
        )
        operands = tuple(self.convert(a, p or compute) for a, p in zip(met, param_types, strict=True))
        if op.rule in (TypeRule.COMPARE, TypeRule.PREDICATE):
            return Call(op, operands, ir.BOOL, span)
        if op.result is not None:
            return Call(op, operands, self.typing.substitute(op.result, compute), span)
        return self.convert(Call(op, operands, compute, span), joined)

    def _decide(self, op: Op, args: Sequence[Expr], span: Span) -> Expr | None:
        """A comparison, or `max` or `min`, with a Python integer that the other operand's dtype cannot hold.

        It is decided as in mathematics. None where the number fits, or where there is none.
        """
        if len(args) != 2 or (op.rule is not TypeRule.COMPARE and op not in (ops.MAX, ops.MIN)):
            return None
        for index, value in enumerate(map(number, args)):
            other = args[1 - index]
            if type(value) is not int or not self.typing.kinds(other.type) <= _INTEGERS or isinstance(other.type, Weak):
                continue
            side = self.typing.uniform([_side(value, d) for d in self.typing.at(other.type) if d is not None])
            if side == 0:
                return None
            if op.rule is TypeRule.COMPARE and op.fold is not None:
                return weak(op.fold(*((side, 0) if index == 0 else (0, side))), span)
            return other if (side < 0) == (op is ops.MAX) else None
        return None

    def _limit(self, op: Op, args: Sequence[Expr], joined: Type, span: Span) -> Expr:
        """`max` or `min` of an element and a Python integer that its type may not hold: the comparison is exact."""
        counter, other = sorted(args, key=lambda a: not isinstance(a.type, Weak))
        value = self.subexpressions.share(other, "value", 2, span)
        inside = Call(ops.GT if op is ops.MAX else ops.LT, (value, counter), ir.BOOL, span)
        return Select(inside, self.convert(value, joined), self.convert(counter, joined), joined)

    def _mixes_counter(self, args: Sequence[Expr]) -> bool:
        """True for a variable of Python integers next to elements that C++ compares with it as mathematics does."""
        counters = [a for a in args if isinstance(a.type, Weak) and a.type.number is Number.INT and number(a) is None]
        others = [a for a in args if not isinstance(a.type, Weak)]
        found = {d for a in others for d in self.typing.at(a.type)}
        return len(counters) == len(others) == 1 and found <= _PROMOTED

    def _row_for(self, op: Op, joined: Type) -> Op:
        """The row of the operator for operands of the kind of `joined`."""
        kinds = self.typing.kinds(joined)
        if kinds == {Kind.BOOL} and op.bool_overload is not None:
            return op.bool_overload
        if kinds == {Kind.COMPLEX} and op.complex_overload is not None:
            return op.complex_overload
        if kinds <= {Kind.SIGNED, Kind.UNSIGNED} and op.integer_overload is not None:
            return op.integer_overload
        return op

    def _value_and_compute_type(self, op: Op, joined: Type, span: Span) -> tuple[Type, Type]:
        """The type of the operator's value, and the type it is computed in."""
        if (
            op.rule in (TypeRule.INT_TO_FLOAT, TypeRule.MATH, TypeRule.PREDICATE)
            and self.typing.kinds(joined) <= dtypes.REAL
        ):
            joined = self._mapped(self.typing.floating(joined), joined, op, span)
        if op.rule not in (TypeRule.MATH, TypeRule.PREDICATE, TypeRule.OPMATH) or not self.typing.kinds(joined) <= {
            Kind.FLOATING
        }:
            return joined, joined
        return joined, self._mapped(self.typing.compute(joined), joined, op, span)

    def _mapped(self, mapped: Type | None, type_: Type, op: Op, span: Span) -> Type:
        if mapped is None:
            raise refusal(
                "no-common-type", span, a=self.typing.describe(type_), b=dtypes.float32, at=f" for {op.display}"
            )
        return mapped

    def _check_operand(self, op: Op, arg: Expr, wanted: Type, span: Span) -> None:
        joined = self.typing.join(arg.type, wanted)
        if isinstance(arg, Const) or (joined is not None and self.typing.same(joined, wanted)):
            return
        hint = f"That operand is {self.typing.describe(wanted)}: convert it."
        raise refusal("operand-kind", span, op=op.display, type=self.typing.describe(arg.type), hint=hint)

    def _fold(self, op: Op, args: Sequence[Expr], span: Span, name: str) -> Expr | None:
        """The value of an operator on Python numbers alone, as Python has it."""
        values = [number(a) for a in args]
        if op.fold is None or None in values:
            return None
        if op is ops.POW and _is_huge(values):
            raise refusal("python-error", span, op=name, error="the result has thousands of digits")
        try:
            return weak(op.fold(*values), span)
        except (ArithmeticError, ValueError, TypeError) as error:
            reason = "the result is too large for a float" if isinstance(error, OverflowError) else error
            raise refusal("python-error", span, op=name, error=reason) from error

    # --- operators that need more than a row ---

    def power(self, base: Expr, exponent: Expr, span: Span) -> Expr:
        """`base ** exponent`; the constant exponents for which torch multiplies or divides do so here too."""
        value = number(exponent)
        if value is None or number(base) is not None:
            return self.apply(ops.POW, [base, exponent], span)
        self.join(base.type, exponent.type, span)
        kinds = self.typing.kinds(base.type)
        if kinds == {Kind.BOOL} or (kinds <= dtypes.INTEGRAL and not isinstance(value, int)):
            return self.apply(ops.POW, [base, exponent], span)
        if value == 0:
            return self.convert(weak(1, span), base.type)
        if value == 1:
            return base
        if value in (2, 3):
            base = self.subexpressions.share(base, "base", uses=2 if value == 2 else 3, span=span)
            square = self.apply(ops.MUL, [base, base], span)
            return square if value == 2 else self.apply(ops.MUL, [square, base], span)
        if kinds <= {Kind.FLOATING}:
            if value in (0.5, -0.5):
                return self.apply(TABLE["metal.precise.sqrt" if value == 0.5 else "metal.precise.rsqrt"], [base], span)
            if value in (-1, -2):
                if value == -2:
                    base = self.subexpressions.share(base, "base", uses=2, span=span)
                    base = self.apply(ops.MUL, [base, base], span)
                return self.apply(ops.TRUEDIV, [weak(1, span), base], span)
        return self.apply(ops.POW, [base, exponent], span)

    def shift(self, op: Op, constant_op: Op, value: Expr, count: Expr, span: Span) -> Expr:
        """`value << count` and `value >> count`; a constant count inside the width needs no test."""
        fixed = number(count)
        widths = [d.bits for d in self.typing.at(value.type) if d is not None]
        if fixed is not None and number(value) is None and isinstance(fixed, int) and 0 <= fixed < min(widths):
            return self.apply(constant_op, [value, count], span)
        return self.apply(op, [value, count], span)

    def horner(self, x: Expr, coefficients: Sequence[int | float], span: Span) -> Expr:
        """A polynomial by Horner's rule, the coefficient of the highest power first."""
        x = self.subexpressions.share(x, "argument", uses=len(coefficients) - 1, span=span)
        result: Expr = weak(coefficients[0], span)
        for coefficient in coefficients[1:]:
            product = self.apply(ops.MUL, [result, x], span)
            result = self.apply(ops.ADD, [product, weak(coefficient, span)], span)
        # A constant polynomial still has the type of its argument.
        return self.convert(result, x.type) if len(coefficients) == 1 else result


def _side(value: int, dtype: DType) -> int:
    """-1 or 1 where `value` is below or above all values of `dtype`, else 0."""
    low, high = dtype.limits
    return (value > high) - (value < low)


def _is_huge(values: Sequence[PythonNumber | None]) -> bool:
    """True for an integer power that Python would take long to compute."""
    base, exponent = values
    if not isinstance(base, int) or not isinstance(exponent, int):
        return False
    return base.bit_length() * abs(exponent) > 4096


def number(expr: Expr) -> PythonNumber | None:
    """The Python number that an expression is, if it has no element type yet."""
    if isinstance(expr, Const) and (isinstance(expr.type, Weak) or expr.type == ir.BOOL):
        return expr.value
    return None


def weak(value: PythonNumber, span: Span | None = None) -> Const:
    """A Python number as a constant that takes the type of what it is combined with."""
    if type(value) is int and not -(1 << 31) <= value < 1 << 31:
        return Const(value, ir.WEAK_LONG, span)
    return Const(value, next(type_ for class_, type_ in _WEAK_TYPES if isinstance(value, class_)), span)


def is_finite_integer(value: PythonNumber) -> bool:
    """True for a number that an integer type could hold."""
    if isinstance(value, complex):
        return False
    return isinstance(value, int) or (math.isfinite(value) and value.is_integer())
