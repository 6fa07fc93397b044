"""A user's mistakes, which type checkers find: in each line that says so, and nowhere else.

To pyright a result annotated `T`, which is Any, is Any; to mypy it is a tensor.
"""

from __future__ import annotations

import torch

import pymetal
from pymetal import T


@pymetal.binary(promotion="int_to_float")
def ratio(a: T, b: T, scale: float = 1, *, times: int = 1) -> T:
    return a / b * scale * times


@pymetal.func
def halved(x: T, by: int = 2) -> T:
    return x / by


@pymetal.unary(promotion="int_to_flaot")  # error
def misspelt(x: T) -> T:
    return halved(x)


@pymetal.unary
def wrong_call(x: T) -> T:
    return halved(x, by="2")  # error


def use(x: torch.Tensor) -> None:
    ratio(x, x)
    ratio(x)  # error
    ratio(x, x, 2, 3)  # error
    ratio(x, x, scale="2")  # error
    ratio(x, x, times=0.5)  # error
    ratio(x, x, scael=2)  # error
    ratio(x, x, out=[x])  # error
    ratio.jit_source(x)  # error
    ratio(x, x).no_such_method()  # error of mypy
    text: str = ratio(x, x)  # error of mypy
    print(text)
