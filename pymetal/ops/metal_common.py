"""Rows for the common functions (`clamp`, `mix`, `step`, ...) and the smallest, largest and middle of several.

Where a NaN meets a number, these take the number; Python's and torch's `min` and `max`, which take the NaN, are other
rows. Of integers they are computed as they are, of half and bfloat as float, which is exact but for `mix` and
`smoothstep`. Where operands are equal, the first one takes the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pymetal.ir import Named, Op, TypeRule
from pymetal.ops import exact, integers
from pymetal.ops.builder import Term
from pymetal.ops.integers import on_wide
from pymetal.ops.python import AND, OR
from pymetal.ops.table import FLOATING, INTEGERS, row, spelled

# --- minimum, maximum, median, clamp ---------------------------------------------------------------------------------


def _median(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    return torch.fmax(torch.fmin(x, y), torch.fmin(torch.fmax(x, y), z))


def _clamp(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    return torch.fmin(torch.fmax(x, low), high)


def _takes_first(x: Term, y: Term, larger: bool) -> Term:
    """1 where `fmax` (or `fmin`) gives its first operand, else 0: where that wins, or is equal, or the other is NaN."""
    wins = x.call("ge" if larger else "le", y)
    return x.lift(1).where(wins, x.lift(0).where(y.equals(y), 1))


def _extreme_partials(larger: bool) -> Callable[[Term, Term, Term], tuple[Term, Term]]:
    def partials(x: Term, y: Term, r: Term) -> tuple[Term, Term]:
        first = _takes_first(x, y, larger)
        return first, 1 - first

    return partials


def _chosen_partials(x: Term, y: Term, z: Term, r: Term) -> tuple[Term, Term, Term]:
    """Of the first operand that equals the result, or of the first if all are NaN."""
    one, zero = x.lift(1), x.lift(0)
    first, second, third = x.equals(r), y.equals(r), z.equals(r)
    return (
        one.where(first, zero.where(second, zero.where(third, 1))),
        zero.where(first, one.where(second, 0)),
        zero.where(first, zero.where(second, one.where(third, 0))),
    )


def _clamp_partials(x: Term, low: Term, high: Term, r: Term) -> tuple[Term, Term, Term]:
    kept = _takes_first(x, low, larger=True)
    raised = x.where(kept > 0, low)
    inside = _takes_first(raised, high, larger=False)
    return inside * kept, inside * (1 - kept), 1 - inside


def _choice(
    name: str, arity: int, floats: Callable[..., Tensor], of_integers: Callable[..., Tensor], derivative: Any,
    exact: Callable[..., Any], bool_overload: Op | None = None, signed_zero: bool = False, also: str = "",
) -> None:  # fmt: skip
    """`metal.NAME` of floats and of integers, `metal.precise.NAME` and `metal.fast.NAME` of floats."""

    def function(*operands: Tensor) -> Tensor:
        return (floats if operands[0].is_floating_point() else of_integers)(*operands)

    row(
        f"metal.{name}", arity, TypeRule.OPMATH, FLOATING | INTEGERS, Named(f"metal::{name}"), function, derivative,
        bool_overload=bool_overload, exact=exact, rounds=False, signed_zero=signed_zero, **spelled(also),
    )  # fmt: skip
    _floats(name, arity, floats, derivative, exact, spaces=("precise", "fast"), signed_zero=signed_zero)


def _floats(
    name: str, arity: int, function: Callable[..., Tensor], derivative: Any, exact: Callable[..., Any] | None = None, *,
    spaces: tuple[str, ...] = ("metal",), rounds: bool = False, signed_zero: bool = True,
) -> None:  # fmt: skip
    for space in spaces:
        row(
            "metal." * (space != "metal") + f"{space}.{name}", arity, TypeRule.MATH, FLOATING,
            Named(f"{space}::{name}"), function, derivative, fast=space == "fast", exact=exact, rounds=rounds,
            signed_zero=signed_zero,
        )  # fmt: skip


def _of_three(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function of two, and of a width if that comes last, applied twice."""
    return lambda x, y, z, *w: function(function(x, y, *w), z, *w)


