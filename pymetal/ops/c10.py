"""Rows for the functions of `c10/metal/utils.h`: `metal.c10.NAME`. Those of `special_math.h` are in `special`.

These mean what c10's functions mean, also where Python's operator means something else: `metal.c10.floor_divide` rounds
the rounded quotient down. What the header defines for integers, floats and complex
numbers is one row here with others behind it.

Functions that take half and bfloat as they are would compute in them; but for `max`, `min`, `mul` and `div` they are
called with float, and the result is rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pymetal.ir import Member, Named, Op, Rule, Text, Wrapped
from pymetal.ir.builder import Term
from pymetal.ops import floats, integers
from pymetal.ops.integers import Width, on_wide
from pymetal.ops.metal_math import fused, power_partials
from pymetal.ops.python import AND, COMPLEX_POW, MUL, OR
from pymetal.ops.row import COMPLEX, FLOATING, INTEGERS, UTILS, row


def _op(
    name: str, arity: int, rule: Rule, kinds: Any, function: Callable[..., Any], derivative: Any = None, *,
    text: Text | None = None, since: tuple[int, int] = (2, 8), **columns: Any,
) -> Op:  # fmt: skip
    """A row whose text is the function of its name, up to a suffix after a dash."""
    base = name.rpartition(".")[2].partition("-")[0]
    return row(
        Op(
            name, arity, rule, kinds, text or Named(f"c10::metal::{base}"), function, derivative, since=since,
            header=UTILS, **columns,
        )
    )  # fmt: skip


def halves_as_floats(function: Callable[..., Any]) -> Callable[..., Tensor]:
    """torch knows complex32 hardly at all: computed as complex64 and rounded."""

    def wrapped(*operands: Tensor) -> Tensor:
        halves = operands[0].dtype == torch.complex32
        value: Tensor = function(*(x.to(torch.complex64) for x in operands) if halves else operands)
        return value.to(torch.complex32) if halves else value

    return wrapped


# --- maximum, minimum, order -----------------------------------------------------------------------------------------


def _larger_or_smaller(name: str, floats: Any, of_integers: Any, on_bool: Op) -> None:
    whole = on_wide(of_integers)

    def partials(x: Term, y: Term, r: Term) -> tuple[Term, Term]:
        # As torch: equal operands share the gradient, and a NaN takes none away.
        share = x.lift(0.5).where(x.equals(y), 1)
        first, second = (x < y, y < x) if name == "max" else (x > y, y > x)
        return x.lift(0).where(first, share), x.lift(0).where(second, share)

    _op(
        f"metal.c10.{name}", 2, Rule.SAME, FLOATING | INTEGERS,
        lambda x, y: floats(x, y) if x.is_floating_point() else whole(x, y), partials, on_bool=on_bool,
    )  # fmt: skip


_larger_or_smaller("max", torch.maximum, integers.greatest, OR)
_larger_or_smaller("min", torch.minimum, integers.least, AND)


def _less(x: Tensor, y: Tensor) -> Tensor:
    """x < y, in an order that puts every NaN last."""
    if not x.is_floating_point():
        return integers.less(integers.to_wide(x), integers.to_wide(y), integers.width(x.dtype))
    return ~x.isnan() & (y.isnan() | (x < y))


_op("metal.c10.less", 2, Rule.COMPARE, FLOATING | INTEGERS, _less, since=(2, 13))

# --- products and quotients ------------------------------------------------------------------------------------------

_MUL_COMPLEX = _op("mul-complex", 2, Rule.SAME, COMPLEX, halves_as_floats(torch.mul), lambda x, y, r: (y, x))
# The squared length of the divisor overflows from about 1e19 on (of half from 256 on), where torch scales.
_DIV_COMPLEX = _op(
    "div-complex", 2, Rule.SAME, COMPLEX, halves_as_floats(torch.true_divide), lambda x, y, r: (1 / y, -r / y)
)  # fmt: skip
_whole_product = on_wide(lambda x, y, w: x * y)
_whole_quotient = on_wide(integers.quotient)


def _mul(x: Tensor, y: Tensor) -> Tensor:
    return x * y if x.is_floating_point() else _whole_product(x, y)


def _div(x: Tensor, y: Tensor) -> Tensor:
    """x / y; of integers rounded to zero, as C++ divides them."""
    return x / y if x.is_floating_point() else _whole_quotient(x, y)


_op(
    "metal.c10.mul", 2, Rule.SAME, FLOATING | INTEGERS, _mul, lambda x, y, r: (y, x), wraps=True, on_bool=MUL,
    on_complex=_MUL_COMPLEX,
)  # fmt: skip
_op(
    "metal.c10.div", 2, Rule.SAME, FLOATING | INTEGERS, _div, lambda x, y, r: (1 / y, -r / y), wraps=True,
    on_complex=_DIV_COMPLEX,
)  # fmt: skip


def _whole(name: str, function: Callable[[Tensor, Tensor, Width], Tensor], since: tuple[int, int] = (2, 8)) -> Op:
    return _op(f"{name}-integer", 2, Rule.SAME, INTEGERS, on_wide(function), wraps=True, since=since)


# Wrong by one where the quotient rounds up to an integer, and 0 or NaN at infinities: Python's `//` is another row.
_op(
    "metal.c10.floor_divide", 2, Rule.MATHS, FLOATING, lambda x, y: torch.floor(x / y), lambda x, y, r: (0, 0),
    on_integer=_whole("floor_divide", integers.floor_quotient),
)  # fmt: skip
_op(
    "metal.c10.div_floor", 2, Rule.MATHS, FLOATING, lambda x, y: torch.div(x, y, rounding_mode="floor"),
    lambda x, y, r: (0, 0), since=(2, 14),
)  # fmt: skip
# x - y * floor(x / y), each step rounded: off by a rounding of x, and by y where the quotient rounds up to an integer.
_op(
    "metal.c10.remainder", 2, Rule.MATHS, FLOATING, floats.remainder,
    lambda x, y, r: (1, -(x / y).call("metal.floor")),
    on_integer=_whole("remainder", integers.rest_of_floor_quotient),
)  # fmt: skip
_op(
    "metal.c10.fmod", 2, Rule.MATHS, FLOATING, floats.fmod, lambda x, y, r: (1, -(x / y).call("metal.precise.trunc")),
    on_integer=_whole("fmod", integers.rest_of_quotient),
)  # fmt: skip
# The remainder of integers again, kept from an optimisation that Metal's compiler gets wrong.
_op(
    "metal.c10.safe_mod", 2, Rule.SAME, INTEGERS, on_wide(integers.rest_of_quotient), wraps=True, since=(2, 11)
)  # fmt: skip


_FMA_COMPLEX = _op(
    "fma-complex", 3, Rule.SAME, COMPLEX, halves_as_floats(lambda x, y, z: x * y + z), lambda x, y, z, r: (y, x, 1),
    since=(2, 14),
)  # fmt: skip
_op(
    "metal.c10.fma", 3, Rule.MATHS, FLOATING, fused, lambda x, y, z, r: (y, x, 1), since=(2, 14),
    on_complex=_FMA_COMPLEX,
)  # fmt: skip

# --- powers, logarithms, complex numbers -----------------------------------------------------------------------------

# The complex functions take or give float2 only.
_LOG1P = """\
template <typename U>
static inline U complex_log1p(const U z) {
  return U(c10::metal::log1p(float2(z)));
}
"""
# By the polar form: 0 at base zero whatever the exponent, and NaN where a part of the logarithm is infinite.
_POW_COMPLEX = _op(
    "pow-complex", 2, Rule.SAME, COMPLEX, halves_as_floats(torch.pow),
    text=Member("complex_pow", COMPLEX_POW), since=(2, 11),
)  # fmt: skip
_op(
    "metal.c10.pow", 2, Rule.MATHS, FLOATING, torch.pow, power_partials, since=(2, 11),
    on_integer=_whole("pow", integers.power, (2, 11)), on_complex=_POW_COMPLEX,
)  # fmt: skip
# The real part is log|1 + z|, from squares that overflow from about 1e19 on and that cancel near |1 + z| = 1.
_LOG1P_COMPLEX = _op(
    "log1p-complex", 1, Rule.SAME, COMPLEX, halves_as_floats(torch.log1p), lambda x, r: (1 / (x + 1),),
    text=Member("complex_log1p", _LOG1P), since=(2, 10),
)  # fmt: skip
_op(
    "metal.c10.log1p", 1, Rule.MATHS, FLOATING, torch.log1p, lambda x, r: (1 / (x + 1),), aliases=("math.log1p",),
    python=math.log1p, on_complex=_LOG1P_COMPLEX,
)  # fmt: skip
# c10's own wants operands that are not negative. Up to 2.13 it is NaN of an infinity and a NaN, where C has infinity.
_op(
    "metal.c10.hypot", 2, Rule.MATHS, FLOATING, torch.hypot, lambda x, y, r: (x / r, y / r),
    text=Wrapped("c10::metal::hypot(metal::fabs({0}), metal::fabs({1}))"), since=(2, 12),
)  # fmt: skip
_HYPOT = """\
static inline float hypotenuse(const float a, const float b) {
  const float x = metal::fabs(a);
  const float y = metal::fabs(b);
  const float larger = metal::fmax(x, y);
  if (larger == 0.0f || metal::isinf(larger) || metal::isnan(x + y)) {
    return metal::isinf(larger) ? larger : x + y;
  }
  const float ratio = metal::fmin(x, y) / larger;
  return larger * precise::sqrt(1.0f + ratio * ratio);
}
"""
row(
    Op(
        "hypot", 2, Rule.MATHS, FLOATING, Member("hypotenuse", _HYPOT), torch.hypot, lambda x, y, r: (x / r, y / r),
        aliases=("math.hypot",), python=math.hypot,
    )
)  # fmt: skip

_conjugate = halves_as_floats(lambda z: torch.complex(z.real, -z.imag))
_op(
    "metal.c10.conj", 1, Rule.SAME, FLOATING | INTEGERS | COMPLEX,
    lambda z: _conjugate(z) if z.is_complex() else z.clone(), lambda z, r: (1,), since=(2, 10),
)  # fmt: skip

# `metal.conj` is for every release.
_CONJUGATE = """\
template <typename U>
static inline U conjugate(const U z) {
  return U(z.x, -z.y);
}
"""
_CONJ_COMPLEX = row(Op("conj_complex", 1, Rule.SAME, COMPLEX, Member("conjugate", _CONJUGATE), _conjugate))
row(
    Op(
        "metal.conj", 1, Rule.SAME, FLOATING | INTEGERS, Wrapped("{0}"), torch.clone, lambda x, r: (1,),
        on_complex=_CONJ_COMPLEX,
    )
)  # fmt: skip
