"""The host device's elementary functions: accuracy, special values, and that their loops are vectorised."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

import elementary_library  # noqa: E402
import fit_elementary  # noqa: E402
from elementary_library import FUNCTIONS, Library, reference, ulps  # noqa: E402

pytestmark = pytest.mark.skipif(elementary_library.compiler() is None, reason="no C++ compiler")

UNARY = [name for name, function in FUNCTIONS.items() if function.arity == 1]
BINARY = [name for name, function in FUNCTIONS.items() if function.arity == 2]
ODD = ["sin", "tan", "sinpi", "tanpi", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "cbrt", "erf"]

# In ulp, over all floats (functions of one argument). Half is the rounding to float.
BOUND = {
    "exp": 0.502, "exp2": 0.502, "exp10": 0.502, "expm1": 0.505,
    "log": 0.502, "log2": 0.502, "log10": 0.502, "log1p": 0.502,
    "sin": 0.501, "cos": 0.501, "tan": 0.502, "sinpi": 0.501, "cospi": 0.501, "tanpi": 0.502,
    "asin": 0.501, "acos": 0.501, "atan": 0.501, "atan2": 0.501,
    "sinh": 0.502, "cosh": 0.501, "tanh": 0.504, "asinh": 0.502, "acosh": 0.502, "atanh": 0.502,
    "rsqrt": 0.5, "cbrt": 0.5001, "erf": 0.501, "pow": 0.502, "powr": 0.502, "hypot": 0.5001, "fmod": 0,
}  # fmt: skip

inf, nan = float("inf"), float("nan")
pi = float(np.float32(np.pi))
MINIMUM, SMALLEST_NORMAL, MAXIMUM = 2.0**-149, 2.0**-126, float(np.finfo(np.float32).max)
SPECIAL = np.array([
    0, MINIMUM, 2 * MINIMUM, SMALLEST_NORMAL - MINIMUM, SMALLEST_NORMAL, 1e-30, 2.0**-25, 0.1, 1 / 3, 0.5, 0.75,
    1 - 2.0**-24, 1, 1 + 2.0**-23, 1.5, 2, 2.5, 3, 4, 5, 10, 88.5, 100, 127, 128, 149, 150,
    2.0**23 + 1, 2.0**24 - 1, 2.0**24, 2.0**25, 1e10, 2.0**64, 2.0**127, MAXIMUM, inf,
], dtype=np.float32)  # fmt: skip
SPECIAL = np.concatenate([SPECIAL, -SPECIAL, np.array([nan], dtype=np.float32)])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("elementary"), "-ffp-contract=on")


@pytest.fixture(scope="module")
def uncontracted(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("elementary_off"), "-ffp-contract=off")


def from_bits(bits: np.ndarray) -> np.ndarray:
    return bits.astype(np.uint32).view(np.float32)


def neighbours(values: np.ndarray, reach: int = 3) -> np.ndarray:
    """The values as floats, and the floats around them."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.int64)
    return from_bits((bits[:, None] + np.arange(-reach, reach + 1)).ravel() & 0xFFFFFFFF)


