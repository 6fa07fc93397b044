"""What a functor is run on: operands that its own text makes interesting, and scalars that its types hold."""

from __future__ import annotations

from typing import Any

from pymetal import ir
from pymetal.accuracy.samples import Samples, samples
from pymetal.check.references import Scalars, bodies, overload_of, result_dtype
from pymetal.dtypes import DType, Kind
from pymetal.runtime.operation import Operation


def numbers_of(functor: Operation, element: DType, scalars: Scalars) -> list[float]:
    """What the text computes and compares with: constants, elements of tables are left out, scalars."""
    found: dict[float, None] = {}
    for body in bodies(functor, element):
        for expr in ir.expressions(body):
            if isinstance(expr, ir.Const) and not isinstance(expr.value, complex) and expr.value not in (0, 1, True):
                found.setdefault(float(expr.value))
    for value in scalars.values():
        if not isinstance(value, complex):
            found.setdefault(float(value))
    return [n for n in found if n not in (float("inf"), float("-inf")) and n == n]


def default_scalars(functor: Operation, given: Scalars) -> Scalars:
    """The scalars of a run: those given, defaults, and 0.5 (or 2 of an integer) where there is none."""
    found = {}
    for param in functor.ir.overloads[0].function.scalars:
        integral = isinstance(param.type, ir.Concrete) and param.type.dtype.kind is not Kind.FLOATING
        fallback: Any = 2 if integral else 0.5
        found[param.name] = given.get(param.name, fallback if param.default is None else param.default)
    return found


def operands_for(functor: Operation, element: DType, scalars: Scalars, scale: int) -> Samples:
    """The operands of a measurement."""
    inexact = result_dtype(functor, element).is_floating_point
    return samples(
        element.torch, functor.arity.inputs, numbers_of(functor, element, scalars), scale=scale, exact_in_float=inexact
    )


def fitting(functor: Operation, element: DType, scalars: Scalars) -> Scalars:
    """Scalars that the parameters' types hold: 1 in place of a fraction where the type is an integer."""
    compute = functor.caller.compute(element)
    found = dict(scalars)
    for param in overload_of(functor, element).function.scalars:
        resolved = ir.resolved(param.type, compute)
        value = found[param.name]
        if resolved.kind is not Kind.COMPLEX and isinstance(value, complex):
            found[param.name] = value.real
        if resolved.kind in (Kind.SIGNED, Kind.UNSIGNED, Kind.BOOL) and value != int(value):
            found[param.name] = 1
    return found
