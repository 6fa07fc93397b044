"""What may be written at all: files inside the tree, and without uncommitted changes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pymetal.errors import PyMetalError


def check_inside(root: Path, path: str) -> Path:
    """The place of `path` below `root`.

    Raises:
        PyMetalError: the path leaves the tree, by itself or through a symbolic link, or is a link or no regular file.
    """
    base = Path(os.path.realpath(root))
    parts = path.split("/")
    if os.path.isabs(path) or ".." in parts or "" in parts:
        raise PyMetalError(f"{path!r} is not a path below {base}")
    place = base
    for part in parts:
        place = place / part
        if place.is_symlink():
            target = os.path.realpath(place)
            inside = os.path.commonpath([target, base]) == str(base)
            where = "" if inside else f", outside of {base}"
            raise PyMetalError(
                f"{place.relative_to(base)} is a symbolic link to {target}{where}",
                hint="pymetal writes to regular files only; put a file or folder in its place.",
            )
    if place.exists() and not place.is_file():
        raise PyMetalError(f"{path} is not a regular file")
    return place


def check_clean(root: Path, paths: Sequence[str]) -> None:
    """Refuses files that differ from what git has committed; a tree without git has nothing to compare with.

    Raises:
        PyMetalError: some of `paths` have uncommitted changes, or git cannot tell.
    """
    if not any((folder / ".git").exists() for folder in (root, *root.resolve().parents)):
        return
    git = shutil.which("git")
    if git is None:
        raise PyMetalError(
            f"{root} is a git checkout, and there is no git to ask whether the files have uncommitted changes",
            hint="Install git, or pass --force.",
        )
    command = [git, "-C", str(root), "status", "--porcelain=v1", "-z", "--untracked-files=all", "--", *paths]
    done = subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", check=False)
    if done.returncode != 0:
        raise PyMetalError(
            f"git status failed in {root}: {done.stderr.strip()}", hint="Mend the checkout, or pass --force."
        )
    dirty = [entry[3:] for entry in done.stdout.split("\0") if entry]
    if dirty:
        listed = "".join(f"\n    {name}" for name in dirty)
        raise PyMetalError(
            f"uncommitted changes in {len(dirty)} of the files to write:{listed}",
            hint="Commit or stash them, or pass --force to write on top of them (they are kept).",
        )
