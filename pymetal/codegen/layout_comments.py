"""Line comments that are too long are broken between words, and what is broken off flows into the line below."""

from __future__ import annotations

import re

from pymetal.codegen.layout_tokens import LIMIT

_PREFIX = re.compile(r"(?://[/!]<|///|//!|//:|//) *")
_NUMBERED = re.compile(r"[1-9][0-9]?\.")
_LIST_ITEM = re.compile(r"@|\\|TODO|FIXME|XXX|-# |- |\+ |\* |[1-9][0-9]?\. ")
_PRAGMA = re.compile(r" IWYU pragma:")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def reflow(lines: list[str]) -> list[str]:
    """The lines of one comment, all with the same indentation, within the column limit."""
    if all(len(line) <= LIMIT for line in lines):
        return lines
    indent = len(lines[0]) - len(lines[0].lstrip())
    prefixes, contents = [], []
    for line in lines:
        text = line.strip()
        match = _PREFIX.match(text)
        prefix = match[0] if match is not None else "//"
        prefixes.append(" " * indent + (prefix if len(prefix) < len(text) else prefix.rstrip()))
        contents.append(text[len(prefix) :])
    if _PRAGMA.match(lines[0].strip()[2:]) or contents[0].startswith("clang-format o"):
        return lines
    out = [prefixes[0]]
    flowing = False
    rest, column = contents[0], len(prefixes[0])  # what is left of the line, and where it begins
    for index in range(len(lines)):
        broken = False
        flow_on = flowing
        while column + len(rest) > LIMIT:
            split = _split(rest, column)
            if split is None:
                break
            before, after = split
            following = _split(rest[after:], column + before + 1)
            whole = len(rest) if following is None else after + following[0]
            if column + whole + 1 - (after - before) <= LIMIT:
                # It would fit with one space where there are several.
                out[-1] += rest[:before] + " "
                rest, column, flow_on = rest[after:], column + before + 1, True
                continue
            out[-1] += rest[:before]
            out.append(prefixes[index])
            rest, column = rest[after:], len(prefixes[index])
            broken = True
        out[-1] += rest
        if index + 1 == len(lines):
            break
        flowing = False
        content = contents[index + 1]
        if (flow_on or broken) and _may_flow(content) and prefixes[index + 1] == prefixes[index]:
            start = column + len(rest) + 1
            split = _split(content, start)
            if start + len(content) <= LIMIT or (split is not None and start + split[0] <= LIMIT):
                flowing = True
                out[-1] += " "
                rest, column = content, start
        if not flowing:
            out.append(prefixes[index + 1])
            rest, column = content, len(prefixes[index + 1])
    return [line.rstrip() for line in out]


def _split(text: str, column: int) -> tuple[int, int] | None:
    """Where a line that begins at `column` is broken: the end of its first part and the start of its second."""
    if column + 1 >= LIMIT:
        return None
    most = min(LIMIT - column + 1, len(text))
    space = text.rfind(" ", 0, most)
    while space >= 0:
        before = text[:space].rstrip()
        if before.endswith("\\"):
            space = text.rfind(" ", 0, len(before))
        elif _NUMBERED.match(text[space:].lstrip()):
            space = text.rfind(" ", 0, space)
        else:
            break
    if space < 0 or not text[:space].strip():
        if not text.strip():
            return None
        space = text.find(" ", max(most, len(text) - len(text.lstrip())))
    if space <= 0 or (space == 1 and text[0] == "*"):
        return None
    return len(text[:space].rstrip()), len(text) - len(text[space:].lstrip())


def _may_flow(content: str) -> bool:
    """Whether a line may be joined to the one above: it is text, and no item of a list."""
    content = content.strip()
    if len(content) < 2 or _LIST_ITEM.match(content) or content.endswith("\\"):
        return False
    return content[0] not in _PUNCTUATION or content[1] not in _PUNCTUATION
