"""The parts of a functor in a Metal file: tables, helper functions, structs. Existing ones are not written again."""

from __future__ import annotations

import re

from pymetal.codegen.format import same_text
from pymetal.codegen.metal_file import Entry
from pymetal.errors import PyMetalError
from pymetal.upstream import cpp
from pymetal.upstream.checkout import line_of
from pymetal.upstream.registration_macros import registers

DEFINED = re.compile(r"DEFINE_\w*FUNCTOR")
_STRUCT = re.compile(r"^(?:template\s*<[^\n]*>\s*\n)?struct\s+(\w+)_functor\b", re.MULTILINE)
_OPENING = re.compile(r"^(?:[ \t]*#[ \t]*include\b|using namespace\b)[^\n]*\n?", re.MULTILINE)


def insert_parts(text: str, path: str, entry: Entry, *, replace: bool) -> str:
    """`text` with every part of the functor: its own after the last functor, what it needs before it.

    Raises:
        PyMetalError: a part of that name is there with another text, and `replace` is not set.
    """
    name = entry.checked.name
    own_parts = "\n".join(
        entry.text.definitions[k] for k in (f"{name}_params", f"{name}_functor") if k in entry.text.definitions
    )
    missing = []
    for key, part in entry.text.definitions.items():
        if key not in (f"{name}_params", f"{name}_functor"):
            found = _extent(text, key)
            if found is None:
                missing.append(part)
            else:
                text = _replaced(text, path, found, key, part, replace=replace)
    if _is_defined(text, name):
        text = _replaced(text, path, functor_extent(text, name), f"{name}_functor", own_parts, replace=replace)
        start = functor_extent(text, name)[0]
        return text[:start] + "".join(f"{part}\n" for part in missing) + text[start:]
    return _insert(text, "\n".join([*missing, own_parts]))


def _replaced(text: str, path: str, extent: tuple[int, int], name: str, part: str, *, replace: bool) -> str:
    """`text` with `part` in an extent; as it is if only the layout differs."""
    start, end = extent
    if same_text(text[start:end], part):
        return text
    if not replace:
        raise PyMetalError(
            f"{path}:{line_of(text, max(start, text.find(name, start, end)))}: {name} has another definition here",
            hint="Pass --replace to put the new text in its place; --diff shows both.",
        )
    return text[:start] + part + text[end:]


def _is_defined(text: str, name: str) -> bool:
    plain = cpp.masked(text)
    return re.search(rf"\bstruct\s+{name}_functor\b|\b{DEFINED.pattern}\s*\(\s*{name}\b", plain) is not None


def functor_extent(text: str, name: str) -> tuple[int, int]:
    """Where a functor's text begins and ends: with the comment above it and its parameter struct."""
    plain = cpp.masked(text)
    struct = _struct_extent(plain, f"{name}_functor")
    if struct is None:  # made by a macro
        call = next(c for c in cpp.invocations(text, DEFINED) if c.arguments[:1] == [name])
        return call.start, line_end(text, call.end)
    start, end = struct
    params = _struct_extent(plain, f"{name}_params")
    if params is not None and params[0] < start:
        start = params[0]
    return _with_comment(text, start), end


def _extent(text: str, key: str) -> tuple[int, int] | None:
    """Where the part called `key` is: a functor, a function with all its overloads, or an array."""
    if key.endswith("_functor") and _is_defined(text, key.removesuffix("_functor")):
        return functor_extent(text, key.removesuffix("_functor"))
    plain = cpp.masked(text)
    if key.endswith("_params"):
        return _struct_extent(plain, key)
    functions = [f for f in cpp.functions(text) if f.name == key]
    if functions:
        start = functions[0].start
        template = re.search(r"^template\s*<(?:[^;{}])*>\s*\Z", plain[:start], re.MULTILINE)
        start = template.start() if template else start
        return _with_comment(text, start), line_end(text, functions[-1].end)
    array = re.search(rf"^constant\b[^;{{]*\b{key}\b[^;]*;[^\n]*\n?", plain, re.MULTILINE)
    return None if array is None else (array.start(), array.end())


def _struct_extent(plain: str, struct: str) -> tuple[int, int] | None:
    """A struct with its template line; a parameter struct with the names that are given to its instances."""
    match = re.search(rf"^(?:template\s*<[^\n]*>\s*\n)?struct\s+{struct}\b\s*\{{", plain, re.MULTILINE)
    if match is None:
        return None
    end = line_end(plain, cpp.closing(plain, match.end() - 1) + 1)
    aliases = re.compile(rf"(?:using {struct}_\w+ =[^;]*;\s*?\n)*").match(plain, end)
    return match.start(), aliases.end() if aliases else end


def _with_comment(text: str, start: int) -> int:
    """`start`, or where the comment directly above begins."""
    while start > 0:
        above = text.rfind("\n", 0, start - 1) + 1
        if not text[above:start].startswith("//"):
            break
        start = above
    return start


def _insert(text: str, source: str) -> str:
    """Puts `source` after the last functor, or after the file's opening lines where there is none.

    In a file where each functor stands above its registrations, that is after the registrations of the last one.
    """
    plain = cpp.masked(text)
    ends = [
        line_end(text, cpp.closing(plain, plain.index("{", m.end())) + 1)
        for m in _STRUCT.finditer(plain)
        if "{" in plain[m.end() :]
    ]
    ends += [line_end(text, call.end) for call in cpp.invocations(text, DEFINED)]
    openings = [m.end() for m in _OPENING.finditer(plain)]
    known = cpp.macros(text)
    calls = [c for c in cpp.invocations(text) if c.arguments and registers(c.name, known)]
    if ends and calls and calls[0].start < max(ends):
        ends += [line_end(text, c.end) for c in calls]
    at = outside_conditionals(text, max(ends or openings, default=0))
    before = text[:at] if text[:at].endswith("\n") or not at else text[:at] + "\n"
    gap = "\n" if before else ""
    after = text[at:]
    return f"{before}{gap}{source}" + (after if after.startswith("\n") or not after else "\n" + after)


def line_end(text: str, position: int) -> int:
    """The position after the line in which `position` is."""
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def outside_conditionals(text: str, position: int) -> int:
    """`position`, or the line after the `#endif` of the `#if` that it stands in."""
    depth = at = 0
    for line in text.split("\n") if position else []:
        directive = re.match(r"\s*#\s*(if|endif)", line)
        at += len(line) + 1
        if directive is not None:
            depth += 1 if directive[1] == "if" else -1
        if at >= position and depth == 0:
            break
    return min(at, len(text))
