"""Metal text formatted by clang-format with PyTorch's style, which is in `clang-format.yaml`.

Text that is emitted or placed in a checkout is formatted; text that is compiled for a call is not.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import warnings
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

OLDEST = (19, 1)  # The release of PyTorch's linter; layouts of older ones differ.
_STYLE = Path(__file__).with_name("clang-format.yaml")
_warned = False
_hanging: set[str] = set()  # programs that did not end in time: they are not run again


class ClangFormat(NamedTuple):
    """An installed clang-format."""

    path: str
    release: tuple[int, int]


@cache
def find_clang_format() -> ClangFormat | None:
    """The clang-format of the Python package of that name, else the one on PATH.

    The package's command is a Python script, which takes ten times as long to start as the binary beside it.
    """
    try:
        package = metadata.distribution("clang-format")
    except metadata.PackageNotFoundError:
        pass
    else:
        folder = str(package.locate_file("clang_format/data/bin"))
        if path := shutil.which("clang-format", path=folder):
            return ClangFormat(path, _release(package.version or ""))
    path = shutil.which("clang-format")
    try:
        return ClangFormat(path, _release(_output([path, "--version"]))) if path else None
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def format_metal(text: str) -> str:
    """`text` formatted; as it is, with one warning in each process, if there is no clang-format that can do it."""
    tool = find_clang_format()
    if tool is None:
        return _unformatted(text, "no clang-format was found")
    if tool.release < OLDEST:
        return _unformatted(text, "clang-format {}.{} is installed, which is older than 19.1".format(*tool.release))
    if tool.path in _hanging:
        return text
    try:
        return _formatted(tool.path, text)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        if isinstance(error, subprocess.TimeoutExpired):
            _hanging.add(tool.path)
        return _unformatted(text, f"{tool.path} failed: {getattr(error, 'stderr', None) or error}")


def same_text(a: str, b: str) -> bool:
    """True if two pieces of code differ in white space between tokens and in line breaks of comments only."""
    return _tokens(a) == _tokens(b)


def _tokens(text: str) -> list[str]:
    """The tokens of a text, words of comments marked as such; a directive of the preprocessor ends with its line."""
    tokens: list[str] = []
    for line in text.splitlines():
        code, _, comment = line.partition("//")
        tokens += re.findall(r"\w+|\S", code)
        tokens += [f"//{word}" for word in comment.split()]
        tokens += ["end of directive"] if code.lstrip().startswith("#") and not line.endswith("\\") else []
    return tokens


@lru_cache(maxsize=256)
def _formatted(path: str, text: str) -> str:
    out = _output([path, f"--style=file:{_STYLE}", "--assume-filename=kernel.metal"], text)
    if not same_text(out, text):
        raise ValueError("its output has other tokens than its input")
    return out


def _output(command: list[str], text: str = "") -> str:
    return subprocess.run(command, input=text, capture_output=True, check=True, encoding="utf-8", timeout=60).stdout


def _release(version: str) -> tuple[int, int]:
    found = re.search(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _unformatted(text: str, reason: str) -> str:
    global _warned
    if not _warned:
        _warned = True
        hint = "emitted Metal is not formatted; pip install 'clang-format>=19.1'"
        warnings.warn(f"{reason.strip()}: {hint}", stacklevel=3)
    return text
