"""What the gallery's tests share: inputs by dtype, the value to compare with, and one way to measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

import pymetal
from examples.aten.catalogue import Row
from pymetal import dtypes, ir
from pymetal.accuracy import grids, ulp

WIDE = {torch.complex64: torch.complex128, torch.complex32: torch.complex128}


def registered(functor: pymetal.Functor) -> list[torch.dtype]:
    """The dtypes that a functor is registered for."""
    return [d.torch for d in functor.ir.domain]


def scalars_at(functor: pymetal.Functor, dtype: torch.dtype, scalars: dict[str, Any]) -> dict[str, Any]:
    """Scalars as the functor receives them: rounded to the types of its parameters."""
    element = dtypes.from_torch(dtype)
    assert element is not None
    overload = functor.ir.overload(element)
    assert overload is not None
    found = {}
    for param in overload.function.scalars:
        if param.name in scalars:
            resolved = ir.resolved(param.type, element)
            found[param.name] = torch.tensor(scalars[param.name]).to(resolved.torch).item()
    return found


def wide(x: Tensor) -> Tensor:
    """The same values at double precision."""
    return x.to(WIDE.get(x.dtype, torch.float64))


def expected(row: Row, functor: pymetal.Functor, operands: Sequence[Tensor], scalars: dict[str, Any]) -> Tensor:
    """The value of torch's operator: at double precision wherever the result is not an integer."""
    dtype = operands[0].dtype
    operands = torch.broadcast_tensors(*operands)
    result = result_dtype(functor, dtype)
    if row.narrow or not (result.is_floating_point or result.is_complex):
        # torch has next to nothing for complex32.
        return row.torch(*(o.to(torch.complex64) if dtype is torch.complex32 else o for o in operands), **scalars)
    # Integers are read as float32, which large ones do not fit.
    floats = [o if o.is_floating_point() or o.is_complex() else o.float() for o in operands]
    return row.torch(*map(wide, floats), **scalars)


def result_dtype(functor: pymetal.Functor, dtype: torch.dtype) -> torch.dtype:
    """The dtype of a functor's result for operands of `dtype`."""
    element = dtypes.from_torch(dtype)
    assert element is not None
    overload = functor.ir.overload(element)
    assert overload is not None
    resolved = ir.resolved(overload.function.result, element)
    return resolved.torch


def inputs(row: Row, dtype: torch.dtype, arity: int, per_binade: int = 8) -> list[Tensor]:
    """Random operands over the ranges of a row, of one length."""
    found = [_operand(row, dtype, at, per_binade) for at in range(arity)]
    size = max(map(len, found))
    generator = torch.Generator().manual_seed(7)
    return [x[torch.randint(0, len(x), (size,), generator=generator)] if arity > 1 else x for x in found]


def _operand(row: Row, dtype: torch.dtype, at: int, per_binade: int) -> Tensor:
    if row.degree and at == 1:
        return torch.arange(0, 12).to(dtype)
    if row.whole and not (dtype.is_floating_point or dtype is torch.bool):
        top = min(row.whole, torch.iinfo(dtype).max)
        return torch.arange(0 if dtype is torch.uint8 else -top, top + 1).to(dtype)
    if dtype is torch.bool or not (dtype.is_floating_point or dtype.is_complex):
        return torch.cat([grids.edges(dtype), grids.integers(dtype, 300, seed=at)])
    if dtype.is_complex:
        part = dtype.to_real()
        assert row.complex_range is not None
        least, largest = row.complex_range
        parts = [grids.stratified(part, 40, low=least, high=largest, seed=2 * at + i) for i in range(2)]
        order = torch.randperm(len(parts[1]), generator=torch.Generator().manual_seed(at))
        return torch.complex(parts[0].float(), parts[1][order].float()).to(dtype)
    low, high = (row.ranges[at] if at < len(row.ranges) else None) or (None, None)
    values = grids.stratified(dtype, per_binade, low=low, high=high, seed=at)
    if low is None:
        values = torch.cat([values, grids.stratified(dtype, 20 * per_binade, low=0.05, high=20, seed=at + 50)])
    return values.abs() if at < len(row.positive) and row.positive[at] else values


def measure(row: Row, functor: pymetal.Functor, operands: Sequence[Tensor], scalars: dict[str, Any]) -> Tensor:
    """The errors of a call, element by element: in units in the last place, or 0 and infinity for integers."""
    actual = functor(*operands, **scalars)
    exact = expected(row, functor, operands, scalars)
    assert actual.shape == exact.shape
    if not (actual.is_floating_point() or actual.is_complex()):
        assert actual.dtype == exact.dtype, (actual.dtype, exact.dtype)
        return torch.where(actual == exact, 0.0, torch.inf)
    return ulp.error(actual, exact, floor=row.floor)
