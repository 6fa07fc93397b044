"""Operators have Python's and torch's meaning at every value: all pairs of 8-bit integers, extremes, and float edges.

The expected values are Python's own, on Python integers wrapped to the width and on floats.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scalars
import toolbox
import torch

import pymetal
from pymetal import Functor, T, metal

Tensor = torch.Tensor


@pymetal.binary(dtypes="integral")
def add(a: T, b: T) -> T:
    return a + b


@pymetal.binary(dtypes="integral")
def subtract(a: T, b: T) -> T:
    return a - b


@pymetal.binary(dtypes="integral")
def multiply(a: T, b: T) -> T:
    return a * b


@pymetal.binary(dtypes=("floating", "integral"))
def floor_divide(a: T, b: T) -> T:
    return a // b


@pymetal.binary(dtypes=("floating", "integral"))
def modulo(a: T, b: T) -> T:
    return a % b


@pymetal.binary(dtypes="integral")
def power(a: T, b: T) -> T:
    return a**b


@pymetal.binary(dtypes="integral")
def shift_left(a: T, b: T) -> T:
    return a << b


@pymetal.binary(dtypes="integral")
def shift_right(a: T, b: T) -> T:
    return a >> b


@pymetal.binary(dtypes="integral")
def bit_and(a: T, b: T) -> T:
    return a & b


@pymetal.binary(dtypes="integral")
def bit_or(a: T, b: T) -> T:
    return a | b


@pymetal.binary(dtypes="integral")
def bit_xor(a: T, b: T) -> T:
    return a ^ b


@pymetal.binary(dtypes="integral")
def least(a: T, b: T) -> T:
    return min(a, b)


@pymetal.binary(dtypes="integral")
def greatest(a: T, b: T) -> T:
    return max(a, b)


@pymetal.binary(dtypes="integral")
def quotient_and_rest(a: T, b: T) -> T:
    q, r = divmod(a, b)
    return q * 3 + r


@pymetal.binary(dtypes="integral")
def ordered(a: T, b: T) -> T:
    """All six comparisons, one bit each."""
    return T(a < b) + T(a <= b) * 2 + T(a > b) * 4 + T(a >= b) * 8 + T(a == b) * 16 + T(a != b) * 32


@pymetal.unary(dtypes="integral")
def negative(x: T) -> T:
    return -x


@pymetal.unary(dtypes="integral")
def inverted(x: T) -> T:
    return ~x


@pymetal.unary(dtypes="integral")
def absolute(x: T) -> T:
    return abs(x)


@pymetal.unary(dtypes="integral")
def unchanged(x: T) -> T:
    return +round(x)


def _power(a: int, b: int) -> int:
    """A negative exponent gives the integer part of the fraction; 0 to a negative power is 0."""
    return a**b if b >= 0 else {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)


def _floor_divide(a: int, b: int) -> int:
    return a // b if b else -(a < 0)


def _modulo(a: int, b: int) -> int:
    return a % b if b else a


def _shift_left(bits: int) -> Callable[[int, int], int]:
    """A count outside 0 to the width moves everything out."""
    return lambda a, b: a << b if 0 <= b < bits else 0


def _shift_right(bits: int) -> Callable[[int, int], int]:
    return lambda a, b: a >> b if 0 <= b < bits else -(a < 0)


def _ordered(a: int, b: int) -> int:
    return (a < b) + (a <= b) * 2 + (a > b) * 4 + (a >= b) * 8 + (a == b) * 16 + (a != b) * 32


def binaries(bits: int) -> dict[Functor, Callable[[int, int], int]]:
    return {
        add: operator.add, subtract: operator.sub, multiply: operator.mul, floor_divide: _floor_divide,
        modulo: _modulo, power: _power, shift_left: _shift_left(bits), shift_right: _shift_right(bits),
        bit_and: operator.and_, bit_or: operator.or_, bit_xor: operator.xor, least: min, greatest: max,
        quotient_and_rest: lambda a, b: _floor_divide(a, b) * 3 + _modulo(a, b), ordered: _ordered,
    }  # fmt: skip


UNARIES: dict[Functor, Callable[[int], int]] = {
    negative: operator.neg, inverted: operator.invert, absolute: abs, unchanged: operator.pos,
}  # fmt: skip
# torch's own operators, where the divisor is not zero and the quotient fits.
TORCH: dict[Functor, Callable[..., Tensor]] = {
    add: torch.add, subtract: torch.sub, multiply: torch.mul, modulo: torch.remainder, bit_and: torch.bitwise_and,
    floor_divide: lambda a, b: torch.div(a, b, rounding_mode="floor"), bit_or: torch.bitwise_or,
    bit_xor: torch.bitwise_xor, least: torch.minimum, greatest: torch.maximum,
    shift_left: torch.bitwise_left_shift, shift_right: torch.bitwise_right_shift,
}  # fmt: skip


def expected(function: Callable[..., int], dtype: torch.dtype, *inputs: Tensor) -> Tensor:
    """Python's results, wrapped to the width."""
    name = str(dtype).removeprefix("torch.")
    values = [scalars.wrap(function(*v), name) for v in zip(*(t.tolist() for t in inputs), strict=True)]
    return torch.tensor(values, dtype=dtype)


