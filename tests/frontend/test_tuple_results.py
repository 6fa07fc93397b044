"""Functors and helpers that return tuples: what each result becomes, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import toolbox
import torch
from clang_format import assert_formatted_text

import pymetal
from pymetal import CallError, PyMetalError

X = torch.tensor([-2.5, 0.0, 3.5])
EDGES = torch.tensor([0.0, -0.0, 1.0, -1.5, 3.75, -100.25, math.inf, -math.inf, math.nan, 3.4e38, 2.0**-126])
EDGE_MANTISSAS, EDGE_EXPONENTS = torch.tensor([math.frexp(x) for x in EDGES.tolist()]).unbind(1)
EDGE_FRACTIONS, EDGE_WHOLE = torch.tensor([math.modf(x) for x in EDGES.tolist()]).unbind(1)


def functor(folder: Path, text: str) -> Any:
    """The functor `f` of a module."""
    return toolbox.load(folder, f"import typing\nfrom pymetal import ComplexOf, Complex, Real\n{text}").f


# A unary functor's body and annotation, and its results at X by torch.
RETURNS: dict[str, tuple[str, str, tuple[torch.Tensor, ...]]] = {
    "a tuple": ("tuple[T, T]", "return x, -x", (X, -X)),
    "a quoted annotation": ("'tuple[T, T]'", "return (x, -x)", (X, -X)),
    "a quoted element": ("tuple['T', T]", "return (x, -x)", (X, -X)),
    "typing": ("typing.Tuple[T, T]", "return x, -x", (X, -X)),
    "three types": ("tuple[T, pymetal.int32, bool]", "return x, pymetal.int32(x), x > 0", (X, X.int(), X > 0)),
    "four": ("tuple[T, T, T, T]", "return x, x + 1, x + 2, x + 3", (X, X + 1, X + 2, X + 3)),
    "numbers": ("tuple[T, pymetal.int32]", "return 1, 2", (torch.ones(3), torch.full((3,), 2, dtype=torch.int32))),
    "divmod": ("tuple[T, T]", "return divmod(x, 2)", (torch.floor_divide(X, 2), X % 2)),
    "frexp": ("tuple[T, pymetal.int32]", "return math.frexp(x)", (EDGE_MANTISSAS, EDGE_EXPONENTS)),
    "torch's frexp": (
        "tuple[T, pymetal.int32]", "m, e = torch.frexp(x)\n    return m, e", (EDGE_MANTISSAS, EDGE_EXPONENTS)
    ),
    "max and min of constants and NaN": (
        "tuple[T, T, T, T]",
        "return max(2.0, math.nan, x), min(2, math.nan) + x, max(x, math.nan, 2.0), T(min(math.nan, 2.0, x))",
        (torch.full((3,), math.nan),) * 4,
    ),
    "a remainder of constants": (
        "tuple[T, T]", "return 1 / T(6.0 % -3.0) + x, 1 / T(-6.0 % 3.0) + x",
        (torch.full((3,), math.inf), torch.full((3,), -math.inf)),
    ),
    "modf": ("tuple[T, T]", "return math.modf(x)", (EDGE_FRACTIONS, EDGE_WHOLE)),
    "numpy's modf in a plain function": ("tuple[T, T]", "return split(x)", (EDGE_FRACTIONS, EDGE_WHOLE)),
    "a choice": (
        "tuple[T, T]", "return (x, -x) if x > 0 else (-x, x) if x < 0 else (T(7), x)",
        (torch.tensor([2.5, 7, 3.5]), torch.tensor([-2.5, 0, -3.5])),
    ),
    "a choice between calls": (
        "tuple[T, T]", "return parts(x) if x > 3 else divmod(x, 2) if x < 0 else (x, x)",
        (torch.tensor([-2.0, 0, 3]), torch.tensor([1.5, 0, 0.5])),
    ),
    "a choice that is unpacked": (
        "tuple[T, T]",
        "low, high = (x, T(1)) if x < 1 else (T(1), x)\n"
        "    low, high = (high, low) if x > 3 else divmod(low, 2)\n    return low, high",
        (torch.tensor([-2, 0, 3.5]), torch.tensor([1.5, 0, 1])),
    ),
    "branches": (
        "tuple[T, T]",
        "if x > 0:\n        return x, x + 1\n    y = x * 2\n    return y, y - 1",
        (torch.tensor([-5, 0, 3.5]), torch.tensor([-6, -1, 4.5])),
    ),
    "a functor's results": ("tuple[T, T]", "return parts(x)", (torch.floor(X), X - torch.floor(X))),
    "a helper's results": ("tuple[T, T]", "return halves(x * 2)", (X, 2 - X)),
    "unpacked results": (
        "tuple[T, T]",
        "a, b = parts(x)\n    c, d = halves(b)\n    return a + c, d",
        (torch.floor(X) + (X % 1) / 2, 2 - (X % 1) / 2),
    ),
    "one of them": ("tuple[T, T]", "return parts(x)[1], divmod(x, 2)[-2]", (X - torch.floor(X), X // 2)),
    "a loop": (
        "tuple[T, T]",
        "low, high = x, x\n    for i in range(3):\n        low, high = min(low, T(i)), max(high, T(i))\n"
        "    return low, high",
        (torch.tensor([-2.5, 0, 0]), torch.tensor([2, 2, 3.5])),
    ),
}  # fmt: skip

CALLED = """
import numpy

