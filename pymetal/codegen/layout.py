"""Printed Metal text becomes the text that clang-format makes of it with PyTorch's style.

Statements are printed on one line however long it is; here those beyond 80 columns are broken. PyTorch's linter runs
clang-format over Metal files, and pymetal's text is to pass it unchanged, on machines without clang-format too. So
clang-format's model of a line is followed for what pymetal prints: `layout_annotate` says what a token is taken for,
`layout_rules` where a statement may break and at what cost, `layout_breaks` and `layout_place` what every break does to
the rest, `layout_search` finds the cheapest breaks, and `layout_align` aligns chains of conditionals. Text that this
model does not cover is still laid out as valid text with the same tokens.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pymetal.codegen.layout_comments import reflow
from pymetal.codegen.layout_rules import Statement
from pymetal.codegen.layout_search import Search
from pymetal.codegen.layout_tokens import LIMIT

# What clang-format may take for a cast, `functor{}(x) - y`, or for a template list, `f(a < b, c > d)`.
_MISTAKEN = re.compile(r"\}\([\w:]+\) [-*&]| < .*, .* > ")


# The clang-format of PyTorch's linter since May 2025: 19.1.4.
RELEASE = 19


def layout(text: str, release: int = RELEASE) -> str:
    """`text` with the line breaks of clang-format; lines that fit stay as they are.

    Args:
        text: what the printer wrote, statements on one line each; text that is laid out stays as it is.
        release: of clang-format. From 20 on a call whose only argument is a name is not broken inside, from 22 on
            `else if (` is broken as a call is, from 23 on chains of conditionals are aligned otherwise.
    """
    lines = text.split("\n")
    if max(map(len, lines)) <= LIMIT and not _MISTAKEN.search(text):
        return text
    out: list[str] = []
    blocks: list[bool] = []  # of every block that is open, whether it is a struct's
    position = 0
    while position < len(lines):
        line = lines[position]
        stripped = line.lstrip()
        start = position
        if stripped.startswith("//"):
            indent = len(line) - len(stripped)
            while position < len(lines) and lines[position].startswith(" " * indent + "//"):
                position += 1
            out += reflow(lines[start:position])
        elif not stripped or stripped.startswith("#"):
            position += 1
            while position < len(lines) and lines[position - 1].endswith("\\"):
                position += 1
            out += lines[start:position]
        else:
            position = _end(lines, position)
            if stripped.startswith("}") and blocks:
                blocks.pop()
            out += _statement(lines[start:position], not blocks or blocks[-1], release)
            if lines[position - 1].endswith(" {"):
                blocks.append(_opens_struct(lines[start:position]))
    return "\n".join(out)


def _end(lines: list[str], position: int) -> int:
    """Behind the last line of the statement that begins at `position`."""
    depth = 0
    while position < len(lines):
        line = lines[position].rstrip()
        position += 1
        depth += line.count("(") - line.count(")")
        ends = line.endswith((";", "}")) or (line.endswith(" {") and not line.endswith("= {"))
        if depth <= 0 and ends:
            break
    return position


def _opens_struct(lines: list[str]) -> bool:
    return any(line.lstrip().startswith("struct ") for line in lines)


def _statement(lines: list[str], declaration: bool, release: int) -> list[str]:
    if all(len(line) <= LIMIT and not _MISTAKEN.search(line) for line in lines):
        return lines
    indent = len(lines[0]) - len(lines[0].lstrip())
    return _laid_out("\n".join(line.strip() for line in lines), indent, declaration, release)


@lru_cache(maxsize=1024)
def _laid_out(text: str, indent: int, declaration: bool, release: int) -> list[str]:
    statement = Statement(text, declaration)
    return (" " * indent + Search(statement, indent, release).run()).split("\n")
