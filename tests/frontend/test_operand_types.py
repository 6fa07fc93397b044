"""Operands of two dtypes: every operator of two operands takes them as torch's own does, in a body and in a call."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import toolbox
import torch

import pymetal
from pymetal import T
from pymetal.ops import BY_ALIAS

DTYPES = [torch.int64, torch.int32, torch.uint8, torch.float32, torch.float16, torch.bfloat16]
SYMBOLS: dict[str, Callable[..., torch.Tensor]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": torch.floor_divide,
    "%": torch.remainder, "**": torch.pow, "==": operator.eq, "<": operator.lt, ">=": operator.ge,
}  # fmt: skip
# Every function of torch of two operands that a body has. Those of special functions are approximations.
FUNCTIONS = {
    name: getattr(torch, name.removeprefix("torch."))
    for name, op in BY_ALIAS.items()
    if name.startswith("torch.") and name.count(".") == 1 and op.arity == 2 and name != "torch.polar"
}
INTEGERS, FLOATS = [4099, 65535, -4099, 7, 2, -3, 0, 1, 100], [2.0, 1.0, -1.5, 0.1, 3388.0, 7.0, 2.0, -3.0, 1e4]
ROUNDED = {torch.float32: 2e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}  # within an ulp or two


def values(dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(FLOATS if dtype.is_floating_point else INTEGERS).to(dtype)


def functors(folder: Path, written: str, function: Callable[..., Any]) -> list[tuple[Any, Any, torch.Tensor]]:
    """For each pair of dtypes that torch's function takes: the functor, its operands and torch's result."""
    text, found = "", []
    for number, (x, y) in enumerate(itertools.permutations(DTYPES, 2)):
        a, b = values(x), values(y).to(x)
        b = torch.where(b.double().isfinite(), b, 2)  # what an infinity is as an integer is undefined
        try:
            wanted = function(a, b.to(y))
        except RuntimeError:
            continue
        result = "bool" if wanted.dtype == torch.bool else f"pymetal.{str(wanted.dtype).removeprefix('torch.')}"
        other = f"b.to({y})"
        call = f"a {written} {other}" if written in SYMBOLS else f"{written}(a, {other})"
        name = f"f_{number}"
        text += f"@pymetal.binary(dtypes={x})\ndef {name}(a: T, b: T) -> {result}:\n    return {call}\n\n\n"
        found.append((name, (a, b), wanted))
    module = toolbox.load(folder, text)
    return [(getattr(module, name), given, wanted) for name, given, wanted in found]


def assert_close(actual: torch.Tensor, wanted: torch.Tensor, given: Any) -> None:
    assert actual.dtype == wanted.dtype
    if wanted.dtype in ROUNDED:
        same = torch.isclose(actual.double(), wanted.double(), ROUNDED[wanted.dtype], 1e-30, equal_nan=True)
    else:
        same = actual == wanted
    assert same.all(), (given[0][~same], given[1][~same], actual[~same], wanted[~same])


@pytest.mark.parametrize("written", [*SYMBOLS, *FUNCTIONS])
def test_an_operator_takes_the_common_dtype(written: str, tmp_path: Path) -> None:
    """Of 4099 and half(2), torch computes 4100 // 2: integers are rounded to half before the operator is computed."""
    found = functors(tmp_path, written, {**SYMBOLS, **FUNCTIONS}[written])
    assert found
    for functor, given, wanted in found:
        assert_close(functor.reference(*given), wanted, given)


@pytest.mark.host
def test_the_text_takes_it_too(tmp_path: Path) -> None:
    found = [each for symbol in ("//", "%", "/", "+") for each in functors(tmp_path, symbol, SYMBOLS[symbol])]
    with toolbox.batch("ieee"), toolbox.unoptimized():
        for functor, given, _ in found:
            functor.jit_source(*given)
        for functor, given, wanted in found:
            assert_close(functor(*given), wanted, given)


@pymetal.binary(dtypes="floating", opmath=True)
def quotient(a: T, b: T) -> T:
    return a / b


OPERANDS: list[Any] = [
    524288.0, 3, -0.1, 70000, torch.tensor(524288.0), torch.tensor(70001), torch.tensor(0.3, dtype=torch.bfloat16),
    torch.tensor([4099, -65535, 3], dtype=torch.int32), torch.tensor([4099, 2**40, 3]),
    torch.tensor([True, False, True]),
]  # fmt: skip


@pytest.mark.host
def test_operands_of_a_call_are_torchs() -> None:
    """Numbers and 0-dim tensors are not rounded to half first under opmath, integer tensors are."""
    for dtype, other in itertools.product((torch.float16, torch.bfloat16, torch.float32), OPERANDS):
        a = torch.tensor([3388.0, 0.25, -7.0], dtype=dtype)
        wanted = torch.true_divide(a, other)
        # torch itself rounds a number that is divided.
        single = (torch.as_tensor(other).to(a.dtype) if getattr(other, "shape", ()) else torch.as_tensor(other)).float()
        turned = torch.true_divide(single, a.float()).to(wanted.dtype)
        for divide in (quotient, quotient.reference):
            assert_close(divide(a, other), wanted, (a, a))
            assert_close(divide(other, a), turned, (a, a))
