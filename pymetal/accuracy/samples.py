"""Operands that show errors: every value of a small dtype, every combination on a grid, samples over all exponents.

The grid holds the edge values of the dtype and, when they are given, the numbers that a functor's text compares and
computes with, each with its neighbours: a `<` in place of `<=` shows nowhere else.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pymetal.accuracy import grids
from pymetal.ops.integers import from_wide, to_wide

_LONGEST_GRID = 1 << 16  # combinations


@dataclass(frozen=True)
class Samples:
    """Operands of one length.

    Attributes:
        tensors: one vector for each operand.
        exhaustive: they are all that the dtype has.
    """

    tensors: tuple[Tensor, ...]
    exhaustive: bool


def every_value(dtype: torch.dtype) -> Tensor:
    """All values of a dtype of one or two bytes, in the order of their bits; of floats also every NaN."""
    if dtype is torch.bool:
        return torch.tensor([False, True])
    bits = 8 * dtype.itemsize
    whole = torch.arange(-(1 << (bits - 1)), 1 << (bits - 1), dtype=torch.int64)
    return whole.to(torch.int8 if bits == 8 else torch.int16).view(dtype)


def samples(
    dtype: torch.dtype, count: int, numbers: Sequence[float] = (), *, scale: int = 1, exact_in_float: bool = False
) -> Samples:
    """Operands of `dtype` for a function of `count` of them.

    Args:
        numbers: what the function's text computes with; they and their neighbours join the grid.
        scale: how many times the usual number of random samples.
        exact_in_float: of integers, only those that float32 holds exactly: the function reads its operands as floats.
    """
    if count == 1 and dtype.itemsize <= 2:
        values = every_value(dtype)
        return Samples((values,), True)  # two bytes always fit a float
    if count == 2 and dtype.itemsize == 1:
        return Samples(tuple(grids.combinations([every_value(dtype)] * 2)), True)
    grid = special_grid(dtype, count, numbers)
    parts = [tuple(grids.combinations([grid] * count))]
    parts.append(_scattered(dtype, count, scale))
    columns = [torch.cat(column) for column in zip(*parts, strict=True)]
    if exact_in_float and not dtype.is_floating_point and not dtype.is_complex and dtype is not torch.bool:
        columns = [as_float_holds_it(c) for c in columns]
    return Samples(tuple(columns), False)


def as_float_holds_it(x: Tensor) -> Tensor:
    """The integers of `x` with so few leading bits that float32 holds them exactly."""
    if x.dtype.itemsize < 4:
        return x
    wide = to_wide(x)
    last = (torch.frexp(wide.abs().double()).exponent.long() - 24).clamp(0, 39)
    if x.dtype is torch.uint64:
        last = torch.where(wide < 0, 40, last)  # from 2**63 on
    return from_wide((wide >> last) << last, x.dtype)


def special_grid(dtype: torch.dtype, count: int, numbers: Sequence[float] = ()) -> Tensor:
    """One operand's column of the grid, each value once; shorter where there are more operands."""
    found = grids.edges(dtype)
    if dtype.is_floating_point:
        near = torch.cat([_nans(dtype), neighbourhood(numbers, dtype)])
        most = {1: 4096, 2: 160}.get(count, 18)
        found = torch.cat([found, near[: max(0, most - len(found))]]) if count < 3 else _thinned(found, near[4:])
        return found[_first_of_each(found)]
    if dtype.is_complex or dtype is torch.bool:
        return found[:: 1 if count < 2 else 3] if dtype.is_complex else found
    info = torch.iinfo(dtype)
    extra = [int(n) + d for n in numbers if math.isfinite(n) for d in (-1, 0, 1)]
    own = [n for n in extra if info.min <= n <= info.max]
    small = range(-20 if info.min < 0 else 0, 21) if count == 1 else ()
    return torch.tensor(sorted({*found.tolist(), *own[:100], *small}), dtype=dtype)


def _nans(dtype: torch.dtype) -> Tensor:
    """NaNs of the least and of all bits, with both signs: whoever reads bits counts from them to numbers."""
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    infinity = int(torch.tensor(float("inf"), dtype=dtype).view(bits))
    return torch.tensor(
        [infinity + 1, torch.iinfo(bits).max, infinity + 1 + torch.iinfo(bits).min, -1], dtype=bits
    ).view(dtype)


