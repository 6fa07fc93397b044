"""The error of a floating-point result in units in the last place (ULP): half a unit is the least that rounding can do.

NaN equals NaN and no number. Both zeros are equal. Infinity is the float after the largest one, so that a result that
overflows a little early is one unit off, not infinitely many.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def spacing(x: Tensor, dtype: torch.dtype, floor: float = 0.0) -> Tensor:
    """The gap between the floats of `dtype` around each double: the unit in the last place there.

    Args:
        x: float64.
        dtype: whose floats.
        floor: magnitudes below it count as it.
    """
    info = torch.finfo(dtype)
    size = x.abs().clamp_min(max(floor, info.smallest_normal)).clamp_max(info.max)
    _, exponent = torch.frexp(size)
    return torch.ldexp(torch.ones_like(size), exponent - 1) * info.eps


def error(actual: Tensor, exact: Tensor, *, floor: float = 0.0) -> Tensor:
    """How many units in the last place of its dtype `actual` is from `exact`, element by element.

    Args:
        actual: floats, or complex numbers: each part is then measured in units of the larger part.
        exact: float64, or complex128, of the same shape.
        floor: where the exact value is smaller, the unit is that of `floor`. For results that cancel.

    Returns:
        float64: infinite between a NaN and a number, and between infinity and a number that is not next to it.

    Raises:
        ValueError: the shapes differ, or `actual` is not floating.
    """
    if actual.is_complex():
        parts = torch.view_as_real(actual.to(torch.complex128)), torch.view_as_real(exact.to(torch.complex128))
        unit = spacing(parts[1].abs().nan_to_num(nan=0.0).amax(-1), actual.dtype.to_real(), floor)
        return _error(*parts, unit.unsqueeze(-1), actual.dtype.to_real()).amax(-1)
    _check(actual, exact.shape)
    wide = exact.double()
    return _error(actual.double(), wide, spacing(wide.nan_to_num(nan=0.0), actual.dtype, floor), actual.dtype)


def worst(actual: Tensor, exact: Tensor, *, floor: float = 0.0) -> float:
    """The largest :func:`error`; 0 of nothing."""
    if actual.numel() == 0:
        return 0.0
    return float(error(actual, exact, floor=floor).max())


def _error(actual: Tensor, exact: Tensor, unit: Tensor, dtype: torch.dtype) -> Tensor:
    info = torch.finfo(dtype)
    beyond = 2.0 ** math.ceil(math.log2(info.max))  # the float after the largest one, if there were one
    apart = (actual.clamp(-beyond, beyond) - exact.clamp(-beyond, beyond)).abs() / unit
    # An infinity next to a number that is not at the end of the range is wrong by more than any count.
    lost = actual.isinf() & (exact.abs() < info.max / 2) | exact.isinf() & (actual.abs() < info.max / 2)
    apart = torch.where(lost, math.inf, apart)
    a, e = actual.isnan(), exact.isnan()
    return torch.where(a & e, 0.0, torch.where(a ^ e, math.inf, apart))


def _check(actual: Tensor, shape: torch.Size) -> None:
    if not actual.is_floating_point():
        raise ValueError(f"no units in the last place: {actual.dtype}")
    if actual.shape != shape:
        raise ValueError(f"shapes {tuple(actual.shape)} and {tuple(shape)} differ")
