"""Symbolic types: what an expression is, as a function of the element dtype."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from typing_extensions import assert_never

from pymetal import dtypes
from pymetal.dtypes import DType


@dataclass(frozen=True)
class Var:
    """The element type of the tensors, bound at launch."""

    name: str = "T"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class _Applied:
    """A function of types, applied."""

    of: Type

    def __str__(self) -> str:
        return f"{type(self).__name__}[{self.of}]"


class OpMath(_Applied):
    """The type in which arithmetic on the element type is done at full precision: float for half and bfloat."""


class ComplexOf(_Applied):
    """The complex type whose parts are the element type."""


class RealOf(_Applied):
    """The type of the parts of the element type, if that is complex; else the element type itself."""


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
    """The type of a Python number in a body, also of a variable or a counter of such numbers.

    It gives way to the type of what it meets. What no operand determines is an int, a long if `wide`, or a float.
    """

    number: Number
    wide: bool = False

    def __str__(self) -> str:
        return f"Python {self.number.value}"


Type: TypeAlias = Var | OpMath | ComplexOf | RealOf | Concrete | Weak

BOOL = Concrete(dtypes.bool_)
FLOAT = Concrete(dtypes.float32)
WEAK_INT = Weak(Number.INT)
WEAK_LONG = Weak(Number.INT, wide=True)
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
        case Weak(number, wide):
            return dtypes.int64 if wide else _WEAK_AS[number]
        case _:
            assert_never(type_)


def resolved(type_: Type, element: DType) -> DType:
    """As `resolve`, for a type of a checked function at a dtype of its domain, where there is one."""
    found = resolve(type_, element)
    assert found is not None, f"{type_} has no meaning at {element}"
    return found
