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
    complexes = on_complex(function, *operands, digits=digits, number="mpf")
    return torch.where(complexes.imag == 0, complexes.real, torch.nan)


def on_complex(
    function: Callable[..., Any], *operands: Tensor, digits: int = 60, number: str = "mpc"
) -> Tensor:  # fmt: skip
    """`function` of mpmath's complex numbers at each element, rounded to complex128; NaN where it has no value."""
    import mpmath

    read = getattr(mpmath, number)

    def at(*values: complex) -> complex:
        try:
            return complex(function(*map(read, values)))
        except (ZeroDivisionError, ValueError, mpmath.libmp.NoConvergence):
            return complex(math.nan, math.nan)

    # torch knows too little of complex32 to make a list of it.
    columns = [(o.to(torch.complex128) if o.is_complex() else o).flatten().tolist() for o in operands]
    with mpmath.workdps(digits):
        found = [at(*values) for values in zip(*columns, strict=True)]
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
