"""Integer arithmetic that overflows has the value that wraps, whatever looks at it, and its text says so."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
import toolbox
import torch

import pymetal
from pymetal import T
from pymetal.dtypes import wrap

DTYPES = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64]
SIGNED = DTYPES[:4]
PRELUDE = """\
import pymetal
from pymetal import T

ALL = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def total(a, b):
    return a + b


@pymetal.func
def product(a: T, b: T) -> T:
    return a * b


@pymetal.binary(dtypes=ALL)
def summed(a: T, b: T) -> T:
    return a + b
"""
# A body of a and b with its type, and its value by Python's integers; `w` wraps into the dtype of a and b.
Wrap = Callable[[int], int]
BODIES: dict[str, tuple[str, str, Callable[[int, int, Wrap], int]]] = {
    "sum and comparison": ("bool", "return a + 1 > a", lambda a, b, w: w(a + 1) > a),
    "difference and comparison": ("bool", "return a - b < 0", lambda a, b, w: w(a - b) < 0),
    "product and division": ("T", "return a * 2 // 2", lambda a, b, w: w(w(a * 2) // 2)),
    "product of both and shift": ("T", "return (a * b) >> 3", lambda a, b, w: w(a * b) >> 3),
    "product and wider type": ("bool", "return float(a * b) < 0.0", lambda a, b, w: w(a * b) < 0),
    "negation": ("T", "return -a // 2", lambda a, b, w: w(w(-a) // 2)),
    "absolute value": ("bool", "return abs(a) < 0", lambda a, b, w: w(abs(a)) < 0),
    "left shift": ("bool", "return (a << 3) > b", lambda a, b, w: w(a << 3) > b),
    "a variable": ("T", "x = a + b\n    return x if x > a else b", lambda a, b, w: x if (x := w(a + b)) > a else b),
    "a loop": (
        "T", "n = 0\n    while a + n * 9 > b and n < 5:\n        n += 1\n    return T(n)",
        lambda a, b, w: next((n for n in range(5) if not w(a + w(n * 9)) > b), 5),
    ),
    "a bound": (
        "T", "r = T(0)\n    for i in range((a + b) & 3):\n        r += i\n    return r // 1",
        lambda a, b, w: sum(range(w(a + b) & 3)),
    ),
    "a plain function": ("bool", "return total(a, b) > a", lambda a, b, w: w(a + b) > a),
    "a helper": ("bool", "return product(a, b) > a", lambda a, b, w: w(a * b) > a),
    "a functor": ("bool", "return summed(a, b) > a", lambda a, b, w: w(a + b) > a),
    "a bitwise operator": ("bool", "return ((a + b) ^ b) < a", lambda a, b, w: w(w(a + b) ^ b) < a),
    "a chain": ("T", "return (a * b - a + -b) // 3", lambda a, b, w: w(w(a * b - a - b) // 3)),
}  # fmt: skip


def operands(dtype: torch.dtype) -> tuple[list[int], list[int]]:
    info = torch.iinfo(dtype)
    edges = [
        info.min,
        info.min + 1,
        info.min // 2,
        0,
        1,
        2,
        3,
        info.max // 2,
        info.max // 2 + 1,
        info.max - 1,
        info.max,
    ]
    edges += [-1, -2] if info.min else []
    return [a for a in edges for _ in edges], [b for _ in edges for b in edges]


@pytest.mark.host
def test_values_are_those_that_wrap(tmp_path: Path) -> None:
    text = PRELUDE
    for index, (result, body, _) in enumerate(BODIES.values()):
        text += f"\n\n@pymetal.binary(dtypes=ALL)\ndef f_{index}(a: T, b: T) -> {result}:\n    {body}\n"
    module = toolbox.load(tmp_path, text, "")
    with toolbox.batch("ieee"):
        for index in range(len(BODIES)):
            for dtype in DTYPES:
                getattr(module, f"f_{index}").jit_source(*[torch.zeros(1, dtype=dtype)] * 2)
        for index, (name, (_, _, expected)) in enumerate(BODIES.items()):
            functor = getattr(module, f"f_{index}")
            for dtype in DTYPES:
                a, b = operands(dtype)
                given = torch.tensor(a, dtype=dtype), torch.tensor(b, dtype=dtype)
                values = [expected(x, y, functools.partial(wrap, dtype=dtype)) for x, y in zip(a, b, strict=True)]
                found = functor(*given)
                wanted = torch.tensor(values, dtype=found.dtype)
                assert torch.equal(found, wanted), (name, dtype)
                assert torch.equal(functor.reference(*given), wanted), (name, dtype, "reference")


@pymetal.unary(dtypes=("int32", "int64"))
def from_the_lowest(x: T) -> T:
    return -2147483648 + max(x, -2147483648)


@pymetal.binary(dtypes="int32")
def signs(a: T, b: T) -> T:
    return (a | -2147483648) + (b | -2147483648)


@pymetal.binary(dtypes=("floating", "int32"))
def plain(a: T, b: T, alpha: T = 2) -> T:
    total = a * alpha
    return total + 1 - b


@pytest.mark.host
def test_a_returned_sum_wraps_where_a_compiler_knows_its_operands() -> None:
    """A sum of parameters stays as upstream writes it; of anything else, what overflow would tell changes the sum."""
    lowest = -(2**31)
    x = torch.tensor([lowest, 1, 2**31 - 1], dtype=torch.int32)
    assert from_the_lowest(x).tolist() == [0, lowest + 1, -1]
    assert signs(x, x).tolist() == [0, 2, -2]
    assert "return total + T(1) - b;" in plain.functor_source
    assert plain(x, x).tolist() == [lowest + 1, 2, lowest]
