"""A folder of files by content key, on disk: private, atomic, checked before use, bounded in size.

An entry is one file ``<key>.<suffix>`` and a ``<key>.<suffix>.sum`` beside it with the SHA-256 of its bytes. An entry
whose sum is missing or wrong does not exist. Several processes may use one folder: files appear by rename only.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import shutil
import stat
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import platformdirs

from pymetal import atomic
from pymetal.errors import DeviceError

DEFAULT_LIMIT = 1 << 30
SUM = ".sum"
TEMPORARY = "tmp-"
ABANDONED = 3600.0  # seconds after which a temporary file or folder has no owner


def default_folder() -> Path:
    """Where the cache lives: PYMETAL_CACHE_DIR, else the platform's folder for a user's caches."""
    with contextlib.suppress(RuntimeError):  # there is no home
        named = os.environ.get("PYMETAL_CACHE_DIR") or platformdirs.user_cache_dir("pymetal", appauthor=False)
        folder = os.path.expanduser(named)
        if not folder.startswith("~"):
            return Path(os.path.abspath(folder))  # the process may change its own
    return Path(os.devnull, "no-home")  # proves unusable


def _limit() -> int:
    """PYMETAL_CACHE_BYTES if it is a number, else one gibibyte."""
    try:
        return max(0, int(os.environ["PYMETAL_CACHE_BYTES"]))
    except (KeyError, ValueError):
        return DEFAULT_LIMIT


def _is_private(folder: Path) -> bool:
    """Whether nobody else can have put a file into the folder."""
    info = os.lstat(folder)
    if not stat.S_ISDIR(info.st_mode):
        return False
    return os.name == "nt" or (info.st_uid == os.getuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _usable(folder: Path) -> bool:
    """Make the folder if needed; whether files can be kept there."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(folder):
            return False
        handle, probe = tempfile.mkstemp(dir=folder)
        os.close(handle)
        os.unlink(probe)
    except OSError:
        return False
    return True


def unwritable(folder: Path, reason: str) -> DeviceError:
    """The error for a folder in which compiled kernels cannot be kept."""
    hint = "Free space there, or set PYMETAL_CACHE_DIR to another folder."
    return DeviceError(f"compiled kernels cannot be kept at {folder}: {reason}", hint=hint)


class Cache:
    """The entries of one folder; `root` falls back to a private temporary folder that lives as long as the process."""

    def __init__(self, root: Path, limit: int | None = None) -> None:
        self.is_temporary = not _usable(root)
        if self.is_temporary:
            root = Path(tempfile.mkdtemp(prefix="pymetal-"))
            owner = os.getpid()

            def remove() -> None:
                if os.getpid() == owner:  # not from a forked child
                    shutil.rmtree(root, ignore_errors=True)

            atexit.register(remove)
        self.root = root
        self._limit = limit

    @staticmethod
    def key(*parts: str | bytes) -> str:
        """The name of what is determined by these parts, in this order."""
        digest = hashlib.sha256()
        for part in parts:
            data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
        return digest.hexdigest()[:40]

    def _paths(self, key: str, suffix: str) -> tuple[Path, Path]:
        path = self.root / f"{key}.{suffix}"
        return path, path.with_name(path.name + SUM)

    def get(self, key: str, suffix: str) -> Path | None:
        """The entry's file, its bytes verified; None if there is none that is intact."""
        path, sums = self._paths(key, suffix)
        try:
            with open(path, "rb") as file:
                info = os.fstat(file.fileno())
                data = file.read()
            expected = sums.read_text("ascii")
        except (OSError, UnicodeDecodeError):
            return None
        foreign = os.name != "nt" and info.st_uid != os.getuid()
        if foreign or hashlib.sha256(data).hexdigest() != expected.strip():
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # eviction takes the least recently used first
            os.utime(sums)
        return path

    def put(self, key: str, suffix: str, data: bytes) -> Path:
        """Store the bytes; the entry's file."""
        path, sums = self._paths(key, suffix)
        with self._writing():
            atomic.replace(sums, hashlib.sha256(data).hexdigest().encode("ascii"), 0o600, TEMPORARY)
            atomic.replace(path, data, 0o700 if suffix in ("so", "dylib") else 0o600, TEMPORARY)
        self.trim()
        return path

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Makes the folder anew if it has gone.

        Raises:
            DeviceError: nothing can be written there.
        """
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            yield
        except OSError as error:
            raise unwritable(self.root, error.strerror or str(error)) from error

    def get_json(self, key: str) -> dict[str, Any] | None:
        """The entry's object, as `put_json` stored it."""
        path = self.get(key, "json")
        if path is None:
            return None
        try:
            value = json.loads(path.read_bytes())
        except (OSError, ValueError):
            return None
        return value if isinstance(value, dict) else None

    def put_json(self, key: str, value: dict[str, Any]) -> None:
        self.put(key, "json", json.dumps(value).encode("utf-8"))

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """A private folder for a compiler's output, removed afterwards."""
        with self._writing():
            folder = tempfile.mkdtemp(prefix=TEMPORARY, dir=self.root)
        try:
            yield Path(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _entries(self) -> list[tuple[float, int, Path]]:
        """Last use, size and path of each file."""
        found = []
        with contextlib.suppress(OSError), os.scandir(self.root) as listing:
            for item in listing:
                with contextlib.suppress(OSError):
                    info = item.stat(follow_symlinks=False)
                    if stat.S_ISREG(info.st_mode):
                        found.append((info.st_mtime, info.st_size, Path(item.path)))
        return found

    def size(self) -> int:
        """Bytes in use."""
        return sum(size for _, size, _ in self._entries())

    def clear(self) -> int:
        """Remove every entry; how many bytes that freed. Libraries already loaded keep working."""
        freed = 0
        for _, size, path in self._entries():
            with contextlib.suppress(OSError):
                path.unlink()
                freed += size
        shutil.rmtree(self.root / "zig", ignore_errors=True)  # see build.py
        for folder in self.root.glob(f"{TEMPORARY}*"):  # left by a process that was killed
            with contextlib.suppress(OSError):
                if time.time() - folder.stat().st_mtime > ABANDONED:
                    shutil.rmtree(folder, ignore_errors=True)
        return freed

    def trim(self) -> None:
        """Remove least recently used entries until the folder is within three quarters of a limit it has passed."""
        limit = _limit() if self._limit is None else self._limit
        entries = sorted(self._entries())
        used = sum(size for _, size, _ in entries)
        if used <= limit:
            return
        now = time.time()
        for used_at, size, path in entries[:-2]:  # the two newest files are the entry just written
            if path.name.startswith(TEMPORARY) and now - used_at < ABANDONED:
                continue  # another process is writing it
            if used <= limit * 3 // 4:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                used -= size


_caches: dict[Path, Cache] = {}
_lock = threading.Lock()


def default_cache() -> Cache:
    """The cache at `default_folder`, one object per folder."""
    folder = default_folder()
    cache = _caches.get(folder)
    if cache is None:
        with _lock:
            cache = _caches.get(folder)
            if cache is None:
                cache = _caches[folder] = Cache(folder)
                if cache.is_temporary:
                    warnings.warn(
                        f"cannot keep a private folder at {folder}: compiled kernels are kept only while this process "
                        "runs. Set PYMETAL_CACHE_DIR to a folder that you, and nobody else, can write to.",
                        stacklevel=2,
                    )
    return cache
