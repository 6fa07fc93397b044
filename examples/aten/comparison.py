"""The comparisons and the logical functors of `BinaryKernel.metal`."""

from __future__ import annotations

import pymetal
from examples.aten.kinds import EVERY, REAL
from pymetal import T


@pymetal.binary(promotion="always_bool", dtypes=EVERY)
def eq(a: T, b: T) -> bool:
    """a == b; complex numbers if both parts are."""
    return a == b


@pymetal.binary(promotion="always_bool", dtypes=EVERY)
def ne(a: T, b: T) -> bool:
    """a != b."""
    return a != b


@pymetal.binary(promotion="always_bool", dtypes=REAL)
def lt(a: T, b: T) -> bool:
    """a < b."""
    return a < b


@pymetal.binary(promotion="always_bool", dtypes=REAL)
def le(a: T, b: T) -> bool:
    """a <= b."""
    return a <= b


@pymetal.binary(promotion="always_bool", dtypes=REAL)
def gt(a: T, b: T) -> bool:
    """a > b."""
    return a > b


@pymetal.binary(promotion="always_bool", dtypes=REAL)
def ge(a: T, b: T) -> bool:
    """a >= b."""
    return a >= b


@pymetal.binary(promotion="always_bool", dtypes=EVERY)
def logical_and(a: T, b: T) -> bool:
    """True where neither is zero."""
    return a != 0 and b != 0


@pymetal.binary(promotion="always_bool", dtypes=EVERY)
def logical_or(a: T, b: T) -> bool:
    """True where one is not zero."""
    return a != 0 or b != 0


@pymetal.binary(promotion="always_bool", dtypes=EVERY)
def logical_xor(a: T, b: T) -> bool:
    """True where exactly one is not zero."""
    return (a != 0) != (b != 0)
