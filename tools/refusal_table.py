"""Fills in docs/refusals.md: the index, and under each refused example its message.

The examples are written by hand on the page itself. A block of Python that is followed by a block of text is refused,
and the text is its message; every other block of Python shows what to write instead, and is accepted.

    python tools/refusal_table.py            rewrites the page
    python tools/refusal_table.py --check    exits with 1 if the page is not what would be written
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import pymetal
from pymetal import PyMetalError
from pymetal.frontend.refusals import REFUSALS

PAGE = Path(__file__).parents[1] / "docs" / "refusals.md"
_BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<message>.*?)```\n)?", re.DOTALL)
_SECTION = re.compile(r"^## (PM\d{3}): (.*)$", re.MULTILINE)
_INDEX = re.compile(r"(?<=<!-- index -->\n).*?(?=<!-- end of index -->)", re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A block of Python of the page."""

    code: str
    message: str | None  # as the page has it; None for an accepted example


@dataclass(frozen=True)
class Section:
    """The part of the page about one refusal."""

    number: str
    title: str
    examples: tuple[Example, ...]


def sections(page: str) -> Iterator[Section]:
    """The refusals of the page, in order."""
    _, *parts = _SECTION.split(page)
    for number, title, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        yield Section(number, title, tuple(Example(m["code"], m["message"]) for m in _BLOCK.finditer(text)))


def names() -> dict[str, Any]:
    """The names that the page says every example can use without an import."""
    types = {n: getattr(pymetal, n) for n in pymetal.__all__ if n in _TYPES}
    return {"math": math, "torch": torch, "pymetal": pymetal, "metal": pymetal.metal, "__name__": "functor", **types}


_TYPES = ("T", "Real", "Floating", "Integral", "Signed", "Unsigned", "Complex", "ComplexOf", "RealOf", "OpMath")


def run(code: str, folder: Path) -> dict[str, Any]:
    """Runs an example as a file `functor.py`; the names that it defines."""
    path = Path(tempfile.mkdtemp(dir=folder)) / "functor.py"
    path.write_text(code, encoding="utf-8")
    namespace = names()
    exec(compile(code, str(path), "exec", dont_inherit=True), namespace)
    return namespace


def message(code: str, folder: Path) -> str | None:
    """The message with which an example is refused, or None if it is accepted."""
    try:
        run(code, folder)
    except PyMetalError as error:
        return re.sub(r"\S*functor\.py", "functor.py", str(error)) + "\n"
    return None


def filled(page: str, folder: Path) -> str:
    """The page with its index and its messages as they are now."""

    def fill(match: re.Match[str]) -> str:
        if match["message"] is None:
            return match[0]
        return f"```python\n{match['code']}```\n\n```text\n{message(match['code'], folder) or 'accepted'}```\n"

    rows = [f"| [{s.number}](#{_anchor(s)}) | {s.title} |\n" for s in sections(page)]
    index = "\n| number | what is refused |\n|---|---|\n" + "".join(rows) + "\n"
    return _INDEX.sub(lambda _: index, _BLOCK.sub(fill, page))


def _anchor(section: Section) -> str:
    """The anchor that GitHub gives a heading."""
    plain = re.sub(r"[^\w\s-]", "", f"{section.number}: {section.title}".lower())
    return plain.replace(" ", "-")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something would change")
    check = parser.parse_args(arguments).check
    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        new = filled(page, Path(folder))
    documented = {s.number for s in sections(page)}
    missing = [row.code for row in REFUSALS.values() if row.code not in documented]
    for code in missing:
        print(f"docs/refusals.md has no section for {code}", file=sys.stderr)
    if not check:
        PAGE.write_text(new, encoding="utf-8")
    elif new != page:
        print("docs/refusals.md is not up to date: run tools/refusal_table.py", file=sys.stderr)
    return int(bool(missing) or (check and new != page))


if __name__ == "__main__":
    sys.exit(main())
