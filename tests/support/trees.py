"""Small PyTorch checkouts in the shape of two generations of upstream, for the upstream writer to edit.

Only the shape is upstream's: which files there are, how rows, stubs, macros and lists look. The files are in
`tests/upstream/trees`, but for the headers of `c10/metal`, which come from the installed torch; the older generation
hides what came with torch 2.13.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import torch

OLD = "2.10"
NEW = "2.15"
GENERATIONS = (OLD, NEW)

# Below `common` what both have, below the name of a generation what only that one has.
TEXTS = Path(__file__).parents[1] / "upstream/trees"


def text(path: str, generation: str = NEW) -> str:
    """The text of a file of a tree."""
    place = TEXTS / generation / path
    return (place if place.exists() else TEXTS / "common" / path).read_bytes().decode()


_NATIVE = "aten/src/ATen/native"
YAML = text(f"{_NATIVE}/native_functions.yaml")
TAGS = text(f"{_NATIVE}/tags.yaml")
UNARY_CPP = text(f"{_NATIVE}/UnaryOps.cpp")
BINARY_CPP = text(f"{_NATIVE}/BinaryOps.cpp")
UNARY_METAL = text(f"{_NATIVE}/mps/kernels/UnaryKernel.metal")
BINARY_METAL = text(f"{_NATIVE}/mps/kernels/BinaryKernel.metal")
ACTIVATION_METAL = text(f"{_NATIVE}/mps/kernels/ActivationKernel.metal")
UNARY_MM = text(f"{_NATIVE}/mps/operations/UnaryKernel.mm")
UNARY_OPS_MM = text(f"{_NATIVE}/mps/operations/UnaryOps.mm")
COMMON_MPS = {generation: text("torch/testing/_internal/common_mps.py", generation) for generation in GENERATIONS}
OPINFO = text("torch/testing/_internal/common_methods_invocations.py")
INDUCTOR = text("torch/_inductor/codegen/mps.py")
FALLBACK = text("torchgen/aoti/fallback_ops.py")


def make(root: Path, generation: str, *, git: bool = False) -> Path:
    """Writes a tree of `generation` to `root`, as a git repository if wanted."""
    for part in ("common", generation):
        shutil.copytree(TEXTS / part, root, dirs_exist_ok=True, copy_function=shutil.copyfile)
    installed = Path(torch.__file__).parent / "include/c10/metal"
    shutil.copytree(installed, root / "c10/metal")
    if generation == OLD:
        indexing = root / "c10/metal/indexing.h"
        content = indexing.read_text(encoding="utf-8")
        # Continuation lines and all.
        content = re.sub(r"#define REGISTER_BINARY_CASTOUT_OP\(.*?[^\\]\n", "\n", content, flags=re.DOTALL)
        indexing.write_text(content, encoding="utf-8")
    if git:
        commit(root, "base")
    return root


def commit(root: Path, message: str) -> None:
    """Commits everything, making a repository where there is none."""
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", message]):
        subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a tree with its bytes and mode, git's own left out."""
    found = {}
    for place in sorted(root.rglob("*")):
        relative = place.relative_to(root)
        if relative.parts[0] != ".git" and place.is_file() and not place.is_symlink():
            found[str(relative)] = (place.read_bytes(), place.stat().st_mode & 0o7777)
    return found
