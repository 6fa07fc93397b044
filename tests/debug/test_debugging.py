"""PYMETAL_DEBUG, explain() and the debug build: the stages in order, the plan in words, events at their places."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import pymetal
from examples.atan2 import atan2
from examples.smooth_l1 import smooth_l1
from pymetal import Integral, T, metal
from pymetal.accuracy import grids

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


@pymetal.binary(dtypes=torch.int8)
def arithmetic(a: T, b: T) -> T:
    total = a + b
    gap = a - b
    product = a * b
    opposite = -a
    size = abs(a)
    power = a**b
    shift = a << 3
    quotient = a // b
    return total ^ gap ^ product ^ opposite ^ size ^ power ^ shift ^ quotient


@pymetal.unary(dtypes="floating")
def whole(x: T) -> T:
    return T(pymetal.int32(x) // 2)


@pymetal.unary(dtypes="floating")
def guarded(x: T) -> T:
    if x < 0:
        return math.nan
    return math.nan if x > 8 else x


@pymetal.unary(dtypes=torch.float32)
def read(x: T) -> T:
    return metal.as_type(metal.as_type(x, pymetal.int32) | 0x7FC00000, pymetal.float32)


@pymetal.binary(dtypes=torch.complex64)
def ratio(a: T, b: T) -> T:
    return a / b


def line_of(text: str) -> int:
    return 1 + next(i for i, line in enumerate(HERE) if text in line)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_births_of_nan(dtype: torch.dtype) -> None:
    a = torch.tensor([[1.0, 5.0, inf], [nan, 2.0, nan]]).to(dtype)
    b = torch.tensor([0.5, 1.0, inf]).to(dtype)
    events = roots.trace(a, b)
    assert [(e.what, e.count, e.index) for e in events] == [("NaN is born", 1, (0, 2))]
    assert events[0].operands == (inf, inf)
    assert events[0].span is not None
    assert events[0].span.line == line_of("gap = a - b")
    # A NaN that came in is not born; a root of a negative number is, in the helper.
    events = roots.trace(torch.tensor([1.0, nan]).to(dtype), torch.tensor([3.0, 1.0]).to(dtype))
    assert [(e.operator, e.index) for e in events] == [("metal.precise.sqrt", (0,))]
    assert events[0].span is not None
    assert events[0].span.line == line_of("return metal.precise.sqrt(x)")


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.uint8])
def test_overflow_and_division_by_zero(dtype: torch.dtype) -> None:
    top = torch.iinfo(dtype).max
    a = torch.tensor([3, top, 5, top], dtype=dtype)
    b = torch.tensor([4, 2, 0, 1], dtype=dtype)
    found = [(e.what, e.operator, e.count, e.index) for e in share.trace(a, b)]
    assert sorted(found) == [
        ("division by zero", "floordiv", 1, (2,)), ("integer overflow", "add", 1, (3,)),
        ("integer overflow", "mul", 1, (1,)),
    ]  # fmt: skip


def test_scalars_travel_along() -> None:
    x = torch.tensor([1, -128], dtype=torch.int8)
    (event,) = shifted.trace(x)
    assert (event.what, event.operator, event.index) == ("integer overflow", "sub", (1,))
    assert len(shifted.trace(x, by=0)) == 0
    assert [e.operator for e in shifted.trace(x, by=0, scale=2)] == ["mul"]


def test_nothing_happens() -> None:
    x = torch.randn(5, 7)
    assert smooth_l1.trace(x, x.t().reshape(5, 7), beta=0.5) == []
    assert atan2.trace(torch.tensor([0.0, inf]), torch.tensor([0.0, inf])) == []
    with pytest.raises(pymetal.CallError, match="of one registered dtype"):
        atan2.trace(x, x.half())


def test_overflow_is_what_pythons_integers_say() -> None:
    """Every pair of bytes."""
    a, b = (t.flatten() for t in torch.meshgrid(*[torch.arange(-128, 128).to(torch.int8)] * 2, indexing="ij"))
    events = {(e.what, e.span and e.span.text.split()[0]): e for e in arithmetic.trace(a, b)}
    exact: dict[str, Callable[[int, int], int]] = {
        "total": lambda x, y: x + y, "gap": lambda x, y: x - y, "product": lambda x, y: x * y,
        "opposite": lambda x, y: -x, "size": lambda x, y: abs(x), "power": lambda x, y: x**y if y >= 0 else 0,
        "shift": lambda x, y: x * 8, "quotient": lambda x, y: x // y if y else 0,
    }  # fmt: skip
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    for name, function in exact.items():
        wanted = [not -128 <= function(x, y) <= 127 for x, y in pairs]
        event = events.pop(("integer overflow", name))
        assert event.where.tolist() == wanted, name
        assert event.count == sum(wanted)
        assert event.index == (wanted.index(True),)
    zero = events.pop(("division by zero", "quotient"))
    assert (zero.count, zero.where.tolist()) == (256, (b == 0).tolist())
    assert not events


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_float_that_is_no_integer(dtype: torch.dtype) -> None:
    x = torch.tensor([1.5, nan, -inf, 2.0**15, 2.0**31, -(2.0**31)]).to(dtype)
    (event,) = whole.trace(x)
    assert (event.what, event.operator) == ("integer overflow", "conversion")
    assert event.where.tolist() == [not -(2.0**31) <= v < 2.0**31 for v in x.tolist()]


def test_nan_that_is_written_down_or_read_from_bits() -> None:
    x = torch.tensor([9.0, -1.0, nan, 4.0])
    first, second = guarded.trace(x)
    assert [e.where.nonzero().flatten().tolist() for e in (first, second)] == [[1], [0]]
    assert first.span is not None
    assert first.span.line == line_of("        return math.nan")
    (event,) = read.trace(torch.tensor([nan, 1.0]))
    assert (event.operator, event.index) == ("as_type", (1,))


def test_complex_births() -> None:
    one, zero = torch.tensor([1 + 1j, 0j]), torch.tensor([2j, 0j])
    (event,) = ratio.trace(one, zero)
    assert (event.what, event.index, event.operands) == ("NaN is born", (1,), (0j, 0j))


@pytest.mark.parametrize("name", ["hypot", "xlogy", "elu", "glu"])
def test_every_nan_that_comes_out_came_in_or_was_born(name: str) -> None:
    from examples.aten import load

    functor = load()[name]
    operands = grids.combinations([grids.edges(torch.float32)] * functor.arity.inputs)
    scalars: dict[str, Any] = {p.name: 0.5 for p in functor.ir.overloads[0].function.scalars}
    born = torch.zeros(operands[0].shape, dtype=torch.bool)
    for event in functor.trace(*operands, **scalars):
        born |= event.where if event.what == "NaN is born" else False
    came = torch.stack([o.isnan() for o in operands]).any(0)
    result = functor(*operands, **scalars).isnan()
    assert not bool((result & ~came & ~born).any())


def test_an_event_in_words() -> None:
    words = str(share.trace(torch.tensor([1, 2]), torch.tensor([1, 0]))[0]).split(f"{Path(__file__).name}:")[1]
    assert words == (
        f"{line_of('return total // b')}:12: division by zero in `floordiv` at 1 element, first at "
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
    elsewhere = {**environment, "PYMETAL_DEBUG_DIR": str(script)}  # no folder
    done = subprocess.run([sys.executable, script], env=elsewhere, capture_output=True, text=True, check=True)
    assert "set PYMETAL_DEBUG_DIR to a folder that can be written" in done.stderr
    quiet = subprocess.run(
        [sys.executable, script], env={**environment, "PYMETAL_DEBUG": "0"}, capture_output=True, text=True, check=True
    )
    assert quiet.stderr == ""
