"""The functions that a functor calls are given names of their own: Python finds them by scope, Metal by name alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from pymetal.ir.nodes import CheckedFunction, Const, Element, Overload
from pymetal.ir.walk import callees, expressions


def distinct(checked: CheckedFunction, spelled: Callable[[str], str]) -> CheckedFunction:
    """`checked`, with `_1`, `_2` after the names of callees that are not the first, or the only, one of theirs.

    Two functions of one name and equal bodies are one function.

    Args:
        spelled: how the text has the name of a helper.
    """

    def key(helper: bool, name: str) -> tuple[bool, str]:
        return helper, spelled(name) if helper else name

    called = callees(checked)
    if len({key(c.helper, c.name) for c in (checked, *called)}) == 1 + len(called):
        return checked
    taken: dict[tuple[bool, str], CheckedFunction] = {key(checked.helper, checked.name): checked}
    chosen: dict[CheckedFunction, CheckedFunction] = {}
    for callee in called:
        overloads = _calling(callee.overloads, chosen)
        name, number = callee.name, 0
        while (other := taken.get(key(callee.helper, name))) is not None and not _alike(other.overloads, overloads):
            number += 1
            name = f"{callee.name}_{number}"
        if other is None:
            same = name == callee.name and overloads is callee.overloads
            other = callee if same else CheckedFunction(name, callee.doc, overloads, callee.helper)
            taken[key(callee.helper, name)] = other
        chosen[callee] = other
    overloads = _calling(checked.overloads, chosen)
    return checked if overloads is checked.overloads else dataclasses.replace(checked, overloads=overloads)


def _alike(a: tuple[Overload, ...], b: tuple[Overload, ...]) -> bool:
    """True for equal bodies with the same numbers, the sign of zero included."""
    return a == b and _numbers(a) == _numbers(b)


def _numbers(overloads: tuple[Overload, ...]) -> list[str]:
    found = []
    for overload in overloads:
        for expr in expressions(overload.function.body):
            if isinstance(expr, Const):
                found.append(repr(expr.value))
            elif isinstance(expr, Element):
                found.append(repr(expr.table.values))
    return found


def _calling(node: Any, chosen: dict[CheckedFunction, CheckedFunction]) -> Any:
    """A node, or a tuple of nodes, with its callees replaced; the same object if none is."""
    if isinstance(node, tuple):
        parts = tuple(_calling(part, chosen) for part in node)
        return node if all(a is b for a, b in zip(parts, node, strict=True)) else parts
    if not dataclasses.is_dataclass(node) or isinstance(node, CheckedFunction | type):
        return node
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(node):
        before = getattr(node, field.name)
        after = chosen.get(before, before) if isinstance(before, CheckedFunction) else _calling(before, chosen)
        if after is not before:
            changed[field.name] = after
    return dataclasses.replace(node, **changed) if changed else node
