"""Tensors that are not plain memory: zeros without storage, tangents, inference tensors; outputs that are inputs."""

from __future__ import annotations

import pytest
import torch
from test_layouts import fresh, scaled, summed
from torch.autograd import forward_ad

import pymetal
from pymetal.errors import CallError, PyMetalError


def test_zeros_without_memory() -> None:
    zeros = torch._efficientzerotensor((3,))
    add = fresh(summed)
    for _ in range(2):
        assert add(zeros, torch.ones(3)).tolist() == [1, 1, 1]
        assert add(torch.full((3,), 2.0), torch.ones(3)).tolist() == [3, 3, 3]


def test_a_kernel_refuses_them() -> None:
    source = (
        "kernel void f(device float* out, device const float* x, uint i [[thread_position_in_grid]]) { out[i] = x[i]; }"
    )
    kernel = pymetal.host.compile_shader(source).f
    for _ in range(2):
        with pytest.raises(PyMetalError, match="argument 1 is a tensor without memory"):
            kernel(torch.empty(3), torch._efficientzerotensor((3,)))


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_a_tangent_is_not_lost() -> None:
    add = fresh(summed)
    add(torch.ones(2), torch.ones(2))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.full((2,), 5.0))
        for args in ((dual, torch.ones(2)), (torch.ones(2), dual)):
            with pytest.raises(CallError, match="has a tangent of forward-mode differentiation"):
                add(*args)
        assert add(torch.ones(2), torch.ones(2)).tolist() == [2, 2]


def test_an_output_that_is_an_input_keeps_its_shape() -> None:
    a = torch.arange(3.0)
    with pytest.raises(CallError, match=r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"):
        summed(a, torch.zeros(2, 3), out=a)
    assert a.tolist() == [0, 1, 2]


def test_an_inference_tensor_is_written_in_inference_mode_only() -> None:
    with torch.inference_mode():
        out = torch.zeros(3)
        assert summed(torch.ones(3), torch.ones(3), out=out).tolist() == [2, 2, 2]
    for _ in range(2):
        with pytest.raises(CallError, match="inference tensor outside InferenceMode"):
            summed(torch.ones(3), torch.zeros(3), out=out)
    assert out.tolist() == [2, 2, 2]


def test_explain_takes_an_output() -> None:
    x = torch.ones(3)
    assert "result: float16 (3,)" in summed.explain(x, x, out=torch.ones(3).half())
    with pytest.raises(CallError, match="cannot be cast"):
        summed.explain(x, x, out=torch.ones(3, dtype=torch.int32))


def test_trace_takes_numbers() -> None:
    events = summed.trace(torch.tensor([1.0, float("inf")]), float("-inf"))
    assert [event.what for event in events] == ["NaN is born"]
    assert scaled.trace(torch.ones(3), 1, alpha=2.0) == []
    assert summed.trace(torch.empty(0), 1) == []
    with pytest.raises(CallError, match=r"which does not hold 0\.5"):
        scaled.trace(torch.ones(3, dtype=torch.int32), 0.5)
    with pytest.raises(CallError, match="numbers only"):
        summed.trace(1.0, 2.0)
