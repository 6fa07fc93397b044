"""`python -m examples.aten --emit DIR`: the files compile in registered form, and are laid out as PyTorch's are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import clang_format
import pytest

import pymetal
from examples import unimplemented
from examples.aten import by_file
from pymetal import host
from pymetal.arity import installed_release

ROOT = Path(__file__).parents[2]
FILES = tuple(by_file())
SLOW = "BinaryKernel.metal"  # 6,000 kernels
RELEASE = installed_release()


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The text of every file, as the command writes it."""
    folder = tmp_path_factory.mktemp("gallery")
    command = [sys.executable, "-m", "examples.aten", "--emit", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert all(f"{folder / name}" in done.stdout for name in FILES)
    pymetal.emit(unimplemented.FUNCTORS, folder / "UnimplementedKernel.metal")
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.metal")}


def test_files_are_those_of_upstream(emitted: dict[str, str]) -> None:
    assert set(emitted) == {*FILES, "UnimplementedKernel.metal"}
    for name, functors in by_file().items():
        for functor in functors:
            assert f"struct {functor}_functor {{" in emitted[name]


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n == SLOW else ()) for n in (*FILES, "UnimplementedKernel.metal")],
)
def test_registered_form_compiles(emitted: dict[str, str], name: str) -> None:
    text = emitted[name]
    if name == "PointwiseOps.metal" and RELEASE < (2, 15):
        # The headers have no REGISTER_TERNARY_ALPHA_OP yet: the functors alone.
        text = "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("REGISTER_"))
        text += "kernel void empty(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {}\n"
    library = host.compile_shader(text)
    assert dir(library)
    if name == SLOW:
        assert {"hypot_dense_float_float", "eq_strided_bool_float2", "lerp_alpha_dense_half_half_float"} <= set(
            dir(library)
        )


@pytest.mark.parametrize("name", [*FILES, "UnimplementedKernel.metal"])
def test_clang_format_changes_nothing(emitted: dict[str, str], name: str) -> None:
    assert clang_format.clang_format(emitted[name]) == emitted[name]
