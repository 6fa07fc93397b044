"""Which names are still wanted at each branch and loop: what decides where a variable is declared."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

Live = frozenset[str]
NONE: Live = frozenset()


@dataclass
class Liveness:
    """For each compound statement of a body, the names that may be read before they are assigned again."""

    after: dict[ast.stmt, Live] = field(default_factory=dict)  # once the statement has ended
    again: dict[ast.stmt, Live] = field(default_factory=dict)  # at the head of a loop, in the next round


def liveness(body: list[ast.stmt]) -> Liveness:
    """The live names of a function's body."""
    found = Liveness()
    _before(body, NONE, NONE, NONE, found)
    return found


def _before(body: list[ast.stmt], live: Live, at_break: Live, at_continue: Live, found: Liveness) -> Live:
    """The names that are live before `body`, given those after it and at the two ways out of the loop around it."""
    for stmt in reversed(body):
        match stmt:
            case ast.If(test=test, body=then, orelse=otherwise):
                found.after[stmt] = live
                then_live = _before(then, live, at_break, at_continue, found)
                else_live = _before(otherwise, live, at_break, at_continue, found)
                live = then_live | else_live | _reads(test)
            case ast.While(test=test, body=inner):
                found.after[stmt] = live
                head = _reads(test) | live
                live = _loop(stmt, inner, head, NONE, live, found)
            case ast.For(target=target, iter=iterable, body=inner):
                found.after[stmt] = live
                bound, after = _writes([target]), live
                live = _loop(stmt, inner, live, bound, after, found)
                if _has_rounds(iterable):
                    # What it does not assign stays wanted: statements after a loop that always returns are lowered too.
                    live = (_before(inner, live, after, live, found) | (after - assigned(inner))) - bound
                live |= _reads(iterable)
            case ast.Return(value=value):
                live = _reads(value) if value else NONE
            case ast.Break():
                live = at_break
            case ast.Continue():
                live = at_continue
            case ast.Assign(targets=targets, value=value):
                live = (live - _writes(targets)) | _reads(value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                live = live | {name} | _reads(value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                live = (live - _writes([target])) | _reads(value)
            case _:
                live = live | _reads(stmt)
    return live


def _loop(stmt: ast.stmt, inner: list[ast.stmt], head: Live, bound: Live, after: Live, found: Liveness) -> Live:
    """The names live at the head of a loop: a fixed point, since the end of the body leads back there."""
    while True:
        # A loop variable may keep the value that it had before a loop without rounds.
        grown = head | (_before(inner, head, after, head, found) - bound)
        if grown == head:
            found.again[stmt] = head
            return head
        head = grown


def _has_rounds(iterable: ast.expr) -> bool:
    """True if a loop surely has a round: over a tuple, or a range of numbers that are written there."""
    match iterable:
        case ast.Call(args=args, keywords=[]) if 1 <= len(args) <= 3:
            try:
                return bool(range(*(ast.literal_eval(a) for a in args)))
            except (ValueError, TypeError):
                return False
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return bool(elements)
        case _:
            return isinstance(iterable, (ast.Name, ast.Attribute))  # a table without elements is refused


def _reads(node: ast.AST) -> Live:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def _writes(targets: Iterable[ast.AST]) -> Live:
    return frozenset(
        n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )


def assigned(body: Iterable[ast.stmt]) -> Live:
    """The names that some statement of `body` assigns."""
    return _writes(body)
