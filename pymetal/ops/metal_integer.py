"""Rows for the functions of integers, the chapter of MSL's specification on them: `metal.NAME`.

None has a derivative: integers have none. Those that floats have as well, `abs`, `clamp`, `max`, `min` and their kin,
are in `metal_common`.

Operands are of one type, and so is the result: `absdiff`, which is unsigned in Metal, is read as the operands' type.
The reference is a function of Python's integers, whose value wraps at the width of the type.
"""

from __future__ import annotations

from collections.abc import Callable

from pymetal import dtypes
from pymetal.ir import Concrete, Member, Named, Type, TypeRule
from pymetal.ops.integers import Width, on_python
from pymetal.ops.table import INTEGERS, row

_COUNT = Concrete(dtypes.uint32)


def _integer(
    name: str, arity: int, function: Callable[..., int], *, text: Named | Member | None = None,
    params: tuple[Type | None, ...] | None = None,
) -> None:  # fmt: skip
    row(
        f"metal.{name}", arity, TypeRule.PROMOTE, INTEGERS, text or Named(f"metal::{name}"), on_python(function),
        params=params,
    )  # fmt: skip


_ABSDIFF = """\
template <typename U>
static inline U absolute_difference(const U a, const U b) {
  return static_cast<U>(metal::absdiff(a, b));
}
"""
# Metal has these two for int and uint alone.
_MUL24 = """\
template <typename U>
static inline U multiply_24(const U a, const U b) {
  using W = metal::conditional_t<metal::is_signed_v<U>, int, uint>;
  return static_cast<U>(metal::mul24(static_cast<W>(a), static_cast<W>(b)));
}
"""
_MAD24 = """\
template <typename U>
static inline U multiply_add_24(const U a, const U b, const U c) {
  using W = metal::conditional_t<metal::is_signed_v<U>, int, uint>;
  return static_cast<U>(metal::mad24(static_cast<W>(a), static_cast<W>(b), static_cast<W>(c)));
}
"""


def _saturated(x: int, w: Width) -> int:
    high = (1 << (w.bits - w.signed)) - 1
    return min(max(x, w.low), high)


def _low(x: int, bits: int, signed: bool) -> int:
    """The low bits of a number, read with or without a sign."""
    x &= (1 << bits) - 1
    return x - (1 << bits) if signed and x >> (bits - 1) else x


def _multiply_24(x: int, y: int, w: Width) -> int:
    return _low(_low(x, 24, w.signed) * _low(y, 24, w.signed), 32, w.signed)


def _rotate(x: int, count: int, w: Width) -> int:
    count, bits = count % w.bits, _low(x, w.bits, False)
    return bits << count | bits >> (w.bits - count)


def _extract_bits(x: int, offset: int, count: int, w: Width) -> int:
    """`count` bits from `offset` up, with their sign if the type has one. What is beyond the width is left off, where
    Metal leaves the result undefined."""
    length = min(count, w.bits - min(offset, w.bits))
    return _low(_low(x, w.bits, False) >> offset, length, w.signed) if length else 0


def _insert_bits(base: int, insert: int, offset: int, count: int, w: Width) -> int:
    """`base` with the low `count` bits of `insert` from `offset` up."""
    offset = min(offset, w.bits)
    mask = ((1 << min(count, w.bits)) - 1) << offset
    return (base & ~mask) | ((insert << offset) & mask)


_integer("absdiff", 2, lambda x, y, w: abs(x - y), text=Member("absolute_difference", _ABSDIFF))
_integer("addsat", 2, lambda x, y, w: _saturated(x + y, w))
_integer("subsat", 2, lambda x, y, w: _saturated(x - y, w))
_integer("hadd", 2, lambda x, y, w: (x + y) >> 1)
_integer("rhadd", 2, lambda x, y, w: (x + y + 1) >> 1)
_integer("mulhi", 2, lambda x, y, w: x * y >> w.bits)
_integer("madhi", 3, lambda x, y, z, w: (x * y >> w.bits) + z)
_integer("madsat", 3, lambda x, y, z, w: _saturated(x * y + z, w))
_integer("mul24", 2, _multiply_24, text=Member("multiply_24", _MUL24))
_integer(
    "mad24", 3, lambda x, y, z, w: _low(_multiply_24(x, y, w) + z, 32, w.signed), text=Member("multiply_add_24", _MAD24)
)
_integer("clz", 1, lambda x, w: w.bits - _low(x, w.bits, False).bit_length())
_integer("ctz", 1, lambda x, w: (x & -x).bit_length() - 1 if x else w.bits)
_integer("popcount", 1, lambda x, w: _low(x, w.bits, False).bit_count())
_integer("reverse_bits", 1, lambda x, w: int(f"{_low(x, w.bits, False):0{w.bits}b}"[::-1], 2))
_integer("rotate", 2, _rotate)
_integer("extract_bits", 3, _extract_bits, params=(None, _COUNT, _COUNT))
_integer("insert_bits", 4, _insert_bits, params=(None, None, _COUNT, _COUNT))
