"""How arguments are bound: torch's rules for Metal kernels, and what is refused before a launch."""

from __future__ import annotations

import itertools
import math
import struct
from typing import Any

import numpy as np
import pytest
import torch
from host_helper import METAL

from pymetal import host
from pymetal.errors import CallError, DeviceError, PyMetalError
from pymetal.host.binding import scalar_bytes


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYMETAL_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "host-cache"))


def copier(kind: str, dtype: torch.dtype) -> host.Kernel:
    """A kernel that stores its scalar argument of this Metal type."""
    library = host.compile_shader(
        f"#include <metal_stdlib>\nusing namespace metal;\nkernel void f(device {METAL[dtype]}* out [[buffer(0)]], "
        f"constant {kind}& x [[buffer(1)]], uint i [[thread_position_in_grid]]) {{ out[i] = {METAL[dtype]}(x); }}"
    )
    return library.f


def bound(kind: str, dtype: torch.dtype, value: object, cast: Any = None) -> float:
    out = torch.zeros(1, dtype=dtype)
    copier(kind, dtype)(out, value, arg_casts=cast)
    return out.item()


DOUBLE = """#include <metal_stdlib>
using namespace metal;
kernel void f(device float* out [[buffer(0)]], constant float* a [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  out[i] = 2 * a[i];
}
"""


def test_a_tensor_is_bound_at_its_storage_offset_and_strides_are_ignored() -> None:
    kernel = host.compile_shader(DOUBLE).f
    base = torch.arange(12.0)
    out = torch.zeros(4)
    kernel(out, base[3:])
    assert out.tolist() == [6, 8, 10, 12]
    kernel(out, base.view(3, 4).t()[1:])  # offset 1, then memory order
    assert out.tolist() == [2, 4, 6, 8]
    kernel(out[2:], base, threads=1)
    assert out.tolist() == [2, 4, 0, 8]


def test_no_dtype_is_checked_for_a_pointer() -> None:
    out = torch.zeros(2, dtype=torch.int32)
    host.compile_shader(DOUBLE).f(out, torch.tensor([1.0, 2.0]).view(torch.int32))
    assert out.view(torch.float32).tolist() == [2, 4]


def test_zero_dimensional_tensors_are_tensors_of_the_device() -> None:
    kernel = host.compile_shader(DOUBLE).f
    out = torch.zeros(())
    kernel(out, torch.tensor([5.0, 7.0])[1])
    assert out.item() == 14
    assert bound("float", torch.float32, torch.tensor([1.0, 2.5])[1]) == 2.5


@pytest.mark.parametrize(
    ("kind", "dtype", "value"),
    [
        ("long", torch.int64, 2**40 + 1),
        ("long", torch.int64, -(2**63)),
        ("int", torch.int32, -7),
        ("uint", torch.uint32, 4_000_000_000),
        ("ushort", torch.int32, 65535),
        ("uchar", torch.uint8, 200),
        ("bool", torch.bool, True),
        ("float", torch.float32, 2.5),
        ("float", torch.float32, math.inf),
    ],
)
def test_a_number_is_bound_as_int64_or_float32(kind: str, dtype: torch.dtype, value: float) -> None:
    assert bound(kind, dtype, value) == value


def test_a_float_is_rounded_to_float32_and_overflows_to_infinity() -> None:
    assert bound("float", torch.float32, 0.1) == float(np.float32(0.1))
    assert bound("float", torch.float32, 1e300) == math.inf
    assert bound("float", torch.float32, np.float64(0.5)) == 0.5


@pytest.mark.parametrize(
    ("cast", "kind", "dtype", "value", "want"),
    [
        ("fp16", "half", torch.float16, 0.1, float(np.float16(0.1))),
        ("fp16", "half", torch.float16, 3, 3.0),
        ("fp16", "half", torch.float16, 1e6, math.inf),
        ("bf16", "bfloat", torch.bfloat16, 0.1, torch.tensor(0.1).bfloat16().item()),
        ("bf16", "bfloat", torch.bfloat16, -(2**24) - 1, -(2.0**24)),
        ("int32", "int", torch.int32, 2**32 + 5, 5),
        ("int32", "uint", torch.uint32, 2**32 - 1, 2**32 - 1),
        ("int32", "int", torch.int32, 2.9, 2),
        ("int16", "short", torch.int16, -3, -3),
        ("int8", "char", torch.int8, 255, -1),
        ("uint8", "bool", torch.bool, 1, True),
    ],
)
def test_casts(cast: str, kind: str, dtype: torch.dtype, value: float, want: float) -> None:
    assert bound(kind, dtype, value, cast) == want
    assert bound(kind, dtype, value, {1: cast}) == want


