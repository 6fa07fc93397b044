"""Rows for the functions of `c10/metal/utils.h`: `metal.c10.NAME`. Those of `special_math.h` are in `special`.

These mean what c10's functions mean, also where Python's operator means something else: `metal.c10.floor_divide` rounds
the rounded quotient down. What the header defines for integers, floats and complex
numbers is one row here with others behind it.

Functions that take half and bfloat as they are would compute in them; but for `max`, `min`, `mul` and `div` they are
called with float, and the result is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pymetal.ir import Member, Named, Op, Text, TypeRule, Wrapped
from pymetal.ops import exact, floats, integers
from pymetal.ops.builder import Term
from pymetal.ops.floats import on_complex64
from pymetal.ops.integers import Width, on_wide
from pymetal.ops.metal_math import fused, power_partials
from pymetal.ops.python import COMPLEX_POW, DIV_COMPLEX, FLOORDIV_INTEGER, MAX, MIN, MOD_INTEGER, MUL, MUL_COMPLEX
from pymetal.ops.table import COMPLEX, FLOATING, INTEGERS, UTILS, row, spelled


def _op(
    name: str, arity: int, rule: TypeRule, kinds: Any, function: Callable[..., Any], derivative: Any = None, *,
    text: Text | None = None, since: tuple[int, int] = (2, 8), **columns: Any,
) -> Op:  # fmt: skip
    """A row whose text is the function of its name, up to a suffix after a dash."""
    base = name.rpartition(".")[2].partition("-")[0]
    return row(
        name, arity, rule, kinds, text or Named(f"c10::metal::{base}"), function, derivative, since=since,
        header=UTILS, **columns,
    )  # fmt: skip


# --- maximum, minimum, order -----------------------------------------------------------------------------------------


def _extreme(python: Op) -> None:
    def partials(x: Term, y: Term, r: Term) -> tuple[Term, Term]:
        # As torch: equal operands share the gradient, and a NaN takes none away.
        share = x.lift(0.5).where(x.equals(y), 1)
        first, second = (x < y, y < x) if python is MAX else (x > y, y > x)
        return x.lift(0).where(first, share), x.lift(0).where(second, share)

    _op(
        f"metal.c10.{python.name}", 2, TypeRule.PROMOTE, FLOATING | INTEGERS, python.torch, partials,
        bool_overload=python.bool_overload, exact=python.exact, rounds=False, signed_zero=False,
    )  # fmt: skip


_extreme(MAX)
_extreme(MIN)


def _less(x: Tensor, y: Tensor) -> Tensor:
    """x < y, in an order that puts every NaN last."""
    if not x.is_floating_point():
        return integers.less(integers.to_wide(x), integers.to_wide(y), integers.width(x.dtype))
    return ~x.isnan() & (y.isnan() | (x < y))


_op(
    "metal.c10.less", 2, TypeRule.COMPARE, FLOATING | INTEGERS, _less, since=(2, 13),
    exact=lambda mp, x, y: not mp.isnan(x) and bool(mp.isnan(y) or x < y),
)  # fmt: skip

# --- products and quotients ------------------------------------------------------------------------------------------

_whole_quotient = on_wide(integers.quotient)


def _div(x: Tensor, y: Tensor) -> Tensor:
    """x / y; of integers rounded to zero, as C++ divides them."""
    return x / y if x.is_floating_point() else _whole_quotient(x, y)


_op(
    "metal.c10.mul", 2, TypeRule.PROMOTE, FLOATING | INTEGERS, MUL.torch, lambda x, y, r: (y, x), promotes_to_int=True,
    bool_overload=MUL, complex_overload=MUL_COMPLEX, overflow="mul", exact=lambda mp, x, y: x * y,
)  # fmt: skip
_op(
    "metal.c10.div", 2, TypeRule.PROMOTE, FLOATING | INTEGERS, _div, lambda x, y, r: (1 / y, -r / y),
    promotes_to_int=True, complex_overload=DIV_COMPLEX, overflow="div", divides=True, exact=exact.quotient,
)  # fmt: skip


def _whole(name: str, function: Callable[[Tensor, Tensor, Width], Tensor], **columns: Any) -> Op:
    return _op(
        f"metal.c10.{name}-integer", 2, TypeRule.PROMOTE, INTEGERS, on_wide(function), promotes_to_int=True, **columns
    )


# Wrong by one where the quotient rounds up to an integer, and 0 or NaN at infinities: Python's `//` is another row.
_op(
    "metal.c10.floor_divide", 2, TypeRule.MATH, FLOATING, lambda x, y: torch.floor(x / y), lambda x, y, r: (0, 0),
    integer_overload=FLOORDIV_INTEGER, exact=exact.floor_divide,
)  # fmt: skip
_op(
    "metal.c10.div_floor", 2, TypeRule.MATH, FLOATING, lambda x, y: torch.div(x, y, rounding_mode="floor"),
    lambda x, y, r: (0, 0), since=(2, 14), exact=exact.floor_divide,
)  # fmt: skip
# x - y * floor(x / y), each step rounded: off by a rounding of x, and by y where the quotient rounds up to an integer.
_op(
    "metal.c10.remainder", 2, TypeRule.MATH, FLOATING, floats.remainder,
    lambda x, y, r: (1, -(x / y).call("metal.floor")), integer_overload=MOD_INTEGER, exact=exact.remainder,
)  # fmt: skip
_op(
    "metal.c10.fmod", 2, TypeRule.MATH, FLOATING, floats.fmod,
    lambda x, y, r: (1, -(x / y).call("metal.precise.trunc")), exact=exact.fmod,
    integer_overload=_whole("fmod", integers.rest_of_quotient, exact=exact.fmod, divides=True),
    **spelled("torch.fmod numpy.fmod"),
)  # fmt: skip
# The remainder of integers again, kept from an optimisation that Metal's compiler gets wrong.
_op(
    "metal.c10.safe_mod", 2, TypeRule.PROMOTE, INTEGERS, on_wide(integers.rest_of_quotient), promotes_to_int=True,
    since=(2, 11), exact=exact.fmod, divides=True,
)  # fmt: skip

_FMA_COMPLEX = _op(
    "metal.c10.fma-complex", 3, TypeRule.PROMOTE, COMPLEX, on_complex64(lambda x, y, z: x * y + z),
    lambda x, y, z, r: (y, x, 1), since=(2, 14),
)  # fmt: skip
_op(
    "metal.c10.fma", 3, TypeRule.MATH, FLOATING, fused, lambda x, y, z, r: (y, x, 1), since=(2, 14),
    complex_overload=_FMA_COMPLEX, exact=lambda mp, x, y, z: x * y + z,
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
    "metal.c10.pow-complex", 2, TypeRule.PROMOTE, COMPLEX, on_complex64(torch.pow),
    text=Member("complex_pow", COMPLEX_POW), since=(2, 11),
)  # fmt: skip
_op(
    "metal.c10.pow", 2, TypeRule.MATH, FLOATING, torch.pow, power_partials, since=(2, 11),
    exact=exact.power,
    integer_overload=_whole("pow", integers.power, since=(2, 11), exact=exact.power, overflow="pow"),
    complex_overload=_POW_COMPLEX,
)  # fmt: skip
# The real part is log|1 + z|, from squares that overflow from about 1e19 on and that cancel near |1 + z| = 1.
_LOG1P_COMPLEX = _op(
    "metal.c10.log1p-complex", 1, TypeRule.PROMOTE, COMPLEX, on_complex64(torch.log1p), lambda x, r: (1 / (x + 1),),
    text=Member("complex_log1p", _LOG1P), since=(2, 10),
)  # fmt: skip
_op(
    "metal.c10.log1p", 1, TypeRule.MATH, FLOATING, torch.log1p, lambda x, r: (1 / (x + 1),),
    complex_overload=_LOG1P_COMPLEX, exact=exact.mpmath("log1p"), suggested=True,
    **spelled("math.log1p metal.log1p torch.log1p torch.special.log1p numpy.log1p"),
)  # fmt: skip
# c10's own wants operands that are not negative. Up to 2.13 it is NaN of an infinity and a NaN, where C has infinity.
_op(
    "metal.c10.hypot", 2, TypeRule.MATH, FLOATING, torch.hypot, lambda x, y, r: (x / r, y / r),
    text=Wrapped("c10::metal::hypot(metal::fabs({0}), metal::fabs({1}))"), since=(2, 12),
    exact=exact.mpmath("hypot"), suggested=True,
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
    "hypot", 2, TypeRule.MATH, FLOATING, Member("hypotenuse", _HYPOT), torch.hypot, lambda x, y, r: (x / r, y / r),
    exact=exact.mpmath("hypot"), **spelled("math.hypot metal.hypot torch.hypot numpy.hypot"),
)  # fmt: skip

_conjugate = on_complex64(lambda z: torch.complex(z.real, -z.imag))
_op(
    "metal.c10.conj", 1, TypeRule.PROMOTE, FLOATING | INTEGERS | COMPLEX,
    lambda z: _conjugate(z) if z.is_complex() else z.clone(), lambda z, r: (1,), since=(2, 10),
    exact=lambda mp, x: x, rounds=False,
)  # fmt: skip

# `metal.conj` is for every release.
_CONJUGATE = """\
template <typename U>
static inline U conjugate(const U z) {
  return U(z.x, -z.y);
}
"""
_CONJ_COMPLEX = row(
    "metal.conj-complex", 1, TypeRule.PROMOTE, COMPLEX, Member("conjugate", _CONJUGATE), _conjugate, rounds=False
)
row(
    "metal.conj", 1, TypeRule.PROMOTE, FLOATING | INTEGERS, Wrapped("{0}"), torch.clone, lambda x, r: (1,),
    complex_overload=_CONJ_COMPLEX, exact=lambda mp, x: x, rounds=False, **spelled("torch.conj numpy.conj"),
)  # fmt: skip
