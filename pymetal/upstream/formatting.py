"""clang-format over the lines that an edit added, in the style that the checkout itself asks for."""

from __future__ import annotations

import difflib
import subprocess
from collections.abc import Mapping

from pymetal.codegen.format import OLDEST, find_clang_format, same_text
from pymetal.errors import PyMetalError
from pymetal.upstream.checkout import Checkout

STYLE = ".clang-format"
Ranges = list[tuple[int, int]]


def added(old: str | None, new: str) -> Ranges:
    """The line ranges of `new`, counted from 1 and inclusive, that are not in `old`."""
    before = (old or "").split("\n")
    after = new.split("\n")
    if not new:
        return []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [(j1 + 1, j2) for tag, _, _, j1, j2 in matcher.get_opcodes() if tag in ("insert", "replace")]


def formatted(checkout: Checkout, path: str, text: str, ranges: Ranges) -> str | None:
    """`text` with the lines in `ranges` as clang-format lays them out; None if that cannot be told.

    It cannot without a clang-format that is new enough and works, and without a style in the checkout.
    """
    tool = find_clang_format()
    if tool is None or tool.release < OLDEST or not (checkout.root / STYLE).is_file():
        return None
    if not ranges:
        return text
    lines = [f"--lines={first}:{last}" for first, last in ranges]
    # The section of the style is chosen by the file's suffix: .mm is Objective-C, 120 columns.
    command = [tool.path, "--style=file", f"--assume-filename={checkout.root / path}", *lines]
    try:
        done = subprocess.run(
            command, input=text.encode("utf-8", "surrogateescape"), capture_output=True, check=True,
            cwd=checkout.root, timeout=60,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    neat = done.stdout.decode("utf-8", "surrogateescape")
    return neat if same_text(neat, text) else None


def format_edits(checkout: Checkout) -> bool:
    """Formats what the edits added to Metal and Objective-C++ files; False if there is no clang-format to do it."""
    done = True
    for path in checkout.changed:
        if not path.endswith((".metal", ".mm")):
            continue
        text = checkout.text(path)
        neat = formatted(checkout, path, text, added(checkout.original(path), text))
        if neat is None:
            done = False
        else:
            checkout.write(path, neat)
    return done


def check_format(checkout: Checkout, changed: Mapping[str, str | None]) -> tuple[list[tuple[str, int, str]], list[str]]:
    """Compares the added lines of Metal and Objective-C++ files with clang-format's layout.

    Returns:
        Lines that differ, as (path, line, message), and why nothing could be compared.
    """
    paths = [p for p in changed if p.endswith((".metal", ".mm"))]
    if not paths:
        return [], []
    tool = find_clang_format()
    if tool is None or tool.release < OLDEST:
        return [], ["the layout was not checked: there is no clang-format from 19.1 on; pip install clang-format"]
    if not (checkout.root / STYLE).is_file():
        return [], [f"the layout was not checked: the checkout has no {STYLE}"]
    problems = []
    for path in paths:
        text = checkout.text(path)
        neat = formatted(checkout, path, text, added(changed[path], text))
        if neat is None:
            raise PyMetalError(f"clang-format failed on {path}")
        for first, _ in added(neat, text) if neat != text else []:
            problems.append((path, first, "clang-format would lay this line out differently"))
    return problems, []