def split(x):
    return numpy.modf(x)

@pymetal.unary(dtypes="floating")
def parts(x: T) -> tuple[T, T]:
    whole = metal.floor(x)
    return whole, x - whole

@pymetal.func
def halves(x: Floating, *, other: Floating = 2) -> tuple[Floating, Floating]:
    half = x / 2
    return half, other - half

"""


@pytest.mark.parametrize("name", RETURNS)
def test_values(name: str, tmp_path: Path) -> None:
    annotation, body, expected = RETURNS[name]
    f = functor(tmp_path, f'{CALLED}@pymetal.unary(dtypes="floating")\ndef f(x: T) -> {annotation}:\n    {body}\n')
    x = X if len(expected[0]) == len(X) else EDGES
    actual = f.reference(x)
    assert len(actual) == len(f.results) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        toolbox.assert_equal(one, other.to(one.dtype), [x])
    assert [r.name for r in f.results] == [f"f_{k}" for k in range(len(expected))]
    for result, other in zip(f.results, expected, strict=True):
        toolbox.assert_equal(result.reference(x), other.to(result.reference(x).dtype), [x])


def test_the_text_has_what_a_result_needs(tmp_path: Path) -> None:
    """Also where the rest is assigned in loops and branches; what both need stands once before them."""
    f = functor(
        tmp_path,
        """
TABLE = (3, 1, 2)

@pymetal.func
def square(x: Floating) -> Floating:
    return x * x

@pymetal.unary(dtypes="floating")
def f(x: T) -> tuple[T, pymetal.int32]:
    \"""The nearest.\"""
    best, at, steps = square(x), 0, 0
    for i in range(3):
        distance = square(x - TABLE[i])
        if distance < best:
            best, at = distance, i
        if distance == 0:
            break
        while steps < 3:
            steps += 1
    return best, pymetal.int32(steps)
""",
    )
    assert_formatted_text(
        f.functor_source,
        """template <typename T>
inline T square(const T x) {
  return x * x;
}

constant int f_0_TABLE[] = {3, 1, 2};

// The nearest.
// Result 0 of f.
struct f_0_functor {
  template <typename T>
  inline T operator()(const T x) {
    T best = square(x);
    for (int i = 0; i < 3; i++) {
      const T distance = square(x - static_cast<T>(f_0_TABLE[i]));
      if (distance < best) {
        best = distance;
      }
      if (distance == T(0)) {
        break;
      }
    }
    return best;
  }
};

constant int f_1_TABLE[] = {3, 1, 2};

// The nearest.
// Result 1 of f.
struct f_1_functor {
  template <typename T>
  inline int operator()(const T x) {
    int steps = 0;
    for (int i = 0; i < 3; i++) {
      const T distance = square(x - static_cast<T>(f_1_TABLE[i]));
      if (distance == T(0)) {
        break;
      }
      while (steps < 3) {
        steps = int(uint(steps) + 1);
      }
    }
    return int(steps);
  }
};
""",
    )


