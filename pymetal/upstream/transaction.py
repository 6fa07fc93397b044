"""Several files written as one: all of them, or none, also when the process is killed half-way.

The order is: journal with the old contents, new contents beside their places, renames, journal away. Whoever finds a
journal puts the old contents back. A file that somebody edited after the interruption is left alone and reported.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pymetal import atomic
from pymetal.errors import PyMetalError

JOURNAL = ".pymetal-journal.json"
_TEMPORARY_NAME = ".{}.pymetal-new"


def check_inside(root: Path, path: str) -> Path:
    """The file of `path` below `root`.

    Raises:
        PyMetalError: the path leaves the tree, by itself or through a symbolic link, or is a link or no regular file.
    """
    base = Path(os.path.realpath(root))
    parts = path.split("/")
    if os.path.isabs(path) or ".." in parts or "" in parts:
        raise PyMetalError(f"{path!r} is not a path below {base}")
    file = base
    for part in parts:
        file = file / part
        if file.is_symlink():
            target = os.path.realpath(file)
            inside = os.path.commonpath([target, base]) == str(base)
            where = "" if inside else f", outside of {base}"
            raise PyMetalError(
                f"{file.relative_to(base)} is a symbolic link to {target}{where}",
                hint="pymetal writes to regular files only; put a file or folder in its place.",
            )
    if file.exists() and not file.is_file():
        raise PyMetalError(f"{path} is not a regular file")
    return file


def write(root: Path, files: Mapping[str, tuple[bytes | None, bytes]]) -> None:
    """Writes `files`, each given as (expected old bytes, new bytes).

    Raises:
        PyMetalError: a file is not as expected, or cannot be written, or another run is writing. All files are as
            before.
    """
    with _told(root), _locked(root):
        _recover(root)
        for path, (old, _) in files.items():
            if _read(check_inside(root, path)) != old:
                raise PyMetalError(f"{path} changed since the patch was computed", hint="Run the command again.")
        folders = _missing_folders(root, files)
        try:
            _create(_temporary(root / JOURNAL), _record(files, folders), 0o644)
            _replace(root / JOURNAL)
            for folder in folders:
                (root / folder).mkdir()
            for path, (old, new) in files.items():
                file = root / path
                _create(_temporary(file), new, 0o644 if old is None else file.stat().st_mode & 0o7777)
            for path in files:
                _replace(root / path)
        except BaseException:
            _recover(root)
            raise
        os.unlink(root / JOURNAL)
        _sync_folder(root)


def recover(root: Path) -> list[str]:
    """Undoes an interrupted run, if there was one; the files put back.

    Raises:
        PyMetalError: another run is writing, the journal cannot be read, a file was edited since or cannot be written.
    """
    if not (os.path.lexists(root / JOURNAL) or os.path.lexists(_temporary(root / JOURNAL))):
        return []
    with _told(root), _locked(root):
        return _recover(root)


@contextlib.contextmanager
def _told(root: Path) -> Iterator[None]:
    """An error of the operating system as one that says what became of the tree."""
    try:
        yield
    except OSError as error:
        begun = os.path.lexists(root / JOURNAL)
        raise PyMetalError(
            f"{error.filename2 or error.filename or root}: {error.strerror or error}",
            hint="Mend that and run the command again: it puts the files back first."
            if begun
            else "Nothing was changed.",
        ) from error


def _recover(root: Path) -> list[str]:
    journal = root / JOURNAL
    _temporary(journal).unlink(missing_ok=True)  # a journal that was not whole yet: nothing else had begun
    if not os.path.lexists(journal):
        return []
    record = _load(root)
    restored: list[str] = []
    edited: list[str] = []
    for entry in record["files"]:
        file = check_inside(root, entry["path"])
        old = None if entry["old"] is None else base64.b64decode(entry["old"])
        now = _read(file)
        _temporary(file).unlink(missing_ok=True)
        if now == old:
            continue
        if now is None or _digest(now) != entry["new"]:
            edited.append(entry["path"])
            continue
        if old is None:
            os.unlink(file)
        else:
            _create(_temporary(file), old, file.stat().st_mode & 0o7777)
            _replace(file)
        restored.append(entry["path"])
    if edited:
        raise PyMetalError(
            f"an earlier run was interrupted, and these files were edited since: {', '.join(edited)}",
            hint=f"The other files are as before that run. Look at these, then delete {journal}.",
        )
    for folder in reversed(record["folders"]):
        with contextlib.suppress(OSError):
            os.rmdir(root / folder)
    os.unlink(journal)
    _sync_folder(root)
    return restored


def _record(files: Mapping[str, tuple[bytes | None, bytes]], folders: list[str]) -> bytes:
    entries = [
        {"path": path, "old": None if old is None else base64.b64encode(old).decode(), "new": _digest(new)}
        for path, (old, new) in files.items()
    ]
    comment = "An interrupted run of pymetal. Any pymetal upstream command on this tree undoes it."
    return json.dumps({"comment": comment, "folders": folders, "files": entries}).encode()


def _load(root: Path) -> Any:
    file = check_inside(root, JOURNAL)
    try:
        record = json.loads(file.read_bytes())
        for folder in record["folders"]:
            check_inside(root, f"{folder}/{JOURNAL}")
        return {
            "folders": [str(f) for f in record["folders"]],
            "files": [{"path": str(e["path"]), "old": e["old"], "new": str(e["new"])} for e in record["files"]],
        }
    except (ValueError, KeyError, TypeError) as error:
        raise PyMetalError(
            f"{file} is not a journal of pymetal: {error}", hint="Compare the tree with git, then delete the file."
        ) from error


@contextlib.contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Keeps other runs of this user out; the lock ends with the process, however it ends.

    The lock file is in the temporary folder, so that none is left in the checkout.
    """
    key = f"{os.path.expanduser('~')}\0{os.path.realpath(root)}".encode("utf-8", "surrogateescape")
    lock = FileLock(os.path.join(tempfile.gettempdir(), f"pymetal-{_digest(key)[:32]}.lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise PyMetalError(f"another run is writing to {root}", hint="Wait until it ends.") from error
    try:
        yield
    finally:
        lock.release()


def _missing_folders(root: Path, files: Mapping[str, object]) -> list[str]:
    """The folders that the files need and that do not exist, outermost first."""
    wanted = {str(p) for path in files for p in Path(path).parents if str(p) != "."}
    return sorted((p for p in wanted if not (root / p).exists()), key=lambda p: p.count("/"))


def _create(file: Path, content: bytes, mode: int) -> None:
    """Writes a new file, in place of one that an interrupted run left."""
    file.unlink(missing_ok=True)
    atomic.write_new(file, content, mode)


def _replace(file: Path) -> None:
    """Puts what was written beside `file` there."""
    os.replace(_temporary(file), file)
    _sync_folder(file.parent)


def _temporary(file: Path) -> Path:
    return file.with_name(_TEMPORARY_NAME.format(file.name))


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows opens no folders
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
