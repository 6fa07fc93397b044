"""A debug build of a functor: its text with notes in it, run on the host device, and what they say.

Each operator of the IR is wrapped in a note of where a NaN is born (a NaN of operands that are none), where a sum, a
difference or a product of integers does not fit, where an integer is divided by zero. The build has a bit for each note
and element, so that threads do not meet.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from typing_extensions import assert_never

from pymetal import dtypes, ir
from pymetal.codegen.launch import KERNEL, Form, LaunchKey, Role, launch_kernel
from pymetal.codegen.library import headers
from pymetal.codegen.metal import functor_text
from pymetal.dtypes import DType, Kind
from pymetal.errors import CallError, Span
from pymetal.functor import Functor
from pymetal.runtime.call import _bound
from pymetal.runtime.host import compile_shader

_LOG = "pymetal_log"
_LOG_TYPE = ir.Concrete(dtypes.uint64)
_OVERFLOWS = {"add": "add", "sub": "sub", "mul": "mul", "metal.c10.mul": "mul"}
_DIVIDES = frozenset({
    "floordiv_int", "mod_int", "metal.c10.div", "metal.c10.fmod", "metal.c10.remainder", "metal.c10.safe_mod",
    "metal.c10.floor_divide", "floor_divide-integer", "remainder-integer", "fmod-integer",
})  # fmt: skip
_INTEGERS = frozenset({Kind.SIGNED, Kind.UNSIGNED})
_NOTES = """
inline void pymetal_note(ulong log, int site) {
  ((device uchar*)log)[site] = 1;
}
template <typename T>
inline T pymetal_nan(ulong log, int site, T value, bool before) {
  if (!before && metal::isnan(float(value))) pymetal_note(log, site);
  return value;
}
template <typename T>
inline T pymetal_add(ulong log, int site, T value, T a, T b) {
  T r;
  if (__builtin_add_overflow(a, b, &r)) pymetal_note(log, site);
  return value;
}
template <typename T>
inline T pymetal_sub(ulong log, int site, T value, T a, T b) {
  T r;
  if (__builtin_sub_overflow(a, b, &r)) pymetal_note(log, site);
  return value;
}
template <typename T>
inline T pymetal_mul(ulong log, int site, T value, T a, T b) {
  T r;
  if (__builtin_mul_overflow(a, b, &r)) pymetal_note(log, site);
  return value;
}
template <typename T, typename D>
inline T pymetal_zero(ulong log, int site, T value, D divisor) {
  if (divisor == 0) pymetal_note(log, site);
  return value;
}
"""


@dataclass(frozen=True)
class Event:
    """Something that happened: what, where in Python, at which elements."""

    what: str  # "NaN is born", "integer overflow", "division by zero"
    operator: str
    span: Span | None
    count: int
    index: tuple[int, ...]  # of the first element
    operands: tuple[Any, ...]

    def __str__(self) -> str:
        where = f"{self.span}: " if self.span else ""
        at = f"element {self.index}, operands ({', '.join(map(str, self.operands))})"
        line = f"\n{self.span.caret()}" if self.span else ""
        return f"{where}{self.what} in `{self.operator}` at {self.count} element(s), first at {at}{line}"


@dataclass(frozen=True)
class _Site:
    what: str
    operator: str
    span: Span | None


def trace(functor: Functor, *tensors: torch.Tensor, **scalars: Any) -> list[Event]:
    """Runs the debug build on CPU tensors; returns what happened, in the order of the text.

    Args:
        tensors: of one dtype that the functor is registered for; they broadcast.
        scalars: the scalar parameters.

    Raises:
        CallError: the tensors are of several dtypes, or not on the CPU.
    """
    element = _element(functor, tensors)
    operands = torch.broadcast_tensors(*tensors)  # type: ignore[no-untyped-call]
    values = functor._caller.numbers(scalars)
    sites: list[_Site] = []
    noted = _Rewriting(sites).checked(functor.ir, element)
    if not sites or not operands[0].numel():
        return []
    source, kinds = _source(functor, noted, element, len(sites))
    kernel = getattr(compile_shader(source), KERNEL)
    overload = noted.overload(element)
    assert overload is not None
    out = torch.empty(operands[0].shape, dtype=functor._caller.result(element).torch)
    log = torch.zeros(operands[0].numel(), len(sites), dtype=torch.uint8)
    bound = [_bound(v, d) for v, d in zip([*values.values(), log.data_ptr()], kinds, strict=True)]
    kernel(out, *(o.contiguous() for o in operands), *bound, threads=out.numel())
    return list(_events(sites, log, operands))


def _element(functor: Functor, tensors: tuple[torch.Tensor, ...]) -> DType:
    functor._caller.operands(tensors)
    found = {t.dtype for t in tensors}
    element = dtypes.from_torch(tensors[0].dtype)
    if len(found) > 1 or element is None or element not in functor.ir.domain or not tensors[0].is_cpu:
        raise CallError(
            f"{functor.name}: the debug build takes CPU tensors of one registered dtype",
            hint="Convert them with .to() first.",
        )
    return element


def _source(functor: Functor, noted: ir.Checked, element: DType, sites: int) -> tuple[str, list[DType]]:
    caller = functor._caller
    compute = caller.compute(element)
    overload = noted.overload(element)
    assert overload is not None
    text = functor_text(noted)
    scalars = []
    for param in overload.function.scalars:
        resolved = ir.resolve(param.type, compute)
        assert resolved is not None
        scalars.append(resolved)
    returned = ir.resolve(overload.function.result, compute)
    result = dtypes.from_torch(caller.result(element).torch)
    assert returned is not None
    assert result is not None
    count = functor.arity.inputs
    params = text.scalar_types.get(element) if len(scalars) > 1 else None
    form = Form(0, (Role.ELEMENT,) * count)
    key = LaunchKey(form, (element,) * count, compute, returned, result, tuple(scalars), params)
    address = f"s{len(scalars) - 1}"
    # Each element has notes of its own.
    kernel = launch_kernel(functor.name, key).replace(f"ulong({address})", f"(ulong({address}) + ulong(i) * {sites})")
    includes = "".join(f"#include <{h}>\n" for h in sorted(headers(noted)))
    whole = f"{includes}#include <metal_stdlib>\n\nusing namespace metal;\n{_NOTES}\n{text.source}\n{kernel}"
    return whole, scalars


def _events(sites: list[_Site], log: torch.Tensor, operands: tuple[torch.Tensor, ...]) -> Iterator[Event]:
    for number, site in enumerate(sites):
        hit = log[:, number].nonzero().flatten()
        if len(hit):
            index = tuple(int(i) for i in torch.unravel_index(hit[0], operands[0].shape))
            at = tuple(o[index].item() for o in operands)
            yield Event(site.what, site.operator, site.span, len(hit), index, at)


class _Rewriting:
    """Puts notes into functions, and hands their address on."""

    def __init__(self, sites: list[_Site]) -> None:
        self.sites = sites
        self.done: dict[tuple[ir.Checked, DType], ir.Checked] = {}
        self.place: Span | None = None
        self.element = dtypes.float32

    def checked(self, checked: ir.Checked, element: DType) -> ir.Checked:
        """A function for one dtype, with notes."""
        key = (checked, element)
        if key not in self.done:
            overload = checked.overload(element)
            assert overload is not None
            outer = self.element, self.place
            self.element = element
            function = overload.function
            log = ir.Param(_LOG, _LOG_TYPE)
            body = self.block(function.body)
            if checked.helper:
                new = dataclasses.replace(function, params=(*function.params, log), body=body)
            else:
                new = dataclasses.replace(function, scalars=(*function.scalars, log), body=body)
            self.element, self.place = outer
            name = checked.name if not checked.helper else f"{checked.name}_{element.metal}"
            overloads = (ir.Overload((element,), new),)
            self.done[key] = ir.Checked(name, checked.doc, overloads, checked.helper)
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
            case ir.Name() | ir.Const():
                return expr
            case ir.Cast() | ir.Bits():
                return dataclasses.replace(expr, value=self.expr(expr.value))
            case ir.Select(condition, then, otherwise):
                return ir.Select(self.expr(condition), self.expr(then), self.expr(otherwise), expr.type)
            case ir.Element():
                return expr
            case ir.Invoke(callee, args, bound):
                element = ir.resolve(bound, self.element)
                assert element is not None
                new = tuple(self.expr(a) for a in args)
                log = ir.Name(_LOG, _LOG_TYPE)
                return dataclasses.replace(expr, callee=self.checked(callee, element), args=(*new, log))
            case ir.Call():
                return self.note(expr)
            case _:
                assert_never(expr)

    def note(self, call: ir.Call) -> ir.Expr:
        """The call with its parts noted, in a note of its own if there is something to note."""
        inner = dataclasses.replace(call, args=tuple(self.expr(a) for a in call.args))
        result = ir.resolve(call.type, self.element)
        kinds = [d.kind for a in call.args if (d := ir.resolve(a.type, self.element)) is not None]
        name = call.op.name
        if result is None:
            return inner
        if result.kind is Kind.FLOATING and all(k is not Kind.COMPLEX for k in kinds):
            before = [f"metal::isnan(float({{{i + 1}}}))" for i, k in enumerate(kinds) if k is Kind.FLOATING]
            return self._noted(inner, call, "NaN is born", "nan", ", " + (" || ".join(before) or "false"))
        if result.kind in _INTEGERS and name in _OVERFLOWS and set(kinds) <= _INTEGERS:
            return self._noted(inner, call, "integer overflow", _OVERFLOWS[name], ", {type}({1}), {type}({2})")
        if result.kind in _INTEGERS and name in _DIVIDES:
            return self._noted(inner, call, "division by zero", "zero", ", {2}")
        return inner

    def _noted(self, inner: ir.Call, call: ir.Call, what: str, function: str, rest: str) -> ir.Expr:
        site = len(self.sites)
        self.sites.append(_Site(what, call.op.name, call.span or self.place))
        # The operands once more, without their notes: they have no effect.
        last = len(call.args) + 1
        pattern = f"pymetal_{function}({{{last}}}, {site}, {{type}}({{0}}){rest})"
        op = ir.Op(f"note-{site}", last + 1, call.op.rule, call.op.kinds, ir.Wrapped(pattern), _no_meaning)
        return ir.Call(op, (inner, *call.args, ir.Name(_LOG, _LOG_TYPE)), call.type, call.span)


def _no_meaning(*operands: torch.Tensor) -> torch.Tensor:
    raise AssertionError("notes are for the host device")