def sweep(stride: int = 10007) -> np.ndarray:
    """Floats of every kind, evenly over the bit patterns, and the neighbourhoods of everything that may be an edge."""
    thresholds = np.array([0.25, np.sqrt(0.5), np.sqrt(2), 9.01, 38.53, 44.85, 87.33, 88.72, 89.4, 103.97, 126, 149])
    angles = np.arange(1, 400) * (np.pi / 4)
    halves = np.arange(0, 40) * 0.5
    powers = 2.0 ** np.arange(-149, 128)
    edges = neighbours(np.concatenate([SPECIAL, thresholds, angles, halves, powers, 10.0 ** np.arange(-45, 39)]))
    return np.concatenate([from_bits(np.arange(0, 2**32, stride)), edges, -edges])


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Equal to the bit, any NaN being equal to any."""
    return (a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))


def expect(value: np.ndarray, expected: np.ndarray, *arguments: np.ndarray) -> None:
    wrong = ~same(value, expected)
    rows = np.stack([a[wrong] for a in (*arguments, value, expected)], axis=1)
    assert not wrong.any(), rows.tolist()


def check(name: str, arguments: tuple[np.ndarray, ...], value: np.ndarray, exact: np.ndarray) -> None:
    distance = ulps(value, exact)
    worst = int(np.argmax(distance))
    where = ", ".join(float(a[worst]).hex() for a in arguments)
    message = f"{name}({where}) = {float(value[worst]).hex()}, not {float(exact[worst]).hex()}: {distance[worst]} ulp"
    assert distance[worst] <= BOUND[name], message


def test_every_function_has_a_bound() -> None:
    assert set(BOUND) == set(FUNCTIONS)


@pytest.mark.parametrize("name", UNARY)
def test_accuracy(library: Library, name: str) -> None:
    x = sweep()
    check(name, (x,), library(name, x), reference(name, x))


def pairs(name: str) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    x, y = (from_bits(generator.integers(0, 2**32, 300_000)) for _ in range(2))
    grid = np.array(list(itertools.product(neighbours(SPECIAL, 1), repeat=2)), dtype=np.float32).T
    near = np.exp2(generator.uniform(-20, 20, 300_000)).astype(np.float32)
    exponent = (generator.uniform(-150, 130, near.size) / np.log2(near)).astype(np.float32)
    # Where the result is in range for pow, and comparable arguments for the others.
    other = exponent if name in ("pow", "powr") else generator.standard_normal(near.size).astype(np.float32) * near
    return np.concatenate([x, grid[0], near]), np.concatenate([y, grid[1], other])


@pytest.mark.parametrize("name", BINARY)
def test_accuracy_of_two_arguments(library: Library, name: str) -> None:
    x, y = pairs(name)
    check(name, (x, y), library(name, x, y), reference(name, x, y))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_contraction_changes_nothing(library: Library, uncontracted: Library, name: str) -> None:
    arguments = (sweep(),) if FUNCTIONS[name].arity == 1 else pairs(name)
    assert same(library(name, *arguments), uncontracted(name, *arguments)).all()


@pytest.mark.parametrize("name", [*ODD, "expm1", "log1p"])
def test_zero_keeps_its_sign(library: Library, name: str) -> None:
    zeros = np.array([0.0, -0.0], dtype=np.float32)
    assert same(library(name, zeros), zeros).all()


@pytest.mark.parametrize("name", ODD)
def test_odd_functions(library: Library, name: str) -> None:
    x = sweep(100_003)
    assert same(library(name, -x), -library(name, x)).all()


def test_trigonometric_functions_near_multiples_of_half_pi(library: Library) -> None:
    mpmath = pytest.importorskip("mpmath")
    # No float is nearer to a multiple of pi / 2, for its size, than the first: found by continued fractions.
    hardest = [16367173 * 2.0**72, 5122333.0, 2.0**127, MAXIMUM, 1e22, 314159.25, 3.1415927, 1.5707964, 6.2831855]
    powers = [1.25 * 2.0**e for e in range(-20, 128, 7)]
    x = np.array([*hardest, *powers], dtype=np.float32)
    with mpmath.workprec(400):
        for name in ("sin", "cos", "tan"):
            exact = np.array([float(getattr(mpmath, name)(mpmath.mpf(float(v)))) for v in x])
            check(name, (x,), library(name, x), exact)


# C23, Annex F.10, and the C standard's own tables for the functions of pi.
VALUES: dict[str, list[tuple[float, float]]] = {
    "exp": [(0, 1), (-0.0, 1), (-inf, 0), (inf, inf), (89, inf), (-104, 0), (nan, nan)],
    "exp2": [(10, 1024), (-149, MINIMUM), (-150, 0), (128, inf), (-inf, 0), (inf, inf), (nan, nan)],
    "exp10": [(0, 1), (1, 10), (2, 100), (10, 1e10), (-inf, 0), (inf, inf), (nan, nan)],
    "expm1": [(-inf, -1), (inf, inf), (nan, nan)],
    "log": [(0, -inf), (-0.0, -inf), (1, 0), (-1, nan), (-MINIMUM, nan), (-inf, nan), (inf, inf), (nan, nan)],
    "log2": [(0, -inf), (-0.0, -inf), (1, 0), (MINIMUM, -149), (2.0**127, 127), (-1, nan), (inf, inf), (nan, nan)],
    "log10": [(0, -inf), (-0.0, -inf), (1, 0), (1000, 3), (1e10, 10), (-1, nan), (inf, inf), (nan, nan)],
    "log1p": [(-1, -inf), (-1.0000001, nan), (-inf, nan), (inf, inf), (nan, nan)],
    "sin": [(inf, nan), (-inf, nan), (nan, nan)],
    "cos": [(0, 1), (-0.0, 1), (inf, nan), (-inf, nan), (nan, nan)],
    "tan": [(inf, nan), (-inf, nan), (nan, nan)],
    "sinpi": [(1, 0), (-1, -0.0), (2, 0), (-2, -0.0), (0.5, 1), (1.5, -1), (1e10, 0), (-1e10, -0.0), (inf, nan),
              (nan, nan)],
    "cospi": [(0, 1), (-0.0, 1), (0.5, 0), (-0.5, 0), (1.5, 0), (1, -1), (2, 1), (1e10, 1), (inf, nan), (nan, nan)],
    "tanpi": [(1, -0.0), (-1, 0), (2, 0), (-2, -0.0), (3, -0.0), (0.5, inf), (-0.5, -inf), (1.5, -inf), (-1.5, inf),
              (2.5, inf), (0.25, 1), (0.75, -1), (1e10, 0), (inf, nan), (nan, nan)],
    "asin": [(1.0000001, nan), (-2, nan), (inf, nan), (nan, nan)],
    "acos": [(1, 0), (-1, pi), (1.0000001, nan), (-inf, nan), (nan, nan)],
    "atan": [(inf, pi / 2), (-inf, -pi / 2), (nan, nan)],
    "sinh": [(inf, inf), (-inf, -inf), (90, inf), (nan, nan)],
    "cosh": [(0, 1), (-0.0, 1), (inf, inf), (-inf, inf), (90, inf), (nan, nan)],
    "tanh": [(inf, 1), (-inf, -1), (nan, nan)],
    "asinh": [(inf, inf), (-inf, -inf), (nan, nan)],
    "acosh": [(1, 0), (0.5, nan), (-3, nan), (-inf, nan), (inf, inf), (nan, nan)],
    "atanh": [(1, inf), (-1, -inf), (1.5, nan), (-inf, nan), (nan, nan)],
    "rsqrt": [(0, inf), (-0.0, -inf), (4, 0.5), (2.0**-126, 2.0**63), (-1, nan), (-inf, nan), (inf, 0), (nan, nan)],
    "cbrt": [(inf, inf), (-inf, -inf), (27, 3), (-8, -2), (MINIMUM * 4, 2.0**-49), (nan, nan)],
    "erf": [(inf, 1), (-inf, -1), (nan, nan)],
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_special_values(library: Library, name: str) -> None:
    x, expected = np.array(VALUES[name], dtype=np.float32).T.copy()
    expect(library(name, x), expected, x)


BELOW, ABOVE = 0.5, 3.0
POWERS: list[tuple[float, float, float]] = [
    *((sign * 0.0, -3.0, sign * inf) for sign in (1, -1)),
    *((sign * 0.0, y, inf) for sign in (1, -1) for y in (-2.0, -0.5, -3.5, -(2.0**24), -inf)),
    *((sign * 0.0, 3.0, sign * 0.0) for sign in (1, -1)),
    *((sign * 0.0, y, 0.0) for sign in (1, -1) for y in (2.0, 0.5, MINIMUM, 2.0**24, inf)),
    *((-1.0, sign * inf, 1.0) for sign in (1, -1)),
    *((1.0, y, 1.0) for y in (0.0, 2.5, inf, -inf, nan)),
    *((x, zero, 1.0) for x in (0.0, -0.0, 2.0, -3.0, inf, -inf, nan) for zero in (0.0, -0.0)),
    *((x, y, nan) for x in (-1.0, -2.0, -MINIMUM, -MAXIMUM) for y in (0.5, -1.5, MINIMUM)),
    *((sign * BELOW, -inf, inf) for sign in (1, -1)),
    *((sign * ABOVE, -inf, 0.0) for sign in (1, -1)),
    *((sign * BELOW, inf, 0.0) for sign in (1, -1)),
    *((sign * ABOVE, inf, inf) for sign in (1, -1)),
    (1 - 2.0**-24, inf, 0.0), (1 + 2.0**-23, inf, inf), (1 - 2.0**-24, -inf, inf), (-1 - 2.0**-23, -inf, 0.0),
    (-inf, -3.0, -0.0), (-inf, -2.0, 0.0), (-inf, -0.5, 0.0), (-inf, 3.0, -inf), (-inf, 2.0, inf), (-inf, 0.5, inf),
    (-inf, inf, inf), (-inf, -inf, 0.0), (inf, -2.0, 0.0), (inf, -MINIMUM, 0.0), (inf, MINIMUM, inf), (inf, inf, inf),
    (nan, 1.0, nan), (2.0, nan, nan), (-1.0, nan, nan), (nan, nan, nan), (0.0, nan, nan), (-inf, nan, nan),
    (-2.0, 3.0, -8.0), (-2.0, 2.0, 4.0), (-2.0, -149.0, -MINIMUM), (-2.0, 129.0, -inf),
    (-1.0, 2.0**24 - 1, -1.0), (-1.0, 2.0**24, 1.0),
]  # fmt: skip


def test_special_values_of_pow(library: Library) -> None:
    x, y, expected = np.array(POWERS, dtype=np.float32).T.copy()
    expect(library("pow", x, y), expected, x, y)


def test_special_values_of_powr(library: Library) -> None:
    """IEEE 754: the exponential of y log(x), with no exception for what is undefined in it."""
    cases = [
        (0.0, 0.0, nan), (inf, 0.0, nan), (1.0, inf, nan), (1.0, -inf, nan), (2.0, 0.0, 1.0), (-0.0, -1.0, inf),
        (-0.0, 3.0, 0.0), (0.0, -inf, inf), (1.0, 2.5, 1.0), (-1.0, 2.0, nan), (nan, 0.0, nan), (1.0, nan, nan),
        (inf, -1.0, 0.0),
    ]  # fmt: skip
    x, y, expected = np.array(cases, dtype=np.float32).T.copy()
    expect(library("powr", x, y), expected, x, y)


def test_special_values_of_atan2(library: Library) -> None:
    up = [
        (0.0, -1.0, pi), (0.0, -0.0, pi), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, pi / 2), (1.0, -0.0, pi / 2),
        (1.0, -inf, pi), (1.0, inf, 0.0), (inf, 1.0, pi / 2), (inf, -1.0, pi / 2), (inf, inf, pi / 4),
        (inf, -inf, float(np.float32(0.75 * np.pi))), (0.0, -inf, pi), (0.0, inf, 0.0), (MAXIMUM, inf, 0.0),
        (MINIMUM, MAXIMUM, 0.0), (MINIMUM, MINIMUM, pi / 4),
    ]  # fmt: skip
    y, x, expected = np.array([*up, *((-a, b, -c) for a, b, c in up)], dtype=np.float32).T.copy()
    expect(library("atan2", y, x), expected, y, x)
    odd = np.array([nan, 0.0, nan, inf, nan], dtype=np.float32)
    assert np.isnan(library("atan2", odd, odd[::-1].copy())[[0, 2, 4]]).all()


def test_special_values_of_hypot(library: Library) -> None:
    cases = [
        (inf, nan, inf), (nan, -inf, inf), (nan, 1.0, nan), (3.0, -4.0, 5.0), (-0.0, -0.0, 0.0),
        (MAXIMUM, MAXIMUM, inf), (MINIMUM, 0.0, MINIMUM), (3 * MINIMUM, 4 * MINIMUM, 5 * MINIMUM),
    ]  # fmt: skip
    x, y, expected = np.array(cases, dtype=np.float32).T.copy()
    expect(library("hypot", x, y), expected, x, y)


def test_special_values_of_fmod(library: Library) -> None:
    cases = [
        (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (-0.0, inf, -0.0), (5.5, inf, 5.5), (-5.5, -inf, -5.5), (5.5, 2.0, 1.5),
        (-5.5, 2.0, -1.5), (5.5, -2.0, 1.5), (4.0, 2.0, 0.0), (-4.0, 2.0, -0.0), (1.0, 0.0, nan), (0.0, 0.0, nan),
        (inf, 1.0, nan), (-inf, inf, nan), (inf, 0.0, nan), (nan, 1.0, nan), (1.0, nan, nan), (nan, inf, nan),
        (MAXIMUM, MINIMUM, 0.0), (MAXIMUM, 7 * MINIMUM, MINIMUM * ((2**24 - 1) * 2**253 % 7)),
        (MINIMUM, MAXIMUM, MINIMUM),
    ]  # fmt: skip
    x, y, expected = np.array(cases, dtype=np.float32).T.copy()
    expect(library("fmod", x, y), expected, x, y)


def test_flushed_subnormals(library: Library) -> None:
    """With flushing on, a subnormal argument is a zero and a subnormal result a zero of its sign."""
    tiny = np.array([MINIMUM, SMALLEST_NORMAL / 2, -SMALLEST_NORMAL / 2, -MINIMUM], dtype=np.float32)
    zeros = np.copysign(np.float32(0), tiny)
    for name in UNARY:
        assert same(library.flushed(name, tiny), library(name, zeros)).all(), name
    one = np.ones_like(tiny)
    assert same(library.flushed("exp", -100 * one), 0 * one).all()
    assert same(library.flushed("pow", -2 * one, -139 * one), -0.0 * one).all()
    assert same(library.flushed("atan2", tiny, one), zeros).all()
    assert same(library.flushed("atan2", one * 2.0**-100, one * 2.0**40), 0 * one).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_flushing_leaves_normal_numbers_alone(library: Library, name: str) -> None:
    arguments = (sweep(100_003),) if FUNCTIONS[name].arity == 1 else pairs(name)
    usual, flushed = library(name, *arguments), library.flushed(name, *arguments)
    normal: Callable[[np.ndarray], np.ndarray] = lambda x: (x == 0) | ~(np.abs(x) < SMALLEST_NORMAL)  # noqa: E731
    keep = np.logical_and.reduce([normal(x) for x in (*arguments, usual)])
    # The smallest normal number may come from rounding a subnormal one up.
    keep &= np.abs(usual) != np.float32(SMALLEST_NORMAL)
    assert same(usual[keep], flushed[keep]).all()


def test_loops_are_vectorised(library: Library) -> None:
    assert library.remarks.count("vectorized loop") == len(FUNCTIONS), library.remarks


def test_compiles_for_apple_silicon(tmp_path: Path) -> None:
    command = elementary_library.compiler()
    if command is None or command[1] != "cc":
        pytest.skip("the clang found may lack the target")
    text = tmp_path / "elementary.cpp"
    text.write_text(elementary_library.source(), encoding="utf-8")
    target = ["-target", "aarch64-macos", *elementary_library.FLAGS, f"-I{elementary_library.SHIM}"]
    arguments = [*command, *target, "-c", str(text), "-o", str(tmp_path / "e.o")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_constants_are_those_derived() -> None:
    assert fit_elementary.main(["--check"]) == 0
