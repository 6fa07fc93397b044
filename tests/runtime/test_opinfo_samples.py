"""torch's own sample inputs, and the broadcasts that they bring, for the functors of the examples and tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import device_cases
import functors
import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

from examples.addcmul import addcmul
from examples.atan2 import atan2
from examples.gelu_tanh import gelu_tanh
from examples.logaddexp import logaddexp
from examples.smooth_l1 import smooth_l1
from pymetal.functor import Functor
from pymetal.host import float_mode

INFOS: dict[str, OpInfo] = {o.name: o for o in op_db if not o.variant_test_name}
Call = tuple[tuple[Any, ...], dict[str, Any]]
MAX_SAMPLES = 60  # of one dtype; the first ones hold every form, the rest other sizes


def operands(sample: SampleInput) -> Call | None:
    return (sample.input, *sample.args), {}


def scalars(*names: str) -> Callable[[SampleInput], Call | None]:
    """Keywords that the functor has, too."""

    def adapt(sample: SampleInput) -> Call | None:
        found = {k: v for k, v in sample.kwargs.items() if k in names}
        return ((sample.input, *sample.args), found) if len(found) == len(sample.kwargs) else None

    return adapt


def smooth(sample: SampleInput) -> Call | None:
    if sample.kwargs.get("reduction") != "none" or sample.kwargs.get("beta", 1.0) == 0:
        return None
    return (sample.input, *sample.args), {"beta": sample.kwargs.get("beta", 1.0)}


def bounds(sample: SampleInput) -> Call | None:
    """torch.clamp with two tensors."""
    given = (sample.args[0] if sample.args else None, *sample.args[1:], *sample.kwargs.values())
    return ((sample.input, *given), {}) if len(given) == 2 and all(isinstance(g, torch.Tensor) for g in given) else None


@dataclass(frozen=True)
class Row:
    """A functor, whose samples it takes, and how.

    Attributes:
        adapt: a sample as the operands and scalars of a call; None if the functor has no such form.
        rtol: relative error over torch's result, in units of the dtype's epsilon.
    """

    functor: Functor
    info: str
    adapt: Callable[[SampleInput], Call | None]
    rtol: float = 0
    fewest: int = 20  # samples of all dtypes


ROWS = (
    Row(functors.add_alpha, "add", scalars("alpha"), 2),
    Row(functors.clamp, "clamp", bounds, 0, 8),
    Row(functors.less, "lt", operands),
    Row(functors.logical_xor, "logical_xor", operands),
    Row(functors.elu, "nn.functional.elu", scalars("alpha"), 4, 9),
    Row(atan2, "atan2", operands, 8),
    Row(logaddexp, "logaddexp", operands, 8),
    Row(addcmul, "addcmul", scalars("value"), 4),
    Row(gelu_tanh, "nn.functional.gelu", scalars("approximate"), 16, 12),
    Row(smooth_l1, "nn.functional.smooth_l1_loss", smooth, 8, 3),
)


def calls(row: Row, dtype: torch.dtype) -> Iterator[tuple[Call, SampleInput]]:
    info = INFOS[row.info]
    if dtype not in info.dtypes:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = [
            s for s, _ in zip(info.sample_inputs("cpu", dtype, requires_grad=False), range(MAX_SAMPLES), strict=False)
        ]
    for sample in samples:
        adapted = row.adapt(sample)
        if adapted is not None:
            if row.functor is gelu_tanh and adapted[1].pop("approximate", "none") != "tanh":
                continue
            yield adapted, sample


def expected(row: Row, sample: SampleInput) -> torch.Tensor:
    """What torch computes on the CPU."""
    result: torch.Tensor = INFOS[row.info].op(sample.input, *sample.args, **sample.kwargs)
    return result


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.functor.name)
def test_samples(row: Row) -> None:
    """Values, dtype, shape and strides are those of torch's operator."""
    listed = [(c, s) for dtype in device_cases.domain(row.functor) for c, s in calls(row, dtype)]
    assert len(listed) >= row.fewest
    row.functor.__dict__.pop("caller", None)
    with float_mode.numerics("ieee"), device_cases.batched() as (batch, _):
        for batch.collecting in (True, False):
            for (args, keywords), sample in listed:
                actual = row.functor(*args, **keywords)
                if batch.collecting:
                    continue
                wanted = expected(row, sample)
                assert (actual.dtype, actual.shape) == (wanted.dtype, wanted.shape), sample
                assert actual.stride() == wanted.stride(), sample
                if not actual.is_floating_point():
                    assert torch.equal(actual, wanted), sample
                    continue
                eps = torch.finfo(actual.dtype).eps
                largest = max(
                    (float(a.double().abs().max()) for a in args if isinstance(a, torch.Tensor) and a.numel()),
                    default=1,
                )
                atol = row.rtol * eps * max(largest, 1) if row.rtol else 0
                torch.testing.assert_close(actual, wanted, rtol=row.rtol * eps, atol=atol, equal_nan=True)
    row.functor.__dict__.pop("caller", None)
