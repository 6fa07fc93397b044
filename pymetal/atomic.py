"""Writing a file whole or not at all: beside its place, flushed to the disk, then moved there."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
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


def write_text(path: Path, text: str) -> None:
    """Replaces the file that `path` leads to, keeping its mode; does nothing if it has this text already.

    A pipe that somebody reads is written to.

    Raises:
        OSError: it is neither a file nor such a pipe, or cannot be written; what was there is unchanged.
    """
    content, target = text.encode(), Path(os.path.realpath(path))
    try:
        found = os.stat(path).st_mode
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return replace(target, content, 0o666 & ~umask)
    if stat.S_ISREG(found):
        if target.read_bytes() != content:
            replace(target, content, stat.S_IMODE(found))
    elif stat.S_ISFIFO(found):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "wb") as pipe:  # fails if nobody reads it
            os.set_blocking(pipe.fileno(), True)
            pipe.write(content)
    elif stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    else:
        raise OSError(errno.EINVAL, "it is neither a file nor a pipe", str(path))
    return None
