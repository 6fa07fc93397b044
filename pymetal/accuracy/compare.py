"""A result beside the exact values, element by element: errors in ulp, and the places where the kind of value differs.

Several answers may be allowed for an element: hardware that takes subnormal operands for zero answers for zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from pymetal.accuracy import ulp
from pymetal.ops.integers import WIDE_UNSIGNED, to_wide


@dataclass(frozen=True)
class Outcome:
    """What is wrong where; all of one shape.

    Attributes:
        errors: float64, units in the last place; 0 where one of the masks holds, and for integers.
        nan: one is NaN and the other is not.
        infinite: one is infinite and the other is far from it, or both are, with other signs.
        zero: both are zero with other signs.
        unequal: of integers and bools, they differ.
    """

    errors: Tensor
    nan: Tensor
    infinite: Tensor
    zero: Tensor
    unequal: Tensor

    @property
    def right(self) -> Tensor:
        """Where the kind of value is right, so that the error counts."""
        return ~(self.nan | self.infinite | self.zero | self.unequal)

    @property
    def counted(self) -> Tensor:
        """Where there is an error to count: the numbers of both."""
        return self.right & ~self.errors.isnan()


def compare(actual: Tensor, exact: Tensor, *, flushes: bool = False) -> Outcome:
    """How `actual` differs from `exact`.

    Args:
        actual: a result of any dtype.
        exact: float64 of the same shape for floats, complex128 for complex numbers, else of `actual`'s dtype.
        flushes: zero stands for a subnormal result.
    """
    none = torch.zeros(actual.shape, dtype=torch.bool)
    if actual.is_complex():
        return _complex(actual, exact)
    if not actual.is_floating_point():
        return Outcome(torch.zeros(actual.shape, dtype=torch.float64), none, none, none, _differ(actual, exact))
    wide = exact.double()
    a_nan, e_nan = actual.isnan(), wide.isnan()
    errors = ulp.error(actual, wide)
    infinite = errors.isinf() & ~a_nan & ~e_nan
    infinite |= actual.isinf() & wide.isinf() & (actual.signbit() != wide.signbit())
    zero = (actual == 0) & (wide == 0) & (actual.signbit() != wide.signbit())
    if flushes:
        subnormal = (wide.abs() < torch.finfo(actual.dtype).smallest_normal) & (actual == 0)
        errors = torch.where(subnormal, 0.0, errors)
    nan = a_nan ^ e_nan
    errors = torch.where(nan | infinite | zero, 0.0, errors)
    return Outcome(torch.where(a_nan & e_nan, torch.nan, errors), nan, infinite, zero, none)


def _differ(actual: Tensor, exact: Tensor) -> Tensor:
    """Unequal integers; torch has no comparison of its larger unsigned ones."""
    if actual.dtype == exact.dtype and actual.dtype in WIDE_UNSIGNED:
        return to_wide(actual) != to_wide(exact)
    return actual != exact


def _complex(actual: Tensor, exact: Tensor) -> Outcome:
    """Complex results that are not finite have many right answers: only finite ones are compared."""
    none = torch.zeros(actual.shape, dtype=torch.bool)
    wide = actual.to(torch.complex128)
    finite = exact.isfinite() & (exact.abs() < torch.finfo(actual.dtype.to_real()).max)
    errors = ulp.error(actual, exact)
    infinite = finite & wide.isinf()
    nan = finite & wide.isnan() & ~infinite
    errors = torch.where(finite & ~infinite & ~nan, errors, torch.nan)
    return Outcome(torch.where(infinite | nan, 0.0, errors), nan, infinite, none, none)


def best(outcomes: Sequence[Outcome]) -> Outcome:
    """For each element the kindest of several comparisons."""
    result = outcomes[0]
    for other in outcomes[1:]:
        mine = torch.where(result.right, result.errors.nan_to_num(nan=0.0), torch.inf)
        theirs = torch.where(other.right, other.errors.nan_to_num(nan=0.0), torch.inf)
        better = theirs < mine
        parts = ((getattr(other, field.name), getattr(result, field.name)) for field in fields(Outcome))
        result = Outcome(*(torch.where(better, b, a) for b, a in parts))
    return result
