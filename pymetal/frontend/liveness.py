"""Live names: which names may still be read after a branch or a loop, which decides where a variable is declared."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

Names = frozenset[str]
NO_NAMES: Names = frozenset()


@dataclass
class Liveness:
    """For each compound statement of a body, the names that may be read before they are assigned again."""

    live_out: dict[ast.stmt, Names] = field(default_factory=dict)  # after the statement
    loop_live_in: dict[ast.stmt, Names] = field(default_factory=dict)  # at the head of a loop, in its next iteration


def liveness(body: list[ast.stmt]) -> Liveness:
    """The live names of a function's body."""
    result = Liveness()
    _live_in(body, NO_NAMES, NO_NAMES, NO_NAMES, result)
    return result


def _live_in(body: list[ast.stmt], live: Names, at_break: Names, at_continue: Names, result: Liveness) -> Names:
    """The names that are live before `body`, given those after it and at the two exits of the loop around it."""
    for stmt in reversed(body):
        match stmt:
            case ast.If(test=test, body=then, orelse=otherwise):
                result.live_out[stmt] = live
                then_live = _live_in(then, live, at_break, at_continue, result)
                else_live = _live_in(otherwise, live, at_break, at_continue, result)
                live = then_live | else_live | _reads(test)
            case ast.While(test=test, body=inner):
                result.live_out[stmt] = live
                live = _loop_live_in(stmt, inner, _reads(test) | live, NO_NAMES, live, result)
            case ast.For(target=target, iter=iterable, body=inner):
                result.live_out[stmt] = live
                targets, after = assigned_names([target]), live
                live = _loop_live_in(stmt, inner, live, targets, after, result)
                if iterates_at_least_once(iterable):
                    # What it does not assign stays live: statements after a loop that always returns are lowered too.
                    inner_live = _live_in(inner, live, after, live, result)
                    returns = any(isinstance(n, ast.Return) for s in inner for n in ast.walk(s))
                    live = (inner_live | (after if returns else after - assigned_names(inner))) - targets
                live |= _reads(iterable)
            case ast.Return(value=value):
                live = _reads(value) if value else NO_NAMES
            case ast.Break():
                live = at_break
            case ast.Continue():
                live = at_continue
            case ast.Assign(targets=targets_, value=value):
                live = (live - assigned_names(targets_)) | _reads(value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                live = live | {name} | _reads(value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                live = (live - assigned_names([target])) | _reads(value)
            case _:
                live = live | _reads(stmt)
    return live


def _loop_live_in(
    stmt: ast.stmt, inner: list[ast.stmt], head: Names, targets: Names, after: Names, result: Liveness
) -> Names:
    """The names live at the head of a loop: a fixed point, since the end of the body leads back there."""
    while True:
        # A loop variable may keep the value that it had before a loop without iterations.
        grown = head | (_live_in(inner, head, after, head, result) - targets)
        if grown == head:
            result.loop_live_in[stmt] = head
            return head
        head = grown


def iterates_at_least_once(iterable: ast.expr) -> bool:
    """True for a loop over a tuple, or over a range of number literals that is not empty."""
    match iterable:
        case ast.Call(func=ast.Name(id="reversed" | "enumerate"), args=[argument, *_]):
            return iterates_at_least_once(argument)
        case ast.Call(func=ast.Name(id="zip"), args=[_, *_] as args):
            return all(map(iterates_at_least_once, args))
        case ast.Call(args=args, keywords=[]) if 1 <= len(args) <= 3:
            try:
                return bool(range(*(ast.literal_eval(a) for a in args)))
            except (ValueError, TypeError):
                return False
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return bool(elements)
        case _:
            return isinstance(iterable, (ast.Name, ast.Attribute))  # one without elements is refused


def _reads(node: ast.AST) -> Names:
    return frozenset(n.id for n in _own_names(node) if isinstance(n.ctx, ast.Load))


def assigned_names(nodes: Iterable[ast.AST]) -> Names:
    """The names that the statements or assignment targets `nodes` assign."""
    return frozenset(n.id for node in nodes for n in _own_names(node) if isinstance(n.ctx, ast.Store))


def _own_names(node: ast.AST) -> Iterator[ast.Name]:
    """The names in `node` without those that a comprehension has for itself."""
    waiting = [(node, NO_NAMES)]
    while waiting:
        current, hidden = waiting.pop()
        if isinstance(current, ast.Name):
            if current.id not in hidden:
                yield current
        elif isinstance(current, ast.GeneratorExp | ast.ListComp):
            # What is iterated over may be outside the scope, and counts as read.
            waiting += [(generator.iter, hidden) for generator in current.generators]
            targets = [n.id for g in current.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
            inner = hidden.union(targets)
            waiting += [(part, inner) for part in (current.elt, *(i for g in current.generators for i in g.ifs))]
        else:
            waiting += [(child, hidden) for child in ast.iter_child_nodes(current)]
