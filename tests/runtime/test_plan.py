"""What a call's operands become: dtypes, shapes, strides, merged dimensions, sound outputs; all without a device."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import toolbox
import torch
from hypothesis import given
from hypothesis import strategies as st

import pymetal
from pymetal import CallError, DeviceError, T, dtypes
from pymetal.codegen.launch_kernels import Role
from pymetal.promotion import PROMOTIONS
from pymetal.runtime import device, overlap, plan, type_promotion
from pymetal.runtime.device import device_of, find_device
from pymetal.runtime.strides import contiguous_strides

Tensor = torch.Tensor
CPU = torch.device("cpu")
OPERANDS: list[Any] = [
    *(torch.ones(2, dtype=d) for d in toolbox.DTYPES), *(torch.ones((), dtype=d) for d in toolbox.DTYPES[:6]),
    2, 2.5, True,
]  # fmt: skip


def described(*operands: Tensor | plan.Number) -> list[plan.Operand]:
    return [plan.describe(o, CPU) for o in operands]


# --- dtypes ----------------------------------------------------------------------------------------------------------


def test_operands_meet_where_torch_has_them_meet() -> None:
    for a, b in itertools.product(OPERANDS, OPERANDS):
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            assert type_promotion.promote(described(a, b)) == torch.result_type(a, b), (a, b)


def test_three_operands() -> None:
    half, long, double = torch.ones(2).half(), torch.ones(2, dtype=torch.int64), torch.ones((), dtype=torch.float64)
    assert type_promotion.promote(described(half, long, double)) is torch.float16
    assert type_promotion.promote(described(long, double, 2)) is torch.float64  # a higher kind, though 0-dim
    assert type_promotion.promote(described(True, long, 1j)) is torch.complex64


def test_the_promotion_table_names_torch_s_kinds() -> None:
    from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND

    assert {name.upper() for name in PROMOTIONS} == {kind.name for kind in ELEMENTWISE_TYPE_PROMOTION_KIND}


def test_element_type() -> None:
    @pymetal.unary(dtypes=("bool", torch.float32))
    def f(x: T) -> T:
        return x

    def element(dtype: torch.dtype) -> dtypes.DType:
        return f.caller.element([plan.Operand(dtype, (1,), (1,))])

    assert element(torch.bool) is dtypes.bool_
    with pytest.raises(CallError, match=r"f has no kernel for torch.float64 \(Metal has no double\)"):
        element(torch.float64)
    with pytest.raises(
        CallError, match=r"f has no kernel for torch.float8_e4m3fn\nIt is registered for torch.float32, torch.bool"
    ):
        element(torch.float8_e4m3fn)


def test_what_travels_by_value() -> None:
    """Numbers, and 0-dim tensors of a dtype that Metal lacks or of another device."""
    assert plan.describe(2.5, CPU).is_number
    assert plan.describe(torch.tensor(2.5, dtype=torch.float64), CPU).is_number
    assert plan.describe(torch.tensor(2.5), torch.device("mps")).is_number
    assert not plan.describe(torch.tensor(2.5), CPU).is_number
    assert not plan.describe(torch.ones(1), CPU).is_number


# --- shapes and strides ----------------------------------------------------------------------------------------------

sizes = st.lists(st.sampled_from([0, 1, 1, 2, 3, 5]), max_size=4)


@given(sizes, sizes, sizes)
def test_broadcast(a: list[int], b: list[int], c: list[int]) -> None:
    try:
        expected = torch.broadcast_shapes(a, b, c)
    except RuntimeError:
        with pytest.raises(CallError, match="f was called with shapes that do not broadcast"):
            plan.broadcast("f", [tuple(a), tuple(b), tuple(c)])
        return
    assert plan.broadcast("f", [tuple(a), tuple(b), tuple(c)]) == expected


@st.composite
def tensors(draw: st.DrawFn, shape: tuple[int, ...]) -> Tensor:
    """A view that broadcasts to a shape: permuted, sliced, expanded, with fewer dimensions, or contiguous."""
    dims = len(shape)
    order = draw(st.permutations(range(dims)))
    steps = [draw(st.sampled_from([1, 1, 1, 2])) for _ in shape]
    thin = [draw(st.sampled_from([False, False, False, True])) for _ in shape]
    base = [1 if thin[d] else shape[d] * steps[d] for d in order]
    count = 1
    for size in base:
        count *= size
    tensor = torch.arange(count, dtype=torch.int32).reshape(base).permute([order.index(d) for d in range(dims)])
    for d in range(dims):
        if not thin[d]:
            tensor = tensor[(slice(None),) * d + (slice(None, None, steps[d]),)]
    if draw(st.booleans()):
        tensor = tensor.expand(shape)
    while tensor.dim() and tensor.shape[0] == 1 and draw(st.booleans()):
        tensor = tensor[0]
    return tensor


@st.composite
def calls(draw: st.DrawFn) -> list[Tensor]:
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=5)))
    return [draw(tensors(shape)) for _ in range(draw(st.integers(1, 3)))]


@given(calls())
def test_a_new_output_is_torch_s(inputs: list[Tensor]) -> None:
    operators: dict[int, Callable[..., Tensor]] = {1: torch.neg, 2: torch.add, 3: torch.addcmul}
    expected = operators[len(inputs)](*inputs)
    made = plan.make_plan("f", dtypes.int32, described(*inputs))
    assert made.element is dtypes.int32
    assert made.shape == expected.shape
    strides = contiguous_strides(made.shape) if made.strides is None else made.strides
    # Of a dimension of size 1 the stride says nothing.
    assert [s for s, n in zip(strides, made.shape, strict=True) if n != 1] == [
        s for s, n in zip(expected.stride(), made.shape, strict=True) if n != 1
    ]


def walk(made: plan.Plan, tensors_in_memory: int) -> list[tuple[int, ...]]:
    """The offsets of output and tensors that the threads of a plan compute, in Python."""
    count = 1
    for extent in made.grid:
        count *= extent
    if made.form.rank == 0:
        single = [role is Role.SINGLE for role in made.form.roles if role is not Role.NUMBER]
        return [(i, *(0 if one else i for one in single)) for i in range(count)] if made.grid else []
    operands = 1 + tensors_in_memory
    found = []
    for index in itertools.product(*(range(n) for n in made.sizes)):
        found.append(tuple(sum(i * made.steps[d * operands + k] for d, i in enumerate(index)) for k in range(operands)))
    assert len(found) == count, "the grid has a thread for each element"
    return found


@given(calls())
def test_threads_walk_every_element_once(inputs: list[Tensor]) -> None:
    """Whatever dimensions were merged, each output element meets its operands' elements, and nothing else."""
    made = plan.make_plan("f", dtypes.int32, described(*inputs))
    shape = made.shape
    out = contiguous_strides(shape) if made.strides is None else made.strides
    rows = [out, *(t.expand(shape).stride() for t in inputs)]
    expected = [
        tuple(sum(i * s for i, s in zip(index, strides, strict=True)) for strides in rows)
        for index in itertools.product(*(range(n) for n in shape))
    ]
    assert sorted(walk(made, len(inputs))) == sorted(expected)


