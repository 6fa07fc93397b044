"""Inputs that show errors: edge values, all combinations of them, and samples spread over the exponents."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from pymetal.ops.integers import from_wide, shifted


def edges(dtype: torch.dtype) -> Tensor:
    """The values at which implementations differ.

    Of floats: NaN, both infinities, both zeros, 1 and -1, values next to one, tiny, huge and subnormal ones, the ends
    of the range. Of integers: the ends of the range and their neighbours, small numbers of both signs. Of bool: both.
    Complex dtypes have all pairs of some edge values as parts.
    """
    if dtype is torch.bool:
        return torch.tensor([False, True])
    if dtype.is_complex:
        part = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 1e-3, 100.0], dtype=torch.float64)
        real, imag = torch.meshgrid(part, part, indexing="ij")
        return torch.complex(real, imag).flatten().to(torch.complex64).to(dtype)
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        wanted = {0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.max // 2, info.min, info.min + 1, info.min // 2}
        wanted |= {-1, -2, -3, -100} if info.min < 0 else {128, 200, info.max // 2 + 1}
        return torch.tensor(sorted(wanted), dtype=dtype)
    info_f = torch.finfo(dtype)
    least = info_f.smallest_normal * info_f.eps
    positive = [
        0.0, least, info_f.smallest_normal / 2, info_f.smallest_normal, info_f.eps, 0.1, 0.5, 1 - info_f.eps / 2, 1.0,
        1 + info_f.eps, 1.5, 2.0, 3.0, 10.0, info_f.max / 2, info_f.max, math.inf,
    ]  # fmt: skip
    return torch.tensor([*positive, *(-x for x in positive), math.nan], dtype=torch.float64).to(dtype)


def combinations(columns: Sequence[Tensor]) -> list[Tensor]:
    """Every combination of one value of each column: as many vectors as columns, of one length."""
    places = itertools.product(*(range(len(c)) for c in columns))
    chosen = [list(column) for column in zip(*places, strict=True)]
    return [values[at] for values, at in zip(columns, chosen, strict=True)]


def stratified(
    dtype: torch.dtype, per_binade: int, *, low: float | None = None, high: float | None = None, seed: int = 0
) -> Tensor:
    """The same number of random floats between each two powers of two, of both signs.

    Args:
        dtype: a floating dtype.
        per_binade: how many.
        low: the least magnitude, by default the smallest normal number; rounded down to a power of two.
        high: the largest one, by default the end of the range; rounded up.
        seed: of the random fractions.
    """
    info = torch.finfo(dtype)
    first = math.floor(math.log2(low if low is not None else info.smallest_normal))
    last = math.ceil(math.log2(high)) if high is not None else math.ceil(math.log2(info.max))
    generator = torch.Generator().manual_seed(seed)
    exponents = torch.arange(first, last, dtype=torch.float64).repeat_interleave(per_binade)
    fractions = 1 + torch.rand(len(exponents), generator=generator, dtype=torch.float64)
    magnitudes = (fractions * torch.exp2(exponents)).clamp_max(info.max).to(dtype)
    return torch.cat([magnitudes, -magnitudes])


def integers(dtype: torch.dtype, count: int, seed: int = 0) -> Tensor:
    """Random integers of all sizes: half over the whole range, half with a random number of leading zeros."""
    if dtype is torch.bool:
        return torch.randint(0, 2, (count,), generator=torch.Generator().manual_seed(seed)).bool()
    info = torch.iinfo(dtype)
    generator = torch.Generator().manual_seed(seed)
    if info.bits == 64:  # torch.randint does not reach the last value, nor beyond int64
        low, high = (torch.randint(0, 1 << 32, (count,), generator=generator, dtype=torch.int64) for _ in range(2))
        whole = (high << 32) | low
    else:
        whole = torch.randint(info.min, info.max + 1, (count,), generator=generator, dtype=torch.int64)
    down = torch.randint(0, info.bits, (count,), generator=generator)
    down[: count // 2] = 0
    return from_wide(shifted(whole, down) if dtype is torch.uint64 else whole >> down, dtype)
