"""A checked function's value in mpmath's numbers, element by element: the reference where float64 is not enough.

Rows without an exact meaning have none here: a function that uses one has no value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import mpmath
import torch
from torch import Tensor
from typing_extensions import assert_never

from pymetal import ir
from pymetal.dtypes import DType, Kind, wrap
from pymetal.ops import python as ops

DIGITS = 110  # floor(x / y) of floats needs 85
_STEPS = 20_000  # statements for one element: a loop that ends in floats may not end here

mp = mpmath.mp


class _Unknown(Exception):
    """The function uses what has no value here."""


def evaluate(
    function: ir.Function, element: DType, operands: tuple[Tensor, ...], scalars: Mapping[str, Any]
) -> Tensor | None:
    """The value at each element, rounded once to float64; NaN where there is none, None if nowhere.

    Args:
        operands: real vectors of one length, read exactly.
    """
    found = []
    try:
        with mp.workdps(DIGITS):
            for values in zip(*(o.tolist() for o in operands), strict=True):
                found.append(_at(function, element, values, scalars))
    except _Unknown:
        return None
    return torch.tensor(found, dtype=torch.float64)


def _at(function: ir.Function, element: DType, values: tuple[Any, ...], scalars: Mapping[str, Any]) -> float:
    run = _Run(element, {}, [_STEPS])
    try:
        arguments = [run.number(v, p.type) for v, p in zip(values, function.params, strict=True)]
        arguments += [run.number(scalars[p.name], p.type) for p in function.scalars]
        value = run.function(function, arguments)
        return float(value) if mp.im(value) == 0 else math.nan
    except (ZeroDivisionError, ValueError, OverflowError, TypeError, mpmath.libmp.NoConvergence):
        return math.nan


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Run:
    """One function at one element."""

    def __init__(self, element: DType, names: dict[str, Any], steps: list[int]) -> None:
        self.element = element
        self.names = names
        self.steps = steps

    def dtype(self, type_: ir.Type) -> DType:
        resolved = ir.resolved(type_, self.element)
        if resolved.kind is Kind.COMPLEX:
            raise _Unknown
        return resolved

    def number(self, value: Any, type_: ir.Type) -> Any:
        """A value converted to a type."""
        dtype = self.dtype(type_)
        if dtype.kind is Kind.FLOATING:
            return mp.mpf(value)
        if dtype.kind is Kind.BOOL:
            return bool(value)
        return wrap(int(value), dtype.torch)

    def function(self, function: ir.Function, arguments: list[Any]) -> Any:
        for param, value in zip((*function.params, *function.scalars), arguments, strict=True):
            self.names[param.name] = value
        try:
            self.block(function.body)
        except _Return as end:
            return self.number(end.value, function.result)
        raise _Unknown

    def block(self, body: tuple[ir.Stmt, ...]) -> None:
        for stmt in body:
            self.steps[0] -= 1
            if self.steps[0] < 0:
                raise ValueError("too many steps")
            self.statement(stmt)

    def statement(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Let(name, type_, value):
                self.names[name] = self.number(0, type_) if value is None else self.number(self.expr(value), type_)
            case ir.Assign(name, value):
                self.names[name] = self.expr(value)
            case ir.Return(value):
                raise _Return(self.expr(value))
            case ir.If(condition, then, otherwise):
                self.block(then if self.expr(condition) else otherwise)
            case ir.While(condition, body):
                while self.expr(condition) and self.once(body):
                    pass
            case ir.For(name, _, start, stop, step, body):
                for i in range(*(int(self.expr(e)) for e in (start, stop, step))):
                    self.names[name] = i
                    if not self.once(body):
                        break
            case ir.Break():
                raise _Break
            case ir.Continue():
                raise _Continue
            case _:
                assert_never(stmt)

    def once(self, body: tuple[ir.Stmt, ...]) -> bool:
        """One round of a loop; whether there may be another."""
        try:
            self.block(body)
        except _Continue:
            return True
        except _Break:
            return False
        return True

    def expr(self, expr: ir.Expr) -> Any:
        match expr:
            case ir.Name(name):
                return self.names[name]
            case ir.Const(value, type_):
                return self.number(value, type_)
            case ir.Cast(type_, value):
                return self.number(self.expr(value), type_)
            case ir.Select(condition, then, otherwise):
                return self.expr(then) if self.expr(condition) else self.expr(otherwise)
            case ir.Call(op, args, type_):
                return self.call(op, args, type_)
            case ir.Element(table, index):
                return self.number(table.values[int(self.expr(index))], table.type)
            case ir.Invoke(callee, args, bound):
                element = self.dtype(bound)
                overload = callee.overload(element)
                if overload is None:
                    raise _Unknown
                return _Run(element, {}, self.steps).function(overload.function, [self.expr(a) for a in args])
            case ir.Bits():
                raise _Unknown
            case _:
                assert_never(expr)

    def call(self, op: ir.Op, args: tuple[ir.Expr, ...], type_: ir.Type) -> Any:
        if op in (ops.AND, ops.OR):  # the second operand may have no value where the first decides
            first = self.expr(args[0])
            return self.expr(args[1]) if bool(first) == (op is ops.AND) else first
        if op.exact is None:
            raise _Unknown
        return self.number(op.exact(mp, *(self.expr(a) for a in args)), type_)
