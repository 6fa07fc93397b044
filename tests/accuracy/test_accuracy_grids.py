"""Sampling grids and exact references."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch

from pymetal.accuracy import elementwise, grids

FLOATS = (torch.float16, torch.bfloat16, torch.float32)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


@pytest.mark.parametrize("dtype", FLOATS)
def test_edges_of_floats(dtype: torch.dtype) -> None:
    values = grids.edges(dtype)
    info = torch.finfo(dtype)
    assert values.dtype == dtype
    assert values.isnan().sum() == 1
    for wanted in (math.inf, -math.inf, 1.0, -1.0, info.max, -info.max, info.smallest_normal, info.eps):
        assert wanted in values.double().tolist()
    subnormal = (values != 0) & (values.double().abs() < info.smallest_normal)
    assert subnormal.sum() == 4
    zeros = values[values == 0]
    assert zeros.signbit().tolist() == [False, True]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_edges_of_integers(dtype: torch.dtype) -> None:
    values = grids.edges(dtype).tolist()
    info = torch.iinfo(dtype)
    assert {info.min, info.max, 0, 1} <= set(values)
    assert (-1 in values) == (info.min < 0)


def test_edges_of_the_others() -> None:
    assert grids.edges(torch.bool).tolist() == [False, True]
    assert grids.edges(torch.complex64).shape == (64,)


@pytest.mark.filterwarnings("ignore:ComplexHalf support")
def test_edges_of_complex_halves() -> None:
    assert grids.edges(torch.complex32).dtype == torch.complex32


def test_combinations() -> None:
    a, b = grids.combinations([torch.tensor([1, 2]), torch.tensor([0.5, 1.5, 2.5])])
    assert a.tolist() == [1, 1, 1, 2, 2, 2]
    assert b.tolist() == [0.5, 1.5, 2.5] * 2


@pytest.mark.parametrize("dtype", FLOATS)
def test_stratified(dtype: torch.dtype) -> None:
    values = grids.stratified(dtype, 4)
    assert values.dtype == dtype
    assert values.isfinite().all()
    _, exponents = torch.frexp(values.double())
    assert set(range(-10, 10)) <= set(exponents.tolist())
    assert torch.equal(values, grids.stratified(dtype, 4))
    some = grids.stratified(dtype, 3, low=0.25, high=2.0).abs()
    assert some.min() >= 0.25
    assert some.max() <= 2
    assert len(some) == 18


@pytest.mark.parametrize("dtype", INTEGERS)
def test_random_integers(dtype: torch.dtype) -> None:
    values = grids.integers(dtype, 400)
    assert values.dtype == dtype
    assert (values.abs() < 16).any()
    assert len(values.unique()) > 60


def test_random_bools() -> None:
    assert set(grids.integers(torch.bool, 50).tolist()) == {False, True}


def test_on_reals() -> None:
    x = torch.tensor([0.0, 1.0, 2.0, -1.0, math.inf, math.nan])
    found = elementwise.on_reals(mpmath.log, x)
    assert found.dtype == torch.float64
    assert found[1:3].tolist() == [0.0, math.log(2)]
    assert found.isnan().tolist() == [False, False, False, True, False, True]
    quotient = elementwise.on_reals(lambda a, b: a / b, x[:2], torch.zeros(2))
    assert quotient.isnan().all()


def test_on_complex() -> None:
    z = torch.tensor([1j, 2.0, 0.0], dtype=torch.complex64)
    assert torch.equal(elementwise.on_complex(mpmath.sqrt, z), torch.sqrt(z.to(torch.complex128)))
    assert elementwise.on_complex(lambda a: 1 / a, z)[2].isnan()


def test_on_integers_wraps() -> None:
    a = torch.tensor([100, -128, 127], dtype=torch.int8)
    assert elementwise.on_integers(lambda x, y: x + y, a, a).tolist() == [-56, 0, -2]
    assert elementwise.on_integers(lambda x: x < 0, a, dtype=torch.bool).tolist() == [False, True, False]
    wide = torch.tensor([2**62])
    assert elementwise.on_integers(lambda x: 2 * x, wide).tolist() == [-(2**63)]
