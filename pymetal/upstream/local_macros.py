"""The macros of a Metal file that register a functor for several dtypes, or write a type once: by what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pymetal.codegen.registrations import HELPERS
from pymetal.upstream import cpp
from pymetal.upstream.registered_kernels import FORMS

Call = tuple[str, tuple[str, ...]]  # a macro of the library, and its types


@dataclass(frozen=True)
class Line:
    """One line that registers a functor, and the library's macros that it stands for."""

    text: str
    calls: tuple[Call, ...]

    @property
    def bfloat(self) -> bool:
        """True if it is about bfloat and nothing else, so that it can stand in a guard."""
        return all("bfloat" in types for _, types in self.calls)


def worded(calls: Sequence[Call], functor: str, text: str) -> tuple[list[Line], list[str]]:
    """The calls as lines in the words of a file, and notes about macros between which it gives no choice.

    Upstream's helpers are used where the file gives them their meaning, other macros of the file where they are the
    only ones of their meaning. A line that no macro of the file covers is a plain call.
    """
    known = cpp.macros(text)
    uses = [c for c in cpp.invocations(text) if c.arguments]
    notes: list[str] = []
    left = list(calls)
    found: list[Line] = []
    for names, meaning in _sets(known, {c.name for c in uses}):
        if not set(meaning) <= set(left):
            continue
        if len(names) > 1:
            notes.append(f"{functor}: {' and '.join(names)} register the same dtypes; neither is used: choose one")
            continue
        found.append(Line(f"{names[0]}({functor});", meaning))
        left = [c for c in left if c not in meaning]
    plain = {(c.name, len(set(c.arguments[1:])) == 1) for c in uses}
    for macro, types in left:
        line = f"{macro}({functor}, {', '.join(types)});"
        if (macro, len(set(types)) == 1) not in plain:  # the file does not write such a call itself
            short = sorted(set(_short(known, {c.name for c in uses}, macro, types, functor)))
            if len(short) == 1:
                line = short[0]
            elif short:
                notes.append(f"{functor}: {' and '.join(short)} mean the same; {line} is written: choose one")
        found.append(Line(line, ((macro, types),)))
    return found, notes


def registers(name: str, known: dict[str, cpp.Macro]) -> bool:
    """True for a macro of the library that registers, and for one of the file that stands for such macros."""
    macro = known.get(name)
    return name in FORMS or (macro is not None and bool(_meaning(known, name, ["_"] * len(macro.parameters))))


def _sets(known: dict[str, cpp.Macro], used: set[str]) -> Iterator[tuple[list[str], tuple[Call, ...]]]:
    """The sets of calls for which the file has macros, with their names: upstream's first, then larger ones."""
    groups: dict[frozenset[Call], list[str]] = {}
    for name, macro in known.items():
        if name in FORMS or len(macro.parameters) != 1:
            continue
        calls = _meaning(known, name, ["NAME"])
        if calls and all(functor == "NAME" for functor, _ in calls) and len(calls) > 1:
            groups.setdefault(frozenset(call for _, call in calls), []).append(name)
    for helper in HELPERS:
        names = groups.pop(frozenset(helper.calls), [])
        mine = [helper.name] if helper.name in names else [name for name in names if name in used]
        if mine:
            yield mine, helper.calls
    for meaning, names in sorted(groups.items(), key=lambda g: -len(g[0])):
        mine = [name for name in names if name in used]
        if mine:
            yield mine, tuple(sorted(meaning))


def _short(
    known: dict[str, cpp.Macro], used: set[str], macro: str, types: tuple[str, ...], functor: str
) -> Iterator[str]:
    """The calls of the file's macros for one functor and dtype that mean this call."""
    for name, local in known.items():
        if name in FORMS or name not in used or len(local.parameters) not in (2, 3):
            continue
        choices = [[t] for t in types] if len(local.parameters) == 2 else [list(types), list(reversed(types))]
        for chosen in choices:
            arguments = [functor, *chosen]
            if len(arguments) == len(local.parameters) and _meaning(known, name, arguments) == [
                (functor, (macro, types))
            ]:
                yield f"{name}({', '.join(arguments)});"


def _meaning(
    known: dict[str, cpp.Macro], name: str, arguments: Iterable[str], depth: int = 0
) -> list[tuple[str, Call]]:
    """The registrations that a call stands for, as (functor, call); nothing if it does anything else as well."""
    given = list(arguments)
    if name in FORMS:
        return [(given[0], (name, tuple(given[1:])))] if given else []
    macro = known.get(name)
    if macro is None or depth > 8:
        return []
    text = macro.expanded(given)
    rest = text
    found: list[tuple[str, Call]] = []
    for call in reversed(list(cpp.invocations(text))):
        inner = _meaning(known, call.name, call.arguments, depth + 1)
        if not inner:
            return []
        found[:0] = inner
        rest = rest[: call.start] + rest[call.end :]
    return found if not re.sub(r"[;\s]", "", cpp.masked(rest)) else []
