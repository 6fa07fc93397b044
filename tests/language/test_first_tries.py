"""Functors as people write them first: each runs as written, on the dtypes that it has a meaning for.

The sources are kept to the letter. The expected value is a torch expression, or, where there is none, the function
itself run as Python on tensors of one element.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import toolbox
import torch

FLOATS = toolbox.FLOATS
REALS = (*toolbox.FLOATS, *toolbox.INTEGERS)


@dataclass(frozen=True)
class FirstTry:
    """A source, what it means, and the dtypes that it serves at least."""

    name: str
    source: str
    expected: Callable[..., Any] | None
    dtypes: tuple[torch.dtype, ...]
    scalars: dict[str, float] = field(default_factory=dict)


TRIES = (
    FirstTry(
        "sub",
        """\
import pymetal
from pymetal import T, metal

@pymetal.binary
def sub(a: T, b: T) -> T:
    return a - b
""",
        lambda a, b: a - b,
        REALS,
    ),
    FirstTry(
        "clamp01",
        """\
import pymetal
from pymetal import T, metal

@pymetal.unary
def clamp01(a: T) -> T:
    return min(max(a, 0), 1)
""",
        lambda a: torch.clamp(a, 0, 1),
        REALS,
    ),
    FirstTry(
        "squared_difference",
        """\
import pymetal
from pymetal import T

@pymetal.binary
def squared_difference(a: T, b: T) -> T:
    return (a - b) ** 2
""",
        lambda a, b: (a - b) ** 2,
        REALS,
    ),
    FirstTry(
        "step",
        """\
import pymetal
from pymetal import T

@pymetal.binary
def step(a: T, edge: T) -> T:
    return 1 if a >= edge else 0
""",
        lambda a, edge: (a >= edge).to(a.dtype),
        REALS,
    ),
    FirstTry(
        "leaky_relu",
        """\
import pymetal
from pymetal import T

@pymetal.unary
def leaky_relu(a: T, slope: float = 0.01) -> T:
    return a if a > 0 else slope * a
""",
        lambda a: torch.nn.functional.leaky_relu(a, 0.01),
        FLOATS,
    ),
    FirstTry(
        "huber",
        """\
import pymetal
from pymetal import T

@pymetal.binary
def huber(a: T, b: T, delta: float = 1.0) -> T:
    d = abs(a - b)
    if d <= delta:
        return 0.5 * d * d
    return delta * (d - 0.5 * delta)
""",
        lambda a, b: torch.nn.functional.huber_loss(a, b, reduction="none"),
        FLOATS,
    ),
    FirstTry(
        "lerp",
        """\
import pymetal
from pymetal import T

@pymetal.ternary
def lerp(a: T, b: T, w: T) -> T:
    return a + w * (b - a)
""",
        lambda a, b, w: a + w * (b - a),
        REALS,
    ),
    FirstTry(
        "swiglu",
        """\
import pymetal
from pymetal import T, metal

def silu(x):
    return x / (1 + metal.exp(-x))

@pymetal.binary
def swiglu(a: T, b: T) -> T:
    return silu(a) * b
""",
        lambda a, b: torch.nn.functional.silu(a) * b,
        FLOATS,
    ),
    FirstTry(
        "rotate_hue",
        '''\
"""Fraction of the green channel after rotating the hue of a grey-balanced colour."""
import math
import pymetal
from pymetal import T, metal

@pymetal.func
def frac(x: T) -> T:
    return x - metal.floor(x)

@pymetal.func
def hue_to_channel(h: T) -> T:
    h = frac(h)
    if h < 1 / 6:
        return 6 * h
    elif h < 1 / 2:
        return 1.0
    elif h < 2 / 3:
        return (2 / 3 - h) * 6
    else:
        return 0.0

@pymetal.binary
def rotate_hue(hue: T, angle: T) -> T:
    """Green of the colour `hue` after a rotation by `angle` radians"""
    return hue_to_channel(hue + angle / (2 * math.pi))
''',
        None,
        FLOATS,
    ),
    FirstTry(
        "mandelbrot_iterations",
        """\
import pymetal
from pymetal import T

MAX_ITER = 100

@pymetal.binary
def mandelbrot_iterations(re: T, im: T) -> pymetal.int32:
    x = 0.0
    y = 0.0
    n = 0
    while n < MAX_ITER and x * x + y * y <= 4.0:
        x, y = x * x - y * y + re, 2 * x * y + im
        n += 1
    return n
""",
        None,
        FLOATS,
    ),
    FirstTry(
        "popcount",
        """\
import pymetal
from pymetal import Integral

@pymetal.unary
def popcount(a: Integral) -> Integral:
    n = 0
    while a:
        a &= a - 1
        n += 1
    return n
""",
        lambda a: sum((a >> i) & 1 for i in range(torch.iinfo(a.dtype).bits)),
        toolbox.INTEGERS,
    ),
    FirstTry(
        "safe_divide",
        """\
import pymetal
from pymetal import T

