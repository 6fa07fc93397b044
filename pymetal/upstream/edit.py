"""An edit of a file is a value, and a patch is several of them: shown as a diff, applied to all files or to none."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pymetal.upstream import transaction
from pymetal.upstream.git import check_clean


@dataclass(frozen=True)
class Edit:
    """The bytes of one file before and after."""

    path: str  # below the root, with forward slashes
    old: bytes | None  # None: there is no such file yet
    new: bytes

    def diff(self) -> str:
        """The unified diff of this file, as `git apply` takes it; empty if nothing changes."""
        if self.old == self.new:
            return ""
        before = _lines(self.old or b"")
        after = _lines(self.new)
        name = "/dev/null" if self.old is None else f"a/{self.path}"
        created = "new file mode 100644\n" if self.old is None else ""
        body = "".join(_unified(before, after, name, f"b/{self.path}"))
        return f"diff --git a/{self.path} b/{self.path}\n{created}{body}"


@dataclass(frozen=True)
class Patch:
    """Edits of files below one root."""

    root: Path
    edits: tuple[Edit, ...] = field(default=())

    @classmethod
    def of(cls, root: Path, edits: Iterable[Edit]) -> Patch:
        """The patch of those `edits` that change something, in the order of their paths."""
        kept = (e for e in edits if e.old != e.new)
        return cls(root, tuple(sorted(kept, key=lambda e: e.path)))

    def __bool__(self) -> bool:
        return bool(self.edits)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that change."""
        return tuple(e.path for e in self.edits)

    @property
    def created(self) -> tuple[str, ...]:
        """The files that it makes."""
        return tuple(e.path for e in self.edits if e.old is None)

    def diff(self) -> str:
        """The unified diff of all files, as `git apply` takes it."""
        return "".join(edit.diff() for edit in self.edits)

    def apply(self, *, force: bool = False) -> tuple[str, ...]:
        """Writes all files, or none of them.

        An interrupted run leaves a journal in the root; the next run puts the files back before it does anything.

        Args:
            force: also write to files with uncommitted changes. Those changes are kept: the patch was computed on top
                of them.

        Returns:
            The paths of the files written; empty if the tree has everything already.

        Raises:
            PyMetalError: a file is outside of the tree, has uncommitted changes, or changed since the patch was
                computed; or another run is under way.
            OSError: a file cannot be written. The files are as before.
        """
        transaction.recover(self.root)
        if not self.edits:
            return ()
        for edit in self.edits:
            transaction.check_inside(self.root, edit.path)
        if not force:
            check_clean(self.root, self.paths)
        transaction.write(self.root, {e.path: (e.old, e.new) for e in self.edits})
        return self.paths


_NO_NEWLINE = "\n\\ No newline at end of file\n"


def _unified(before: list[str], after: list[str], old: str, new: str) -> Iterator[str]:
    for line in difflib.unified_diff(before, after, old, new):
        yield line if line.endswith("\n") else line + _NO_NEWLINE


def _lines(content: bytes) -> list[str]:
    """Lines with their ends. Only a line feed ends a line: the carriage return of `\\r\\n` belongs to it."""
    text = content.decode("utf-8", "surrogateescape")
    parts = text.split("\n")
    return [f"{p}\n" for p in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
