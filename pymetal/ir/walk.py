"""Walking the nodes: their parts, all of them in order, what a function calls and uses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from typing_extensions import assert_never

from pymetal.ir import nodes
from pymetal.ir.op import Op

Node = TypeVar("Node", bound=nodes.Expr | nodes.Stmt)


def operands(expr: nodes.Expr) -> tuple[nodes.Expr, ...]:
    """The direct subexpressions of `expr`, in order."""
    match expr:
        case nodes.Name() | nodes.Const():
            return ()
        case nodes.Call(args=args) | nodes.Invoke(args=args):
            return args
        case nodes.Cast(value=value) | nodes.Bits(value=value):
            return (value,)
        case nodes.Element(index=index):
            return (index,)
        case nodes.Select(condition, then, otherwise):
            return (condition, then, otherwise)
        case _:
            assert_never(expr)


def blocks(stmt: nodes.Stmt) -> tuple[tuple[nodes.Stmt, ...], ...]:
    """The blocks inside a statement."""
    match stmt:
        case nodes.If(_, then, otherwise):
            return (then, otherwise)
        case nodes.While(body=body) | nodes.For(body=body):
            return (body,)
        case nodes.Let() | nodes.Assign() | nodes.Return() | nodes.Break() | nodes.Continue():
            return ()
        case _:
            assert_never(stmt)


def own_expressions(stmt: nodes.Stmt) -> tuple[nodes.Expr, ...]:
    """The expressions of a statement itself, not those of its blocks."""
    match stmt:
        case nodes.Let(value=None) | nodes.Break() | nodes.Continue():
            return ()
        case nodes.Let(value=value) | nodes.Assign(value=value) | nodes.Return(value=value):
            return (value,) if value is not None else ()
        case nodes.If(condition=condition) | nodes.While(condition=condition):
            return (condition,)
        case nodes.For(start=start, stop=stop, step=step):
            return (start, stop, step)
        case _:
            assert_never(stmt)


def statements(body: tuple[nodes.Stmt, ...]) -> Iterator[nodes.Stmt]:
    """Every statement of a body and of the blocks inside it, in the order of the text."""
    for stmt in body:
        yield stmt
        for block in blocks(stmt):
            yield from statements(block)


def expressions(body: tuple[nodes.Stmt, ...]) -> Iterator[nodes.Expr]:
    """Every expression of a body and its subexpressions, in the order of the text, outer before inner."""
    for stmt in statements(body):
        for expr in own_expressions(stmt):
            yield from subexpressions(expr)


def subexpressions(expr: nodes.Expr) -> Iterator[nodes.Expr]:
    """An expression and all of its parts, in the order of the text, outer before inner."""
    stack = [expr]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(operands(current)))


def rebuild(
    node: Node,
    expr: Callable[[nodes.Expr], nodes.Expr] = lambda expr: expr,
    block: Callable[[tuple[nodes.Stmt, ...]], tuple[nodes.Stmt, ...]] = lambda body: body,
) -> Node:
    """A statement or expression with its own expressions and its blocks replaced."""
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(node):
        match getattr(node, field.name):
            case value if isinstance(value, nodes.Expr):
                changed[field.name] = expr(value)
            case tuple() as values if field.name == "args":
                changed[field.name] = tuple(map(expr, values))
            case tuple() as body if field.name in ("body", "then", "otherwise"):
                changed[field.name] = block(body)
    return dataclasses.replace(node, **changed)


def depth(expr: nodes.Expr) -> int:
    """How many expressions stand inside one another at most."""
    deepest, stack = 0, [(expr, 1)]
    while stack:
        current, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((part, level + 1) for part in operands(current))
    return deepest


def callees(checked: nodes.CheckedFunction) -> tuple[nodes.CheckedFunction, ...]:
    """The functions that `checked` calls, and those that they call, each before its callers."""
    found: dict[nodes.CheckedFunction, None] = {}

    def visit(current: nodes.CheckedFunction) -> None:
        for overload in current.overloads:
            for expr in expressions(overload.function.body):
                if isinstance(expr, nodes.Invoke) and expr.callee not in found:
                    visit(expr.callee)
                    found.setdefault(expr.callee)

    visit(checked)
    return tuple(found)


def uses(checked: nodes.CheckedFunction) -> frozenset[Op]:
    """The rows of the operator table that `checked` and its callees use."""
    everything = (checked, *callees(checked))
    bodies = [overload.function.body for c in everything for overload in c.overloads]
    return frozenset(e.op for body in bodies for e in expressions(body) if isinstance(e, nodes.Call))