@pymetal.binary
def safe_divide(a: T, b: T) -> T:
    if b == 0:
        return 0.0
    else:
        return a / b
""",
        lambda a, b: torch.where(b == 0, torch.zeros_like(a), a / b),
        FLOATS,
    ),
    FirstTry(
        "wrap_angle",
        '''\
import math
import pymetal
from pymetal import T

@pymetal.unary
def wrap_angle(a: T) -> T:
    """Wrap an angle to [-pi, pi)."""
    return (a + math.pi) % (2 * math.pi) - math.pi
''',
        lambda a: (a + math.pi) % (2 * math.pi) - math.pi,
        FLOATS,
    ),
    FirstTry(
        "quantize_int8",
        """\
import pymetal
from pymetal import Floating

@pymetal.unary
def quantize_int8(x: Floating, *, scale: float, zero_point: int) -> pymetal.int8:
    q = round(x / scale) + zero_point
    return pymetal.int8(min(max(q, -128), 127))
""",
        lambda x: torch.clamp(torch.round(x / 0.5) + 3, -128, 127).to(torch.int8),
        FLOATS,
        {"scale": 0.5, "zero_point": 3},
    ),
    FirstTry(
        "softplus",
        """\
import pymetal
from pymetal import Floating, metal

@pymetal.unary
def softplus(x: Floating, *, beta: float = 1.0, threshold: float = 20.0) -> Floating:
    z = x * beta
    return x if z > threshold else metal.log1p(metal.exp(z)) / beta
""",
        lambda x: torch.nn.functional.softplus(x),
        FLOATS,
    ),
    FirstTry(
        "cmul_conj",
        """\
import pymetal
from pymetal import Complex

@pymetal.binary
def cmul_conj(a: Complex, b: Complex) -> Complex:
    return a * b.conjugate()
""",
        lambda a, b: a * b.conj(),
        (torch.complex64,),
    ),
    FirstTry(
        "piecewise",
        """\
import pymetal
from pymetal import Floating

SMALL = (1.0, -0.5, 0.25, -0.125)
LARGE = (0.75, -0.125, 0.0078125)

@pymetal.unary
def piecewise(x: Floating) -> Floating:
    if abs(x) < 1:
        r = 0.0
        for c in reversed(SMALL):
            r = r * x + c
        return r
    r = 0.0
    for c in reversed(LARGE):
        r = r * x + c
    return r
""",
        None,
        FLOATS,
    ),
    FirstTry(
        "sincos",
        """\
import pymetal
from pymetal import Floating, metal

@pymetal.unary
def sincos(x: Floating) -> tuple[Floating, Floating]:
    return metal.sin(x), metal.cos(x)
""",
        lambda x: (torch.sin(x), torch.cos(x)),
        FLOATS,
    ),
)


def _operands(dtype: torch.dtype, arity: int) -> list[torch.Tensor]:
    """Ordinary values: the expressions are compared over these; edge values are tested operator by operator."""
    generator = torch.Generator().manual_seed(1)
    if not dtype.is_floating_point and not dtype.is_complex:
        return [toolbox.random(dtype, 60, seed) for seed in range(arity)]
    real = [0.0, -0.0, 0.25, -0.25, 0.5, 1.0, -1.0, 1.5, 3.0, -3.0]
    wide = torch.complex128 if dtype.is_complex else torch.float64
    values = [torch.randn(50, generator=generator, dtype=wide) * 2 for _ in range(arity)]
    # Not next to pi, where wrap_angle jumps.
    values = [v[(v.abs() - math.pi).abs() > 0.1] if arity == 1 else v for v in values]
    return [torch.cat([torch.tensor(real, dtype=wide).roll(i), v]).to(dtype) for i, v in enumerate(values)]


def _as_python(function: Callable[..., Any], operands: list[torch.Tensor]) -> torch.Tensor:
    rows = [function(*row) for row in zip(*operands, strict=True)]
    return torch.stack([torch.as_tensor(value) for value in rows])


@pytest.mark.parametrize("tried", TRIES, ids=[t.name for t in TRIES])
def test_runs_as_written(tried: FirstTry, tmp_path: Path) -> None:
    functor = getattr(toolbox.load(tmp_path, tried.source, prelude=""), tried.name)
    assert set(tried.dtypes) <= set(functor.dtypes)
    for dtype in tried.dtypes:
        operands = _operands(dtype, functor.arity.inputs)
        expected = _as_python(functor.__wrapped__, operands) if tried.expected is None else tried.expected(*operands)
        for found in (functor(*operands, **tried.scalars), functor.reference(*operands, **tried.scalars)):
            pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
            for value, wanted in pairs:
                limit = _tolerance(dtype)
                torch.testing.assert_close(value, wanted.to(value.dtype), equal_nan=True, rtol=limit, atol=limit)


def _tolerance(dtype: torch.dtype) -> float:
    """torch computes half in float and rounds once, a body operator by operator."""
    return 8 * torch.finfo(dtype).eps if dtype.is_floating_point or dtype.is_complex else 0.0
