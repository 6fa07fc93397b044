"""One functor at one dtype: its kernel's values beside each witness, as numbers and places."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from pymetal.accuracy.compare import Outcome
from pymetal.check.deviations import Beside
from pymetal.check.operands import default_scalars, fitting, operands_for
from pymetal.check.outcomes import Comparison, Mismatch
from pymetal.check.references import Scalars, asked, meaning, rounded_scalars
from pymetal.check.torch_operators import Operator, refusal, unusable
from pymetal.dtypes import DType
from pymetal.host import float_mode
from pymetal.runtime.operation import Operation


@dataclass(frozen=True)
class Trace:
    """What the pictures are made of."""

    operands: tuple[Tensor, ...]
    errors: Tensor


@dataclass(frozen=True)
class Measurement:
    """All about one functor at one dtype.

    Attributes:
        torch_max: the largest error of torch's operator at this dtype, on the same operands; None without one.
        unused: why the operator does not stand beside the functor; None if it does, or if there is none.
        early: overflow, or NaN, where the text's meaning in float64 is a number that the dtype holds.
    """

    functor: str
    dtype: str
    result: str
    samples: int
    exhaustive: bool
    numerics: str
    meaning: Comparison
    against: Comparison | None
    unused: str | None
    torch_max: float | None
    torch_mean: float | None
    early: Mismatch | None
    budget: float | None
    trace: Trace = field(repr=False, compare=False)


def measure(
    functor: Operation, element: DType, operator: Operator | None, *, budget: float | None = None,
    scalars: Scalars | None = None, scale: int = 1,
) -> Measurement:  # fmt: skip
    """Runs the functor's kernel on the host device and compares.

    Args:
        element: a registered dtype.
        operator: torch's operator of the same meaning, if there is one.
        budget: the largest error allowed, in ulp; None for the default.
        scale: how many times the usual number of random samples.
    """
    given = default_scalars(functor, scalars or {})
    values = rounded_scalars(functor, element, fitting(functor, element, given))
    drawn = operands_for(functor, element, values, scale)
    operands = drawn.tensors
    actual = functor(*operands, **values)
    floating = actual.is_floating_point() or actual.is_complex()
    run = Beside(functor, element, operands, actual, budget, values)
    own = meaning(functor, element, values)
    first = run.outcome(own)
    assert first is not None
    theirs = torch_errors = unused = None
    if operator is not None:
        unused = unusable(operator, asked(floating, operands), values)
        theirs = run.beside_torch(operator) if unused is None else None
        torch_errors = run.torch_errors
        if theirs is None and unused is None:
            unused = refusal(operator, asked(floating, operands), values) or "it has other values the second time"
    mine = run.comparison(own, *first)
    if theirs is None and operator is None:
        torch_errors = None
    numbers = None if torch_errors is None else torch_errors[~torch_errors.isnan() & torch_errors.isfinite()]
    return Measurement(
        functor.name, element.name.rstrip("_"), str(actual.dtype).removeprefix("torch."), len(operands[0]),
        drawn.exhaustive, float_mode.current(), mine, theirs, unused,
        float(numbers.max()) if numbers is not None and numbers.numel() and floating else None,
        float(numbers.mean()) if numbers is not None and numbers.numel() and floating else None,
        run.early(first[1]), budget, Trace(operands, _for_picture(first[0])),
    )  # fmt: skip


def _for_picture(outcome: Outcome) -> Tensor:
    return torch.where(outcome.right, outcome.errors, torch.inf)
