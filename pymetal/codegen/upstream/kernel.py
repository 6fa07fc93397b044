"""A functor and its registrations placed in a `.metal` file of a checkout."""

from __future__ import annotations

import re

from pymetal.codegen.library import Entry, headers
from pymetal.codegen.registrations import HELPERS, Registration, lines, registrations
from pymetal.codegen.upstream import cpp
from pymetal.codegen.upstream.checkout import INDEXING, KERNELS, Checkout, line_of, with_endings_of
from pymetal.codegen.upstream.pieces import DEFINED, functor_extent, line_end, outside_conditionals, place_pieces
from pymetal.codegen.upstream.registered import FORMS, expand_helper, library_macros
from pymetal.codegen.upstream.registered import registrations as registered
from pymetal.errors import PyMetalError

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)[>\"][^\n]*\n?", re.MULTILINE)
_DIRECTIVES = re.compile(r"^[ \t]*#[ \t]*(?:if|else|endif)[^\n]*", re.MULTILINE)


def place_functor(checkout: Checkout, entry: Entry, path: str, *, replace: bool = False) -> None:
    """Edits the file `path` so that it has the functor and its registrations; a missing file is made.

    Raises:
        PyMetalError: the tree has another functor of that name, or the checkout's headers lack a macro that the
            functor needs.
    """
    name = entry.checked.name
    check_macros(checkout, entry)
    found = find_functor(checkout, name)
    if found is not None and found[0] != path:
        raise PyMetalError(
            f"{found[0]}:{found[1]}: {name}_functor is there already, and kernel names are global",
            hint=f"Pass --file {found[0].rsplit('/', 1)[1]}, with --replace to put the new text there.",
        )
    if not checkout.exists(path):
        checkout.write(path, _new_file(checkout, entry))
        return
    before = checkout.text(path)
    text = before.replace("\r\n", "\n")
    wanted = registration_text(checkout, entry, text)
    text = place_pieces(text, path, entry, replace=replace)
    present = {(r.arity, r.input, r.alpha, r.output, r.castout) for r in registered(path, text) if r.name == name}
    needed = {
        (r.arity, r.input, r.alpha, r.output, r.castout)
        for r in registered(path, text + "\n" + wanted)
        if r.name == name and r.line > text.count("\n") + 1
    }
    if present != needed:
        if present and found is not None and not replace:
            line = next(r.line for r in registered(path, text) if r.name == name)
            raise PyMetalError(
                f"{path}:{line}: {name} is registered for other dtypes",
                hint="Pass --replace to put the new registrations in their place.",
            )
        text = _insert_registrations(_without_registrations(text, name), wanted, name)
    for header in sorted(headers(entry.checked) | {INDEXING}):
        text = _with_include(text, header)
    checkout.write(path, with_endings_of(before, text))


def check_macros(checkout: Checkout, entry: Entry) -> None:
    """Refuses a functor whose registration macros the checkout's headers do not have.

    Raises:
        PyMetalError: a macro is missing.
    """
    there = library_macros(checkout)
    for call in _calls(entry):
        if call.macro.name not in there and call.macro is not entry.arity.castout:
            major, minor = call.macro.since
            raise PyMetalError(
                f"{INDEXING} of this checkout has no {call.macro.name}, which {entry.checked.name} needs",
                hint=f"It came with torch {major}.{minor}: rebase the checkout.",
            )


def find_functor(checkout: Checkout, name: str) -> tuple[str, int] | None:
    """Where the tree has `struct NAME_functor`, as path and line."""
    for path in checkout.files(KERNELS, ".metal", ".h"):
        text = checkout.text(path)
        if name not in text:
            continue
        plain = cpp.masked(text)
        for match in re.finditer(rf"\bstruct\s+{name}_functor\b|\b{DEFINED.pattern}\s*\(\s*{name}\b", plain):
            return path, line_of(text, match.start())
    return None


def registration_text(checkout: Checkout, entry: Entry, text: str) -> str:
    """The registrations in terms of the helper macros that `text` defines with the meaning that pymetal gives them."""
    calls = _calls(entry)
    if entry.arity.castout is not None and entry.arity.castout.name not in library_macros(checkout):
        calls = [c for c in calls if c.macro is not entry.arity.castout]
    usable = {h.name for h in HELPERS if expand_helper(text, h.name) == set(h.calls)}
    compact, used = lines(calls, entry.arity)
    name = entry.checked.name
    written: list[str] = []
    by_helper = {f"{h.name}({name});": h for h in used}
    for line in compact:
        helper = by_helper.get(line)
        if helper is None or helper.name in usable:
            written.append(line)
        else:
            written += [f"{macro}({name}, {', '.join(types)});" for macro, types in helper.calls]
    return "".join(f"{line}\n" for line in written)


def _calls(entry: Entry) -> list[Registration]:
    return registrations(entry.checked, entry.arity, entry.text.scalar_types, entry.opmath)


def _new_file(checkout: Checkout, entry: Entry) -> str:
    includes = "".join(f"#include <{h}>\n" for h in sorted({INDEXING, *headers(entry.checked)}))
    opening = f"{includes}#include <metal_stdlib>\nusing namespace metal;\n"
    return f"{opening}\n{entry.text.source}\n{registration_text(checkout, entry, '')}"


# --- registrations ---------------------------------------------------------------------------------------------------


def _insert_registrations(text: str, wanted: str, name: str) -> str:
    """Puts the registrations beside their kin: after the last use of the same macro and what belongs to it."""
    known = cpp.macros(text)
    calls = [c for c in cpp.invocations(text) if c.arguments and _registers(c.name, known)]
    functor = functor_extent(text, name)[1]
    calls = [c for c in calls if c.start >= functor or c.end > functor] or calls
    macros = re.findall(r"^\w+", wanted, re.MULTILINE)
    kin = next((group for m in macros if (group := [c for c in calls if c.name == m])), calls)
    if not kin:
        return f"{text.rstrip()}\n\n{wanted}"
    last = kin[-1]
    for call in calls:  # the other registrations of the same functor, directly below
        below = call.start >= last.end and not _DIRECTIVES.sub("", text[last.end : call.start]).strip()
        if below and call.arguments[0] == last.arguments[0]:
            last = call
    at = max(line_end(text, last.end), functor)
    at = outside_conditionals(text, at)
    gap = "\n" if at == functor else ""
    before = text[:at] if text[:at].endswith("\n") else text[:at] + "\n"
    return f"{before}{gap}{wanted}{text[at:]}"


def _registers(name: str, known: dict[str, cpp.Macro]) -> bool:
    return name in FORMS or (name.startswith("REGISTER_") and name in known)


def _without_registrations(text: str, name: str) -> str:
    """`text` without the calls that register `name`; a macro call of another kind stays."""
    known = cpp.macros(text)
    calls = [c for c in cpp.invocations(text) if c.arguments[:1] == [name] and _registers(c.name, known)]
    for call in reversed(calls):
        text = text[: call.start] + text[line_end(text, call.end) :]
    return text


# --- lines -----------------------------------------------------------------------------------------------------------


def _with_include(text: str, header: str) -> str:
    """`text` with an `#include`, in its alphabetical place among the others."""
    includes = list(_INCLUDE.finditer(text))
    if any(m[1] == header for m in includes):
        return text
    at = next((m.start() for m in includes if m[1] > header), includes[-1].end() if includes else 0)
    return f"{text[:at]}#include <{header}>\n{text[at:]}"
