"""Rows for tests on floats, and for `select`, `all` and `any` of scalars: `metal.NAME`.

The tests look at the bits, so that no flushing of subnormals changes an answer. They are made on the operand's own
type: a subnormal half is not normal, though as a float it would be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pymetal.dtypes import Kind
from pymetal.ir import BOOL, Named, TypeRule
from pymetal.ops.table import FLOATING, INTEGERS, row, spelled


def _isnormal(x: Tensor) -> Tensor:
    smallest = torch.finfo(x.dtype).smallest_normal
    return torch.isfinite(x) & (x.abs() >= smallest)


def _isunordered(x: Tensor, y: Tensor) -> Tensor:
    return torch.isnan(x) | torch.isnan(y)


def _test(
    name: str, arity: int, function: Callable[..., Tensor], rule: TypeRule = TypeRule.PREDICATE,
    exact: Callable[..., bool] | None = None, tests_nan: bool = False,
) -> None:  # fmt: skip
    also = [f"{space.__name__}.{name}" for space in (math, torch) if hasattr(space, name)]
    numpy = [f"numpy.{name}"] if also else []
    row(
        f"metal.{name}", arity, rule, FLOATING, Named(f"metal::{name}"), function, exact=exact, tests_nan=tests_nan,
        **spelled(" ".join(also + numpy)),
    )  # fmt: skip


_test("isfinite", 1, torch.isfinite, exact=lambda mp, x: bool(mp.isfinite(x)))
_test("isinf", 1, torch.isinf, exact=lambda mp, x: bool(mp.isinf(x)))
_test("isnan", 1, torch.isnan, exact=lambda mp, x: bool(mp.isnan(x)), tests_nan=True)
_test("isnormal", 1, _isnormal, TypeRule.COMPARE)  # of the operand's own type: COMPARE converts nothing
_test(
    "isordered", 2, lambda x, y: ~_isunordered(x, y), exact=lambda mp, x, y: not (mp.isnan(x) or mp.isnan(y)),
    tests_nan=True,
)  # fmt: skip
_test("isunordered", 2, _isunordered, exact=lambda mp, x, y: bool(mp.isnan(x) or mp.isnan(y)), tests_nan=True)
_test("signbit", 1, torch.signbit, exact=lambda mp, x: bool(x < 0))


def _truth(name: str) -> None:
    row(
        f"metal.{name}", 1, TypeRule.LOGICAL, frozenset({Kind.BOOL}), Named(f"metal::{name}"), lambda x: x != 0,
        fold=bool, exact=lambda mp, x: x,
    )  # fmt: skip


_truth("all")
_truth("any")


def _select_partials(a: Any, b: Any, condition: Any, r: Any) -> tuple[Any, ...]:
    return a.lift(0).where(condition, 1), b.lift(1).where(condition, 0), 0


row(
    "metal.select", 3, TypeRule.PROMOTE, FLOATING | INTEGERS, Named("metal::select"),
    lambda a, b, condition: torch.where(condition, b, a), _select_partials, params=(None, None, BOOL),
    exact=lambda mp, a, b, condition: b if condition else a, rounds=False,
)  # fmt: skip
