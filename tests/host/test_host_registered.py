"""Files in the style of torch's own kernels: functors registered through c10/metal/indexing.h, run by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from host_helper import METAL

from pymetal import host
from pymetal.arity import installed_release

pytestmark = pytest.mark.skipif(installed_release() < (2, 13), reason="kernel names and arguments of 2.13")

SOURCE = """#include <c10/metal/indexing.h>
#include <c10/metal/special_math.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct hyp_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(precise::sqrt(float(a) * float(a) + float(b) * float(b)));
  }
  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T a, const T b) {
    return precise::sqrt(float(a) * float(a) + float(b) * float(b));
  }
};
struct floor_div_functor {
  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T a, const T b) { return static_cast<T>(c10::metal::floor_divide(a, b)); }
};
struct blend_functor {
  template <typename T> inline T operator()(const T a, const T b, const T alpha) {
    return static_cast<T>(a + c10::metal::mul(alpha, b));
  }
};
struct gate_functor {
  template <typename T> inline T operator()(const T a, const T b) { return static_cast<T>(a * b + a); }
};
struct less_functor {
  template <typename T> inline bool operator()(const T a, const T b) { return a < b; }
};
struct square_functor {
  template <typename T> inline T operator()(const T x) { return static_cast<T>(c10::metal::mul(x, x)); }
};
struct halve_functor {
  template <typename T> inline enable_if_t<is_floating_point_v<T>, T> operator()(const T x) { return T(x / 2); }
  template <typename T> inline enable_if_t<is_integral_v<T>, float> operator()(const T x) { return float(x) / 2; }
};
struct leak_functor {
  template <typename T> inline T operator()(const T x, const T s) { return x > T(0) ? x : static_cast<T>(x * s); }
};
struct mix_functor {
  template <typename T> inline T operator()(const T a, const T b, const T w) { return static_cast<T>(a + w * (b - a)); }
};
REGISTER_BINARY_OP(hyp, float, float);
REGISTER_BINARY_OP(hyp, half, half);
REGISTER_BINARY_OP(hyp, bfloat, bfloat);
REGISTER_BINARY_OP(hyp, long, float);
REGISTER_BINARY_OP(hyp, uchar, float);
REGISTER_BINARY_CASTOUT_OP(hyp, float, float);
REGISTER_BINARY_OP(floor_div, int, int);
REGISTER_OPMATH_BINARY_OP(gate, float, float);
REGISTER_OPMATH_BINARY_OP(gate, half, half);
REGISTER_OPMATH_BINARY_OP(gate, bfloat, bfloat);
REGISTER_BINARY_OP(less, float, bool);
REGISTER_BINARY_ALPHA_OP(blend, float, float, float);
REGISTER_BINARY_ALPHA_OP(blend, long, long, long);
REGISTER_BINARY_ALPHA_OP(blend, float2, float2, float2);
REGISTER_UNARY_OP(square, float, float);
REGISTER_UNARY_OP(square, float2, float2);
REGISTER_UNARY_OP(halve, bfloat, bfloat);
REGISTER_UNARY_OP(halve, int, float);
REGISTER_UNARY_ALPHA_OP(leak, half, half, half);
REGISTER_TERNARY_OP(mix, float, float);
REGISTER_OPMATH_TERNARY_OP(mix, bfloat, bfloat);
"""
SCALAR_TYPES = {torch.uint8: 0, torch.int32: 3, torch.int64: 4, torch.float16: 5, torch.float32: 6, torch.bool: 11}
SCALAR_TYPES[torch.bfloat16] = 15


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> host.ShaderLibrary:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYMETAL_CACHE_DIR", str(tmp_path_factory.mktemp("registered")))
        return host.compile_shader(SOURCE)


@pytest.fixture
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYMETAL_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "host-cache"))


def sample(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(*shape, generator=generator, dtype=torch.float32 if not dtype.is_complex else dtype).to(
            dtype
        )
    low = 0 if dtype == torch.uint8 else -50
    return torch.randint(low, 50, shape, generator=generator).to(dtype)


def byte_strides(tensor: torch.Tensor) -> list[int]:
    """Fastest dimension first, in bytes, as TensorIterator gives them."""
    return [stride * tensor.element_size() for stride in reversed(tensor.stride())]


def hyp(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.sqrt(a.float() * a.float() + b.float() * b.float())


def assert_near(got: torch.Tensor, want: torch.Tensor) -> None:
    torch.testing.assert_close(got, want.to(got.dtype), rtol=1e-2 if got.element_size() == 2 else 1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8])
def test_binary_dense(library: host.ShaderLibrary, dtype: torch.dtype) -> None:
    a, b = sample(1001, dtype=dtype), sample(1001, dtype=dtype, seed=1)
    result = dtype if dtype.is_floating_point else torch.float32
    out = torch.empty(1001, dtype=result)
    suffix = f"{METAL[result]}_{METAL[dtype]}"
    getattr(library, f"hyp_dense_{suffix}")(out, a, b)
    assert_near(out, hyp(a, b))
    out.zero_()
    getattr(library, f"hyp_dense_ilp4_{suffix}")(out, a, b, 1001, threads=(1001 + 3) // 4)
    assert_near(out, hyp(a, b))


def test_binary_strided(library: host.ShaderLibrary) -> None:
    a, b = sample(3, 4, 5).permute(2, 0, 1), sample(5, 1, 4, seed=1).expand(5, 3, 4)
    out = torch.empty(5, 3, 4)
    library.hyp_strided_float_float(
        out, a, b, list(reversed(out.shape)), byte_strides(out), byte_strides(a), byte_strides(b), [3, 0, 0, 0],
        threads=out.numel(), arg_casts={7: "int32"},
    )  # fmt: skip
    assert_near(out, hyp(a, b))


def test_binary_cast(library: host.ShaderLibrary) -> None:
    a, b = sample(300, dtype=torch.float16), sample(300, dtype=torch.int64, seed=1)
    out = torch.empty(300)
    sizes_types = [2, 8, SCALAR_TYPES[torch.float16], SCALAR_TYPES[torch.int64]]
    library.hyp_dense_cast_float_float(out, a, b, sizes_types, arg_casts={3: "int32"})
    assert_near(out, hyp(a, b))
    a, b = a.view(20, 15).t(), b.view(15, 20)
    out = torch.empty(15, 20)
    types = [2, SCALAR_TYPES[a.dtype], SCALAR_TYPES[b.dtype], SCALAR_TYPES[out.dtype]]
    library.hyp_strided_cast_float_float(
        out, a, b, [20, 15], byte_strides(out), byte_strides(a), byte_strides(b), types,
        threads=300, arg_casts={7: "int32"},
    )  # fmt: skip
    assert_near(out, hyp(a, b))


def test_binary_castout(library: host.ShaderLibrary) -> None:
    a, b = sample(6, 7), sample(6, 7, seed=1)
    out = torch.empty(6, 7, dtype=torch.bfloat16)
    types = [2, SCALAR_TYPES[a.dtype], SCALAR_TYPES[b.dtype], SCALAR_TYPES[out.dtype]]
    library.hyp_strided_castout_float_float(
        out, a, b, [7, 6], byte_strides(out), byte_strides(a), byte_strides(b), types,
        threads=42, arg_casts={7: "int32"},
    )  # fmt: skip
    assert_near(out, hyp(a, b))


def test_binary_broadcast_and_scalar(library: host.ShaderLibrary) -> None:
    a, row = sample(6, 7), sample(7, seed=1)
    out = torch.empty(6, 7)
    library.hyp_dense_broadcast_float_float(out, a, row, 7)
    assert_near(out, hyp(a, row))
    library.hyp_dense_broadcast_rhs_float_float(out, row, a, 7)
    assert_near(out, hyp(row, a))
    scalar = torch.tensor(2.5)
    library.hyp_dense_scalar_float_float(out, a, scalar)
    assert_near(out, hyp(a, scalar))
    library.hyp_dense_scalar_lhs_float_float(out, scalar, a)
    assert_near(out, hyp(scalar, a))
    wide = torch.tensor(3)
    library.hyp_dense_scalar_cast_float_float(
        out, a, wide, [4, 8, SCALAR_TYPES[a.dtype], SCALAR_TYPES[wide.dtype]], arg_casts={3: "int32"}
    )
    assert_near(out, hyp(a, wide))


def test_integers_and_comparisons(library: host.ShaderLibrary) -> None:
    a, b = sample(400, dtype=torch.int32), sample(400, dtype=torch.int32, seed=1)
    b[b == 0] = 7
    out = torch.empty(400, dtype=torch.int32)
    library.floor_div_dense_int_int(out, a, b)
    # c10's floor_divide tests the signs before the remainder, so it is not exact for a zero quotient of unlike signs.
    exact = torch.div(a, b, rounding_mode="floor")
    assert torch.equal(out[a % b != 0], exact[a % b != 0])
    truth = torch.empty(400, dtype=torch.bool)
    x, y = sample(400), sample(400, seed=1)
    library.less_dense_bool_float(truth, x, y)
    assert torch.equal(truth, x < y)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_opmath(library: host.ShaderLibrary, dtype: torch.dtype) -> None:
    a, b = sample(500, dtype=dtype), sample(500, dtype=dtype, seed=1)
    out = torch.empty(500, dtype=dtype)
    name = METAL[dtype]
    getattr(library, f"gate_dense_{name}_{name}")(out, a, b)
    want = torch.addcmul(a.double(), a.double(), b.double())  # one rounding at the end, but for the float steps
    torch.testing.assert_close(out.double(), want, rtol=2 * torch.finfo(dtype).eps, atol=1e-6)


def test_alpha(library: host.ShaderLibrary) -> None:
    a, b = sample(90), sample(90, seed=1)
    out = torch.empty(90)
    library.blend_dense_float_float_float(out, a, b, 0.5)
    torch.testing.assert_close(out, torch.add(a, b, alpha=0.5))
    n, m = sample(90, dtype=torch.int64), sample(90, dtype=torch.int64, seed=1)
    whole = torch.empty(90, dtype=torch.int64)
    library.blend_dense_long_long_long(whole, n, m, -3)
    assert torch.equal(whole, n - 3 * m)
    z, w = sample(90, dtype=torch.complex64), sample(90, dtype=torch.complex64, seed=1)
    both = torch.empty(90, dtype=torch.complex64)
    library.blend_dense_float2_float2_float2(both, z, w, [0.5, -2.0])
    torch.testing.assert_close(both, z + (0.5 - 2j) * w)
    a, b = a.view(9, 10).t(), b.view(10, 9)
    out = torch.empty(10, 9)
    library.blend_strided_float_float_float(
        out, a, b, 0.5, [9, 10], byte_strides(out), byte_strides(a), byte_strides(b), [2, 0, 0, 0],
        threads=90, arg_casts={8: "int32"},
    )  # fmt: skip
    torch.testing.assert_close(out, torch.add(a, b, alpha=0.5))


def test_unary(library: host.ShaderLibrary) -> None:
    x = sample(1003)
    out = torch.empty(1003)
    library.square_dense_float_float(out, x, 1003, threads=251)
    assert torch.equal(out, x * x)
    out.zero_()
    library.square_dense_scalar_float_float(out, x)
    assert torch.equal(out, x * x)
    z = sample(9, 4, dtype=torch.complex64)
    squared = torch.empty(4, 9, dtype=torch.complex64)
    library.square_strided_float2_float2(
        squared, z.t(), [9, 4], byte_strides(z.t()), byte_strides(squared), 2, threads=[9, 4]
    )
    torch.testing.assert_close(squared, (z * z).t())
    n = sample(50, dtype=torch.int32)
    half = torch.empty(50, dtype=torch.float16)
    library.halve_dense_castout_int(half, n, [2, SCALAR_TYPES[torch.float16]], arg_casts={2: "int32"})
    assert torch.equal(half, (n / 2).half())
    y = sample(50, dtype=torch.float16)
    leaked = torch.empty_like(y)
    library.leak_dense_half_half_half(leaked, y, 0.125, arg_casts={2: "fp16"})
    assert torch.equal(leaked, torch.where(y > 0, y, y * 0.125))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_ternary(library: host.ShaderLibrary, dtype: torch.dtype) -> None:
    a, b, w = (sample(200, dtype=dtype, seed=seed) for seed in range(3))
    out = torch.empty(200, dtype=dtype)
    name = METAL[dtype]
    getattr(library, f"mix_dense_{name}_{name}")(out, a, b, w)
    torch.testing.assert_close(out, torch.lerp(a.float(), b.float(), w.float()).to(dtype))
    a, b, w = a.view(10, 20).t(), b.view(20, 10), w[:10].expand(20, 10)
    out = torch.empty(20, 10, dtype=dtype)
    getattr(library, f"mix_strided_{name}_{name}")(
        out, a, b, w, [10, 20], byte_strides(out), byte_strides(a), byte_strides(b), byte_strides(w), 2, threads=200
    )
    torch.testing.assert_close(out, torch.lerp(a.float(), b.float(), w.float()).to(dtype))


def test_names_are_those_of_the_macros(library: host.ShaderLibrary) -> None:
    names = dir(library)
    assert len(names) == len(set(names)) > 150
    for flavour in ("dense", "strided", "dense_cast", "dense_scalar", "dense_broadcast", "dense_ilp4"):
        assert f"hyp_{flavour}_float_float" in names
    assert callable(library.hyp_dense_float_float)


def test_several_kernels_are_built_in_one_run(library: host.ShaderLibrary) -> None:
    wanted = ["mix_dense_float_float", "square_dense_scalar_float_float"]
    library.prepare(wanted)
    kernels: list[Callable[..., None]] = [getattr(library, name) for name in wanted]
    a = torch.ones(4)
    kernels[0](torch.empty(4), a, a, a)
    kernels[1](torch.empty(4), a)


@pytest.mark.parametrize(
    "header",
    ["utils", "special_math", "indexing", "igamma", "expm1f", "random", "common", "error", "atomic", "reduction_utils"],
)
def test_c10_headers_compile_whole(
    header: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYMETAL_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "host-cache"))
    library = host.compile_shader(f"""#include <metal_stdlib>
    #include <c10/metal/{header}.h>
    using namespace metal;
    kernel void f(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {{ out[i] = 1; }}""")
    out = torch.zeros(2)
    library.f(out)
    assert out.tolist() == [1, 1]
