"""Checks that need a tool: Metal files compile against the checkout's own headers, and clang-format is content."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pymetal.codegen.format import find_clang_format
from pymetal.errors import MetalSyntaxError, PyMetalError, ToolchainError
from pymetal.upstream.checkout import Checkout
from pymetal.upstream.formatting import STYLE, added, formatted

Problem = tuple[str, int, str]


def check_compiles(checkout: Checkout, changed: Mapping[str, str | None]) -> tuple[list[Problem], list[str]]:
    """Compiles the changed Metal files on the host device; problems, and files that could not be judged."""
    problems: list[Problem] = []
    notes: list[str] = []
    for path, before in changed.items():
        if not path.endswith(".metal"):
            continue
        try:
            error = compile_error(checkout, checkout.text(path))
        except ToolchainError as missing:
            return problems, [*notes, f"{path} was not compiled: {missing.message}"]
        if error is None:
            continue
        if before is not None and compile_error(checkout, before) is not None:
            notes.append(f"{path} was not compiled: the host device cannot, not even before the change ({error[1]})")
        else:
            problems.append((path, error[0], f"does not compile: {error[1]}"))
    return problems, notes


def compile_error(checkout: Checkout, source: str) -> tuple[int, str] | None:
    """Where and why Metal text does not compile against the checkout's headers; None if it does.

    Raises:
        ToolchainError: there is no C++ compiler.
    """
    from pymetal.host.library import compile_shader

    try:
        compile_shader(source, include_dirs=[str(checkout.root), str(checkout.root / "aten/src")])
    except MetalSyntaxError as error:
        text = str(error)
        first = next((line for line in text.splitlines() if "error:" in line), text.splitlines()[0])
        place = re.search(r":(\d+)(?::\d+)?: ", first)
        return (int(place[1]) if place else 1), first.split("error:", 1)[-1].strip()
    return None


def check_format(checkout: Checkout, changed: Mapping[str, str | None]) -> tuple[list[Problem], list[str]]:
    """Compares the added lines of Metal and Objective-C++ files with clang-format's layout."""
    paths = [p for p in changed if p.endswith((".metal", ".mm"))]
    if not paths:
        return [], []
    if find_clang_format() is None:
        return [], ["the layout was not checked: there is no clang-format; pip install clang-format"]
    if not (checkout.root / STYLE).is_file():
        return [], [f"the layout was not checked: the checkout has no {STYLE}"]
    problems: list[Problem] = []
    for path in paths:
        text = checkout.text(path)
        neat = formatted(checkout, path, text, added(changed[path], text))
        if neat is None:
            raise PyMetalError(f"clang-format failed on {path}")
        for first, _ in added(neat, text) if neat != text else []:
            problems.append((path, first, "clang-format would lay this line out differently"))
    return problems, []
