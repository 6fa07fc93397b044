"""The right values of a functor, from two sides: what its own text means at double precision, and torch's operator.

The first knows nothing of rounding, so that what the kernel loses by it shows. The second knows nothing of the
functor, so that a wrong formula shows. Neither is taken at its word where the kernel differs most: there mpmath
computes the value again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pymetal import ir
from pymetal.accuracy import elementwise
from pymetal.check.exact_operators import exact_operator
from pymetal.check.torch_operators import Operator, call, take
from pymetal.dtypes import DType, Kind
from pymetal.runtime.operation import Operation
from pymetal.semantics import exact_interpreter
from pymetal.semantics.interpreter import evaluate

Scalars = dict[str, Any]


@dataclass(frozen=True)
class Witness:
    """One source of right values.

    Attributes:
        name: as it is shown.
        values: the right values for operands in the functor's dtype: doubles for floats, else the functor's own.
        again: the value at one element, at higher precision; None if that is not to be had.
    """

    name: str
    values: Callable[[tuple[Tensor, ...]], Tensor | None]
    again: Callable[[tuple[Tensor, ...]], Tensor | None] | None = None


def overload_of(functor: Operation, element: DType) -> ir.Overload:
    """The overload that serves a registered dtype."""
    found = functor.ir.overload(element)
    assert found is not None, f"{functor.name} at {element}"
    return found


def bodies(functor: Operation, element: DType) -> list[tuple[ir.Stmt, ...]]:
    """The functor's own body at `element`, and those of all that it calls."""
    own = overload_of(functor, element).function.body
    return [own, *(o.function.body for c in ir.callees(functor.ir) for o in c.overloads)]


def reads_bits(functor: Operation, element: DType) -> bool:
    """Whether the bits of floats matter, so that the body has no meaning at another precision."""
    return any(isinstance(e, ir.Bits) for body in bodies(functor, element) for e in ir.expressions(body))


def wide(x: Tensor) -> Tensor:
    """Floats and complex numbers at double precision; integers and bools as they are."""
    if x.is_complex():
        return x.to(torch.complex128)
    return x.double() if x.is_floating_point() else x


def result_dtype(functor: Operation, element: DType) -> torch.dtype:
    """The dtype of the functor's result for operands of `element`."""
    return functor.caller.result(element).torch


def rounded_scalars(functor: Operation, element: DType, scalars: Scalars) -> Scalars:
    """The scalars as the kernel receives them."""
    compute = functor.caller.compute(element)
    found = {}
    for param in overload_of(functor, element).function.scalars:
        resolved = ir.resolved(param.type, compute)
        found[param.name] = torch.tensor(scalars[param.name]).to(resolved.torch).item()
    return found


def meaning(functor: Operation, element: DType, scalars: Scalars) -> Witness:
    """What the functor's text means, with every float a double."""
    function = overload_of(functor, element).function
    result = result_dtype(functor, element)
    compute = functor.caller.compute(element)
    if reads_bits(functor, element):
        return Witness(f"its meaning in {element.name}", lambda o: _narrow(function, compute, o, scalars, result))

    def values(operands: tuple[Tensor, ...]) -> Tensor:
        found = evaluate(function, compute, [wide(o) for o in operands], scalars, wide=True)
        return wide(found) if result.is_floating_point or result.is_complex else found.to(result)

    def again(operands: tuple[Tensor, ...]) -> Tensor | None:
        return exact_interpreter.evaluate(function, compute, operands, scalars) if result.is_floating_point else None

    return Witness("its meaning in float64", values, again)


def _narrow(
    function: ir.Function, compute: DType, operands: tuple[Tensor, ...], scalars: Scalars, result: torch.dtype
) -> Tensor:
    return wide(evaluate(function, compute, [o.to(compute.torch) for o in operands], scalars).to(result))


def against(operator: Operator, functor: Operation, element: DType, scalars: Scalars) -> Witness:
    """torch's operator of the same meaning, in double precision wherever the functor's result is no integer."""
    result = result_dtype(functor, element)
    inexact = result.is_floating_point or result.is_complex

    def values(operands: tuple[Tensor, ...]) -> Tensor | None:
        found = call(operator, asked(inexact, operands), scalars)
        if found is None:
            return None
        return wide(found) if inexact else found

    name = operator.name if operator.scalar else f"{operator.name} in float64" if inexact else operator.name
    oracle = None if operator.scalar else exact_operator(functor.name)
    again = None
    if oracle is not None and inexact and element.kind is not Kind.COMPLEX and not scalars:
        again = lambda operands: elementwise.on_reals(oracle, *operands, digits=exact_interpreter.DIGITS)  # noqa: E731
    return Witness(name, values, again)


def asked(inexact: bool, operands: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The operands that torch's operator is given: doubles, of integers too, unless the result is an integer."""
    return tuple(o.double() if inexact and not o.is_complex() else wide(o) for o in operands)


def pick(operands: Sequence[Tensor], at: Tensor) -> tuple[Tensor, ...]:
    """The operands at some places."""
    return tuple(take(o, at) for o in operands)
