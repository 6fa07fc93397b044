"""Rows for the functions of `c10/metal/special_math.h`, and of the two headers it includes: `metal.c10.NAME`.

All of them compute in float, or are called with float. Orders of polynomials and of `polygamma` are int64; polynomials
of negative order are zero.

The reference is torch's own function. How far c10's is from it, and where it is plainly another, is in the table of
`tests/test_intrinsics.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pymetal import dtypes
from pymetal.ir import Call, Cast, Concrete, Member, Named, Op, Type, TypeRule
from pymetal.ops import exact as exact_of
from pymetal.ops.builder import Term
from pymetal.ops.floats import on_complex64
from pymetal.ops.table import COMPLEX, FLOATING, SPECIAL, TABLE, row, spelled

_ORDER = Concrete(dtypes.int64)
_SQRT_PI = math.sqrt(math.pi)
_TWO_OVER_SQRT_PI = 2 / _SQRT_PI


def _c10(
    name: str, function: Callable[..., Any], derivative: Any, exact: Callable[..., Any] | str | None = None, *,
    arity: int = 1, since: tuple[int, int] = (2, 8), also: str = "",
    params: tuple[Type | None, ...] | None = None, complex_overload: Op | None = None,
) -> None:  # fmt: skip
    """The row `metal.c10.NAME`: a function of floats that computes in float.

    Args:
        exact: the column, or the name of the function of mpmath.
        also: its names in math and torch.
    """
    row(
        f"metal.c10.{name}", arity, TypeRule.MATH, FLOATING, Named(f"c10::metal::{name}"), function, derivative,
        params=params, since=since, header=SPECIAL, complex_overload=complex_overload,
        exact=exact_of.mpmath(exact) if isinstance(exact, str) else exact, suggested=params is None, **spelled(also),
    )  # fmt: skip


def _on_complex(
    name: str, arity: int, function: Callable[..., Any], derivative: Any, since: tuple[int, int] = (2, 8)
) -> Op:
    text = Named(f"c10::metal::{name}")
    return row(
        f"metal.c10.{name}-complex", arity, TypeRule.PROMOTE, COMPLEX, text, on_complex64(function), derivative,
        since=since, header=SPECIAL,
    )  # fmt: skip


def _exp(x: Term) -> Term:
    return x.call("metal.precise.exp")


# --- error functions -------------------------------------------------------------------------------------------------

_c10(
    "erf", torch.erf, lambda x, r: (_TWO_OVER_SQRT_PI * _exp(-(x * x)),), "erf",
    also="math.erf metal.erf torch.erf torch.special.erf",
)  # fmt: skip
# Up to 2.13 it is 1 - erf(x), which has no digit left from x = 4 on.
_c10(
    "erfc", torch.erfc, lambda x, r: (-_TWO_OVER_SQRT_PI * _exp(-(x * x)),), "erfc", since=(2, 9),
    also="math.erfc metal.erfc torch.erfc torch.special.erfc",
)  # fmt: skip
_c10(
    "erfcx", torch.special.erfcx, lambda x, r: (2 * x * r - _TWO_OVER_SQRT_PI,), exact_of.erfcx, since=(2, 11),
    also="torch.special.erfcx",
)  # fmt: skip
_c10(
    "erfinv", torch.erfinv, lambda x, r: (_SQRT_PI / 2 * _exp(r * r),), "erfinv",
    also="torch.erfinv torch.special.erfinv",
)  # fmt: skip
# c10's lacks the low part of ln 2: it is off by 1.4e-6 for each power of two in the result. Python's is another row.
_c10("expm1f", torch.expm1, lambda x, r: (r + 1,), "expm1")

_EXPM1 = """\
static inline float exp_minus_one(const float x) {
  const float e = precise::exp(x);
  if (metal::fabs(x) > 0.5f || e == 1.0f) {
    return e == 1.0f ? x : e - 1.0f;
  }
  return (e - 1.0f) * (x / precise::log(e));
}
"""
row(
    "expm1", 1, TypeRule.MATH, FLOATING, Member("exp_minus_one", _EXPM1), torch.expm1, lambda x, r: (r + 1,),
    exact=exact_of.mpmath("expm1"), **spelled("math.expm1 metal.expm1 torch.expm1 torch.special.expm1 numpy.expm1"),
)  # fmt: skip

# --- gamma functions -------------------------------------------------------------------------------------------------


def gamma(x: Tensor) -> Tensor:
    """The gamma function; NaN at negative integers and -inf."""
    wide = x.double()
    negative = (wide < 0) & (torch.floor(wide) % 2 != 0)
    value = torch.exp(torch.lgamma(wide))
    pole = (wide < 0) & (wide == wide.floor())
    value = torch.where(pole, math.nan, torch.where(negative, -value, value))
    return torch.where(wide == 0, torch.copysign(torch.full_like(wide, math.inf), wide), value).to(x.dtype)


def _polygamma(order: Tensor, x: Tensor) -> Tensor:
    """The derivative of digamma of each element's order; NaN for negative orders."""
    result = torch.full_like(x, math.nan)
    for n in sorted(set(order.flatten().tolist())):
        if n >= 0:
            value = torch.digamma(x) if n == 0 else torch.polygamma(n, x)
            result = torch.where(order == n, value, result)
    return result


