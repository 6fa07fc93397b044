"""The nodes of the intermediate representation: typed, frozen, and the same for every walker.

A functor's body becomes one :class:`Function` for each group of dtypes. Types are symbolic: one function serves all
dtypes of its domain, and :func:`resolve` says what a type is at one of them. Expressions have values; statements bind,
branch, repeat or return. Nothing here knows a particular operator: rows live in :mod:`pymetal.ops`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from typing_extensions import assert_never

from pymetal import dtypes
from pymetal.dtypes import DType, Kind
from pymetal.errors import Span

# --- types -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Var:
    """The element type of the tensors, bound at launch."""

    name: str = "T"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class OpMath:
    """The type in which arithmetic on the element type is done at full precision: float for half and bfloat."""

    of: Type

    def __str__(self) -> str:
        return f"OpMath[{self.of}]"


@dataclass(frozen=True)
class ComplexOf:
    """The complex type whose parts are the element type."""

    of: Type

    def __str__(self) -> str:
        return f"ComplexOf[{self.of}]"


@dataclass(frozen=True)
class RealOf:
    """The type of the parts of the element type, if that is complex; else the element type itself."""

    of: Type

    def __str__(self) -> str:
        return f"RealOf[{self.of}]"


@dataclass(frozen=True)
class Concrete:
    """A dtype that does not depend on the element type."""

    dtype: DType

    def __str__(self) -> str:
        return self.dtype.name.rstrip("_")


class Number(enum.Enum):
    """The Python number types, which give way to any real type they meet."""

    INT = "int"
    FLOAT = "float"
    COMPLEX = "complex"


@dataclass(frozen=True)
class Weak:
    """The type of a Python number in a body."""

    number: Number

    def __str__(self) -> str:
        return f"Python {self.number.value}"


Type: TypeAlias = Var | OpMath | ComplexOf | RealOf | Concrete | Weak

BOOL = Concrete(dtypes.bool_)
FLOAT = Concrete(dtypes.float32)
WEAK_INT = Weak(Number.INT)
WEAK_FLOAT = Weak(Number.FLOAT)
WEAK_COMPLEX = Weak(Number.COMPLEX)
_WEAK_AS = {Number.INT: dtypes.int32, Number.FLOAT: dtypes.float32, Number.COMPLEX: dtypes.complex64}


APPLY: dict[type, Callable[[DType], DType | None]] = {
    OpMath: dtypes.opmath,
    ComplexOf: dtypes.complex_of,
    RealOf: dtypes.real_of,
}


def resolve(type_: Type, element: DType) -> DType | None:
    """What `type_` is where the element type is `element`; None if there is no such type, as `ComplexOf` an integer."""
    match type_:
        case Var():
            return element
        case OpMath(of) | ComplexOf(of) | RealOf(of):
            inner = resolve(of, element)
            return None if inner is None else APPLY[type(type_)](inner)
        case Concrete(dtype):
            return dtype
        case Weak(number):
            return _WEAK_AS[number]
        case _:
            assert_never(type_)


# --- operators -------------------------------------------------------------------------------------------------------


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

    def __repr__(self) -> str:
        return self.name


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

    callee: Checked
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
class Checked:
    """A functor, or a helper function, that type-checks at every dtype it serves. Walkers take nothing else."""

    name: str
    doc: str
    overloads: tuple[Overload, ...]
    helper: bool = False  # printed as an inline function, not as a functor

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


# --- walking ---------------------------------------------------------------------------------------------------------


def operands(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions of `expr`, in order."""
    match expr:
        case Name() | Const():
            return ()
        case Call(args=args) | Invoke(args=args):
            return args
        case Cast(value=value) | Bits(value=value):
            return (value,)
        case Element(index=index):
            return (index,)
        case Select(condition, then, otherwise):
            return (condition, then, otherwise)
        case _:
            assert_never(expr)


def blocks(stmt: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The blocks inside a statement."""
    match stmt:
        case If(_, then, otherwise):
            return (then, otherwise)
        case While(body=body) | For(body=body):
            return (body,)
        case Let() | Assign() | Return() | Break() | Continue():
            return ()
        case _:
            assert_never(stmt)


def own_expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions of a statement itself, not those of its blocks."""
    match stmt:
        case Let(value=None) | Break() | Continue():
            return ()
        case Let(value=value) | Assign(value=value) | Return(value=value):
            return (value,) if value is not None else ()
        case If(condition=condition) | While(condition=condition):
            return (condition,)
        case For(start=start, stop=stop, step=step):
            return (start, stop, step)
        case _:
            assert_never(stmt)


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement of a body and of the blocks inside it, in the order of the text."""
    for stmt in body:
        yield stmt
        for block in blocks(stmt):
            yield from statements(block)


def expressions(body: tuple[Stmt, ...]) -> Iterator[Expr]:
    """Every expression of a body and its subexpressions, in the order of the text, outer before inner."""
    for stmt in statements(body):
        for expr in own_expressions(stmt):
            yield from subexpressions(expr)


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """An expression and all of its parts, in the order of the text, outer before inner."""
    stack = [expr]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(operands(current)))


def callees(checked: Checked) -> tuple[Checked, ...]:
    """The functions that `checked` calls, and those that they call, each before its callers."""
    found: dict[Checked, None] = {}

    def visit(current: Checked) -> None:
        for overload in current.overloads:
            for expr in expressions(overload.function.body):
                if isinstance(expr, Invoke) and expr.callee not in found:
                    visit(expr.callee)
                    found.setdefault(expr.callee)

    visit(checked)
    return tuple(found)


def uses(checked: Checked) -> frozenset[Op]:
    """The rows of the operator table that `checked` and its callees use."""
    everything = (checked, *callees(checked))
    bodies = [overload.function.body for c in everything for overload in c.overloads]
    return frozenset(e.op for body in bodies for e in expressions(body) if isinstance(e, Call))
