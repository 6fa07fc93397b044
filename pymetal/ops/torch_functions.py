"""Rows for functions of torch, and of Python's math, that neither Metal nor c10 has with their meaning.

A body reaches them by the names that torch, numpy and math give them. Functions of floats are computed in float and
rounded once, as torch computes them; `floor`, `gcd` and the like leave integers integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pymetal.ir import Member, Named, Op, Text, TypeRule, Wrapped
from pymetal.ops import exact as exact_of
from pymetal.ops import integers
from pymetal.ops.builder import Term
from pymetal.ops.integers import Width, on_python, on_wide
from pymetal.ops.special import gamma
from pymetal.ops.table import FLOATING, INTEGERS, SPECIAL, UTILS, row, spelled


def _floats(
    name: str, also: str, text: Text, function: Callable[..., Any], derivative: Any, exact: Callable[..., Any],
    arity: int = 1, **columns: Any,
) -> None:  # fmt: skip
    row(
        name, arity, TypeRule.MATH, FLOATING, text, function, derivative, exact=exact, **{**spelled(also), **columns}
    )  # fmt: skip


def _member(name: str, parameters: str, body: str) -> Member:
    return Member(name, f"static inline float {name}({parameters}) {{\n{body}}}\n")


# --- rounding and sign -----------------------------------------------------------------------------------------------


def _of_integers(
    name: str, arity: int, text: Text, function: Callable[..., Tensor], exact: Callable[..., Any], **columns: Any
) -> Op:
    return row(name, arity, TypeRule.PROMOTE, INTEGERS, text, function, exact=exact, **columns)


def _rounding(name: str, also: str, function: Callable[..., Any], exact: Callable[..., Any]) -> None:
    unchanged = _of_integers(f"{name}-integer", 1, Wrapped("{0}"), torch.clone, lambda mp, x: x, rounds=False)
    _floats(
        name, also, Named(f"metal::{name}"), function, lambda x, r: (0,), exact, rounds=False,
        integer_overload=unchanged,
    )  # fmt: skip


_rounding("floor", "math.floor torch.floor numpy.floor", torch.floor, exact_of.mpmath("floor"))
_rounding("ceil", "math.ceil torch.ceil numpy.ceil", torch.ceil, exact_of.mpmath("ceil"))
_rounding("trunc", "math.trunc torch.trunc torch.fix numpy.trunc", torch.trunc, exact_of.trunc)

_SIGN = """\
template <typename U>
static inline U sign_of(const U x) {
  return static_cast<U>((x > U(0)) - (x < U(0)));
}
"""


def _sign_of(x: Tensor, w: Width) -> Tensor:
    zero = torch.zeros_like(x)
    return integers.less(zero, x, w).to(torch.int64) - integers.less(x, zero, w).to(torch.int64)


# 0 of NaN, in Metal as in torch; numpy has NaN.
_floats(
    "sign", "torch.sign torch.sgn", Named("metal::sign"), torch.sign, lambda x, r: (0,), exact_of.mpmath("sign"),
    rounds=False, signed_zero=False,
    integer_overload=_of_integers(
        "sign-integer", 1, Member("sign_of", _SIGN), on_wide(_sign_of), lambda mp, x: (x > 0) - (x < 0), rounds=False
    ),
)  # fmt: skip
_floats(
    "frac", "torch.frac", _member("frac_of", "const float x", "  return x - metal::trunc(x);\n"), torch.frac,
    lambda x, r: (1,), lambda mp, x: x - exact_of.trunc(mp, x), rounds=False,
)  # fmt: skip

# --- angles ----------------------------------------------------------------------------------------------------------

_DEGREES, _RADIANS = 180 / math.pi, math.pi / 180
_floats(
    "degrees", "math.degrees torch.rad2deg numpy.degrees numpy.rad2deg", Wrapped(f"({{0}} * {_DEGREES!r}f)"),
    torch.rad2deg, lambda x, r: (x.lift(_DEGREES),), exact_of.mpmath("degrees"),
)  # fmt: skip
_floats(
    "radians", "math.radians torch.deg2rad numpy.radians numpy.deg2rad", Wrapped(f"({{0}} * {_RADIANS!r}f)"),
    torch.deg2rad, lambda x, r: (x.lift(_RADIANS),), exact_of.mpmath("radians"),
)  # fmt: skip

# --- remainders and divisors -----------------------------------------------------------------------------------------

# By what is left of twice the divisor: every step is exact.
_IEEE_REMAINDER = """\
  const float y = metal::fabs(b);
  const float twice = metal::fmod(metal::fabs(a), y + y);
  const bool odd = twice >= y;
  const float rest = odd ? twice - y : twice;
  const float missing = y - rest;
  const bool up = missing < rest || (missing == rest && odd);
  return metal::copysign(1.0f, a) * (up ? -missing : rest);
