"""IR becomes IR with notes in it, for a debug build: where a NaN is born, an integer overflows, a divisor is zero.

A note is a call around an expression, with the expression's operands once more, plain: they have no effect. Where it
holds it sets a byte of a log, whose address travels along as one more scalar.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from typing_extensions import assert_never

from pymetal import dtypes, ir
from pymetal.dtypes import DType, Kind
from pymetal.errors import Span

_LOG = "pymetal_log"
_LOG_TYPE = ir.Concrete(dtypes.uint64)
# What tells whether an integer result fits; {type} is its type, {1} and {2} are the operands.
_OVERFLOWS = {
    "add": "pymetal_adds({type}({1}), {type}({2}))",
    "sub": "pymetal_subtracts({type}({1}), {type}({2}))",
    "mul": "pymetal_multiplies({type}({1}), {type}({2}))",
    "metal.c10.mul": "pymetal_multiplies({type}({1}), {type}({2}))",
    "neg": "pymetal_subtracts({type}(0), {type}({1}))",
    "abs_int": "{type}({1}) < 0 && pymetal_subtracts({type}(0), {type}({1}))",
    "pow_int": "pymetal_powers({type}({1}), {type}({2}))",
    "shift_left_constant": "pymetal_shifts({type}({1}), int({2}))",
}
_QUOTIENTS = frozenset({"floordiv_int", "metal.c10.div", "metal.c10.floor_divide", "floor_divide-integer"})
_DIVIDES = _QUOTIENTS | {
    "mod_int", "metal.c10.fmod", "metal.c10.remainder", "metal.c10.safe_mod", "remainder-integer", "fmod-integer",
}  # fmt: skip
_INTEGERS = frozenset({Kind.SIGNED, Kind.UNSIGNED})
_INEXACT = frozenset({Kind.FLOATING, Kind.COMPLEX})
DEFINITIONS = """
template <typename T>
inline T pymetal_note(ulong log, int site, T value, bool holds) {
  if (holds) ((device uchar*)log)[site] = 1;
  return value;
}
template <typename T>
inline bool pymetal_nan(T x) { return metal::isnan(float(x)); }
inline bool pymetal_nan(float2 x) { return metal::isnan(x.x) || metal::isnan(x.y); }
inline bool pymetal_nan(half2 x) { return pymetal_nan(float2(x)); }
template <typename T>
inline T pymetal_born(ulong log, int site, T value, bool before) {
  return pymetal_note(log, site, value, !before && pymetal_nan(value));
}
template <typename T>
inline bool pymetal_adds(T a, T b) { T r; return __builtin_add_overflow(a, b, &r); }
template <typename T>
inline bool pymetal_subtracts(T a, T b) { T r; return __builtin_sub_overflow(a, b, &r); }
template <typename T>
inline bool pymetal_multiplies(T a, T b) { T r; return __builtin_mul_overflow(a, b, &r); }
template <typename T>
inline bool pymetal_powers(T a, T b) {
  if (b < 0 || a == 0 || a == 1) return false;
  T r = 1;
  for (T i = 0; i < b; i++) {
    if (a == T(-1) && T(-1) < 0) return false;
    if (__builtin_mul_overflow(r, a, &r)) return true;
  }
  return false;
}
template <typename T>
inline bool pymetal_shifts(T a, int by) { T r = T(a << by); return T(r >> by) != a; }
template <typename T>
inline bool pymetal_lowest(T a) { return T(-1) < 0 && a != 0 && a == T(0 - a); }
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
    what: str
    operator: str
    span: Span | None


@dataclass(frozen=True)
class _Note:
    what: str
    operator: str
    condition: str  # Metal text, {1} and so on are the operands: when it happens; of NaN, when it was there before
    span: Span | None


def annotate(checked: ir.CheckedFunction, element: DType, compute: DType) -> tuple[ir.CheckedFunction, list[Site]]:
    """A functor for one dtype with notes, and what each note is of.

    Args:
        element: a registered dtype.
        compute: what the functor is called with for it.
    """
    notes = _Notes()
    return notes.checked(checked, element, compute), notes.sites


