"""Walking the nodes: their parts, all of them in order, what a function calls and uses."""

from __future__ import annotations

from collections.abc import Iterator

from typing_extensions import assert_never

from pymetal.ir.nodes import (
    Assign,
    Bits,
    Break,
    Call,
    Cast,
    CheckedFunction,
    Const,
    Continue,
    Element,
    Expr,
    For,
    If,
    Invoke,
    Let,
    Name,
    Return,
    Select,
    Stmt,
    While,
)
from pymetal.ir.op import Op


def operands(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions of `expr`, in order."""
    match expr:
        case Name() | Const():
            return ()
        case Call(args=args) | Invoke(args=args):
            return args
        case Cast(value=value) | Bits(value=value):
            return (value,)
        case Element(index=index):
            return (index,)
        case Select(condition, then, otherwise):
            return (condition, then, otherwise)
        case _:
            assert_never(expr)


def blocks(stmt: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The blocks inside a statement."""
    match stmt:
        case If(_, then, otherwise):
            return (then, otherwise)
        case While(body=body) | For(body=body):
            return (body,)
        case Let() | Assign() | Return() | Break() | Continue():
            return ()
        case _:
            assert_never(stmt)


def own_expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions of a statement itself, not those of its blocks."""
    match stmt:
        case Let(value=None) | Break() | Continue():
            return ()
        case Let(value=value) | Assign(value=value) | Return(value=value):
            return (value,) if value is not None else ()
        case If(condition=condition) | While(condition=condition):
            return (condition,)
        case For(start=start, stop=stop, step=step):
            return (start, stop, step)
        case _:
            assert_never(stmt)


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement of a body and of the blocks inside it, in the order of the text."""
    for stmt in body:
        yield stmt
        for block in blocks(stmt):
            yield from statements(block)


def expressions(body: tuple[Stmt, ...]) -> Iterator[Expr]:
    """Every expression of a body and its subexpressions, in the order of the text, outer before inner."""
    for stmt in statements(body):
        for expr in own_expressions(stmt):
            yield from subexpressions(expr)


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """An expression and all of its parts, in the order of the text, outer before inner."""
    stack = [expr]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(operands(current)))


def depth(expr: Expr) -> int:
    """How many expressions stand inside one another at most."""
    deepest, stack = 0, [(expr, 1)]
    while stack:
        current, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((part, level + 1) for part in operands(current))
    return deepest


def callees(checked: CheckedFunction) -> tuple[CheckedFunction, ...]:
    """The functions that `checked` calls, and those that they call, each before its callers."""
    found: dict[CheckedFunction, None] = {}

    def visit(current: CheckedFunction) -> None:
        for overload in current.overloads:
            for expr in expressions(overload.function.body):
                if isinstance(expr, Invoke) and expr.callee not in found:
                    visit(expr.callee)
                    found.setdefault(expr.callee)

    visit(checked)
    return tuple(found)


def uses(checked: CheckedFunction) -> frozenset[Op]:
    """The rows of the operator table that `checked` and its callees use."""
    everything = (checked, *callees(checked))
    bodies = [overload.function.body for c in everything for overload in c.overloads]
    return frozenset(e.op for body in bodies for e in expressions(body) if isinstance(e, Call))
