"""A checked function's value in mpmath's numbers, element by element: the judge where float64 is not enough.

Not every operator of the table is known here. A function that uses another has no value, and float64 stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import torch
from torch import Tensor
from typing_extensions import assert_never

from pymetal import ir
from pymetal.dtypes import DType, Kind, wrap

DIGITS = 110  # floor(x / y) of floats needs 85
_STEPS = 20_000  # statements for one element: a loop that ends in floats may not end here

mp = mpmath.mp


class _Unknown(Exception):
    """The function uses what has no value here."""


def _rint(x: Any) -> Any:
    return mp.nint(x)


def _round(x: Any) -> Any:
    return mp.sign(x) * mp.floor(abs(x) + mp.mpf(0.5))


def _trunc(x: Any) -> Any:
    return mp.sign(x) * mp.floor(abs(x))


def _fmod(x: Any, y: Any) -> Any:
    return mp.sign(x) * mp.fmod(abs(x), abs(y))


def _xlogy(x: Any, y: Any) -> Any:
    return mp.mpf(0) if x == 0 and not mp.isnan(y) else x * mp.log(y)


def _logaddexp(x: Any, y: Any) -> Any:
    larger = max(x, y)
    return larger + mp.log1p(mp.exp(-abs(x - y)))


def _logaddexp2(x: Any, y: Any) -> Any:
    return max(x, y) + mp.log1p(mp.power(2, -abs(x - y))) / mp.log(2)


def _erfcx(x: Any) -> Any:
    with mp.workdps(DIGITS + 10):
        return mp.exp(x * x) * mp.erfc(x)


def _sinc(x: Any) -> Any:
    return mp.sincpi(x)


def _log_gamma(x: Any) -> Any:
    return mp.log(abs(mp.gamma(x))) if x < 200 else mp.loggamma(x)


def _larger(x: Any, y: Any) -> Any:
    return mp.nan if mp.isnan(x) or mp.isnan(y) else max(x, y)


def _smaller(x: Any, y: Any) -> Any:
    return mp.nan if mp.isnan(x) or mp.isnan(y) else min(x, y)


def _tanh_argument(x: Any) -> Any:
    return mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)


def _gelu_tanh(x: Any) -> Any:
    return x / (1 + mp.exp(-2 * _tanh_argument(x)))  # (1 + tanh u) / 2


def _gelu_tanh_backward(g: Any, x: Any) -> Any:
    slope = mp.sqrt(2 / mp.pi) * (1 + 3 * mp.mpf("0.044715") * x * x)
    half = 1 / (1 + mp.exp(-2 * _tanh_argument(x)))
    return g * (half + x * 2 * half * (1 - half) * slope)


def _silu_backward(g: Any, x: Any) -> Any:
    s = 1 / (1 + mp.exp(-x))
    return g * s * (1 + x * (1 - s))


def _mish_backward(g: Any, x: Any) -> Any:
    t = mp.tanh(mp.log1p(mp.exp(x)))
    return g * (t + x * (1 - t * t) / (1 + mp.exp(-x)))


# Real functions by the last part of an operator's name. Functors of the same name are judged by them too.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": mp.exp, "exp2": lambda x: mp.power(2, x), "exp10": lambda x: mp.power(10, x), "expm1": mp.expm1,
    "expm1f": mp.expm1, "log": mp.log, "log2": lambda x: mp.log(x) / mp.log(2), "log10": mp.log10, "log1p": mp.log1p,
    "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "sinpi": mp.sinpi, "cospi": mp.cospi,
    "tanpi": lambda x: mp.sinpi(x) / mp.cospi(x), "asin": mp.asin, "acos": mp.acos, "atan": mp.atan,
    "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh, "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh,
    "sqrt": mp.sqrt, "rsqrt": lambda x: 1 / mp.sqrt(x), "reciprocal": lambda x: 1 / x,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)), "erf": mp.erf, "erfc": mp.erfc, "erfcx": _erfcx, "erfinv": mp.erfinv,
    "gamma": mp.gamma, "log_gamma": _log_gamma, "lgamma": _log_gamma, "digamma": mp.digamma,
    "trigamma": lambda x: mp.psi(1, x), "zeta": mp.zeta, "sinc": _sinc, "atan2": mp.atan2, "hypot": mp.hypot,
    "logaddexp": _logaddexp, "logaddexp2": _logaddexp2, "xlogy": _xlogy,
    "i0": lambda x: mp.besseli(0, x), "i1": lambda x: mp.besseli(1, x),
    "gelu": lambda x: x * mp.ncdf(x), "gelu_tanh": _gelu_tanh, "silu": lambda x: x / (1 + mp.exp(-x)),
    "mish": lambda x: x * mp.tanh(mp.log1p(mp.exp(x))), "log_sigmoid_forward": lambda x: -mp.log1p(mp.exp(-x)),
    "logsigmoid": lambda x: -mp.log1p(mp.exp(-x)), "softsign": lambda x: x / (1 + abs(x)),
    "tanhshrink": lambda x: x - mp.tanh(x), "glu": lambda a, b: a / (1 + mp.exp(-b)),
    "gelu_backward": lambda g, x: g * (mp.ncdf(x) + x * mp.npdf(x)), "gelu_tanh_backward": _gelu_tanh_backward,
    "silu_backward": _silu_backward, "mish_backward": _mish_backward,
    "log_sigmoid_backward": lambda g, x: g / (1 + mp.exp(x)), "tanh_backward": lambda g, y: g * (1 - y * y),
    "sigmoid_backward": lambda g, y: g * y * (1 - y),
    "igamma": lambda a, x: mp.gammainc(a, 0, x, regularized=True),
    "igammac": lambda a, x: mp.gammainc(a, x, regularized=True),
}  # fmt: skip

_OPERATORS: dict[str, Callable[..., Any]] = {
    **FUNCTIONS,
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "truediv": lambda x, y: x / y,
    "div": lambda x, y: x / y, "divide": lambda x, y: x / y, "neg": lambda x: -x, "pow": mp.power, "powr": mp.power,
    "fabs": abs, "abs": abs, "floor": mp.floor, "ceil": mp.ceil, "trunc": _trunc, "rint": _rint, "round": _round,
    "fract": lambda x: x - mp.floor(x), "fmod": _fmod, "fma": lambda x, y, z: x * y + z, "max": _larger,
    "min": _smaller, "fmax": lambda x, y: y if mp.isnan(x) else x if mp.isnan(y) else max(x, y),
    "fmin": lambda x, y: y if mp.isnan(x) else x if mp.isnan(y) else min(x, y), "sign": mp.sign,
    "fdim": lambda x, y: max(x - y, mp.mpf(0)), "ldexp": lambda x, n: x * mp.power(2, n),
    "mix": lambda x, y, a: x + (y - x) * a, "clamp": lambda x, low, high: min(max(x, low), high),
    "floordiv": lambda x, y: mp.floor(x / y), "mod": lambda x, y: x - y * mp.floor(x / y),
    "xlog1py": lambda x, y: mp.mpf(0) if x == 0 else x * mp.log1p(y),
    "copysign": lambda x, y: abs(x) * (-1 if y < 0 else 1), "polygamma": lambda n, x: mp.psi(int(n), x),
    "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y, "and": lambda x, y: x and y, "or": lambda x, y: x or y,
    "not": lambda x: not x, "isnan": lambda x: bool(mp.isnan(x)), "isinf": lambda x: bool(mp.isinf(x)),
    "isfinite": lambda x: bool(mp.isfinite(x)), "signbit": lambda x: bool(x < 0),
    "select": lambda x, y, c: y if c else x,
    # of integers
    "abs_int": abs, "mod_int": lambda x, y: x % y if y else x, "floordiv_int": lambda x, y: x // y if y else 0,
}  # fmt: skip


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
        base = op.name.rpartition(".")[2]
        function = _OPERATORS.get(base.partition("-")[0])
        if function is None:
            raise _Unknown
        if base in ("and", "or"):
            first = self.expr(args[0])
            return self.expr(args[1]) if bool(first) == (base == "and") else first
        return self.number(function(*(self.expr(a) for a in args)), type_)
