"""ULP distances and errors against counting by `torch.nextafter`, special values included."""

from __future__ import annotations

import math

import float_distance
import pytest
import torch

from pymetal.accuracy import ulp

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
inf, nan = math.inf, math.nan


@pytest.mark.parametrize("dtype", FLOATS)
def test_neighbours_are_one_apart(dtype: torch.dtype) -> None:
    info = torch.finfo(dtype)
    least = info.smallest_normal * info.eps
    x = torch.tensor([0.0, 1.0, -1.0, info.smallest_normal, -info.smallest_normal, least, info.max], dtype=dtype)
    up = float_distance.ordered(x) + 1
    for value, place in zip(x, up, strict=True):
        neighbour = _float_at(int(place), dtype)
        assert float_distance.distance(value, neighbour) == 1
        assert neighbour > value


def _float_at(place: int, dtype: torch.dtype) -> torch.Tensor:
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    size = torch.tensor(abs(place), dtype=torch.int64).to(bits).view(dtype)
    return -size if place < 0 else size


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_every_half_is_one_from_the_next(dtype: torch.dtype) -> None:
    positive = torch.arange(0, 0x7C01 if dtype is torch.float16 else 0x7F81, dtype=torch.int16).view(dtype)
    assert torch.equal(float_distance.ordered(positive), torch.arange(len(positive)))
    assert torch.equal(float_distance.ordered(-positive), -torch.arange(len(positive)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_values(dtype: torch.dtype) -> None:
    top = torch.finfo(dtype).max
    actual = torch.tensor([0.0, nan, nan, 1.0, inf, -inf, inf, inf], dtype=dtype)
    expected = torch.tensor([-0.0, nan, 1.0, nan, inf, -inf, -inf, top], dtype=dtype)
    found = float_distance.distance(actual, expected)
    assert found[[0, 1, 2, 3, 4, 5, 7]].tolist() == [0, 0, float_distance.FAR, float_distance.FAR, 0, 0, 1]
    assert found[6] > 1000
    assert float_distance.distance(actual, expected, signed_zeros=True)[0] == 1
    assert float_distance.distance(actual, actual, signed_zeros=True).eq(0).all()


def test_distances_of_doubles_do_not_wrap() -> None:
    assert float_distance.distance(torch.tensor(inf).double(), torch.tensor(-inf).double()) > 1 << 60


@pytest.mark.parametrize("dtype", FLOATS[:3])
def test_rounding_is_half_a_unit_at_most(dtype: torch.dtype) -> None:
    exact = torch.randn(2000, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    exact = torch.cat([exact, exact * torch.finfo(dtype).smallest_normal, exact * torch.finfo(dtype).max / 8])
    assert 0.45 < ulp.worst(exact.to(dtype), exact) <= 0.5


@pytest.mark.parametrize("dtype", FLOATS[:3])
def test_error_at_the_ends(dtype: torch.dtype) -> None:
    info = torch.finfo(dtype)
    actual = torch.tensor([inf, inf, info.max, nan, nan, 1.0, inf, 0.0, 0.0], dtype=dtype)
    exact = torch.tensor(
        [inf, info.max * 4, inf, nan, 1.0, nan, 1.0, 0.0, info.smallest_normal * info.eps], dtype=torch.float64
    )
    found = ulp.error(actual, exact).tolist()
    assert found[:2] == [0, 0]
    assert found[2] == pytest.approx(1)
    assert found[3:] == [0, inf, inf, inf, 0, 1]


def test_floor() -> None:
    actual, exact = torch.tensor([1e-9]), torch.tensor([0.0], dtype=torch.float64)
    assert ulp.worst(actual, exact) > 1e20
    assert ulp.worst(actual, exact, floor=1.0) == pytest.approx(1e-9 / 2**-23, rel=1e-6)


@pytest.mark.filterwarnings("ignore:ComplexHalf support")
def test_complex_parts_are_measured_by_the_larger_one() -> None:
    exact = torch.tensor([complex(1, 0), complex(nan, 1), complex(inf, 1)], dtype=torch.complex128)
    actual = torch.tensor([complex(1, 2**-22), complex(nan, 1), complex(inf, 1)], dtype=torch.complex64)
    assert ulp.error(actual, exact).tolist() == [2, 0, 0]
    assert ulp.error(actual[:1].to(torch.complex32), exact[:1]).shape == (1,)


def test_spacing() -> None:
    x = torch.tensor([1.0, 1.9, 2.0, -4.0, 0.0, 1e-310, 1e300], dtype=torch.float64)
    top = 2.0**104
    assert ulp.spacing(x, torch.float32).tolist() == [2**-23, 2**-23, 2**-22, 2**-21, 2**-149, 2**-149, top]


def test_refusals() -> None:
    x = torch.zeros(2)
    for actual, expected in ((x, x.double()), (x, torch.zeros(3)), (x.long(), x.long())):
        with pytest.raises(ValueError, match=r"distance|shapes|units"):
            float_distance.distance(actual, expected)
    assert ulp.worst(torch.zeros(0), torch.zeros(0, dtype=torch.float64)) == 0