def test_calls_that_are_dense() -> None:
    """One index, no division: contiguous tensors, permuted alike, and operands that are one element."""
    x = torch.empty(4, 5, dtype=torch.int32)
    one = torch.empty(1, dtype=torch.int32)
    for inputs in ([x], [x, x], [x.t(), x.t()], [x, one], [one, x], [x, 2], [x, one.expand(4, 5)], [x[1:], x[1:]]):
        made = plan.make_plan("f", dtypes.int32, described(*inputs))
        assert made.form.rank == 0, inputs
        assert made.grid == (made.shape.numel(),)
    for inputs in ([x, x[0]], [x.t(), x.t().contiguous()], [x[:, ::2]]):
        assert plan.make_plan("f", dtypes.int32, described(*inputs)).form.rank > 0


def test_dimensions_are_merged() -> None:
    """Three dimensions of which two are contiguous in every operand become two."""
    x = torch.empty(6, 4, 5, dtype=torch.int32)
    made = plan.make_plan("f", dtypes.int32, described(x, torch.empty(6, 1, 1, dtype=torch.int32)))
    assert made.sizes == [20, 6]
    assert made.steps == [1, 1, 0, 20, 20, 1]


def test_nothing_to_compute() -> None:
    for shape in ((0,), (3, 0), (0, 4, 2)):
        made = plan.make_plan("f", dtypes.int32, described(torch.empty(shape, dtype=torch.int32), 1))
        assert made.grid == ()
        assert made.shape == torch.Size(shape)


