"""`pymetal explain PM024`: what a refusal means, examples with their messages, and what to write instead."""

from __future__ import annotations

import argparse
import re
import textwrap
from pathlib import Path

from pymetal.cli import UsageError
from pymetal.errors import nearest

PAGE = Path(__file__).parent / "refusals.md"  # a link to the page of docs/, of which an installed pymetal has a copy
_SECTION = re.compile(r"^## (PM\d{3}): (.*)\n", re.MULTILINE)
_BLOCK = re.compile(r"^```\w+\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("number", metavar="PMnnn", nargs="?", help="the number that a message of pymetal starts with")
    parser.add_argument("--list", action="store_true", help="list all numbers, as without one")


def run(args: argparse.Namespace) -> int:
    """Prints a section of the page, or the list of them; returns the exit code."""
    _, *parts = _SECTION.split(PAGE.read_text(encoding="utf-8"))
    titles, texts = dict(zip(parts[::3], parts[1::3], strict=True)), dict(zip(parts[::3], parts[2::3], strict=True))
    if args.list or args.number is None:
        print(*(f"{number}  {title}" for number, title in titles.items()), sep="\n")
        return 0
    digits = re.fullmatch(r"(?:PM)?(\d{1,3})", args.number, re.IGNORECASE)
    if digits is None:
        page = "functor.explain(x) describes a call, in Python"
        if re.fullmatch(r"PC\d+", args.number, re.IGNORECASE):
            page = "docs/check.md describes what `pymetal check` finds"
        raise UsageError(f"{args.number} is not the number of a refusal; {page}")
    number = f"PM{int(digits[1]):03d}"
    if number not in titles:
        near = nearest(number, titles)
        raise UsageError(
            f"no refusal has the number {number}"
            + (f"; did you mean {near}: {titles[near]}?" if near else "; `pymetal explain` lists them")
        )
    text = _BLOCK.sub(lambda block: textwrap.indent(block[1], "    "), texts[number])
    print(f"{number}: {titles[number]}", text.strip("\n"), sep="\n\n")
    return 0
