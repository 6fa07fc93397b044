"""Every example runs, as a function and as a script, and says that it agrees with torch."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pymetal

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py") if path.stem != "__init__")


def test_there_are_examples() -> None:
    assert {"atan2", "logaddexp", "smooth_l1", "gelu_tanh", "addcmul"} <= set(EXAMPLES)


def check(name: str, output: str) -> None:
    assert f"struct {name}_functor" in output
    assert "kernel void " in output
    assert "1,000,000 elements" in output
    errors = re.search(r"largest error ([\d.e+-]+), of torch's float32 operator ([\d.e+-]+)", output)
    assert errors is not None
    ours, theirs = map(float, errors.groups())
    assert ours <= 4 * theirs + 1e-7


@pytest.mark.parametrize("name", EXAMPLES)
def test_main(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"examples.{name}")
    assert isinstance(getattr(module, name), pymetal.Functor)
    assert module.__doc__
    module.main()
    check(name, capsys.readouterr().out)


@pytest.mark.parametrize("name", EXAMPLES)
def test_script(name: str, tmp_path: Path) -> None:
    """From any folder, with nothing but pymetal installed."""
    script = str(ROOT / "examples" / f"{name}.py")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, cwd=tmp_path, check=False, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    check(name, done.stdout)
