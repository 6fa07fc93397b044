"""Rows for Metal's maths functions: `metal.NAME`, `metal.precise.NAME` and `metal.fast.NAME`.

All of them are computed in float. For half that is what Metal does itself; for bfloat it has nothing else. `fract` of a
half may therefore round up to one.

`frexp`, `modf` and `sincos` give two results and have no row. Those that integers have as well, and `fmin` and its kin,
are in `metal_common`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pymetal import dtypes
from pymetal.ir import Concrete, Member, Named, Type, TypeRule
from pymetal.ops import exact as exact_of
from pymetal.ops import floats
from pymetal.ops.builder import Term
from pymetal.ops.table import FLOATING, row, spelled

_LN2 = math.log(2)
_LN10 = math.log(10)
_INT = Concrete(dtypes.int32)
_LOWEST_INT = -(1 << 31)


def _maths(
    name: str, function: Callable[..., Any], derivative: Any, exact: Callable[..., Any] | str | None = None, *,
    arity: int = 1, also: str = "", params: tuple[Type | None, ...] | None = None,
    result: Type | None = None, rounds: bool = True,
) -> None:  # fmt: skip
    """The rows `metal.NAME`, `metal.precise.NAME` and `metal.fast.NAME`.

    Args:
        exact: the column, or the name of the function of mpmath.
        also: the names of math, torch and numpy for the precise one.
    """
    for space, prefix in (("metal", "metal::"), ("metal.precise", "precise::"), ("metal.fast", "fast::")):
        row(
            f"{space}.{name}", arity, TypeRule.MATH, FLOATING, Named(f"{prefix}{name}"), function, derivative,
            params=params, result=result, fast=space == "metal.fast",
            exact=exact_of.mpmath(exact) if isinstance(exact, str) else exact, rounds=rounds,
            **spelled(also if space == "metal.precise" else ""),
        )  # fmt: skip


# --- meanings that torch has no function for -------------------------------------------------------------------------


def _exp10(x: Tensor) -> Tensor:
    return torch.pow(torch.tensor(10.0, dtype=x.dtype, device=x.device), x)


def _sine_of_half_turns(x: Tensor) -> Tensor:
    """sin(pi x) for |x| <= 1, x a double; exact at multiples of a half."""
    folded = torch.where(x.abs() > 0.5, torch.copysign(torch.ones_like(x), x) - x, x)
    return torch.sin(math.pi * folded)


def _sinpi(x: Tensor) -> Tensor:
    turn = torch.fmod(x.double(), 2)  # exact
    value = _sine_of_half_turns(turn - 2 * torch.round(turn / 2))
    whole = (x == x.floor()) & x.isfinite()
    return torch.where(whole, torch.copysign(torch.zeros_like(x), x), value.to(x.dtype))


def _cospi(x: Tensor) -> Tensor:
    turn = torch.fmod(x.double().abs(), 2)
    return _sine_of_half_turns(0.5 - torch.where(turn > 1, 2 - turn, turn)).to(x.dtype)


def _tanpi(x: Tensor) -> Tensor:
    wide = x.double()
    return (_sinpi(wide) / _cospi(wide)).to(x.dtype)


def _round(x: Tensor) -> Tensor:
    whole = torch.trunc(x)
    return torch.where((x - whole).abs() >= 0.5, whole + torch.copysign(torch.ones_like(x), x), whole)


def _fract(x: Tensor) -> Tensor:
    below_one = 1 - torch.finfo(x.dtype).eps / 2
    inside = (x - x.floor()).clamp_max(below_one)
    return torch.where(x.isinf(), torch.copysign(torch.zeros_like(x), x), inside)


def _ilogb(x: Tensor) -> Tensor:
    exponent = torch.frexp(x.double()).exponent - 1
    special = torch.where(x.isinf(), -_LOWEST_INT - 1, _LOWEST_INT)
    return torch.where((x == 0) | ~x.isfinite(), special, exponent).to(torch.int32)


def _ldexp(x: Tensor, exponent: Tensor) -> Tensor:
    # In double, and in two steps that each stay inside its range.
    count = exponent.double().clamp(-2200, 2200)
    half = torch.trunc(count / 2)
    return (x.double() * torch.exp2(half) * torch.exp2(count - half)).to(x.dtype)


def fused(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """x * y + z, rounded once; of doubles, rounded twice."""
    if x.dtype == torch.float64:
        return x * y + z
    # The double product of two floats is exact. Their sum is rounded to odd, so that rounding it again is harmless.
    product, addend = x.double() * y.double(), z.double()
    total = product + addend
    back = total - product
    lost = (product - (total - back)) + (addend - back)
    bits = total.view(torch.int64)
    odd = torch.where((lost > 0) == (total > 0), bits + 1, bits - 1)
    inexact = (lost != 0) & total.isfinite() & (bits & 1 == 0)
    return torch.where(inexact, odd, bits).view(torch.float64).to(x.dtype)


def _powr(x: Tensor, y: Tensor) -> Tensor:
    undefined = (x < 0) | ((x == 0) & (y == 0)) | (x.isinf() & (y == 0)) | ((x == 1) & y.isinf())
    return torch.where(undefined | x.isnan() | y.isnan(), math.nan, torch.pow(x.abs(), y)).to(x.dtype)


def _nextafter(x: Tensor, y: Tensor) -> Tensor:
    if x.dtype in (torch.float32, torch.float64):
        return torch.nextafter(x, y)
    bits = x.view(torch.int16)
    step = torch.where((x < y) == (bits >= 0), bits + 1, bits - 1)
    step = torch.where(x == 0, (y.view(torch.int16) & _LOWEST_SHORT) | 1, step).to(torch.int16)
    moved = torch.where(x == y, y, step.view(x.dtype))
    return torch.where(x.isnan(), x, torch.where(y.isnan(), y, moved))


_LOWEST_SHORT = -(1 << 15)

# --- derivatives -----------------------------------------------------------------------------------------------------


def _atan2_partials(y: Term, x: Term, r: Term) -> tuple[Term, Term]:
    """Zero at the origin, as in torch."""
    square = x * x + y * y
    origin = square.equals(0)
    return x.lift(0).where(origin, x / square), x.lift(0).where(origin, -y / square)


def power_partials(x: Term, y: Term, r: Term) -> tuple[Term, Term]:
    """The derivatives of x to the power of y: zero by x at y = 0, and by y at x = 0 and y >= 0, as in torch."""
    by_exponent = r * x.call("metal.precise.log")
    flat = x.lift(0).where(y.call("ge", 0), by_exponent)
    return (
        x.lift(0).where(y.equals(0), y * x.call("metal.precise.pow", y - 1)),
        flat.where(x.equals(0), by_exponent),
    )


# --- the rows --------------------------------------------------------------------------------------------------------

_maths("exp", torch.exp, lambda x, r: (r,), "exp", also="math.exp torch.exp numpy.exp")
_maths(
    "exp2", torch.exp2, lambda x, r: (r * _LN2,), lambda mp, x: mp.power(2, x),
    also="math.exp2 torch.exp2 torch.special.exp2 numpy.exp2",
)  # fmt: skip
_maths("exp10", _exp10, lambda x, r: (r * _LN10,), lambda mp, x: mp.power(10, x))
_maths("log", torch.log, lambda x, r: (1 / x,), "log", also="math.log torch.log numpy.log")
_maths(
    "log2", torch.log2, lambda x, r: (1 / (x * _LN2),), lambda mp, x: mp.log(x) / mp.log(2),
    also="math.log2 torch.log2 numpy.log2",
)  # fmt: skip
_maths("log10", torch.log10, lambda x, r: (1 / (x * _LN10),), "log10", also="math.log10 torch.log10 numpy.log10")
_maths("sin", torch.sin, lambda x, r: (x.call("metal.precise.cos"),), "sin", also="math.sin torch.sin numpy.sin")
_maths("cos", torch.cos, lambda x, r: (-x.call("metal.precise.sin"),), "cos", also="math.cos torch.cos numpy.cos")
_maths("tan", torch.tan, lambda x, r: (1 + r * r,), "tan", also="math.tan torch.tan numpy.tan")
_maths("sinpi", _sinpi, lambda x, r: (math.pi * x.call("metal.precise.cospi"),), "sinpi")
_maths("cospi", _cospi, lambda x, r: (-math.pi * x.call("metal.precise.sinpi"),), "cospi")
_maths("tanpi", _tanpi, lambda x, r: (math.pi * (1 + r * r),), lambda mp, x: mp.sinpi(x) / mp.cospi(x))
_maths(
    "asin", torch.asin, lambda x, r: ((1 - x * x).call("metal.precise.rsqrt"),), "asin",
    also="math.asin torch.asin torch.arcsin numpy.arcsin",
)  # fmt: skip
_maths(
    "acos", torch.acos, lambda x, r: (-(1 - x * x).call("metal.precise.rsqrt"),), "acos",
    also="math.acos torch.acos torch.arccos numpy.arccos",
)  # fmt: skip
_maths(
    "atan", torch.atan, lambda x, r: (1 / (x * x + 1),), "atan", also="math.atan torch.atan torch.arctan numpy.arctan"
)
_maths("sinh", torch.sinh, lambda x, r: (x.call("metal.precise.cosh"),), "sinh", also="math.sinh torch.sinh numpy.sinh")
_maths("cosh", torch.cosh, lambda x, r: (x.call("metal.precise.sinh"),), "cosh", also="math.cosh torch.cosh numpy.cosh")
_maths(
    "tanh", torch.tanh, lambda x, r: (1 - r * r,), "tanh",
    also="math.tanh torch.tanh torch.nn.functional.tanh numpy.tanh",
)  # fmt: skip
_maths(
    "asinh", torch.asinh, lambda x, r: ((x * x + 1).call("metal.precise.rsqrt"),), "asinh",
    also="math.asinh torch.asinh torch.arcsinh numpy.arcsinh",
)  # fmt: skip
_maths(
    "acosh", torch.acosh, lambda x, r: ((x * x - 1).call("metal.precise.rsqrt"),), "acosh",
    also="math.acosh torch.acosh torch.arccosh numpy.arccosh",
)  # fmt: skip
_maths(
    "atanh", torch.atanh, lambda x, r: (1 / (1 - x * x),), "atanh",
    also="math.atanh torch.atanh torch.arctanh numpy.arctanh",
)  # fmt: skip
_maths("sqrt", torch.sqrt, lambda x, r: (0.5 / r,), "sqrt", also="math.sqrt torch.sqrt numpy.sqrt")
_maths("rsqrt", torch.rsqrt, lambda x, r: (-0.5 * (r * r * r),), lambda mp, x: 1 / mp.sqrt(x), also="torch.rsqrt")
_maths("fabs", torch.abs, lambda x, r: (x.sign(),), lambda mp, x: abs(x), also="math.fabs numpy.fabs", rounds=False)
_maths("floor", torch.floor, lambda x, r: (0,), "floor", rounds=False)
_maths("ceil", torch.ceil, lambda x, r: (0,), "ceil", rounds=False)
_maths("trunc", torch.trunc, lambda x, r: (0,), exact_of.trunc, rounds=False)
_maths("rint", torch.round, lambda x, r: (0,), "nint", also="numpy.rint", rounds=False)
_maths("round", _round, lambda x, r: (0,), exact_of.round_away, rounds=False)
_maths("fract", _fract, lambda x, r: (1,), lambda mp, x: x - mp.floor(x))
_maths("ilogb", _ilogb, None, result=_INT)  # an integer: not differentiable
_maths(
    "ldexp", _ldexp, lambda x, k, r: (x.lift(1).call("metal.ldexp", k), 0), lambda mp, x, k: x * mp.power(2, k),
    arity=2, params=(None, _INT), also="math.ldexp numpy.ldexp",
)  # fmt: skip
_maths(
    "atan2", torch.atan2, _atan2_partials, "atan2", arity=2, also="math.atan2 torch.atan2 torch.arctan2 numpy.arctan2"
)
_maths("pow", torch.pow, power_partials, "power", arity=2, also="math.pow")
# For x >= 0, and by its definition exp2(y * log2(x)): powr(0, 0), powr(1, inf) and powr(inf, 0) are NaN.
_maths("powr", _powr, power_partials, lambda mp, x, y: mp.power(x, y) if x > 0 else mp.nan, arity=2)
_maths(
    "fmod", floats.fmod, lambda x, y, r: (1, -(x / y).call("metal.precise.trunc")), exact_of.fmod, arity=2,
    also="math.fmod",
)  # fmt: skip
_maths(
    "copysign", torch.copysign, lambda x, y, r: (x.sign() * r.sign(), 0), lambda mp, x, y: -abs(x) if y < 0 else abs(x),
    arity=2, also="math.copysign torch.copysign numpy.copysign", rounds=False,
)  # fmt: skip
_maths("divide", torch.true_divide, lambda x, y, r: (1 / y, -r / y), exact_of.quotient, arity=2)
_maths(
    "fdim", lambda x, y: torch.where(x <= y, 0, x - y).to(x.dtype),
    lambda x, y, r: (x.lift(0).where(x.call("le", y), 1), x.lift(0).where(x.call("le", y), -1)),
    lambda mp, x, y: max(x - y, mp.mpf(0)), arity=2,
)  # fmt: skip
_maths("fma", fused, lambda x, y, z, r: (y, x, 1), lambda mp, x, y, z: x * y + z, arity=3, also="math.fma")

# Of the operand's own type: the next float is not the next half. Metal has it for float and half from MSL 3.1 on.
_NEXTAFTER = """\
template <typename U>
static inline U next_after(const U x, const U y) {
  return metal::nextafter(x, y);
}
static inline bfloat next_after(const bfloat x, const bfloat y) {
  if (x != x || y != y) {
    return x != x ? x : y;
  }
  if (float(x) == float(y)) {
    return y;
  }
  const ushort bits = as_type<ushort>(x);
  if ((bits & 0x7FFF) == 0) {
    return as_type<bfloat>(ushort((as_type<ushort>(y) & 0x8000) | 1));
  }
  return as_type<bfloat>(ushort((float(x) < float(y)) == ((bits & 0x8000) == 0) ? bits + 1 : bits - 1));
}
"""
row(
    "metal.nextafter", 2, TypeRule.PROMOTE, FLOATING, Member("next_after", _NEXTAFTER), _nextafter,
    rounds=False, aliases=("math.nextafter", "torch.nextafter", "numpy.nextafter"),  # not folded: doubles are nearer
)  # fmt: skip
