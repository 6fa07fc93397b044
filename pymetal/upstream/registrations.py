"""Where a functor's registrations go in a Metal file: below similar ones, bfloat under the file's own guard."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pymetal.upstream import cpp
from pymetal.upstream.functor_parts import functor_extent, line_end, outside_conditionals
from pymetal.upstream.registration_macros import Line, registers

_DIRECTIVES = re.compile(r"^[ \t]*#[ \t]*(?:if|else|endif)[^\n]*", re.MULTILINE)
_GUARD = re.compile(r"^[ \t]*#[ \t]*if\b[^\n]*__METAL_VERSION__[^\n]*\n", re.MULTILINE)
_EMPTY_GUARD = re.compile(r"^[ \t]*#[ \t]*if\b[^\n]*__METAL_VERSION__[^\n]*\n[ \t]*#[ \t]*endif[^\n]*\n", re.MULTILINE)


@dataclass(frozen=True)
class _Guard:
    """An `#if` on the Metal version that holds bfloat registrations."""

    opening: str
    end: int  # where its `#endif` is


def insert(text: str, wanted: Sequence[Line], name: str, at: int | None = None) -> str:
    """Puts the lines after the last use of the same macro and what belongs to it, or at a position.

    Where the file keeps its bfloat registrations under one guard, those of the functor go into it. Where each functor
    has a guard of its own, the functor gets one as well.
    """
    guards = _guards(text)
    guarded = [line for line in wanted if line.bfloat] if guards else []
    plain = "".join(f"{line.text}\n" for line in wanted if line not in guarded)
    under = "".join(f"{line.text}\n" for line in guarded)
    if len(guards) == 1 and under and (at is None or at <= guards[0].end):
        # From the end, so that the other position stays.
        place = _position(text, plain, name) if at is None else at
        first, second = sorted([(guards[0].end, under, False), (place, plain, True)], reverse=True)
        for position, block, spaced in (first, second):
            text = _inserted(text, position, block, name, spaced=spaced)
        return text
    if under:
        plain += f"{guards[-1].opening}{under}#endif\n"
    return _inserted(text, _position(text, plain, name) if at is None else at, plain, name, spaced=True)


def _inserted(text: str, at: int, block: str, name: str, *, spaced: bool) -> str:
    if not block:
        return text
    before = text[:at] if text[:at].endswith("\n") or not at else text[:at] + "\n"
    functor = functor_extent(text, name)[1]
    gap = "\n" if spaced and at == functor else ""
    return f"{before}{gap}{block}{text[at:]}"


def _position(text: str, wanted: str, name: str) -> int:
    """Where registrations belong: below similar ones that follow the functor, else directly below the functor."""
    known = cpp.macros(text)
    calls = [c for c in cpp.invocations(text) if c.arguments and registers(c.name, known)]
    functor = functor_extent(text, name)[1]
    calls = [c for c in calls if c.start >= functor or c.end > functor] or calls
    macros = re.findall(r"^\w+", wanted, re.MULTILINE)
    same = next((group for m in macros if (group := [c for c in calls if c.name == m])), None)
    similar = same or _most_similar(calls, macros)
    if not similar:
        return max(functor, len(text.rstrip()) + 1) if text.rstrip() else 0
    last = similar[-1]
    for call in calls:  # the other registrations of the same functor, directly below
        below = call.start >= last.end and not _DIRECTIVES.sub("", text[last.end : call.start]).strip()
        if below and call.arguments[0] == last.arguments[0]:
            last = call
    defined = [known[m].end for m in macros if m in known]
    at = max(line_end(text, last.end), functor, *(line_end(text, end) for end in defined))
    return outside_conditionals(text, at)


def _most_similar(calls: list[cpp.Invocation], macros: Sequence[str]) -> list[cpp.Invocation]:
    """The calls of the macros whose names begin most like one of `macros`; all if none begins like them."""
    alike = [max((_common_prefix(c.name, m) for m in macros), default=0) for c in calls]
    most = max(alike, default=0)
    return [c for c, length in zip(calls, alike, strict=True) if most <= len("REGISTER_") or length == most]


def _common_prefix(a: str, b: str) -> int:
    """How many letters two names begin with alike."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def remove(text: str, name: str) -> tuple[str, int | None]:
    """`text` without the calls that register `name`, and where the first of them was."""
    known = cpp.macros(text)
    calls = [c for c in cpp.invocations(text) if c.arguments[:1] == [name] and registers(c.name, known)]
    for call in reversed(calls):
        text = text[: call.start] + text[line_end(text, call.end) :]
    if not calls:
        return text, None
    at = calls[0].start
    empty = list(_EMPTY_GUARD.finditer(text))
    for match in reversed(empty):
        text = text[: match.start()] + text[match.end() :]
        at -= match.end() - match.start() if match.end() <= at else max(0, at - match.start())
    return text, outside_conditionals(text, at) if at else at


def _guards(text: str) -> list[_Guard]:
    """The guards of bfloat registrations; none if the file registers bfloat outside of them too."""
    known = cpp.macros(text)
    left = [c for c in cpp.invocations(text) if "bfloat" in c.arguments and registers(c.name, known)]
    found = []
    for match in _GUARD.finditer(text):
        end = re.compile(r"^[ \t]*#[ \t]*(?:else|endif)\b", re.MULTILINE).search(text, match.end())
        if end is None:
            continue
        inside = [c for c in left if match.end() <= c.start < end.start()]
        if inside:
            found.append(_Guard(match.group(), end.start()))
            left = [c for c in left if c not in inside]
    return [] if left else found