def test_bfloat16_cast_is_torchs_rounding() -> None:
    for value in [0.0, -0.0, 1.0, 1 / 3, 1.00390625, 1.01171875, 3.39e38, -3.4e38, 1e-40, math.inf]:
        want = int(torch.tensor(value).bfloat16().view(torch.int16).item()) & 0xFFFF
        assert struct.unpack("<H", scalar_bytes(value, True, "bf16"))[0] == want
    assert math.isnan(
        torch.tensor(struct.unpack("<h", scalar_bytes(math.nan, True, "bf16"))[0])
        .to(torch.int16)
        .view(torch.bfloat16)
        .item()
    )


SUM = """#include <metal_stdlib>
using namespace metal;
kernel void total(device float* out [[buffer(0)]], constant {0}* values [[buffer(1)]],
                  constant int& count [[buffer(2)]], uint i [[thread_position_in_grid]]) {{
  float sum = 0;
  for (int k = 0; k < count; ++k) {{ sum = 10 * sum + float(values[k]); }}
  out[i] = sum;
}}
kernel void vectors(device float* out [[buffer(0)]], constant uint3& three [[buffer(1)]],
                    constant float2& two [[buffer(2)]], uint i [[thread_position_in_grid]]) {{
  out[i] = 100 * three.x + 10 * three.y + three.z + two.x / two.y;
}}
"""


def test_lists_are_arrays_typed_by_their_first_element() -> None:
    out = torch.zeros(1)
    host.compile_shader(SUM.format("long")).total(out, [1, 2, 3], 3)
    assert out.item() == 123
    host.compile_shader(SUM.format("float")).total(out, (1.5, 2), 2)
    assert out.item() == 17
    host.compile_shader(SUM.format("half")).total(out, [1.5, 2.0], 2, arg_casts={1: "fp16"})
    assert out.item() == 17
    host.compile_shader(SUM.format("int")).total(out, [1, 2], 2, arg_casts="int32")
    assert out.item() == 12
    host.compile_shader(SUM.format("long")).total(out, [True, 2], 2)
    assert out.item() == 12


def test_vectors_come_from_lists_and_uint3_takes_sixteen_bytes() -> None:
    kernel = host.compile_shader(SUM.format("long")).vectors
    out = torch.zeros(1)
    kernel(out, [1, 2, 3, 0], [1.0, 4.0], arg_casts={1: "int32"})
    assert out.item() == 123.25
    with pytest.raises(CallError, match=r"reads 16 bytes of 'three'.*binds 12"):
        kernel(out, [1, 2, 3], [1.0, 4.0], arg_casts={1: "int32"})


def test_list_of_tensors_is_an_array_of_addresses() -> None:
    library = host.compile_shader("""#include <metal_stdlib>
    using namespace metal;
    kernel void f(device float* out [[buffer(0)]], constant ulong* parts [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
      out[i] = ((device float*)parts[i])[0];
    }""")
    out = torch.zeros(2)
    library.f(out, [torch.tensor([3.0]), torch.tensor([1.0, 4.0])[1:]])
    assert out.tolist() == [3, 4]


