"""Statements become lines of Metal."""

from __future__ import annotations

from typing_extensions import assert_never

from pymetal.codegen.text import Printer
from pymetal.ir import Assign, Break, Const, Continue, Expr, For, If, Let, Return, Stmt, While

INDENT = "  "


def block(body: tuple[Stmt, ...], printer: Printer) -> list[str]:
    """The lines of a block, without indentation of its own."""
    lines: list[str] = []
    for stmt in body:
        lines += _statement(stmt, printer)
    return lines


def _statement(stmt: Stmt, printer: Printer) -> list[str]:
    match stmt:
        case Let(name, type_, None):
            # Set to nothing in particular: every path that reads it assigns it first.
            return [f"{printer.type(type_)} {printer.names[name]};"]
        case Let(name, type_, value, mutable):
            assert value is not None
            declared = f"{'' if mutable else 'const '}{printer.type(type_)} {printer.names[name]}"
            return [f"{declared} = {printer.expr(value).text};"]
        case Assign(name, value):
            return [f"{printer.names[name]} = {printer.expr(value).text};"]
        case Return(value):
            return [f"return {printer.expr(value).text};"]
        case If():
            return _if(stmt, printer)
        case While(condition, body):
            return [f"while ({printer.expr(condition).text}) {{", *_indented(body, printer), "}"]
        case For():
            return [f"for ({_head(stmt, printer)}) {{", *_indented(stmt.body, printer), "}"]
        case Break():
            return ["break;"]
        case Continue():
            return ["continue;"]
        case _:
            assert_never(stmt)


def _indented(body: tuple[Stmt, ...], printer: Printer) -> list[str]:
    return [INDENT + line for line in block(body, printer)]


def _if(stmt: If, printer: Printer) -> list[str]:
    lines = [f"if ({printer.expr(stmt.condition).text}) {{", *_indented(stmt.then, printer)]
    match stmt.otherwise:
        case ():
            return [*lines, "}"]
        case (If() as nested,):
            first, *rest = _if(nested, printer)
            return [*lines, f"}} else {first}", *rest]
        case otherwise:
            return [*lines, "} else {", *_indented(otherwise, printer), "}"]


def _head(loop: For, printer: Printer) -> str:
    """`int i = start; i < stop; i++`, with the comparison that the sign of the step asks for."""
    name = printer.names[loop.name]
    start, stop, step = (printer.expr(e) for e in (loop.start, loop.stop, loop.step))
    known = _integer(loop.step)
    if known is None:
        tests = f"{step.text} > 0 ? {name} < {stop.within(11)} : {step.text} < 0 && {name} > {stop.within(11)}"
        return f"{printer.type(loop.type)} {name} = {start.text}; {tests}; {name} += {step.text}"
    test = f"{name} {'<' if known > 0 else '>'} {stop.within(11)}"
    match known:
        case 1:
            advance = f"{name}++"
        case -1:
            advance = f"{name}--"
        case _:
            advance = f"{name} += {step.text}" if known > 0 else f"{name} -= {-known}"
    return f"{printer.type(loop.type)} {name} = {start.text}; {test}; {advance}"


def _integer(expr: Expr) -> int | None:
    return expr.value if isinstance(expr, Const) and isinstance(expr.value, int) else None
