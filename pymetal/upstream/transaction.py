"""Several files written as one: all of them, or none, also when the process is killed half-way.

The order is: journal with the old contents, new contents beside their places, renames, journal away. Whoever finds a
journal puts the old contents back. A file that somebody edited after the interruption is left alone and reported.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pymetal import atomic
from pymetal.errors import PyMetalError
from pymetal.upstream import safety

JOURNAL = ".pymetal-journal.json"
_TEMPORARY = ".{}.pymetal-new"


def write(root: Path, files: Mapping[str, tuple[bytes | None, bytes]]) -> None:
    """Writes `files`, each given as (expected old bytes, new bytes).

    Raises:
        PyMetalError: a file is not as expected, or another run is writing. Nothing is written.
        OSError: a file could not be written. Those written before are put back.
    """
    with _alone(root):
        _recover(root)
        for path, (old, _) in files.items():
            if _read(safety.check_inside(root, path)) != old:
                raise PyMetalError(f"{path} changed since the patch was computed", hint="Run the command again.")
        folders = _missing_folders(root, files)
        try:
            _create(_beside(root / JOURNAL), _record(files, folders), 0o644)
            _move(root / JOURNAL)
            for folder in folders:
                (root / folder).mkdir()
            for path, (old, new) in files.items():
                place = root / path
                _create(_beside(place), new, 0o644 if old is None else place.stat().st_mode & 0o7777)
            for path in files:
                _move(root / path)
        except BaseException:
            _recover(root)
            raise
        os.unlink(root / JOURNAL)
        _sync_folder(root)


def recover(root: Path) -> list[str]:
    """Undoes an interrupted run, if there was one; the files put back.

    Raises:
        PyMetalError: another run is writing, the journal cannot be read, or a file was edited since.
    """
    if not (os.path.lexists(root / JOURNAL) or os.path.lexists(_beside(root / JOURNAL))):
        return []
    with _alone(root):
        return _recover(root)


def _recover(root: Path) -> list[str]:
    journal = root / JOURNAL
    _discard(_beside(journal))  # a journal that was not whole yet: nothing else had begun
    if not os.path.lexists(journal):
        return []
    record = _load(root)
    restored: list[str] = []
    edited: list[str] = []
    for entry in record["files"]:
        place = safety.check_inside(root, entry["path"])
        old = None if entry["old"] is None else base64.b64decode(entry["old"])
        now = _read(place)
        _discard(_beside(place))
        if now == old:
            continue
        if now is None or _digest(now) != entry["new"]:
            edited.append(entry["path"])
            continue
        if old is None:
            os.unlink(place)
        else:
            _create(_beside(place), old, place.stat().st_mode & 0o7777)
            _move(place)
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
    place = safety.check_inside(root, JOURNAL)
    try:
        record = json.loads(place.read_bytes())
        return {
            "folders": [str(f) for f in record["folders"]],
            "files": [{"path": str(e["path"]), "old": e["old"], "new": str(e["new"])} for e in record["files"]],
        }
    except (ValueError, KeyError, TypeError) as error:
        raise PyMetalError(
            f"{place} is not a journal of pymetal: {error}", hint="Compare the tree with git, then delete the file."
        ) from error


@contextlib.contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Keeps other runs out; the lock goes with the process, however it ends."""
    folder = os.open(root, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise PyMetalError(f"another run is writing to {root}", hint="Wait until it ends.") from error
        yield
    finally:
        os.close(folder)


def _missing_folders(root: Path, files: Mapping[str, object]) -> list[str]:
    """The folders that the files need and that do not exist, outermost first."""
    wanted = {str(p) for path in files for p in Path(path).parents if str(p) != "."}
    return sorted((p for p in wanted if not (root / p).exists()), key=lambda p: p.count("/"))


def _create(place: Path, content: bytes, mode: int) -> None:
    """Writes a new file, in the place of one that an interrupted run left."""
    _discard(place)
    atomic.write_new(place, content, mode)


def _move(place: Path) -> None:
    """Puts what was written beside `place` there."""
    os.replace(_beside(place), place)
    _sync_folder(place.parent)


def _beside(place: Path) -> Path:
    return place.with_name(_TEMPORARY.format(place.name))


def _read(place: Path) -> bytes | None:
    try:
        return place.read_bytes()
    except FileNotFoundError:
        return None


def _discard(place: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(place)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
