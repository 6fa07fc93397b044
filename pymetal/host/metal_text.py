"""Brackets and line numbers of preprocessed Metal text."""

from __future__ import annotations

import re

from pymetal.errors import MetalSyntaxError

LINE = re.compile(r'^#(?:line)? (\d+) "((?:[^"\\]|\\.)*)"[^\n]*\n', re.MULTILINE)


def place(text: str, at: int) -> str:
    """``file:line`` of an offset into preprocessed text, by its line markers."""
    line, file, start = 1, "program_source", 0
    for match in LINE.finditer(text, 0, at):
        line, file, start = int(match[1]), match[2], match.end()
    return f"{file}:{line + text.count(chr(10), start, at)}"


def match_bracket(text: str, at: int) -> int:
    """The offset after the bracket that closes the one at `at`; round, square, curly or angle."""
    pairs = {"(": ")", "[": "]", "{": "}", "<": ">"}
    stack = [pairs[text[at]]]
    position = at + 1
    while stack and position < len(text):
        c = text[position]
        if c == '"' or (c == "'" and not text[position - 1 : position].isdigit()):
            position += 1
            while position < len(text) and text[position] != c:
                position += 2 if text[position] == "\\" else 1
        elif c == stack[-1] and not (c == ">" and text[position - 1] == "-"):
            stack.pop()
        elif c in "([{" or (c == "<" and stack[-1] == ">"):
            stack.append(pairs[c])
        position += 1
    if stack:
        raise MetalSyntaxError(f"{place(text, at)}: error: unbalanced {text[at]!r}")
    return position
