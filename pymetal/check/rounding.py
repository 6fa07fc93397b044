"""How often a result is rounded: expressions that round, on the one path through a body that has most of them."""

from __future__ import annotations

from collections.abc import Callable

from pymetal import ir

Rounds = Callable[[ir.Expr], bool]
_Found = list[ir.Expr]


def most_on_a_path(body: tuple[ir.Stmt, ...], rounds: Rounds) -> _Found:
    """The expressions that round on a path through the body; of the path that has most. A loop runs once."""
    ended, through = _block(body, rounds)
    return _longer(ended, through) or []


def _longer(a: _Found | None, b: _Found | None) -> _Found | None:
    if a is None or b is None:
        return b if a is None else a
    return b if len(b) > len(a) else a


def _block(body: tuple[ir.Stmt, ...], rounds: Rounds) -> tuple[_Found | None, _Found | None]:
    """Of the paths that return in a block, and of those that leave it otherwise; None where there is no such path."""
    before: _Found = []
    ended: _Found | None = None
    for stmt in body:
        before = before + [e for expr in ir.own_expressions(stmt) for e in _expression(expr, rounds)]
        if isinstance(stmt, ir.Return):
            return _longer(ended, before), None
        if isinstance(stmt, (ir.Break, ir.Continue)):
            break
        through: _Found | None = None if isinstance(stmt, ir.If) else []
        for block in ir.blocks(stmt):
            returned, left = _block(block, rounds)
            ended = _longer(ended, None if returned is None else before + returned)
            through = _longer(through, left)
        if through is None:
            return ended, None
        before = before + through
    return ended, before


def _expression(expr: ir.Expr, rounds: Rounds) -> _Found:
    """Of a choice between two values one is computed."""
    own = [expr] if rounds(expr) else []
    parts = [_expression(part, rounds) for part in ir.operands(expr)]
    if isinstance(expr, ir.Select):
        condition, then, otherwise = parts
        return own + condition + (otherwise if len(otherwise) > len(then) else then)
    return own + [e for part in parts for e in part]
