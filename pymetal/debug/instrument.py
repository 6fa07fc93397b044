"""Instruments IR for a debug build: probes where a NaN can be born, an integer can overflow, a divisor can be zero.

A probe is a call around an expression, with the expression's operands once more, plain: they have no effect. Where its
condition holds it sets the byte of its site in a log, whose address travels along as one more scalar.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from typing_extensions import assert_never

from pymetal import dtypes, ir
from pymetal.dtypes import DType, Kind
from pymetal.errors import Span

_LOG = "pymetal_log"
_LOG_TYPE = ir.Concrete(dtypes.uint64)
_INTEGERS = frozenset({Kind.SIGNED, Kind.UNSIGNED})
_INEXACT = frozenset({Kind.FLOATING, Kind.COMPLEX})
# What a probe calls. The predicates pymetal_NAME_overflows stand for the `overflow` column of rows.
DEFINITIONS = """
template <typename T>
inline T pymetal_probe(ulong log, int site, T value, bool holds) {
  if (holds) ((device uchar*)log)[site] = 1;
  return value;
}
template <typename T>
inline bool pymetal_nan(T x) { return metal::isnan(float(x)); }
inline bool pymetal_nan(float2 x) { return metal::isnan(x.x) || metal::isnan(x.y); }
inline bool pymetal_nan(half2 x) { return pymetal_nan(float2(x)); }
template <typename T>
inline T pymetal_probe_nan(ulong log, int site, T value, bool before) {
  return pymetal_probe(log, site, value, !before && pymetal_nan(value));
}
template <typename T>
inline bool pymetal_add_overflows(T a, T b) { T r; return __builtin_add_overflow(a, b, &r); }
template <typename T>
inline bool pymetal_sub_overflows(T a, T b) { T r; return __builtin_sub_overflow(a, b, &r); }
template <typename T>
inline bool pymetal_mul_overflows(T a, T b) { T r; return __builtin_mul_overflow(a, b, &r); }
template <typename T>
inline bool pymetal_neg_overflows(T a) { return pymetal_sub_overflows(T(0), a); }
template <typename T>
inline bool pymetal_abs_overflows(T a) { return a < 0 && pymetal_neg_overflows(a); }
template <typename T>
inline bool pymetal_pow_overflows(T a, T b) {
  if (b < 0 || a == 0 || a == 1) return false;
  T r = 1;
  for (T i = 0; i < b; i++) {
    if (a == T(-1) && T(-1) < 0) return false;
    if (__builtin_mul_overflow(r, a, &r)) return true;
  }
  return false;
}
template <typename T>
inline bool pymetal_shift_overflows(T a, T by) { T r = T(a << int(by)); return T(r >> int(by)) != a; }
template <typename T>
inline bool pymetal_div_overflows(T a, T b) {
  return T(-1) < 0 && a != 0 && a == T(0 - a) && b == T(-1);
}
template <typename T, typename F>
inline bool pymetal_fits(F x) {
  float low = T(-1) < 0 ? -metal::ldexp(1.0f, 8 * int(sizeof(T)) - 1) : 0.0f;
  float high = metal::ldexp(1.0f, 8 * int(sizeof(T)) - (T(-1) < 0 ? 1 : 0));
  float whole = metal::trunc(float(x));
  return whole >= low && whole < high;
}
"""


@dataclass(frozen=True)
class Site:
    """Where a probe is: what happens there, in which operator, on which line."""

    event: str
    operator: str
    span: Span | None


def instrument(checked: ir.CheckedFunction, element: DType, compute: DType) -> tuple[ir.CheckedFunction, list[Site]]:
    """A functor for one dtype with probes, and their sites.

    Args:
        element: a registered dtype.
        compute: what the functor is called with for it.
    """
    instrumenter = _Instrumenter()
    return instrumenter.checked(checked, element, compute), instrumenter.sites


class _Instrumenter:
    """Puts probes into functions, and hands the log's address on."""

    def __init__(self) -> None:
        self.sites: list[Site] = []
        self.done: dict[tuple[ir.CheckedFunction, DType], ir.CheckedFunction] = {}
        self.place: Span | None = None
        self.element = dtypes.float32
        self.params: tuple[ir.Expr, ...] = ()  # those of the function that can be NaN

    def checked(self, checked: ir.CheckedFunction, element: DType, compute: DType) -> ir.CheckedFunction:
        """A function for one dtype, with probes."""
        key = (checked, element)
        if key not in self.done:
            overload = checked.overload(element)
            assert overload is not None
            outer = self.element, self.place, self.params
            self.element = compute
            function = overload.function
            self.params = tuple(ir.Name(p.name, p.type) for p in function.params if self.kind(p.type) in _INEXACT)
            log = ir.Param(_LOG, _LOG_TYPE)
            body = self.block(function.body)
            if checked.helper:
                new = dataclasses.replace(function, params=(*function.params, log), body=body)
            else:
                new = dataclasses.replace(function, scalars=(*function.scalars, log), body=body)
            self.element, self.place, self.params = outer
            name = checked.name if not checked.helper else f"{checked.name}_{element.metal}"
            overloads = (ir.Overload((element,), new),)
            self.done[key] = ir.CheckedFunction(name, checked.doc, overloads, checked.helper)
        return self.done[key]

    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return tuple(self.statement(s) for s in body)

    def statement(self, stmt: ir.Stmt) -> ir.Stmt:
        self.place = getattr(stmt, "span", None) or self.place
        if isinstance(stmt, ir.For):  # its bounds are computed once, outside the elements' own text
            return ir.rebuild(stmt, block=self.block)
        return ir.rebuild(stmt, self.expr, self.block)

    def expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Name() | ir.Element():
                return expr
            case ir.Const(value):
                return self.probe_nan(expr, self.params, "nan", expr.span) if value != value else expr
            case ir.Bits(type_):
                inner: ir.Expr = ir.rebuild(expr, self.expr)
                floating = self.kind(type_) is Kind.FLOATING
                return self.probe_nan(inner, self.params, "as_type", expr.span) if floating else inner
            case ir.Cast():
                return self.cast(expr)
            case ir.Select():
                return ir.rebuild(expr, self.expr)
            case ir.Invoke(callee, args, bound):
                element = ir.resolved(bound, self.element)
                new = tuple(self.expr(a) for a in args)
                log = ir.Name(_LOG, _LOG_TYPE)
                return dataclasses.replace(expr, callee=self.checked(callee, element, element), args=(*new, log))
            case ir.Call():
                return self.call(expr)
            case _:
                assert_never(expr)

    def cast(self, cast: ir.Cast) -> ir.Expr:
        """The conversion, probed where a float may be no integer of the type."""
        inner = ir.rebuild(cast, self.expr)
        constant = isinstance(cast.value, ir.Const)
        if self.kind(cast.type) not in _INTEGERS or self.kind(cast.value.type) is not Kind.FLOATING or constant:
            return inner
        site = Site("integer overflow", "conversion", cast.span)
        return self.probe(inner, (cast.value,), site, "!pymetal_fits<{type}>({1})")

    def call(self, call: ir.Call) -> ir.Expr:
        """The call with its operands probed, in probes of its own for what its row says can happen."""
        inner: ir.Expr = ir.rebuild(call, self.expr)
        op, result = call.op, self.kind(call.type)
        name = op.name.partition("-")[0]
        if result in _INEXACT:
            return self.probe_nan(inner, call.args, name, call.span)
        if result not in _INTEGERS or not {self.kind(a.type) for a in call.args} <= _INTEGERS:
            return inner
        if op.overflow:
            values = ", ".join(f"{{type}}({{{i + 1}}})" for i in range(op.arity))
            site = Site("integer overflow", name, call.span)
            inner = self.probe(inner, call.args, site, f"pymetal_{op.overflow}_overflows({values})")
        if op.divides:
            inner = self.probe(inner, call.args, Site("division by zero", name, call.span), "{2} == 0")
        return inner

    def probe_nan(
        self, inner: ir.Expr, operands: tuple[ir.Expr, ...], operator: str, span: Span | None
    ) -> ir.Expr:  # fmt: skip
        """`inner` in a probe for a NaN that none of its operands is."""
        inexact = (i for i, operand in enumerate(operands) if self.kind(operand.type) in _INEXACT)
        before = " || ".join(f"pymetal_nan({{{i + 1}}})" for i in inexact) or "false"
        return self.probe(inner, operands, Site("NaN is born", operator, span), before, "pymetal_probe_nan")

    def probe(
        self, inner: ir.Expr, operands: tuple[ir.Expr, ...], site: Site, condition: str, function: str = "pymetal_probe"
    ) -> ir.Expr:
        """`inner` in a probe of a new site.

        Args:
            condition: Metal text that tells when it happens; {1} and so on are the operands, {type} is their type.
        """
        number, last = len(self.sites), len(operands) + 1
        self.sites.append(dataclasses.replace(site, span=site.span or self.place))
        # The value stands there once: it holds the probes of its parts.
        pattern = f"{function}({{{last}}}, {number}, {{type}}({{0}}), {condition})"
        text = ir.Wrapped(pattern)
        op = ir.Op(f"probe-{number}", last + 1, ir.TypeRule.PROMOTE, frozenset(Kind), text, _no_reference)
        return ir.Call(op, (inner, *operands, ir.Name(_LOG, _LOG_TYPE)), inner.type, site.span)

    def kind(self, type_: ir.Type) -> Kind | None:
        """The kind of a type here."""
        found = ir.resolve(type_, self.element)
        return None if found is None else found.kind


def _no_reference(*operands: torch.Tensor) -> torch.Tensor:
    raise AssertionError("probes are for the host device")
