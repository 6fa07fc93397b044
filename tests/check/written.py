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


@pymetal.binary(dtypes=torch.float32)
def same(a: T, b: T) -> T:
    return a if a == b else b * 0


@pymetal.unary(dtypes=torch.float16)
def dropped(x: T) -> T:
    return x if x > 0 or x == 0 else 0


@pymetal.binary(promotion="int_to_float")
def length(a: T, b: T) -> T:
    return metal.c10.hypot(a, b)
