"""Expressions become Metal text, with the parentheses and conversions that C++ needs and no others.

Where C++ and the IR differ, this module closes the gap:

* C++ computes on integers narrower than int as int. A `Fragment` that is not `exact` holds such an int, right only
  modulo the width of its type; it is converted before anything looks at more than those bits. One that is not `typed`
  has the right value as an int; it is converted where templates are chosen by the type.
* Metal has no implicit conversion to bfloat, and none at all between half and bfloat: these go through float.
* A literal takes the type of the expression, not C++'s type of the literal.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import assert_never

from pymetal import dtypes, ir
from pymetal.codegen.constants import literal, literal_of, table_name
from pymetal.codegen.names import helper_name, identifier
from pymetal.dtypes import DType, Kind
from pymetal.ir import Bits, Call, Cast, Const, Element, Expr, Invoke, Name, Select, Type, TypeRule

PRIMARY = 16
PREFIX = 15
CONDITIONAL = 3
_COMPARISON = (9, 10)
_LOGICAL = (4, 5)
_BITWISE = (6, 7, 8)
_SHIFT = 11


@dataclass(frozen=True)
class Fragment:
    """The text of an expression."""

    text: str
    precedence: int = PRIMARY
    exact: bool = True
    typed: bool = True

    def within(self, precedence: int) -> str:
        """The text as an operand of something that binds as tightly as `precedence`."""
        return self.text if self.precedence >= precedence else f"({self.text})"


@dataclass(frozen=True)
class Printer:
    """Prints expressions for one overload."""

    domain: tuple[DType, ...]
    names: dict[str, str]
    owner: str = ""  # the function whose body this is; its tables carry the name
    free: bool = False  # it is a helper, so that functions its operators bring carry its name
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
            case ir.RealOf(of) if resolved == {dtypes.float32, dtypes.float16}:
                return f"conditional_t<is_same_v<{self.type(of)}, half2>, half, float>"
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
                return Fragment(text, CONDITIONAL, a.exact and b.exact, a.typed and b.typed)
            case Call():
                return self._call(expr)
            case Bits(type_, value):
                return Fragment(f"as_type<{self.type(type_)}>({self.argument(value).text})")
            case Element(table, index):
                return Fragment(f"{table_name(self.owner, table)}[{self.expr(index).text}]")
            case Invoke():
                return self._invoke(expr)
            case _:
                assert_never(expr)

    def value(self, expr: Expr) -> Fragment:
        """The text of `expr`, converted to its own type if C++ would have it wider."""
        fragment = self.expr(expr)
        return fragment if fragment.exact else Fragment(f"static_cast<{self.type(expr.type)}>({fragment.text})")

    def argument(self, expr: Expr) -> Fragment:
        """The text of `expr`, of its own type to the letter: templates are chosen by it."""
        fragment = self.expr(expr)
        if fragment.exact and fragment.typed:
            return fragment
        return Fragment(f"static_cast<{self.type(expr.type)}>({fragment.text})")

    def _call(self, call: Call) -> Fragment:
        op = call.op
        narrow = self._narrow(call.type)
        exact = not op.promotes_to_int or not narrow
        if isinstance(op.text, ir.Named | ir.Member | ir.Field | ir.Wrapped):
            args = [self.argument(a) for a in call.args]
        else:
            args = [self.expr(a) if op.modular else self.value(a) for a in call.args]
        match op.text:
            case ir.Infix(symbol, precedence):
                left, right = (self._operand(a, precedence) for a in args)
                # The operators are left-associative: an equal one on the right needs parentheses.
                text = f"{left.within(precedence)} {symbol} {right.within(precedence + 1)}"
                return Fragment(text, precedence, exact, op.rule is not TypeRule.PROMOTE or not narrow)
            case ir.Prefix(symbol):
                operand = args[0].within(PREFIX)
                gap = f"({operand})" if operand.startswith(symbol) else operand
                return Fragment(f"{symbol}{gap}", PREFIX, exact, op.rule is not TypeRule.PROMOTE or not narrow)
            case ir.Member(function) if self.free:
                return Fragment(
                    f"{identifier(self.owner)}_{function}({', '.join(a.text for a in args)})", PRIMARY, exact
                )
            case ir.Named(function) | ir.Member(function):
                return Fragment(f"{function}({', '.join(a.text for a in args)})", PRIMARY, exact)
            case ir.Field(name):
                return Fragment(f"{args[0].within(PRIMARY)}.{name}")
            case ir.Wrapped("{0}"):
                return args[0]
            case ir.Wrapped(pattern):
                # The operators of a pattern bind no tighter than comparisons do.
                texts = [a.within(_SHIFT) if " " in pattern.replace(", ", ",") else a.text for a in args]
                return Fragment(pattern.format(*texts, type=self.type(call.type)), PRIMARY, exact)
            case _:
                assert_never(op.text)

    def _invoke(self, call: Invoke) -> Fragment:
        args = [self.argument(a).text for a in call.args]
        callee = call.callee
        if callee.helper:
            return Fragment(f"{helper_name(callee.name)}({', '.join(args)})")
        count = len(callee.overloads[0].function.params)
        tensors, scalars = args[:count], args[count:]
        if len(scalars) > 1:
            bound = {ir.resolve(call.bound, d) for d in self.domain}
            spelled = self.type(call.bound) if len(bound) > 1 else params_argument(callee, next(iter(bound)))
            scalars = [f"{callee.name}_params<{spelled}>{{{', '.join(scalars)}}}"]
        return Fragment(f"{callee.name}_functor{{}}({', '.join([*tensors, *scalars])})")

    def _operand(self, operand: Fragment, precedence: int) -> Fragment:
        """Parenthesised where C++ would read it right but a person might not: `a < b == c`, `a && b || c`."""
        mixed = precedence in _COMPARISON and operand.precedence in _COMPARISON
        mixed |= precedence in _LOGICAL and operand.precedence in _LOGICAL and precedence != operand.precedence
        mixed |= precedence in _BITWISE and operand.precedence < PREFIX and operand.precedence != precedence
        mixed |= precedence == _SHIFT and operand.precedence < PREFIX
        return Fragment(f"({operand.text})", PRIMARY, operand.exact, operand.typed) if mixed else operand

    def _narrow(self, type_: Type) -> bool:
        resolved = (ir.resolve(type_, d) for d in self.domain)
        return any(d is not None and d.kind in dtypes.INTEGRAL and d.bits < 32 for d in resolved)

    def _cast(self, target: Type, value: Expr) -> Fragment:
        text = self.value(value).text
        targets = {ir.resolve(target, d) for d in self.domain}
        pairs = ((ir.resolve(value.type, d), ir.resolve(target, d)) for d in self.domain)
        if any(a != b and a and b and a.is_half and b.is_half for a, b in pairs):  # half and bfloat
            text = f"float({text})"
        if any(d is not None and d.kind is Kind.COMPLEX for d in targets):
            return self._to_complex(text, value.type, target)
        return Fragment(convert(text, self.type(target), template=target == ir.Var()))

    def _to_complex(self, text: str, source: Type, target: Type) -> Fragment:
        """A conversion to a complex type: of a complex number, or of a real one with no imaginary part."""
        spelled = self.type(target)
        kinds = {d.kind for d in (ir.resolve(source, e) for e in self.domain) if d is not None}
        if Kind.COMPLEX in kinds:
            return Fragment(convert(text, spelled, template=target == ir.Var()))
        return Fragment(f"float2({text}, 0.0f)" if spelled == "float2" else f"c10::metal::cast_to<{spelled}>({text})")

    def _const(self, value: bool | int | float | complex, type_: Type) -> Fragment:
        resolved = {ir.resolve(type_, d) for d in self.domain}
        only = next(iter(resolved)) if len(resolved) == 1 else None
        if type_ == ir.Var() and self.element == "T":
            only = None
        if any(d is not None and d.kind is Kind.COMPLEX for d in resolved):
            number = complex(value)
            return Fragment(f"{self.type(type_)}({literal(number.real)}, {literal(number.imag)})")
        if only is None:
            # Only a floating type takes a number of more than 64 bits, and a literal of it is a float.
            integral = all(d is not None and d.kind in dtypes.INTEGRAL for d in resolved)
            wide = isinstance(value, int) and not integral and not -(1 << 63) <= value < 1 << 63
            return Fragment(f"{self.type(type_)}({literal(float(value) if wide else value)})")  # type: ignore[arg-type]
        text = literal_of(value, only)
        return Fragment(text, PREFIX if text.startswith("-") else PRIMARY)


def params_type(overload: ir.Overload) -> Type:
    """What a functor's parameter struct is instantiated with: the type of its first symbolic scalar."""
    types = [p.type for p in overload.function.scalars]
    return next((t for t in types if not isinstance(t, ir.Concrete)), types[0])


def params_argument(callee: ir.CheckedFunction, element: DType | None) -> str:
    """The Metal name of `params_type` at `element`."""
    assert element is not None
    overload = callee.overload(element)
    assert overload is not None
    return ir.resolved(params_type(overload), element).metal


def convert(text: str, target: str, *, template: bool = False) -> str:
    """A conversion: `static_cast<T>(x)` for a template parameter, `float(x)` for a type of one word."""
    return f"static_cast<{target}>({text})" if template or " " in target or ":" in target else f"{target}({text})"
