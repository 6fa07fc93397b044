"""Integer arithmetic of every width on torch tensors: what the integer rows mean.

torch has few operators for uint16, uint32 and uint64. What Python's operators and the common functions mean is computed
on int64: a narrower value as itself, a uint64 as the int64 of the same bits. Metal's functions of bits, and those that
saturate, are computed by Python's integers, element by element. Results are exact, and wrap at the width of the
operands where the function wraps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pymetal.dtypes import wrap

_LOWEST = -(1 << 63)
WIDE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)


@dataclass(frozen=True)
class Width:
    """The number of bits of an integer type, and whether it has a sign."""

    bits: int
    signed: bool

    @property
    def low(self) -> int:
        """The lowest value."""
        return -(1 << (self.bits - 1)) if self.signed else 0


def width(dtype: torch.dtype) -> Width:
    """The width of an integer dtype."""
    return Width(dtype.itemsize * 8, dtype.is_signed)


def to_wide(x: Tensor) -> Tensor:
    """The int64 that stands for an integer of any type."""
    return x.view(torch.int64) if x.dtype == torch.uint64 else x.to(torch.int64)


def from_wide(x: Tensor, dtype: torch.dtype) -> Tensor:
    """The integer whose low bits are those of an int64."""
    return x.view(torch.uint64) if dtype == torch.uint64 else x.to(dtype)


def on_wide(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function of int64s and a `Width` as one of integer tensors; the first operand gives the type."""

    @functools.wraps(function)
    def wrapped(*operands: Tensor) -> Tensor:
        dtype = operands[0].dtype
        return from_wide(function(*map(to_wide, operands), width(dtype)), dtype)

    return wrapped


def on_python(function: Callable[..., int]) -> Callable[..., Tensor]:
    """A function of Python's integers and a `Width` as one of integer tensors; the first operand gives the type."""

    def wrapped(*operands: Tensor) -> Tensor:
        first, *others = torch.broadcast_tensors(*operands)  # type: ignore[no-untyped-call]
        dtype, w = first.dtype, width(first.dtype)
        rows = zip(*(o.flatten().tolist() for o in (first, *others)), strict=True)
        found = [wrap(function(*values, w), dtype) for values in rows]
        return torch.tensor(found, dtype=dtype, device=first.device).reshape(first.shape)

    return wrapped


# --- on int64s that stand for integers of a width --------------------------------------------------------------------


def less(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """x < y, of the values that `x` and `y` stand for."""
    if w == Width(64, False):
        return (x ^ _LOWEST) < (y ^ _LOWEST)
    return x < y


def shifted(x: Tensor, count: Tensor | int) -> Tensor:
    """The 64 bits of `x` moved right by 0 to 63, zeros coming in."""
    count = torch.as_tensor(count, device=x.device)
    ones = torch.where(count == 0, -1, (torch.ones_like(x) << (64 - count.clamp_min(1))) - 1)
    return (x >> count) & ones


def least(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """The smaller of two."""
    return torch.where(less(y, x, w), y, x)


def greatest(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """The larger of two."""
    return torch.where(less(x, y, w), y, x)


def median(x: Tensor, y: Tensor, z: Tensor, w: Width) -> Tensor:
    """The middle one of three."""
    return greatest(least(x, y, w), least(greatest(x, y, w), z, w), w)


def clamp(x: Tensor, low: Tensor, high: Tensor, w: Width) -> Tensor:
    """The larger of `x` and `low`, or `high` if that is smaller still."""
    return least(greatest(x, low, w), high, w)


def absolute(x: Tensor, w: Width) -> Tensor:
    """|x|; the lowest value is its own."""
    return torch.where(x < 0, -x, x) if w.signed else x


def quotient(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """x / y rounded to zero; 0 where y is zero, as on the host device: Metal leaves it undefined."""
    zero = y == 0
    if w != Width(64, False):
        special = zero | (y == -1)
        whole = torch.div(x, torch.where(special, 1, y), rounding_mode="trunc")
        return torch.where(zero, 0, torch.where(special & w.signed, -x, whole))
    half = torch.div(shifted(x, 1), torch.where(y <= 0, 1, y), rounding_mode="trunc") << 1
    rest = x - half * y
    whole = half + (~less(rest, y, w)).to(torch.int64)
    return torch.where(zero, 0, torch.where(y < 0, (~less(x, y, w)).to(torch.int64), whole))


def rest_of_quotient(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """What `quotient` leaves over, of the sign of x; x where y is zero."""
    return x - quotient(x, y, w) * y


def floor_quotient(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """x / y rounded down; where y is zero, -1 for negative x and else 0."""
    whole = quotient(x, y, w)
    if not w.signed:
        return whole
    return whole - (((x < 0) != (y < 0)) & (x != whole * y)).to(torch.int64)


def rest_of_floor_quotient(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """What `floor_quotient` leaves over, of the sign of y; x where y is zero."""
    rest = rest_of_quotient(x, y, w)
    if not w.signed:
        return rest
    return rest + torch.where((rest != 0) & ((rest < 0) != (y < 0)), y, 0)


def power(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """x to the power of y, modulo the width; for negative y, 1 / x**-y rounded to zero, and 0 for x = 0."""
    result, square = torch.ones_like(x), x
    for place in range(w.bits):
        result = torch.where((y >> place) & 1 != 0, result * square, result)
        square = square * square
    if not w.signed:
        return result
    inverse = torch.where(x == 1, 1, torch.where(x == -1, 1 - 2 * (y & 1), 0))
    return torch.where(y < 0, inverse, result)
