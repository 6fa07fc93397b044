"""What type checkers say of users' files: nothing of one without mistakes, and of another the mistakes that it has.

Pyright, or its kin basedpyright, is asked only where it is installed.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from pymetal.promotion import PROMOTIONS, PromotionName

ROOT = Path(__file__).parents[1]
CORRECT, MISTAKEN = (ROOT / "tests/users" / name for name in ("correct.py", "mistaken.py"))
LINES = MISTAKEN.read_text(encoding="utf-8").splitlines()
MARKED = {number for number, line in enumerate(LINES, 1) if line.endswith("# error")}
MARKED_FOR_MYPY = {number for number, line in enumerate(LINES, 1) if "# error" in line}


@pytest.mark.slow
def test_mypy() -> None:
    """In the settings of the project, which for these files are `--strict`: so its cache serves."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(CORRECT), str(MISTAKEN)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    errors = re.findall(r"^(\S+?):(\d+): error: ", done.stdout, re.MULTILINE)
    assert errors, done.stdout + done.stderr
    assert {Path(file).name for file, _ in errors} == {MISTAKEN.name}, done.stdout
    assert {int(line) for _, line in errors} == MARKED_FOR_MYPY, done.stdout


@pytest.mark.slow
def test_pyright() -> None:
    program = shutil.which("pyright") or shutil.which("basedpyright")
    if program is None:
        pytest.skip("pyright is not installed")
    command = [program, "--outputjson", "--level", "error", "--pythonpath", sys.executable, str(CORRECT), str(MISTAKEN)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    assert {Path(d["file"]).name for d in found} == {MISTAKEN.name}, done.stdout
    assert {d["range"]["start"]["line"] + 1 for d in found} == MARKED, done.stdout


def test_the_correct_file_is_correct() -> None:
    spec = importlib.util.spec_from_file_location("correct_user", CORRECT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.is_odd.promotion.name == "always_bool"


def test_the_names_of_promotion_kinds() -> None:
    assert get_args(PromotionName) == tuple(PROMOTIONS)