def test_overloads_and_facts(tmp_path: Path) -> None:
    f = functor(
        tmp_path,
        """
@pymetal.unary
def f(x: T) -> tuple[T, T]:
    if pymetal.is_integral(T):
        return x, x // 2
    return x, x / 2

@f.overload
def f(z: Complex) -> tuple[Complex, Complex]:
    return z, metal.conj(z)
""",
    )
    assert torch.bool in f.left_out
    assert torch.complex64 in f.dtypes
    assert f.dtypes == f.results[0].dtypes == f.results[1].dtypes
    z = torch.tensor([1 + 2j])
    assert torch.equal(f.reference(z)[1], z.conj().resolve_conj())
    assert f.reference(torch.tensor([5]))[1].tolist() == [2]
    assert f.reference(torch.tensor([5.0]))[1].tolist() == [2.5]
    assert repr(f).startswith("<pymetal.unary f")


def test_a_dtype_is_served_if_all_results_have_a_meaning(tmp_path: Path) -> None:
    text = "@pymetal.binary{}\ndef f(a: T, b: T) -> tuple[T, T]:\n    return a & b, a - b\n"
    f = functor(tmp_path, text.format(""))
    assert f.dtypes == (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8)
    assert set(f.left_out) == {torch.float32, torch.float16, torch.bfloat16, torch.bool}
    assert f.results[1].left_out == f.left_out
    assert all(r.ir.domain == f.results[0].ir.domain for r in f.results)
    for dtypes in ("bool", "floating"):
        with pytest.raises(PyMetalError, match="PM021"):
            functor(tmp_path, text.format(f'(dtypes="{dtypes}")'))
    with pytest.raises(PyMetalError, match="PM021"):  # nothing is left
        functor(
            tmp_path,
            text.format("").replace("a & b", "a & 1 if a < b else 1").replace("a - b", "metal.sin(a) - (a & 1)"),
        )


def test_promotion_kinds(tmp_path: Path) -> None:
    def make(kind: str, annotation: str, body: str, dtypes: str = "None") -> Any:
        return functor(
            tmp_path,
            f'@pymetal.unary(promotion="{kind}", dtypes={dtypes})\ndef f(x: T) -> {annotation}:\n    return {body}\n',
        )

    whole = torch.tensor([1, 4])
    root, half = make("int_to_float", "tuple[T, T]", "metal.sqrt(x), x / 2").reference(whole)
    assert (root.dtype, half.tolist()) == (torch.float32, [0.5, 2.0])
    positive, zero = make("always_bool", "tuple[bool, bool]", "x > 0, x == 0").reference(whole)
    assert (positive.tolist(), zero.dtype) == ([True, True], torch.bool)
    size, real = make(
        "complex_to_float",
        "tuple[RealOf[T], RealOf[T]]".replace("RealOf", "pymetal.RealOf"),
        "abs(x), x.real",
        "'complex'",
    ).reference(torch.tensor([3 + 4j]))
    assert (size.tolist(), real.tolist()) == ([5.0], [3.0])
    with pytest.raises(
        PyMetalError, match=r"PM010: promotion='always_bool' gives a result of type torch.bool .*annotation is T"
    ):
        make("always_bool", "tuple[bool, T]", "x > 0, x")
    with pytest.raises(PyMetalError, match="PM010: promotion='int_to_float'"):
        make("int_to_float", "tuple[T, pymetal.int32]", "x, 1")