def pairs(dtype: torch.dtype) -> list[Tensor]:
    """Every pair of an 8-bit type; of a wider one, of its edge values and of random ones."""
    if dtype.itemsize == 1:
        info = torch.iinfo(dtype)
        all_ = torch.arange(info.min, info.max + 1)
        return [all_.repeat_interleave(256).to(dtype), all_.repeat(256).to(dtype)]
    a, b = toolbox.operands(dtype, 2, 200)
    count = torch.arange(len(a)) % (8 * dtype.itemsize + 3) - 1  # as shift counts and exponents
    return [torch.cat([a, a]), torch.cat([b, count.to(dtype)])]


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "int32", "int64"])
def test_integers(name: str) -> None:
    dtype = getattr(torch, name)
    a, b = pairs(dtype)
    with toolbox.batch("ieee"):
        cases = binaries(8 * dtype.itemsize)
        for functor in cases:
            functor.jit_source(a, b)
        for functor in UNARIES:
            functor.jit_source(a)
        for functor, python in cases.items():
            if functor is power and dtype.itemsize > 1:
                python = _bounded_power  # a ** b itself would be astronomical
            wanted = expected(python, dtype, a, b)
            toolbox.assert_equal(functor(a, b), wanted, (a, b))
            toolbox.assert_equal(functor.reference(a, b), wanted, (a, b))
            if functor in TORCH:
                fits = torch.ones_like(a, dtype=torch.bool)
                if functor in (floor_divide, modulo):
                    fits = (b != 0) & ~((b == -1) & (a == torch.iinfo(dtype).min))
                if functor in (shift_left, shift_right):
                    fits = (b >= 0) & (b < 8 * dtype.itemsize)
                toolbox.assert_equal(wanted[fits], TORCH[functor](a[fits], b[fits]))
        for unary, python_unary in UNARIES.items():
            wanted = expected(python_unary, dtype, a)
            toolbox.assert_equal(unary(a), wanted, (a,))
            toolbox.assert_equal(unary.reference(a), wanted, (a,))


def _bounded_power(a: int, b: int) -> int:
    return pow(a, b, 1 << 64) if b >= 0 else _power(a, b)


# --- integers of types that are named one by one ---------------------------------------------------------------------


@pymetal.binary(dtypes=(torch.uint16, torch.uint32, torch.uint64))
def of_unsigned(a: T, b: T) -> T:
    """Every operator, folded into one number."""
    total = (a + b) * 3 - (a ^ b) + (a & 7) + (a | b) + ~b
    total += a // b * 5 + a % b + (a << (b & 15)) + (a >> (b & 15)) + (a >> b) + a**3
    return total + min(a, b) * 7 + max(a, b) + T(a < b) + T(a >= b) * 2 + abs(a) - (-b)


