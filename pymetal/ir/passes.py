"""Passes over functions: what nothing reads is removed, and callees get names of their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from typing_extensions import assert_never

from pymetal.dtypes import DType
from pymetal.ir.nodes import (
    Assign,
    Break,
    CheckedFunction,
    Const,
    Continue,
    Element,
    For,
    Function,
    If,
    Invoke,
    Let,
    Name,
    Overload,
    Return,
    Stmt,
    While,
)
from pymetal.ir.types import resolved
from pymetal.ir.walk import callees, expressions, rebuild


def remove_dead_code(function: Function) -> Function:
    """The function without what its returns do not need: variables, and branches and loops that set only such ones.

    Expressions have no effects: an unread variable needs no text.
    """
    needed: frozenset[str] = frozenset()
    while True:
        body = _live(function.body, needed, exits=False)
        read = frozenset(e.name for e in expressions(body) if isinstance(e, Name))
        if read <= needed:
            return replace(function, body=body)
        needed |= read


def _live(body: tuple[Stmt, ...], needed: frozenset[str], exits: bool) -> tuple[Stmt, ...]:
    """The statements that return, or set variables of `needed`; `exits` tells whether the loop around them does."""
    kept: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Assign(name=name, value=Name(name=value)) if name == value:
                pass
            case Let(name=name) | Assign(name=name):
                kept += [stmt] if name in needed else []
            case Break() | Continue():
                kept += [stmt] if exits else []
            case Return():
                kept.append(stmt)
            case If():
                inner = rebuild(stmt, block=lambda block: _live(block, needed, exits))
                kept += [inner] if inner.then or inner.otherwise else []
            case While() | For():
                if _live(stmt.body, needed, exits=False):
                    kept.append(rebuild(stmt, block=lambda block: _live(block, needed, exits=True)))
            case _:
                assert_never(stmt)
    return tuple(kept)


def restrict_callees(functors: tuple[CheckedFunction, ...]) -> tuple[CheckedFunction, ...]:
    """`functors`, whose callees that are typed by their calls have only the bodies that these need."""
    needed: dict[CheckedFunction, set[DType]] = {}

    def visit(checked: CheckedFunction, domain: Collection[DType]) -> None:
        for overload in checked.overloads:
            served = [d for d in overload.domain if d in domain]
            for expr in expressions(overload.function.body) if served else ():
                if isinstance(expr, Invoke):
                    callee, known = expr.callee, needed.setdefault(expr.callee, set())
                    bound = {resolved(expr.bound, d) for d in served} if callee.by_calls else set(callee.domain)
                    if bound - known:
                        known |= bound
                        visit(callee, bound)

    for functor in functors:
        visit(functor, functor.domain)
    chosen: dict[CheckedFunction, CheckedFunction] = {}
    for callee in dict.fromkeys(callee for each in functors for callee in callees(each)):
        wanted = needed.get(callee, set())
        unused = {o for o in callee.overloads if callee.by_calls and wanted.isdisjoint(o.domain)}
        kept = tuple(o for o in callee.overloads if o not in unused) if unused else callee.overloads
        overloads = _with_callees(kept, chosen)
        if overloads is not callee.overloads:
            chosen[callee] = replace(callee, overloads=overloads)
    return tuple(_replace_callees(each, chosen) for each in functors)


def unique_names(
    functors: tuple[CheckedFunction, ...], spelled: Callable[[str], str]
) -> tuple[CheckedFunction, ...]:  # fmt: skip
    """`functors`, with `_1`, `_2` after the names of callees that are not the first, or the only, one of theirs.

    Python finds functions by scope, Metal by name alone. Two of one name and equal bodies are one function.

    Args:
        functors: those that stand in one text; they have different names.
        spelled: how the text has the name of a helper.
    """

    def key(helper: bool, name: str) -> tuple[bool, str]:
        return helper, spelled(name) if helper else name

    called = tuple(dict.fromkeys(callee for each in functors for callee in callees(each)))
    if len({key(c.helper, c.name) for c in (*functors, *called)}) == len(functors) + len(called):
        return functors
    taken: dict[tuple[bool, str], CheckedFunction] = {key(each.helper, each.name): each for each in functors}
    chosen: dict[CheckedFunction, CheckedFunction] = {}
    for callee in called:
        overloads = _with_callees(callee.overloads, chosen)
        name, number = callee.name, 0
        while (other := taken.get(key(callee.helper, name))) is not None and not _equal(other.overloads, overloads):
            number += 1
            name = f"{callee.name}_{number}"
        if other is None:
            same = name == callee.name and overloads is callee.overloads
            other = callee if same else replace(callee, name=name, overloads=overloads)
            taken[key(callee.helper, name)] = other
        chosen[callee] = other
    return tuple(_replace_callees(each, chosen) for each in functors)


def _replace_callees(
    checked: CheckedFunction, chosen: dict[CheckedFunction, CheckedFunction]
) -> CheckedFunction:  # fmt: skip
    overloads = _with_callees(checked.overloads, chosen)
    return checked if overloads is checked.overloads else replace(checked, overloads=overloads)


def _equal(a: tuple[Overload, ...], b: tuple[Overload, ...]) -> bool:
    """True for equal bodies with the same numbers, the sign of zero included."""
    return a == b and _constants(a) == _constants(b)


def _constants(overloads: tuple[Overload, ...]) -> list[str]:
    found = []
    for overload in overloads:
        for expr in expressions(overload.function.body):
            if isinstance(expr, Const):
                found.append(repr(expr.value))
            elif isinstance(expr, Element):
                found.append(repr(expr.table.values))
    return found


def _with_callees(node: Any, chosen: dict[CheckedFunction, CheckedFunction]) -> Any:
    """A node, or a tuple of nodes, with its callees replaced; the same object if none is."""
    if isinstance(node, tuple):
        parts = tuple(_with_callees(part, chosen) for part in node)
        return node if all(a is b for a, b in zip(parts, node, strict=True)) else parts
    if not dataclasses.is_dataclass(node) or isinstance(node, CheckedFunction | type):
        return node
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(node):
        before = getattr(node, field.name)
        after = chosen.get(before, before) if isinstance(before, CheckedFunction) else _with_callees(before, chosen)
        if after is not before:
            changed[field.name] = after
    return replace(node, **changed) if changed else node