HEAD = '@pymetal.unary(dtypes="floating")\n'
COUNT = "this returns 1 value but the annotation of f has 2 results"
# The annotation and the body of a unary functor, and the message.
REFUSED: dict[str, tuple[str, str, str]] = {
    "one value": ("tuple[T, T]", "return x", f"PM066: {COUNT}"),
    "three values": ("tuple[T, T]", "return x, x, x", "PM066: this returns 3 values"),
    "one in a choice": ("tuple[T, T]", "return (x, x) if x > 0 else x", f"PM066: {COUNT}"),
    "another count in a choice": (
        "tuple[T, T, T]", "return (x, x, x) if x > 0 else parts(x)", "PM066: this returns 2 values",
    ),
    "results of another count": ("tuple[T, T, T]", "return parts(x)", "PM066: this returns 2 values"),
    "three for one": ("T", "return x, x, x", "Annotate the function with `-> tuple[T, T, T]`."),
    "unpacking": ("tuple[T, T]", "return *x, x", "PM032: `*` unpacking cannot become Metal"),
    "one type": ("tuple[T]", "return x", "PM065: `tuple[T]` does not name the types"),
    "nine types": (f"tuple[{', '.join(['T'] * 9)}]", "return x", "PM065: `tuple[T, T, T, T, T, T, T, T, T]`"),
    "a nested tuple": ("tuple[tuple[T, T], T]", "return (x, x), x", "PM006: tuple[T, T] is not a type"),
    "a list": ("list[T]", "return [x, x]", "PM006: list[T] is not a type"),
    "another type": ("tuple[T, pymetal.int32]", "return x, x", "PM024: this returns T (torch.float32, "),
    "a call as one value": (
        "T", "return parts(x) + 1", "PM032: parts(), which has several results, here cannot become Metal",
    ),
    "a call unpacked wrongly": (
        "T", "a, b, c = parts(x)\n    return a", "PM049: cannot unpack 2 values into 3 names",
    ),
    "an index": ("T", "return parts(x)[2]", "PM041: 2 is outside the 2 elements of parts(x)"),
    "a choice unpacked wrongly": (
        "T", "a, b = (x, x) if x > 0 else (x, x, x)\n    return a", "PM049: cannot unpack 3 values into 2 names",
    ),
    "an operand missing": ("T", "a, b = parts()\n    return a", "PM017: parts takes 1 argument"),
    "recursion": ("tuple[T, T]", "a, b = f(x)\n    return a, b", "PM038: 'f' calls itself"),
    "an overload with another count": (
        "tuple[T, T]",
        "return x, x\n@f.overload\ndef f(x: Integral) -> tuple[T, T, T]:\n    return x, x, x",
        "PM051: this body takes 1 tensor for 3 results but f takes 1 tensor for 2 results",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    annotation, body, message = REFUSED[name]
    with pytest.raises(PyMetalError) as caught:
        functor(tmp_path, f"{CALLED}{HEAD}def f(x: T) -> {annotation}:\n    {body}\n")
    assert message in str(caught.value)
    assert caught.value.span is not None


def test_a_helper_s_overload_has_as_many_results(tmp_path: Path) -> None:
    text = (
        "@pymetal.func\ndef f(x: Floating) -> tuple[Floating, Floating]:\n    return x, x\n"
        "@f.overload\ndef f(x: Integral) -> Integral:\n    return x\n"
    )
    with pytest.raises(PyMetalError, match="takes arguments for 1 result but f takes arguments for 2 results"):
        functor(tmp_path, text)


def test_two_helpers_of_one_name(tmp_path: Path) -> None:
    """Each result calls one: they are told apart in the text of both."""
    text = "@pymetal.func\ndef scale(x: Floating) -> Floating:\n    return x * {}\n"
    other = toolbox.load(tmp_path, text.format(3)).scale
    own = toolbox.load(
        tmp_path,
        f"{text.format(2)}def make(other):\n{HEAD.replace('@', '    @')}"
        "    def f(x: T) -> tuple[T, T]:\n        return scale(x), other(x)\n    return f\n",
    )
    f = own.make(other)
    assert "scale_1(const T x) {\n  return x * T(3);" in f.functor_source
    assert [r.tolist() for r in f.reference(torch.ones(1))] == [[2], [3]]
    assert "scale_1(x)" in f.metal_source


def test_files_with_several_functors(tmp_path: Path) -> None:
    f = functor(tmp_path, f"{CALLED}f = parts\n")
    text = pymetal.emit([f], tmp_path / "parts.metal")
    assert text == f.metal_source
    assert [line for line in text.splitlines() if "float, float" in line] == [
        "REGISTER_UNARY_OP(parts_0, float, float);", "REGISTER_UNARY_OP(parts_1, float, float);",
    ]  # fmt: skip
    other = functor(tmp_path, f"{HEAD}def parts_1(x: T) -> T:\n    return x\nf = parts_1\n")
    with pytest.raises(CallError, match="two functors are called parts_1"):
        pymetal.emit([f, other], tmp_path / "both.metal")
