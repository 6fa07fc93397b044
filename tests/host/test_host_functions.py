"""The maths, common and integer functions of the shim, against numpy, mpmath and Python integers."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
import torch
from host_helper import METAL, evaluate

INF, NAN = math.inf, math.nan
GRID = torch.tensor([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 7.25, 10.0, 31.4, 87.0])
WIDE = torch.tensor([1e-3, 1e-7, 1e-20, 1e4, 1e6, INF, NAN])
VALUES = torch.cat([GRID, WIDE, -GRID, -WIDE])


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYMETAL_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "host-cache"))


def close(got: float, want: float, ulps: float = 4.0) -> bool:
    """Within so many float ulps; equal where the reference is special."""
    if math.isnan(want):
        return math.isnan(got)
    with np.errstate(over="ignore"):
        nearest = float(np.float32(want))
    if math.isinf(nearest) or math.isinf(got):
        return nearest == got
    spacing = float(np.spacing(np.float32(max(abs(nearest), 2.0**-126))))
    return abs(got - want) <= ulps * spacing


def real(function: Callable[[mpmath.mpf], object]) -> Callable[[float], float]:
    """The mpmath function of one float, NaN outside its real domain."""

    def reference(x: float) -> float:
        if math.isnan(x):
            return NAN
        with mpmath.workprec(120):
            try:
                value = function(mpmath.mpf(x))
            except (ZeroDivisionError, ValueError):
                return NAN
            value = mpmath.mpmathify(value)
            if isinstance(value, mpmath.mpc):
                return NAN if value.imag else float(value.real)
            return float(value)

    return reference


UNARY: dict[str, Callable[[mpmath.mpf], object]] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "exp10": lambda x: mpmath.power(10, x),
    "log": lambda x: -mpmath.inf if x == 0 else mpmath.log(x),
    "log2": lambda x: -mpmath.inf if x == 0 else mpmath.log(x, 2),
    "log10": lambda x: -mpmath.inf if x == 0 else mpmath.log(x, 10),
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "sinpi": mpmath.sinpi,
    "cospi": mpmath.cospi,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "sqrt": mpmath.sqrt,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "fabs": abs,
    "floor": lambda x: x if mpmath.isinf(x) else mpmath.floor(x),
    "ceil": lambda x: x if mpmath.isinf(x) else mpmath.ceil(x),
}


@pytest.mark.parametrize(
    ("space", "name"),
    [("metal::", name) for name in UNARY] + [(s, n) for s in ("precise::", "fast::") for n in ("exp", "sin", "sqrt")],
)
def test_unary_function_of_float(space: str, name: str) -> None:
    got = evaluate(f"{space}{name}(a)", VALUES, output=torch.float32, numerics="ieee").tolist()
    reference = real(UNARY[name])
    for x, y in zip(VALUES.tolist(), got, strict=True):
        infinite_angle = math.isinf(x) and name in ("sin", "cos", "tan", "sinpi", "cospi")
        want = NAN if infinite_angle else reference(x)
        if name == "rsqrt" and x == 0:
            want = math.copysign(INF, x)
        assert close(y, want), f"{name}({x}) = {y}, not {want}"


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "rsqrt", "floor", "rint"])
def test_half_function_is_the_float_one_rounded_once(name: str) -> None:
    values = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(torch.float16)
    got = evaluate(f"{name}(a)", values, output=torch.float16, numerics="ieee")
    want = evaluate(f"{name}(a)", values.float(), output=torch.float32, numerics="ieee").half()
    assert torch.equal(got.isnan(), want.isnan())
    assert torch.equal(got[~got.isnan()], want[~want.isnan()])


HALVES = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 8388607.5, 1e10, -0.0, INF, -INF, NAN, 1.2, -1.7])


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("round", [1.0, 2.0, 3.0, -1.0, -2.0, -3.0, 0.0, 8388608.0, 1e10, -0.0, INF, -INF, NAN, 1.0, -2.0]),
        ("rint", [0.0, 2.0, 2.0, -0.0, -2.0, -2.0, 0.0, 8388608.0, 1e10, -0.0, INF, -INF, NAN, 1.0, -2.0]),
        ("trunc", [0.0, 1.0, 2.0, -0.0, -1.0, -2.0, 0.0, 8388607.0, 1e10, -0.0, INF, -INF, NAN, 1.0, -1.0]),
        ("sign", [1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0, -0.0, 1.0, -1.0, 0.0, 1.0, -1.0]),
        ("saturate", [0.5, 1.0, 1.0, 0.0, 0.0, 0.0, 0.49999997, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]),
    ],
)
def test_roundings_and_signs(name: str, want: list[float]) -> None:
    got = evaluate(f"{name}(a)", HALVES, output=torch.float32)
    for x, y, z in zip(HALVES.tolist(), got.tolist(), torch.tensor(want).tolist(), strict=True):
        assert (math.isnan(y) and math.isnan(z)) or y == z, (x, y, z)
        if y == 0 and x == 0 and name != "saturate":
            assert math.copysign(1, y) == math.copysign(1, z)


PAIRS = [t.flatten() for t in torch.meshgrid(VALUES, VALUES, indexing="ij")]


@pytest.mark.parametrize(
    ("expression", "reference"),
    [
        ("fmin(a, b)", np.fmin),
        ("fmax(a, b)", np.fmax),
        ("min(a, b)", np.fmin),
        ("max(a, b)", np.fmax),
        ("atan2(a, b)", np.arctan2),
        ("copysign(a, b)", np.copysign),
        ("fmod(a, b)", np.fmod),
        ("step(a, b)", lambda a, b: np.where(b < a, 0.0, 1.0)),
        ("fdim(a, b)", lambda a, b: np.where(np.isnan(a) | np.isnan(b), NAN, np.where(a > b, a - b, 0))),
    ],
)
def test_binary_function_of_float(expression: str, reference: Callable[..., np.ndarray]) -> None:
    a, b = PAIRS
    got = evaluate(expression, a, b, output=torch.float32, numerics="ieee").tolist()
    with np.errstate(all="ignore"):
        want = reference(a.double().numpy(), b.double().numpy()).tolist()
    for x, y, z, w in zip(a.tolist(), b.tolist(), got, want, strict=True):
        assert close(z, w), f"{expression} of {x}, {y} = {z}, not {w}"


def test_pow_and_powr() -> None:
    base = torch.tensor([0.0, -0.0, 0.5, 1.0, 2.0, -2.0, -1.0, 3.7, INF, -INF, NAN])
    exponent = torch.tensor([0.0, 1.0, -1.0, 2.0, 3.0, 0.5, -0.5, 2.5, INF, -INF, NAN])
    a, b = (t.flatten() for t in torch.meshgrid(base, exponent, indexing="ij"))
    got = evaluate("pow(a, b)", a, b, output=torch.float32).tolist()
    with np.errstate(all="ignore"):
        want = np.power(a.double().numpy(), b.double().numpy()).tolist()
    for x, y, z, w in zip(a.tolist(), b.tolist(), got, want, strict=True):
        assert close(z, w), f"pow({x}, {y}) = {z}, not {w}"
    positive = a > 0
    powr = evaluate("powr(a, b)", a[positive], b[positive], output=torch.float32)
    plain = torch.tensor(got)[positive]
    finite = plain.isfinite() & b[positive].isfinite() & a[positive].isfinite()
    assert torch.allclose(powr[finite], plain[finite], rtol=1e-6)


def test_common_functions_of_three() -> None:
    generator = torch.Generator().manual_seed(3)
    a, b, c = (torch.randn(500, generator=generator) for _ in range(3))
    low, high = torch.minimum(b, c), torch.maximum(b, c)
    assert torch.equal(evaluate("clamp(a, b, c)", a, low, high, output=torch.float32), torch.clamp(a, low, high))
    stack = torch.stack([a, b, c])
    assert torch.equal(evaluate("min3(a, b, c)", a, b, c, output=torch.float32), stack.min(0).values)
    assert torch.equal(evaluate("max3(a, b, c)", a, b, c, output=torch.float32), stack.max(0).values)
    assert torch.equal(evaluate("median3(a, b, c)", a, b, c, output=torch.float32), stack.median(0).values)
    mixed = evaluate("mix(a, b, c)", a, b, c, output=torch.float32)
    assert torch.allclose(mixed, torch.lerp(a, b, c), atol=1e-6)
    exact = [float(np.float32(float(x) * float(y) + float(z))) for x, y, z in zip(a, b, c, strict=True)]
    assert torch.allclose(evaluate("fma(a, b, c)", a, b, c, output=torch.float32), torch.tensor(exact), rtol=0, atol=0)


def test_decompositions() -> None:
    x = torch.tensor([0.0, -0.0, 1.0, -1.5, 3.75, 1e-30, 1e30, INF, -INF])
    preamble = """
    float significand(float x) { int e; return frexp(x, e); }
    int exponent(float x) { int e = 0; frexp(x, e); return e; }
    float whole(float x) { float w; modf(x, w); return w; }
    float part(float x) { float w; return modf(x, w); }
    float cosine(float x) { float c; sincos(x, c); return c; }
    """

    def of(call: str, output: torch.dtype = torch.float32) -> list[float]:
        result: list[float] = evaluate(call, x, output=output, preamble=preamble).tolist()
        return result

    finite = slice(0, 7)
    mantissa, exponent = np.frexp(x.numpy())
    assert of("significand(a)")[finite] == mantissa.tolist()[finite]
    assert of("exponent(a)", torch.int32)[finite] == exponent.tolist()[finite]
    assert of("whole(a)") == torch.trunc(x).tolist()
    assert of("part(a)") == [0, -0.0, 0, -0.5, 0.75, float(np.float32(1e-30)), 0, 0, -0.0]
    assert of("ilogb(a)", torch.int32)[2:7] == [math.frexp(v)[1] - 1 for v in x.tolist()[2:7]]
    assert of("ldexp(a, 3)") == (x * 8).tolist()
    assert of("fract(a)")[2:5] == [0, 0.5, 0.75]
    below_one = evaluate("fract(a)", torch.tensor([-1e-10]), output=torch.float32).item()
    assert below_one == float(np.nextafter(np.float32(1), np.float32(0)))


def test_nextafter_of_every_kind() -> None:
    a, b = PAIRS
    got = evaluate("nextafter(a, b)", a, b, output=torch.float32)
    want = torch.from_numpy(np.nextafter(a.numpy(), b.numpy()))
    assert torch.equal(got.isnan(), want.isnan())
    assert torch.equal(got.nan_to_num(7).view(torch.int32), want.nan_to_num(7).view(torch.int32))
    a, b = a.half(), b.half()
    a, b = (t[(a != 0) | (b != 0)] for t in (a, b))  # of two zeros, numpy returns the first and C the second
    got = evaluate("nextafter(a, b)", a, b, output=torch.float16)
    want = torch.from_numpy(np.nextafter(a.numpy(), b.numpy()))
    assert torch.equal(got.nan_to_num(7).view(torch.int16), want.nan_to_num(7).view(torch.int16))


@pytest.mark.parametrize("numerics", ["apple", "ieee"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_classification(dtype: torch.dtype, numerics: str) -> None:
    tiny = torch.finfo(dtype).smallest_normal
    x = torch.tensor([0.0, -0.0, 1.0, -2.0, INF, -INF, NAN, tiny, tiny / 2, -tiny / 4], dtype=dtype)
    tests = {
        "isnan": torch.isnan(x),
        "isinf": torch.isinf(x),
        "isfinite": torch.isfinite(x),
        "signbit": torch.signbit(x),
        "isnormal": torch.isfinite(x) & (x.double().abs() >= tiny),
    }
    for name, want in tests.items():
        assert torch.equal(evaluate(f"{name}(a)", x, output=torch.bool, numerics=numerics), want), name
    other = x.flip(0)
    unordered = torch.isnan(x) | torch.isnan(other)
    assert torch.equal(evaluate("isunordered(a, b)", x, other, output=torch.bool), unordered)


INTEGERS = {
    torch.int8: (8, True), torch.uint8: (8, False), torch.int16: (16, True), torch.uint16: (16, False),
    torch.int32: (32, True), torch.uint32: (32, False), torch.int64: (64, True), torch.uint64: (64, False),
}  # fmt: skip


def edges(bits: int, signed: bool) -> list[int]:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return sorted({low, low + 1, -1 if signed else 1, 0, 1, 2, 3, 5, 7, 8, 100, high // 3, high - 1, high})


def wrap(value: int, bits: int, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def integer_references(bits: int, signed: bool) -> dict[str, Callable[..., int]]:
    """Each function of two integers by Python's own, as a value before wrapping."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    mask = (1 << bits) - 1

    def reverse(x: int) -> int:
        return int(format(x & mask, f"0{bits}b")[::-1], 2)

    def rotate(x: int, k: int) -> int:
        k &= bits - 1
        return ((x & mask) << k | (x & mask) >> (bits - k)) & mask

    return {
        "abs(a)": lambda a, b: abs(a),
        "min(a, b)": min,
        "max(a, b)": max,
        "addsat(a, b)": lambda a, b: max(low, min(high, a + b)),
        "subsat(a, b)": lambda a, b: max(low, min(high, a - b)),
        "hadd(a, b)": lambda a, b: (a + b) >> 1,
        "rhadd(a, b)": lambda a, b: (a + b + 1) >> 1,
        "mulhi(a, b)": lambda a, b: (a * b) >> bits,
        "madhi(a, b, a)": lambda a, b: ((a * b) >> bits) + a,
        "madsat(a, b, a)": lambda a, b: max(low, min(high, a * b + a)),
        "clz(a)": lambda a, b: bits - (a & mask).bit_length(),
        "ctz(a)": lambda a, b: bits if a == 0 else ((a & mask) & -(a & mask)).bit_length() - 1,
        "popcount(a)": lambda a, b: bin(a & mask).count("1"),
        "reverse_bits(a)": lambda a, b: reverse(a),
        "rotate(a, b)": rotate,
        "clamp(a, b, b)": lambda a, b: b,
        "max3(a, b, a)": lambda a, b: max(a, b),
        "median3(a, b, b)": lambda a, b: b,
        "a + b": lambda a, b: a + b,
        "a - b": lambda a, b: a - b,
        "a * b": lambda a, b: a * b,
        "extract_bits(a, 2u, 5u)": lambda a, b: wrap(a >> 2, 5, signed),
        "insert_bits(a, b, 3u, 4u)": lambda a, b: (a & ~(0xF << 3)) | ((b & 0xF) << 3),
    }


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_functions(dtype: torch.dtype) -> None:
    bits, signed = INTEGERS[dtype]
    values = edges(bits, signed)
    a = torch.tensor([x for x in values for _ in values], dtype=dtype)
    b = torch.tensor([y for _ in values for y in values], dtype=dtype)
    references = integer_references(bits, signed)
    count = len(references)
    statements = " ".join(f"out[{count} * i + {n}] = {call};" for n, call in enumerate(references))
    name = METAL[dtype]
    from pymetal import host

    library = host.compile_shader(
        f"#include <metal_stdlib>\nusing namespace metal;\nkernel void f(device {name}* out [[buffer(0)]], "
        f"constant {name}* a_ [[buffer(1)]], constant {name}* b_ [[buffer(2)]], uint i [[thread_position_in_grid]]) "
        f"{{ {name} a = a_[i], b = b_[i]; {statements} }}"
    )
    out = torch.zeros(len(a) * count, dtype=dtype)
    library.f(out, a, b, threads=len(a))
    got = out.tolist()
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        for n, (call, reference) in enumerate(references.items()):
            assert got[count * i + n] == wrap(reference(x, y), bits, signed), f"{call} of {x}, {y} ({name})"


