"""Statements become lines of Metal."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import assert_never

from pymetal.codegen.expressions import Printer
from pymetal.errors import Span
from pymetal.ir import Assign, Break, Const, Continue, For, If, Let, Return, Stmt, While

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
    """`int i = start; i < stop; i++`, with the comparison that the sign of the step asks for."""
    name = printer.names[loop.name]
    start, stop, step = (printer.expr(e) for e in (loop.start, loop.stop, loop.step))
    known = loop.step.value if isinstance(loop.step, Const) else None
    if not isinstance(known, int):
        tests = f"{step.text} > 0 ? {name} < {stop.within(11)} : {step.text} < 0 && {name} > {stop.within(11)}"
        return f"{printer.type(loop.type)} {name} = {start.text}; {tests}; {name} += {step.text}"
    test = f"{name} {'<' if known > 0 else '>'} {stop.within(11)}"
    if abs(known) == 1:
        advance = f"{name}++" if known > 0 else f"{name}--"
    else:
        advance = f"{name} += {step.text}" if known > 0 else f"{name} -= {-known}"
    return f"{printer.type(loop.type)} {name} = {start.text}; {test}; {advance}"