class _Notes:
    """Puts notes into functions, and hands the log's address on."""

    def __init__(self) -> None:
        self.sites: list[Site] = []
        self.done: dict[tuple[ir.CheckedFunction, DType], ir.CheckedFunction] = {}
        self.place: Span | None = None
        self.element = dtypes.float32
        self.params: tuple[ir.Expr, ...] = ()  # those of the function that can be NaN

    def checked(self, checked: ir.CheckedFunction, element: DType, compute: DType) -> ir.CheckedFunction:
        """A function for one dtype, with notes."""
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
        match stmt:
            case ir.Let(value=None) | ir.Break() | ir.Continue():
                return stmt
            case ir.Let() | ir.Assign() | ir.Return():
                assert stmt.value is not None
                return dataclasses.replace(stmt, value=self.expr(stmt.value))
            case ir.If(condition, then, otherwise):
                new = self.expr(condition)
                return dataclasses.replace(stmt, condition=new, then=self.block(then), otherwise=self.block(otherwise))
            case ir.While(condition, body):
                return dataclasses.replace(stmt, condition=self.expr(condition), body=self.block(body))
            case ir.For():
                return dataclasses.replace(stmt, body=self.block(stmt.body))
            case _:
                assert_never(stmt)

    def expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Name():
                return expr
            case ir.Const(value):
                return self.born(expr, expr, "nan", expr.span) if value != value else expr
            case ir.Bits(type_):
                inner: ir.Expr = dataclasses.replace(expr, value=self.expr(expr.value))
                return self.born(inner, expr, "as_type", expr.span) if self.kind(type_) is Kind.FLOATING else inner
            case ir.Cast():
                return self.cast(expr)
            case ir.Select(condition, then, otherwise):
                return ir.Select(self.expr(condition), self.expr(then), self.expr(otherwise), expr.type)
            case ir.Element():
                return expr
            case ir.Invoke(callee, args, bound):
                element = ir.resolved(bound, self.element)
                new = tuple(self.expr(a) for a in args)
                log = ir.Name(_LOG, _LOG_TYPE)
                return dataclasses.replace(expr, callee=self.checked(callee, element, element), args=(*new, log))
            case ir.Call():
                return self.note(expr)
            case _:
                assert_never(expr)

    def cast(self, cast: ir.Cast) -> ir.Expr:
        """The conversion, noted where a float may be no integer of the type."""
        inner = dataclasses.replace(cast, value=self.expr(cast.value))
        constant = isinstance(cast.value, ir.Const)
        if self.kind(cast.type) not in _INTEGERS or self.kind(cast.value.type) is not Kind.FLOATING or constant:
            return inner
        holds = "!pymetal_fits<{type}>({1})"
        return self.noted(inner, (cast.value,), _Note("integer overflow", "conversion", holds, cast.span))

    def born(self, inner: ir.Expr, expr: ir.Expr, what: str, span: Span | None) -> ir.Expr:
        """A value that is NaN by itself: born where no operand of the function is NaN."""
        return self.noted(inner, self.params, _Note("NaN is born", what, _any_nan(range(len(self.params))), span))

    def note(self, call: ir.Call) -> ir.Expr:
        """The call with its operands noted, in a note of its own if there is something to note."""
        inner = dataclasses.replace(call, args=tuple(self.expr(a) for a in call.args))
        result, name = self.kind(call.type), call.op.name
        kinds = [self.kind(a.type) for a in call.args]
        if result in _INEXACT:
            before = _any_nan(i for i, kind in enumerate(kinds) if kind in _INEXACT)
            return self.noted(inner, call.args, _Note("NaN is born", name, before, call.span))
        if result not in _INTEGERS or not set(kinds) <= _INTEGERS:
            return inner
        wrapped: ir.Expr = inner
        if name in _OVERFLOWS:
            note = _Note("integer overflow", name, _OVERFLOWS[name], call.span)
            wrapped = self.noted(wrapped, call.args, note)
        if name in _QUOTIENTS and result is Kind.SIGNED:
            holds = "pymetal_lowest({type}({1})) && {type}({2}) == {type}(-1)"
            wrapped = self.noted(wrapped, call.args, _Note("integer overflow", name, holds, call.span))
        if name in _DIVIDES:
            wrapped = self.noted(wrapped, call.args, _Note("division by zero", name, "{2} == 0", call.span))
        return wrapped

    def noted(self, inner: ir.Expr, operands: tuple[ir.Expr, ...], note: _Note) -> ir.Expr:
        """`inner` with a note around it."""
        site, last = len(self.sites), len(operands) + 1
        self.sites.append(Site(note.what, note.operator, note.span or self.place))
        # The value stands there once: it holds the notes of its parts.
        function = "pymetal_born" if note.what == "NaN is born" else "pymetal_note"
        pattern = f"{function}({{{last}}}, {site}, {{type}}({{0}}), {note.condition})"
        kinds = frozenset(Kind)
        op = ir.Op(f"note-{site}", last + 1, ir.Rule.SAME, kinds, ir.Wrapped(pattern), _no_meaning)
        return ir.Call(op, (inner, *operands, ir.Name(_LOG, _LOG_TYPE)), inner.type, note.span)

    def kind(self, type_: ir.Type) -> Kind | None:
        """The kind of a type here."""
        found = ir.resolve(type_, self.element)
        return None if found is None else found.kind


def _any_nan(operands: Iterable[int]) -> str:
    return " || ".join(f"pymetal_nan({{{i + 1}}})" for i in operands) or "false"


def _no_meaning(*operands: torch.Tensor) -> torch.Tensor:
    raise AssertionError("notes are for the host device")
