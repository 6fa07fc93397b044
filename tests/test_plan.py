"""What a call's tensors become: dtypes, shapes, strides, which output is sound, which kernel fits."""

from __future__ import annotations

import itertools

import pytest
import toolbox
import torch
from hypothesis import given
from hypothesis import strategies as st

from pymetal import CallError, dtypes
from pymetal.promotion import PROMOTIONS, find_promotion
from pymetal.runtime import plan
from pymetal.runtime.device import device_of, find_device

Tensor = torch.Tensor
ALL_OPERANDS = [
    *(torch.ones(2, dtype=d) for d in toolbox.DTYPES), *(torch.ones((), dtype=d) for d in toolbox.DTYPES[:6]),
    2, 2.5, True,
]  # fmt: skip


# --- promotion -------------------------------------------------------------------------------------------------------

# An operator of torch for each promotion kind.
OPERATORS = {
    "default": torch.add,
    "int_to_float": torch.true_divide,
    "always_bool": torch.lt,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["default", "int_to_float", "always_bool"])
def test_result_dtype_is_torch_s(kind: str) -> None:
    promotion = find_promotion(kind)
    for a, b in itertools.product(ALL_OPERANDS, ALL_OPERANDS):
        if not isinstance(a, Tensor):
            continue
        promoted = plan.promote([a, b], promotion)
        assert promoted.result == OPERATORS[kind](a, b).dtype, (a, b)
        assert promoted.element == torch.result_type(a, b), (a, b)


@pytest.mark.parametrize("dtype", toolbox.DTYPES, ids=str)
def test_other_kinds(dtype: torch.dtype) -> None:
    x = torch.ones(2, dtype=dtype)
    assert plan.promote([x], find_promotion("bool_to_long")).result is (torch.int64 if dtype is torch.bool else dtype)
    assert plan.promote([x], find_promotion("no_opmath")).result is dtype
    assert plan.promote([x.cfloat()], find_promotion("complex_to_float")).result is torch.float32
    assert plan.promote([x], find_promotion("complex_to_float")).result == torch.abs(x.int()).to(dtype).dtype


def test_the_table_names_torch_s_kinds() -> None:
    from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND

    kinds = {p.torch_kind for p in PROMOTIONS.values()}
    assert kinds == {kind.name for kind in ELEMENTWISE_TYPE_PROMOTION_KIND}


# --- shapes and strides ----------------------------------------------------------------------------------------------

sizes = st.lists(st.sampled_from([0, 1, 1, 2, 3, 5]), max_size=4)


@given(sizes, sizes, sizes)
def test_broadcast(a: list[int], b: list[int], c: list[int]) -> None:
    tensors = [torch.empty(s) for s in (a, b, c)]
    try:
        expected = torch.broadcast_shapes(a, b, c)
    except RuntimeError:
        with pytest.raises(CallError, match="f was called with shapes that do not broadcast"):
            plan.broadcast("f", tensors)
        return
    assert plan.broadcast("f", tensors) == expected


@st.composite
def tensors(draw: st.DrawFn, shape: tuple[int, ...]) -> Tensor:
    """A view of the given shape, or one that broadcasts to it: permuted, sliced, expanded or contiguous."""
    dims = len(shape)
    order = draw(st.permutations(range(dims)))
    steps = [draw(st.sampled_from([1, 1, 1, 2])) for _ in shape]
    stretched = [draw(st.sampled_from([False, False, False, True])) for _ in shape]
    base = [1 if stretched[d] else shape[d] * steps[d] for d in order]
    tensor = torch.arange(max(1, int(torch.tensor(base).prod()) if base else 1), dtype=torch.int32)
    tensor = tensor[: int(torch.tensor(base).prod()) if base else 1].reshape(base)
    tensor = tensor.permute([order.index(d) for d in range(dims)])
    for d in range(dims):
        if not stretched[d]:
            tensor = tensor[(slice(None),) * d + (slice(None, None, steps[d]),)]
    return tensor.expand(shape) if draw(st.booleans()) else tensor


@st.composite
def calls(draw: st.DrawFn) -> list[Tensor]:
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=4)))
    return [draw(tensors(shape)) for _ in range(draw(st.integers(1, 3)))]


def torch_output(given_tensors: list[Tensor]) -> Tensor:
    operator = {1: torch.neg, 2: torch.add, 3: lambda a, b, c: torch.addcmul(a, b, c)}[len(given_tensors)]
    return operator(*given_tensors)


@given(calls())
def test_new_output_has_torch_s_strides(given_tensors: list[Tensor]) -> None:
    expected = torch_output(given_tensors)
    shape = plan.broadcast("f", given_tensors)
    out = plan.new_output(given_tensors, shape, torch.int32, torch.device("cpu"))
    assert out.shape == expected.shape
    assert out.stride() == expected.stride()
    assert out.dtype is torch.int32