def _thinned(edges: Tensor, near: Tensor) -> Tensor:
    """Few enough values for all triples: the telling edges, then the function's own numbers."""
    infinity, tiny = float("inf"), torch.finfo(edges.dtype).smallest_normal
    kept = torch.tensor([float("nan"), infinity, -infinity, 0.0, -0.0, 1.0, -1.0, 2.0, -0.5, 3.0, -10.0, tiny])
    largest = torch.tensor([torch.finfo(edges.dtype).max], dtype=torch.float64)
    return torch.cat([kept.double(), largest, near[:12].double()]).to(edges.dtype)


def _first_of_each(x: Tensor) -> Tensor:
    """Where each value stands first, bits compared: both zeros stay."""
    keys = x.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[x.itemsize]).tolist()
    return torch.tensor(list({key: at for at, key in reversed(list(enumerate(keys)))}.values())).sort().values


def neighbourhood(numbers: Sequence[float], dtype: torch.dtype) -> Tensor:
    """Each number in `dtype` with both signs, the next floats on either side, and points a little further off."""
    if not numbers:
        return torch.tensor([], dtype=dtype)
    info = torch.finfo(dtype)
    wanted = sorted({abs(float(n)) for n in numbers if n == n and abs(float(n)) <= info.max}, key=lambda n: (n > 64, n))
    if not wanted:
        return torch.tensor([], dtype=dtype)
    centre = torch.tensor(wanted, dtype=torch.float64)
    steps = [0.0, info.eps, -info.eps, 0.01, -0.01, 0.2, -0.2]
    both = [sign * centre * (1 + step) for step in steps for sign in (1, -1)]
    return torch.stack(both, 1).flatten().to(dtype)


@functools.cache
def _random_column(dtype: torch.dtype, size: int, seed: int) -> Tensor:
    """A shuffled column: half over all exponents, half at everyday magnitudes."""
    generator = torch.Generator().manual_seed(seed + 1000)
    if dtype.is_complex:
        part = dtype.to_real()
        real, imag = (_random_column(part, size, 2 * seed + 7 + i) for i in range(2))
        # Everyday magnitudes only: upstream's complex functions overflow early, and so do torch's.
        return torch.complex(_middle(real), _middle(imag)).to(dtype)
    if not dtype.is_floating_point:
        return grids.integers(dtype, size, seed)
    info = torch.finfo(dtype)
    binades = int(torch.tensor(info.max).log2().ceil()) - int(torch.tensor(info.smallest_normal).log2())
    everywhere = grids.stratified(dtype, max(1, size // (4 * binades)), seed=seed)
    near = grids.stratified(dtype, max(1, size // 40), low=2.0**-5, high=2.0**5, seed=seed + 50)
    merged = torch.cat([everywhere, near])
    merged = merged[torch.randperm(len(merged), generator=generator)]
    return merged.repeat(-(-size // len(merged)))[:size]


def _middle(x: Tensor) -> Tensor:
    wide = x.double().abs()
    exponent = torch.frexp(wide).exponent
    return (torch.ldexp(torch.frexp(wide).mantissa, exponent % 8 - 3) * torch.sign(x.double())).float()


def _scattered(dtype: torch.dtype, count: int, scale: int) -> tuple[Tensor, ...]:
    """Random operands; where there are several also ones that are close to each other, as sums cancel there."""
    size = {1: 60_000, 2: 40_000}.get(count, 24_000) * scale
    if dtype.is_complex:
        size //= 4
    columns = [_random_column(dtype, size, seed) for seed in range(count)]
    if dtype is torch.bool or count == 1:
        return tuple(columns)
    if dtype.is_floating_point:
        generator = torch.Generator().manual_seed(5)
        quarter = columns[0][: size // 4].double()
        factors = 1 + (torch.rand(len(quarter), generator=generator, dtype=torch.float64) - 0.5) / 4
        sign = torch.where(torch.rand(len(quarter), generator=generator) < 0.5, -1.0, 1.0)
        close = (quarter * factors * sign).clamp(-torch.finfo(dtype).max, torch.finfo(dtype).max).to(dtype)
        return (columns[0], torch.cat([close, columns[1][len(close) :]]), *columns[2:])
    return tuple(columns)
