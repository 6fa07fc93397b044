"""The gamma function's logarithm and its derivatives, as the gallery's functors share them.

c10's have no digits left near zeros of the logarithm, and are wrong for small negative arguments.
"""

from __future__ import annotations

import math

import pymetal
from pymetal import metal

EULER = 0.57721566490153286
HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def _zeta_minus_one(k: int) -> float:
    """The sum of n^-k from n = 2: nine terms, then the integral of the rest with its first corrections."""
    n = 10.0
    rest = n ** (1 - k) / (k - 1) + 0.5 * n**-k + k * n ** (-k - 1) / 12 - k * (k + 1) * (k + 2) * n ** (-k - 3) / 720
    return sum(m**-k for m in (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)) + rest


# log gamma(2 + w) = w times this polynomial in w, the highest power first; it converges for |w| < 2.
LOG_GAMMA_AT_TWO = (*((-1) ** k * _zeta_minus_one(k) / k for k in range(16, 1, -1)), 1 - EULER)

# B_2j / (2 j)!: what one term of Euler's and Maclaurin's summation has to the one before.
BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)


@pymetal.func
def log_gamma_near_two(w: float) -> float:
    """log gamma(2 + w) for |w| up to 1/2."""
    return w * metal.polevl(w, LOG_GAMMA_AT_TWO)


@pymetal.func
def log_gamma_near_one(w: float) -> float:
    """log gamma(1 + w) for |w| up to 1/2."""
    return log_gamma_near_two(w) - math.log1p(w)


@pymetal.func
def log_gamma_of_positive(x: float) -> float:
    """log gamma(x): a series around two, stretched by gamma(x + 1) = x gamma(x), and Stirling's formula from 8 on."""
    if x < 0.5:
        return log_gamma_near_one(x) - math.log(x)
    if x < 1.5:
        return log_gamma_near_one(x - 1)
    if x < 8:
        factor, rest = 1.0, x
        while rest > 2.5:
            rest -= 1
            factor *= rest
        return log_gamma_near_two(rest - 2) + math.log(factor)
    if math.isinf(x):
        return x
    inverse = 1 / x
    square = inverse * inverse
    correction = inverse * (1 / 12 - square * (1 / 360 - square / 1260))
    return (x - 0.5) * (math.log(x) - 1) + (HALF_LOG_TWO_PI - 0.5 + correction)


@pymetal.func
def log_gamma(x: float) -> float:
    """log |gamma(x)|; negative numbers by reflection. Infinite at 0, -1, -2, ..."""
    if x > 0 or math.isnan(x):
        return log_gamma_of_positive(x)
    if x == metal.floor(x):
        return math.inf
    return math.log(math.pi / metal.fabs(metal.precise.sinpi(x))) - log_gamma_of_positive(1 - x)


@pymetal.func
def digamma_of_positive(x: float) -> float:
    """The derivative of log gamma: moved up to 8 by digamma(x + 1) = digamma(x) + 1 / x, then Stirling's formula."""
    moved, steps = x, 0.0
    while moved < 8:
        steps += 1 / moved
        moved += 1
    square = 1 / (moved * moved)
    correction = 0.5 / moved + square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return math.log(moved) - correction - steps


@pymetal.func
def digamma_of(x: float) -> float:
    """Digamma; negative numbers by reflection. NaN at -1, -2, ..., and at zero the infinity of its side."""
    if x > 0 or math.isnan(x):
        return digamma_of_positive(x)
    if x == 0:
        return math.copysign(math.inf, -x)
    if x == metal.floor(x):
        return math.nan
    return digamma_of_positive(1 - x) - math.pi / metal.precise.tanpi(x)


@pymetal.func
def zeta_of_positive(x: float, q: float) -> float:
    """The sum of (k + q)^-x for x > 1, q > 0: eight terms, then Euler's and Maclaurin's formula for the rest."""
    total = metal.precise.pow(q, -x)
    for k in pymetal.static_range(1, 8):
        total += metal.precise.pow(q + k, -x)
    w = q + 8
    power = metal.precise.pow(w, -x)
    if power == 0:
        return total
    total += power * (w / (x - 1) + 0.5)
    factor = power * x / w
    for j in pymetal.static_range(5):
        total += BERNOULLI[j] * factor
        factor *= (x + (2 * j + 1)) * (x + (2 * j + 2)) / (w * w)
    return total


@pymetal.func
def hurwitz_zeta(x: float, q: float) -> float:
    """Zeta for all arguments: negative q by the sums over what is on either side of zero, with no loop over terms.

    Infinite at x = 1 and at the poles q = 0, -1, ...; NaN for x < 1, and for a negative number to a broken power.
    """
    if x == 1:
        return math.inf
    if x < 1 or math.isnan(x + q):
        return math.nan
    if q > 0:
        return zeta_of_positive(x, q)
    if q == metal.floor(q):
        return math.inf
    if x != metal.floor(x):
        return math.nan
    above = zeta_of_positive(x, q - metal.floor(q))
    below = zeta_of_positive(x, metal.ceil(q) - q) - zeta_of_positive(x, 1 - q)
    odd = metal.precise.fmod(x, 2.0) == 1
    return above - below if odd else above + below
