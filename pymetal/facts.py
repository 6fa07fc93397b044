"""Questions about the element type that a body may ask, answered when it is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pymetal.dtypes import INTEGRAL, DType, Kind, TypeVariable, from_torch


class Fact:
    """A compile-time test of the element type, such as ``pymetal.is_integral(T)``."""

    def __init__(self, name: str, test: Callable[[Kind], bool], doc: str) -> None:
        self.__name__ = name
        self.__doc__ = doc
        self.__pymetal_fact__ = test

    def __call__(self, dtype: Any) -> bool:
        """The answer for a torch or pymetal dtype.

        Raises:
            TypeError: `dtype` is a type variable, whose answer only a functor has, or no dtype.
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
