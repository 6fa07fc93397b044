"""A function and one of its parameters become the derivative by that parameter, again as IR.

Forward accumulation: every floating variable `x` gets a companion for its tangent, set wherever `x` is. The derivative
rules are columns of the operator table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from typing_extensions import assert_never

from pymetal import ir
from pymetal.dtypes import DType, Kind
from pymetal.errors import PyMetalError
from pymetal.ops.builder import Term


def differentiate(function: ir.Function, wrt: str, domain: Iterable[DType]) -> ir.Function:
    """The partial derivative of `function` by its parameter `wrt`, a function of the same parameters.

    Args:
        wrt: the name of a tensor or scalar parameter.
        domain: the dtypes the function is typed for.

    Raises:
        PyMetalError: there is no such parameter, or an operator on the way has no derivative.
    """
    names = [p.name for p in (*function.params, *function.scalars)]
    if wrt not in names:
        raise PyMetalError(f"there is no parameter {wrt!r}", hint=f"Parameters: {', '.join(names)}.")
    tangents = _Tangents(wrt, tuple(domain), names)
    body = tangents.block(function.body, function.result)
    return ir.Function(function.params, function.scalars, function.result, body)


class _Tangents:
    def __init__(self, wrt: str, domain: tuple[DType, ...], taken: list[str]) -> None:
        self.wrt = wrt
        self.domain = domain
        self.taken = set(taken)
        self.companions: dict[str, str] = {}

    def differentiable(self, type_: ir.Type) -> bool:
        resolved = (ir.resolve(type_, d) for d in self.domain)
        # One body may serve integers too; its derivative is asked for at the floating dtypes.
        return any(d is not None and d.kind is Kind.FLOATING for d in resolved)

    def companion(self, name: str) -> str:
        if name not in self.companions:
            fresh = f"d_{name}"
            while fresh in self.taken:
                fresh += "_"
            self.taken.add(fresh)
            self.companions[name] = fresh
        return self.companions[name]

    def block(self, body: tuple[ir.Stmt, ...], result: ir.Type) -> tuple[ir.Stmt, ...]:
        out: list[ir.Stmt] = []
        for stmt in body:
            match stmt:
                case ir.Let(name, type_, value, mutable, span):
                    if self.differentiable(type_):
                        tangent = None if value is None else self.tangent(value).expr
                        out.append(ir.Let(self.companion(name), type_, tangent, mutable, span))
                    out.append(stmt)
                case ir.Assign(name, value, span):
                    # The tangent first: it may read the value that is about to be replaced.
                    if self.differentiable(value.type):
                        out.append(ir.Assign(self.companion(name), self.tangent(value).expr, span))
                    out.append(stmt)
                case ir.Return(value, span):
                    out.append(ir.Return(self.tangent(value).expr, span))
                case ir.If() | ir.While() | ir.For():
                    out.append(ir.rebuild(stmt, block=lambda inner: self.block(inner, result)))
                case ir.Break() | ir.Continue():
                    out.append(stmt)
                case _:
                    assert_never(stmt)
        return tuple(out)

    def tangent(self, expr: ir.Expr) -> Term:
        """The derivative of `expr`, of the same type."""
        zero = Term(ir.Const(0, expr.type))
        if not self.differentiable(expr.type):
            return zero
        match expr:
            case ir.Const():
                return zero
            case ir.Name(name):
                if name in self.companions:
                    return Term(ir.Name(self.companions[name], expr.type))
                return Term(ir.Const(1, expr.type)) if name == self.wrt else zero
            case ir.Cast(type_, value):
                inner = self.tangent(value).expr
                if isinstance(inner, ir.Const):
                    return Term(ir.Const(inner.value, type_))
                return Term(ir.Cast(type_, inner))
            case ir.Select(condition, then, otherwise):
                a, b = self.tangent(then), self.tangent(otherwise)
                return zero if a.is_number(0) and b.is_number(0) else a.where(Term(condition), b)
            case ir.Bits(span=span):
                raise PyMetalError("the bits of a number have no derivative", span)
            case ir.Element():
                return zero
            case ir.Invoke():
                return self._invoke(expr)
            case ir.Call(op, args):
                return self._chain(expr, [Term(a) for a in args], [self.tangent(a) for a in args], op)
            case _:
                assert_never(expr)

    def _invoke(self, call: ir.Invoke) -> Term:
        """The chain rule through a callee: its own derivative by each argument that varies."""
        total = Term(ir.Const(0, call.type))
        inner = [self.tangent(a) for a in call.args]
        overloads = call.callee.overloads
        for index, tangent in enumerate(inner):
            if tangent.is_number(0):
                continue
            derivatives = []
            for overload in overloads:
                parameters = (*overload.function.params, *overload.function.scalars)
                derived = differentiate(overload.function, parameters[index].name, overload.domain)
                derivatives.append(replace(overload, function=derived))
            name = f"{call.callee.name}_d{index}"
            callee = ir.CheckedFunction(name, "", tuple(derivatives), helper=call.callee.helper)
            partial = Term(ir.Invoke(callee, call.args, call.bound, call.type, call.span))
            total = total + partial * tangent
        return total

    def _chain(self, call: ir.Call, args: list[Term], inner: list[Term], op: ir.Op) -> Term:
        total = Term(ir.Const(0, call.type))
        if all(t.is_number(0) for t in inner):
            return total
        if op.derivative is None:
            raise PyMetalError(f"{op.name} has no derivative", call.span)
        for number, (partial, tangent) in enumerate(zip(op.derivative(*args, Term(call)), inner, strict=True)):
            if partial is None and not tangent.is_number(0):
                raise PyMetalError(f"{op.name} has no derivative by its operand {number + 1}", call.span)
            if partial is None:
                continue
            total = total + total.lift(partial) * tangent
        return total
