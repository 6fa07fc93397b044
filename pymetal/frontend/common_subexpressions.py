"""A value that a body computes once and its text needs more often gets a name, in a statement of its own before.

`metal.exp(x) ** 2` is `exp(x) * exp(x)`, and a chained comparison names its middle twice. Evaluation has no effect, so
it may move to the start of its statement. It stays, as a copy, where there is no such place, in the condition of a
`while`; and where it would be computed although its condition does not hold, if that may never end or is undefined: a
helper with a loop, an integer division. What is cheap stays as well. The size of an expression is bounded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache

from pymetal import dtypes, ir
from pymetal.errors import Span
from pymetal.frontend.refusals import refusal
from pymetal.frontend.source import Source
from pymetal.frontend.typing import Typing
from pymetal.ir import (
    Bits,
    Call,
    Cast,
    CheckedFunction,
    Const,
    Expr,
    Field,
    For,
    Infix,
    Invoke,
    Name,
    Prefix,
    Stmt,
    While,
)

_MAX_NODES = 20_000  # of an expression: later stages read every one of them, at every dtype
_MAX_COPIED = 1000  # of all copies of a value that has no name
_MAX_CHEAP = 3  # copies of an operator that needs no name

Declare = Callable[[str, int, Expr], Expr]  # a name to start from, a number within the statement, and the value


class Place:
    """The text before the statement that is being lowered."""

    def __init__(self, out: list[Stmt], declare: Declare) -> None:
        self.out = out
        self.declare = declare
        self.count = 0
        self.shared: dict[Expr, Expr] = {}


class Sharing:
    """Names the shared values of one function."""

    def __init__(self, source: Source, typing: Typing) -> None:
        self.source = source
        self.typing = typing
        self.place: Place | None = None
        self.conditional = False  # whether the text decides if the expression at hand is evaluated
        self._sizes: dict[int, tuple[Expr, int]] = {}  # by identity; the expression is held, so that it keeps its own

    @cached_property
    def _mentioned(self) -> set[str]:
        """The names that the body has, in any role."""
        return {
            getattr(node, attribute)
            for node in ast.walk(self.source.node)
            for attribute in ("id", "arg", "attr")
            if hasattr(node, attribute)
        }

    @contextmanager
    def before(self, place: Place | None) -> Iterator[None]:
        """Names are declared at `place`; None where there is none."""
        outer, self.place = self.place, place
        conditional, self.conditional = self.conditional, False
        self._sizes.clear()
        try:
            yield
        finally:
            self.place, self.conditional = outer, conditional

    @contextmanager
    def perhaps(self, conditional: bool = True) -> Iterator[None]:
        """What is lowered here is evaluated only under a condition."""
        outer, self.conditional = self.conditional, self.conditional or conditional
        try:
            yield
        finally:
            self.conditional = outer

    @contextmanager
    def tentative(self) -> Iterator[Callable[[], None]]:
        """Gives a function that takes back the names declared since."""
        place = self.place
        if place is None:
            yield lambda: None
            return
        length, count, shared = len(place.out), place.count, dict(place.shared)

        def undo() -> None:
            del place.out[length:]
            place.count, place.shared = count, shared

        yield undo

    def share(self, value: Expr, name: str, uses: int, span: Span) -> Expr:
        """`value`, or a name for it where the text would repeat it `uses` times.

        Raises:
            PyMetalError: it has to be repeated, and is too large for that.
        """
        if uses < 2 or _is_cheap(value, uses):
            return value
        if self.place is not None and value in self.place.shared:
            return self.place.shared[value]
        if self.place is None or (self.conditional and not self._may_move(value)):
            return self._bounded(value, span, _MAX_COPIED // uses)
        while name in self._mentioned:
            name = f"{name}_value"
        self.place.shared[value] = shared = self.place.declare(name, self.place.count, value)
        self.place.count += 1
        return shared

    def bounded(self, value: Expr, span: Span) -> Expr:
        """`value`, if it is not too large."""
        return self._bounded(value, span, _MAX_NODES)

    def _bounded(self, value: Expr, span: Span, limit: int) -> Expr:
        if self._size(value) > limit:
            raise refusal("too-deep", span, functor=self.source.node.name, what="too large")
        return value

    def _size(self, value: Expr) -> int:
        """How many nodes the text of an expression has; its copies count, and are looked at once."""
        stack = [value]
        while stack:
            current = stack[-1]
            parts = ir.operands(current)
            missing = [p for p in parts if id(p) not in self._sizes]
            if missing:
                stack += missing
            else:
                stack.pop()
                self._sizes[id(current)] = current, 1 + sum(self._sizes[id(p)][1] for p in parts)
        return self._sizes[id(value)][1]

    def _may_move(self, value: Expr) -> bool:
        """True for what is harmless to compute where its condition does not hold."""
        for part in ir.subexpressions(value):
            if isinstance(part, Invoke) and not _is_harmless(part.callee):
                return False
            if isinstance(part, Call) and self.typing.kinds(part.type) & dtypes.INTEGRAL and _divides(part):
                return False
        return True


def _divides(call: Call) -> bool:
    """True for a division, but by a number for which every quotient is defined."""
    divisor = call.args[-1]
    return call.op.divides and (not isinstance(divisor, Const) or divisor.value in (0, -1))


@lru_cache(maxsize=1024)
def _is_harmless(callee: CheckedFunction) -> bool:
    """True for a function without loops and without division, in it and in what it calls."""
    bodies = [o.function.body for c in (callee, *ir.callees(callee)) for o in c.overloads]
    loops = (s for body in bodies for s in ir.statements(body) if isinstance(s, For | While))
    divisions = (e for body in bodies for e in ir.expressions(body) if isinstance(e, Call) and _divides(e))
    return next(loops, None) is None and next(divisions, None) is None


def _is_cheap(value: Expr, uses: int) -> bool:
    """True for what reads better repeated than named: names, numbers, their parts, and for few uses one operator."""
    return _operators(value) <= (1 if uses <= _MAX_CHEAP else 0)


def _operators(value: Expr) -> int:
    """How many operators an expression has; many for one that is not simple arithmetic."""
    many = _MAX_CHEAP + 1
    match value:
        case Name() | Const():
            return 0
        case Cast(value=inner) | Bits(value=inner) | Call(op=ir.Op(text=Field()), args=(inner,)):
            return _operators(inner)
        case Call(op=ir.Op(text=Infix(symbol)), args=args) if symbol not in "/%":
            return 1 + sum(map(_operators, args))
        case Call(op=ir.Op(text=Prefix()), args=(inner,)):
            return 1 + _operators(inner)
        case _:
            return many