@given(calls())
def test_dense_means_one_index_serves_all(given_tensors: list[Tensor]) -> None:
    shape = plan.broadcast("f", given_tensors)
    out = plan.new_output(given_tensors, shape, torch.int32, torch.device("cpu"))
    if plan.is_dense(out, given_tensors):
        for t in (out, *given_tensors):
            flat = t.as_strided((t.numel(),), (1,), t.storage_offset())
            assert t.shape == shape
            assert sorted(flat.tolist()) == sorted(t.flatten().tolist()) or t is out
            # The element at an index of `out` is at the same distance in memory in `t`.
            assert t.stride() == out.stride() or (t.is_contiguous() and out.is_contiguous())
    elif all(t.is_contiguous() and t.shape == shape for t in given_tensors):
        raise AssertionError("contiguous tensors of one shape are dense")


@given(calls())
def test_strided_arguments_walk_every_element_once(given_tensors: list[Tensor]) -> None:
    """What the kernel does with them, in Python."""
    shape = plan.broadcast("f", given_tensors)
    out = plan.new_output(given_tensors, shape, torch.int32, torch.device("cpu"))
    dims, strides, ndim = plan.strided_arguments(out, given_tensors)
    operands = 1 + len(given_tensors)
    assert len(dims) == ndim >= 1
    assert len(strides) == ndim * operands
    visited = []
    for i in range(out.numel()):
        at, rest = [0] * operands, i
        for d in range(ndim):
            position, rest = rest % dims[d], rest // dims[d]
            for k in range(operands):
                at[k] += position * strides[d * operands + k]
        visited.append(at)
    expected = []
    for index in itertools.product(*(range(n) for n in shape)):
        all_strides = [out.stride(), *(t.expand(shape).stride() for t in given_tensors)]
        expected.append([sum(i * s for i, s in zip(index, row, strict=True)) for row in all_strides])
    assert sorted(visited) == sorted(expected)
    # The fastest dimension of the output comes first.
    steps = strides[::operands]
    assert steps == sorted(steps)


# --- outputs ---------------------------------------------------------------------------------------------------------


def accepted(out: Tensor, *inputs: Tensor) -> bool:
    try:
        plan.check_output("f", out, inputs, inputs[0].shape, inputs[0].dtype, inputs[0].device)
    except CallError:
        return False
    return True


def test_outputs_that_share_memory() -> None:
    base = torch.arange(24.0)
    x = base[:6]
    assert accepted(x, x)
    assert accepted(base[6:12], x)
    assert accepted(torch.empty(6), x)
    assert not accepted(base[1:7], x)
    assert not accepted(base[5:11], x)
    assert not accepted(base[:12:2], x)
    assert not accepted(base[0:1].expand(6), x)
    assert not accepted(base[:36:1][:6].as_strided((6,), (0,)), x)
    matrix = base[:16].reshape(4, 4)
    assert accepted(matrix, matrix)
    assert not accepted(matrix.t(), matrix)
    assert accepted(matrix[:2], matrix[2:])
    assert not accepted(matrix[:2], matrix[1:3])


@pytest.mark.parametrize("result", toolbox.DTYPES, ids=str)
def test_output_dtypes_are_those_that_torch_casts_to(result: torch.dtype) -> None:
    x = torch.ones(2, dtype=result)
    for dtype in toolbox.DTYPES:
        try:
            torch.mul(x, x, out=torch.empty(2, dtype=dtype))
        except RuntimeError:
            assert not accepted(torch.empty(2, dtype=dtype), x)
        else:
            assert accepted(torch.empty(2, dtype=dtype), x)


# --- devices ---------------------------------------------------------------------------------------------------------


def test_zero_dim_cpu_tensors_go_along() -> None:
    meta, scalar = torch.ones(2, device="meta"), torch.tensor(2.0)
    assert device_of("f", [meta, scalar]).type == "meta"
    assert device_of("f", [scalar, meta]).type == "meta"
    assert device_of("f", [scalar, scalar]).type == "cpu"
    with pytest.raises(CallError, match="cpu and meta"):
        device_of("f", [torch.ones(1), meta])


def test_devices() -> None:
    assert find_device(torch.device("cpu")).name == "host"
    assert find_device(torch.device("mps")).name == "mps"
    assert find_device(torch.device("mps", 0)).name == "mps"


def test_missing_mps_is_a_device_error() -> None:
    device = find_device(torch.device("mps"))
    if not device.available():
        with pytest.raises(RuntimeError, match="no MPS device"):
            device.compile("")


def test_element_type() -> None:
    domain = (dtypes.float32, dtypes.bool_)
    assert plan.element_type("f", torch.bool, domain) is dtypes.bool_
    with pytest.raises(CallError, match=r"f has no kernel for float64 \(Metal has no double\)"):
        plan.element_type("f", torch.float64, domain)
    with pytest.raises(CallError, match="f has no kernel for float8_e4m3fn\nIt is registered for float32, bool"):
        plan.element_type("f", torch.float8_e4m3fn, domain)
