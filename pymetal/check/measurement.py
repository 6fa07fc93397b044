"""What is measured of a functor at one dtype, and the findings that follow from it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from pymetal.check.findings import Finding, finding
from pymetal.runtime.operation import Operation


@dataclass(frozen=True)
class Place:
    """One element: its operands, the kernel's value, the value of the reference."""

    operands: tuple[Any, ...]
    got: Any
    wanted: Any

    def __str__(self) -> str:
        return f"({', '.join(map(shown, self.operands))}): {shown(self.got)}, not {shown(self.wanted)}"


def shown(value: Any) -> str:
    """A number with the digits that a message needs."""
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, complex):
        return f"{value.real:.9g}{value.imag:+.9g}j"
    return str(value)


@dataclass(frozen=True)
class Mismatch:
    """Elements whose kind of value is wrong, and the first of them."""

    kind: str  # "nan", "infinity", "zero", "integer", "overflow"
    count: int
    first: Place


@dataclass(frozen=True)
class Comparison:
    """The kernel's deviation from one reference.

    Attributes:
        compared: how many elements had numbers to compare.
        beyond: how many errors are beyond the limit, where the operands' own rounding does not explain them and torch's
            operator at the same dtype has another value.
        worst_beyond: the largest of those.
        flushed: how many elements are wrong only because Apple's GPUs flush subnormal intermediate values to zero;
            they are left out of all else.
    """

    reference: str
    compared: int
    max_ulp: float
    mean_ulp: float
    at: Place | None
    mismatches: tuple[Mismatch, ...]
    limit: float
    beyond: int = 0
    worst_beyond: float = 0.0
    beyond_at: Place | None = None
    flushed: int = 0


@dataclass(frozen=True)
class Measurement:
    """The deviations of one functor at one dtype.

    Attributes:
        meaning: from the functor's own formula at double precision.
        against: from torch's operator; None without one, or if it cannot be used.
        unused: why the operator cannot be used; None if it can, or if there is none.
        torch_max: the largest error of torch's operator at this dtype, on the same operands; None without one.
        operands: one vector each.
        errors: of each element, in ulp; infinite where the kind of value is wrong.
        early: overflow, or NaN, where the functor's formula in float64 gives a number that the dtype holds.
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
    operands: tuple[Tensor, ...] = field(repr=False, compare=False)
    errors: Tensor = field(repr=False, compare=False)


def verdicts(functor: Operation, measured: Measurement, *, widens: bool) -> Iterator[Finding]:
    """The findings of one functor at one dtype: errors beyond the limit and wrong kinds of value.

    Args:
        widens: the functor asks for opmath, or computes in float by itself.
    """
    early = measured.early
    if early is not None:
        half = measured.dtype in ("float16", "bfloat16")
        way = "Write opmath=True: float holds it." if half and not widens else "Scale the operands first."
        yield finding("overflow", functor, None, (measured.dtype,), at=early.first, count=early.count, way=way)
    for comparison in (measured.meaning, measured.against):
        if comparison is None:
            continue
        if comparison.beyond:
            yield _inaccurate(functor, measured, comparison)
        for mismatch in comparison.mismatches:
            told = comparison is measured.meaning and early is not None and mismatch.kind in ("nan", "infinity")
            if not told:
                yield _wrong_kind(functor, measured, comparison, mismatch)


def _inaccurate(functor: Operation, measured: Measurement, comparison: Comparison) -> Finding:
    error = comparison.worst_beyond
    declared = "..." if error >= 1e6 else f"{math.ceil(error * 10) / 10:g}" if error < 10 else str(math.ceil(error))
    return finding(
        "inaccurate" if measured.budget is None else "budget", functor, None, (measured.dtype,), error=f"{error:.3g}",
        reference=comparison.reference, limit=f"{comparison.limit:g}", at=comparison.beyond_at,
        count=comparison.beyond, total=comparison.compared, dtype=measured.dtype, declare=declared,
    )  # fmt: skip


def _wrong_kind(functor: Operation, measured: Measurement, comparison: Comparison, mismatch: Mismatch) -> Finding:
    slug, place = mismatch.kind, mismatch.first
    way = "Look at infinity minus infinity, at zero times infinity, and at the ends of the domain."
    if slug == "nan" and any(isinstance(v, float) and math.isnan(v) for v in place.operands):
        if place.got == place.got:
            slug = "nan-dropped"
        else:
            way = "The other operand decides the result there: test it before the NaN is used."
    return finding(
        slug, functor, None, (measured.dtype,), reference=comparison.reference, at=place, count=mismatch.count,
        total=measured.samples, way=way,
    )  # fmt: skip
