"""The MPS device keeps torch's binding rules: every call goes through a stand-in that enforces them and computes.

The stand-in itself is tested first: a rule that it does not enforce would let everything pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import device_cases
import mps_stand_in
import pytest
import torch
from mps_stand_in import Abort, StandIn

import pymetal
from pymetal import DeviceError, MetalSyntaxError, T
from pymetal.codegen.launch_kernels import KERNEL
from pymetal.functor import Functor
from pymetal.runtime.mps import MPS

# --- the stand-in ----------------------------------------------------------------------------------------------------

SOURCE = """#include <metal_stdlib>
using namespace metal;
kernel void f(device float* out [[buffer(0)]], device const float* a [[buffer(1)]],
    constant long& n [[buffer(2)]], constant float& s [[buffer(3)]], constant float* list [[buffer(4)]],
    uint i [[thread_position_in_grid]]) { out[i] = a[i] * s + n + list[1]; }
kernel void wide(device long* out [[buffer(0)]], constant uint3& n [[buffer(1)]], constant uchar& c [[buffer(2)]],
    uint2 p [[thread_position_in_grid]]) { out[p.x + p.y * 2] = n.z + c; }
kernel void tight(device half* out [[buffer(0)]], constant half* a [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  out[i] = a[i];
}
"""


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with mps_stand_in.installed() as found:
        yield found


def test_the_stand_in_computes(stand_in: StandIn) -> None:
    library = torch.mps.compile_shader(SOURCE)
    out, a = stand_in.put(torch.zeros(4)), stand_in.put(torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])[1:])
    library.f(out, a, 3, 0.5, [1.0, 10.0])
    assert stand_in.get(out).tolist() == [14, 14.5, 15, 15.5]
    out = stand_in.put(torch.zeros(4, dtype=torch.int64))
    library.wide(out, [1, 2, 3, 0], -1, threads=[2, 2], arg_casts={1: "int32", 2: "uint8"})
    assert stand_in.get(out).tolist() == [258] * 4
    assert sorted(dir(library)) == ["f", "tight", "wide"]
    assert stand_in.handles == 2


RULES: dict[str, tuple[Callable[[Any, Any], object], type[BaseException], str]] = {
    "cpu tensor": (lambda k, t: k.f(t, torch.ones(4), 1, 1.0, [1.0, 2.0]), RuntimeError, "Passed CPU tensor to MPS op"),
    "complex": (lambda k, t: k.f(t, t, 1, 1j, [1.0, 2.0]), RuntimeError, "Unsupported argument type complex"),
    "string": (lambda k, t: k.f(t, t, "1", 1.0, [1.0, 2.0]), RuntimeError, "Unsupported argument type str"),
    "None": (lambda k, t: k.f(t, t, None, 1.0, [1.0, 2.0]), RuntimeError, "Unsupported argument type NoneType"),
    "empty list": (lambda k, t: k.f(t, t, 1, 1.0, []), RuntimeError, "empty list"),
    "list of ints and floats": (lambda k, t: k.f(t, t, 1, 1.0, [1, 2.5]), RuntimeError, "int64_t"),
    "list of strings": (lambda k, t: k.f(t, t, 1, 1.0, ["1"]), RuntimeError, "Unexpected argument types"),
    "large int": (lambda k, t: k.f(t, t, 2**63, 1.0, [1.0, 2.0]), RuntimeError, "int64_t"),
    "cast to uint32": (lambda k, t: k.f(t, t, 1, 1.0, [1.0], arg_casts="uint32"), RuntimeError, "Unsupported cast"),
    "cast to float": (lambda k, t: k.f(t, t, 1, 1.0, [1.0], arg_casts={3: "fp32"}), RuntimeError, "Unsupported cast"),
    "float for long": (lambda k, t: k.f(t, t, 1.0, 1.0, [1.0, 2.0]), Abort, "long has 8 bytes, and 4 are bound"),
    "three ints for uint3": (
        lambda k, t: k.wide(t.view(torch.int64), [1, 2, 3], 1, threads=[2, 2], arg_casts="int32"), Abort, "16 bytes",
    ),
    "bytes written to": (lambda k, t: k.f([1.0], t, 1, 1.0, [1.0, 2.0], threads=1), Abort, "writable"),
    "long list": (lambda k, t: k.f(t, t, 1, 1.0, [1.0] * 1025), Abort, "setBytes"),
    "missing argument": (lambda k, t: k.f(t, t, 1, 1.0), Abort, "4 arguments for 5 buffers"),
    "no threads": (lambda k, t: k.f(t, t, 1, 1.0, [1.0, 2.0], threads=0), Abort, "no threads"),
    "four dimensions": (lambda k, t: k.f(t, t, 1, 1.0, [1.0], threads=[1] * 4), RuntimeError, "1 to 3"),
    "grid of another rank": (lambda k, t: k.f(t, t, 1, 1.0, [1.0], threads=[2, 2]), Abort, "1 dimensions, the grid 2"),
    "group too large": (lambda k, t: k.f(t, t, 1, 1.0, [1.0], group_size=1025), ValueError, "exceeds 1024 limit"),
    "group of another rank": (lambda k, t: k.f(t, t, 1, 1.0, [1.0], group_size=[1, 1]), RuntimeError, "group_size"),
    "another dtype": (lambda k, t: k.f(t, t.view(torch.int32), 1, 1.0, [1.0, 2.0]), Abort, "int32 tensor for float"),
    "unaligned constant": (
        lambda k, t: k.tight(t.view(torch.float16), t.view(torch.float16)[1:], threads=2), Abort, "multiple of 4",
    ),
    "missing kernel": (lambda k, t: k.g(t), RuntimeError, "Failed to create function state object for: g"),
    "hasattr": (lambda k, t: hasattr(k, "g"), RuntimeError, "Failed to create function state object"),
    "not ASCII": (lambda k, t: torch.mps.compile_shader("// \u00e9\n" + SOURCE), Abort, "ASCII"),
    "syntax": (lambda k, t: torch.mps.compile_shader("kernel void f("), SyntaxError, "error"),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_the_stand_in_is_strict(name: str, stand_in: StandIn) -> None:
    call, kind, message = RULES[name]
    library = torch.mps.compile_shader(SOURCE)
    with pytest.raises(kind, match=message):
        call(library, stand_in.put(torch.ones(8)))


def test_the_stand_in_has_the_bug_of_0_dim_cpu_tensors(stand_in: StandIn) -> None:
    """They are read from the start of their storage: a caller that passes them computes with another element."""
    out, a = stand_in.put(torch.zeros(2)), stand_in.put(torch.ones(2))
    scalar = torch.tensor([5.0, 7.0])[1]
    torch.mps.compile_shader(SOURCE).f(out, a, 0, scalar, [0.0, 0.0])
    assert stand_in.get(out).tolist() == [5.0, 5.0]
    assert stand_in.cpu_scalars == 1


# --- the MPS device --------------------------------------------------------------------------------------------------


def fresh(functor: Functor) -> Functor:
    """The functor as if it had not been called."""
    functor.__dict__.pop("caller", None)
    return functor


def on(stand_in: StandIn, value: Any) -> Any:
    return stand_in.put(value) if isinstance(value, torch.Tensor) else value


SOME_FORMS = ("transposed", "broadcast", "offset", "number")  # for the functors that are no examples


@pytest.mark.parametrize("functor", device_cases.ALL, ids=lambda f: f.name)
def test_every_functor(functor: Functor) -> None:
    """Dense in every dtype, and in one dtype in other forms; the same result as on the host device, to the bit."""
    calls: list[tuple[list[Any], dict[str, Any]]] = []
    for dtype in device_cases.domain(functor):
        calls.append((list(device_cases.operands(functor, dtype, 13)), device_cases.scalars(functor, dtype)))
    chosen = device_cases.domain(functor)[0]
    forms: list[list[Any]] = [
        list(args)
        for name, args in device_cases.varied(functor, chosen)
        if functor in device_cases.EXAMPLES or name in SOME_FORMS
    ]
    calls += [(args, device_cases.scalars(functor, chosen)) for args in (*forms, *device_cases.mixed(functor))]
    fresh(functor)
    with device_cases.batched() as (batch, build), mps_stand_in.installed(several_from=8) as stand_in:
        stand_in.build = build
        for batch.collecting in (True, False):
            for args, scalars in calls:
                moved = [on(stand_in, a) for a in args]
                for _ in range(1 if batch.collecting else 2):  # the second call takes a kept plan
                    actual, expected = functor(*moved, **scalars), functor(*args, **scalars)
                    assert actual.device == mps_stand_in.STAND_IN
                    assert (actual.dtype, actual.shape, actual.stride()) == (
                        expected.dtype, expected.shape, expected.stride()
                    )  # fmt: skip
                    if not batch.collecting:
                        torch.testing.assert_close(stand_in.get(actual), expected, rtol=0, atol=0, equal_nan=True)
                for a, m in zip(args, moved, strict=True):
                    if isinstance(a, torch.Tensor):
                        assert torch.equal(stand_in.get(m), a)  # inputs are not written
        assert len(stand_in.calls) == 3 * len(calls)
        assert stand_in.handles == len(stand_in.sources)  # each kernel is looked up once
        assert stand_in.cpu_scalars == 0
    fresh(functor)


@pymetal.binary(dtypes=("floating", "integral", "bool", "complex"))
def combined(a: T, b: T) -> T:
    return a + b


@pytest.mark.parametrize("count", [1, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 4095, 4097])
@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8, torch.float16])
def test_several_elements_a_thread(count: int, dtype: torch.dtype) -> None:
    """From a number of elements on, a thread computes four; what is left over is computed, what is beyond untouched."""
    fresh(combined)
    x, y = device_cases.sample(dtype, count), device_cases.sample(dtype, count, seed=1)
    with mps_stand_in.installed(several_from=8) as stand_in:
        memory = torch.full((count + 8,), 77, dtype=dtype)
        held = stand_in.put(memory)
        combined(stand_in.put(x), stand_in.put(y), out=held[4 : 4 + count])
        result = combined(stand_in.put(x), y[0].item() if count else 0)
        (first, second) = stand_in.calls
        assert first.threads == second.threads == ((-(-count // 4)) if count >= 8 else count,)
        memory[4 : 4 + count] = x + y
        assert torch.equal(stand_in.get(held), memory)
        assert torch.equal(stand_in.get(result), x + y[0].item())
    fresh(combined)


def test_upstream_s_threshold() -> None:
    assert MPS.several_from == 262_144


def test_0_dim_cpu_tensors_go_by_value(stand_in: StandIn) -> None:
    """Their own element, of any dtype, and never as a tensor."""
    fresh(combined)
    x = torch.tensor([1.0, 2.0])
    for dtype in (
        torch.float32,
        torch.float64,
        torch.int64,
        torch.float16,
        torch.complex64,
        torch.complex128,
        torch.bool,
    ):
        for scalar in torch.tensor([0, 1, 1]).to(dtype)[1:]:
            for args, expected in (((x, scalar), x + scalar), ((scalar, x), scalar + x)):
                moved = [stand_in.put(a) if a is x else a for a in args]
                actual = combined(*moved)
                assert torch.equal(stand_in.get(actual), expected)
    assert stand_in.cpu_scalars == 0
    scalar = stand_in.put(torch.tensor([3.0, 4.0])[1])  # one on the device is read there
    assert stand_in.get(combined(stand_in.put(x), scalar)).tolist() == [5.0, 6.0]
    assert stand_in.get(combined(scalar, torch.tensor(1.5))).item() == 5.5
    fresh(combined)


def test_scalars_of_every_type(stand_in: StandIn) -> None:
    @pymetal.binary(dtypes=("floating", "integral", "bool", "complex"))
    def weighted(a: T, b: T, *, alpha: T = 1) -> T:
        return a + alpha * b

    for dtype, alpha in (
        (torch.float32, 0.5), (torch.float32, 2), (torch.float16, 0.1), (torch.bfloat16, 3.0), (torch.int64, 2**62),
        (torch.int8, -3), (torch.uint8, -1), (torch.bool, True), (torch.complex64, 1 - 2j), (torch.complex64, 2),
        (torch.complex64, 0.5), (torch.int16, True), (torch.float32, float("inf")), (torch.float32, 1e300),
    ):  # fmt: skip
        x, y = device_cases.sample(dtype, 5), device_cases.sample(dtype, 5, seed=1)
        actual = stand_in.get(weighted(stand_in.put(x), stand_in.put(y), alpha=alpha))
        torch.testing.assert_close(actual, weighted(x, y, alpha=alpha), rtol=0, atol=0, equal_nan=True)
    kinds = {type(a) for call in stand_in.calls for a in call.args}
    assert kinds == {torch.Tensor, int, float, list}


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bool, torch.int8, torch.float16, torch.bfloat16, torch.int16])
def test_narrow_elements_at_odd_offsets(dtype: torch.dtype, stand_in: StandIn) -> None:
    """Such a tensor may not be bound to the constant space, whose offsets are multiples of four bytes."""
    fresh(combined)
    x = device_cases.sample(dtype, 9)
    held = stand_in.put(x)
    for i in range(4):
        assert torch.equal(stand_in.get(combined(held[i : i + 5], held[:5])), x[i : i + 5] + x[:5])
        assert torch.equal(stand_in.get(combined(held[i : i + 1], held[i::2])), x[i] + x[i::2])
        assert torch.equal(stand_in.get(combined(held[i], held[:5])), x[i] + x[:5])
    out = stand_in.put(torch.zeros(9, dtype=dtype))
    combined(held[1:4], held[2:5], out=out[3:6])
    assert torch.equal(stand_in.get(out)[3:6], x[1:4] + x[2:5])
    fresh(combined)


def test_empty_tensors_are_not_dispatched(stand_in: StandIn) -> None:
    fresh(combined)
    empty = stand_in.put(torch.empty(0, 3))
    for _ in range(2):
        assert combined(empty, empty).shape == (0, 3)
        assert combined(empty, 2).shape == (0, 3)
    assert stand_in.calls == []
    fresh(combined)


def test_out_and_aliases(stand_in: StandIn) -> None:
    fresh(combined)
    x = torch.arange(6.0)
    held = stand_in.put(x)
    assert combined(held, held, out=held) is held
    assert torch.equal(stand_in.get(held), x * 2)
    halves = stand_in.put(torch.zeros(6, dtype=torch.float16))
    combined(held, held, out=halves)
    assert torch.equal(stand_in.get(halves), (x * 4).half())
    with pytest.raises(pymetal.CallError, match="single memory location"):
        combined(held[:4], held[:4], out=held[1:5])
    even = combined(held[::2], held[1::2], out=held[::2])
    assert torch.equal(stand_in.get(even), x[::2] * 2 + x[1::2] * 2)
    fresh(combined)


def test_tensors_of_two_devices(stand_in: StandIn) -> None:
    with pytest.raises(pymetal.CallError, match="tensors on meta and cpu"):
        combined(stand_in.put(torch.ones(2)), torch.ones(2))
    with pytest.raises(pymetal.CallError, match="out= is on cpu"):
        combined(stand_in.put(torch.ones(2)), 1, out=torch.ones(2))


# --- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SyntaxError, RuntimeError])
def test_a_source_that_does_not_compile(kind: type[Exception], stand_in: StandIn) -> None:
    """torch 2.6 raised RuntimeError, later ones SyntaxError; both are MetalSyntaxError here, and not kept."""
    fresh(combined)

    def fail(source: str) -> Any:
        raise kind("program_source:1:1: error: no")

    x = stand_in.put(torch.ones(2))
    with (
        mock.patch.object(torch.mps, "compile_shader", fail),
        pytest.raises(MetalSyntaxError, match="on mps") as caught,
    ):
        combined(x, x)
    assert isinstance(caught.value, SyntaxError)
    assert "Metal's compiler refused the text: program_source:1:1: error: no" in str(caught.value)
    assert stand_in.get(combined(x, x)).tolist() == [2.0, 2.0]
    fresh(combined)


def test_a_pipeline_that_cannot_be_made(stand_in: StandIn) -> None:
    """Which Metal tells only when the kernel is looked up."""
    fresh(combined)

    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(f"Failed to create pipeline state object, error: for {name}")

    x = stand_in.put(torch.ones(2))
    broken = mock.patch.object(torch.mps, "compile_shader", return_value=Broken())
    with broken, pytest.raises(MetalSyntaxError, match=f"Metal cannot make a pipeline of {KERNEL}: Failed to"):
        combined(x, x)
    fresh(combined)


def test_without_mps() -> None:
    if not torch.backends.mps.is_available():
        with pytest.raises(DeviceError, match="this torch has no MPS device"):
            MPS.compile("")
    with mock.patch.object(torch.mps, "compile_shader", None), pytest.raises(DeviceError):
        MPS.compile("")
