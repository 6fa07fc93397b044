"""The nodes: expressions, statements, and the functions made of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from pymetal import dtypes
from pymetal.dtypes import DType
from pymetal.errors import Span
from pymetal.ir.op import Op
from pymetal.ir.types import Type

# --- expressions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Name:
    """A parameter or a variable."""

    name: str
    type: Type


@dataclass(frozen=True)
class Const:
    """A number. Under a Weak type it has not met another operand yet."""

    value: bool | int | float | complex
    type: Type
    span: Span | None = None

    # 0.0 == -0.0 and nan != nan would merge different constants and split equal ones.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, Type]:
        return repr(self.value), self.type


@dataclass(frozen=True)
class Call:
    """An operator applied to operands that already have the types its row asks for."""

    op: Op
    args: tuple[Expr, ...]
    type: Type
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Cast:
    """A conversion of value. `implicit` ones were not written by the user."""

    type: Type
    value: Expr
    implicit: bool = field(default=True, compare=False)
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Select:
    """`then` where `condition` holds, else `otherwise`; both have the type of the whole."""

    condition: Expr
    then: Expr
    otherwise: Expr
    type: Type


@dataclass(frozen=True)
class Bits:
    """The same bits read as another type of the same width."""

    type: Type
    value: Expr
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Table:
    """A tuple of numbers, printed as an array in constant memory."""

    name: str
    values: tuple[int | float, ...]
    type: Type  # of the elements


@dataclass(frozen=True)
class Element:
    """An element of a table; the index is an int inside the table's range."""

    table: Table
    index: Expr
    type: Type


@dataclass(frozen=True)
class Invoke:
    """A call of a user's helper function, or of another functor."""

    callee: CheckedFunction
    args: tuple[Expr, ...]  # of a functor: tensors, then scalars
    bound: Type  # what the callee's element type is here
    type: Type
    span: Span | None = field(default=None, compare=False)


Expr: TypeAlias = Name | Const | Call | Cast | Select | Bits | Element | Invoke


# --- statements ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Let:
    """Declares a variable. Without a value it is declared ahead of the branches that assign it."""

    name: str
    type: Type
    value: Expr | None
    mutable: bool
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Assign:
    """Gives a mutable variable another value."""

    name: str
    value: Expr
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class If:
    """Runs one of two blocks."""

    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Return:
    """Ends the function with a value of its result type."""

    value: Expr
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class While:
    """Repeats a block as long as a condition holds, which is computed before each round."""

    condition: Expr
    body: tuple[Stmt, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class For:
    """Counts an integer from `start` by `step` as long as it is below `stop` (above it, if `step` is negative).

    The counter is not assigned in the body. `start`, `stop` and `step` are computed once.
    """

    name: str
    type: Type
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Break:
    """Leaves the innermost loop."""


@dataclass(frozen=True)
class Continue:
    """Goes on with the next round of the innermost loop."""


Stmt: TypeAlias = Let | Assign | If | Return | While | For | Break | Continue


# --- functions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Param:
    """A tensor operand, or a scalar parameter with its default."""

    name: str
    type: Type
    default: bool | int | float | complex | None = None


@dataclass(frozen=True)
class Function:
    """One body, typed for a group of dtypes."""

    params: tuple[Param, ...]
    scalars: tuple[Param, ...]
    result: Type
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Overload:
    """A checked function and the dtypes it serves, in registration order."""

    domain: tuple[DType, ...]
    function: Function


@dataclass(frozen=True)
class CheckedFunction:
    """A functor, or a helper function, that type-checks at every dtype it serves. Walkers take nothing else."""

    name: str
    doc: str
    overloads: tuple[Overload, ...]
    helper: bool = False  # printed as an inline function, not as a functor
    by_calls: bool = False  # typed by its calls: its text has the bodies that they need

    # Compared as objects: two functions of one text may have met different constants.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    @property
    def domain(self) -> tuple[DType, ...]:
        """Every dtype that some overload serves."""
        return dtypes.ordered(d for o in self.overloads for d in o.domain)

    def overload(self, element: DType) -> Overload | None:
        """The overload that serves `element`."""
        return next((o for o in self.overloads if element in o.domain), None)
