"""What the gallery becomes, as files that a reviewer can read: emitted text with registrations, and upstream patches.

`PYTHONPATH=tests/support python -m tests.gallery.test_snapshots` writes the files anew; read the difference before it
is committed. The text is compiled and run by the other tests of this folder, the patches by those of `tests/upstream`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import clang_format
import pytest
import torch
import trees

import pymetal
from examples import unimplemented
from examples.aten import by_file, load
from pymetal.runtime.operation import metal_text

FOLDER = Path(__file__).parent / "snapshots"
# Registrations and patches depend on the macros of the installed headers.
RELEASE = "2.13"


def texts() -> Iterator[tuple[str, str]]:
    """The emitted files by name."""
    for name, functors in by_file().items():
        yield name, metal_text(functors.values())
    yield "UnimplementedKernel.metal", metal_text(unimplemented.FUNCTORS)


def patches(folder: Path, generation: str) -> str:
    """The patch of every functor for a checkout of `generation`, or why there is none."""
    root = trees.make(folder / "pytorch", generation)
    found = []
    for name, functor in {**load(), **unimplemented.load()}.items():
        try:
            text = functor.patch(root).diff()
        except pymetal.PyMetalError as error:
            text = f"{error}\n"
        found.append(f"=== {name}\n{text.replace(str(root), 'pytorch')}")
    return "".join(found)


def _file(generation: str) -> Path:
    return FOLDER / f"patches-{generation}.txt"


@pytest.mark.parametrize("name", [*by_file(), "UnimplementedKernel.metal"])
def test_text(name: str) -> None:
    clang_format.assert_formatted_text(dict(texts())[name], (FOLDER / name).read_text(encoding="utf-8"))


@pytest.mark.skipif(not torch.__version__.startswith(RELEASE), reason=f"the files are those of torch {RELEASE}")
@pytest.mark.skipif(
    clang_format.release() != clang_format.RELEASE, reason="the lines of a diff are those of its layout"
)
@pytest.mark.parametrize("generation", trees.GENERATIONS)
def test_patches(tmp_path: Path, generation: str) -> None:
    assert patches(tmp_path, generation) == _file(generation).read_text(encoding="utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, content in texts():
        (FOLDER / file).write_text(content, encoding="utf-8")
    for which in trees.GENERATIONS:
        with tempfile.TemporaryDirectory() as scratch:
            _file(which).write_text(patches(Path(scratch), which), encoding="utf-8")
