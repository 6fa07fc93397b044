"""A file of functors, right and wrong ones, as `pymetal check` gets it."""

import math

import torch

import pymetal
from pymetal import Floating, Integral, T, metal


@pymetal.binary(dtypes="floating")
def product(a: T, b: T) -> T:
    return a * b


@pymetal.binary(dtypes=torch.float16)
def early(a: T, b: T) -> T:
    return a * a / b


@pymetal.unary(dtypes=("floating", "integral"))
def halved(x: Floating) -> Floating:
    if x == x:
        return metal.fast.exp(x)
    return x * x + x


@halved.overload
def halved(x: Integral) -> Integral:
    return Integral(float(x) * 0.5)


@pymetal.binary(dtypes="integral")
def share(a: T, b: T) -> T:
    return a // b  # pymetal: allow=24


@pymetal.binary(dtypes="integral")
def rest(a: T, b: T) -> T:
    return a % b


@pymetal.unary(dtypes="floating")
def never(x: T) -> T:
    if metal.fabs(x) < 0:
        return 1
    return x


@pymetal.unary(dtypes=torch.float32)
def entropy(x: T) -> T:
    if math.isnan(x):
        return x
    if x > 0:
        return -x * math.log(x)
    return 0 if x == 0 else -math.inf


@pymetal.unary(dtypes=torch.float32, max_ulp=0.1)
def strict(x: T) -> T:
    return math.exp(x)


@pymetal.unary(dtypes=torch.float32, max_ulp={torch.float16: 1, "integral": 2, "floating": 3})
def elsewhere(x: T) -> T:
    return -x


@pymetal.unary(dtypes="floating")
def forked(x: T) -> T:
    y = x * 3
    if x > 1:
        return y
    return y * x if x < 0 else y


@pymetal.unary(dtypes=torch.float16, opmath=True)
def forked_wide(x: T) -> T:
    return pymetal.float16(x * 3) * 5


@pymetal.unary(dtypes=torch.float32)
def grown(x: T) -> T:
    return math.exp(x) - 1


@pymetal.binary(dtypes=torch.float32)
def unscaled(a: T, b: T) -> T:
    return math.sqrt(a * a + b * b)


@pymetal.binary(dtypes=torch.float32)
def hypotenuse(a: T, b: T) -> T:
    """Scaled by the larger one; infinity beside NaN is infinity."""
    if math.isinf(a) or math.isinf(b):
        return math.inf
    larger = max(abs(a), abs(b))
    smaller = min(abs(a), abs(b))
    if larger == 0:
        return larger
    return larger * math.sqrt(1 + (smaller / larger) * (smaller / larger))


@pymetal.binary(dtypes=torch.float32)
def same(a: T, b: T) -> T:
    return a if a == b else b * 0


@pymetal.unary(dtypes=torch.float16)
def dropped(x: T) -> T:
    return x if x > 0 or x == 0 else 0


@pymetal.binary(promotion="int_to_float")
def length(a: T, b: T) -> T:
    return metal.c10.hypot(a, b)
