"""Inputs in every layout: many dimensions, shared elements, none at all, too many for one launch; never a copy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import counting
import layouts
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pymetal
from pymetal import T
from pymetal.functor import Functor
from pymetal.runtime import dispatch


def fresh(functor: Functor) -> Functor:
    """The same functor without plans and kernels."""
    return Functor(functor.__wrapped__, functor.arity, dtypes=tuple(d.torch for d in functor.ir.domain))


@pymetal.binary(dtypes=("floating", "integral", "bool", "complex"))
def summed(a: T, b: T) -> T:
    return a + b


@pymetal.binary(dtypes="floating")
def scaled(a: T, b: T, *, alpha: T = 1) -> T:
    return a + alpha * b


# --- many dimensions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [16, 17, 20, 25])
def test_more_dimensions_than_mps_allows(dims: int) -> None:
    """No rank is too high for the launch kernels; torch's own on MPS stop at 16."""
    shape = [2 if d % 2 else 1 for d in range(dims)]
    x = torch.arange(math.prod(shape), dtype=torch.int32).reshape(shape)
    y = x.transpose(1, 2 * (dims // 2) - 1)
    assert y.stride() != x.stride()
    for a, b in ((x, x[0]), (x, y), (y, x), (x.permute(*range(dims - 1, -1, -1)), x)):
        assert torch.equal(layouts.added(a, b), a + b)


def test_no_two_dimensions_merge() -> None:
    """Nine dimensions that every operand holds in another order."""
    shape = (2, 3, 2, 2, 3, 2, 2, 2, 2)
    x = torch.arange(math.prod(shape), dtype=torch.int32).reshape(shape)
    orders = [(8, 7, 6, 5, 4, 3, 2, 1, 0), (3, 0, 5, 1, 7, 2, 8, 4, 6), (1, 0, 3, 2, 5, 4, 7, 6, 8)]
    a, b, c = (x.permute(o).contiguous().permute(*(o.index(d) for d in range(9))) + i for i, o in enumerate(orders))
    assert torch.equal(layouts.multiplied_in(a, b, c), torch.addcmul(a, b, c))
    assert layouts.multiplied_in(a, b, c).stride() == torch.addcmul(a, b, c).stride()


# --- shared elements -------------------------------------------------------------------------------------------------

MEMORY = torch.arange(400, dtype=torch.int32)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((5,), (0,)), ((4, 5), (0, 0)), ((4, 5), (1, 0)), ((4, 5), (0, 3)), ((4, 5), (1, 1)), ((4, 5), (2, 1)),
        ((4, 5), (1, 2)), ((3, 4, 5), (1, 1, 1)), ((3, 4, 5), (0, 1, 0)), ((3, 4, 5), (2, 0, 3)),
        ((2, 3, 4, 5), (7, 3, 2, 1)),
    ],
)  # fmt: skip
def test_inputs_that_overlap_themselves(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    x = MEMORY.as_strided(shape, strides, 11)
    for y in (x, MEMORY.as_strided(shape, strides), torch.ones(shape, dtype=torch.int32), MEMORY[3:4]):
        assert torch.equal(layouts.added(x, y), x + y)
        assert torch.equal(layouts.added(y, x), y + x)


# --- nothing to compute ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3), (0, 0), (1, 0, 1)])
def test_empty_tensors_are_not_launched(shape: tuple[int, ...]) -> None:
    add = fresh(layouts.added)
    x = torch.empty(shape, dtype=torch.int32)
    with counting.launches() as seen:
        calls: tuple[tuple[Any, Any], ...] = (
            (x, x),
            (x, 1),
            (2, x),
            (x, torch.ones((1,) * len(shape), dtype=torch.int32)),
            (x.t() if x.dim() == 2 else x, x.t() if x.dim() == 2 else x),
        )
        for operands in calls:
            assert add(*operands).shape == (operands[0] + operands[1]).shape
            assert add(*operands).numel() == 0
        out = torch.empty(shape, dtype=torch.int64)
        assert add(x, x, out=out) is out
    assert seen.threads == []
    with counting.launches() as seen:
        assert fresh(layouts.added)(torch.ones(3, dtype=torch.int32), 1).tolist() == [2, 2, 2]
    assert seen.threads == [3]  # the counter counts


# --- more than one launch --------------------------------------------------------------------------------------------


def total(threads: int | list[int]) -> int:
    return threads if isinstance(threads, int) else math.prod(threads)


def split_calls() -> dict[str, tuple[torch.Tensor, ...]]:
    x = torch.arange(120, dtype=torch.int32)
    return {
        "dense": (x, x + 1),
        "dense matrix": (x.view(8, 15), x.view(8, 15) + 1),
        "row": (x.view(8, 15), x[:15]),
        "column": (x.view(8, 15), x[:8].view(8, 1)),
        "outer": (x[:8].view(8, 1), x[:15]),
        "single": (x, x[5:6]),
        "0-dim": (x, x[5]),
        "transposed": (x.view(8, 15).t(), x.view(15, 8)),
        "gaps": (x[::2], x[1::2]),
        "four dimensions": (x.view(2, 3, 4, 5).permute(3, 1, 0, 2), x.view(5, 3, 2, 4)),
        "one long dimension": (x.view(1, 120), x.view(120)[:1]),
        "other dtype": (x, x.to(torch.int16)),
        "expanded": (x[:4].view(4, 1).expand(4, 30), x.view(4, 30)),
        "number": (x.view(8, 15), torch.tensor(7)),
    }  # fmt: skip


@pytest.mark.parametrize("name", split_calls())
@pytest.mark.parametrize("limit", [1, 7, 60, 119, 120])
def test_more_elements_than_a_launch_counts(name: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "MAX_THREADS", limit)
    a, b = split_calls()[name]
    expected = a + b
    add = fresh(layouts.added)
    with counting.launches() as seen:
        actual = add(a, b)
        again = add(a, b)
    assert torch.equal(actual, expected)
    assert torch.equal(again, expected)
    assert actual.stride() == expected.stride()
    assert max(total(t) for t in seen.threads) <= limit
    assert sum(total(t) for t in seen.threads) == 2 * expected.numel()
    out = torch.empty(expected.shape, dtype=torch.int64)
    assert torch.equal(add(a, b, out=out), expected.long())


def test_a_split_call_passes_scalars_and_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "MAX_THREADS", 10)
    x = torch.randn(33)
    torch.testing.assert_close(scaled(x, 2.5, alpha=3.0), x + 7.5)
    torch.testing.assert_close(scaled(x, torch.tensor(2.5, dtype=torch.float64), alpha=3.0), x + 7.5)
    x.requires_grad_()
    with torch.no_grad():
        torch.testing.assert_close(scaled(x, x, alpha=3.0), x * 4)


