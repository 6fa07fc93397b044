"""One functor for each promotion kind and arity, registered for every dtype that Metal has."""

from __future__ import annotations

import torch

import pymetal
from pymetal import T, dtypes

EVERY = tuple(d.torch for d in dtypes.ALL)


@pymetal.binary(dtypes=EVERY)
def plain(a: T, b: T) -> T:
    return a * b


@pymetal.binary(promotion="no_opmath", dtypes=EVERY)
def no_opmath(a: T, b: T) -> T:
    return a * b


@pymetal.binary(promotion="int_to_float", dtypes=EVERY)
def int_to_float(a: T, b: T) -> T:
    return a * b


@pymetal.binary(promotion="always_bool", dtypes=EVERY)
def always_bool(a: T, b: T) -> bool:
    return a == b


@pymetal.binary(promotion="bool_to_long", dtypes=EVERY)
def bool_to_long(a: T, b: T) -> T:
    return a * b


@pymetal.binary(promotion="complex_to_float", dtypes=EVERY)
def complex_to_float(a: T, b: T) -> pymetal.RealOf[T]:
    if pymetal.is_complex(T):
        return (a * b).real
    else:  # noqa: RET505 - decided when it is compiled
        return a * b


@pymetal.ternary(dtypes=EVERY)
def plain3(a: T, b: T, c: T) -> T:
    return a * b * c


@pymetal.ternary(promotion="int_to_float", dtypes=EVERY)
def int_to_float3(a: T, b: T, c: T) -> T:
    return a * b * c


BINARY = {
    f.promotion.name: f for f in (plain, no_opmath, int_to_float, always_bool, bool_to_long, complex_to_float)
}  # fmt: skip
TERNARY = {"default": plain3, "int_to_float": int_to_float3}

UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
