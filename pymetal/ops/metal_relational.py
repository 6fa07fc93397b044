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
from pymetal.ir import BOOL, Named, Op, Rule
from pymetal.ops.row import FLOATING, INTEGERS, row


def _isnormal(x: Tensor) -> Tensor:
    smallest = torch.finfo(x.dtype).smallest_normal
    return torch.isfinite(x) & (x.abs() >= smallest)


def _isunordered(x: Tensor, y: Tensor) -> Tensor:
    return torch.isnan(x) | torch.isnan(y)


def _test(name: str, arity: int, function: Callable[..., Tensor], rule: Rule = Rule.PREDICATE) -> None:
    python = getattr(math, name, None)
    row(
        Op(
            f"metal.{name}", arity, rule, FLOATING, Named(f"metal::{name}"), function, python=python,
            aliases=(f"math.{name}",) if python else (),
        )
    )  # fmt: skip


_test("isfinite", 1, torch.isfinite)
_test("isinf", 1, torch.isinf)
_test("isnan", 1, torch.isnan)
_test("isnormal", 1, _isnormal, Rule.COMPARE)  # of the operand's own type: COMPARE converts nothing
_test("isordered", 2, lambda x, y: ~_isunordered(x, y))
_test("isunordered", 2, _isunordered)
_test("signbit", 1, torch.signbit)


def _truth(name: str) -> None:
    row(
        Op(
            f"metal.{name}", 1, Rule.LOGICAL, frozenset({Kind.BOOL}), Named(f"metal::{name}"), lambda x: x != 0,
            python=bool,
        )
    )  # fmt: skip


_truth("all")
_truth("any")


def _select_partials(a: Any, b: Any, condition: Any, r: Any) -> tuple[Any, ...]:
    return a.lift(0).where(condition, 1), b.lift(1).where(condition, 0), 0


row(
    Op(
        "metal.select", 3, Rule.SAME, FLOATING | INTEGERS, Named("metal::select"),
        lambda a, b, condition: torch.where(condition, b, a), _select_partials, params=(None, None, BOOL),
    )
)  # fmt: skip
