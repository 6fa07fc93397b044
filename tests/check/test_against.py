"""The operator that the user chooses, and the one that is found: what cannot be compared is reported, never dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from pymetal.check.torch_operators import call, find_operator
from pymetal.cli import main

TEXT = """
import math
import torch
import pymetal
from pymetal import T

@pymetal.unary(dtypes=(torch.float32, torch.int32))
def twice(x: T) -> T:
    return x * 2

@pymetal.unary(dtypes=torch.float32)
def relu(x: T) -> T:
    return max(x, 0)

@pymetal.unary(dtypes=torch.float32)
def elu(x: T) -> T:
    return x if x > 0 or math.isnan(x) else math.exp(x) - 1

@pymetal.unary(dtypes=torch.float32)
def softshrink(x: T) -> T:
    if math.isnan(x):
        return x
    return x - 0.5 if x > 0.5 else x + 0.5 if x < -0.5 else 0

@pymetal.unary(dtypes=torch.float32)
def hardshrink(x: T) -> T:
    return 0 if x >= -0.5 and x <= 0.5 else x
"""
OWN = """
import torch
def raising(x):
    raise KeyError("no such row")
def nothing(x):
    return None
def short(x):
    return x[:3]
def shape(x):
    return x.reshape(-1, 2)
def floats_only(x):
    if not x.is_floating_point():
        raise RuntimeError("floats alone")
    return x * 2
def in_place(x):
    return x.mul_(2)
constant = 3
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "functors.py").write_text(TEXT, encoding="utf-8")
    (tmp_path / "own_operators.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return str(tmp_path / "functors.py")


def run(capsys: pytest.CaptureFixture[str], file: str, name: str, *arguments: str) -> tuple[int, str, str]:
    code = main(["check", file, "--only", name, "--part", "accuracy", *arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.mark.parametrize(
    ("against", "words"),
    [
        ("torch.add", "TypeError: add() received"),
        ("aten.silu_backward", "schema: aten::silu_backward"),
        ("torch.topk", "TypeError: topk()"),
        ("torch.nn.functional.softmax", "depends on other elements"),
        ("mpmath.hypot", "TypeError"),
        ("own_operators:raising", "KeyError: 'no such row'"),
        ("own_operators:nothing", "it returns None, not a tensor"),
        ("own_operators:short", "it returns the shape (3,) for operands of the shape (1024,)"),
        ("own_operators:shape", "it returns the shape (512, 2)"),
        ("own_operators:constant", "is not a function"),
        ("own_operators:nope", "no attribute 'nope'"),
        ("no_such_module:f", "No module named 'no_such_module'"),
        ("torch.nope", "there is no 'nope'"),
    ],
)
def test_an_operator_that_cannot_be_compared_is_wrong_use(
    file: str, capsys: pytest.CaptureFixture[str], against: str, words: str
) -> None:
    code, out, err = run(capsys, file, "twice", "--dtype", "float32", "--against", against, "--json")
    assert (code, out) == (2, "")
    assert f"--against {against}" in err
    assert words in err


def test_the_name_is_read_whatever_is_checked(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", file, "--only", "twice", "--part", "lint", "--against", "torch.nope"]) == 2
    assert "there is no 'nope'" in capsys.readouterr().err


def test_dtypes_that_it_does_not_take_are_named(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = "own_operators:floats_only was not compared with twice at int32: it raises RuntimeError: floats alone"
    code, out, _ = run(capsys, file, "twice", "--against", "own_operators:floats_only")
    assert (code, line in out) == (0, True)
    _, out, _ = run(capsys, file, "twice", "--against", "own_operators:floats_only", "--json")
    (functor,) = json.loads(out)["functors"]
    assert functor["notes"] == [line]
    assert [row["unused"] for row in functor["accuracy"]].count(None) == 1


def test_no_operator_is_told(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = "no torch operator was compared with twice: none has its name; choose one with --against"
    code, out, _ = run(capsys, file, "twice", "--dtype", "float32")
    assert (code, line in out) == (0, True)
    _, out, _ = run(capsys, file, "twice", "--dtype", "float32", "--json")
    assert json.loads(out)["functors"][0]["notes"] == [line]


@pytest.mark.parametrize("name", ["elu", "softshrink", "hardshrink"])
def test_the_operators_defaults_apply(file: str, capsys: pytest.CaptureFixture[str], name: str) -> None:
    _, out, _ = run(capsys, file, name, "--json")
    (functor,) = json.loads(out)["functors"]
    assert functor["notes"] == []
    assert functor["accuracy"][0]["against"]["reference"] == f"aten.{name} in float64"
    operator = find_operator(name)
    assert operator is not None
    x = torch.linspace(-3, 3, 70)
    assert torch.equal(call(operator, (x,), {}), getattr(torch.nn.functional, name)(x))


@pytest.mark.parametrize(("name", "against"), [("relu", "torch.relu_"), ("twice", "own_operators:in_place")])
def test_operands_are_not_overwritten(file: str, capsys: pytest.CaptureFixture[str], name: str, against: str) -> None:
    code, out, _ = run(capsys, file, name, "--against", against, "--json")
    (functor,) = json.loads(out)["functors"]
    assert (code, functor["findings"], functor["notes"]) == (0, [], [])
    operator = find_operator(name, against)
    assert operator is not None
    x = torch.linspace(-3, 3, 1024)
    call(operator, (x,), {})
    assert torch.equal(x, torch.linspace(-3, 3, 1024))
