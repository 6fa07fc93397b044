"""The deviations of a functor's kernel from each reference: the errors that count, and what excuses the others."""

from __future__ import annotations

import contextlib
import functools

import torch
from torch import Tensor

from pymetal import ir
from pymetal.accuracy.compare import Outcome, best, compare
from pymetal.check.measurement import Comparison, Measurement, Mismatch, Place
from pymetal.check.operands import Scalars, operands_for, scalars_for
from pymetal.check.references import Reference, functor_reference, operator_operands, operator_reference, pick, wide
from pymetal.check.torch_operators import Operator, Unusable, call, check_elementwise, take
from pymetal.dtypes import DType, Kind
from pymetal.host import float_mode
from pymetal.runtime.operation import Operation

_REFINED = (48, 1500)  # elements whose right value is computed at higher precision: those of the largest errors
_ROUNDINGS = 4.0  # ulp that a few steps in half can be off
_TINY = 1e-30  # below it products of floats are subnormal


def measure(
    functor: Operation, element: DType, operator: Operator | None, *, budget: float | None = None,
    scalars: Scalars | None = None, scale: int = 1,
) -> Measurement:  # fmt: skip
    """Runs the functor's kernel on the host device and compares it with each reference.

    Args:
        element: a registered dtype.
        operator: torch's operator of the same meaning, if there is one.
        budget: the largest error allowed, in ulp; None for the default.
        scale: how many times the usual number of random samples.
    """
    values = scalars_for(functor, element, scalars or {})
    drawn = operands_for(functor, element, values, scale)
    run = Deviations(functor, element, drawn.tensors, budget, values)
    own = functor_reference(functor, element, values)
    outcome, exact = run.outcome(own)
    against = unused = None
    if operator is not None:
        try:
            check_elementwise(operator, operator_operands(run.inexact, drawn.tensors), values)
            against = run.from_operator(operator)
        except Unusable as reason:
            unused = str(reason)
    torch_errors = torch.tensor([]) if run.torch_errors is None else run.torch_errors
    numbers = torch_errors[torch_errors.isfinite()]
    return Measurement(
        functor.name, element.name.rstrip("_"), str(run.actual.dtype).removeprefix("torch."), len(run.actual),
        drawn.exhaustive, float_mode.current(), run.comparison(own, outcome, exact), against, unused,
        float(numbers.max()) if numbers.numel() else None, float(numbers.mean()) if numbers.numel() else None,
        run.early_overflow(exact), budget, drawn.tensors, outcome.errors.masked_fill(~outcome.right, torch.inf),
    )  # fmt: skip


