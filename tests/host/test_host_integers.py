"""Integer division, remainder, shifts and conversions where C++ has no answer: the values that guarded.h promises."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from host_helper import METAL, evaluate

INTEGERS = {
    torch.int8: (8, True), torch.uint8: (8, False), torch.int16: (16, True), torch.uint16: (16, False),
    torch.int32: (32, True), torch.uint32: (32, False), torch.int64: (64, True), torch.uint64: (64, False),
}  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYMETAL_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "host-cache"))


def wrap(value: int, bits: int, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def divide(x: int, y: int) -> int:
    if y == 0:
        return 0
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def remainder(x: int, y: int) -> int:
    return x if y == 0 else x - y * divide(x, y)


def pairs(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    bits, signed = INTEGERS[dtype]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    values = sorted({low, low + 1, -1 if signed else 1, 0, 1, 2, 3, 7, 100, high - 1, high})
    a = torch.tensor([x for x in values for _ in values], dtype=dtype)
    b = torch.tensor([y for _ in values for y in values], dtype=dtype)
    return a, b


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_every_division_has_a_value(dtype: torch.dtype) -> None:
    bits, signed = INTEGERS[dtype]
    a, b = pairs(dtype)
    name = METAL[dtype]
    preamble = (
        f"{name} by({name} x, {name} y) {{ x /= y; return x; }} {name} mod({name} x, {name} y) {{ x %= y; return x; }}"
    )
    for expression, reference in {
        "a / b": divide, "a % b": remainder, "by(a, b)": divide, "mod(a, b)": remainder,
    }.items():  # fmt: skip
        got = evaluate(expression, a, b, output=dtype, preamble=preamble).tolist()
        for x, y, z in zip(a.tolist(), b.tolist(), got, strict=True):
            assert z == wrap(reference(x, y), bits, signed), f"{expression} of {x}, {y}"


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_shift_counts_are_masked(dtype: torch.dtype) -> None:
    bits, signed = INTEGERS[dtype]
    width = max(bits, 32)
    name = METAL[dtype]
    a = torch.tensor([1, 5, 100, 127] * 8, dtype=dtype)
    b = torch.tensor([x for x in (0, 1, 7, 31, 32, 33, 63, 64) for _ in range(4)], dtype=dtype)
    preamble = "".join(
        f"{name} {word}({name} x, {name} y) {{ x {sign} y; return x; }}"
        for word, sign in (("left", "<<="), ("right", ">>="))
    )
    for expression in ("a << b", "a >> b", "left(a, b)", "right(a, b)"):
        got = evaluate(expression, a, b, output=dtype, preamble=preamble).tolist()
        for x, y, z in zip(a.tolist(), b.tolist(), got, strict=True):
            count = y % width
            value = x << count if "<<" in expression or "left" in expression else x >> count
            value = wrap(value, width, signed or bits < 32)
            assert z == wrap(value, bits, signed), f"{expression} of {x}, {y}"


def test_division_keeps_its_place_in_expressions() -> None:
    a, b = torch.tensor([37, -37, 5]), torch.tensor([5, 7, 0])
    for expression in (
        "a * 3 / b * 2", "a / b / 2", "2 * a % b - a / b % 3", "-a / -b", "a / (b + 1) << 2 >> 1", "a / b ? 1 : 2",
        "(a > b) / 1 + a / b", "~a / b", "a - b / b * a",
    ):  # fmt: skip
        got = evaluate(expression, a, b, output=torch.int64).tolist()
        for x, y, z in zip(a.tolist(), b.tolist(), got, strict=True):
            assert z == python_value(expression, x, y), f"{expression} of {x}, {y}"


class CInt(int):
    """An int with C's division, by the values of this module."""

    def __truediv__(self, other: int) -> CInt:
        return CInt(divide(self, other))

    def __mod__(self, other: int) -> CInt:
        return CInt(remainder(self, other))

    def _wrapped(name: str) -> Any:  # type: ignore[misc]
        def method(self: CInt, *others: int) -> CInt:
            return CInt(getattr(int, name)(self, *others))

        return method

    __add__, __sub__, __mul__ = _wrapped("__add__"), _wrapped("__sub__"), _wrapped("__mul__")
    __radd__, __rmul__, __neg__ = _wrapped("__radd__"), _wrapped("__rmul__"), _wrapped("__neg__")
    __invert__, __lshift__, __rshift__ = _wrapped("__invert__"), _wrapped("__lshift__"), _wrapped("__rshift__")


