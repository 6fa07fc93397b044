"""The functors of `BinaryKernel.metal`, but for comparisons and special functions."""

from __future__ import annotations

import math

import pymetal
from examples.aten.complex_functions import complex_pow, divide
from examples.aten.kinds import EVERY, FLOATING, INTEGERS, INTEGERS_AND_BOOL, NUMBERS, REAL
from pymetal import (
    Complex,
    ComplexOf,
    Floating,
    Integral,
    OpMath,
    T,
    bfloat16,
    bool_,
    complex64,
    float16,
    float32,
    int8,
    int16,
    int32,
    metal,
)

# --- sums and products -----------------------------------------------------------------------------------------------


@pymetal.binary(dtypes=EVERY)
def add(a: T, b: T) -> T:
    """a + b; of truth values, `or`."""
    return a + b


@pymetal.binary(dtypes=NUMBERS)
def sub(a: T, b: T) -> T:
    """a - b. torch refuses truth values, and so does this."""
    return a - b


@pymetal.binary(dtypes=EVERY)
def add_alpha(a: T, b: T, *, alpha: T = 1) -> T:
    """a + alpha * b, rounded once."""
    return a + alpha * b


@add_alpha.overload
def add_alpha(a: Floating, b: Floating, *, alpha: Floating) -> Floating:
    return Floating(metal.fma(float(alpha), float(b), float(a)))


@add_alpha.overload
def add_alpha(a: Complex, b: Complex, *, alpha: Complex) -> Complex:
    return Complex(complex64(a) + complex64(alpha) * complex64(b))


@pymetal.binary(dtypes=EVERY, opmath=True)
def mul(a: T, b: T) -> T:
    """a * b; of truth values, `and`. Complex halves are multiplied as complex floats: their squares would overflow."""
    return a * b


@pymetal.binary
def lerp_alpha(start: Floating, end: Floating, *, weight: OpMath[Floating]) -> Floating:
    """start + weight * (end - start), counted from the nearer end: it is exactly `end` at weight one."""
    a, b = float(start), float(end)
    near_start = metal.fabs(weight) < 0.5
    return Floating(metal.fma(weight, b - a, a) if near_start else metal.fma(weight - 1, b - a, b))


@lerp_alpha.overload
def lerp_alpha(start: Complex, end: Complex, *, weight: Complex) -> Complex:
    a, b, w = complex64(start), complex64(end), complex64(weight)
    return Complex(a + w * (b - a) if abs(w) < 0.5 else b - (b - a) * (1 - w))


@lerp_alpha.overload
def lerp_alpha(start: bool_, end: bool_, *, weight: bool_) -> bool_:
    return end if weight else start


@lerp_alpha.overload
def lerp_alpha(start: Integral, end: Integral, *, weight: Integral) -> Integral:
    return start + weight * (end - start)


# --- quotients and remainders ----------------------------------------------------------------------------------------


@pymetal.binary(promotion="int_to_float", opmath=True)
def div_true(a: T, b: T) -> T:
    """a / b."""
    return a / b


@div_true.overload
def div_true(a: Complex, b: Complex) -> Complex:
    """By Smith's rule: upstream divides by |b|^2, which overflows from 1e19 on."""
    return divide(a, b)


@pymetal.binary
def div_floor(a: Floating, b: Floating) -> Floating:
    """a / b rounded down, as Python's `//`. The quotient is exact before it is rounded: in half and bfloat, upstream's
    float quotient may round up to an integer that the exact one does not reach."""
    return a // b


@div_floor.overload
def div_floor(a: bool_, b: bool_) -> bool_:
    return a and b


@div_floor.overload
def div_floor(a: Integral, b: Integral) -> Integral:
    return a // b


@pymetal.binary
def div_trunc(a: Floating, b: Floating) -> Floating:
    """a / b rounded towards zero. Half and bfloat quotients are rounded to their own type first, as torch's are."""
    return metal.trunc(a / b)


@div_trunc.overload
def div_trunc(a: bool_, b: bool_) -> bool_:
    return a and b


@div_trunc.overload
def div_trunc(a: Integral, b: Integral) -> Integral:
    return metal.c10.div(a, b)


@pymetal.binary
def remainder(a: Floating, b: Floating) -> Floating:
    """a - b * floor(a / b), exactly: it has the sign of b. Upstream computes the formula in float, and is wrong
    where the quotient is large, and for infinite b."""
    return a % b


@remainder.overload
def remainder(a: bool_, b: bool_) -> bool_:
    return a and not b


@remainder.overload
def remainder(a: Integral, b: Integral) -> Integral:
    return a % b


@pymetal.binary
def fmod(a: Floating, b: Floating) -> Floating:
    """a - b * trunc(a / b), exactly: it has the sign of a."""
    return metal.precise.fmod(a, b)


@fmod.overload
def fmod(a: bool_, b: bool_) -> bool_:
    return a and not b


@fmod.overload
def fmod(a: Integral, b: Integral) -> Integral:
    return metal.c10.fmod(a, b)


@pymetal.binary
def gcd(a: bool_, b: bool_) -> bool_:
    """The greatest common divisor, by Euclid. The remainder keeps the dividend's sign, so that the lowest integer,
    which is its own absolute value, comes out right too."""
    return a or b


@gcd.overload
def gcd(a: Integral, b: Integral) -> Integral:
    a, b = abs(a), abs(b)
    while b != 0:
        a, b = b, metal.c10.fmod(a, b)
    return abs(a)


@pymetal.func
def least_multiple(a: Integral, b: Integral) -> Integral:
    """Divided before it is multiplied, so that only the result can overflow."""
    divisor = gcd(a, b)
    return a if divisor == 0 else abs(metal.c10.div(a, divisor) * b)