def _of_unsigned(bits: int) -> Callable[[int, int], int]:
    top = (1 << bits) - 1

    def apply(a: int, b: int) -> int:
        total = (a + b) * 3 - (a ^ b) + (a & 7) + (a | b) + (~b & top)
        total += _floor_divide(a, b) * 5 + _modulo(a, b) + (a << (b & 15)) + (a >> (b & 15))
        total += (a >> b if b < bits else 0) + a**3
        return total + min(a, b) * 7 + max(a, b) + (a < b) + (a >= b) * 2 + a - (-b & top)

    return apply


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_wide_unsigned_integers(name: str) -> None:
    bits = scalars.BITS[name]
    some = [0, 1, 2, 3, 7, 15, 16, 31, 100, 1 << (bits // 2), (1 << (bits - 1)) - 1, 1 << (bits - 1), (1 << bits) - 2]
    values = [*some, (1 << bits) - 1]
    rows = list(itertools.product(values, values))
    dtype = getattr(torch, name)
    a, b = (torch.tensor([row[k] for row in rows], dtype=dtype) for k in (0, 1))
    wanted = [_of_unsigned(bits)(*row) & ((1 << bits) - 1) for row in rows]
    assert of_unsigned.reference(a, b).tolist() == wanted
    assert of_unsigned(a, b).tolist() == wanted


# --- floats ----------------------------------------------------------------------------------------------------------


def float_pairs() -> list[Tensor]:
    """Edge values, neighbours of multiples, and random pairs near one another."""
    a, b = toolbox.operands(torch.float32, 2, 2000)
    multiples = torch.tensor([k * s for k in (1, 2, 3, 7, 10, 100) for s in (0.1, 0.3, 1.0, -0.7, 3e-39, 1e30)])
    near = torch.cat([multiples, torch.nextafter(multiples, multiples * 0), torch.nextafter(multiples, multiples * 2)])
    steps = torch.tensor([0.1, 0.3, 1.0, -0.7, 3e-39, 1e30])
    return [torch.cat([a, near.repeat_interleave(6)]), torch.cat([b, steps.repeat(len(near))])]


def test_float_division_is_python_s() -> None:
    """`//` and `%` of float32 are what Python's own algorithm gives in float32 arithmetic."""
    a, b = float_pairs()
    x, y = a.numpy(), b.numpy()
    with np.errstate(all="ignore"):
        quotients = torch.tensor([np.float32(p) // np.float32(q) for p, q in zip(x, y, strict=True)])
        rests = torch.tensor([np.float32(p) % np.float32(q) for p, q in zip(x, y, strict=True)])
    with toolbox.batch("ieee"):
        floor_divide.jit_source(a, b)
        modulo.jit_source(a, b)
        toolbox.assert_equal(floor_divide(a, b), quotients, (a, b))
        toolbox.assert_equal(modulo(a, b), rests, (a, b))
    toolbox.assert_equal(floor_divide.reference(a, b), quotients, (a, b))
    toolbox.assert_equal(modulo.reference(a, b), rests, (a, b))


def test_float_division_against_exact_arithmetic() -> None:
    """Python's `//` and `%` of the same numbers as doubles, wherever the quotient is an integer that float32 has."""
    a, b = float_pairs()
    rows = [(p, q) for p, q in zip(a.tolist(), b.tolist(), strict=True) if math.isfinite(p) and q and math.isfinite(q)]
    rows = [(p, q) for p, q in rows if abs(p / q) < 1 << 22]
    a, b = (torch.tensor([row[k] for row in rows]) for k in (0, 1))
    assert len(rows) > 1000
    toolbox.assert_equal(floor_divide.reference(a, b), torch.tensor([p // q for p, q in rows]), (a, b))
    # The remainder of a divisor of the other sign is rounded: rest + b.
    toolbox.assert_equal(modulo.reference(a, b), torch.tensor([p % q for p, q in rows]), (a, b), ulp=1)


def test_float_division_by_zero_and_infinity() -> None:
    """As torch.div(rounding_mode="floor") and torch.remainder, which agree with Python where Python does not raise."""
    inf, nan = math.inf, math.nan
    a = torch.tensor([1.0, -1.0, 0.0, 5.0, -5.0, inf, nan, 5.0])
    b = torch.tensor([0.0, 0.0, 0.0, inf, inf, 2.0, 2.0, -inf])
    wanted_quotient = torch.tensor([inf, -inf, nan, 0.0, -1.0, nan, nan, -1.0])
    wanted_rest = torch.tensor([nan, nan, nan, 5.0, inf, nan, nan, -inf])
    for functor, wanted in ((floor_divide, wanted_quotient), (modulo, wanted_rest)):
        toolbox.assert_equal(functor(a, b), wanted, (a, b))
        toolbox.assert_equal(functor.reference(a, b), wanted, (a, b))
    assert 5.0 // inf == 0.0
    assert -5.0 // inf == -1.0
    assert -5.0 % inf == inf


@pymetal.unary(dtypes="floating")
def rounded(x: T) -> T:
    return round(x)


def test_round_is_half_to_even() -> None:
    x = torch.tensor([k / 4 for k in range(-40, 41)] + [2.0**23 + 1, -(2.0**23) - 1, 1e30, math.inf, -math.inf])
    wanted = torch.tensor([float(round(v)) if math.isfinite(v) else v for v in x.tolist()])
    toolbox.assert_equal(rounded(x), wanted, (x,))
    toolbox.assert_equal(rounded.reference(x), wanted, (x,))


@pymetal.binary(dtypes="floating")
def float_least(a: T, b: T) -> T:
    return min(a, b)


@pymetal.binary(dtypes="floating")
def float_greatest(a: T, b: T) -> T:
    return max(a, b)


@pytest.mark.parametrize("dtype", toolbox.FLOATS)
def test_min_and_max_propagate_nan(dtype: torch.dtype) -> None:
    a, b = toolbox.operands(dtype, 2, 50)
    for functor, function, torch_s in ((float_least, min, torch.minimum), (float_greatest, max, torch.maximum)):
        rows = zip(a.tolist(), b.tolist(), strict=True)
        wanted = torch.tensor([p + q if p != p or q != q else function(p, q) for p, q in rows]).to(dtype)
        with toolbox.batch("ieee"):
            toolbox.assert_equal(functor(a, b), wanted, (a, b))
        toolbox.assert_equal(functor.reference(a, b), wanted, (a, b))
        toolbox.assert_equal(wanted, torch_s(a, b))


@pymetal.binary(dtypes="floating")
def float_power(a: T, b: T) -> T:
    return a**b


def test_float_power_is_torch_pow() -> None:
    """Special values exactly; others within 2 units in the last place of the exact power, which is a double's."""
    a, b = toolbox.operands(torch.float32, 2, 300)
    exact = torch.pow(a.double(), b.double()).float()
    toolbox.assert_equal(float_power.reference(a, b), exact, (a, b), ulp=2)
    with toolbox.batch("ieee"):
        toolbox.assert_equal(float_power(a, b), exact, (a, b), ulp=2)


# --- literals beside operands ----------------------------------------------------------------------------------------

LITERALS: tuple[Any, ...] = (2, -3, 0.5, True)
MIXED = ("x + {n}", "{n} + x", "x - {n}", "{n} - x", "x * {n}", "x / {n}", "{n} / (x + x + {n})")


def test_literals_give_way_as_in_torch(tmp_path: Any) -> None:
    """Each operator with each kind of literal, at each dtype that torch gives a result of one dtype."""
    texts, cases = [], []
    # torch subtracts no truth values.
    mixed = [(p, n) for p, n in itertools.product(MIXED, LITERALS) if "-" not in p or n is not True]
    for number, (pattern, n) in enumerate(mixed):
        expression = pattern.format(n=n)
        promotion = "int_to_float" if isinstance(n, float) or "/" in expression else "default"
        texts.append(
            f'@pymetal.unary(dtypes=("floating", "integral"), promotion="{promotion}")\n'
            f"def f{number}(x: T) -> T:\n    return {expression}\n\n"
        )
        # `number / tensor` multiplies by a reciprocal: torch divides when both are tensors.
        cases.append((expression, pattern.format(n="n"), torch.tensor(n)))
    unfit = [i for i, (c, _, _) in enumerate(cases) if "-3" in c]  # -3 does not fit uint8
    texts = [t.replace('"integral"', '"integral"' if i not in unfit else "*SIGNED") for i, t in enumerate(texts)]
    head = "SIGNED = (torch.int64, torch.int32, torch.int16, torch.int8)\n"
    module = toolbox.load(tmp_path, head + "".join(texts))
    with toolbox.batch("ieee"):
        runs = []
        for number, (_, expression, literal) in enumerate(cases):
            functor = getattr(module, f"f{number}")
            for dtype in functor.ir.domain:
                x = toolbox.edges(dtype.torch)
                functor.jit_source(x)
                runs.append((functor, expression, literal, x))
        for functor, expression, literal, x in runs:
            # Under int_to_float a body sees float32s.
            seen = x if x.is_floating_point() or "int_to_float" not in functor.promotion.name else x.float()
            wanted = eval(expression, {"x": seen, "n": literal})
            toolbox.assert_equal(functor.reference(x), wanted, (x,))
            toolbox.assert_equal(functor(x), wanted, (x,))


# --- truth -----------------------------------------------------------------------------------------------------------

CONDITIONS = (
    "0 < a < b", "a < b < 3", "a == b != 2", "a <= b >= 1 < 3", "a < 1 and b < 2", "a < 1 or b < 2",
    "not a < b", "not (a < 1 and b < 1)", "a < 1 or b < 1 and a < b", "(a < 1 or b < 1) and a < b",
    "a < b if a > 0 else b > 1", "(a < b) == (b < 2)", "(a < b) != (a < 2)", "(a < 1) & (b < 1)", "(a < 1) ^ (b < 1)",
    "True and a < b", "a < b or False", "1 < 2 < 3 and a < b", "bool(a) and not bool(b)",
)  # fmt: skip


def test_conditions_are_python_s(tmp_path: Any) -> None:
    texts = [
        '@pymetal.binary(promotion="always_bool", dtypes=torch.int32)\n'
        f"def f{i}(a: T, b: T) -> bool:\n    return {c}\n\n"
        for i, c in enumerate(CONDITIONS)
    ]
    module = toolbox.load(tmp_path, "".join(texts))
    grid = list(itertools.product(range(-2, 5), repeat=2))
    a, b = (torch.tensor([row[k] for row in grid], dtype=torch.int32) for k in (0, 1))
    with toolbox.batch():
        for i in range(len(CONDITIONS)):
            getattr(module, f"f{i}").jit_source(a, b)
        for i, condition in enumerate(CONDITIONS):
            wanted = [bool(eval(condition, {"a": p, "b": q})) for p, q in grid]
            functor = getattr(module, f"f{i}")
            assert functor(a, b).tolist() == wanted, condition
            assert functor.reference(a, b).tolist() == wanted, condition


@pymetal.binary(dtypes="integral")
def guarded(a: T, b: T) -> T:
    """The right side of `and` divides; where the left side does not hold, nothing comes of it."""
    if b != 0 and a // b > 2:
        return a % b
    return a if b == 0 or a % b == 0 else b


def test_short_circuit() -> None:
    a, b = pairs(torch.int8)

    def python(p: int, q: int) -> int:
        if q != 0 and scalars.wrap(p // q, "int8") > 2:
            return p % q
        return p if q == 0 or p % q == 0 else q

    wanted = expected(python, torch.int8, a, b)
    toolbox.assert_equal(guarded(a, b), wanted, (a, b))
    toolbox.assert_equal(guarded.reference(a, b), wanted, (a, b))


# --- the text --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("functor", "text"),
    [
        (floor_divide, "c10::metal::floor_divide(a, b)"), (modulo, "c10::metal::remainder(a, b)"),
        (least, "c10::metal::min(a, b)"), (greatest, "c10::metal::max(a, b)"), (float_least, "c10::metal::min(a, b)"),
        (power, "c10::metal::pow(a, b)"), (rounded, "metal::rint("),
    ],
    ids=lambda v: getattr(v, "name", ""),
)  # fmt: skip
def test_the_right_helper_is_printed(functor: Functor, text: str) -> None:
    assert text in functor.functor_source


@pytest.mark.parametrize("functor", [*binaries(8), *UNARIES, float_least, float_greatest, rounded])
def test_no_integer_goes_through_float_and_no_bare_function_is_printed(functor: Functor) -> None:
    source = functor.functor_source
    for overload in source.split("template <typename T, enable_if_t<is_integral_v<T>")[1:]:
        assert "float" not in overload.split("}")[0]
    assert " metal::min(" not in source
    assert " metal::max(" not in source
    assert "floor(a / b)" not in source


def test_arguments_of_templates_have_the_element_type() -> None:
    """`a & b` of two chars is an int in C++, and would choose another template, or none."""

    @pymetal.binary(dtypes="integral")
    def f(a: T, b: T) -> T:
        return max(a & b, a) + ((a | b) >> (b ^ a)) + abs(~a)

    assert "c10::metal::max(static_cast<T>(a & b), a)" in f.functor_source
    a, b = pairs(torch.int8)
    wanted = expected(
        lambda p, q: max(p & q, p) + _shift_right(8)(p | q, q ^ p) + scalars.wrap(abs(~p), "int8"), torch.int8, a, b
    )
    toolbox.assert_equal(f(a, b), wanted, (a, b))


def test_a_remainder_by_a_subnormal_is_exact() -> None:
    """torch's own vectorised fmod gives NaN here."""
    a, b = torch.full((64,), 2.0), torch.full((64,), 3e-39)
    wanted = math.fmod(2.0, b[0].item())
    assert modulo.reference(a, b).tolist() == [wanted] * 64
    with toolbox.batch("ieee"):
        assert modulo(a, b).tolist() == [wanted] * 64


def test_patterns_keep_the_precedence_of_their_operands() -> None:
    """A conditional beside `!=` in the text of a complex comparison, and the conjugate of a real sum."""

    @pymetal.binary(dtypes="complex", promotion="always_bool")
    def differ(a: T, b: T) -> bool:
        return a != (b if a == b else a)

    @pymetal.binary(dtypes="floating")
    def scaled_sum(a: T, b: T) -> T:
        return metal.conj(a + b) * b

    z, w = torch.tensor([1 + 2j, 3 - 1j]), torch.tensor([1 + 2j, 2j])
    assert differ(z, w).tolist() == [False, False]
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])
    assert scaled_sum(x, y).tolist() == [12.0, 35.0]
