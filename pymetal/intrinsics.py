"""The functions that a body calls: ``metal.exp``, ``metal.precise.exp``, ``metal.c10.log1p``, ``is_integral``.

Inside a functor they become Metal text. Outside one they are functions of torch tensors with the same meaning, so that
the undecorated body of a functor can be run, and debugged, as Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from pymetal.dtypes import INTEGRAL, DType, Kind, TypeVariable, from_torch
from pymetal.errors import plural, were_given
from pymetal.ir import Op
from pymetal.ops import BY_ALIAS


class Intrinsic:
    """One function of the operator table."""

    def __init__(self, op: Op) -> None:
        self.op = self.__pymetal_op__ = op
        self.__name__ = op.name

    def __call__(self, *args: Any) -> torch.Tensor:
        """Computes the function with torch operators.

        Args:
            args: tensors whose shapes broadcast, of dtypes that the function takes, or numbers.

        Returns:
            A tensor of the broadcast shape.

        Raises:
            TypeError: another number of arguments than the function takes.
        """
        if len(args) != self.op.arity:
            wanted = plural(self.op.arity, "argument")
            raise TypeError(f"{self.op.name} takes {wanted} but {were_given(len(args))}")
        result: torch.Tensor = self.op.torch(*map(torch.as_tensor, args))
        return result

    def __repr__(self) -> str:
        return f"<pymetal {self.op.name}>"


@functools.cache
def _intrinsic(op: Op) -> Intrinsic:
    return Intrinsic(op)


class Namespace:
    """The functions of the table whose names start with a prefix."""

    __pymetal_namespace__ = True

    def __init__(self, prefix: str) -> None:
        self.__name__ = prefix

    def __getattr__(self, name: str) -> Any:
        op = BY_ALIAS.get(f"{self.__name__}.{name}")
        if op is None:
            raise AttributeError(f"{self.__name__} has no function {name!r}")
        return _intrinsic(op)

    def __dir__(self) -> list[str]:
        names = (name.rpartition(".") for name in BY_ALIAS)
        return [*super().__dir__(), *(last for head, _, last in names if head == self.__name__)]

    def __repr__(self) -> str:
        return f"<pymetal namespace {self.__name__}>"


def as_type(value: torch.Tensor, dtype: DType) -> torch.Tensor:
    """Reinterprets the bits of a tensor as another dtype of the same width: ``metal.as_type(x, pymetal.int32)``."""
    return value.view(dtype.torch)


def polevl(x: torch.Tensor, coefficients: Sequence[float]) -> torch.Tensor:
    """Evaluates a polynomial by Horner's rule at a tensor `x`; the coefficient of the highest power comes first."""
    result = torch.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result


def static_range(*bounds: int) -> range:
    """Returns `range(*bounds)`; in a body, for a loop that is unrolled at compile time: the bounds are constants."""
    return range(*bounds)


# The frontend knows these three by their names, and reads the arguments of a call as they are written.
for _function in (as_type, polevl, static_range):
    setattr(_function, "__pymetal_builtin__", _function.__name__)  # noqa: B010 - functions declare no attributes

metal = Namespace("metal")
for _space in ("precise", "fast", "c10"):
    setattr(metal, _space, Namespace(f"metal.{_space}"))
setattr(metal, "as_type", as_type)  # noqa: B010 - the class declares no names: rows do
setattr(metal, "polevl", polevl)  # noqa: B010


class Fact:
    """A compile-time test of the element type, such as ``pymetal.is_integral(T)``."""

    def __init__(self, name: str, test: Callable[[Kind], bool], doc: str) -> None:
        self.__name__ = name
        self.__doc__ = doc
        self.__pymetal_fact__ = test

    def __call__(self, dtype: Any) -> bool:
        """Tests a torch or pymetal dtype.

        Raises:
            TypeError: `dtype` is not a dtype; a type variable such as `T` is known inside a functor only.
        """
        if isinstance(dtype, TypeVariable):
            raise TypeError(f"{self.__name__}({dtype.name}) is known inside a functor only")
        found = dtype if isinstance(dtype, DType) else from_torch(dtype)
        if found is None:
            raise TypeError(f"{dtype!r} is not an element type")
        return self.__pymetal_fact__(found.kind)

    def __repr__(self) -> str:
        return f"<pymetal.{self.__name__}>"


is_integral = Fact("is_integral", lambda k: k in INTEGRAL, "True for integers and bool, as Metal's is_integral_v.")
is_floating = Fact("is_floating", lambda k: k is Kind.FLOATING, "True for float, half and bfloat.")
is_complex = Fact("is_complex", lambda k: k is Kind.COMPLEX, "True for complex64 and complex32.")
is_signed = Fact(
    "is_signed", lambda k: k in (Kind.SIGNED, Kind.FLOATING), "True for signed integers and floats, as is_signed_v."
)
is_bool = Fact("is_bool", lambda k: k is Kind.BOOL, "True for bool.")