def python_value(expression: str, x: int, y: int) -> int:
    expression = expression.replace("a / b ? 1 : 2", "1 if a / b else 2").replace("(a > b)", "CInt(a > b)")
    value: int = eval(expression, {"CInt": CInt}, {"a": CInt(x), "b": CInt(y)})
    return int(value)


def test_vectors_divide_and_shift_by_component() -> None:
    preamble = "int f1(int a, int b) { int2 v = int2(a, 1) / int2(b, 0); v %= int2(b, b); return v.x * 10 + v.y; }"
    a, b = torch.tensor([9, 9]).int(), torch.tensor([2, 0]).int()
    assert evaluate("f1(a, b)", a, b, output=torch.int32, preamble=preamble).tolist() == [0, 0]
    preamble = "uint f1(uint a, uint b) { return (uint2(a, a) << uint2(b, b)).y; }"
    a, b = torch.tensor([3, 3], dtype=torch.uint32), torch.tensor([2, 34], dtype=torch.uint32)
    assert evaluate("f1(a, b)", a, b, output=torch.uint32, preamble=preamble).tolist() == [12, 12]


def test_c10_helpers_survive_zero() -> None:
    a = torch.tensor([7, -7, 0, -(2**31)], dtype=torch.int32)
    b = torch.tensor([0, 0, 0, -1], dtype=torch.int32)
    preamble = "#include <c10/metal/utils.h>\n"
    assert len(evaluate("c10::metal::floor_divide(a, b)", a, b, output=torch.int32, preamble=preamble)) == 4
    assert len(evaluate("c10::metal::remainder(a, b)", a, b, output=torch.int32, preamble=preamble)) == 4


def test_templates_closed_by_two_brackets_are_not_shifts() -> None:
    preamble = """
    template <typename T> struct box { T value; };
    template <typename T, enable_if_t<is_same_v<T, int>, bool> = true> T id(T x) { return x; }
    constexpr constant int four = 1 << 2;
    int f1(int a) {
      box<box<int>> b = {{a}}; box<vec<int, 2>> c = {int2(a)};
      return b.value.value + c.value.y >> a + 1 >> 0;
    }
    """
    a = torch.tensor([5, 6]).int()
    got = evaluate("id(f1(a)) + four", a, output=torch.int32, preamble=preamble).tolist()
    assert got == [(10 >> 6) + 4, (12 >> 7) + 4]


def test_signed_overflow_wraps() -> None:
    a = torch.tensor([2**31 - 1, -(2**31)], dtype=torch.int32)
    assert evaluate("a + 1", a, output=torch.int32).tolist() == [-(2**31), -(2**31) + 1]
    assert evaluate("-a", a, output=torch.int32).tolist() == [-(2**31) + 1, -(2**31)]
    assert evaluate("abs(a)", a, output=torch.int32).tolist() == [2**31 - 1, -(2**31)]
    assert evaluate("a * a", a, output=torch.int32).tolist() == [1, 0]


def test_float_to_integer_saturates_and_nan_is_zero() -> None:
    a = torch.tensor([1e30, -1e30, float("inf"), float("-inf"), float("nan"), 2.9, -2.9])
    assert evaluate("int(a)", a, output=torch.int32).tolist() == [2**31 - 1, -(2**31)] * 2 + [0, 2, -2]
    assert evaluate("char(a)", a, output=torch.int8).tolist() == [127, -128] * 2 + [0, 2, -2]
    assert evaluate("uint(a)", a, output=torch.uint32).tolist() == [2**32 - 1, 0] * 2 + [0, 2, 0]
    half = a.half()
    assert evaluate("short(a)", half, output=torch.int16).tolist() == [2**15 - 1, -(2**15)] * 2 + [0, 2, -2]


def test_char_is_signed_and_long_has_64_bits() -> None:
    a = torch.tensor([-128, -1, 127], dtype=torch.int8)
    assert evaluate("a / 2", a, output=torch.int8).tolist() == [-64, 0, 63]
    assert evaluate("long(a) << 40", a, output=torch.int64).tolist() == [x << 40 for x in (-128, -1, 127)]