def test_absdiff_is_unsigned_and_mul24_keeps_low_bits() -> None:
    a, b = torch.tensor([-(2**31), 5, -3]), torch.tensor([2**31 - 1, 9, 4])
    got = evaluate("absdiff(a, b)", a.int(), b.int(), output=torch.uint32)
    assert got.tolist() == [2**32 - 1, 4, 7]
    factors = torch.tensor([0x7FFFFF, -3, 0x1000005], dtype=torch.int32)
    assert evaluate("mul24(a, a)", factors, output=torch.int32).tolist() == [
        wrap(0x7FFFFF**2, 32, True), 9, 25,
    ]  # fmt: skip
    assert evaluate("mad24(a, a, 1)", factors, output=torch.int32).tolist()[1:] == [10, 26]


def test_integer_functions_of_vectors() -> None:
    preamble = "int f1(int a, int b) { int2 v = int2(a, b); return max(v, int2(3)).x + popcount(v).y * 100; }"
    a, b = torch.tensor([1, 9]).int(), torch.tensor([7, 8]).int()
    assert evaluate("f1(a, b)", a, b, output=torch.int32, preamble=preamble).tolist() == [303, 109]


def test_math_of_vectors() -> None:
    preamble = "float f1(float a) { float3 v = float3(a, 0, 1); v = exp(v) * 2 + max(v, 0.5); return v.x + v.y + v.z; }"
    got = evaluate("f1(a)", torch.tensor([0.0]), output=torch.float32, preamble=preamble).item()
    assert got == pytest.approx(2 + 0.5 + 2 + 0.5 + 2 * math.e + 1)
