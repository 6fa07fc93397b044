"""Signs, fractions and bounds."""

from __future__ import annotations

import math

import pymetal
from examples.aten.kinds import FLOATING, REAL
from pymetal import Complex, Floating, Integral, T, bool_, complex64, metal


@pymetal.unary
def sign(x: bool_) -> bool_:
    """1, 0 or -1; 0 for NaN, as torch has it."""
    return x


@sign.overload
def sign(x: Integral) -> Integral:
    return Integral(x > 0) - Integral(x < 0)


@sign.overload
def sign(x: Floating) -> Floating:
    return Floating(x > 0) - Floating(x < 0)


@pymetal.unary
def sgn(x: bool_) -> bool_:
    """The sign; of a complex number z / |z|, and 0 at zero."""
    return x


@sgn.overload
def sgn(x: Integral) -> Integral:
    return Integral(x > 0) - Integral(x < 0)


@sgn.overload
def sgn(x: Floating) -> Floating:
    return Floating(x > 0) - Floating(x < 0)


@sgn.overload
def sgn(z: Complex) -> Complex:
    wide = complex64(z)
    length = math.hypot(wide.real, wide.imag)
    return z if length == 0 else Complex(complex(wide.real / length, wide.imag / length))


@pymetal.unary(promotion="always_bool", dtypes=REAL)
def signbit(x: T) -> bool:
    """True for negative numbers, and for -0 and NaNs whose sign bit is set."""
    return metal.signbit(x) if pymetal.is_floating(T) else x < 0


@pymetal.unary(dtypes=FLOATING)
def frac(x: T) -> T:
    """x without its integer part; it has the sign of x. NaN at infinities."""
    return x - metal.trunc(x)


@pymetal.unary(promotion="int_to_float", opmath=True)
def logit(x: T, *, eps: float = -1.0) -> T:
    """log(x / (1 - x)), with x first put between eps and 1 - eps if `eps` is not negative. Near 1/2, where the quotient
    is near one, through log1p."""
    p = x
    if eps >= 0:
        p = eps if x < eps else 1 - eps if x > 1 - eps else x
    if 0.25 < p < 0.75:
        return math.log1p((2 * p - 1) / (1 - p))
    return math.log(p / (1 - p))


@pymetal.binary(dtypes=FLOATING)
def hardtanh_backward(grad: T, x: T, *, min_val: T = -1.0, max_val: T = 1.0) -> T:
    """The gradient of hardtanh: 0 where x was cut off."""
    return 0 if x <= min_val or x >= max_val else grad
