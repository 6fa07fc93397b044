"""The IR as text for people: one line for each statement, every conversion written out."""

from __future__ import annotations

from typing_extensions import assert_never

from pymetal.ir import nodes


def show(checked: nodes.CheckedFunction) -> str:
    """All overloads, each under the dtypes that it serves."""
    lines = []
    for overload in checked.overloads:
        function = overload.function
        served = ", ".join(d.name.rstrip("_") for d in overload.domain)
        params = ", ".join(f"{p.name}: {p.type}" for p in (*function.params, *function.scalars))
        lines.append(f"{checked.name}({params}) -> {function.result}   # {served}")
        lines += _block(function.body, 1)
    return "".join(f"{line}\n" for line in lines)


def _block(body: tuple[nodes.Stmt, ...], depth: int) -> list[str]:
    return [line for stmt in body for line in _statement(stmt, depth)]


def _statement(stmt: nodes.Stmt, depth: int) -> list[str]:
    pad = "  " * depth
    match stmt:
        case nodes.Let(name, type_, value):
            return [f"{pad}let {name}: {type_}" + ("" if value is None else f" = {expression(value)}")]
        case nodes.Assign(name, value):
            return [f"{pad}{name} = {expression(value)}"]
        case nodes.Return(value):
            return [f"{pad}return {expression(value)}"]
        case nodes.If(condition, then, otherwise):
            lines = [f"{pad}if {expression(condition)}", *_block(then, depth + 1)]
            return [*lines, f"{pad}else", *_block(otherwise, depth + 1)] if otherwise else lines
        case nodes.While(condition, body):
            return [f"{pad}while {expression(condition)}", *_block(body, depth + 1)]
        case nodes.For(name, type_, start, stop, step, body):
            bounds = ", ".join(expression(e) for e in (start, stop, step))
            return [f"{pad}for {name}: {type_} in range({bounds})", *_block(body, depth + 1)]
        case nodes.Break():
            return [f"{pad}break"]
        case nodes.Continue():
            return [f"{pad}continue"]
        case _:
            assert_never(stmt)


def expression(expr: nodes.Expr) -> str:
    """An expression in prefix form: `add[T](x, cast[T](1))`."""
    match expr:
        case nodes.Name(name):
            return name
        case nodes.Const(value):
            return repr(value)
        case nodes.Call(op, args, type_):
            return f"{op.name}[{type_}]({', '.join(map(expression, args))})"
        case nodes.Cast(type_, value):
            return f"cast[{type_}]({expression(value)})"
        case nodes.Select(condition, then, otherwise):
            return f"({expression(then)} if {expression(condition)} else {expression(otherwise)})"
        case nodes.Bits(type_, value):
            return f"bits[{type_}]({expression(value)})"
        case nodes.Element(table, index):
            return f"{table.name}[{expression(index)}]"
        case nodes.Invoke(callee, args, bound):
            return f"{callee.name}[{bound}]({', '.join(map(expression, args))})"
        case _:
            assert_never(expr)
