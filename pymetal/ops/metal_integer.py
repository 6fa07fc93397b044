"""Rows for the functions of integers, the chapter of MSL's specification on them: `metal.NAME`.

None has a derivative: integers have none. Those that floats have as well, `abs`, `clamp`, `max`, `min` and their kin,
are in `metal_common`.

Operands are of one type, and so is the result: `absdiff`, which is unsigned in Metal, is read as the operands' type.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from pymetal import dtypes
from pymetal.ir import Concrete, Member, Named, Type, TypeRule
from pymetal.ops import integers
from pymetal.ops.integers import on_wide
from pymetal.ops.table import INTEGERS, row

_COUNT = Concrete(dtypes.uint32)


def _integer(
    name: str, arity: int, function: Callable[..., Tensor], *, text: Named | Member | None = None,
    params: tuple[Type | None, ...] | None = None,
) -> None:  # fmt: skip
    row(
        f"metal.{name}", arity, TypeRule.PROMOTE, INTEGERS, text or Named(f"metal::{name}"), on_wide(function),
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

_integer("absdiff", 2, integers.difference, text=Member("absolute_difference", _ABSDIFF))
_integer("addsat", 2, integers.add_saturated)
_integer("subsat", 2, integers.subtract_saturated)
_integer("hadd", 2, integers.half_sum)
_integer("rhadd", 2, integers.half_sum_up)
_integer("mulhi", 2, integers.high_product)
_integer("madhi", 3, integers.high_product_add)
_integer("madsat", 3, integers.multiply_add_saturated)
_integer("mul24", 2, integers.multiply_24, text=Member("multiply_24", _MUL24))
_integer("mad24", 3, integers.multiply_add_24, text=Member("multiply_add_24", _MAD24))
_integer("clz", 1, integers.leading_zeros)
_integer("ctz", 1, integers.trailing_zeros)
_integer("popcount", 1, integers.count_ones)
_integer("reverse_bits", 1, integers.reverse_bits)
_integer("rotate", 2, integers.rotate)
_integer("extract_bits", 3, integers.extract_bits, params=(None, _COUNT, _COUNT))
_integer("insert_bits", 4, integers.insert_bits, params=(None, None, _COUNT, _COUNT))