def _polygamma_partials(order: Term, x: Term, r: Term) -> tuple[int, Term]:
    op = TABLE["metal.c10.polygamma"]
    return 0, Term(Call(op, ((order + 1).expr, x.expr), x.expr.type))


def _gamma_density(a: Term, x: Term) -> Term:
    """The derivative of igamma by x."""
    return _exp((a - 1) * x.call("metal.precise.log") - x - a.call("metal.c10.log_gamma"))


# Of negative arguments c10's gamma is the pole's part alone; log_gamma loses digits near its zeros at 1 and 2.
_c10("gamma", gamma, lambda x, r: (r * x.call("metal.c10.digamma"),), "gamma")
_c10(
    "log_gamma", torch.lgamma, lambda x, r: (x.call("metal.c10.digamma"),), exact_of.log_gamma,
)  # fmt: skip
_c10(
    "digamma", torch.digamma, lambda x, r: (x.lift(2).call("metal.c10.zeta", x),), "digamma",
    also="torch.digamma torch.special.digamma torch.special.psi",
)  # fmt: skip
_c10(
    "trigamma", lambda x: torch.polygamma(1, x), lambda x, r: (-2 * x.lift(3).call("metal.c10.zeta", x),),
    lambda mp, x: mp.psi(1, x), since=(2, 12),
)  # fmt: skip
_c10("polygamma", _polygamma, _polygamma_partials, lambda mp, n, x: mp.psi(int(n), x), arity=2, params=(_ORDER, None))
# By x: none, as in torch.
_c10(
    "zeta", torch.special.zeta, lambda x, q, r: (None, -x * (x + 1).call("metal.c10.zeta", q)), "zeta", arity=2,
    also="torch.special.zeta",
)  # fmt: skip
# By a: none, as in torch.
_c10(
    "igamma", torch.igamma, lambda a, x, r: (None, _gamma_density(a, x)),
    lambda mp, a, x: mp.gammainc(a, 0, x, regularized=True) if a > 0 and x >= 0 else mp.nan, arity=2, since=(2, 9),
    also="torch.igamma torch.special.gammainc",
)  # fmt: skip
_c10(
    "igammac", torch.igammac, lambda a, x, r: (None, -_gamma_density(a, x)),
    lambda mp, a, x: mp.gammainc(a, x, regularized=True) if a > 0 and x >= 0 else mp.nan, arity=2, since=(2, 9),
    also="torch.igammac torch.special.gammaincc",
)  # fmt: skip

# --- exponentials and logarithms of several --------------------------------------------------------------------------


def _xlogy_partials(x: Term, y: Term, r: Term) -> tuple[Term, Term]:
    logarithm = y.call("metal.precise.log")
    flat = x.lift(0).where(y.call("le", 0), logarithm)
    return flat.where(x.equals(0), logarithm), x / y


