"""Functors for operators of the test trees."""

from __future__ import annotations

import pymetal
from pymetal import Floating, OpMath, T, metal


@pymetal.binary(promotion="int_to_float")
def atan2(a: T, b: T) -> T:
    """Angle of the point (b, a), in radians."""
    return metal.precise.atan2(a, b)


@pymetal.binary(promotion="always_bool", dtypes=("floating", "integral", "bool"))
def gt(a: T, b: T) -> bool:
    return a > b


@pymetal.unary(dtypes="floating")
def sgn(x: T) -> T:
    """The sign."""
    return metal.sign(x)


@pymetal.func
def whole(x: T) -> T:
    """The part before the point."""
    return metal.trunc(x)


@pymetal.unary(dtypes="floating")
def frac(x: T) -> T:
    """The part behind the point."""
    return x - whole(x)


@pymetal.unary(dtypes="floating")
def round(x: T) -> T:
    return whole(x + 0.5) + frac(x) * 0


@pymetal.unary(dtypes="floating")
def hardshrink(x: T, *, lambd: T = 0.5) -> T:
    """Zero near zero."""
    return 0 if -lambd <= x <= lambd else x


@pymetal.unary(dtypes="floating")
def softplus(x: T, *, beta: T = 1, threshold: T = 20) -> T:
    return x if x * beta > threshold else metal.log(1 + metal.exp(x * beta)) / beta


@pymetal.unary(dtypes="floating")
def special_airy_ai(x: T) -> T:
    """Not Airy's function, but of its type."""
    return metal.exp(-x)


@pymetal.binary(dtypes="integral")
def gcd(a: T, b: T) -> T:
    return a & b


@pymetal.binary(dtypes="floating", opmath=True)
def div_floor(a: T, b: T) -> T:
    return metal.floor(a / b)


@pymetal.unary
def exp(x: Floating, *, lambd: OpMath[T] = 1) -> Floating:
    return x * lambd
