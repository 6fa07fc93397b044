"""The error function and its kin, as the gallery's functors share them: erf, erfc, their inverses, the normal and the
logistic law.

`scaled_erfc(x) = e^(x^2) erfc(x)` is the one that keeps its digits everywhere; the others are made of it. c10's
`erfcx` is six units in the last place off for small x.
"""

from __future__ import annotations

import math

import pymetal
from examples.aten.tables import ERFCX
from pymetal import metal

SQRT_HALF = math.sqrt(0.5)
HALF_SQRT_PI = 0.5 * math.sqrt(math.pi)
INV_SQRT_TWO_PI = 1 / math.sqrt(2 * math.pi)
INV_SQRT_PI = 1 / math.sqrt(math.pi)


@pymetal.func
def exp_square(x: float) -> float:
    """e^(x^2); the rounding error of the square, which the power would blow up, is added back."""
    square = x * x
    rest = metal.fma(x, x, -square)
    return math.exp(square) * (1 + rest) if square < 89 else math.inf


@pymetal.func
def exp_minus_square(x: float) -> float:
    """e^(-x^2), in the same way."""
    square = x * x
    rest = metal.fma(x, x, -square)
    if math.isinf(square):
        return 0
    return math.exp(-square) * (1 - rest)


@pymetal.func
def exp_minus_half_square(x: float) -> float:
    """e^(-x^2 / 2), in the same way."""
    square = x * x
    rest = metal.fma(x, x, -square)
    if math.isinf(square):
        return 0
    return math.exp(-0.5 * square) * (1 - 0.5 * rest)


@pymetal.func
def scaled_erfc(x: float) -> float:
    """e^(x^2) erfc(x) for x >= 0: from 1/2 on, a polynomial in (x - 2) / (x + 2), which has no large argument."""
    if x < 0.5:
        return (1 - metal.c10.erf(x)) * exp_square(x)
    if x > 1e10:
        return INV_SQRT_PI / x
    return metal.polevl((x - 2) / (x + 2), ERFCX) / (1 + 2 * x)


@pymetal.func
def complementary_erf(x: float) -> float:
    """1 - erf(x), without the subtraction where it would cancel."""
    if x < 0.5:
        return 1 - metal.c10.erf(x)
    return scaled_erfc(x) * exp_minus_square(x)


@pymetal.func
def normal_cdf(x: float) -> float:
    """The probability that a normal variable is below x."""
    tail = 0.5 * scaled_erfc(metal.fabs(x) * SQRT_HALF) * exp_minus_half_square(x)
    return 1 - tail if x > 0 else tail


@pymetal.func
def normal_pdf(x: float) -> float:
    """The density of the normal law."""
    return INV_SQRT_TWO_PI * exp_minus_half_square(x)


@pymetal.func
def inverse_erfc(q: float) -> float:
    """The x with erfc(x) = q, for q up to 1/2: Newton's method on log erfc, which is nearly a parabola."""
    target = math.log(q)
    x = math.sqrt(-target) - 0.3
    for _ in pymetal.static_range(4):
        scaled = scaled_erfc(x)
        x = x + (math.log(scaled) - x * x - target) * scaled * HALF_SQRT_PI
    return x


@pymetal.func
def inverse_erf(y: float) -> float:
    """The x with erf(x) = y, for |y| up to 1/2: two terms of the series, then Newton's method."""
    x = HALF_SQRT_PI * y * (1 + math.pi / 12 * y * y)
    for _ in pymetal.static_range(2):
        x = x - (metal.c10.erf(x) - y) * HALF_SQRT_PI * math.exp(x * x)
    return x


@pymetal.func
def logistic(x: float) -> float:
    """1 / (1 + e^-x), by e^x for negative x, which does not overflow."""
    power = math.exp(-metal.fabs(x))
    return 1 / (1 + power) if x >= 0 else power / (1 + power)
