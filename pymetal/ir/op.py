"""What a row of the operator table is made of."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from pymetal.dtypes import Kind
from pymetal.ir.types import Type


class Rule(enum.Enum):
    """How an operator brings its operands to one type, and what type its result has."""

    SAME = "operands are joined, the result has their type"
    COMPARE = "operands are joined, the result is bool"
    LOGICAL = "operands and result are bool"
    DIVIDE = "as SAME, but integers become float32 first"
    MATHS = "computed in float at least and rounded once to the joined type; integers become float32"
    WIDEN = "as MATHS for floats; integers are computed as they are"
    PREDICATE = "operands as MATHS, the result is bool"


@dataclass(frozen=True)
class Infix:
    """Printed between its two operands. Precedence as in C++, larger binds tighter."""

    symbol: str
    precedence: int


@dataclass(frozen=True)
class Prefix:
    """Printed before its operand."""

    symbol: str


@dataclass(frozen=True)
class Named:
    """Printed as a call of a function that Metal or c10 has."""

    function: str


@dataclass(frozen=True)
class Member:
    """Printed as a call of a static member function, which the functor's struct brings along.

    For what neither Metal nor c10 has, or has with another meaning. A member belongs to the struct, so that two
    functors of one file never define it twice.
    """

    function: str
    definition: str  # Metal text, two spaces of indentation less than it has in the struct


@dataclass(frozen=True)
class Field:
    """Printed as a component of its operand."""

    name: str


@dataclass(frozen=True)
class Wrapped:
    """Printed as a pattern around its operands, which stand where `{0}`, `{1}` are."""

    pattern: str


Text: TypeAlias = Infix | Prefix | Named | Member | Field | Wrapped


_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "div": "/", "neg": "-", "floordiv": "//", "mod": "%",
    "pow": "**", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "bitand": "&", "bitxor": "^",
    "bitor": "|", "invert": "~", "shift_left": "<<", "shift_right": ">>",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Op:
    """One row of the operator table: everything that any stage needs to know about an operator."""

    name: str
    arity: int
    rule: Rule
    kinds: frozenset[Kind]  # what the joined operand type may be
    text: Text
    torch: Callable[..., Any]  # the meaning, on tensors that already have the types of the row
    derivative: Any = None  # (*operands, result) -> a partial derivative for each operand; None: not differentiable
    params: tuple[Type | None, ...] | None = None  # fixed types of operands; None: the joined type
    result: Type | None = None  # a fixed type of the result; a function of Var() is one of the joined type
    wraps: bool = False  # in C++ the result on narrow integers is an int, right only modulo 2**bits
    congruent: bool = False  # takes operands that are right only modulo 2**bits
    python: Callable[..., Any] | None = None  # folds Python numbers
    since: tuple[int, int] = (2, 8)  # the first torch release whose headers have it
    header: str | None = None  # the header that declares it, when it is not Metal's own
    aliases: tuple[str, ...] = ()  # further names by which a body reaches it
    on_bool: Op | None = None  # the row for bool operands, where that is another one
    on_integer: Op | None = None  # the row for integer operands, where that is another one
    on_complex: Op | None = None  # the row for complex operands, where that is another one

    @property
    def spoken(self) -> str:
        """The operator as a body has it, for messages."""
        name = self.name.partition("-")[0]
        for ending in ("_int", "_complex", "_constant"):
            name = name.removesuffix(ending)
        return f"`{_SYMBOLS[name]}`" if name in _SYMBOLS else name

    def __repr__(self) -> str:
        return self.name
