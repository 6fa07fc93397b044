"""Every functor against torch, on torch's own OpInfo samples and over the ranges of the catalogue.

Values, `out=`, layouts, 0-dim tensors. Samples exist for every registered dtype, and are empty, 0-dim, broadcast and
dense. The value to compare with is that of torch's operator at double precision; `bounds` says how near a result must
be, in units in the last place of its dtype.
"""

from __future__ import annotations

from typing import Any

import opinfo
import pytest
import support
import toolbox
import torch
from torch import Tensor

import pymetal
from examples import unimplemented
from examples.aten import load
from examples.aten.bounds import HALF, bound
from examples.aten.catalogue import CATALOGUE
from pymetal.accuracy import ulp

ALL = {**load(), **unimplemented.load()}
MAIN = (torch.float32, torch.int64, torch.complex64)
NARROW = (torch.float16, torch.bfloat16, torch.complex32)

# Results that cancel are measured by what they are made of: samples go up to 9, and so do these.
FLOORS = {"add_alpha": 32.0, "lerp": 256.0, "lerp_alpha": 64.0, "addcmul": 512.0, "addcdiv": 512.0}
FLOORS |= {"hermite_polynomial_h": 2048.0, "hermite_polynomial_he": 128.0, "laguerre_polynomial_l": 64.0}


def _calls(name: str) -> list[opinfo.Call]:
    functor = ALL[name]
    found: list[opinfo.Call] = []
    for dtype in support.registered(functor):
        per_dtype = list(opinfo.calls(name, dtype, functor.arity.inputs, limit=8 if dtype in MAIN else 2))
        largest = max(per_dtype, key=lambda c: max(o.numel() for o in c[0] if isinstance(o, Tensor)), default=None)
        if largest is None:
            continue
        operands, scalars = largest
        per_dtype.append(([_strided(o) for o in operands], scalars))
        per_dtype.append(([o.flatten()[0] if isinstance(o, Tensor) else o for o in operands], scalars))
        defaults = CATALOGUE[name].scalars
        found += [(o, support.scalars_at(functor, dtype, {**defaults, **s})) for o, s in per_dtype]
    return found


def _most(name: str, dtype: torch.dtype, result: torch.dtype) -> float:
    """The largest error that is allowed, in units in the last place."""
    limit = bound(name)
    complex_too = dtype.is_complex or result.is_complex
    return HALF if dtype in NARROW else max(HALF, limit.real, limit.complex if complex_too else 0.0)


def _strided(x: Any) -> Any:
    """The same values, every other element of a storage."""
    if not isinstance(x, Tensor) or x.dim() == 0:
        return x
    wide = torch.empty((*x.shape, 2), dtype=x.dtype)
    wide[..., 0] = x
    return wide[..., 0]


@pytest.mark.filterwarnings("ignore:ComplexHalf support")
@pytest.mark.parametrize("name", ALL)
def test_samples(name: str) -> None:
    functor, row = ALL[name], CATALOGUE[name]
    floor = max(row.floor, FLOORS.get(name, 0.0))
    calls = _calls(name)
    assert calls
    ranges = [
        (support.inputs(row, dtype, functor.arity.inputs), support.scalars_at(functor, dtype, row.scalars))
        for dtype in support.registered(functor)
    ]
    with toolbox.batch("ieee"), toolbox.unoptimized():  # `test_edges` has the same functors optimized
        for operands, scalars in calls + ranges:
            functor.jit_source(*operands, **scalars)
        for operands, scalars in ranges:
            dtype = operands[0].dtype
            error = float(support.measure(row, functor, operands, scalars).max())
            assert error <= _most(name, dtype, support.result_dtype(functor, dtype)), (dtype, error)
        for number, (operands, scalars) in enumerate(calls):
            tensors = [torch.as_tensor(o) for o in operands]
            dtype = tensors[0].dtype
            wanted = support.expected(row, functor, tensors, scalars)
            result = functor(*operands, **scalars)
            assert result.shape == wanted.shape
            assert result.dtype == support.result_dtype(functor, dtype)
            if number % 4 == 0:
                out = torch.empty_like(result)
                assert functor(*operands, **scalars, out=out) is out
                torch.testing.assert_close(out, result, rtol=0, atol=0, equal_nan=True)
            if result.is_floating_point() or result.is_complex():
                error = ulp.worst(result, wanted, floor=floor)
                assert error <= _most(name, dtype, result.dtype), (error, operands, scalars, result, wanted)
            else:
                assert torch.equal(result, wanted), (operands, scalars, result, wanted)


# torch's operator refuses these; a functor has an answer.
ANSWERED = {
    "make_complex": "float and int promote to float",
    "gelu_backward": "the error is of `approximate=`, which is a functor of its own",
    "gelu_tanh_backward": "the error is of `approximate=`, which is a functor of its own",
    "hardtanh_backward": "bounds in the wrong order: the host's check",
    "softshrink": "a negative lambd: the host's check",
}


def test_error_inputs() -> None:
    """What torch refuses of tensors is refused here; Python numbers among the operands are not: they promote."""
    refused = 0
    for name, functor in ALL.items():
        info, adapter = opinfo.find(name)
        if info.error_inputs_func is None or name in ANSWERED:
            continue
        for error in info.error_inputs("cpu"):
            if not isinstance(error.sample_input.input, Tensor):
                continue
            call = adapter(error.sample_input, functor.arity.inputs)
            if call is None or not all(isinstance(o, Tensor) for o in call[0]):
                continue
            with pytest.raises((pymetal.PyMetalError, RuntimeError)):
                functor(*call[0], **call[1])
            refused += 1
    assert refused
