"""The functors of `PointwiseOps.metal`, and `lerp`."""

from __future__ import annotations

import pymetal
from examples.aten.complex_functions import divide
from examples.aten.kinds import FLOATING, NUMBERS
from pymetal import Complex, Floating, Integral, OpMath, T, complex64, int64


@pymetal.ternary(dtypes=(FLOATING, complex64, int64), opmath=True)
def lerp(start: T, end: T, weight: T) -> T:
    """start + weight * (end - start), counted from the nearer end: it is exactly `end` at weight one."""
    if abs(weight) < 0.5:
        return start + weight * (end - start)
    return end - (end - start) * (1 - weight)


@pymetal.ternary(dtypes=NUMBERS)
def addcmul(base: T, a: T, b: T, *, value: OpMath[T] = 1) -> T:
    """base + value * a * b, rounded once."""
    return T(OpMath[T](base) + value * OpMath[T](a) * OpMath[T](b))


@addcmul.overload
def addcmul(base: Integral, a: Integral, b: Integral, *, value: Integral) -> Integral:
    return base + value * a * b


@pymetal.ternary
def addcdiv(base: Floating, a: Floating, b: Floating, *, value: float = 1.0) -> Floating:
    """base + value * a / b, rounded once."""
    return Floating(float(base) + value * float(a) / float(b))


@addcdiv.overload
def addcdiv(base: Complex, a: Complex, b: Complex, *, value: complex64) -> Complex:
    return Complex(complex64(base) + value * divide(complex64(a), complex64(b)))
