"""From a line of Metal back to the line of Python it was made of, for what a Metal compiler says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pymetal.errors import Span


@dataclass(frozen=True)
class Origin:
    """The text of a statement without its white space, which layout may change, and its place in Python."""

    text: str
    span: Span


def squeezed(text: str) -> str:
    """`text` without white space."""
    return "".join(text.split())


def locate(source: str, line: int, spans: Sequence[Origin]) -> Span | None:
    """The place in Python behind a line of `source`.

    Args:
        line: counted from 1.
        spans: of the statements in `source`, in the order of the text.
    """
    lines = source.splitlines()
    if not 0 < line <= len(lines):
        return None
    whole = squeezed(source)
    wanted = len(squeezed("\n".join(lines[: line - 1])))
    found: Span | None = None
    at = 0
    for origin in spans:
        start = whole.find(origin.text, at)
        if start < 0 or start > wanted + len(squeezed(lines[line - 1])) - 1:
            break
        at = start + 1
        end = start + len(origin.text)
        found = origin.span if end > wanted else None
    return found
