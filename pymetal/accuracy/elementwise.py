"""Functions of mpmath's numbers and of Python's integers, applied to tensors element by element.

mpmath is imported when it is needed: the package itself does without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pymetal.dtypes import wrap


def on_reals(function: Callable[..., Any], *operands: Tensor, digits: int = 60) -> Tensor:
    """`function` of mpmath's numbers at each element, rounded once to float64.

    Args:
        function: of as many `mpmath.mpf` as there are operands; complex results, and errors of division and of domain,
            are NaN.
        operands: tensors of one shape, floats or integers, read exactly.
        digits: decimal digits of the working precision.
    """
    import mpmath

    def at(*values: float) -> float:
        try:
            value = function(*map(mpmath.mpf, values))
        except (ZeroDivisionError, ValueError, mpmath.libmp.NoConvergence):
            return math.nan
        if isinstance(value, mpmath.mpc):
            if value.imag != 0:
                return math.nan
            value = value.real
        return float(value)

    with mpmath.workdps(digits):
        found = [at(*values) for values in zip(*(o.flatten().tolist() for o in operands), strict=True)]
    return torch.tensor(found, dtype=torch.float64).reshape(operands[0].shape)


def on_complex(function: Callable[..., Any], *operands: Tensor, digits: int = 60) -> Tensor:
    """`function` of mpmath's complex numbers at each element, rounded to complex128; NaN where it has no value."""
    import mpmath

    def at(*values: complex) -> complex:
        try:
            return complex(function(*map(mpmath.mpc, values)))
        except (ZeroDivisionError, ValueError, mpmath.libmp.NoConvergence):
            return complex(math.nan, math.nan)

    wide = [o.to(torch.complex128).flatten().tolist() for o in operands]
    with mpmath.workdps(digits):
        found = [at(*values) for values in zip(*wide, strict=True)]
    return torch.tensor(found, dtype=torch.complex128).reshape(operands[0].shape)


def on_integers(function: Callable[..., int | bool], *operands: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """`function` of Python's integers at each element, wrapped to the width of `dtype`.

    Args:
        function: of as many ints as there are operands.
        operands: integer or bool tensors of one shape.
        dtype: of the result; by default that of the first operand.
    """
    target = operands[0].dtype if dtype is None else dtype
    columns = [map(int, o.flatten().tolist()) for o in operands]
    found = [wrap(int(function(*values)), target) for values in zip(*columns, strict=True)]
    return torch.tensor(found, dtype=target).reshape(operands[0].shape)
