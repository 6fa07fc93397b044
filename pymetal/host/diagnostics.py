"""A compiler's complaints -> the message that a Metal programmer should see."""

from __future__ import annotations

import re
from pathlib import Path

from pymetal.errors import MetalSyntaxError

SHIM = Path(__file__).parent / "shim"
SOURCE_NAME = "program_source"
MAXIMUM_ERRORS = 5

_LINE = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?P<kind>fatal error|error|note): (?P<text>.*)$")
_VECTOR = re.compile(r"(?:metal::)?vec<(\w+), ([234])>")
_WORDS = [
    (re.compile(r"\b__constant const\b|\bconst __constant\b|\b__constant\b"), "constant"),
    (re.compile(r"\b__global\b"), "device"),
    (re.compile(r"\b__local\b"), "threadgroup"),
    (re.compile(r"\b_Float16\b"), "half"),
    (re.compile(r"\bunsigned char\b"), "uchar"),
    (re.compile(r"\bunsigned short\b"), "ushort"),
    (re.compile(r"\bunsigned int\b"), "uint"),
    (re.compile(r"\bunsigned long\b"), "ulong"),
    (re.compile(r"generic address space"), "thread address space"),
    (re.compile(r"static assertion failed due to requirement '[^']*': "), ""),
    (re.compile(r"static assertion failed: "), ""),
    (re.compile(r"call to '.*' declared with 'error' attribute: "), ""),
    (re.compile(r"'(?:pymetal_host::)?(?:div|shift)_lhs<(.*?)>'"), r"'\1'"),
    (re.compile(r"'pymetal_sig_\d+' "), ""),
    (re.compile(r" \(aka '[^']*'\)"), ""),
    (
        re.compile(r"address of overloaded function ('\w+') cannot be static_cast to type.*"),
        r"explicit instantiation of \1 does not match the template's parameters",
    ),
    (
        re.compile(r"no previous extern declaration for non-static variable ('\w+')"),
        r"program scope variable \1 must be in the constant address space",
    ),
    (re.compile(r" \[-W[^\]]*\]$"), ""),
]


def in_metal_words(text: str) -> str:
    """A message with C++ spellings of types and address spaces replaced by Metal's."""
    for pattern, replacement in _WORDS:
        text = pattern.sub(replacement, text)
    return _VECTOR.sub(r"\1\2", text)


def _is_internal(file: str) -> bool:
    return file.startswith((str(SHIM), "<"))


def _column(match: re.Match[str], lines: list[str]) -> str:
    """``:column`` if the compiler's column is one of the user's line: macros and rewriting move columns."""
    line, column = int(match["line"]), int(match["column"])
    if match["file"] != SOURCE_NAME or not 0 < line <= len(lines):
        return ""
    words = re.findall(r"'(\w+)'", match["text"])
    return f":{column}" if any(lines[line - 1].startswith(word, column - 1) for word in words) else ""


def clean(stderr: str, source: str) -> str:
    """At most a few errors, each at a line of the user's, without the host device's own files."""
    lines = source.splitlines()
    shown: list[str] = []
    matches = [match for match in map(_LINE.match, stderr.splitlines()) if match is not None]
    for number, match in enumerate(matches):
        if match["kind"] == "note" or "identifier 'pymetal_" in match["text"]:
            continue
        where = match
        if _is_internal(match["file"]):
            for note in matches[number + 1 :]:
                if note["kind"] != "note":
                    break
                if not _is_internal(note["file"]):
                    where = note
                    break
        place = "" if _is_internal(where["file"]) else f"{where['file']}:{where['line']}{_column(where, lines)}: "
        entry = f"{place}error: {in_metal_words(match['text'])}"
        at = int(where["line"])
        if where["file"] == SOURCE_NAME and 0 < at <= len(lines):
            entry += f"\n    {lines[at - 1].strip()}"
        if match["text"].startswith("no matching"):
            following = (m["text"] for m in matches[number + 1 :] if m["kind"] == "note")
            candidate = next((text for text in following if "not viable" in text), None)
            entry += f"\n    {in_metal_words(candidate)}" if candidate else ""
        if entry not in shown:
            shown.append(entry)
        if len(shown) == MAXIMUM_ERRORS:
            break
    return "\n".join(shown)


def compile_error(stderr: str, source: str) -> MetalSyntaxError:
    """The exception for a failed compilation."""
    message = clean(stderr, source)
    return MetalSyntaxError(message or "the compiler failed without a diagnostic:\n" + stderr.strip()[-2000:])
