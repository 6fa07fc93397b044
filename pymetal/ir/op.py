"""What a row of the operator table is made of."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from pymetal.dtypes import Kind
from pymetal.ir.types import Type


class TypeRule(enum.Enum):
    """How an operator promotes its operands to one type, and what type its result has."""

    PROMOTE = "operands are promoted, the result has their type"
    COMPARE = "operands are promoted, the result is bool"
    LOGICAL = "operands and result are bool"
    INT_TO_FLOAT = "as PROMOTE, but integers become float32 first"
    MATH = "computed in float at least and rounded once to the promoted type; integers become float32"
    OPMATH = "as MATH for floats; integers are computed as they are"
    PREDICATE = "operands as MATH, the result is bool"


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


@dataclass(frozen=True, eq=False)
class Op:
    """One row of the operator table: everything that any stage needs to know about an operator."""

    name: str  # unique; that of an overload is another row's with a suffix after a dash
    arity: int
    rule: TypeRule
    kinds: frozenset[Kind]  # what the promoted operand type may be
    text: Text
    torch: Callable[..., Any]  # the meaning, on tensors that already have the types of the row
    derivative: Any = None  # (*operands, result) -> a partial derivative for each operand; None: not differentiable

    # How a body writes it, and what types it takes and gives.
    symbol: str = ""  # Python's symbol of an operator
    aliases: tuple[str, ...] = ()  # further names by which a body reaches it
    fold: Callable[..., Any] | None = None  # computes it on Python numbers
    params: tuple[Type | None, ...] | None = None  # fixed types of operands; None: the promoted type
    result: Type | None = None  # a fixed type of the result; a function of Var() is one of the promoted type
    bool_overload: Op | None = None  # the row for bool operands, where that is another one
    integer_overload: Op | None = None
    complex_overload: Op | None = None

    # What holds of its Metal text.
    promotes_to_int: bool = False  # in C++ the result on narrow integers is an int, right only modulo 2**bits
    modular: bool = False  # takes operands that are right only modulo 2**bits
    since: tuple[int, int] = (2, 8)  # the first torch release whose headers have it
    header: str | None = None  # the header that declares it, when it is not Metal's own
    fast: bool = False  # one of Metal's fast variants, whose accuracy is not specified

    # What holds of its values.
    exact: Callable[..., Any] | None = None  # the meaning without rounding, see `ops/exact.py`
    rounds: bool = True  # False: a result needs no rounding: it is an operand, or has no more digits than one
    signed_zero: bool = True  # False: a result that is zero may have either sign
    overflow: str = ""  # how an integer result may not fit: a predicate of `debug/instrument.py`
    divides: bool = False  # a quotient or remainder of integers, undefined where the last operand is zero
    tests_nan: bool = False
    suggested: bool = False  # `pymetal check` proposes it for a body that spells it out

    @property
    def base(self) -> str:
        """The last part of the name, without that of an overload."""
        return self.name.rpartition(".")[2].partition("-")[0]

    @property
    def display(self) -> str:
        """The operator as a body has it, for messages."""
        return f"`{self.symbol}`" if self.symbol else self.name.partition("-")[0]

    @property
    def overloads(self) -> tuple[Op, ...]:
        """The rows that take its place for operands of some kind."""
        rows = (self.bool_overload, self.integer_overload, self.complex_overload)
        return tuple(row for row in rows if row is not None)

    def __repr__(self) -> str:
        return self.name
