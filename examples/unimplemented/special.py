"""Special functions."""

from __future__ import annotations

import math

import pymetal
from examples.aten.normal import (
    SQRT_HALF,
    exp_minus_half_square,
    inverse_erf,
    inverse_erfc,
    scaled_erfc,
)
from examples.aten.tables import AIRY, AIRY_PHASE, AIRY_SIZE, AIRY_TAIL
from pymetal import T, int64, metal

SQRT_TWO = math.sqrt(2)
INV_SQRT_PI = 1 / math.sqrt(math.pi)
TWO_THIRDS = 2 / 3
TWO_THIRDS_FLOAT = 11184811 / 2**24  # the float next to 2/3
TWO_THIRDS_REST = 2 / 3 - 11184811 / 2**24


@pymetal.unary(promotion="int_to_float", opmath=True)
def ndtri(p: T) -> T:
    """The inverse of the normal distribution function: by erf around 1/2, and by erfc of the smaller of p and 1 - p."""
    if p <= 0 or p >= 1 or math.isnan(p):
        return -math.inf if p == 0 else math.inf if p == 1 else math.nan
    if 0.25 < p < 0.75:
        return SQRT_TWO * inverse_erf(2 * (p - 0.5))
    if p < 0.5:
        return -SQRT_TWO * inverse_erfc(2 * p)
    return SQRT_TWO * inverse_erfc(2 * (1 - p))


@pymetal.unary(promotion="int_to_float", opmath=True)
def log_ndtr(x: T) -> T:
    """The logarithm of the normal distribution function; for negative x the parabola is split off."""
    scaled = 0.5 * scaled_erfc(metal.fabs(x) * SQRT_HALF)
    if x < 0:
        return math.log(scaled) - 0.5 * x * x
    return math.log1p(-scaled * exp_minus_half_square(x))


@pymetal.func
def airy_of_negative(x: float) -> float:
    """Ai(-x) for x >= 2: a wave of slowly changing size and phase. Its argument z = (2/3) x^(3/2) is kept to twice the
    precision of a float, as its sine has no digit more than what is left of it after the turns are taken out."""
    root = math.sqrt(x)
    root_rest = 0.5 * metal.fma(-root, root, x) / root
    power = x * root
    power_rest = metal.fma(x, root, -power) + x * root_rest
    z = TWO_THIRDS_FLOAT * power
    z_rest = metal.fma(TWO_THIRDS_FLOAT, power, -z) + TWO_THIRDS_REST * power + TWO_THIRDS_FLOAT * power_rest
    u = 1 / (z * z)
    behind = math.pi / 4 + metal.polevl(u, AIRY_PHASE) / z - z_rest
    wave = math.cos(z) * math.cos(behind) + math.sin(z) * math.sin(behind)
    return INV_SQRT_PI * metal.polevl(u, AIRY_SIZE) * wave / math.sqrt(root)


@pymetal.func
def airy_of_large(x: float) -> float:
    """Ai(x) for x >= 1, which decays as e^-z; z again to twice the precision."""
    root = math.sqrt(x)
    root_rest = 0.5 * metal.fma(-root, root, x) / root
    power = x * root
    power_rest = metal.fma(x, root, -power) + x * root_rest
    z = TWO_THIRDS_FLOAT * power
    z_rest = metal.fma(TWO_THIRDS_FLOAT, power, -z) + TWO_THIRDS_REST * power + TWO_THIRDS_FLOAT * power_rest
    size = 0.5 * INV_SQRT_PI * metal.polevl(1 / z, AIRY_TAIL) / math.sqrt(root)
    return size * math.exp(-z) * (1 - z_rest)


@pymetal.unary(promotion="int_to_float", opmath=True)
def airy_ai(x: T) -> T:
    """Airy's function Ai."""
    if x > 30:
        return 0
    if x > 1:
        return airy_of_large(x)
    if x >= -2:
        return metal.polevl((x + 0.5) / 1.5, AIRY)
    return airy_of_negative(-x)


@pymetal.binary(promotion="int_to_float", opmath=True)
def legendre_polynomial_p(x: T, n: T) -> T:
    """Legendre's polynomial of degree n, read as an integer; zero for negative n. By its recurrence for the steps from
    one degree to the next, which are small near 1, where every polynomial is 1; -1 is its mirror image."""
    degree = int64(n)
    if degree < 0:
        return 0
    size = metal.fabs(x)
    value, step = 1.0, 0.0
    k = 0
    while k < degree and not math.isnan(value):
        step = (k * step + (2 * k + 1) * (size - 1) * value) / (k + 1)
        value += step
        k += 1
    return -value if x < 0 and degree % 2 == 1 else value
