"""Tensors in every layout: strategies that draw views, and functors that combine them exactly."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from hypothesis import strategies as st

import pymetal
from pymetal import T
from pymetal.functor import Functor


@pymetal.unary(dtypes="integral")
def negated(a: T) -> T:
    return -a


@pymetal.binary(dtypes="integral")
def added(a: T, b: T) -> T:
    return a + b


@pymetal.ternary(dtypes="integral")
def multiplied_in(a: T, b: T, c: T) -> T:
    return a + b * c


# By the number of operands: the functor, and the operator of torch that computes the same.
OPERATORS: dict[int, tuple[Functor, Callable[..., torch.Tensor]]] = {
    1: (negated, torch.neg),
    2: (added, torch.add),
    3: (multiplied_in, torch.addcmul),
}


@st.composite
def views(draw: st.DrawFn, shape: tuple[int, ...], dtype: torch.dtype = torch.int32) -> torch.Tensor:
    """A tensor that broadcasts to `shape`: permuted, sliced with gaps, offset, expanded, of lower rank."""
    shape = shape[draw(st.sampled_from([0, 0, 0, 1])) :] if shape else shape
    dims = len(shape)
    repeated = [draw(st.sampled_from([False, False, False, True])) for _ in shape]
    own = [1 if again else size for again, size in zip(repeated, shape, strict=True)]
    order = draw(st.permutations(range(dims))) if draw(st.booleans()) else range(dims)
    gaps = [draw(st.sampled_from([1, 1, 1, 2])) for _ in shape]
    strides, step = [0] * dims, 1
    for d in reversed(order):
        strides[d] = step * gaps[d]
        # A dimension of one element may have any stride.
        if own[d] == 1:
            strides[d] = draw(st.sampled_from([step, 1, 3, 70]))
        step = max(step, step * gaps[d] * max(own[d], 1))
    offset = draw(st.sampled_from([0, 0, 1, 5]))
    extent = 1 + sum((size - 1) * stride for size, stride in zip(own, strides, strict=True) if size)
    memory = torch.arange(offset + max(extent, 1), dtype=torch.int64).mul(37).remainder(101).to(dtype)
    tensor = memory.as_strided(own, strides, offset)
    return tensor.expand(shape) if draw(st.booleans()) else tensor


sizes = st.lists(st.sampled_from([1, 1, 2, 3, 4]), max_size=5).filter(lambda shape: math.prod(shape) <= 400)
sizes_with_zero = st.lists(st.sampled_from([0, 1, 2, 3]), min_size=1, max_size=4)


@st.composite
def calls(draw: st.DrawFn, shapes: st.SearchStrategy[list[int]] = sizes) -> list[torch.Tensor]:
    """The operands of a call of one to three."""
    shape = tuple(draw(shapes))
    return [draw(views(shape)) for _ in range(draw(st.integers(1, 3)))]
