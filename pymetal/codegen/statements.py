"""Statements become lines of Metal."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import assert_never

from pymetal.codegen.expressions import Printer
from pymetal.dtypes import int32
from pymetal.errors import Span
from pymetal.ir import Assign, Break, Const, Continue, For, If, Let, Return, Stmt, While, resolved

INDENT = "  "


@dataclass(frozen=True)
class Line:
    """A line of Metal, and the place in the user's file that it comes from."""

    text: str
    span: Span | None = None

    def indented(self) -> Line:
        """The line one level deeper."""
        return Line(INDENT + self.text, self.span)


def block(body: tuple[Stmt, ...], printer: Printer) -> list[Line]:
    """The lines of a block, without indentation of its own."""
    return [line for stmt in body for line in _statement(stmt, printer)]


def _statement(stmt: Stmt, printer: Printer) -> list[Line]:
    match stmt:
        case Let(name, type_, None):
            # Set to nothing in particular: every path that reads it assigns it first.
            return [Line(f"{printer.type(type_)} {printer.names[name]};", stmt.span)]
        case Let(name, type_, value, mutable):
            assert value is not None
            declared = f"{'' if mutable else 'const '}{printer.type(type_)} {printer.names[name]}"
            return [Line(f"{declared} = {printer.expr(value).text};", stmt.span)]
        case Assign(name, value):
            return [Line(f"{printer.names[name]} = {printer.expr(value).text};", stmt.span)]
        case Return(value):
            return [Line(f"return {printer.expr(value).text};", stmt.span)]
        case If():
            return _if(stmt, printer)
        case While(condition, body):
            head = Line(f"while ({printer.expr(condition).text}) {{", stmt.span)
            return [head, *_indented(body, printer), Line("}")]
        case For():
            return [Line(f"for ({_head(stmt, printer)}) {{", stmt.span), *_indented(stmt.body, printer), Line("}")]
        case Break():
            return [Line("break;")]
        case Continue():
            return [Line("continue;")]
        case _:
            assert_never(stmt)


def _indented(body: tuple[Stmt, ...], printer: Printer) -> list[Line]:
    return [line.indented() for line in block(body, printer)]


def _if(stmt: If, printer: Printer) -> list[Line]:
    head = Line(f"if ({printer.expr(stmt.condition).text}) {{", stmt.span)
    lines = [head, *_indented(stmt.then, printer)]
    match stmt.otherwise:
        case ():
            return [*lines, Line("}")]
        case (If() as nested,):
            first, *rest = _if(nested, printer)
            return [*lines, Line(f"}} else {first.text}", first.span), *rest]
        case otherwise:
            return [*lines, Line("} else {"), *_indented(otherwise, printer), Line("}")]


def _head(loop: For, printer: Printer) -> str:
    """`int i = start; i < stop; i++`, with the comparison that the sign of the step asks for.

    A longer step that may pass the end of the type is not added there: the counter becomes `stop`.
    """
    name, type_ = printer.names[loop.name], printer.type(loop.type)
    start, stop, step = (printer.expr(e).within(12) for e in (loop.start, loop.stop, loop.step))
    unsigned = type_ if type_.startswith("u") else f"u{type_}"
    up = f"{unsigned}({stop}) - {unsigned}({name}) > "
    down = f"{unsigned}({name}) - {unsigned}({stop}) > "
    known = loop.step.value if isinstance(loop.step, Const) else None
    if not isinstance(known, int):
        test = f"{step} > 0 ? {name} < {stop} : {step} < 0 && {name} > {stop}"
        near = f"{step} > 0 ? {up}{unsigned}({step}) : {down}-{unsigned}({step})"
        advance = f"{name} = ({near}) ? {name} + {step} : {stop}"
    elif abs(known) == 1:
        test, advance = (f"{name} < {stop}", f"{name}++") if known > 0 else (f"{name} > {stop}", f"{name}--")
    else:
        test = f"{name} {'<' if known > 0 else '>'} {stop}"
        by = f"{'+' if known > 0 else '-'}= {abs(known)}"
        if not _is_inside(loop, known):
            by = f"= {up if known > 0 else down}{abs(known)} ? {name} {by[0]} {abs(known)} : {stop}"
        advance = f"{name} {by}"
    return f"{type_} {name} = {start}; {test}; {advance}"


def _is_inside(loop: For, step: int) -> bool:
    """True if the counter stays in its type when it passes a constant `stop`."""
    if not isinstance(loop.stop, Const) or isinstance(loop.stop.value, complex):
        return False
    low, high = resolved(loop.type, int32).limits
    return low <= loop.stop.value + step - (1 if step > 0 else -1) <= high
