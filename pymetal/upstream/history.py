"""What changed in a checkout since a commit, as git tells it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from pymetal.errors import PyMetalError
from pymetal.upstream.checkout import KERNELS, NATIVE, OPERATIONS, Checkout


def changed_since(checkout: Checkout, commit: str) -> dict[str, str | None]:
    """The Metal and Objective-C++ files that differ from `commit`, each with its text then; None for a new file.

    Raises:
        PyMetalError: git is missing, the folder is no repository, or there is no such commit.
    """
    root = checkout.root
    named = _git(root, "diff", "--name-only", "--relative", "--no-renames", "--diff-filter=d", "-z", commit, "--")
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", KERNELS, OPERATIONS)
    known = {p for p in named.split("\0") if p}
    found: dict[str, str | None] = {}
    for path in sorted(known | {p for p in new.split("\0") if p}):
        if path.startswith((f"{KERNELS}/", f"{OPERATIONS}/")) and path.endswith((".metal", ".mm")):
            there = path in known and _git(root, "ls-tree", "--name-only", commit, "--", path)
            found[path] = _git(root, "show", f"{commit}:./{path}") if there else None
    return found


def at_commit(checkout: Checkout, commit: str) -> Checkout:
    """The checkout as it was at a commit: its files then, and none that came later.

    Raises:
        PyMetalError: git is missing, the folder is no repository, or there is no such commit.
    """
    root = checkout.root
    then = Checkout(root)
    named = _git(root, "diff", "--name-only", "--relative", "--no-renames", "-z", commit, "--")
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", NATIVE, "torch/testing")
    known = {p for p in named.split("\0") if p}
    for path in sorted(known | {p for p in new.split("\0") if p}):
        if path in known and _git(root, "ls-tree", "--name-only", commit, "--", path):
            then.write(path, _git(root, "show", f"{commit}:./{path}"))
        else:
            then.hide(path)
    return then


def _git(root: Path, *arguments: str) -> str:
    git = shutil.which("git")
    if git is None:
        raise PyMetalError("there is no git to ask what changed", hint="Install git.")
    done = subprocess.run([git, "-C", str(root), *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        message = done.stderr.decode("utf-8", "replace").strip()
        raise PyMetalError(f"git {arguments[0]} failed in {root}: {message}", hint="Pass --since COMMIT.")
    return done.stdout.decode("utf-8", "surrogateescape")
