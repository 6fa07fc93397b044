"""The functors of `UnaryKernel.metal`, but for the special functions: those are in `special`.

Half and bfloat are computed in float and rounded once. Functions of complex numbers are in `complex_functions`.
"""

from __future__ import annotations

import builtins
import math

import pymetal
from examples.aten.complex_functions import (
    complex_acos,
    complex_asin,
    complex_atan,
    complex_cosh,
    complex_exp,
    complex_log,
    complex_log1p,
    complex_pow,
    complex_sinh,
    complex_sqrt,
    complex_tanh,
    divide,
    divided_by_i,
    times_i,
)
from examples.aten.kinds import FLOATING, FLOATING_AND_COMPLEX, INTEGERS_AND_BOOL, NUMBERS
from examples.aten.normal import logistic
from pymetal import Complex, Floating, Integral, Real, T, complex64, int32, int64, metal

LN2 = math.log(2)
LN10 = math.log(10)

# --- exponentials ----------------------------------------------------------------------------------------------------


@pymetal.unary(promotion="int_to_float", opmath=True)
def exp(x: T) -> T:
    """e to the power of x."""
    return math.exp(x)


@exp.overload
def exp(z: Complex) -> Complex:
    return complex_exp(z)


@pymetal.unary(promotion="int_to_float", opmath=True)
def exp2(x: T) -> T:
    """2 to the power of x."""
    return metal.precise.exp2(x)


@exp2.overload
def exp2(z: Complex) -> Complex:
    length = metal.precise.exp2(z.real)
    return complex(length * math.cos(LN2 * z.imag), length * math.sin(LN2 * z.imag))


@pymetal.unary(promotion="int_to_float", opmath=True)
def expm1(x: T) -> T:
    """e to the power of x, minus one; precise near zero."""
    return math.expm1(x)


@expm1.overload
def expm1(z: Complex) -> Complex:
    """In the real part, cos y is 1 - 2 sin^2(y / 2): what nearly cancels is never formed."""
    sine = math.sin(0.5 * z.imag)
    return complex(math.expm1(z.real) * math.cos(z.imag) - 2 * sine * sine, math.exp(z.real) * math.sin(z.imag))


# --- trigonometric and hyperbolic ------------------------------------------------------------------------------------


@pymetal.unary(promotion="int_to_float", opmath=True)
def sin(x: T) -> T:
    """Sine."""
    return math.sin(x)


@sin.overload
def sin(z: Complex) -> Complex:
    return divided_by_i(complex_sinh(times_i(z)))


@pymetal.unary(promotion="int_to_float", opmath=True)
def cos(x: T) -> T:
    """Cosine."""
    return math.cos(x)


@cos.overload
def cos(z: Complex) -> Complex:
    return complex_cosh(times_i(z))


@pymetal.unary(promotion="int_to_float", opmath=True)
def tan(x: T) -> T:
    """Tangent."""
    return math.tan(x)


@tan.overload
def tan(z: Complex) -> Complex:
    return divided_by_i(complex_tanh(times_i(z)))


@pymetal.unary(promotion="int_to_float", opmath=True)
def sinh(x: T) -> T:
    """Hyperbolic sine."""
    return math.sinh(x)


@sinh.overload
def sinh(z: Complex) -> Complex:
    return complex_sinh(z)


@pymetal.unary(promotion="int_to_float", opmath=True)
def cosh(x: T) -> T:
    """Hyperbolic cosine."""
    return math.cosh(x)


@cosh.overload
def cosh(z: Complex) -> Complex:
    return complex_cosh(z)


@pymetal.unary(promotion="int_to_float", opmath=True)
def tanh(x: T) -> T:
    """Hyperbolic tangent."""
    return math.tanh(x)


@tanh.overload
def tanh(z: Complex) -> Complex:
    return complex_tanh(z)


@pymetal.unary(promotion="int_to_float", opmath=True)
def asin(x: T) -> T:
    """Inverse sine."""
    return math.asin(x)


@asin.overload
def asin(z: Complex) -> Complex:
    return complex_asin(z)


@pymetal.unary(promotion="int_to_float", opmath=True)
def acos(x: T) -> T:
    """Inverse cosine."""
    return math.acos(x)


@acos.overload
def acos(z: Complex) -> Complex:
    return complex_acos(z)


@pymetal.unary(promotion="int_to_float", opmath=True)
def atan(x: T) -> T:
    """Inverse tangent."""
    return math.atan(x)


@atan.overload
def atan(z: Complex) -> Complex:
    return complex_atan(z)


# --- roots and reciprocals -------------------------------------------------------------------------------------------


@pymetal.unary(promotion="int_to_float", opmath=True)
def sqrt(x: T) -> T:
    """Square root."""
    return math.sqrt(x)


@sqrt.overload
def sqrt(z: Complex) -> Complex:
    return complex_sqrt(z)


@pymetal.unary(promotion="int_to_float", opmath=True)
def reciprocal(x: T) -> T:
    """1 / x."""
    return 1 / x


@reciprocal.overload
def reciprocal(z: Complex) -> Complex:
    """Scaled, so that |z|^2 does not overflow as it does upstream."""
    return divide(complex(1.0, 0.0), z)


@pymetal.unary(promotion="int_to_float", opmath=True)
def rsqrt(x: T) -> T:
    """1 / sqrt(x)."""
    return 1 / math.sqrt(x)


@rsqrt.overload
def rsqrt(z: Complex) -> Complex:
    return divide(complex(1.0, 0.0), complex_sqrt(z))


@pymetal.unary(promotion="int_to_float", opmath=True)
def sigmoid(x: T) -> T:
    """1 / (1 + e^-x)."""
    return logistic(x)


