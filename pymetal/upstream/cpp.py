"""C++, Objective-C++ and Metal as text: comments and strings masked, braces matched, macros of the same file expanded.

This reads the few shapes that upstream writes. It is no parser: what it does not recognise it does not find.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from pymetal.errors import PyMetalError

_SKIP = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\\\s]*)\(.*?\)(?P=tag)"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'""", re.DOTALL
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^)]*)\)((?:[^\n]*\\\r?\n)*[^\n]*)", re.MULTILINE)
_OPEN = {"(": ")", "{": "}", "[": "]", "<": ">"}
_FUNCTION = re.compile(r"^(?:[A-Za-z_][\w:<>,*& \t]*?[\s*&])(?P<name>\w+)[ \t]*\(", re.MULTILINE)
_IMPL = re.compile(r"^TORCH_IMPL_FUNC\s*\(\s*(?P<name>\w+)\s*\)", re.MULTILINE)


def masked(text: str, *, strings: bool = True) -> str:
    """`text` with comments, and by default strings, replaced by spaces; every other character keeps its position."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        if not strings and not found.startswith("/"):
            return found
        return re.sub(r"[^\n]", " ", found)

    return _SKIP.sub(blank, text)


def closing(text: str, position: int) -> int:
    """The position of the bracket that closes the one at `position`; `text` is masked.

    Raises:
        PyMetalError: there is none.
    """
    opened, close = text[position], _OPEN[text[position]]
    depth = 0
    for match in re.compile(f"[{re.escape(opened + close)}]").finditer(text, position):
        depth += 1 if match.group() == opened else -1
        if depth == 0:
            return match.start()
    raise PyMetalError(f"the {opened!r} in {_line(text, position)!r} is never closed")


@dataclass(frozen=True)
class Macro:
    """A function-like macro of a file."""

    name: str
    parameters: tuple[str, ...]
    body: str
    start: int
    end: int

    def expanded(self, arguments: list[str]) -> str:
        """The body with `arguments`, token pasting and stringizing done."""
        if len(arguments) != len(self.parameters) and not (self.parameters and self.parameters[-1] == "..."):
            return ""
        values = dict(zip(self.parameters, arguments, strict=False))
        if self.parameters and self.parameters[-1] == "...":
            values["__VA_ARGS__"] = ", ".join(arguments[len(self.parameters) - 1 :])
        text = re.sub(
            r"(?<!#)#[ \t]*(\w+)",
            lambda m: f'"{values[m.group(1)]}"' if m.group(1) in values else m.group(),
            self.body,
        )
        text = re.sub(r"\b\w+\b", lambda m: values.get(m.group(), m.group()), text)
        return re.sub(r"\s*##\s*", "", text)


def macros(text: str) -> dict[str, Macro]:
    """The function-like macros that a file defines."""
    found = {}
    for match in _DEFINE.finditer(masked(text, strings=False)):
        parameters = tuple(p.strip() for p in match[2].split(",") if p.strip())
        # Indented below the #define; what it defines starts a line.
        body = textwrap.dedent(re.sub(r"[ \t]*\\\r?\n", "\n", text[match.start(3) : match.end(3)]))
        found[match[1]] = Macro(match[1], parameters, body, match.start(), match.end())
    return found


@dataclass(frozen=True)
class Invocation:
    """A macro used at the start of a line, outside of definitions."""

    name: str
    arguments: list[str]
    start: int
    end: int  # past the closing bracket, and past a semicolon behind it


def invocations(text: str, names: re.Pattern[str] | None = None) -> Iterator[Invocation]:
    """The calls in upper case that start a line, or follow a semicolon; `names` narrows them."""
    plain = masked(text, strings=False)
    defined = [(m.start, m.end) for m in macros(text).values()]
    for match in re.finditer(r"(?:^|(?<=;))[ \t]*([A-Z][A-Z0-9_]*)[ \t]*\(", plain, re.MULTILINE):
        if names is not None and not names.fullmatch(match[1]):
            continue
        if any(start <= match.start() < end for start, end in defined):
            continue
        close = closing(plain, match.end() - 1)
        arguments = split_arguments(plain[match.end() : close])
        tail = re.match(r"[ \t]*;", plain[close + 1 :])
        yield Invocation(match[1], arguments, match.start(), close + 1 + (tail.end() if tail else 0))


def split_arguments(text: str) -> list[str]:
    """Arguments at commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{<") - (c in ")]}>" and text[i - 1 : i + 1] != "->")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if parts or last else []


@dataclass(frozen=True)
class Function:
    """A function defined at the start of a line, or a `TORCH_IMPL_FUNC`."""

    name: str
    start: int
    body: int  # where the opening brace is
    end: int  # past the closing brace
    text: str  # of the body, comments and strings masked


def functions(text: str) -> list[Function]:
    """The functions that `text` defines at file or namespace level."""
    plain = masked(text)
    found: list[Function] = []
    done = 0
    starts = sorted([*_IMPL.finditer(plain), *_FUNCTION.finditer(plain)], key=lambda m: m.start())
    for match in starts:
        if match.start() < done:
            continue
        if match.re is _IMPL:
            bracket = re.compile(r"\s*\(").match(plain, match.end())
            if bracket is None:
                continue
            opening = bracket.end() - 1
        else:
            opening = match.end() - 1
        try:
            close = closing(plain, opening)
            brace = re.compile(r"\s*(?:const|noexcept|override)*\s*\{").match(plain, close + 1)
            if brace is None:
                continue
            end = closing(plain, brace.end() - 1) + 1
        except PyMetalError:
            continue  # not balanced, such as a definition split by #if: nothing that can be cut out
        found.append(Function(match["name"], match.start(), brace.end() - 1, end, plain[brace.end() : end - 1]))
        done = end
    return found


def expanded(text: str) -> str:
    """`text` with the macros that it defines itself expanded where they start a line; definitions are blanked."""
    known = macros(text)
    for _ in range(4):  # macros that use macros
        parts, at = [], 0
        for call in invocations(text):
            macro = known.get(call.name)
            if macro is not None:
                parts += [text[at : call.start], macro.expanded(call.arguments)]
                at = call.end
        if not parts:
            break
        text = "".join([*parts, text[at:]])
    return _DEFINE.sub("", text)


def with_include(text: str, header: str) -> str:
    """`text` with an `#include`, in its alphabetical place in the file's first block of includes."""
    if re.search(rf"^#include <{re.escape(header)}>", text, re.MULTILINE):
        return text
    block = re.search(r"(?:^#include <[^\n]*\n)+", text, re.MULTILINE)
    if block is None:
        return f"#include <{header}>\n{text}"
    includes = block.group().splitlines(keepends=True)
    at = next((i for i, line in enumerate(includes) if line > f"#include <{header}>"), len(includes))
    includes.insert(at, f"#include <{header}>\n")
    return text[: block.start()] + "".join(includes) + text[block.end() :]


def _line(text: str, position: int) -> str:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return text[start : end if end >= 0 else len(text)].strip()
