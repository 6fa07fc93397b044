"""Integer arithmetic of every width on torch tensors: what the integer rows mean.

torch has few operators for uint16, uint32 and uint64 and none that saturate or give the high half of a product. All of
this is therefore computed on int64: a narrower value as itself, a uint64 as the int64 of the same bits. Results are
exact, and wrap at the width of the operands where the function wraps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

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

    @property
    def high(self) -> int:
        """The highest value, as the int64 that stands for it."""
        if self.bits == 64:
            return (1 << 63) - 1 if self.signed else -1
        return (1 << (self.bits - 1)) - 1 if self.signed else (1 << self.bits) - 1


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


def _pattern(x: Tensor, w: Width) -> Tensor:
    """The bits of `x`, with zeros above them."""
    return x if w.bits == 64 else x & ((1 << w.bits) - 1)


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


def difference(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """|x - y|, modulo the width."""
    return torch.where(less(x, y, w), y - x, x - y)


def _saturated(x: Tensor, w: Width) -> Tensor:
    return x.clamp(w.low, w.high)


def add_saturated(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """x + y, or the end of the range it is beyond."""
    total = x + y
    if w.bits < 64:
        return _saturated(total, w)
    if not w.signed:
        return torch.where(less(total, x, w), w.high, total)
    return torch.where(((x ^ total) & (y ^ total)) < 0, torch.where(x < 0, w.low, w.high), total)


def subtract_saturated(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """x - y, or the end of the range it is beyond."""
    total = x - y
    if w.bits < 64:
        return _saturated(total, w)
    if not w.signed:
        return torch.where(less(x, y, w), 0, total)
    return torch.where(((x ^ y) & (x ^ total)) < 0, torch.where(x < 0, w.low, w.high), total)


def half_sum(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """(x + y) / 2 without overflow, rounded down."""
    differ = x ^ y
    return (x & y) + (shifted(differ, 1) if w == Width(64, False) else differ >> 1)


def half_sum_up(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """(x + y) / 2 without overflow, rounded up."""
    differ = x ^ y
    return (x | y) - (shifted(differ, 1) if w == Width(64, False) else differ >> 1)


def _high_64(x: Tensor, y: Tensor, signed: bool) -> Tensor:
    """The upper half of the product of two 64-bit numbers, by products of their halves."""
    low = (1 << 32) - 1
    x_high, x_low, y_high, y_low = shifted(x, 32), x & low, shifted(y, 32), y & low
    first = x_low * y_low
    second = x_high * y_low + shifted(first, 32)
    third = x_low * y_high + (second & low)
    high = x_high * y_high + shifted(second, 32) + shifted(third, 32)
    if signed:
        high = high - torch.where(x < 0, y, 0) - torch.where(y < 0, x, 0)
    return high


def high_product(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """The upper half of x * y."""
    if w.bits == 64:
        return _high_64(x, y, w.signed)
    return (x * y) >> w.bits if w.signed else shifted(x * y, w.bits)


def high_product_add(x: Tensor, y: Tensor, z: Tensor, w: Width) -> Tensor:
    """The upper half of x * y, plus z."""
    return high_product(x, y, w) + z


def multiply_add_saturated(x: Tensor, y: Tensor, z: Tensor, w: Width) -> Tensor:
    """x * y + z, or the end of the range it is beyond."""
    low = x * y + z
    # The upper 64 bits of the 128 that the exact sum has.
    carry = less(low, z, Width(64, False)).to(torch.int64)
    high = _high_64(x, y, w.signed) + carry + ((z >> 63) if w.signed else 0)
    if w.signed:
        fits = (high == low >> 63) & (low >= w.low) & (low <= w.high)
        return torch.where(fits, low, torch.where(high < 0, w.low, w.high))
    top = Width(64, False)
    return torch.where((high == 0) & ~less(torch.full_like(low, w.high), low, top), low, w.high)


def count_ones(x: Tensor, w: Width) -> Tensor:
    """The number of bits that are set."""
    total = torch.zeros_like(x)
    for place in range(w.bits):
        total = total + ((x >> place) & 1)
    return total


def leading_zeros(x: Tensor, w: Width) -> Tensor:
    """The number of zeros above the highest bit that is set; the width for zero."""
    smeared = _pattern(x, w)
    for count in (1, 2, 4, 8, 16, 32):
        smeared = smeared | shifted(smeared, count)
    return w.bits - count_ones(smeared, w)


def trailing_zeros(x: Tensor, w: Width) -> Tensor:
    """The number of zeros below the lowest bit that is set; the width for zero."""
    return count_ones(~x & (x - 1), w)


def reverse_bits(x: Tensor, w: Width) -> Tensor:
    """The bits in the opposite order."""
    result = torch.zeros_like(x)
    for place in range(w.bits):
        result = result | (((x >> place) & 1) << (w.bits - 1 - place))
    return result


def rotate(x: Tensor, count: Tensor, w: Width) -> Tensor:
    """The bits moved up by `count`, modulo the width; those that leave at the top come in at the bottom."""
    count, bits = count & (w.bits - 1), _pattern(x, w)
    back = torch.where(count == 0, 0, w.bits - count)
    return torch.where(count == 0, x, (bits << count) | shifted(bits, back))


def extract_bits(x: Tensor, offset: Tensor, count: Tensor, w: Width) -> Tensor:
    """`count` bits from `offset` up, with their sign if the type has one.

    Metal leaves fields beyond the width undefined; here what is beyond it is left off.
    """
    length = torch.minimum(count, w.bits - offset.clamp_max(w.bits))
    length = length.clamp(0, w.bits)
    moved = _pattern(x, w) << (64 - offset.clamp_max(w.bits) - length).clamp(0, 63)
    down = (64 - length).clamp(0, 63)
    field = moved >> down if w.signed else shifted(moved, down)
    return torch.where(length == 0, 0, field)


def insert_bits(base: Tensor, insert: Tensor, offset: Tensor, count: Tensor, w: Width) -> Tensor:
    """`base` with the low `count` bits of `insert` from `offset` up."""
    ones = torch.where(count >= 64, -1, (torch.ones_like(base) << count.clamp_max(63)) - 1)
    place = offset.clamp_max(63)
    mask = torch.where(offset >= w.bits, 0, ones << place)
    return (base & ~mask) | ((insert << place) & mask)


def multiply_24(x: Tensor, y: Tensor, w: Width) -> Tensor:
    """The low 32 bits of the product of the low 24 bits of each factor, read with the sign of the type."""

    def factor(v: Tensor) -> Tensor:
        return (v << 40) >> 40 if w.signed else v & 0xFFFFFF

    product = factor(x) * factor(y)
    return (product << 32) >> 32 if w.signed else product & 0xFFFFFFFF


def multiply_add_24(x: Tensor, y: Tensor, z: Tensor, w: Width) -> Tensor:
    """`multiply_24` plus z, in 32 bits."""
    total = multiply_24(x, y, w) + z
    return (total << 32) >> 32 if w.signed else total & 0xFFFFFFFF


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
