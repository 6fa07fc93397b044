"""Common subexpressions: a value that the text would repeat becomes a variable, declared before its statement.

`metal.exp(x) ** 2` is `exp(x) * exp(x)`, and a chained comparison reads its middle operand twice. Evaluation has no
side effects, so it may be hoisted to the start of the statement. The value is repeated where no statement can be
inserted, in the condition of a `while`, and where hoisting would evaluate it although its condition does not hold and
that may never end or is undefined: a helper with a loop, an integer division. Cheap values are repeated as well. The
size of an expression is limited.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from pymetal import dtypes, ir
from pymetal.errors import Span
from pymetal.frontend.refusals import refusal
from pymetal.frontend.source import Source
from pymetal.frontend.typing import Typing
from pymetal.ir import Call, Cast, Const, Expr, Invoke, Name

_MAX_NODES = 20_000  # of an expression: later stages visit all of them, at every dtype
_MAX_COPIED = 1000  # nodes of all copies of a value that has no variable
_MAX_CHEAP = 3  # copies of an operator that needs no variable

Declare = Callable[[str, int, Expr], Expr]  # a name to start from, a number within the statement, and the value


@dataclass
class InsertionPoint:
    """The place before the statement that is being lowered, where variables for its subexpressions are declared."""

    statements: list[ir.Stmt]
    declare: Declare
    count: int = 0
    declared: dict[Expr, Expr] = field(default_factory=dict)


class CommonSubexpressions:
    """Declares variables for the repeated subexpressions of one function."""

    def __init__(self, source: Source, typing: Typing) -> None:
        self.source = source
        self.typing = typing
        self.point: InsertionPoint | None = None
        self.conditional = False  # whether a condition decides if the current expression is evaluated
        self._sizes: dict[int, tuple[Expr, int]] = {}  # by identity; holds the expression, so that its id stays its own

    @cached_property
    def _names_of_body(self) -> set[str]:
        """The names that the body has, in any role."""
        nodes = list(ast.walk(self.source.node))
        return {getattr(n, role) for n in nodes for role in ("id", "arg", "attr") if hasattr(n, role)}

    @contextmanager
    def insert_at(self, point: InsertionPoint | None) -> Iterator[None]:
        """Variables are declared at `point`; None where no statement can be inserted."""
        outer, self.point = self.point, point
        conditional, self.conditional = self.conditional, False
        self._sizes.clear()
        try:
            yield
        finally:
            self.point, self.conditional = outer, conditional

    @contextmanager
    def conditionally(self, conditional: bool = True) -> Iterator[None]:
        """What is lowered here is evaluated only under a condition."""
        outer, self.conditional = self.conditional, self.conditional or conditional
        try:
            yield
        finally:
            self.conditional = outer

    def checkpoint(self) -> Callable[[], None]:
        """A function that removes the variables declared from now on."""
        point = self.point
        if point is None:
            return lambda: None
        length, count, declared = len(point.statements), point.count, dict(point.declared)

        def rollback() -> None:
            del point.statements[length:]
            point.count, point.declared = count, dict(declared)

        return rollback

    def share(self, value: Expr, name: str, uses: int, span: Span) -> Expr:
        """`value`, or a variable for it where the text would repeat it `uses` times.

        Raises:
            PyMetalError: it must be repeated, and is too large for that.
        """
        if uses < 2 or _is_cheap(value, uses):
            return value
        if self.point is not None and value in self.point.declared:
            return self.point.declared[value]
        if self.point is None or (self.conditional and not self._is_safe_to_hoist(value)):
            return self.check_size(value, span, _MAX_COPIED // uses)
        while name in self._names_of_body:
            name = f"{name}_value"
        self.point.declared[value] = variable = self.point.declare(name, self.point.count, value)
        self.point.count += 1
        return variable

    def check_size(self, value: Expr, span: Span, limit: int = _MAX_NODES) -> Expr:
        """`value`, if it has at most `limit` nodes."""
        if self._size(value) > limit:
            raise refusal("too-deep", span, functor=self.source.node.name, what="too large")
        return value

    def _size(self, value: Expr) -> int:
        """How many nodes the text of an expression has; a repeated node counts each time, and is visited once."""
        stack = [value]
        while stack:
            current = stack[-1]
            operands = ir.operands(current)
            missing = [p for p in operands if id(p) not in self._sizes]
            if missing:
                stack += missing
            else:
                stack.pop()
                self._sizes[id(current)] = current, 1 + sum(self._sizes[id(p)][1] for p in operands)
        return self._sizes[id(value)][1]

    def _is_safe_to_hoist(self, value: Expr) -> bool:
        """True for what may be computed where its condition does not hold."""
        for part in ir.subexpressions(value):
            if isinstance(part, Invoke) and not _is_safe_to_call(part.callee):
                return False
            if isinstance(part, Call) and self.typing.kinds(part.type) & dtypes.INTEGRAL and _divides(part):
                return False
        return True


def _divides(call: Call) -> bool:
    """True for a division, unless it is by a number for which every quotient is defined."""
    divisor = call.args[-1]
    return call.op.divides and (not isinstance(divisor, Const) or divisor.value in (0, -1))


@lru_cache(maxsize=1024)
def _is_safe_to_call(callee: ir.CheckedFunction) -> bool:
    """True for a function without loops and without division, in it and in what it calls."""
    bodies = [o.function.body for c in (callee, *ir.callees(callee)) for o in c.overloads]
    loops = (s for body in bodies for s in ir.statements(body) if isinstance(s, ir.For | ir.While))
    divisions = (e for body in bodies for e in ir.expressions(body) if isinstance(e, Call) and _divides(e))
    return next(loops, None) is None and next(divisions, None) is None


def _is_cheap(value: Expr, uses: int) -> bool:
    """True for what is repeated: names, numbers, their parts, and for few uses one operator."""
    return _operator_count(value) <= (1 if uses <= _MAX_CHEAP else 0)


def _operator_count(value: Expr) -> int:
    """How many operators an expression has; many for one that is not simple arithmetic."""
    many = _MAX_CHEAP + 1
    match value:
        case Name() | Const():
            return 0
        case Cast(value=inner) | ir.Bits(value=inner) | Call(op=ir.Op(text=ir.Field()), args=(inner,)):
            return _operator_count(inner)
        case Call(op=ir.Op(text=ir.Infix(symbol)), args=args) if symbol not in "/%":
            return 1 + sum(map(_operator_count, args))
        case Call(op=ir.Op(text=ir.Prefix()), args=(inner,)):
            return 1 + _operator_count(inner)
        case _:
            return many
