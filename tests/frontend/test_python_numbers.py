"""Python numbers never widen a tensor: they wrap in arithmetic, and are compared as in mathematics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import toolbox
import torch

WRAPS = ["x + 300", "300 - x", "x * -1", "x * 1000", "x & 300", "x | -1", "x ^ 70000", "x + 3000000000", "x - 2**63"]
DIVIDES = ["x // 300", "x % 300", "x // -3", "x % -100"]
COMPARES = [
    "x < -3", "-3 < x", "x == 300", "x != 300", "x <= 70000", "x > 2**31", "x >= -(2**40)", "x < 2**64", "2**70 > x",
    "-1 < x < 300", "x == 256",
]  # fmt: skip
LIMITS = ["max(x, -300)", "min(300, x)", "min(max(x, -300), 300)", "max(-70000, x)", "min(x, 2**40)"]


def _wrap(value: int, dtype: torch.dtype) -> int:
    info = torch.iinfo(dtype)
    value &= (1 << info.bits) - 1
    return value - (1 << info.bits) if value > info.max else value


def _functors(bodies: list[str], annotation: str, folder: Path) -> dict[str, Any]:
    text = ""
    for i, body in enumerate(bodies):
        promotion = "(promotion='always_bool')" if annotation == "bool" else ""
        text += f"@pymetal.unary{promotion}\ndef f{i}(x: Integral) -> {annotation}:\n    return {body}\n"
    module = toolbox.load(folder, text)
    return {body: getattr(module, f"f{i}") for i, body in enumerate(bodies)}


def _agrees(functors: dict[str, Any], expected: Callable[[str, int, torch.dtype], Any]) -> None:
    for body, functor in functors.items():
        assert set(toolbox.INTEGERS) <= set(functor.dtypes), body
        for dtype in toolbox.INTEGERS:
            x = toolbox.edges(dtype)
            wanted = torch.tensor([expected(body, v, dtype) for v in x.tolist()])
            for value in (functor(x), functor.reference(x)):
                assert value.dtype in (dtype, torch.bool), body
                assert value.tolist() == wanted.tolist(), (body, dtype)


@pytest.mark.host
def test_arithmetic_wraps(tmp_path: Path) -> None:
    functors = _functors(WRAPS, "Integral", tmp_path)
    _agrees(functors, lambda body, x, dtype: _wrap(eval(body, {"x": x}), dtype))


@pytest.mark.host
def test_a_quotient_is_torchs(tmp_path: Path) -> None:
    """The divisor wraps first, as in torch."""
    for body, functor in _functors(DIVIDES, "Integral", tmp_path).items():
        for dtype in toolbox.INTEGERS:
            x = toolbox.edges(dtype)
            x = x[x != torch.iinfo(dtype).min]
            assert functor(x).tolist() == eval(body, {"x": x}).tolist(), (body, dtype)


@pytest.mark.host
def test_comparisons_are_those_of_mathematics(tmp_path: Path) -> None:
    functors = _functors(COMPARES, "bool", tmp_path)
    _agrees(functors, lambda body, x, dtype: eval(body, {"x": x}))


@pytest.mark.host
def test_limits_are_those_of_mathematics(tmp_path: Path) -> None:
    functors = _functors(LIMITS, "Integral", tmp_path)
    _agrees(functors, lambda body, x, dtype: eval(body, {"x": x}))


# Bodies of variables and counters; each is also run as Python, and its result wrapped.
LOOPS = {
    "sum": "    s = 0\n    for _ in range(4):\n        s += x\n    return s\n",
    "product": "    r = 1\n    for i in range(3):\n        r *= i + x\n    return r\n",
    "counter": "    r = x\n    for k in range(5):\n        r = r + k * k\n    return r\n",
    "bound": "    r = x\n    n = x & 7\n    for k in range(n):\n        r = r * 2 + k\n    return r\n",
    "while": "    n = 0\n    y = x & 15\n    while y > 2:\n        y -= 3\n        n += 1\n    return n + x\n",
    "compare": "    n = 0\n    while n < x:\n        n += 50\n        if n > 99:\n            return x\n    return n\n",
    "large": "    k = 3000000000\n    return x + k\n",
}


@pytest.mark.host
def test_variables_and_counters_do_not_widen(tmp_path: Path) -> None:
    text = "".join(f"@pymetal.unary\ndef {n}_(x: Integral) -> Integral:\n{body}" for n, body in LOOPS.items())
    module = toolbox.load(tmp_path, text)
    for name, body in LOOPS.items():
        scope: dict[str, Any] = {}
        exec(f"def f(x):\n{body}", scope)
        oracle: Callable[[int], int] = scope["f"]

        def expected(_: str, x: int, dtype: torch.dtype, oracle: Callable[[int], int] = oracle) -> int:
            return _wrap(oracle(x), dtype)

        _agrees({name: getattr(module, f"{name}_")}, expected)


SCALARS = """\
TABLE = (1, 2, 3)


@pymetal.unary
def limited(x: Integral, lo: int = 0, hi=255) -> Integral:
    return min(max(x, lo), hi)


@pymetal.unary
def count(x: Integral) -> Integral:
    return sum(x > c for c in TABLE)


@pymetal.unary
def hashed(x: Integral) -> Integral:
    h = 2166136261
    for _ in range(4):
        h = (h ^ (x & 127)) * 16777619
    return h
"""


@pytest.mark.host
def test_limits_that_are_scalar_parameters_are_those_of_mathematics(tmp_path: Path) -> None:
    limited = toolbox.load(tmp_path, SCALARS).limited
    for dtype in toolbox.INTEGERS:
        x = toolbox.edges(dtype)
        for lo, hi in ((-1000, 1000), (-3, 5), (-70000, 70000)):
            if lo >= torch.iinfo(dtype).min or torch.iinfo(dtype).min == 0:
                expected = [min(max(v, lo), hi) for v in x.tolist()]
                if all(_wrap(v, dtype) == v for v in expected):
                    assert limited(x, lo, hi).tolist() == limited.reference(x, lo, hi).tolist() == expected
        assert limited(x, -(2**40), 2**40).tolist() == [min(max(v, -(2**40)), 2**40) for v in x.tolist()]


@pytest.mark.host
def test_an_integer_result_is_narrowed(tmp_path: Path) -> None:
    module = toolbox.load(tmp_path, SCALARS)

    def hashed(x: int) -> int:
        h = 2166136261
        for _ in range(4):
            h = (h ^ (x & 127)) * 16777619
        return h

    def expected(name: str, x: int, dtype: torch.dtype) -> int:
        return _wrap(sum(x > c for c in (1, 2, 3)) if name == "count" else hashed(x), dtype)

    _agrees({name: getattr(module, name) for name in ("count", "hashed")}, expected)