# --- outputs ---------------------------------------------------------------------------------------------------------


def accepted(out: Tensor, *inputs: Tensor) -> bool:
    try:
        overlap.check_memory("f", out, inputs)
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
    matrix = base[:16].reshape(4, 4)
    assert accepted(matrix, matrix)
    assert not accepted(matrix.t(), matrix)
    assert accepted(matrix[:2], matrix[2:])
    assert not accepted(matrix[:2], matrix[1:3])
    assert accepted(base[1::2], base[::2])  # between its elements


@given(st.data())
def test_overlap_is_found_where_there_is_one(data: st.DataObject) -> None:
    """By listing the elements: whatever shares one with an input and is not that input is refused."""
    views = []
    for _ in range(2):
        shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
        strides = [data.draw(st.integers(1, 5)) for _ in shape]
        views.append((tuple(shape), tuple(strides), data.draw(st.integers(0, 6))))
    base = torch.zeros(64)
    out, tensor = (base.as_strided(*view) for view in views)
    places = [
        [
            start + sum(i * s for i, s in zip(index, strides, strict=True))
            for index in itertools.product(*map(range, shape))
        ]
        for shape, strides, start in views
    ]
    itself = len(set(places[0])) < len(places[0])
    common = bool(set(places[0]) & set(places[1]))
    if itself or (common and places[0] != places[1]):
        assert not accepted(out, tensor)
    elif not common or views[0] == views[1]:
        # Where it is too hard to tell whether `out` names an element twice, torch refuses, too.
        assert accepted(out, tensor) or overlap.has_internal_overlap(out)


@pytest.mark.parametrize("result", toolbox.DTYPES, ids=str)
def test_output_dtypes_are_those_that_torch_casts_to(result: torch.dtype) -> None:
    x = torch.ones(2, dtype=result)
    for dtype in toolbox.DTYPES:
        out = torch.empty(2, dtype=dtype)
        try:
            torch.mul(x, x, out=torch.empty(2, dtype=dtype))
        except RuntimeError:
            with pytest.raises(CallError, match="cannot be cast"):
                overlap.check_output("f", out, result, CPU)
        else:
            assert overlap.check_output("f", out, result, CPU) is out


# --- devices ---------------------------------------------------------------------------------------------------------


def test_zero_dim_cpu_tensors_go_along() -> None:
    meta, scalar = torch.ones(2, device="meta"), torch.tensor(2.0)
    assert device_of("f", [meta, scalar]).type == "meta"
    assert device_of("f", [scalar, meta]).type == "meta"
    assert device_of("f", [scalar, scalar]).type == "cpu"
    with pytest.raises(CallError, match="cpu and meta"):
        device_of("f", [torch.ones(1), meta])


def test_devices() -> None:
    assert find_device(CPU).name == "host"
    assert find_device(torch.device("mps")).name == "mps"
    assert find_device(torch.device("mps", 0)).name == "mps"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("pymetal.nosuch:DEVICE", "cannot load the device for cpu tensors, pymetal.nosuch:DEVICE: No module named"),
        ("pymetal.runtime.mps:NOSUCH", "cannot load the device for cpu tensors, pymetal.runtime.mps:NOSUCH: module"),
        ("pymetal.runtime.mps", "cannot load the device for cpu tensors, pymetal.runtime.mps: "),
    ],
)
def test_a_wrong_row_of_the_device_table(row: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_used", {})
    monkeypatch.setitem(device.DEVICES, "cpu", row)
    with pytest.raises(DeviceError, match=message):
        find_device(CPU)


def test_a_device_without_a_row() -> None:
    with pytest.raises(DeviceError, match="pymetal has no device for meta tensors"):
        find_device(torch.device("meta"))


def test_the_host_device_is_not_imported_for_mps() -> None:
    text = """
import sys, torch, pymetal
from examples.atan2 import atan2
from pymetal.runtime.device import find_device
assert find_device(torch.device("mps")).name == "mps"
atan2.metal_source, atan2.caller
print(sorted(name for name in sys.modules if name.startswith("pymetal.host")))
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_missing_mps_is_a_device_error() -> None:
    mps = find_device(torch.device("mps"))
    if not mps.available():
        with pytest.raises(RuntimeError, match="no MPS device"):
            mps.compile("")
