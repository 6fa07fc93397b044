"""Metal's scalar and vector types on the host device, against numpy and torch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from host_helper import evaluate

from pymetal import host
from pymetal.errors import MetalSyntaxError

EVERY_16_BITS = torch.arange(65536, dtype=torch.int32).to(torch.int16)
ROUNDING = torch.tensor(
    [0.0, 1.0, 1 / 3, 65504.0, 65519.99, 65520.0, 65536.0, 1e38, 3.4e38, 5.96e-8, 2.98e-8, 2.99e-8, 6.1e-5, 1e-40]
)
TIES = torch.tensor([1.00390625, 1.01171875, 1.0039063, 3.3895314e38, 3.3961776e38, float("inf"), float("nan")])


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYMETAL_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "host-cache"))


def same(got: torch.Tensor, want: torch.Tensor) -> None:
    """Equal bits, but any NaN for a NaN."""
    assert got.dtype == want.dtype
    nan = torch.isnan(want)
    assert torch.equal(torch.isnan(got), nan)
    width = {2: torch.int16, 4: torch.int32}[want.element_size()]
    assert torch.equal(got.view(width)[~nan], want.view(width)[~nan])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("numerics", ["apple", "ieee"])
def test_every_16_bit_value_widens_exactly_and_comes_back(dtype: torch.dtype, numerics: str) -> None:
    values = EVERY_16_BITS.view(dtype)
    wide = evaluate("float(a)", values, output=torch.float32, numerics=numerics)
    same(wide, values.float())
    name = "half" if dtype == torch.float16 else "bfloat"
    same(evaluate(f"{name}(a)", wide, output=dtype, numerics=numerics), values)
    same(evaluate("a", values, output=dtype, numerics=numerics), values)


def test_half_widens_as_numpy_says() -> None:
    values = EVERY_16_BITS.view(torch.float16)
    want = EVERY_16_BITS.numpy().view(np.float16).astype(np.float32)
    same(evaluate("a", values, output=torch.float32), torch.from_numpy(want))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrowing_rounds_to_nearest_even(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(1)
    bits = torch.randint(-(2**31), 2**31, (200_000,), generator=generator).to(torch.int32)
    values = torch.cat([ROUNDING, -ROUNDING, TIES, -TIES, bits.view(torch.float32)])
    name = "half" if dtype == torch.float16 else "bfloat"
    # torch's own conversion, except for the subnormal operands that conversions flush in apple mode.
    same(evaluate(f"{name}(a)", values, output=dtype, numerics="ieee"), values.to(dtype))


def test_bfloat_arithmetic_rounds_once_per_operation() -> None:
    generator = torch.Generator().manual_seed(2)
    a, b, c = (torch.randn(5000, generator=generator).bfloat16() for _ in range(3))
    operators: dict[str, Callable[..., torch.Tensor]] = {"+": torch.add, "-": torch.sub, "*": torch.mul, "/": torch.div}
    for sign, reference in operators.items():
        same(evaluate(f"a {sign} b", a, b, output=torch.bfloat16), reference(a, b))
    same(evaluate("a * b + c", a, b, c, output=torch.bfloat16), (a * b) + c)
    same(evaluate("a + 1", a, output=torch.bfloat16), a + 1)
    same(evaluate("2 * a", a, output=torch.bfloat16), 2 * a)
    same(evaluate("a * 1.5", a, output=torch.float32), a.float() * 1.5)
    same(evaluate("-a", a, output=torch.bfloat16), -a)


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_comparisons_of_16_bit_values(sign: str, dtype: torch.dtype) -> None:
    base = torch.tensor([0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 2.5], dtype=dtype)
    a, b = (t.flatten() for t in torch.meshgrid(base, base, indexing="ij"))
    names = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
    want = getattr(torch, names[sign])(a, b)
    assert torch.equal(evaluate(f"a {sign} b", a, b, output=torch.bool), want)


def test_bfloat_and_zero_of_either_kind_in_a_conditional() -> None:
    a = torch.tensor([1.5, -2.5]).bfloat16()
    same(evaluate("a > 0 ? a : 0", a, output=torch.bfloat16), torch.tensor([1.5, 0.0]).bfloat16())
    same(evaluate("a > 0 ? a : 0.0", a, output=torch.float32), torch.tensor([1.5, 0.0]))


def test_bfloat_statements() -> None:
    preamble = """
    bfloat chain(bfloat x) {
      bfloat y = 3; y += x; y -= 1; y *= x; y /= 2; ++y; y--;
      if (!x) { return bfloat(7.0f); }
      return y && x ? y : x;
    }"""
    a = torch.tensor([2.0, 0.0, -2.0, 4.0]).bfloat16()
    want = torch.tensor([4.0, 7.0, -2.0, 12.0]).bfloat16()
    same(evaluate("chain(a)", a, output=torch.bfloat16, preamble=preamble), want)


def test_unsuffixed_literals_are_float_and_suffixed_ones_are_what_they_say() -> None:
    preamble = (
        "template <typename T> struct is_float { static constexpr bool value = is_same_v<T, float>; };\n"
        "static_assert(is_same_v<decltype(1.0), float> && is_same_v<decltype(.5), float>);\n"
        "static_assert(is_same_v<decltype(1e3), float> && is_same_v<decltype(1.), float>);\n"
        "static_assert(is_same_v<decltype(0x1.8p1), float> && is_same_v<decltype(2.0F), float>);\n"
        "static_assert(is_same_v<decltype(1.5h), half> && is_same_v<decltype(1.5bf), bfloat>);\n"
        "static_assert(is_same_v<decltype(0xEF), int>);\n"
        "static_assert(is_same_v<decltype(1u), uint> && is_same_v<decltype(1l), long> && sizeof(long) == 8);\n"
    )
    one = torch.ones(1)
    assert evaluate("0.1", one, output=torch.float32, preamble=preamble).item() == np.float32(0.1)
    assert evaluate("0.1h", one, output=torch.float16).item() == np.float16(0.1)
    assert evaluate("0.1bf", one, output=torch.float32).item() == torch.tensor(0.1).bfloat16().item()


def test_type_traits_know_vectors() -> None:
    preamble = """
    static_assert(is_floating_point_v<float2> && !is_scalar_v<float2> && is_scalar_v<float> && is_scalar_v<bfloat>);
    static_assert(is_floating_point_v<half> && is_floating_point_v<bfloat> && !is_floating_point_v<int>);
    static_assert(is_integral_v<bool> && is_integral_v<char> && is_integral_v<ulong> && !is_integral_v<bfloat>);
    static_assert(is_signed_v<char> && !is_signed_v<uchar> && is_unsigned_v<uint> && is_signed_v<half>);
    static_assert(is_same_v<make_unsigned_t<int>, uint> && is_same_v<conditional_t<true, int, half>, int>);
    static_assert(sizeof(float3) == 16 && sizeof(packed_float3) == 12 && sizeof(half2) == 4 && alignof(float4) == 16);
    static_assert(numeric_limits<int>::max() == 2147483647 && numeric_limits<long>::lowest() < -9223372036854775807l);
    static_assert(numeric_limits<uchar>::max() == 255 && numeric_limits<char>::min() == -128);
    static_assert(float(numeric_limits<half>::max()) == 65504.0 && numeric_limits<float>::epsilon() == 0x1p-23);
    """
    got = evaluate("float(numeric_limits<bfloat>::max())", torch.ones(1), output=torch.float32, preamble=preamble)
    assert got.item() == torch.finfo(torch.bfloat16).max


def run(body: str, out: torch.Tensor, *args: torch.Tensor) -> torch.Tensor:
    """Run statements that see `out` and the buffers p, q."""
    parameters = "".join(f", device float* {name} [[buffer({i + 1})]]" for i, name in enumerate("pq"[: len(args)]))
    library = host.compile_shader(
        "#include <metal_stdlib>\nusing namespace metal;\n"
        f"kernel void f(device float* out [[buffer(0)]]{parameters}, uint i [[thread_position_in_grid]]) {{ {body} }}"
    )
    library.f(out, *args, threads=1)
    return out


def test_vectors_construct_swizzle_and_compute() -> None:
    body = """
    float4 v = float4(1, 2, 3, 4);
    float2 zw = v.zw;
    v.xy = float2(10, 20);
    v.wz += float2(0.5, 0.25);
    float3 w = float3(zw, 5.0) * 2.0 - 1.0;
    float4 u = float4(w.yx, v.bg);
    out[0] = zw.x; out[1] = zw.y; out[2] = v.x; out[3] = v.y; out[4] = v.z; out[5] = v.w;
    out[6] = w.x; out[7] = w.y; out[8] = w.z; out[9] = u.x; out[10] = u.z; out[11] = u[3];
    out[12] = all(v > 1.0) && any(w == 9.0) ? 1.0 : 0.0;
    out[13] = dot(zw, zw); out[14] = length(float2(3, 4)); out[15] = select(v, float4(-1), v > 5.0).x;
    """
    got = run(body, torch.zeros(16)).tolist()
    assert got == [3, 4, 10, 20, 3.25, 4.5, 5, 7, 9, 7, 3.25, 20, 1, 25, 5, -1]


def test_vectors_live_in_device_memory() -> None:
    body = """
    device float2* v = (device float2*)p;
    v[1] = v[0] + float2(1, 1);
    v[2] = v[1];
    v[2] *= 3.0;
    float2 t = v[2];
    out[0] = t.x; out[1] = v[2].y; out[2] = v[1].yx.x;
    """
    memory = torch.tensor([1.0, 2.0, 0.0, 0.0, 0.0, 0.0])
    assert run(body, torch.zeros(3), memory).tolist() == [6, 9, 3]
    assert memory.tolist() == [1, 2, 2, 3, 6, 9]


def test_member_that_is_called_like_a_swizzle() -> None:
    body = "struct pair { float xy; float zz; }; pair p; p.xy = 4; p.zz = p.xy; out[0] = p.zz;"
    assert run(body, torch.zeros(1)).tolist() == [4]


def test_struct_in_constant_memory_is_passed_by_value() -> None:
    library = host.compile_shader("""
    #include <metal_stdlib>
    using namespace metal;
    template <typename T> struct params { T scale; T shift; };
    struct affine { template <typename T> T operator()(T x, params<T> p) { return x * p.scale + p.shift; } };
    template <typename T, typename P, typename F>
    kernel void apply(device T* out [[buffer(0)]], constant T* in [[buffer(1)]], constant P& p [[buffer(2)]],
                      uint i [[thread_position_in_grid]]) { F f; out[i] = f(in[i], p); }
    typedef params<float> params_float;
    template [[host_name("affine")]] kernel void apply<float, params_float, affine>(
        device float* out, constant float* in, constant params_float& p, uint i);
    """)
    out = torch.zeros(3)
    library.affine(out, torch.tensor([1.0, 2.0, 3.0]), [10.0, 0.5])
    assert out.tolist() == [10.5, 20.5, 30.5]


def test_constant_arrays_and_tables() -> None:
    preamble = "constant float table[3] = {1.5, 2.5, 3.5};\nstatic constant constexpr int offsets[] = {2, 0, 1};"
    got = evaluate("table[offsets[a]]", torch.tensor([0, 1, 2]), output=torch.float32, preamble=preamble)
    assert got.tolist() == [3.5, 1.5, 2.5]


@pytest.mark.parametrize(
    "body",
    [
        "bfloat x = 1.0f; out[0] = x;",
        "float y = out[0]; bfloat x = y; out[0] = x;",
        "bfloat b = bfloat(out[0]); half h = b; out[0] = h;",
        "bfloat b = bfloat(out[0]); out[0] = metal::abs(b);",
        "bfloat b = 1; b += 1.0f; out[0] = b;",
        "half h = 1; bfloat b = 1; out[0] = b + h;",
        "uint4 u = 1; int4 v = u; out[0] = v.x;",
        "float4 x = 1; half4 y = x; out[0] = y.x;",
        "float2 u = 1; if (u == u) { out[0] = 1; }",
        "float3 u = float3(1, 2); out[0] = u.x;",
        "float2 u = 1; out[0] = u.z;",
    ],
)
def test_conversions_that_metal_refuses(body: str) -> None:
    with pytest.raises(MetalSyntaxError, match="program_source:3"):
        run(body, torch.zeros(1))
