"""What git says of a checkout: uncommitted changes, and files as they were at a commit."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pymetal.errors import PyMetalError


def check_clean(root: Path, paths: Sequence[str]) -> None:
    """Refuses files that differ from what git has committed; a tree without git has nothing to compare with.

    Raises:
        PyMetalError: some of `paths` have uncommitted changes, or git cannot tell.
    """
    if not any((folder / ".git").exists() for folder in (root, *root.resolve().parents)):
        return
    hint = "Install git and repair the checkout, or pass --force."
    status = _git(root, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--", *paths, hint=hint)
    dirty = [entry[3:] for entry in status.split("\0") if entry]
    if dirty:
        listed = "".join(f"\n    {name}" for name in dirty)
        raise PyMetalError(
            f"uncommitted changes in {len(dirty)} of the files to write:{listed}",
            hint="Commit or stash them, or pass --force to write on top of them (they are kept).",
        )


def texts_at(root: Path, commit: str, *folders: str) -> dict[str, str | None]:
    """The files below `folders` that differ from a commit, each with its text then; None for a new file.

    Raises:
        PyMetalError: git is missing, the folder is no repository, or there is no such commit.
    """
    hint = "Pass --since COMMIT."
    differing = _git(
        root, "diff", "--name-only", "--relative", "--no-renames", "-z", commit, "--", *folders, hint=hint
    )  # fmt: skip
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", *folders, hint=hint)
    known = set(differing.split("\0"))
    found: dict[str, str | None] = {}
    for path in sorted((known | set(new.split("\0"))) - {""}):
        existed = path in known and _git(root, "ls-tree", "--name-only", commit, "--", path, hint=hint)
        found[path] = _git(root, "show", f"{commit}:./{path}", hint=hint) if existed else None
    return found


def _git(root: Path, *arguments: str, hint: str) -> str:
    git = shutil.which("git")
    if git is None:
        raise PyMetalError("git is not installed, so nothing tells what changed in the checkout", hint=hint)
    done = subprocess.run([git, "-C", str(root), *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        message = done.stderr.decode("utf-8", "replace").strip()
        raise PyMetalError(f"git {arguments[0]} failed in {root}: {message}", hint=hint)
    return done.stdout.decode("utf-8", "surrogateescape")