def _median_exact(mp: Any, x: Any, y: Any, z: Any) -> Any:
    return exact.fmax(mp, exact.fmin(mp, x, y), exact.fmin(mp, exact.fmax(mp, x, y), z))


_choice(
    "abs", 1, torch.abs, on_wide(integers.absolute), lambda x, r: (x.sign(),), lambda mp, x: abs(x), signed_zero=True
)
_choice(
    "min", 2, torch.fmin, on_wide(integers.least), _extreme_partials(larger=False), exact.fmin, AND,
    also="torch.fmin numpy.fmin",
)  # fmt: skip
_choice(
    "max", 2, torch.fmax, on_wide(integers.greatest), _extreme_partials(larger=True), exact.fmax, OR,
    also="torch.fmax numpy.fmax",
)  # fmt: skip
_choice("min3", 3, _of_three(torch.fmin), on_wide(_of_three(integers.least)), _chosen_partials, exact.fmin)
_choice("max3", 3, _of_three(torch.fmax), on_wide(_of_three(integers.greatest)), _chosen_partials, exact.fmax)
_choice("median3", 3, _median, on_wide(integers.median), _chosen_partials, _median_exact)
_choice("clamp", 3, _clamp, on_wide(integers.clamp), _clamp_partials, exact.clamp)

_ALL = ("metal", "precise", "fast")
_floats("fmin", 2, torch.fmin, _extreme_partials(larger=False), exact.fmin, spaces=_ALL, signed_zero=False)
_floats("fmax", 2, torch.fmax, _extreme_partials(larger=True), exact.fmax, spaces=_ALL, signed_zero=False)
_floats("fmin3", 3, _of_three(torch.fmin), _chosen_partials, exact.fmin, spaces=_ALL, signed_zero=False)
_floats("fmax3", 3, _of_three(torch.fmax), _chosen_partials, exact.fmax, spaces=_ALL, signed_zero=False)
_floats("fmedian3", 3, _median, _chosen_partials, _median_exact, spaces=_ALL, signed_zero=False)

# --- the other common functions --------------------------------------------------------------------------------------


def _saturate(x: Tensor) -> Tensor:
    return torch.fmin(torch.fmax(x, torch.zeros_like(x)), torch.ones_like(x))


def _sign(x: Tensor) -> Tensor:
    """1, -1, a zero as it came, and 0 for NaN."""
    return torch.where(torch.isnan(x), 0, torch.where(x == 0, x, torch.copysign(torch.ones_like(x), x)))


def _smoothstep(low: Tensor, high: Tensor, x: Tensor) -> Tensor:
    # Metal leaves low >= high undefined. The quotient may be NaN, which the clamp makes 0.
    t = _saturate((x - low) / (high - low))
    return t * t * (3 - 2 * t)


def _smoothstep_partials(low: Term, high: Term, x: Term, r: Term) -> tuple[Term, Term, Term]:
    length = high - low
    t = ((x - low) / length).call("metal.saturate")
    slope = 6 * t * (1 - t) / length
    return slope * (t - 1), -(slope * t), slope


def _saturate_partial(x: Term, r: Term) -> tuple[Term]:
    return (x.lift(1).where(x.call("ge", 0), 0).where(x.call("le", 1), 0),)


_floats(
    "saturate", 1, _saturate, _saturate_partial, lambda mp, x: exact.clamp(mp, x, mp.mpf(0), mp.mpf(1)), spaces=_ALL,
    signed_zero=False,
)  # fmt: skip
_floats("sign", 1, _sign, lambda x, r: (0,), exact.mpmath("sign"))
_floats(
    "step", 2, lambda edge, x: torch.where(x < edge, 0.0, 1.0).to(x.dtype), lambda edge, x, r: (0, 0),
    lambda mp, edge, x: mp.mpf(not x < edge),
)  # fmt: skip
_floats(
    "mix", 3, lambda x, y, t: x + (y - x) * t, lambda x, y, t, r: (1 - t, t, y - x),
    lambda mp, x, y, t: x + (y - x) * t, rounds=True,
)  # fmt: skip
_floats("smoothstep", 3, _smoothstep, _smoothstep_partials, rounds=True)