@pymetal.binary
def lcm(a: bool_, b: bool_) -> bool_:
    """The least common multiple; of narrow integers the absolute value is that of C++'s int, before it is narrowed."""
    return a and b


@lcm.overload
def lcm(a: Integral, b: Integral) -> Integral:
    return least_multiple(a, b)


@lcm.overload
def lcm(a: int16, b: int16) -> int16:
    return int16(least_multiple(int32(a), int32(b)))


@lcm.overload
def lcm(a: int8, b: int8) -> int8:
    return int8(least_multiple(int32(a), int32(b)))


# --- extremes --------------------------------------------------------------------------------------------------------


@pymetal.binary(dtypes=FLOATING)
def fmax(a: T, b: T) -> T:
    """The larger one; a NaN counts as missing."""
    return metal.fmax(a, b)


@pymetal.binary(dtypes=FLOATING)
def fmin(a: T, b: T) -> T:
    """The smaller one; a NaN counts as missing."""
    return metal.fmin(a, b)


@pymetal.binary(dtypes=REAL)
def maximum(a: T, b: T) -> T:
    """The larger one; a NaN is the result."""
    return max(a, b)


@pymetal.binary(dtypes=REAL)
def minimum(a: T, b: T) -> T:
    """The smaller one; a NaN is the result."""
    return min(a, b)


@pymetal.binary(dtypes=REAL)
def heaviside(x: T, at_zero: T) -> T:
    """0 below zero, 1 above, `at_zero` at zero; 0 for NaN, as torch has it."""
    return at_zero if x == 0 else T(x > 0)


# --- lengths, angles, complex numbers --------------------------------------------------------------------------------


@pymetal.binary(promotion="int_to_float")
def copysign(a: T, b: T) -> T:
    """a with the sign of b, also of a zero or NaN."""
    return metal.copysign(a, b)


@pymetal.binary(promotion="int_to_float", opmath=True)
def atan2(a: T, b: T) -> T:
    """The angle of the point (b, a)."""
    return math.atan2(a, b)


@pymetal.binary(dtypes=FLOATING, opmath=True)
def hypot(a: T, b: T) -> T:
    """sqrt(a^2 + b^2), scaled by the larger operand. Infinite if one is infinite, where upstream's has NaN beside a
    NaN; and it overflows only where the result does."""
    return math.hypot(a, b)


@pymetal.binary(dtypes=(float32, float16))
def make_complex(real: T, imag: T) -> ComplexOf[T]:
    """real + i imag."""
    return complex(real, imag)


@pymetal.binary(dtypes=(float32, float16))
def polar(length: T, angle: T) -> ComplexOf[T]:
    """The complex number of this length and angle."""
    size = float(length)
    turn = float(angle)
    return ComplexOf[T](complex(size * math.cos(turn), size * math.sin(turn)))


@pymetal.binary
def pow(a: Floating, b: Floating) -> Floating:
    """a to the power of b, as torch.pow; integers wrap, and to a negative power give 0, 1 or -1."""
    return a**b


@pow.overload
def pow(a: bool_, b: bool_) -> bool_:
    return a or not b


@pow.overload
def pow(a: Integral, b: Integral) -> Integral:
    return a**b


@pow.overload
def pow(a: Complex, b: Complex) -> Complex:
    return Complex(complex_pow(complex64(a), complex64(b)))


# --- neighbours ------------------------------------------------------------------------------------------------------


@pymetal.func
def next_bits(a: T, b: T, lowest: T) -> T:
    """The bits of the float after `a` towards `b`, from their bits; `lowest` are those of -0.

    With the sign taken off, bits are in the order of the floats: the neighbour is one more or one less. Comparing the
    floats themselves would not do, as Apple GPUs take subnormal ones for zero.
    """
    x = a if a >= 0 else lowest - a
    y = b if b >= 0 else lowest - b
    if x == y:
        return b
    moved = x + 1 if x < y else x - 1
    if moved == 0:
        return a & lowest
    return moved if moved > 0 else lowest - moved


@pymetal.binary
def nextafter(a: float32, b: float32) -> float32:
    """The next float after a towards b. On bits, so that subnormals are right on hardware that flushes them."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    return metal.as_type(next_bits(metal.as_type(a, int32), metal.as_type(b, int32), -(2**31)), float32)


@nextafter.overload
def nextafter(a: float16, b: float16) -> float16:
    if math.isnan(a) or math.isnan(b):
        return math.nan
    return metal.as_type(next_bits(metal.as_type(a, int16), metal.as_type(b, int16), -(2**15)), float16)


@nextafter.overload
def nextafter(a: bfloat16, b: bfloat16) -> bfloat16:
    if math.isnan(a) or math.isnan(b):
        return math.nan
    return metal.as_type(next_bits(metal.as_type(a, int16), metal.as_type(b, int16), -(2**15)), bfloat16)


# --- bits ------------------------------------------------------------------------------------------------------------


@pymetal.binary(dtypes=INTEGERS_AND_BOOL)
def bitwise_and(a: T, b: T) -> T:
    """a & b."""
    return a & b


@pymetal.binary(dtypes=INTEGERS_AND_BOOL)
def bitwise_or(a: T, b: T) -> T:
    """a | b."""
    return a | b


@pymetal.binary(dtypes=INTEGERS_AND_BOOL)
def bitwise_xor(a: T, b: T) -> T:
    """a ^ b."""
    return a ^ b


@pymetal.binary(dtypes=INTEGERS)
def bitwise_left_shift(a: T, b: T) -> T:
    """a * 2^b modulo the width; 0 for counts beyond it, where Metal's own operator masks the count."""
    return a << b


@pymetal.binary(dtypes=INTEGERS)
def bitwise_right_shift(a: T, b: T) -> T:
    """floor(a / 2^b), for all counts."""
    return a >> b