"""


def _remainder(a: Tensor, b: Tensor) -> Tensor:
    """What the quotient rounded to the nearest integer, half to even, leaves over."""
    y = b.double().abs()
    twice = torch.fmod(a.double().abs(), y + y)
    odd = twice >= y
    rest = torch.where(odd, twice - y, twice)
    missing = y - rest
    up = (missing < rest) | ((missing == rest) & odd)
    return (torch.copysign(torch.ones_like(y), a.double()) * torch.where(up, -missing, rest)).to(a.dtype)


_floats(
    "remainder", "math.remainder", _member("remainder_of", "const float a, const float b", _IEEE_REMAINDER),
    _remainder, lambda x, y, r: (1, -(x / y).call("metal.precise.rint")),
    lambda mp, x, y: x - y * mp.nint(x / y), arity=2, rounds=False,
)  # fmt: skip

# Of the magnitudes, so that the lowest value is not negated in its own type.
_DIVISOR = """\
template <typename U>
static inline U {name}(const U a, const U b) {{
  using W = metal::conditional_t<sizeof(U) == 8, ulong, uint>;
  const W first = a < U(0) ? W(0) - W(a) : W(a);
  const W second = b < U(0) ? W(0) - W(b) : W(b);
  W divisor = first;
  W rest = second;
  while (rest != W(0)) {{
    const W next = divisor % rest;
    divisor = rest;
    rest = next;
  }}
  return {result};
}}
"""


def _divisor(name: str, member: str, result: str, function: Callable[[int, int], int]) -> None:
    _of_integers(
        name, 2, Member(member, _DIVISOR.format(name=member, result=result)), on_python(lambda x, y, w: function(x, y)),
        lambda mp, x, y: function(x, y), **spelled(f"math.{name} torch.{name} numpy.{name}"),
    )  # fmt: skip


_divisor("gcd", "gcd_of", "static_cast<U>(divisor)", math.gcd)
_divisor(
    "lcm", "lcm_of", "divisor == W(0) ? U(0) : static_cast<U>(first / divisor * second)", math.lcm
)  # fmt: skip

# --- gamma functions -------------------------------------------------------------------------------------------------

# By the recurrence from and to [1, 2), where c10's function is exact to a few ulp: of negative arguments it is not.
_TO_ONE = """\
  float y = x;
  float product = 1.0f;
  float divisor = 1.0f;
  while (y >= 2.0f) {
    y -= 1.0f;
    product *= y;
  }
  while (y < 1.0f) {
    divisor *= y;
    y += 1.0f;
  }
"""
_GAMMA = f"""\
  if (metal::isnan(x) || (x < 0.0f && x == metal::floor(x))) {{
    return NAN;
  }}
  if (metal::fabs(x) > 50.0f) {{
    return x > 0.0f ? INFINITY : 0.0f;
  }}
{_TO_ONE}\
  return c10::metal::gamma(y) * product / divisor;
"""
_LGAMMA = f"""\
  if (metal::isnan(x) || metal::isinf(x) || (x <= 0.0f && x == metal::floor(x))) {{
    return metal::isnan(x) ? x : INFINITY;
  }}
  if (x > 30.0f) {{
    return c10::metal::log_gamma(x);
  }}
  if (x < -30.0f) {{
    return precise::log(3.1415927f / metal::fabs(x * precise::sinpi(x))) - c10::metal::log_gamma(-x);
  }}
{_TO_ONE}\
  return precise::log(c10::metal::gamma(y) * product) - precise::log(metal::fabs(divisor));
