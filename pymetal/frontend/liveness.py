"""Which names are still wanted after each branching statement: what decides where a variable is declared."""

from __future__ import annotations

import ast
from collections.abc import Iterable

Live = frozenset[str]


def live_after_branches(body: list[ast.stmt]) -> dict[ast.stmt, Live]:
    """For each `if` of a function's body, the names that may be read after it before they are assigned again."""
    found: dict[ast.stmt, Live] = {}
    _before(body, frozenset(), found)
    return found


def _before(body: list[ast.stmt], live: Live, found: dict[ast.stmt, Live]) -> Live:
    for stmt in reversed(body):
        match stmt:
            case ast.If(test=test, body=then, orelse=otherwise):
                found[stmt] = live
                live = _before(then, live, found) | _before(otherwise, live, found) | _reads(test)
            case ast.Return(value=value):
                live = _reads(value) if value else frozenset()
            case ast.Assign(targets=targets, value=value):
                live = (live - _writes(targets)) | _reads(value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                live = live | {name} | _reads(value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                live = (live - _writes([target])) | _reads(value)
            case _:
                live = live | _reads(stmt)
    return live


def _reads(node: ast.AST) -> Live:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def _writes(targets: Iterable[ast.AST]) -> Live:
    return frozenset(
        n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )


def assigned(body: list[ast.stmt]) -> Live:
    """The names that some statement of `body` assigns."""
    return _writes(body)
