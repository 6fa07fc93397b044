"""A measurement becomes findings: what is worse than its budget, than torch, or than floats have to be."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pymetal.check.findings import Finding, finding
from pymetal.check.measure import Measurement
from pymetal.check.outcomes import Comparison, Mismatch, show
from pymetal.runtime.operation import Operation


def judge(functor: Operation, measured: Measurement, *, widens: bool) -> Iterator[Finding]:
    """The findings of one functor at one dtype.

    Args:
        widens: the functor asks for opmath, or computes in float by itself.
    """
    dtype = (measured.dtype,)
    early = measured.early
    if early is not None:
        half = measured.dtype in ("float16", "bfloat16")
        way = "Write opmath=True: float holds it." if half and not widens else "Scale the operands first."
        yield finding("overflow", functor, None, dtype, at=early.first, count=early.count, way=way)
    for comparison in (measured.meaning, measured.against):
        if comparison is not None:
            yield from _numbers(functor, measured, comparison)
            own = comparison is measured.meaning
            for mismatch in comparison.mismatches:
                if not (own and early is not None and mismatch.kind in ("nan", "infinity")):
                    yield from _kinds(functor, measured, comparison, mismatch)


def _numbers(functor: Operation, measured: Measurement, comparison: Comparison) -> Iterator[Finding]:
    if not comparison.beyond:
        return
    fields = {
        "error": f"{comparison.worst_beyond:.3g}", "witness": comparison.witness, "limit": f"{comparison.limit:g}",
        "at": comparison.beyond_at, "count": comparison.beyond, "total": comparison.compared,
        "dtype": measured.dtype, "declare": _rounded_up(comparison.worst_beyond),
    }  # fmt: skip
    yield finding("inaccurate" if measured.budget is None else "budget", functor, None, (measured.dtype,), **fields)


def _rounded_up(error: float) -> str:
    if error >= 1e6:
        return "..."
    return f"{math.ceil(error * 10) / 10:g}" if error < 10 else str(math.ceil(error))


def _kinds(functor: Operation, measured: Measurement, comparison: Comparison, mismatch: Mismatch) -> Iterator[Finding]:
    slug = mismatch.kind
    from_nan = any(isinstance(v, float) and math.isnan(v) for v in mismatch.first.operands)
    way = "Look at infinity minus infinity, zero times infinity, and at what the domain is."
    if slug == "nan" and from_nan and mismatch.first.got != mismatch.first.got:
        way = "The other operand decides there: test it before NaN gets in."
    elif slug == "nan" and from_nan:
        slug = "nan-dropped"
    yield finding(
        slug, functor, None, (measured.dtype,), witness=comparison.witness, at=mismatch.first, count=mismatch.count,
        total=measured.samples, way=way, got=show(mismatch.first.got),
    )  # fmt: skip