@pytest.mark.parametrize("value", [1j, "x", None, np.zeros(3), torch.float32, {1: 2}, object()])
def test_unsupported_argument_types(value: object) -> None:
    with pytest.raises(RuntimeError, match="Unsupported argument type"):
        bound("float", torch.float32, value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "empty list"),
        (["a"], "Unexpected argument types"),
        ([1, 2.5], "float in a list of ints"),
        ([1j], "Unexpected"),
    ],
)
def test_unsupported_lists(value: object, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        bound("long", torch.int64, value)


@pytest.mark.parametrize("cast", ["fp32", "uint32", "", {1: "bool"}])
def test_unsupported_casts(cast: object) -> None:
    with pytest.raises(RuntimeError, match="Unsupported cast instruction"):
        bound("float", torch.float32, 1.0, cast)


def test_an_int_that_does_not_fit_is_refused() -> None:
    with pytest.raises(DeviceError, match="does not fit in the int64"):
        bound("long", torch.int64, 2**63)


def test_argument_count_is_checked() -> None:
    kernel = host.compile_shader(DOUBLE).f
    for count, given in ((0, "0 arguments were"), (1, "1 argument was"), (3, "3 arguments were")):
        with pytest.raises(CallError, match=rf"kernel f takes 2 buffers \(out, a\) but {given} given"):
            kernel(*[torch.zeros(1)] * count)


def test_what_a_kernel_writes_has_to_be_a_tensor() -> None:
    kernel = host.compile_shader(DOUBLE).f
    for value in (1.0, 2, [1.0], True):
        with pytest.raises(CallError, match="writes to 'out'"):
            kernel(value, torch.zeros(1), threads=1)


def test_scalar_may_stand_for_a_pointer_that_is_only_read() -> None:
    out = torch.zeros(1)
    host.compile_shader(DOUBLE).f(out, 1.5)
    assert out.item() == 3


@pytest.mark.parametrize(
    ("kind", "value", "cast"),
    [
        ("float", 1.0, "fp16"),
        ("long", 1, "int32"),
        ("float2", 1.0, None),
        ("int", torch.tensor([1], dtype=torch.int8), None),
    ],
)
def test_a_reference_is_not_read_beyond_what_is_bound(kind: str, value: object, cast: str | None) -> None:
    library = host.compile_shader(
        f"#include <metal_stdlib>\nusing namespace metal;\nkernel void f(device float* out [[buffer(0)]], "
        f"constant {kind}& x [[buffer(1)]], uint i [[thread_position_in_grid]]) {{ {kind} y = x; out[i] = sizeof(y); }}"
    )
    with pytest.raises(CallError, match=r"reads \d bytes of 'x' \(buffer 1\).*binds \d"):
        library.f(torch.zeros(1), value, arg_casts=cast)


def test_tensors_of_other_devices_and_layouts_are_refused() -> None:
    kernel = host.compile_shader(DOUBLE).f
    with pytest.raises(RuntimeError, match="Passed meta tensor to the host device"):
        kernel(torch.zeros(1), torch.zeros(1, device="meta"))
    with pytest.raises(RuntimeError, match="layout"):
        kernel(torch.zeros(1), torch.zeros(1).to_sparse())


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_dtypes_that_metal_does_not_have_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(TypeError, match="Metal does not have"):
        host.compile_shader(DOUBLE).f(torch.zeros(1), torch.zeros(1, dtype=dtype))


def test_subclasses_and_parameters_are_tensors() -> None:
    out = torch.zeros(2)
    host.compile_shader(DOUBLE).f(out, torch.nn.Parameter(torch.tensor([1.0, 2.0])))
    assert out.tolist() == [2, 4]


def test_buffers_are_positional_by_index_not_by_order() -> None:
    library = host.compile_shader("""#include <metal_stdlib>
    using namespace metal;
    kernel void f(uint i [[thread_position_in_grid]], constant float& s [[buffer(2)]], device float* out [[buffer(0)]],
                  constant float* a [[buffer(1)]]) { out[i] = a[i] * s; }
    kernel void g(device float* out, constant float* a, uint i [[thread_position_in_grid]]) { out[i] = a[i]; }
    kernel void gap(device float* out [[buffer(0)]], constant float* a [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) {
      out[i] = a[i];
    }""")
    out = torch.zeros(2)
    library.f(out, torch.tensor([1.0, 2.0]), 3.0)
    assert out.tolist() == [3, 6]
    library.g(out, torch.tensor([8.0, 9.0]))
    assert out.tolist() == [8, 9]
    assert [slot.name for slot in library.f.slots] == ["out", "a", "s"]
    with pytest.raises(SyntaxError, match="buffers are 0, 2"):
        library.gap(out, out, out)


def test_every_error_is_a_pymetal_error() -> None:
    kernel = host.compile_shader(DOUBLE).f
    for args in itertools.product([None, 1.0, torch.zeros(1, dtype=torch.float64)], repeat=2):
        with pytest.raises(PyMetalError):
            kernel(*args)


def test_bytes_that_a_kernel_would_misread_are_refused() -> None:
    source = """#include <metal_stdlib>
using namespace metal;
kernel void f(device float* out, constant half& h, constant uint3& v, uint i [[thread_position_in_grid]]) {
  out[i] = float(h) + float(v.z);
}
"""
    kernel = host.compile_shader(source).f
    out = torch.zeros(2)
    for _ in range(2):
        with pytest.raises(CallError, match=r"reads 2 bytes of 'h' \(buffer 1\), but a Python float binds 4") as caught:
            kernel(out, 1.5, [1, 2, 3, 4], arg_casts={2: "int32"})
        assert 'arg_casts={1: "fp16"}' in str(caught.value)
        with pytest.raises(CallError, match=r"reads 16 bytes of 'v' \(buffer 2\), but a Python list binds 24"):
            kernel(out, 1.5, [1, 2, 3], arg_casts={1: "fp16"})
        kernel(out, 1.5, [1, 2, 3, 4], arg_casts={1: "fp16", 2: "int32"})
        assert out.tolist() == [4.5, 4.5]
