"""A compiler's complaints -> the message that a Metal programmer should see."""

from __future__ import annotations

import re
from pathlib import Path

from pymetal.errors import MetalSyntaxError

SHIM = Path(__file__).parent / "host_shim"
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
    (re.compile(r"address space 'device'"), "address space device"),
    (re.compile(r"'(?:pymetal_host::)?(?:div|shift)_lhs<(.*?)>'"), r"'\1'"),
    (re.compile(r"\s*\('[^']*' \(aka '[^']*'\)\)"), ""),
]


def in_metal_words(text: str) -> str:
    """A message with C++ spellings of types and address spaces replaced by Metal's."""
    for pattern, replacement in _WORDS:
        text = pattern.sub(replacement, text)
    return _VECTOR.sub(r"\1\2", text)


def _is_internal(file: str) -> bool:
    return file.startswith((str(SHIM), "<"))


def clean(stderr: str, source: str) -> str:
    """At most a few errors, each at a line of the user's, without the host device's own files."""
    lines = source.splitlines()
    shown: list[str] = []
    matches = [match for match in map(_LINE.match, stderr.splitlines()) if match is not None]
    for number, match in enumerate(matches):
        if match["kind"] == "note":
            continue
        where = match
        if _is_internal(match["file"]):
            for note in matches[number + 1 :]:
                if note["kind"] != "note":
                    break
                if not _is_internal(note["file"]):
                    where = note
                    break
        place = f"{where['file']}:{where['line']}:{where['column']}: " if not _is_internal(where["file"]) else ""
        entry = f"{place}error: {in_metal_words(match['text'])}"
        at = int(where["line"])
        if where["file"] == SOURCE_NAME and 0 < at <= len(lines):
            entry += f"\n    {lines[at - 1].strip()}"
        if entry not in shown:
            shown.append(entry)
        if len(shown) == MAXIMUM_ERRORS:
            break
    return "\n".join(shown)


def compile_error(stderr: str, source: str) -> MetalSyntaxError:
    """The exception for a failed compilation."""
    message = clean(stderr, source)
    return MetalSyntaxError(message or "the compiler failed without a diagnostic:\n" + stderr.strip()[-2000:])
