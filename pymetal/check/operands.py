"""What a functor is run on at a registered dtype: its bodies, its result's dtype, scalars and operands."""

from __future__ import annotations

import math
from typing import Any

import torch

from pymetal import ir
from pymetal.accuracy.samples import Samples, samples
from pymetal.dtypes import INTEGRAL, DType, Kind, wrap
from pymetal.runtime.operation import Operation

Scalars = dict[str, Any]
_WIDEST = {Kind.FLOATING: torch.float64, Kind.COMPLEX: torch.complex128}


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
    """Whether the bits of floats matter, so that the body cannot be evaluated at another precision."""
    return any(isinstance(e, ir.Bits) for body in bodies(functor, element) for e in ir.expressions(body))


def result_dtype(functor: Operation, element: DType) -> torch.dtype:
    """The dtype of the functor's result for operands of `element`."""
    return functor.caller.result(element).torch


def scalars_for(functor: Operation, element: DType, given: Scalars) -> Scalars:
    """The scalars of a run, rounded as the kernel receives them.

    A value comes from `given`, else from the functor's defaults, else it is 0.5 (2 for an integer parameter). Where a
    parameter's type is real, a complex value becomes its real part; where it is an integer, a fraction becomes 1.
    """
    compute = functor.caller.compute(element)
    found = {}
    for param in overload_of(functor, element).function.scalars:
        dtype = ir.resolved(param.type, compute)
        integral = isinstance(param.type, ir.Concrete) and dtype.kind is not Kind.FLOATING
        default = functor.caller.scalars[param.name]
        value: Any = given.get(param.name, (2 if integral else 0.5) if default is None else default)
        if dtype.kind is not Kind.COMPLEX and isinstance(value, complex):
            value = value.real
        if dtype.kind in INTEGRAL:
            whole = int(value) if math.isfinite(value) and value == int(value) else 1
            found[param.name] = torch.tensor(wrap(whole, dtype.torch), dtype=dtype.torch).item()
        else:
            found[param.name] = torch.tensor(value, dtype=_WIDEST[dtype.kind]).to(dtype.torch).item()
    return found


def numbers_of(functor: Operation, element: DType, scalars: Scalars) -> list[float]:
    """The numbers that the text computes and compares with: constants, but for elements of tables, and scalars."""
    found: dict[float, None] = {}
    for body in bodies(functor, element):
        for expr in ir.expressions(body):
            if isinstance(expr, ir.Const) and not isinstance(expr.value, complex) and expr.value not in (0, 1, True):
                found.setdefault(expr.value)  # an integer as it is: a float has 53 bits of it
    found |= dict.fromkeys(value for value in scalars.values() if not isinstance(value, complex))
    return [n for n in found if n not in (float("inf"), float("-inf")) and n == n]


def operands_for(functor: Operation, element: DType, scalars: Scalars, scale: int = 1) -> Samples:
    """The operands of a measurement; `scale` times the usual number of random ones."""
    inexact = result_dtype(functor, element).is_floating_point
    numbers = numbers_of(functor, element, scalars)
    return samples(element.torch, functor.arity.inputs, numbers, scale=scale, exact_in_float=inexact)
