"""Constants of every dtype have their exact value in the text, wherever one may stand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import toolbox
import torch

from pymetal import PyMetalError

INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64]
FLOATS = [torch.float32, torch.float16, torch.bfloat16]


def values(dtype: torch.dtype) -> list[float]:
    if not dtype.is_floating_point:
        low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
        return [low, low + 1, 0, 1, high // 2 + 1, high // 3, high - 1, high]
    info = torch.finfo(dtype)
    numbers = [info.max, info.min, info.tiny, info.smallest_normal / 2, 1 / 3, 0.1, 1 + info.eps, math.pi * 1e4]
    exact = torch.tensor(numbers, dtype=dtype).double().tolist()
    return [*exact, 0.0, -0.0, math.inf, -math.inf, math.nan, 16777217.0, 1e-5, 123456.0]


# Where a constant may stand: definitions before the functor, its parameters, and the value in its body.
PLACES = {
    "a literal": ("", "", "{value}"),
    "a cast": ("", "", "T({value})"),
    "a name": ("C{k} = {value}\n", "", "C{k}"),
    "folded": ("", "", "-(-{value})"),
    "a default": ("", "c{k}: T = {value}", "c{k}"),
    "an entry of a table": ("TABLE = ({all})\n", "", "T(TABLE[{k}])"),
    "a variable": ("", "", "v{k}"),
    "a limit": ("", "", "min(max({value}, {value}), {value})"),
}
NUMBERS = {math.inf: "math.inf", -math.inf: "-math.inf"}


def written(value: float) -> str:
    return "math.nan" if value != value else NUMBERS.get(value, repr(value))


def functor(dtype: torch.dtype, place: str) -> str:
    """One that returns the constant with the number of its argument."""
    before, parameter, inside = PLACES[place]
    numbers = [written(v) for v in values(dtype)]
    fields = [{"value": n, "k": k, "all": ", ".join(numbers)} for k, n in enumerate(numbers)]
    parameters = "".join(f", {parameter.format_map(f)}" for f in fields if parameter)
    definitions = "".join(dict.fromkeys(before.format_map(f) for f in fields))
    name = str(dtype).removeprefix("torch.")
    body = ""
    for k, f in enumerate(fields):
        assigned = f"        v{k}: T = {numbers[k]}\n" if place == "a variable" else ""
        body += f"    if x == {k}:\n{assigned}        return {inside.format_map(f)}\n"
    return f"{definitions}@pymetal.unary(dtypes=torch.{name})\ndef f(x: T{parameters}) -> T:\n{body}    return x\n"


@pytest.mark.host
def test_every_constant_is_exact_in_every_place(tmp_path: Path) -> None:
    found = []
    for dtype in (*INTEGERS, *FLOATS):
        for place in PLACES:
            found.append((dtype, place, toolbox.load(tmp_path, functor(dtype, place)).f))
    with toolbox.batch("ieee"):
        for dtype, _, f in found:
            f.jit_source(torch.zeros(1, dtype=dtype))
        for dtype, place, f in found:
            wanted = torch.tensor(values(dtype), dtype=dtype)
            given = torch.arange(len(wanted)).to(dtype)
            for what, actual in (("call", f(given)), ("reference", f.reference(given))):
                try:
                    toolbox.assert_equal(actual, wanted, (given,))
                    if dtype.is_floating_point:
                        zero = wanted == 0
                        toolbox.assert_equal(actual.signbit()[zero], wanted.signbit()[zero], (given[zero],))
                except AssertionError as error:
                    raise AssertionError(f"{dtype}, {place}, {what}") from error


def test_constants_are_values_and_not_their_text(tmp_path: Path) -> None:
    """What a subclass of a number prints as does not reach the Metal file."""
    text = """
import enum
import numpy


class Shown(int, enum.Enum):
    THREE = 3

    def __str__(self):
        return "0; } evil"

    __repr__ = __str__


class Ratio(float):
    def __str__(self):
        return "0.0f"

    __repr__ = __hex__ = __str__

    def __format__(self, spec):
        return "0.0f"


class Pair(complex):
    def __repr__(self):
        return "0j"


RATIO, NUMPY, Z = Ratio(2.5), numpy.float32(0.1), Pair(1, -2)
TABLE = (Ratio(1.5), Shown.THREE, numpy.int64(7))


@pymetal.unary(dtypes="float32")
def f(x: T, ratio: T = Ratio(0.25)) -> T:
    total = x + ratio + Shown.THREE + RATIO + NUMPY
    for i in range(3):
        total += TABLE[i]
    return total


@pymetal.unary(dtypes=torch.complex64)
def g(z: T) -> T:
    return z * Z
"""
    module = toolbox.load(tmp_path, text)
    x = torch.tensor([0.0, 1.0])
    assert torch.allclose(module.f.reference(x), x + 0.25 + 3 + 2.5 + 0.1 + 1.5 + 3 + 7)
    assert torch.equal(module.g.reference(x.to(torch.complex64)), x * (1 - 2j))
    for functor in (module.f, module.g):
        assert "evil" not in functor.metal_source
    assert "2.5f" in module.f.metal_source
    assert "T(1.0f, -2.0f)" in module.g.metal_source


def test_control_characters_reach_neither_the_text_nor_the_terminal(tmp_path: Path) -> None:
    body = '    """Red: \x1b[31m, a bell \x07, \x0c a page, \x85 a line.\n\n    } evil"""\n    return x + "\x1b[2J"\n'
    with pytest.raises(PyMetalError) as refused:
        toolbox.load(tmp_path, f"@pymetal.unary\ndef f(x: T) -> T:\n{body}")
    assert all(c.isprintable() or c in "\t\n" for c in str(refused.value))
    assert "\\x1b[2J" in str(refused.value)
    text = toolbox.load(tmp_path, f"@pymetal.unary\ndef f(x: T) -> T:\n{body.replace(' + ', ' #')}").f.metal_source
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "\n// Red: ?[31m, a bell ?, ? a page, ? a line.\n" in text
