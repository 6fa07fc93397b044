"""Dtypes for which a body has no meaning are left out, and say why."""

from __future__ import annotations

from pathlib import Path

import pytest
import toolbox
import torch

from pymetal import CallError, PyMetalError

REALS = (*toolbox.FLOATS, *toolbox.INTEGERS)

# The body of a unary functor of T, the dtypes that it serves, and why the others are left out.
BODIES = [
    ("x - x", REALS, {"PM021"}),
    ("1 / x", toolbox.FLOATS, {"PM024"}),
    ("x & 1", (*toolbox.INTEGERS,), {"PM021", "PM024"}),
    ("x if x > 0 else 300", (*toolbox.FLOATS, torch.int64, torch.int32, torch.int16), {"PM024", "PM026"}),
    ("x if x > 0 else -1", (*toolbox.FLOATS, torch.int64, torch.int32, torch.int16, torch.int8), {"PM024", "PM026"}),
    ("x * 0.5", toolbox.FLOATS, {"PM024"}),
    ("min(max(x, -300), 300)", (*toolbox.FLOATS, *toolbox.INTEGERS), {"PM024"}),
    ("x", toolbox.DTYPES, set()),
]


@pytest.mark.parametrize(("body", "served", "why"), BODIES, ids=[b for b, _, _ in BODIES])
def test_served_and_left_out(body: str, served: tuple[torch.dtype, ...], why: set[str], tmp_path: Path) -> None:
    functor = toolbox.load(tmp_path, f"@pymetal.unary\ndef f(x: T) -> T:\n    return {body}\n").f
    assert set(functor.dtypes) == set(served)
    assert set(functor.left_out) == set(toolbox.DTYPES) - set(served)
    assert {reason.split(": ")[1] for reason in functor.left_out.values()} == why
    assert all(reason.split(":")[0].endswith(".py") for reason in functor.left_out.values())
    assert ("not for" in repr(functor)) == bool(why)
    for dtype in functor.left_out:
        assert str(dtype) in repr(functor)


def test_with_dtypes_every_dtype_must_work(tmp_path: Path) -> None:
    with pytest.raises(PyMetalError, match="PM021: `-` is not defined for"):
        toolbox.load(tmp_path, "@pymetal.unary(dtypes=('integral', 'bool'))\ndef f(x: T) -> T:\n    return x - x\n")


def test_nothing_left_is_the_refusal_of_floats(tmp_path: Path) -> None:
    text = "@pymetal.unary\ndef f(x: T) -> T:\n    return (x & 1) - (x & 1) / 2\n"
    with pytest.raises(PyMetalError, match=r"PM021: `&` is not defined for torch.float32"):
        toolbox.load(tmp_path, text)


def test_an_overload_for_which_nothing_is_left_is_refused(tmp_path: Path) -> None:
    text = "@pymetal.unary\ndef f(x: Floating) -> Floating:\n    return x\n"
    text += "@f.overload\ndef f(x: Integral) -> Integral:\n    return x / 2\n"
    with pytest.raises(PyMetalError, match="PM024"):
        toolbox.load(tmp_path, text)


def test_an_overload_serves_what_the_body_leaves_out(tmp_path: Path) -> None:
    text = "@pymetal.unary\ndef f(x: T) -> T:\n    return x / 2\n"
    text += "@f.overload\ndef f(x: Integral) -> Integral:\n    return x // 2\n"
    functor = toolbox.load(tmp_path, text).f
    assert set(functor.dtypes) == set(REALS)
    assert set(functor.left_out) == {torch.bool}


@pytest.mark.parametrize("text", ["x + y", "x + metal.nothing(x)", "x if pymetal.is_integral(T) else y"])
def test_unknown_names_are_refused_whatever_the_dtype(text: str, tmp_path: Path) -> None:
    with pytest.raises(PyMetalError, match=r"PM01[12]"):
        toolbox.load(tmp_path, f"@pymetal.unary\ndef f(x: T) -> T:\n    return {text}\n")


def test_a_call_with_a_dtype_that_is_left_out(tmp_path: Path) -> None:
    functor = toolbox.load(tmp_path, "@pymetal.unary\ndef f(x: T) -> T:\n    return x / 2\n").f
    with pytest.raises(CallError) as caught:
        functor(torch.ones(3, dtype=torch.int32))
    message = str(caught.value)
    assert "f is not defined for torch.int32: PM024: this returns torch.float32" in message
    assert "    return x / 2\n" in message
    for way_out in (
        '@pymetal.unary(promotion="int_to_float")',
        "@f.overload",
        '@pymetal.unary(dtypes="floating")',
    ):
        assert way_out in message
    with pytest.raises(CallError, match=r"f is not defined for torch\.bool"):
        functor.reference(torch.ones(3, dtype=torch.bool))


def test_explain_says_what_is_left_out(tmp_path: Path) -> None:
    functor = toolbox.load(tmp_path, "@pymetal.unary\ndef f(x: T) -> T:\n    return -x\n").f
    assert "note: f is not defined for torch.bool (" in functor.explain(torch.ones(2))


def test_a_helper_keeps_its_reason(tmp_path: Path) -> None:
    text = "@pymetal.func\ndef half(x: T) -> T:\n    return x / 2\n"
    text += "@pymetal.unary\ndef f(x: T) -> T:\n    return half(x)\n"
    functor = toolbox.load(tmp_path, text).f
    assert set(functor.dtypes) == set(toolbox.FLOATS)
    assert "PM044: half has no body for torch.int64: PM024" in functor.left_out[torch.int64]
