"""Writing a file whole or not at all: beside its place, flushed to the disk, then moved there."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write_new(path: Path, content: bytes, mode: int) -> None:
    """Writes a file that must not exist yet, through to the disk.

    Raises:
        OSError: it exists, or cannot be written.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.chmod(path, mode)
        os.fsync(handle)


def replace(path: Path, content: bytes, mode: int, prefix: str = ".") -> None:
    """Puts a file with `content` in the place of `path`, whether there is one or not.

    Args:
        prefix: how the name of the temporary file in the same folder begins.

    Raises:
        OSError: it cannot be written; what was there is unchanged.
    """
    temporary = path.with_name(f"{prefix}{secrets.token_hex(8)}-{path.name}")
    try:
        write_new(temporary, content, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
