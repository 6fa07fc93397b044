"""Checked functors become a whole `.metal` file: includes, functors, the helper macros they use, registrations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pymetal import ir
from pymetal.arity import Arity
from pymetal.codegen.format import format_metal
from pymetal.codegen.functor_text import FunctorText, functor_text
from pymetal.codegen.names import helper_name
from pymetal.codegen.registrations import Registration, definition, lines, registrations
from pymetal.errors import CallError
from pymetal.ir import CheckedFunction, Op
from pymetal.ops import TABLE

# Brings the launch kernels and REGISTER macros.
_INDEXING = "c10/metal/indexing.h"


@dataclass(frozen=True)
class Entry:
    """One functor of a file.

    Attributes:
        unrestricted: `checked` before `ir.restrict_callees`.
    """

    checked: CheckedFunction
    arity: Arity
    opmath: bool
    text: FunctorText
    unrestricted: CheckedFunction

    @property
    def registrations(self) -> list[Registration]:
        """The macro calls that register the functor."""
        return registrations(self.checked, self.arity, self.text.scalar_types, self.opmath)

    def formatted(self) -> Entry:
        """The same functor with its text formatted, as it is placed in a file that has other text."""
        return replace(self, text=self.text.formatted())


def headers(checked: CheckedFunction) -> set[str]:
    """The c10 headers that the functor's text needs for itself."""
    return {"c10/metal/utils.h", *(op.header for op in ir.uses(checked) if op.header is not None)}


def preamble(wanted: Iterable[str]) -> str:
    """The lines that a Metal file begins with: it includes these headers, and opens Metal's namespace."""
    includes = "".join(f"#include <{h}>\n" for h in sorted(wanted))
    return f"{includes}#include <metal_stdlib>\n\nusing namespace metal;\n"


def joined(entries: Sequence[Entry]) -> Sequence[Entry]:
    """`entries` as they stand in one file: a function that is typed by its calls has the bodies that all need."""
    texts = {item for entry in entries for item in entry.text.definitions.items()}
    if len({name for name, _ in texts}) == len(texts):
        return entries
    named = ir.restrict_callees(ir.unique_names(tuple(e.unrestricted for e in entries), helper_name))
    called = {callee.name for each in named for callee in ir.callees(each)}
    return [replace(e, checked=c, text=functor_text(c, called=called)) for e, c in zip(entries, named, strict=True)]


def metal_file(entries: Sequence[Entry]) -> str:
    """The text of a file with `entries`: self-contained, ASCII, the same bytes for the same input."""
    entries = joined(entries)
    wanted = {_INDEXING}.union(*(headers(e.checked) for e in entries))
    blocks = [lines(e.registrations, e.arity) for e in entries]
    helpers = dict.fromkeys(h for _, used in blocks for h in used)
    release, reason = required_release(entries)
    note = f"// Needs torch {release[0]}.{release[1]}: {reason}.\n\n" if release > (2, 8) else ""
    parts = [
        note + preamble(wanted),
        *_definitions(entries).values(),
        *(definition(h) for h in helpers),
        *("".join(f"{line}\n" for line in block) for block, _ in blocks),
    ]
    return format_metal("\n".join(parts))


def _definitions(entries: Sequence[Entry]) -> dict[str, str]:
    """The definitions of all functors, each once.

    Raises:
        CallError: two definitions of one name have different texts.
    """
    definitions: dict[str, str] = {}
    for entry in entries:
        for name, text in entry.text.definitions.items():
            if definitions.setdefault(name, text) != text:
                raise CallError(f"two different functions of the file are called {name}", hint="Rename one of them.")
    return definitions


def needs(checked: CheckedFunction) -> list[tuple[str, tuple[int, int]]]:
    """What a functor's text calls that not every supported torch release has, with the first that has it."""
    used = sorted(ir.uses(checked), key=lambda op: op.name)
    return [(_written(op), op.since) for op in used if op.since > (2, 8)]


def _written(op: Op) -> str:
    """The name by which a body reaches a row, which may be one that stands in for another kind of operand."""
    stands_for = (row for row in TABLE.values() if op in row.overloads)
    return next(stands_for, op).name


def required_release(entries: Iterable[Entry]) -> tuple[tuple[int, int], str]:
    """The first torch release whose headers have everything that the registered form of `entries` uses, and what."""
    found = [((2, 8), "c10/metal")]
    for entry in entries:
        found += [(c.macro.since, c.macro.name) for c in entry.registrations if c.macro is not entry.arity.castout]
        found += [(since, name) for name, since in needs(entry.checked)]
    return max(found)
