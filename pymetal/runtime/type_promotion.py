"""Type promotion: the dtypes of a call's operands become the element type, and that the type of the result."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pymetal import dtypes, ir
from pymetal.dtypes import INTEGRAL, DType, Kind, float32, from_torch
from pymetal.errors import CallError, PyMetalError
from pymetal.frontend.ways_out import TO_FLOAT, spelled
from pymetal.runtime.plan import Number, Operand

_WIDENED = frozenset({Kind.FLOATING, Kind.COMPLEX})


@dataclass
class CallTypes:
    """The element types of a functor's calls.

    Attributes:
        widens: half and bfloat are widened before the functor is called.
        to_float: integers are converted to float before anything else, as under promotion="int_to_float".
        failures: why the body has no meaning at the dtypes that are left out.
        decorated: the functor's decorator with other keywords, for messages.
    """

    name: str
    checked: ir.CheckedFunction
    widens: bool
    to_float: bool
    failures: Mapping[DType, PyMetalError]
    decorated: Callable[..., str]

    def common_dtype(self, operands: Sequence[Operand]) -> torch.dtype:
        """The dtype that the operands are converted to.

        Where integers are converted to float before anything else, an operand that the integers' common type cannot
        hold, a number or a wider 0-dim tensor, is not narrowed first.
        """
        dtype = promote(operands)
        if not self.to_float or float32 not in self.checked.domain or dtype.is_floating_point or dtype.is_complex:
            return dtype
        return dtype if all(_holds(dtype, o.dtype) for o in operands) else torch.float32

    def element(self, operands: Sequence[Operand]) -> DType:
        """The element type of the operands' common dtype.

        Raises:
            CallError: torch has no common dtype for them, or the functor is not registered for it.
        """
        dtype, domain = self.common_dtype(operands), self.checked.domain
        element = from_torch(dtype)
        if element is not None and element in domain:
            return element
        failure = self.failures.get(element) if element is not None else None
        if element is not None and failure is not None:
            is_test = all(o.function.result == ir.BOOL for o in self.checked.overloads)
            floats = element.kind in INTEGRAL and float32 in domain and not is_test
            promotion = f"`{self.decorated(promotion=TO_FLOAT)}`, " if floats else ""
            raise CallError(
                f"{self.name} is not defined for {element.torch}: {failure.message}",
                failure.span,
                hint=f"Convert the tensors, or change the functor: {promotion}a body for the dtype with "
                f"`@{self.name}.overload`, or `{self.decorated(dtypes=spelled(domain))}` to say what it serves.",
            )
        reason = " (Metal has no double)" if element is not None and not element.metal else ""
        numbers = [o.number for o in operands if o.dtype is None and not isinstance(o.number, int)]
        way = "Convert the tensors, or widen dtypes= and the annotation of the functor."
        if numbers and all(o.dtype is None or from_torch(o.dtype) in domain for o in operands):
            way = f"The tensors are: pass an integer instead of a Python {type(numbers[0]).__name__}."
        raise CallError(
            f"{self.name} has no kernel for {dtype}{reason}",
            hint=f"It is registered for {dtypes.listed(domain)}. {way}",
        )

    def function(self, element: DType) -> ir.Function:
        """The body that serves `element`."""
        overload = self.checked.overload(element)
        assert overload is not None
        return overload.function

    def compute(self, element: DType) -> DType:
        """What the functor is called with: float for half where a registration macro widens."""
        return dtypes.opmath(element) if self.widens and element.kind in _WIDENED else element

    def result(self, element: DType) -> DType:
        """The dtype of the result. Where half was widened for the functor, it comes back narrow."""
        type_ = self.function(element).result
        return ir.resolved(type_, element if type_ == ir.Var() else self.compute(element))

    def reference(self, operands: Sequence[Operand]) -> tuple[DType, ir.Function, DType]:
        """The element type, the body and the result's dtype of a reference evaluation, where a double stays a double.

        Raises:
            CallError: the functor is not registered for the operands' common dtype, nor for any float of its kind.
        """
        double = from_torch(self.common_dtype(operands))
        for overload in self.checked.overloads if double in dtypes.DOUBLES else ():
            assert double is not None
            if any(d.kind is double.kind for d in overload.domain):
                result = ir.resolved(overload.function.result, double)
                return double, overload.function, dtypes.double_of(result)
        element = self.element(operands)
        return element, self.function(element), self.result(element)


def promote(operands: Sequence[Operand]) -> torch.dtype:
    """The dtype that the operands meet in, as `TensorIterator` computes it.

    Python numbers and 0-dim tensors give way to tensors with dimensions of the same kind of number.

    Raises:
        CallError: torch has no common dtype for them.
    """
    first = operands[0].dtype
    if first is not None and all(o.dtype == first for o in operands):
        return first
    # Not elementwise_dtypes of torch._prims_common: it makes uint16 of uint16 and int32, which torch refuses.
    dimensioned = [o.dtype for o in operands if o.dtype is not None and o.shape]
    zero_dim = [o.dtype for o in operands if o.dtype is not None and not o.shape]
    numbers = [o.number for o in operands if o.dtype is None and o.number is not None]
    try:
        groups = [(group, dims) for group, dims in ((dimensioned, 1), (zero_dim, 0)) if group]
        probes: list[Any] = [_probe(functools.reduce(torch.promote_types, group), dims) for group, dims in groups]
        probes += sorted(numbers, key=_rank)[-1:]
        leading = torch.result_type(probes[0], probes[0])
        return functools.reduce(lambda found, other: torch.result_type(_probe(found, 1), other), probes[1:], leading)
    except RuntimeError as error:
        found = dict.fromkeys(str(d) for d in (*dimensioned, *zero_dim))
        named = " and ".join([*found, *(f"the number {n}" for n in numbers)])
        raise CallError(f"torch has no common dtype for {named}", hint="Convert one of them with .to().") from error


def _probe(dtype: torch.dtype, dims: int) -> torch.Tensor:
    """A tensor without memory, for torch to look at."""
    return torch.empty((1,) * dims, dtype=dtype, device="meta")


def _rank(number: Number) -> int:
    """Python numbers in the order in which one gives way to another."""
    return next(at for at, type_ in enumerate((bool, int, float, complex)) if isinstance(number, type_))


def _holds(dtype: torch.dtype, other: torch.dtype | None) -> bool:
    """True if the integer or bool `dtype` has every value of `other`; a Python number, without a dtype, may be any."""
    if other is None or torch.bool in (other, dtype):
        return other is not None and other in (dtype, torch.bool)
    mine, theirs = torch.iinfo(dtype), torch.iinfo(other)
    return mine.min <= theirs.min and theirs.max <= mine.max
