"""Expressions become Metal text, with the parentheses and conversions that C++ needs and no others.

Where C++ and the IR differ, this module closes the gap:

* C++ computes on integers narrower than int as int. A `Fragment` that is not `exact` holds such an int, right only
  modulo the width of its type; it is converted before anything looks at more than those bits.
* Metal has no implicit conversion to bfloat, and none at all between half and bfloat: these go through float.
* A literal takes the type of the expression, not C++'s type of the literal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from typing_extensions import assert_never

from pymetal import dtypes, ir
from pymetal.dtypes import DType, Kind
from pymetal.ir import Call, Cast, Const, Expr, Infix, Name, Named, Prefix, Select, Type

PRIMARY = 16
PREFIX = 15
CONDITIONAL = 3
_COMPARISON = (9, 10)
_LOGICAL = (4, 5)


@dataclass(frozen=True)
class Fragment:
    """The text of an expression."""

    text: str
    precedence: int = PRIMARY
    exact: bool = True

    def within(self, precedence: int) -> str:
        """The text as an operand of something that binds as tightly as `precedence`."""
        return self.text if self.precedence >= precedence else f"({self.text})"


@dataclass(frozen=True)
class Printer:
    """Prints expressions for one overload."""

    domain: tuple[DType, ...]
    names: dict[str, str]
    element: str = "T"  # how the element type is spelled; a dtype's Metal name in an overload that is no template

    def type(self, type_: Type) -> str:
        """The Metal spelling of a type."""
        resolved = {ir.resolve(type_, d) for d in self.domain}
        if type_ == ir.Var():
            return self.element
        if len(resolved) == 1 and (only := resolved.pop()) is not None:
            return only.metal
        match type_:
            case ir.OpMath(of):
                return f"c10::metal::opmath_t<{self.type(of)}>"
            case ir.ComplexOf(of):
                return f"c10::metal::vec2type_t<{self.type(of)}>"
            case ir.RealOf() | ir.Var() | ir.Concrete() | ir.Weak():
                raise AssertionError(f"{type_} has no spelling over {self.domain}")
            case _:
                assert_never(type_)

    def expr(self, expr: Expr) -> Fragment:
        """The text of `expr`."""
        match expr:
            case Name(name):
                return Fragment(self.names[name])
            case Const(value, type_):
                return self._const(value, type_)
            case Cast(type_, value):
                return self._cast(type_, value)
            case Select(condition, then, otherwise):
                a, b = self.expr(then), self.expr(otherwise)
                test = self.expr(condition).within(CONDITIONAL + 1)
                text = f"{test} ? {a.within(CONDITIONAL + 1)} : {b.within(CONDITIONAL)}"
                return Fragment(text, CONDITIONAL, a.exact and b.exact)
            case Call():
                return self._call(expr)
            case _:
                assert_never(expr)

    def value(self, expr: Expr) -> Fragment:
        """The text of `expr`, converted to its own type if C++ would have it wider."""
        fragment = self.expr(expr)
        return fragment if fragment.exact else Fragment(f"static_cast<{self.type(expr.type)}>({fragment.text})")

    def _call(self, call: Call) -> Fragment:
        op = call.op
        args = [self.expr(a) if op.congruent else self.value(a) for a in call.args]
        exact = not op.wraps or not self._narrow(call.type)
        match op.text:
            case Infix(symbol, precedence):
                left, right = (self._operand(a, precedence) for a in args)
                # The operators are left-associative: an equal one on the right needs parentheses.
                text = f"{left.within(precedence)} {symbol} {right.within(precedence + 1)}"
                return Fragment(text, precedence, exact)
            case Prefix(symbol):
                operand = args[0].within(PREFIX)
                gap = f"({operand})" if operand.startswith(symbol) else operand
                return Fragment(f"{symbol}{gap}", PREFIX, exact)
            case Named(function):
                return Fragment(f"{function}({', '.join(a.text for a in args)})")
            case _:
                assert_never(op.text)

    def _operand(self, operand: Fragment, precedence: int) -> Fragment:
        """Parenthesised where C++ would read it right but a person might not: `a < b == c`, `a && b || c`."""
        mixed = precedence in _COMPARISON and operand.precedence in _COMPARISON
        mixed |= precedence in _LOGICAL and operand.precedence in _LOGICAL and precedence != operand.precedence
        return Fragment(f"({operand.text})", PRIMARY, operand.exact) if mixed else operand

    def _narrow(self, type_: Type) -> bool:
        resolved = (ir.resolve(type_, d) for d in self.domain)
        return any(d is not None and d.kind in dtypes.INTEGRAL and d.bits < 32 for d in resolved)

    def _cast(self, target: Type, value: Expr) -> Fragment:
        text = self.value(value).text
        sources = {ir.resolve(value.type, d) for d in self.domain}
        targets = {ir.resolve(target, d) for d in self.domain}
        halves = {dtypes.float16, dtypes.bfloat16}
        differ = any(
            {ir.resolve(value.type, d), ir.resolve(target, d)} == halves for d in self.domain
        )  # a literal set of both: one side is half where the other is bfloat
        if differ and sources & halves and targets & halves:
            text = f"float({text})"
        return Fragment(convert(text, self.type(target), template=target == ir.Var()))

    def _const(self, value: bool | int | float | complex, type_: Type) -> Fragment:
        resolved = {ir.resolve(type_, d) for d in self.domain}
        only = next(iter(resolved)) if len(resolved) == 1 else None
        if type_ == ir.Var() and self.element == "T":
            only = None
        if only is None:
            return Fragment(f"{self.type(type_)}({literal(value)})")
        return literal_of(value, only)


def convert(text: str, target: str, *, template: bool = False) -> str:
    """A conversion: `static_cast<T>(x)` for a template parameter, `float(x)` for a type of one word."""
    return f"static_cast<{target}>({text})" if template or " " in target or ":" in target else f"{target}({text})"


def literal(value: bool | int | float | complex) -> str:
    """A number as Metal writes it by itself. Floats are the shortest text that reads back as the same float."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # The lowest integer has no literal: its minus sign is applied to a number that does not fit.
        return f"({value + 1} - 1)" if value in (-(1 << 31), -(1 << 63)) else str(value)
    assert isinstance(value, float)
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if math.isnan(value):
        return "NAN"
    if np.isinf(single):
        return "INFINITY" if single > 0 else "-INFINITY"
    text = (
        np.format_float_positional(single, trim="0")
        if 1e-4 <= abs(single) < 1e7 or single == 0
        else repr(float(str(single)))
    )
    return f"{text}f"


def literal_of(value: bool | int | float | complex, dtype: DType) -> Fragment:
    """A number as an expression of type `dtype`."""
    if dtype.kind is Kind.BOOL:
        return Fragment("true" if value else "false")
    if dtype.kind is Kind.FLOATING:
        assert not isinstance(value, complex)
        text = literal(float(value))
        if dtype != dtypes.float32:
            return Fragment(f"{dtype.metal}({text})")
        return Fragment(text, PREFIX if text.startswith("-") else PRIMARY)
    assert not isinstance(value, complex)
    text = literal(int(value))
    if dtype == dtypes.int32:
        return Fragment(text, PREFIX if text.startswith("-") else PRIMARY)
    return Fragment(f"{dtype.metal}({text})")
