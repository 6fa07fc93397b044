"""Functors that come near to a finding and are right: what each rule of `pymetal check` leaves alone."""

import math

import torch

import pymetal
from pymetal import Integral, T, metal


@pymetal.unary(dtypes=(torch.int16, torch.int8))
def short_through_float(x: T) -> T:
    """Float holds 16 bits."""
    return T(float(x) * 2)


@pymetal.unary(dtypes="integral", promotion="int_to_float")
def float_result(x: T) -> T:
    """The result is a float anyway."""
    return float(x) * 0.5


@pymetal.binary(dtypes="floating")
def equal_after_nan(a: T, b: T) -> T:
    """NaN is out of the way."""
    if math.isnan(a):
        return a
    return a if a == b else b


@pymetal.unary(dtypes="floating")
def equal_to_a_number(x: T) -> T:
    """NaN is no number, which is meant."""
    return 1 if x == 0 else x


@pymetal.binary(dtypes="floating", promotion="always_bool")
def comparison(a: T, b: T) -> bool:
    """The whole is a comparison."""
    return a == b


@pymetal.unary(dtypes=torch.float32)
def exact_exp(x: T) -> T:
    """Not fast."""
    return metal.precise.exp(x)


@pymetal.unary(dtypes="floating", opmath=True)
def widened(x: T) -> T:
    """One rounding."""
    return x * x + x


@pymetal.unary(dtypes="floating")
def one_rounding(x: T) -> T:
    """Exact steps around one that rounds."""
    return -abs(x * 3)


@pymetal.binary(dtypes="integral")
def divided_by_a_number(a: T, b: T) -> T:
    """Seven is not zero."""
    return a // 7 + b


@pymetal.binary(dtypes="integral")
def guarded(a: T, b: T) -> T:
    """The divisor is tested."""
    return a % b if b != 0 else a


@pymetal.unary(dtypes=torch.float32)
def rarely(x: T) -> T:
    """A branch that one number takes."""
    if x == 1234.5:
        return 0
    return x


@pymetal.unary(dtypes=("floating", "integral"))
def by_dtype(x: T) -> T:
    """Each side is for some dtypes."""
    if pymetal.is_integral(T):
        return x
    return x * 2


@pymetal.unary(dtypes=torch.float32)
def nearly_sinc(x: T) -> T:
    """Not c10's sinc: without pi in one place."""
    return 1 if x == 0 else math.sin(math.pi * x) / x


@pymetal.binary(dtypes="floating")
def calls_c10(a: T, b: T) -> T:
    """c10's own."""
    return metal.c10.xlogy(a, b)


@pymetal.unary(dtypes="floating")
def relu(x: T) -> T:
    """NaN comes through, as in torch.relu; so does the sign of zero."""
    return x if math.isnan(x) or x > 0 or x == 0 else 0


@pymetal.binary(dtypes="integral")
def compared_with_another(a: Integral, b: Integral) -> Integral:
    """Wrong: a comparison with a variable says nothing of zero."""
    return a // b if a > b else a


@pymetal.unary(dtypes="floating", opmath=True)
def one_rounding_on_each_path(x: T) -> T:
    """Two returns, one of which is reached."""
    if x < 0:
        return x * 2
    return x * 3


@pymetal.unary(dtypes="floating")
def one_rounding_without_opmath(x: T) -> T:
    """Three places, of which one computes."""
    if x < 0:
        return x * 2
    return x * 3 if x > 1 else x * 4


@pymetal.binary(dtypes="integral")
def divisor_is_odd(a: T, b: T) -> T:
    """A bit is set."""
    return a // (b | 1)


@pymetal.binary(dtypes="integral")
def divisor_is_one_at_least(a: T, b: T) -> T:
    """Zero is out of the way."""
    return a % max(b, 1)
