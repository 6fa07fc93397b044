"""Faults planted in the gallery: each is found, and by what it is; without it nothing is.

What is right comes from torch's operators in float64 and from Python's integers, not from the functors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

import pymetal
from pymetal.check.run import CheckResult, Options, check

Plant = Callable[[str, str, str, str], dict[str, pymetal.Functor]]


@dataclass(frozen=True)
class Fault:
    """A fault: where it is planted, and what is found."""

    functor: str
    file: str
    old: str
    new: str
    dtype: str
    found: tuple[str, ...]
    module: str | None = None  # where the functor is, if that is another file
    parts: tuple[str, ...] = ("accuracy",)


FAULTS: dict[str, Fault] = {
    "a coefficient's last digit: gelu_tanh": Fault(
        "gelu_tanh", "activation", "CUBIC = 0.044715", "CUBIC = 0.044716", "float32", ("inaccurate",)
    ),
    "the last digit of float in a coefficient: erfc": Fault(
        "erfc", "tables", "1.276978381", "1.276979381", "float32", ("inaccurate",), "special"
    ),
    "< for <=: hardshrink": Fault(
        "hardshrink", "activation", "return 0 if -lambd <= x <= lambd else x", "return 0 if -lambd < x <= lambd else x",
        "float32", ("inaccurate",),
    ),
    "< for <=: hardshrink in bfloat, the other end": Fault(
        "hardshrink", "activation", "return 0 if -lambd <= x <= lambd else x", "return 0 if -lambd <= x < lambd else x",
        "bfloat16", ("inaccurate",),
    ),
    "a dropped NaN test: softshrink": Fault(
        "softshrink", "activation", "    if math.isnan(x):\n        return x\n    return x - lambd if",
        "    return x - lambd if", "float16", ("nan-dropped",),
    ),
    "a dropped NaN test: angle": Fault(
        "angle", "unary", "return x if math.isnan(x) else math.pi if x < 0 else 0", "return math.pi if x < 0 else 0",
        "float32", ("nan-dropped",),
    ),
    "a dropped NaN test where bits are read: nextafter": Fault(
        "nextafter", "binary", "if math.isnan(a) or math.isnan(b)", "if math.isnan(b)", "float32", ("nan-dropped",),
    ),
    "copysign dropped: erfinv": Fault(
        "erfinv", "special", "math.copysign(inverse_erfc(1 - size), y)", "inverse_erfc(1 - size)", "float32",
        ("inaccurate",),
    ),
    "copysign of infinity dropped: erfinv": Fault(
        "erfinv", "special", "return math.copysign(math.inf, y)", "return math.inf", "bfloat16", ("infinity",)
    ),
    "computing in half: xlogy": Fault(
        "xlogy", "special", '@pymetal.binary(promotion="int_to_float", opmath=True)\ndef xlogy',
        '@pymetal.binary(promotion="int_to_float")\ndef xlogy', "float16", ("inaccurate", "half-arithmetic"), None,
        ("accuracy", "lint"),
    ),
    "computing in bfloat: silu": Fault(
        "silu", "activation", "return T(float(x) / (1 + math.exp(-float(x))))",
        "return T(x / T(1 + math.exp(-float(x))))", "bfloat16", ("inaccurate",),
    ),
    "an integer through float: div_floor": Fault(
        "div_floor", "binary", "def div_floor(a: Integral, b: Integral) -> Integral:\n    return a // b",
        "def div_floor(a: Integral, b: Integral) -> Integral:\n    return Integral(metal.floor(float(a) / float(b)))",
        "int32", ("integer", "int-through-float"), None, ("accuracy", "lint"),
    ),
    "an integer through float: fmod": Fault(
        "fmod", "binary", "    return metal.c10.fmod(a, b)", "    return Integral(metal.fmod(float(a), float(b)))",
        "int64", ("integer", "int-through-float"), None, ("accuracy", "lint"),
    ),
    "a branch threshold moved: erfinv": Fault(
        "erfinv", "special", "inverse_erf(y) if size <= 0.5", "inverse_erf(y) if size <= 0.9", "float32",
        ("inaccurate",),
    ),
    "a branch threshold moved: hardshrink, by an inch": Fault(
        "hardshrink", "activation", "return 0 if -lambd <= x <= lambd else x",
        "return 0 if -lambd <= x <= lambd * 1.01 else x", "float16", ("inaccurate",),
    ),
}  # fmt: skip


def looked_at(functor: pymetal.Functor, dtype: str, parts: tuple[str, ...] = ("accuracy",)) -> CheckResult:
    return check(functor, Options(parts=parts, dtypes=(dtype,)))


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_found(name: str, plant: Plant) -> None:
    fault = FAULTS[name]
    functor = plant(fault.file, fault.old, fault.new, fault.module or fault.file)[fault.functor]
    result = looked_at(functor, fault.dtype, fault.parts)
    assert set(fault.found) <= {f.slug for f in result.findings}, [str(f) for f in result.findings]


SOUND = sorted({(f.functor, f.dtype) for f in FAULTS.values()})


@pytest.mark.parametrize(("functor", "dtype"), SOUND)
def test_nothing_is_found_without_it(functor: str, dtype: str) -> None:
    from examples.aten import load

    found = [str(f) for f in looked_at(load()[functor], dtype).findings]
    if functor == "erfc":  # the sign of its zeros from 1e10 on
        found = [f for f in found if "PC005" not in f]
    assert found == []
