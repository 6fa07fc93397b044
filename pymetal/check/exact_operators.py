"""Exact references of torch's operators, in mpmath's numbers, by the name that a functor shares with one.

A function that is a row of the operator table has its `exact` column; here are the others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mpmath

from pymetal import ops

mp = mpmath.mp


def _gelu_argument(x: Any) -> Any:
    return mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)


def _gelu_tanh(x: Any) -> Any:
    return x / (1 + mp.exp(-2 * _gelu_argument(x)))  # (1 + tanh u) / 2


def _gelu_tanh_backward(g: Any, x: Any) -> Any:
    slope = mp.sqrt(2 / mp.pi) * (1 + 3 * mp.mpf("0.044715") * x * x)
    half = 1 / (1 + mp.exp(-2 * _gelu_argument(x)))
    return g * (half + x * 2 * half * (1 - half) * slope)


def _silu_backward(g: Any, x: Any) -> Any:
    s = 1 / (1 + mp.exp(-x))
    return g * s * (1 + x * (1 - s))


def _mish_backward(g: Any, x: Any) -> Any:
    t = mp.tanh(mp.log1p(mp.exp(x)))
    return g * (t + x * (1 - t * t) / (1 + mp.exp(-x)))


_OPERATORS: dict[str, Callable[..., Any]] = {
    "reciprocal": lambda x: 1 / x, "sigmoid": lambda x: 1 / (1 + mp.exp(-x)), "gelu": lambda x: x * mp.ncdf(x),
    "gelu_tanh": _gelu_tanh, "silu": lambda x: x / (1 + mp.exp(-x)), "mish": lambda x: x * mp.tanh(mp.log1p(mp.exp(x))),
    "log_sigmoid_forward": lambda x: -mp.log1p(mp.exp(-x)), "logsigmoid": lambda x: -mp.log1p(mp.exp(-x)),
    "softsign": lambda x: x / (1 + abs(x)), "tanhshrink": lambda x: x - mp.tanh(x),
    "glu": lambda a, b: a / (1 + mp.exp(-b)), "gelu_backward": lambda g, x: g * (mp.ncdf(x) + x * mp.npdf(x)),
    "gelu_tanh_backward": _gelu_tanh_backward, "silu_backward": _silu_backward, "mish_backward": _mish_backward,
    "log_sigmoid_backward": lambda g, x: g / (1 + mp.exp(x)), "tanh_backward": lambda g, y: g * (1 - y * y),
    "sigmoid_backward": lambda g, y: g * y * (1 - y),
}  # fmt: skip


def exact_operator(name: str) -> Callable[..., Any] | None:
    """The operator called `name` as a function of mpmath's reals; None where it is not known, or never rounds."""
    for alias in (f"math.{name}", f"metal.precise.{name}", f"metal.c10.{name}"):
        row = ops.find(alias)
        if row is not None and row.exact is not None and row.params is None and row.rounds:
            return functools.partial(row.exact, mp)
    return _OPERATORS.get(name)
