"""PYMETAL_DEBUG, explain() and the debug build: the stages in order, the plan in words, events at their places."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import pymetal
from examples.atan2 import atan2
from examples.smooth_l1 import smooth_l1
from pymetal import Integral, T, metal
from pymetal.check.trace import trace

inf, nan = float("inf"), float("nan")
HERE = Path(__file__).read_text(encoding="utf-8").splitlines()


@pymetal.func
def root(x: T) -> T:
    return metal.precise.sqrt(x)


@pymetal.binary(dtypes="floating")
def roots(a: T, b: T) -> T:
    gap = a - b
    if gap > 1:
        return root(gap)
    return root(gap) + a


@pymetal.binary(dtypes="integral")
def share(a: T, b: T) -> T:
    total = a * b + 1
    return total // b


@pymetal.unary(dtypes="integral")
def shifted(x: Integral, *, by: Integral = 1, scale: Integral = 1) -> Integral:
    return x * scale - by


def line_of(text: str) -> int:
    return 1 + next(i for i, line in enumerate(HERE) if text in line)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_births_of_nan(dtype: torch.dtype) -> None:
    a = torch.tensor([[1.0, 5.0, inf], [nan, 2.0, nan]]).to(dtype)
    b = torch.tensor([0.5, 1.0, inf]).to(dtype)
    events = trace(roots, a, b)
    assert [(e.what, e.count, e.index) for e in events] == [("NaN is born", 1, (0, 2))]
    assert events[0].operands == (inf, inf)
    assert events[0].span is not None
    assert events[0].span.line == line_of("gap = a - b")
    # A NaN that came in is not born; a root of a negative number is, in the helper.
    events = trace(roots, torch.tensor([1.0, nan]).to(dtype), torch.tensor([3.0, 1.0]).to(dtype))
    assert [(e.operator, e.index) for e in events] == [("metal.precise.sqrt", (0,))]
    assert events[0].span is not None
    assert events[0].span.line == line_of("return metal.precise.sqrt(x)")


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.uint8])
def test_overflow_and_division_by_zero(dtype: torch.dtype) -> None:
    top = torch.iinfo(dtype).max
    a = torch.tensor([3, top, 5, top], dtype=dtype)
    b = torch.tensor([4, 2, 0, 1], dtype=dtype)
    found = [(e.what, e.operator, e.count, e.index) for e in trace(share, a, b)]
    assert sorted(found) == [
        ("division by zero", "floordiv_int", 1, (2,)), ("integer overflow", "add", 1, (3,)),
        ("integer overflow", "mul", 1, (1,)),
    ]  # fmt: skip


def test_scalars_travel_along() -> None:
    x = torch.tensor([1, -128], dtype=torch.int8)
    (event,) = trace(shifted, x)
    assert (event.what, event.operator, event.index) == ("integer overflow", "sub", (1,))
    assert len(trace(shifted, x, by=0)) == 0
    assert [e.operator for e in trace(shifted, x, by=0, scale=2)] == ["mul"]


def test_nothing_happens() -> None:
    x = torch.randn(5, 7)
    assert trace(smooth_l1, x, x.t().reshape(5, 7), beta=0.5) == []
    assert trace(atan2, torch.tensor([0.0, inf]), torch.tensor([0.0, inf])) == []
    with pytest.raises(pymetal.CallError, match="of one registered dtype"):
        trace(atan2, x, x.half())


def test_an_event_in_words() -> None:
    words = str(trace(share, torch.tensor([1, 2]), torch.tensor([1, 0]))[0]).split(f"{Path(__file__).name}:")[1]
    assert words == (
        f"{line_of('return total // b')}:12: division by zero in `floordiv_int` at 1 element(s), first at element "
        "(1,), operands (2, 0)\n        return total // b\n               ^^^^^^^^^^"
    )


def test_explain() -> None:
    x = torch.randn(4, 6)
    assert atan2.explain(x, x) == (
        "atan2 on cpu\n"
        "  operand 0: float32 (4, 6), strides (6, 1); read as float, at the thread's own offset\n"
        "  operand 1: float32 (4, 6), strides (6, 1); read as float, at the thread's own offset\n"
        "  they meet in float32; computed in float32\n"
        "  result: float32 (4, 6), contiguous\n"
        "  kernel: dense\n"
        "  grid: 24 threads"
    )
    mixed = smooth_l1.explain(x.half(), torch.arange(6), beta=2.0)
    for words in ("operand 1: int64 (6,)", "they meet in float16", "scalars: float", "strided, 2 dimensions"):
        assert words in mixed
    assert "nothing is launched" in atan2.explain(x[:0], x[:0])


def test_stages(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch\nfrom examples.atan2 import atan2\natan2(torch.ones(3), torch.ones(3))\n")
    folder = tmp_path / "stages"
    environment = {**os.environ, "PYMETAL_DEBUG": "1", "PYMETAL_DEBUG_DIR": str(folder)}
    environment |= {"PYMETAL_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    kinds = [path.suffix for path in sorted(folder.iterdir())]
    assert kinds == [".py", ".ir", ".plan", ".metal", ".command"]
    texts = {path.suffix: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert "@pymetal.binary" in texts[".py"]
    assert "metal.precise.atan2[OpMath[T]]" in texts[".ir"]
    assert "kernel void launch" in texts[".metal"]
    assert "-std=c++23" in texts[".command"]
    assert "3 threads" in texts[".plan"]
    for kind in kinds:
        assert f"--- pymetal {kind[1:]}: " in done.stderr
    quiet = subprocess.run(
        [sys.executable, script], env={**environment, "PYMETAL_DEBUG": "0"}, capture_output=True, text=True, check=True
    )
    assert quiet.stderr == ""
