"""Writing text to a file as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

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
    """Writes `text` to `path` by way of a temporary file in the same folder; keeps the mode of a file that is there."""
    try:
        if path.read_text(encoding="utf-8") == text:
            return
        mode = path.stat().st_mode & 0o7777
    except (OSError, UnicodeDecodeError):
        mode = None
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, mode if mode is not None else 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