def _xlog1py_partials(x: Term, y: Term, r: Term) -> tuple[Term, Term]:
    logarithm = y.call("metal.c10.log1p")
    flat = x.lift(0).where(y.call("le", -1), logarithm)
    return flat.where(x.equals(0), logarithm), x / (y + 1)


def _softmax_partials(exponential: str) -> Callable[[Term, Term, Term], tuple[Term, Term]]:
    def partials(x: Term, y: Term, r: Term) -> tuple[Term, Term]:
        return 1 / ((y - x).call(exponential) + 1), 1 / ((x - y).call(exponential) + 1)

    return partials


_LOGADDEXP_COMPLEX = _on_complex(
    "logaddexp", 2, torch.logaddexp, None, (2, 10)
)  # the derivative is not implemented  # fmt: skip
_c10(
    "logaddexp", torch.logaddexp, _softmax_partials("metal.precise.exp"), exact_of.logaddexp, arity=2, since=(2, 10),
    complex_overload=_LOGADDEXP_COMPLEX, also="torch.logaddexp numpy.logaddexp",
)  # fmt: skip
_c10(
    "logaddexp2", torch.logaddexp2, _softmax_partials("metal.precise.exp2"), exact_of.logaddexp2, arity=2,
    since=(2, 10), also="torch.logaddexp2 numpy.logaddexp2",
)  # fmt: skip
_c10(
    "xlogy", torch.special.xlogy, _xlogy_partials, exact_of.xlogy, arity=2, since=(2, 12),
    also="torch.xlogy torch.special.xlogy",
)  # fmt: skip
_c10(
    "xlog1py", torch.special.xlog1py, _xlog1py_partials, lambda mp, x, y: exact_of.xlogy(mp, x, 1 + y), arity=2,
    also="torch.special.xlog1py",
)  # fmt: skip
_c10("entr", torch.special.entr, lambda x, r: (-x.call("metal.precise.log") - 1,), also="torch.special.entr")

# --- Bessel functions ------------------------------------------------------------------------------------------------


def _by_x(r: Term, x: Term, at_zero: float) -> Term:
    """r / x, and its limit at zero."""
    return r.lift(at_zero).where(x.equals(0), r / x)


def _sinc_partial(x: Term, r: Term) -> tuple[Term]:
    return (_by_x(x.call("metal.precise.cospi") - r, x, 0),)


# c10's complex sinc is 0 at 0.
_c10(
    "sinc", torch.sinc, _sinc_partial, "sincpi", complex_overload=_on_complex("sinc", 1, torch.sinc, None),
    also="torch.sinc torch.special.sinc numpy.sinc",
)  # fmt: skip
_c10(
    "spherical_bessel_j0", torch.special.spherical_bessel_j0,
    lambda x, r: (_by_x(x.call("metal.precise.cos") - r, x, 0),), also="torch.special.spherical_bessel_j0",
)  # fmt: skip
_c10(
    "i0", torch.special.i0, lambda x, r: (x.call("metal.c10.i1"),), lambda mp, x: mp.besseli(0, x),
    also="torch.i0 torch.special.i0 numpy.i0",
)  # fmt: skip
_c10("i0e", torch.special.i0e, lambda x, r: (x.call("metal.c10.i1e") - x.sign() * r,), also="torch.special.i0e")
_c10(
    "i1", torch.special.i1, lambda x, r: (x.call("metal.c10.i0") - _by_x(r, x, 0.5),), lambda mp, x: mp.besseli(1, x),
    also="torch.special.i1",
)  # fmt: skip
_c10(
    "i1e", torch.special.i1e,
    lambda x, r: (x.call("metal.c10.i0e") - x.sign() * r - _by_x(r, x, 0.5),), also="torch.special.i1e",
)  # fmt: skip


def _bessel(
    name: str, function: Callable[..., Any], partial: Callable[[Term, Term, Callable[[str], Term]], Term]
) -> None:
    """A row of `NAME_forward`; `partial` is given x, the result and the other functions of x."""
    _c10(
        f"{name}_forward", function,
        lambda x, r: (partial(x, r, lambda other: x.call(f"metal.c10.{other}_forward")),), also=f"torch.special.{name}",
    )  # fmt: skip


