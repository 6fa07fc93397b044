"""A kernel's values beside a witness's: the errors that count, and what excuses the others."""

from __future__ import annotations

import functools
from dataclasses import replace

import torch
from torch import Tensor

from pymetal import ir
from pymetal.accuracy.compare import Outcome, best, compare
from pymetal.check.outcomes import Comparison, Mismatch, Place
from pymetal.check.references import Scalars, Witness, against, pick, wide
from pymetal.check.torch_operators import Operator, call, take
from pymetal.dtypes import DType, Kind
from pymetal.host import float_mode
from pymetal.runtime.operation import Operation

_AGAIN = (48, 1500)  # elements whose right value is computed again, at the errors' top: first few, then all
_ROUNDINGS = 4.0  # ulp that a few steps in half can be off
_TINY = 1e-30  # below it products of floats are subnormal


def default_limit(result: torch.dtype) -> float:
    """What a result may be off where nobody has declared a budget: 4 units of float, 1 of half and bfloat.

    Half and bfloat are computed in float and rounded once, or should be.
    """
    part = result.to_real()
    return 1.0 if part.is_floating_point and part.itemsize == 2 else 4.0


class Beside:
    """The values of one measurement."""

    def __init__(
        self, functor: Operation, element: DType, operands: tuple[Tensor, ...], actual: Tensor, budget: float | None,
        scalars: Scalars,
    ) -> None:  # fmt: skip
        self.functor = functor
        self.element = element
        self.operands = operands
        self.actual = actual
        self.budget = budget
        self.scalars = scalars
        self.limit = default_limit(actual.dtype) if budget is None else budget
        self.native: Tensor | None = None  # torch's own value at this dtype
        self.torch_errors: Tensor | None = None
        # Apple's GPUs take subnormal floats and bfloats for zero, as operands and as results.
        flushed = {torch.float32, torch.bfloat16} & {element.torch, actual.dtype}
        self.flushes = float_mode.current() == "apple" and bool(flushed)

    @functools.cached_property
    def signless(self) -> bool:
        """Whether the sign of a zero is nobody's to judge: those of max and min are either, on the CPU as on a GPU."""
        return not all(op.signed_zero for op in ir.uses(self.functor.ir))

    @functools.cached_property
    def flushed(self) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        """Where an operand is subnormal, and all operands with zero in its place."""
        if not self.flushes:
            return None
        if not self.element.torch.is_floating_point:
            return None
        least = torch.finfo(self.element.torch).smallest_normal
        small = [(o != 0) & (o.abs() < least) for o in self.operands]
        where = functools.reduce(torch.logical_or, small)
        if not bool(where.any()):
            return None
        at = where.nonzero().flatten()
        zeros = tuple(
            torch.where(s, torch.copysign(torch.zeros_like(o), o), o)[at]
            for o, s in zip(self.operands, small, strict=True)
        )
        return at, zeros

    def compare(self, exact: Tensor) -> Outcome:
        """The kernel beside some right values for all operands."""
        return compare(self.actual, exact, flushes=self.flushes and self.actual.is_floating_point())

    def outcome(self, witness: Witness) -> tuple[Outcome, Tensor] | None:
        """The comparison with a witness, where it differs most with the witness asked again; and the right values."""
        exact = witness.values(self.operands)
        if exact is None or exact.shape != self.actual.shape:
            return None
        if not (self.actual.is_floating_point() or self.actual.is_complex()):
            exact = exact.to(self.actual.dtype) if exact.dtype != self.actual.dtype else exact
        outcome = self.compare(exact)
        if witness.again is not None:
            for most in _AGAIN:
                if not self._corrected(witness, exact, outcome, most):
                    break
                outcome = self.compare(exact)
        if self.flushed is not None:
            at, zeros = self.flushed
            also = witness.values(zeros)
            if also is not None:
                other = exact.clone()
                other[at] = also.to(exact.dtype)
                outcome = best([outcome, self.compare(other)])
        return outcome, exact

    def _corrected(self, witness: Witness, exact: Tensor, outcome: Outcome, most: int) -> bool:
        """Puts the values of higher precision in the places of the largest errors; whether any was another."""
        errors = outcome.errors.nan_to_num(nan=0.0)
        top = errors.topk(min(most, len(errors))).indices
        top = top[(errors[top] > self.limit / 2) & exact[top].isfinite()]
        if not len(top) or witness.again is None:
            return False
        again = witness.again(pick(self.operands, top))
        if again is None:
            return False
        before = compare(self.actual[top], exact[top]).errors
        usable = again.isfinite()
        exact[top] = torch.where(usable, again, exact[top])
        after = compare(self.actual[top], exact[top]).errors
        return bool(((before - after).abs() > 0.01 * before).any())

    def place(self, at: int, exact: Tensor) -> Place:
        """One element."""
        return Place(tuple(o[at].item() for o in self.operands), self.actual[at].item(), exact[at].item())

    def mismatches(self, outcome: Outcome, exact: Tensor, excused: Tensor) -> tuple[Mismatch, ...]:
        """The wrong kinds of value, without the elements that are excused."""
        if self.signless:
            outcome = replace(outcome, zero=torch.zeros_like(outcome.zero))
        masks = {"nan": outcome.nan, "infinity": outcome.infinite, "zero": outcome.zero, "integer": outcome.unequal}
        found = []
        for kind, mask in masks.items():
            where = mask & ~excused
            if count := int(where.sum()):
                found.append(Mismatch(kind, count, self.place(int(where.to(torch.uint8).argmax()), exact)))
        return tuple(found)

    def like_torch(self) -> Tensor:
        """Where torch's operator at this very dtype has the kernel's value."""
        none = torch.zeros(self.actual.shape, dtype=torch.bool)
        if self.native is None or self.native.dtype != self.actual.dtype:
            return none
        if self.actual.is_floating_point():
            same = compare(self.actual, wide(self.native))
            return same.right & (same.errors.nan_to_num(nan=0.0) == 0)
        if self.actual.is_complex():
            return none
        return ~compare(self.actual, self.native).unequal

    def comparison(self, witness: Witness, outcome: Outcome, exact: Tensor) -> Comparison:
        """What there is to say of an outcome."""
        counted = outcome.counted
        limit = self.limit
        flushed = self._flushed_on_the_way(counted & (outcome.errors > limit), exact, limit)
        counted = counted & ~flushed
        errors = torch.where(counted, outcome.errors, 0.0)
        count = int(counted.sum())
        top = int(errors.argmax()) if count else 0
        excused = self.like_torch()
        over = counted & (errors > limit)
        if self.budget is None:
            half = self.actual.dtype in (torch.float16, torch.bfloat16)
            # A few units in half are a rounding too many, even if torch has it too; more are a jump, as of a floor.
            over &= ~excused | (errors <= _ROUNDINGS) if half else ~excused
            if self.torch_errors is not None and not half:  # torch's own operator is no better there
                over &= ~(self.torch_errors.nan_to_num(nan=0.0) >= errors)
            if bool(over.any()):
                over &= ~self._explained(witness, over, errors, limit)
        beyond = torch.where(over, errors, 0.0)
        worst = int(beyond.argmax()) if len(beyond) else 0
        return Comparison(
            witness.name, count, float(errors[top]) if count else 0.0, float(errors.sum()) / max(count, 1),
            self.place(top, exact) if count and float(errors[top]) > 0 else None,
            self.mismatches(outcome, exact, excused), limit, int(over.sum()), float(beyond.max()) if count else 0.0,
            self.place(worst, exact) if bool(over.any()) else None, int(flushed.sum()),
        )  # fmt: skip

    def _explained(self, witness: Witness, over: Tensor, errors: Tensor, limit: float) -> Tensor:
        """Where operands that differ by half a unit of float32 have results as far apart as the error.

        The value is then as good as float arithmetic on the operands can make it: sums that cancel, sines of large
        numbers. Half operands get no more than that, as they should be computed in float.
        """
        result = torch.zeros_like(over)
        inexact = self.actual.is_floating_point() or self.actual.is_complex()
        if self.element.kind not in (Kind.FLOATING, Kind.COMPLEX) or not inexact:
            return result
        at = over.nonzero().flatten()
        centre = [wide(o) for o in pick(self.operands, at)]
        base = witness.values(tuple(centre))
        if base is None:
            return result
        spread = torch.zeros(len(at), dtype=torch.float64)
        for i in range(len(centre)):
            for unit in (1, 1j) if self.element.kind is Kind.COMPLEX else (1,):
                sides = []
                for step in (2.0**-24, -(2.0**-24)):
                    moved = list(centre)
                    moved[i] = centre[i] * (1 + unit * step)
                    value = witness.values(tuple(moved))
                    assert value is not None
                    sides.append((value - base).abs().nan_to_num(nan=0.0, posinf=0.0))
                # The smaller of both: where a branch begins the function jumps on one side, and that is no excuse.
                spread += 2 * torch.minimum(*sides)
        size = (wide(take(self.actual, at)) - base).abs() / errors[at].clamp_min(1e-9)
        result[at] = errors[at] <= limit * (1 + spread / size.clamp_min(1e-300))
        return result

    def _flushed_on_the_way(self, over: Tensor, exact: Tensor, limit: float) -> Tensor:
        """Where the value is right on hardware that keeps subnormals, and numbers as small are about.

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

    def beside_torch(self, operator: Operator) -> Comparison | None:
        """The comparison with torch's operator, which is measured itself as well."""
        witness = against(operator, self.functor, self.element, self.scalars)
        found = self.outcome(witness)
        if found is None:
            return None
        outcome, exact = found
        if not operator.scalar:
            self.native = call(operator, self.operands, self.scalars)
        floating = self.actual.is_floating_point() or self.actual.is_complex()
        if self.native is not None and floating and self.native.dtype == self.actual.dtype:
            theirs = compare(self.native, exact)
            self.torch_errors = torch.where(theirs.counted, theirs.errors, torch.nan)
        return self.comparison(witness, outcome, exact)

    def early(self, exact: Tensor) -> Mismatch | None:
        """Results that are not finite where the meaning is a number that the dtype holds."""
        if not self.actual.is_floating_point():
            return None
        where = ~self.actual.isfinite() & exact.isfinite() & (exact.abs() <= torch.finfo(self.actual.dtype).max)
        where &= ~self.like_torch()
        if self.flushed is not None:
            where[self.flushed[0]] = False
        if not (count := int(where.sum())):
            return None
        return Mismatch("overflow", count, self.place(int(where.to(torch.uint8).argmax()), exact))