@sigmoid.overload
def sigmoid(z: Complex) -> Complex:
    return divide(complex(1.0, 0.0), 1 + complex_exp(-z))


# --- logarithms ------------------------------------------------------------------------------------------------------


@pymetal.unary(promotion="int_to_float", opmath=True)
def log(x: T) -> T:
    """Natural logarithm."""
    return math.log(x)


@log.overload
def log(z: Complex) -> Complex:
    return complex_log(z)


@pymetal.unary(promotion="int_to_float", opmath=True)
def log2(x: T) -> T:
    """Logarithm to base 2."""
    return math.log2(x)


@log2.overload
def log2(z: Complex) -> Complex:
    return complex_log(z) * (1 / LN2)


@pymetal.unary(promotion="int_to_float", opmath=True)
def log10(x: T) -> T:
    """Logarithm to base 10."""
    return math.log10(x)


@log10.overload
def log10(z: Complex) -> Complex:
    return complex_log(z) * (1 / LN10)


@pymetal.unary(promotion="int_to_float", opmath=True)
def log1p(x: T) -> T:
    """Natural logarithm of 1 + x; precise near zero."""
    return math.log1p(x)


@log1p.overload
def log1p(z: Complex) -> Complex:
    return complex_log1p(z)


# --- size, sign, parts -----------------------------------------------------------------------------------------------


@pymetal.unary(dtypes=NUMBERS, opmath=True)
def sqr(x: T) -> T:
    """x squared."""
    return x * x


@pymetal.unary(dtypes=NUMBERS)
def neg(x: T) -> T:
    """-x."""
    return -x


@pymetal.unary
def angle(x: Floating) -> Floating:
    """The angle of x in the complex plane: 0, or pi for negative numbers; NaN stays. Of complex numbers, the host asks
    for a complex one."""
    return x if math.isnan(x) else math.pi if x < 0 else 0


@angle.overload
def angle(x: Integral) -> float:
    return math.pi if x < 0 else 0


@angle.overload
def angle(z: Complex) -> Complex:
    return complex(math.atan2(z.imag, z.real), 0)


# --- rounding --------------------------------------------------------------------------------------------------------


@pymetal.unary(dtypes=FLOATING)
def floor(x: T) -> T:
    """The largest integer that is not above x."""
    return metal.floor(x)


@pymetal.unary(dtypes=FLOATING)
def ceil(x: T) -> T:
    """The smallest integer that is not below x."""
    return metal.ceil(x)


@pymetal.unary(dtypes=FLOATING)
def trunc(x: T) -> T:
    """x without its fraction."""
    return metal.trunc(x)


@pymetal.unary(dtypes=FLOATING)
def round_decimals(x: T, *, decimals: int64) -> T:
    """x rounded to `decimals` places after the point, or before it if that is negative; halves to even."""
    power = 10.0 ** float(abs(decimals))
    value = float(x)
    if decimals < 0:
        return T(metal.rint(value / power) * power)
    scaled = value * power
    return x if math.isinf(scaled) else T(metal.rint(scaled) / power)


# --- tests and bits --------------------------------------------------------------------------------------------------


@pymetal.unary(promotion="always_bool", dtypes=("floating", "integral", "bool", "complex"))
def logical_not(x: T) -> bool:
    """True where x is zero."""
    return x == 0


@pymetal.unary(dtypes=INTEGERS_AND_BOOL)
def bitwise_not(x: T) -> T:
    """All bits inverted; of a truth value, the other one."""
    return ~x


@pymetal.unary(dtypes=FLOATING_AND_COMPLEX)
def nan_to_num(x: Floating, *, nan: float = 0.0, posinf: float, neginf: float) -> Floating:
    """x, with `nan`, `posinf` and `neginf` in place of what is not finite."""
    if math.isnan(x):
        return Floating(nan)
    if math.isinf(x):
        return Floating(posinf if x > 0 else neginf)
    return x


@pymetal.func
def replaced(x: float, nan: float, posinf: float, neginf: float) -> float:
    """One part of a complex number."""
    if math.isnan(x):
        return nan
    return (posinf if x > 0 else neginf) if math.isinf(x) else x


@nan_to_num.overload
def nan_to_num(z: Complex, *, nan: float = 0.0, posinf: float, neginf: float) -> Complex:
    parts = complex(replaced(float(z.real), nan, posinf, neginf), replaced(float(z.imag), nan, posinf, neginf))
    return Complex(parts)


@pymetal.unary(dtypes=NUMBERS)
def pow_scalar(x: Floating, *, exponent: float) -> Floating:
    """x to the power of a number."""
    return Floating(float(x) ** exponent)


@pow_scalar.overload
def pow_scalar(z: Complex, *, exponent: complex64) -> Complex:
    return Complex(complex_pow(complex64(z), exponent))


@pow_scalar.overload
def pow_scalar(x: Integral, *, exponent: int32) -> Integral:
    return Integral(x**exponent)


# --- named as builtins: last, as the functors above mean the builtins ------------------------------------------------


@pymetal.unary(dtypes=NUMBERS)
def abs(x: Real) -> Real:
    """|x|; the length of a complex number, without a square that overflows. The host asks for a complex one."""
    return builtins.abs(x)


@abs.overload
def abs(z: Complex) -> Complex:
    return complex(builtins.abs(z), 0)


@pymetal.unary(dtypes=("floating", "integral"))
def round(x: Floating) -> Floating:
    """The nearest integer, halves to even."""
    return metal.rint(x)


@round.overload
def round(x: Integral) -> Integral:
    return x