class Deviations:
    """The kernel's values at one dtype, compared with references."""

    def __init__(
        self, functor: Operation, element: DType, operands: tuple[Tensor, ...], budget: float | None, scalars: Scalars
    ) -> None:
        self.functor = functor
        self.element = element
        self.operands = operands
        self.actual = actual = functor(*operands, **scalars)
        self.budget = budget
        self.scalars = scalars
        self.inexact = actual.is_floating_point() or actual.is_complex()
        # Half and bfloat are computed in float and rounded once, or should be.
        part = actual.dtype.to_real()
        default = 1.0 if part.is_floating_point and part.itemsize == 2 else 4.0
        self.limit = default if budget is None else budget
        self.native: Tensor | None = None  # torch's own value at this dtype
        self.torch_errors: Tensor | None = None
        # Apple's GPUs flush subnormal floats and bfloats to zero, as operands and as results.
        flushed = {torch.float32, torch.bfloat16} & {element.torch, actual.dtype}
        self.flushes = float_mode.current() == "apple" and bool(flushed)

    @functools.cached_property
    def signless(self) -> bool:
        """Whether a zero may have either sign: so it is in max and min, on the CPU as on a GPU."""
        return not all(op.signed_zero for op in ir.uses(self.functor.ir))

    @functools.cached_property
    def flushed(self) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        """Where an operand is subnormal, and all operands there with zero in its place."""
        if not self.flushes or not self.element.torch.is_floating_point:
            return None
        least = torch.finfo(self.element.torch).smallest_normal
        small = [(o != 0) & (o.abs() < least) for o in self.operands]
        at = functools.reduce(torch.logical_or, small).nonzero().flatten()
        if not len(at):
            return None
        signed_zeros = [torch.copysign(torch.zeros_like(o), o) for o in self.operands]
        found = zip(small, signed_zeros, self.operands, strict=True)
        return at, tuple(torch.where(s, zero, o)[at] for s, zero, o in found)

    def compare(self, exact: Tensor) -> Outcome:
        """The kernel's values compared with right values for all operands."""
        return compare(self.actual, exact, flushes=self.flushes and self.actual.is_floating_point())

    def outcome(self, reference: Reference) -> tuple[Outcome, Tensor]:
        """The comparison with a reference, which is refined where the kernel deviates most; and the right values.

        Raises:
            Unusable: the reference has no values for these operands.
        """
        exact = reference.values(self.operands)
        if not self.inexact:
            exact = exact.to(self.actual.dtype)
        outcome = self.compare(exact)
        for most in _REFINED:
            if not self._refine(reference, exact, outcome, most):
                break
            outcome = self.compare(exact)
        if self.flushed is not None:
            at, zeros = self.flushed
            with contextlib.suppress(Unusable):
                other = exact.clone()
                other[at] = reference.values(zeros).to(exact.dtype)
                outcome = best([outcome, self.compare(other)])
        return outcome, exact

    def _refine(self, reference: Reference, exact: Tensor, outcome: Outcome, most: int) -> bool:
        """Replaces the right values at the largest errors by refined ones; whether any of them differed."""
        if reference.refined is None:
            return False
        errors = outcome.errors.nan_to_num(nan=0.0)
        top = errors.topk(min(most, len(errors))).indices
        top = top[(errors[top] > self.limit / 2) & exact[top].isfinite()]
        refined = reference.refined(pick(self.operands, top)) if len(top) else None
        if refined is None:
            return False
        before = compare(self.actual[top], exact[top]).errors
        exact[top] = torch.where(refined.isfinite(), refined, exact[top])
        after = compare(self.actual[top], exact[top]).errors
        return bool(((before - after).abs() > 0.01 * before).any())

    def place(self, at: int, exact: Tensor) -> Place:
        """One element."""
        return Place(tuple(o[at].item() for o in self.operands), self.actual[at].item(), exact[at].item())

    def mismatch(self, kind: str, where: Tensor, exact: Tensor) -> Mismatch | None:
        """The elements of a mask and the first of them; None if there is none."""
        at = where.nonzero().flatten()
        return Mismatch(kind, len(at), self.place(int(at[0]), exact)) if len(at) else None

    def equals_torch(self) -> Tensor:
        """Where torch's operator at this very dtype has the kernel's value."""
        if self.native is None or self.native.dtype != self.actual.dtype or self.actual.is_complex():
            return torch.zeros(self.actual.shape, dtype=torch.bool)
        if self.actual.is_floating_point():
            same = compare(self.actual, wide(self.native))
            return same.right & (same.errors.nan_to_num(nan=0.0) == 0)
        return ~compare(self.actual, self.native).unequal

    def comparison(self, reference: Reference, outcome: Outcome, exact: Tensor) -> Comparison:
        """An outcome as numbers and places."""
        counted = outcome.counted
        limit = self.limit
        flushed = self._flushed_on_the_way(counted & (outcome.errors > limit), exact, limit)
        counted = counted & ~flushed
        errors = torch.where(counted, outcome.errors, 0.0)
        count = int(counted.sum())
        top = int(errors.argmax()) if count else 0
        excused = self.equals_torch()
        over = counted & (errors > limit)
        if self.budget is None:
            half = self.actual.dtype in (torch.float16, torch.bfloat16)
            # A few units in half are a rounding too many, even if torch has it too; more are a jump, as of a floor.
            over &= ~excused | (errors <= _ROUNDINGS) if half else ~excused
            if self.torch_errors is not None and not half:  # torch's own operator is no better there
                over &= ~(self.torch_errors.nan_to_num(nan=0.0) >= errors)
            if bool(over.any()):
                with contextlib.suppress(Unusable):
                    over &= ~self._explained(reference, over, errors, limit)
        beyond = torch.where(over, errors, 0.0)
        worst = int(beyond.argmax()) if len(beyond) else 0
        zero = torch.zeros_like(outcome.zero) if self.signless else outcome.zero
        masks = {"nan": outcome.nan, "infinity": outcome.infinite, "zero": zero, "integer": outcome.unequal}
        found = (self.mismatch(kind, mask & ~excused, exact) for kind, mask in masks.items())
        mismatches = tuple(mismatch for mismatch in found if mismatch is not None)
        return Comparison(
            reference.name, count, float(errors[top]) if count else 0.0, float(errors.sum()) / max(count, 1),
            self.place(top, exact) if count and float(errors[top]) > 0 else None,
            mismatches, limit, int(over.sum()), float(beyond.max()) if count else 0.0,
            self.place(worst, exact) if bool(over.any()) else None, int(flushed.sum()),
        )  # fmt: skip

    def _explained(self, reference: Reference, over: Tensor, errors: Tensor, limit: float) -> Tensor:
        """Where operands that differ by half a unit of float32 have results as far apart as the error.

        The value is then as good as float arithmetic on the operands can make it: sums that cancel, sines of large
        numbers. Half operands get no more than that, as they should be computed in float.
        """
        result = torch.zeros_like(over)
        if self.element.kind not in (Kind.FLOATING, Kind.COMPLEX) or not self.inexact:
            return result
        at = over.nonzero().flatten()
        centre = [wide(o) for o in pick(self.operands, at)]
        base = reference.values(tuple(centre))
        spread = torch.zeros(len(at), dtype=torch.float64)
        for i in range(len(centre)):
            for unit in (1, 1j) if self.element.kind is Kind.COMPLEX else (1,):
                sides = []
                for step in (2.0**-24, -(2.0**-24)):
                    near = [*centre[:i], centre[i] * (1 + unit * step), *centre[i + 1 :]]
                    difference = (reference.values(tuple(near)) - base).abs()
                    sides.append(difference.nan_to_num(nan=0.0, posinf=0.0))
                # The smaller of both: where a branch begins the function jumps on one side, and that is no excuse.
                spread += 2 * torch.minimum(*sides)
        size = (wide(take(self.actual, at)) - base).abs() / errors[at].clamp_min(1e-9)
        result[at] = errors[at] <= limit * (1 + spread / size.clamp_min(1e-300))
        return result

    def _flushed_on_the_way(self, over: Tensor, exact: Tensor, limit: float) -> Tensor:
        """Where the value is right on hardware that keeps subnormals, and an operand or the result is as small.

        Nothing can be done about those in a functor's text, but scaling.
        """
        result = torch.zeros_like(over)
        if not self.flushes or not self.actual.is_floating_point():
            return result
        values = [wide(v).double().abs() for v in (*self.operands, exact)]
        small = functools.reduce(torch.logical_or, [(v > 0) & (v < _TINY) for v in values])
        at = (over & small).nonzero().flatten()
        if len(at):
            with float_mode.numerics("ieee"):
                again = self.functor(*pick(self.operands, at), **self.scalars)
            right = compare(again, exact[at]).errors.nan_to_num(nan=0.0) <= limit
            # Subnormals have fewer digits.
            close = (wide(again) - exact[at]).abs() <= 0.01 * exact[at].abs()
            result[at] = right | (close & (exact[at].abs() < _TINY)) if again.is_floating_point() else right
        return result

    def from_operator(self, operator: Operator) -> Comparison:
        """The comparison with torch's operator, whose own errors at this dtype are kept.

        Raises:
            Unusable: it has no values for these operands.
        """
        reference = operator_reference(operator, self.functor, self.element, self.scalars)
        outcome, exact = self.outcome(reference)
        if not operator.scalar:
            with contextlib.suppress(Unusable):
                self.native = call(operator, self.operands, self.scalars)
        if self.native is not None and self.inexact and self.native.dtype == self.actual.dtype:
            theirs = compare(self.native, exact)
            self.torch_errors = torch.where(theirs.counted, theirs.errors, torch.nan)
        return self.comparison(reference, outcome, exact)

    def early_overflow(self, exact: Tensor) -> Mismatch | None:
        """Results that are not finite where the right value is a number that the dtype holds."""
        if not self.actual.is_floating_point():
            return None
        where = ~self.actual.isfinite() & exact.isfinite() & (exact.abs() <= torch.finfo(self.actual.dtype).max)
        where &= ~self.equals_torch()
        if self.flushed is not None:
            where[self.flushed[0]] = False
        return self.mismatch("overflow", where, exact)