"""
_floats(
    "gamma", "math.gamma", _member("gamma_of", "const float x", _GAMMA), gamma,
    lambda x, r: (r * x.call("metal.c10.digamma"),), exact_of.mpmath("gamma"), header=SPECIAL, signed_zero=False,
)  # fmt: skip
_floats(
    "lgamma", "math.lgamma torch.lgamma torch.special.gammaln", _member("lgamma_of", "const float x", _LGAMMA),
    torch.lgamma, lambda x, r: (x.call("metal.c10.digamma"),), exact_of.log_gamma, header=SPECIAL,
)  # fmt: skip

# --- activations -----------------------------------------------------------------------------------------------------

# By the power that is at most one: 1 + e**x overflows for large x, and loses nothing for negative ones.
_SIGMOID = """\
  const float e = precise::exp(-metal::fabs(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
"""
_floats(
    "sigmoid", "torch.sigmoid torch.special.expit torch.nn.functional.sigmoid",
    _member("sigmoid_of", "const float x", _SIGMOID), torch.sigmoid, lambda x, r: (r * (1 - r),),
    lambda mp, x: 1 / (1 + mp.exp(-x)),
)  # fmt: skip
# Below -88 e**-x overflows and e**x is subnormal, where the product is neither: it is made of the root of e**x, twice.
_SILU = """\
  if (x < -20.0f) {
    const float root = precise::exp(0.5f * x);
    return x * root * root;
  }
  return x / (1.0f + precise::exp(-x));
"""


def _silu_partial(x: Term, r: Term) -> tuple[Term]:
    share = x.call("sigmoid")
    return (share * (1 + x * (1 - share)),)


_floats(
    "silu", "torch.nn.functional.silu", _member("silu_of", "const float x", _SILU), torch.nn.functional.silu,
    _silu_partial, lambda mp, x: x / (1 + mp.exp(-x)),
)  # fmt: skip
_floats(
    "logsigmoid", "torch.nn.functional.logsigmoid",
    _member(
        "log_sigmoid_of", "const float x",
        "  return metal::fmin(x, 0.0f) - c10::metal::log1p(precise::exp(-metal::fabs(x)));\n",
    ),
    torch.nn.functional.logsigmoid, lambda x, r: ((-x).call("sigmoid"),),
    lambda mp, x: -mp.log1p(mp.exp(-x)), header=UTILS,
)  # fmt: skip
# Beyond 20 the identity, as torch has it.
_floats(
    "softplus", "torch.nn.functional.softplus",
    _member("softplus_of", "const float x", "  return x > 20.0f ? x : c10::metal::log1p(precise::exp(x));\n"),
    torch.nn.functional.softplus, lambda x, r: (x.lift(1).where(x > 20, x.call("sigmoid")),),
    lambda mp, x: x if x > 20 else mp.log1p(mp.exp(x)), header=UTILS,
)  # fmt: skip
_floats(
    "leaky_relu", "torch.nn.functional.leaky_relu",
    _member("leaky_relu_of", "const float x, const float slope", "  return x > 0.0f ? x : x * slope;\n"),
    lambda x, slope: torch.where(x > 0, x, x * slope),
    lambda x, slope, r: (x.lift(1).where(x > 0, slope), x.lift(0).where(x > 0, x)),
    lambda mp, x, slope: x if x > 0 else x * slope, arity=2,
)  # fmt: skip
_LERP = """\
  return metal::fabs(t) < 0.5f ? x + t * (y - x) : y - (y - x) * (1.0f - t);
"""
_floats(
    "lerp", "torch.lerp", _member("lerp_of", "const float x, const float y, const float t", _LERP), torch.lerp,
    lambda x, y, t, r: (1 - t, t, y - x), lambda mp, x, y, t: x + t * (y - x), arity=3,
)  # fmt: skip
