"""What a refusal says to write is accepted, with the functor's own names and keywords."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import toolbox
import torch

from pymetal import CallError, PyMetalError
from pymetal.dtypes import ALL, WORDS, DType, parse_dtypes
from pymetal.frontend.ways_out import spelled

CASES = [
    ('@pymetal.unary(dtypes="integral")', "x / 2"),
    ('@pymetal.unary(opmath=True, dtypes=("integral", "bool"))', "metal.exp(x)"),
    ('@pymetal.unary(dtypes=("floating", "integral", "bool"))', "x - 1"),
    ('@pymetal.unary(dtypes=("integral", "bool"))', "x * 3"),
    ('@pymetal.unary(dtypes=("floating", "integral"))', "x & 1"),
    ('@pymetal.unary(dtypes="floating")', "x & 1"),
    ('@pymetal.unary(dtypes=["floating", torch.int32])', "metal.popcount(x)"),
    ('@pymetal.unary(dtypes="bool", max_ulp=2)', "-x"),
    ('@pymetal.unary(dtypes="integral")', "x if x > 0 else 300"),
    ('@pymetal.unary(dtypes=(torch.uint8, "floating"))', "x if x > 0 else -1"),
    ('@pymetal.unary(dtypes=("floating", "integral"))', "T(math.inf) + x"),
    ('@pymetal.unary(dtypes=("complex", "floating"))', "T(float(x))"),
    ('@pymetal.unary(dtypes=("complex", "floating"))', "max(x, 0)"),
]


def refusal(folder: Path, decorator: str, value: str) -> str:
    with pytest.raises(PyMetalError) as caught:
        load(folder, decorator, value)
    assert caught.value.hint is not None
    return caught.value.hint


def load(folder: Path, decorator: str, value: str) -> object:
    return toolbox.load(folder, f"import math\n{decorator}\ndef f(x: T) -> T:\n    return {value}\n").f


@pytest.mark.parametrize(("decorator", "value"), CASES)
def test_lines_are_accepted(decorator: str, value: str, tmp_path: Path) -> None:
    lines = re.findall("`(.*?)`", refusal(tmp_path, decorator, value))
    decorators = [line for line in lines if line.startswith("@pymetal")]
    returns = [line.removeprefix("return ") for line in lines if line.startswith("return ")]
    assert decorators or returns
    for line in decorators:
        functor = load(tmp_path, line, value)
        assert set(keywords(decorator)) <= set(keywords(line)), "its own keywords stay"
        assert functor is not None
    for line in returns:
        load(tmp_path, decorator, line)


def keywords(decorator: str) -> list[str | None]:
    call = ast.parse(decorator[1:], mode="eval").body
    assert isinstance(call, ast.Call)
    return [k.arg for k in call.keywords]


def test_a_number_at_its_own_width(tmp_path: Path) -> None:
    decorator, value = '@pymetal.unary(dtypes="integral")', "x if x > 0 else 300"
    (way,) = re.findall("Write `(.*?)`", refusal(tmp_path, decorator, value))
    functor = load(tmp_path, decorator, value.replace("300", way))
    x = torch.tensor([0, 3], dtype=torch.uint8)
    assert functor.reference(x).tolist() == [300 - 256, 3]  # type: ignore[attr-defined]


def test_a_body_for_bool(tmp_path: Path) -> None:
    hint = refusal(tmp_path, '@pymetal.unary(dtypes=("integral", "bool"))', "x * 3")
    overload, definition = re.findall("`([@d][^`]*)`", hint)[:2]
    text = f"@pymetal.unary\ndef f(x: T) -> T:\n    return x * 3\n\n{overload}\n{definition}:\n    return x\n"
    assert torch.bool in toolbox.load(tmp_path, text).f.dtypes


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("@pymetal.unary\ndef f(x: Floating) -> Floating:\n    return x & 1\n", "with `pymetal.int64(...)`."),
        ("@pymetal.unary\ndef f(x: T) -> T:\n    return (x > 0) - (x < 0)\n", "convert it with `T(...)`."),
        ("@pymetal.func\ndef f(x: Integral) -> Integral:\n    return x / 2\n", "Write `return Integral(x / 2)`."),
        ("@pymetal.unary\ndef f(x: pymetal.int32) -> pymetal.int32:\n    return x / 2\n",
         "Write `return pymetal.int32(x / 2)`."),
        ("def f(x: T) -> T:\n    return x / 2\npymetal.unary(dtypes='integral')(f)\n", "Write `return T(x / 2)`."),
        ("@pymetal.unary\ndef f(x: Integral) -> Integral:\n    return (x /\n        2)\n",
         'Write `return Integral(x / 2)`, or `@pymetal.unary(promotion="int_to_float")`.'),
        ("from pymetal import binary as two, binary\n@binary(dtypes=('integral'))\ndef f(x: T, y: T) -> T:\n"
         "    return x / y\n", "or `@binary(dtypes='integral', promotion=\"int_to_float\")`."),
        ("@pymetal.unary(dtypes='integral')\ndef f(x: T) -> tuple[T, T]:\n    return x, x / 2\n",
         "Write `T(...)`, or `@pymetal.unary(dtypes='integral', promotion=\"int_to_float\")`."),
    ],
)  # fmt: skip
def test_only_what_helps(text: str, shown: str, tmp_path: Path) -> None:
    with pytest.raises(PyMetalError) as caught:
        toolbox.load(tmp_path, "from pymetal import Floating, Integral\n" + text)
    assert (caught.value.hint or "").endswith(shown)


def test_of_a_call(tmp_path: Path) -> None:
    functor = toolbox.load(tmp_path, "@pymetal.binary(max_ulp=2)\ndef f(a: T, b: T) -> T:\n    return a / b\n").f
    ones = torch.ones(2, dtype=torch.int32)
    with pytest.raises(CallError) as caught:
        functor(ones, ones)
    assert caught.value.hint is not None
    lines = re.findall("`(.*?)`", caught.value.hint)
    assert lines == [
        '@pymetal.binary(max_ulp=2, promotion="int_to_float")',
        "@f.overload",
        '@pymetal.binary(max_ulp=2, dtypes="floating")',
    ]


@pytest.mark.parametrize("chosen", [ALL, *WORDS.values(), ALL[:2], ALL[::2], ALL[3:9]])
def test_spelled_as_dtypes_takes_it(chosen: tuple[DType, ...]) -> None:
    assert parse_dtypes(eval(spelled(chosen), {"torch": torch})) == chosen
