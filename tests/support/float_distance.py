"""How many floats two results of one dtype are apart: to check pymetal's own measure, and results that are rounded."""

from __future__ import annotations

import torch
from torch import Tensor

# Between a NaN and a number; more than any two floats are apart.
FAR = 1 << 62

_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def ordered(x: Tensor) -> Tensor:
    """Integers in the order of the floats: neighbours differ by one, and both zeros are 0.

    Args:
        x: float16, bfloat16, float32 or float64; NaNs get numbers beyond infinity's.
    """
    size = x.dtype.itemsize
    bits = x.contiguous().view(_BITS[size]).long()
    return torch.where(bits < 0, -(1 << (8 * size - 1)) - bits, bits)


def distance(actual: Tensor, expected: Tensor, *, signed_zeros: bool = False) -> Tensor:
    """How many floats `actual` is from `expected`, element by element.

    Args:
        actual: floats.
        expected: floats of the same dtype and shape.
        signed_zeros: 0 and -0 are one apart, not equal.

    Returns:
        int64: 0 between two NaNs, :data:`FAR` between a NaN and a number.

    Raises:
        ValueError: the dtypes or the shapes differ, or are not floating.
    """
    if not actual.is_floating_point() or actual.dtype != expected.dtype:
        raise ValueError(f"distance between {actual.dtype} and {expected.dtype}")
    if actual.shape != expected.shape:
        raise ValueError(f"shapes {tuple(actual.shape)} and {tuple(expected.shape)} differ")
    from_, to = ordered(actual), ordered(expected)
    # float64 has numbers so far apart that their difference wraps.
    apart = torch.where((from_ > to) == (from_ - to > 0), (from_ - to).abs(), FAR)
    if signed_zeros:
        both_zero = (actual == 0) & (expected == 0)
        apart = torch.where(both_zero & (actual.signbit() != expected.signbit()), 1, apart)
    a, e = actual.isnan(), expected.isnan()
    return torch.where(a & e, 0, torch.where(a ^ e, FAR, apart))
