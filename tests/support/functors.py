"""Functors that several tests share: together they use every statement, conversion and registration of the spine."""

from __future__ import annotations

import math

import pymetal
from pymetal import Floating, Integral, T, metal

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
LIMIT = 100


@pymetal.binary
def add_alpha(a: T, b: T, *, alpha: T = 1) -> T:
    """a + alpha * b, as torch.add."""
    return a + alpha * b


@pymetal.unary(dtypes="floating", opmath=True)
def elu(x: T, *, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> T:
    """Exponential linear unit. The three scalars travel as one struct."""
    if x > 0:
        return scale * x
    return scale * alpha * (metal.precise.exp(input_scale * x) - 1)


@pymetal.unary
def affine(x: T, *, scale: T, shift: T = 0, limit: pymetal.int32 = 7) -> T:
    """Scalars of the element type and of a type of their own in one struct."""
    moved = x * scale + shift
    return moved if moved < limit else T(limit)


@pymetal.ternary
def clamp(x: T, low: T, high: T) -> T:
    """torch.clamp with tensor bounds; a NaN anywhere is the result."""
    if x != x:
        return x
    if low != low or x < low:
        x = low
    if high != high or x > high:
        x = high
    return x


@pymetal.binary(promotion="always_bool")
def less(a: T, b: T) -> bool:
    return a < b


@pymetal.binary(promotion="always_bool")
def logical_xor(a: T, b: T) -> bool:
    """torch.logical_xor."""
    return (a != 0) != (b != 0)


@pymetal.unary(promotion="always_bool", dtypes=("floating", "integral"))
def between(x: T, *, low: T = -1, high: T = 1) -> bool:
    """Chained comparisons; the ends are left out again."""
    return low <= x <= high and not (x == low or high == x)


@pymetal.unary(promotion="int_to_float")
def log_normal(x: T) -> T:
    """Logarithm of the normal density."""
    return -0.5 * x * x - HALF_LOG_TWO_PI


@pymetal.unary(dtypes=("floating", "integral"))
def staircase(x: T) -> T:
    """A variable set on every path of an if, then read; another reassigned; a parameter, too."""
    bonus = 1
    if x > 10:
        step = x - 10
        bonus = 2
    elif x > 5:
        step = 5
    else:
        step = T(0)
        x = -x
    step += bonus
    return step * 2 + x


@pymetal.binary(dtypes="integral")
def narrow(a: T, b: T) -> T:
    """Arithmetic wraps to the element type wherever the value is looked at."""
    total = a + b
    if a * b - 3 < total:
        return -total
    return total if (a - b) * 2 > LIMIT else a * 3 - b


@pymetal.binary(dtypes=("floating", "integral"))
def conversions(a: T, b: T) -> T:
    """Casts: to a fixed width and back, to float, from a truth value."""
    small = pymetal.int8(pymetal.int32(a < b) * 3)
    ratio = float(a) / (1 + metal.fabs(float(b)))
    sign = 1 if ratio < 0.5 and small > 0 else -1
    return T(sign * small)


@pymetal.unary(promotion="int_to_float")
def kinds(x: T) -> T:
    """One body, split when it is compiled by the kind of the element type."""
    if pymetal.is_bool(T):
        return 0.25
    elif pymetal.is_integral(T):  # noqa: RET505 - a chain
        return x / 3 if pymetal.is_signed(T) else x / 5
    else:
        return metal.sqrt(metal.fabs(x))


@pymetal.unary
def only_floats(x: Floating) -> Floating:
    return x * x if math.isfinite(x) else math.copysign(2.0, x)


@pymetal.binary(dtypes="integral")
def only_integers(a: Integral, b: Integral) -> Integral:
    return a * b + 1


@pymetal.binary(dtypes="floating")
def reserved(kernel: T, half: T) -> T:
    """Parameters and variables whose names Metal reserves; é, ß and → are not ASCII."""
    float2 = kernel * half
    NAN = float2 - half
    größe = NAN / 2
    return größe + kernel


def silu(x):  # type: ignore[no-untyped-def]
    return x / (1 + metal.exp(-x))


def limited(x, low=0, high=1):  # type: ignore[no-untyped-def]
    """x, where it is between low and high."""
    if x < low:
        return low
    return high if x > high else x


def steps(x, count=2):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(count):
        if limited(x, high=3) > i:
            total += i + 1
    return total


@pymetal.binary
def swiglu(a: T, b: T) -> T:
    """A plain function, typed by its argument; of floats alone."""
    return silu(a) * b


@pymetal.unary(dtypes=("floating", "integral"))
def stairs(x: T) -> T:
    """A plain function that calls others, one text for floats and integers."""
    return limited(x) + limited(x, high=3) * steps(x, 4)


ALL = (
    add_alpha, elu, affine, clamp, less, logical_xor, between, log_normal, staircase, narrow, conversions, kinds,
    only_floats, only_integers, reserved, swiglu, stairs,
)  # fmt: skip
