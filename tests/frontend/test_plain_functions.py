"""Plain Python functions in a body: typed by their arguments, with Python's meaning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import toolbox
import torch

from pymetal import PyMetalError
from pymetal.dtypes import wrap

HELPERS = """\
def silu(x):
    return x / (1 + metal.exp(-x))


def clip(x, lo=0, hi=1):
    if x < lo:
        return lo
    elif x > hi:
        return hi
    return x


def sign(x):
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


def triangle(n):
    total = 0
    for i in range(5):
        total += i * n
    return total


def both(x, y, *, scale=1):
    return clip(x, hi=20) + clip(y, -1, 3) * sign(x) * scale


def gain(level):
    return 10 ** (level / 20)


def average(x, y):
    return (x + y) / 2


def größe(x):
    return abs(x) % 3
"""
# A unary or binary body, of which dtypes, and what it means: Python's own arithmetic unless given.
BODIES: list[tuple[str, str, tuple[torch.dtype, ...], Callable[..., Any] | None]] = [
    ("a, b", "silu(a) * b", toolbox.FLOATS, lambda a, b: torch.nn.functional.silu(a) * b),
    ("a, b", "both(a, b)", toolbox.INTEGERS, None),
    ("a, b", "both(a, b, scale=2) + triangle(a)", toolbox.INTEGERS, None),
    ("a", "clip(a) + clip(a, 2, 5)", toolbox.INTEGERS, None),
    ("a", "clip(a) + clip(a, -2, 5)", toolbox.FLOATS, lambda a: a.clamp(0, 1) + a.clamp(-2, 5)),
    ("a", "a * gain(6.0)", toolbox.FLOATS, lambda a: a * torch.tensor(10 ** (6.0 / 20)).to(a.dtype)),
    ("a, b", "average(x=b, y=a)", toolbox.FLOATS, lambda a, b: ((b + a) / 2)),
    ("a", "größe(a)", (torch.int32, torch.int64), None),
    ("a", "triangle(sign(a)) + a", toolbox.INTEGERS, None),
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize(("parameters", "body", "dtypes", "expected"), BODIES, ids=[b for _, b, _, _ in BODIES])
def test_values(
    parameters: str, body: str, dtypes: tuple[torch.dtype, ...], expected: Callable[..., Any] | None, tmp_path: Path
) -> None:
    arity = ("unary", "binary")[parameters.count(",")]
    typed = ", ".join(f"{p}: T" for p in parameters.split(", "))
    module = toolbox.load(tmp_path, f"{HELPERS}\n\n@pymetal.{arity}\ndef f({typed}) -> T:\n    return {body}\n")
    python = eval(f"lambda {parameters}: {body}", vars(module))
    for dtype in dtypes:
        assert dtype in module.f.dtypes
        count = parameters.count(",") + 1
        operands = [toolbox.random(dtype, 60, seed) for seed in range(count)]
        if dtype.is_floating_point:
            operands = [torch.randn(60).to(dtype) for _ in operands]
        for found in (module.f(*operands), module.f.reference(*operands)):
            assert found.dtype is dtype
            if expected is not None:
                limit = 4 * torch.finfo(dtype).eps
                torch.testing.assert_close(found, expected(*operands), rtol=limit, atol=limit)
            else:
                rows = zip(*(o.tolist() for o in operands), strict=True)
                assert found.tolist() == [wrap(python(*row), dtype) for row in rows]


def test_the_text_is_an_inline_function(tmp_path: Path) -> None:
    text = f"{HELPERS}\n\n@pymetal.unary\ndef f(x: T) -> T:\n    return clip(x) + clip(clip(x), 2, 5)\n"
    functor = toolbox.load(tmp_path, text).f
    source = functor.functor_source
    assert source.count("inline T clip(const T x)") == 1, "one specialisation for the same arguments"
    assert source.count("inline T clip_lo_2_hi_5(const T x)") == 1, "another for other numbers"
    assert "return clip(x) + clip_lo_2_hi_5(clip(x));" in source


def test_kinds_share_one_text(tmp_path: Path) -> None:
    text = f"{HELPERS}\n\n@pymetal.unary\ndef f(x: T) -> T:\n    return clip(x)\n"
    text += "\n\n@pymetal.unary\ndef g(x: T) -> T:\n    return clip(x) * 2\n"
    module = toolbox.load(tmp_path, text)
    assert len(module.f.ir.overloads) == 1
    assert module.f.text.definitions["clip"] == module.g.text.definitions["clip"]


def test_a_dtype_without_meaning_is_left_out_with_the_line_of_the_function(tmp_path: Path) -> None:
    text = f"{HELPERS}\n\n@pymetal.unary\ndef f(x: T) -> T:\n    return silu(x) & 1\n"
    with pytest.raises(PyMetalError, match="PM021"):
        toolbox.load(tmp_path, text)
    functor = toolbox.load(tmp_path, f"{HELPERS}\n\n@pymetal.unary\ndef f(x: T) -> T:\n    return silu(x)\n").f
    assert set(functor.dtypes) == set(toolbox.FLOATS)


REFUSED = {
    "itself": ("def h(x):\n    return h(x) + 1\n", "h(x)", "PM038: 'h' calls itself"),
    "each other": (
        "def g(x):\n    return h(x)\n\n\ndef h(x):\n    return g(x)\n", "h(x)", "PM038: 'h' calls itself",
    ),
    "variadic": ("def h(*xs):\n    return sum(xs)\n", "h(x, x)", "PM016: 'h' cannot be called here: it takes `*xs`"),
    "too few": ("def h(x, y):\n    return x\n", "h(x)", "cannot be called here: missing a required argument: 'y'"),
    "a keyword": ("def h(x):\n    return x\n", "h(z=x)", "cannot be called here: missing a required argument: 'x'"),
    "a default": ("def h(x, y=None):\n    return x\n", "h(x)", "PM016: 'h' cannot be called here: the default of 'y'"),
    "a lambda": ("h = lambda x: x\n", "h(x)", "PM016: 'h' cannot be called here: it is a lambda"),
    "an unknown name": ("def h(x):\n    return x + nowhere\n", "h(x)", "PM011: 'nowhere' is not defined"),
    "an exception": ("def h(x):\n    return 1 / x\n", "x + h(0)", "PM039: h of these numbers fails: ZeroDivisionError"),
    "no number": ("def h(x):\n    return 'text'\n", "x + h(0)", "PM013"),
}  # fmt: skip


@pytest.mark.parametrize(("helper", "body", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(helper: str, body: str, message: str, tmp_path: Path) -> None:
    text = f"{helper}\n\n@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return {body}\n"
    with pytest.raises(PyMetalError) as caught:
        toolbox.load(tmp_path, text)
    assert message in str(caught.value)
