"""Meanings without rounding, for the `exact` column of rows: functions of mpmath's reals and Python's integers.

All of them take `mpmath.mp` first, so that mpmath is imported by those alone that ask for such a value. It has neither
signed zeros nor subnormals. Integers wrap to the width of their type afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def mpmath(name: str) -> Callable[..., Any]:
    """mpmath's function of a name."""
    return lambda mp, *operands: getattr(mp, name)(*operands)


def trunc(mp: Any, x: Any) -> Any:
    """The integer next to x towards zero."""
    return mp.sign(x) * mp.floor(abs(x))


def round_away(mp: Any, x: Any) -> Any:
    """The nearest integer; of two the one further from zero."""
    return mp.sign(x) * mp.floor(abs(x) + mp.mpf(0.5))


def quotient(mp: Any, x: Any, y: Any) -> Any:
    """x / y; of integers rounded to zero, and 0 where y is zero."""
    if isinstance(x, int):
        return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return x / y


def fmod(mp: Any, x: Any, y: Any) -> Any:
    """What a quotient rounded to zero leaves over."""
    return x - y * quotient(mp, x, y) if isinstance(x, int) else mp.sign(x) * mp.fmod(abs(x), abs(y))


def floor_divide(mp: Any, x: Any, y: Any) -> Any:
    """The quotient rounded down; of integers by zero -1 for negative x, and else 0."""
    if isinstance(x, int):
        return x // y if y else -int(x < 0)
    return mp.floor(x / y)


def remainder(mp: Any, x: Any, y: Any) -> Any:
    """What a quotient rounded down leaves over; of integers by zero x."""
    if isinstance(x, int):
        return x % y if y else x
    return x - y * mp.floor(x / y)


def power(mp: Any, x: Any, y: Any) -> Any:
    """x to the power of y; of integers modulo 2**64, and 1 / x**-y rounded to zero for negative y."""
    if not isinstance(x, int):
        return mp.power(x, y)
    if y >= 0:
        return pow(x, y, 1 << 64)
    return 1 - 2 * (y & 1) if x == -1 else int(x == 1)


def maximum(mp: Any, x: Any, y: Any) -> Any:
    """The larger of two, NaN if one is."""
    return mp.nan if mp.isnan(x) or mp.isnan(y) else max(x, y)


def minimum(mp: Any, x: Any, y: Any) -> Any:
    """The smaller of two, NaN if one is."""
    return mp.nan if mp.isnan(x) or mp.isnan(y) else min(x, y)


def fmax(mp: Any, *operands: Any) -> Any:
    """The largest of those that are not NaN."""
    return max((x for x in operands if not mp.isnan(x)), default=mp.nan)


def fmin(mp: Any, *operands: Any) -> Any:
    """The smallest of those that are not NaN."""
    return min((x for x in operands if not mp.isnan(x)), default=mp.nan)


def clamp(mp: Any, x: Any, low: Any, high: Any) -> Any:
    """The larger of x and low, or high if that is smaller still."""
    return fmin(mp, fmax(mp, x, low), high)


def erfcx(mp: Any, x: Any) -> Any:
    """exp(x**2) erfc(x)."""
    with mp.extradps(10):
        return mp.exp(x * x) * mp.erfc(x)


def log_gamma(mp: Any, x: Any) -> Any:
    """The logarithm of |gamma(x)|."""
    return mp.log(abs(mp.gamma(x))) if x < 200 else mp.loggamma(x)


def xlogy(mp: Any, x: Any, y: Any) -> Any:
    """x log(y), 0 for x = 0."""
    return mp.mpf(0) if x == 0 and not mp.isnan(y) else x * mp.log(y)


def logaddexp(mp: Any, x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y))."""
    return max(x, y) + mp.log1p(mp.exp(-abs(x - y)))


def logaddexp2(mp: Any, x: Any, y: Any) -> Any:
    """log2(2**x + 2**y)."""
    return max(x, y) + mp.log1p(mp.power(2, -abs(x - y))) / mp.log(2)
