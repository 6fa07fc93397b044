"""The editor of `.metal` files: a functor and its registrations."""

from __future__ import annotations

import re

from pymetal.codegen.metal_file import Entry, headers
from pymetal.codegen.registrations import Registration, lines, registrations
from pymetal.errors import PyMetalError
from pymetal.upstream import cpp, registration_macros
from pymetal.upstream.checkout import INDEXING, KERNELS, Checkout, line_of
from pymetal.upstream.functor_parts import DEFINED, insert_parts
from pymetal.upstream.plan import Outcome, Plan
from pymetal.upstream.registration_macros import Line, library_macros
from pymetal.upstream.registrations import insert, remove


def edit(checkout: Checkout, plan: Plan) -> Outcome:
    """The editor of `.metal` files: writes each functor and its registrations."""
    notes: list[str] = []
    for target in plan.functors:
        notes += write_functor(checkout, target.entry.formatted(), target.file, replace=target.replace)
    return Outcome(notes=tuple(notes))


def write_functor(checkout: Checkout, entry: Entry, path: str, *, replace: bool = False) -> list[str]:
    """Edits the file `path` so that it has the functor and its registrations; a missing file is made.

    Returns:
        Notes for the author.

    Raises:
        PyMetalError: the tree has another functor of that name, or the checkout's headers lack a macro that the
            functor needs.
    """
    name = entry.checked.name
    check_macros(checkout, entry)
    found = find_functor(checkout, name)
    if found is not None and found[0] != path:
        raise PyMetalError(
            f"{found[0]}:{found[1]}: {name}_functor is already defined here, and kernel names are global",
            hint=f"Pass --file {found[0].rsplit('/', 1)[1]}, with --replace to put the new text there.",
        )
    if not checkout.exists(path):
        checkout.write(path, _new_file(checkout, entry))
        return []
    text = checkout.plain(path)
    lines_to_add, notes = registration_lines(checkout, entry, text)
    text = insert_parts(text, path, entry, replace=replace)
    last = text.count("\n") + 1
    both = text + "\n" + "\n".join(line.text for line in lines_to_add)
    registered = [r for r in registration_macros.registrations(path, both) if r.name == name]
    present = {r.types for r in registered if r.line <= last}
    needed = {r.types for r in registered if r.line > last}
    if present != needed:
        if present and found is not None and not replace:
            raise PyMetalError(
                f"{path}:{registered[0].line}: {name} is registered for other dtypes",
                hint="Pass --replace to put the new registrations in their place.",
            )
        text, at = remove(text, name)
        text = insert(text, lines_to_add, name, at)
    for header in sorted(headers(entry.checked) | {INDEXING}):
        text = cpp.with_include(text, header)
    checkout.write_plain(path, text)
    return notes if present != needed else []


def check_macros(checkout: Checkout, entry: Entry) -> None:
    """Refuses a functor whose registration macros the checkout's headers do not have.

    Raises:
        PyMetalError: a macro is missing.
    """
    available = library_macros(checkout)
    for call in _calls(entry):
        if call.macro.name not in available and call.macro is not entry.arity.castout:
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


def registration_lines(checkout: Checkout, entry: Entry, text: str) -> tuple[list[Line], list[str]]:
    """The registrations as lines that use the macros of `text`, and notes about macros of equal meaning."""
    calls = _calls(entry)
    if entry.arity.castout is not None and entry.arity.castout.name not in library_macros(checkout):
        calls = [c for c in calls if c.macro is not entry.arity.castout]
    # In the order of upstream's helper macros, whether or not the file has them.
    compact, used = lines(calls, entry.arity)
    by_text = {c.text: (c.macro.name, c.arguments) for c in calls}
    by_helper = {f"{h.name}({entry.checked.name});": h.calls for h in used}
    ordered = [call for line in compact for call in by_helper.get(line) or (by_text[line],)]
    return registration_macros.registration_lines(ordered, entry.checked.name, text)


def _calls(entry: Entry) -> list[Registration]:
    return registrations(entry.checked, entry.arity, entry.text.scalar_types, entry.opmath)


def _new_file(checkout: Checkout, entry: Entry) -> str:
    includes = "".join(f"#include <{h}>\n" for h in sorted({INDEXING, *headers(entry.checked)}))
    registered_as = "".join(f"{line.text}\n" for line in registration_lines(checkout, entry, "")[0])
    opening = f"{includes}#include <metal_stdlib>\nusing namespace metal;\n"
    return f"{opening}\n{entry.text.source}\n{registered_as}"
