"""Writing text to a file as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pymetal import atomic
from pymetal.functor import Functor
from pymetal.runtime.operation import metal_text


def emit(functors: Iterable[Functor] | Functor, path: str | os.PathLike[str]) -> str:
    """Writes one `.metal` file with all of `functors` and returns its text.

    The file is written beside its place and moved there, so that it is never half-written; a file with the same text is
    left alone.

    Raises:
        CallError: there is no functor, or two have one name.
        OSError: the file cannot be written.
    """
    text = metal_text([functors] if isinstance(functors, Functor) else functors)
    write_whole(Path(path), text)
    return text


def write_whole(path: Path, text: str) -> None:
    """Puts a file with `text` at `path`; keeps the mode of a file that is there, and one with this text as it is."""
    try:
        if path.read_text(encoding="utf-8") == text:
            return
        mode = path.stat().st_mode & 0o7777
    except (OSError, UnicodeDecodeError):
        umask = os.umask(0)
        os.umask(umask)
        mode = 0o666 & ~umask
    atomic.replace(path, text.encode(), mode)
