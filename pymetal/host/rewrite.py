"""Preprocessed Metal tokens -> tokens that mean the same in C++.

- A floating literal without a suffix is a float (Metal has no double); ``1.0h`` and ``1.0bf`` are half and bfloat.
- Integer division, remainder and shifts go through ``shim/guarded.h``, which gives each operand pair a value.
- Swizzles of several components become calls.
Line numbers do not change.
"""

from __future__ import annotations

import functools
import re

from pymetal.errors import MetalSyntaxError

LINE = re.compile(r'^#(?:line)? (\d+) "((?:[^"\\]|\\.)*)"[^\n]*\n', re.MULTILINE)
_TOKEN = re.compile(
    r"""
    (?P<skip>"(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | ^[ \t]*\#[^\n]*)
  | (?P<number>(?<![\w.])(?:0[xX][0-9a-fA-F.]+(?:[pP][+-]?\d+)?\w* | \.?\d(?:[eE][+-]|[\w.])*))
  | (?P<operator><<=|>>=|<<|>>|/=|%=|/|%)
  | (?P<access>\.|->)\s*(?P<swizzle>[xyzw]{2,4}|[rgba]{2,4})\b(?!\s*\()
    """,
    re.VERBOSE | re.MULTILINE,
)
_INTEGER = re.compile(r"\s*(\d+|0[xX][0-9a-fA-F]+)[uUlL]*\s*(?=[;,)\]}|&^<>:?=])")
_FLOAT = re.compile(r"\s*(\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?(?![\w.])")
_NONZERO = re.compile(r"\s*[1-9]\d*[uUlL]*(?![\w.])")
_ASSIGNS = re.compile(r"\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")
_OPERATOR_NAME = re.compile(r"\boperator\s*$")
_TEMPLATE_OPEN = re.compile(r"\w<|>|<")
_AXES = {"x": 0, "y": 1, "z": 2, "w": 3, "r": 0, "g": 1, "b": 2, "a": 3}


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


def float_literal(text: str) -> str:
    """One numeric literal of Metal, as C++."""
    low = text.lower()
    is_hex = low.startswith("0x")
    if is_hex and "p" not in low:
        return text
    if not is_hex and "." not in low and not re.match(r"\d+e[+-]?\d", low):
        return text
    if low.endswith("bf"):
        return f"bfloat({text[:-2]}f)"
    if low.endswith("h"):
        return f"half({text[:-1]})"
    if low.endswith(("f", "l")) and not (is_hex and "p" not in low):
        return text
    return text + "f"


def _closes_template(text: str, start: int) -> bool:
    """Whether a ``>>`` at `start` ends template argument lists rather than shifting."""
    begin = max(text.rfind(mark, 0, start) for mark in ";{}")
    depth = 0
    for match in _TEMPLATE_OPEN.finditer(text, begin + 1, start):
        token = match[0]
        if token == ">":
            depth = max(0, depth - 1)
        elif len(token) == 2:  # a name directly before: the layout of a template, not of a comparison
            depth += 1
    return depth > 0


def rewrite(text: str) -> str:
    """The text with every rule of this module applied."""
    members = functools.lru_cache(None)(lambda: _member_names(text))

    def operator(match: re.Match[str], token: str) -> str:
        start, end = match.span()
        if _OPERATOR_NAME.search(text, max(0, start - 12), start):
            return token
        if token == ">>" and (text.startswith(">", end) or _closes_template(text, start)):
            return token
        if token in ("/", "/=", "%", "%="):
            # A divisor that is a nonzero literal needs no guard.
            nonzero = _NONZERO.match(text, end) if len(token) == 1 else None
            integer = _INTEGER.match(text, end)
            if _FLOAT.match(text, end) or nonzero or (integer and int(integer[1], 0)):
                return token
            return f"* pymetal_div {token} " if len(token) == 1 else f"->* pymetal_assign {token} "
        count = _INTEGER.match(text, end)
        if count and int(count[1], 0) < 32:
            return token
        return f"{token} pymetal_shift {token} " if len(token) == 2 else f"->* pymetal_assign {token} "

    def replace(match: re.Match[str]) -> str:
        kind = match.lastgroup
        if kind == "number":
            return float_literal(match[0])
        if kind == "operator":
            return operator(match, match[0])
        if kind == "swizzle" and match["swizzle"] not in members():
            axes = ", ".join(str(_AXES[c]) for c in match["swizzle"])
            call = "swizzle_ref" if _ASSIGNS.match(text, match.end()) else "swizzle"
            return f"{match['access']}template {call}<{axes}>()"
        return match[0]

    return _TOKEN.sub(replace, text)


_STRUCT = re.compile(r"\b(?:struct|class|union)\b[^;{}()=]*\{")
_NESTED = re.compile(r"\{[^{}]*\}")
_WORD = re.compile(r"(?<![.>\w])(?:[xyzw]{2,4}|[rgba]{2,4})\b(?=\s*[;,=\[{])")


def _member_names(text: str) -> frozenset[str]:
    """Members of the text's own structs that are spelt like a swizzle, so that ``p.xy`` may be one."""
    found: set[str] = set()
    for match in _STRUCT.finditer(text):
        body = text[match.end() : match_bracket(text, match.end() - 1) - 1]
        if _WORD.search(body) is None:
            continue
        while _NESTED.search(body):  # the bodies of member functions
            body = _NESTED.sub(";", body)
        found.update(_WORD.findall(body))
    return frozenset(found)