_bessel("bessel_j0", torch.special.bessel_j0, lambda x, r, f: -f("bessel_j1"))
_bessel("bessel_j1", torch.special.bessel_j1, lambda x, r, f: f("bessel_j0") - _by_x(r, x, 0.5))
_bessel("bessel_y0", torch.special.bessel_y0, lambda x, r, f: -f("bessel_y1"))
_bessel("bessel_y1", torch.special.bessel_y1, lambda x, r, f: f("bessel_y0") - r / x)
_bessel("modified_bessel_i0", torch.special.modified_bessel_i0, lambda x, r, f: f("modified_bessel_i1"))
_bessel(
    "modified_bessel_i1", torch.special.modified_bessel_i1,
    lambda x, r, f: f("modified_bessel_i0") - _by_x(r, x, 0.5),
)  # fmt: skip
_bessel("modified_bessel_k0", torch.special.modified_bessel_k0, lambda x, r, f: -f("modified_bessel_k1"))
_bessel(
    "modified_bessel_k1", torch.special.modified_bessel_k1, lambda x, r, f: -f("modified_bessel_k0") - r / x
)  # fmt: skip
_bessel(
    "scaled_modified_bessel_k0", torch.special.scaled_modified_bessel_k0,
    lambda x, r, f: r - f("scaled_modified_bessel_k1"),
)  # fmt: skip
_bessel(
    "scaled_modified_bessel_k1", torch.special.scaled_modified_bessel_k1,
    lambda x, r, f: r - f("scaled_modified_bessel_k0") - r / x,
)  # fmt: skip

# --- orthogonal polynomials ------------------------------------------------------------------------------------------


def _polynomial(name: str, function: Callable[..., Any], derivative: Any, since: tuple[int, int] = (2, 8)) -> None:
    """A row of `NAME_forward(x, n)`."""

    def value(x: Tensor, order: Tensor) -> Tensor:
        return torch.where(order < 0, 0, function(x, order.clamp_min(0).to(x.dtype)))

    _c10(f"{name}_forward", value, derivative, arity=2, since=since, params=(None, _ORDER))


def _lowered(name: str, factor: int) -> Callable[[Term, Term, Term], tuple[Term, int]]:
    """The derivative `factor` * n * NAME(x, n - 1)."""

    def partials(x: Term, order: Term, r: Term) -> tuple[Term, int]:
        n = Term(Cast(x.expr.type, order.expr))
        return factor * n * x.call(f"metal.c10.{name}_forward", order - 1), 0

    return partials


# torch has no derivative of any of these. Where it is another row's polynomial it stands here.
_polynomial("chebyshev_polynomial_t", torch.special.chebyshev_polynomial_t, _lowered("chebyshev_polynomial_u", 1))
_polynomial("chebyshev_polynomial_u", torch.special.chebyshev_polynomial_u, None)
_polynomial("chebyshev_polynomial_v", torch.special.chebyshev_polynomial_v, None)
_polynomial("chebyshev_polynomial_w", torch.special.chebyshev_polynomial_w, None)
_polynomial(
    "shifted_chebyshev_polynomial_t", torch.special.shifted_chebyshev_polynomial_t,
    _lowered("shifted_chebyshev_polynomial_u", 2), (2, 9),
)  # fmt: skip
_polynomial("shifted_chebyshev_polynomial_u", torch.special.shifted_chebyshev_polynomial_u, None, (2, 9))
_polynomial("shifted_chebyshev_polynomial_v", torch.special.shifted_chebyshev_polynomial_v, None, (2, 9))
_polynomial("shifted_chebyshev_polynomial_w", torch.special.shifted_chebyshev_polynomial_w, None, (2, 9))
_polynomial("hermite_polynomial_h", torch.special.hermite_polynomial_h, _lowered("hermite_polynomial_h", 2))
_polynomial("hermite_polynomial_he", torch.special.hermite_polynomial_he, _lowered("hermite_polynomial_he", 1))
_polynomial("laguerre_polynomial_l", torch.special.laguerre_polynomial_l, None, (2, 15))