@given(layouts.calls(), st.integers(1, 40))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_split(operands: list[torch.Tensor], limit: int) -> None:
    functor, operator = layouts.OPERATORS[len(operands)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "MAX_THREADS", limit)
        assert torch.equal(functor(*operands), operator(*operands))


# --- no copies -------------------------------------------------------------------------------------------------------

SIDE = 256


def block(dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 100, (SIDE, SIDE), generator=generator).to(dtype)


COPY_FREE: dict[str, Callable[[], tuple[torch.Tensor | float, torch.Tensor | float]]] = {
    "one dtype": lambda: (block(), block()),
    "half and float": lambda: (block(torch.float16), block()),
    "long and float": lambda: (block(torch.int64), block()),
    "uchar and bfloat": lambda: (block(torch.uint8), block(torch.bfloat16)),
    "half and bfloat": lambda: (block(torch.float16), block(torch.bfloat16)),
    "bool and short": lambda: (block(torch.bool), block(torch.int16)),
    "complex and float": lambda: (block(torch.complex64), block()),
    "transposed": lambda: (block().t(), block()),
    "both transposed": lambda: (block().t(), block().t()),
    "gaps": lambda: (block()[:, ::2], block()[:, 1::2]),
    "row": lambda: (block(), block()[3]),
    "column": lambda: (block()[:, :1], block()),
    "outer": lambda: (block()[:, :1], block()[:1]),
    "expanded": lambda: (block()[:1].expand(SIDE, SIDE), block()),
    "offset": lambda: (block().flatten()[1:], block().flatten()[:-1]),
    "four dimensions": lambda: (block().view(16, 16, 16, 16).permute(3, 1, 0, 2), block().view(16, 16, 16, 16)),
    "another dtype in another order": lambda: (block(torch.float16).t(), block()),
    "another dtype, broadcast": lambda: (block(torch.int64)[0], block()),
    "number": lambda: (block(), 2.5),
    "number first": lambda: (2.5, block(torch.int64)),
    "0-dim double": lambda: (block(), torch.tensor(2.5, dtype=torch.float64)),
}  # fmt: skip


@pytest.mark.parametrize("name", COPY_FREE)
def test_nothing_but_the_result_is_allocated(name: str) -> None:
    a, b = COPY_FREE[name]()
    expected = torch.add(a, b)
    first = counting.allocations(lambda: summed(a, b))
    warm = counting.allocations(lambda: summed(a, b))
    assert torch.equal(summed(a, b), expected)
    for sizes in (first, warm):
        assert max(sizes) == expected.numel() * expected.element_size()
        assert sum(sizes) - max(sizes) < 2048, sizes  # strides and the like
    out = torch.empty_strided(expected.shape, expected.stride(), dtype=torch.complex64)
    summed(a, b, out=out)
    assert sum(counting.allocations(lambda: summed(a, b, out=out))) < 2048
    assert torch.equal(out, expected.to(torch.complex64))


def test_the_counter_sees_temporaries() -> None:
    x = block()
    assert max(counting.allocations(lambda: layouts.OPERATORS[2][1](x.t().contiguous(), x))) == 4 * SIDE * SIDE
    assert sum(counting.allocations(lambda: torch.add(x.t().contiguous(), x))) >= 8 * SIDE * SIDE


def test_in_place_allocates_nothing() -> None:
    x, y = block(), block(torch.float16, 1)
    expected = x + y
    summed(x.clone(), y, out=x.clone())
    assert sum(counting.allocations(lambda: summed(x, y, out=x))) < 2048
    assert torch.equal(x, expected)


def test_every_offset_of_every_width() -> None:
    """Views that begin anywhere, as slices do."""
    for dtype in (torch.uint8, torch.bool, torch.float16, torch.int64, torch.complex64):
        memory = block(dtype).flatten()
        for i, j in itertools.product(range(4), repeat=2):
            a, b = memory[i : i + 33], memory[j : j + 33]
            assert torch.equal(summed(a, b), a + b)
            assert torch.equal(summed(a[::2], b[1::2][:1]), a[::2] + b[1:2])
