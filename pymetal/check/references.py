"""The references of a measurement: the functor's own formula at double precision, and torch's operator.

The first does not round, so it shows what the kernel loses by rounding. The second is independent of the functor, so
it shows a wrong formula. Where the kernel deviates most from either, mpmath computes the value again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pymetal.accuracy import elementwise
from pymetal.check.exact_operators import exact_operator
from pymetal.check.operands import Scalars, overload_of, reads_bits, result_dtype
from pymetal.check.torch_operators import Operator, call, take
from pymetal.dtypes import DType, Kind
from pymetal.runtime.operation import Operation
from pymetal.semantics import exact_interpreter
from pymetal.semantics.interpreter import evaluate


@dataclass(frozen=True)
class Reference:
    """One source of right values.

    Attributes:
        name: as it is shown.
        values: the right values for operands in the functor's dtype: float64 or complex128, for integers the functor's
            own dtype; raises `Unusable` where there are none.
        refined: the same at higher precision; None if that is not to be had.
    """

    name: str
    values: Callable[[tuple[Tensor, ...]], Tensor]
    refined: Callable[[tuple[Tensor, ...]], Tensor | None] | None = None


def wide(x: Tensor) -> Tensor:
    """Floats and complex numbers at double precision; integers and bools as they are."""
    if x.is_complex():
        return x.to(torch.complex128)
    return x.double() if x.is_floating_point() else x


def functor_reference(functor: Operation, element: DType, scalars: Scalars) -> Reference:
    """The functor's own formula, with every float a double; in its own dtype where it reads the bits of floats."""
    function = overload_of(functor, element).function
    result = result_dtype(functor, element)
    compute = functor.caller.compute(element)

    def narrow(operands: tuple[Tensor, ...]) -> Tensor:
        return wide(evaluate(function, compute, [o.to(compute.torch) for o in operands], scalars).to(result))

    def values(operands: tuple[Tensor, ...]) -> Tensor:
        found = evaluate(function, compute, [wide(o) for o in operands], scalars, wide=True)
        return wide(found) if result.is_floating_point or result.is_complex else found.to(result)

    def refined(operands: tuple[Tensor, ...]) -> Tensor | None:
        return exact_interpreter.evaluate(function, compute, operands, scalars) if result.is_floating_point else None

    if reads_bits(functor, element):
        return Reference(f"its own formula in {element.name}", narrow)
    return Reference("its own formula in float64", values, refined)


def operator_reference(operator: Operator, functor: Operation, element: DType, scalars: Scalars) -> Reference:
    """torch's operator, at double precision wherever the functor's result is not an integer."""
    result = result_dtype(functor, element)
    inexact = result.is_floating_point or result.is_complex

    def values(operands: tuple[Tensor, ...]) -> Tensor:
        found = call(operator, operator_operands(inexact, operands), scalars)
        return wide(found) if inexact else found

    name = f"{operator.name} in float64" if inexact and not operator.scalar else operator.name
    oracle = None if operator.scalar else exact_operator(functor.name)
    refined = None
    if oracle is not None and inexact and element.kind is not Kind.COMPLEX and not scalars:
        refined = lambda operands: elementwise.on_reals(oracle, *operands, digits=exact_interpreter.DIGITS)  # noqa: E731
    return Reference(name, values, refined)


def operator_operands(inexact: bool, operands: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The operands that torch's operator is called with: doubles, of integers too, unless the result is an integer."""
    return tuple(o.double() if inexact and not o.is_complex() else wide(o) for o in operands)


def pick(operands: Sequence[Tensor], at: Tensor) -> tuple[Tensor, ...]:
    """The operands at some places."""
    return tuple(take(o, at) for o in operands)
