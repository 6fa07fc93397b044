"""Refuses what clang accepts and Metal does not, and what the host device cannot run, by name and line.

Only the user's own text is looked at: torch's headers define helpers that a kernel need not use.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import PurePath

from pymetal.errors import MetalSyntaxError
from pymetal.host.diagnostics import SHIM
from pymetal.host.rewrite import LINE, match_bracket

_NOT_METAL = "Metal does not have it"
_NOT_HERE = "the host device cannot run it"
_WORDS = {
    "double": "Metal has no double; use float",
    "goto": _NOT_METAL,
    "throw": "Metal has no exceptions",
    "try": "Metal has no exceptions",
    "catch": "Metal has no exceptions",
    "new": "Metal has no heap",
    "virtual": _NOT_METAL,
    "dynamic_cast": _NOT_METAL,
    "typeid": _NOT_METAL,
    "noexcept": _NOT_METAL,
    "thread_local": _NOT_METAL,
    "register": _NOT_METAL,
    "asm": _NOT_METAL,
    "concept": "not before Metal 4",
    "requires": "not before Metal 4",
    "co_await": _NOT_METAL,
    "co_return": _NOT_METAL,
    "co_yield": _NOT_METAL,
    "consteval": _NOT_METAL,
    "vertex": _NOT_HERE,
    "fragment": _NOT_HERE,
    "threadgroup_barrier": "the host device has no barriers",
    "simdgroup_barrier": "the host device has no barriers",
    "sampler": "the host device has no samplers",
}
_PATTERNS = (
    (re.compile(r"\bif\s+constexpr\b"), "if constexpr", "not before Metal 4"),
    (re.compile(r"\b(std)\s*::"), None, "the C++ standard library is not available; use metal::"),
    (re.compile(r"\blong\s+long\b"), "long long", "Metal has no long long; long has 64 bits"),
    (re.compile(r"\b(simd_\w+)\s*\("), None, "the host device has no simdgroup operations"),
    (re.compile(r"\b(quad_\w+)\s*\("), None, "the host device has no quadgroup operations"),
    (
        re.compile(r"\b(simdgroup_\w*(?:matrix|8x8)\w*)"),
        None,
        "the host device has no matrices of simdgroups",
    ),
    (re.compile(r"\b((?:texture|depth)(?:1d|2d|3d|cube|_buffer)\w*)\s*<"), None, "the host device has no textures"),
    (
        re.compile(r"\bthreadgroup\s+(?!\w+\s*[*&])[\w:<>, ]+?\s+(\w+)\s*(?:\[|;|=)"),
        None,
        "the host device has no threadgroup memory",
    ),
    (
        re.compile(r"\bstatic\s+(?!const|constant|constexpr|inline)\w[\w:<>, ]*\s+\w+\s*(?:=|;|\[)"),
        "static variable",
        "it must be in the constant address space",
    ),
    (re.compile(r"\[\s*[=&]"), "lambda expression", "not before Metal 3.2"),
    (re.compile(r"(?:[=(,{;]|\breturn)\s*\[(?!\[)[\w, ]*\]\s*[({]"), "lambda expression", "not before Metal 3.2"),
)
_TYPES = "bool|u?char|u?short|u?int|u?long|half|bfloat|float|size_t|u?int(?:8|16|32|64)_t"
_UNSPACED = re.compile(rf"(?:^|[(,;{{}}<])([^(,;{{}}<]*)\b(?:{_TYPES})[234]?\s*(?:const\s*)?([*&])(?![&=])")
_SPACES = re.compile(r"\b(?:device|constant|threadgroup|thread|ray_data)\b")
_TOKEN = re.compile(r"\b(?:" + "|".join(_WORDS) + r")\b")
_NAME = re.compile(r"\w+")
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
_FUNCTION = re.compile(r"(?<![\w.>])(\w+)\s*\(([^(){};]*)\)\s*(?:const\s*)?\{")


@dataclass(frozen=True)
class _Part:
    """Consecutive lines of one file."""

    file: str
    first: int
    text: str

    def line(self, at: int) -> int:
        return self.first + self.text.count("\n", 0, at)

    @property
    def is_users(self) -> bool:
        return "c10" not in PurePath(self.file).parts


def _parts(preprocessed: str) -> list[_Part]:
    """The text by file, strings emptied; what comes from the shim or the compiler is left out."""
    parts = []
    marks = list(LINE.finditer(preprocessed))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        end = following.start() if following else len(preprocessed)
        if mark.end() < end and not mark[2].startswith(("<", str(SHIM))):
            parts.append(_Part(mark[2], int(mark[1]), _STRING.sub('""', preprocessed[mark.end() : end])))
    return parts


def _refuse(part: _Part, at: int, what: str, why: str) -> MetalSyntaxError:
    return MetalSyntaxError(f"{part.file}:{part.line(at)}: error: {what}: {why}")


def _check(part: _Part) -> None:
    for match in _TOKEN.finditer(part.text):
        raise _refuse(part, match.start(), match[0], _WORDS[match[0]])
    for pattern, what, why in _PATTERNS:
        if found := pattern.search(part.text):
            raise _refuse(part, found.start(), what or found[1], why)
    for match in _UNSPACED.finditer(part.text):
        if not _SPACES.search(match[0]):
            what = "pointer" if match[2] == "*" else "reference"
            raise _refuse(part, match.start(2), what, "its type needs an address space: device, constant or thread")


@functools.cache
def _library_names() -> frozenset[str]:
    return frozenset(name for path in SHIM.glob("*.h") for name in _NAME.findall(path.read_text("ascii")))


def _check_recursion(part: _Part, others: frozenset[str]) -> None:
    """Direct recursion of a function with one definition, whose name no header has: overloads may call each other."""
    definitions = list(_FUNCTION.finditer(part.text))
    names = [match[1] for match in definitions]
    for match in definitions:
        name = match[1]
        if name in ("if", "for", "while", "switch") or names.count(name) > 1:
            continue
        end = match_bracket(part.text, match.end() - 1)
        call = re.compile(rf"(?<![\w.:>]){name}\s*\(").search(part.text, match.end(), end)
        if call is not None and name not in others and name not in _library_names():
            raise _refuse(part, call.start(), name, "Metal has no recursion")


def lint(preprocessed: str) -> None:
    """MetalSyntaxError for the first thing found."""
    parts = _parts(preprocessed)
    others = frozenset(name for part in parts if not part.is_users for name in _NAME.findall(part.text))
    for part in parts:
        if part.is_users:
            _check(part)
            _check_recursion(part, others)
