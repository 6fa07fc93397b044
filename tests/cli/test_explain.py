"""`pymetal explain`: the page of a refusal, and the list of all."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pymetal.cli import main
from pymetal.frontend.refusals import REFUSALS

ROOT = Path(__file__).parents[2]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["explain", *arguments])
    return code, *capsys.readouterr()


@pytest.mark.parametrize("number", ["PM027", "pm027", "PM27", "27"])
def test_a_number(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, number)
    assert (code, err) == (0, "")
    assert (
        out
        == """\
PM027: a path without a result

    @pymetal.unary(dtypes="floating")
    def f(x: T) -> T:
        if x > 0:
            return x

    functor.py:2:1: PM027: f can end without a `return`
        def f(x: T) -> T:
        ^^^^^^^^^^^^^^^^^
        Return a value on every path.

Instead:

    @pymetal.unary(dtypes="floating")
    def f(x: T) -> T:
        if x > 0:
            return x
        return -x
"""
    )


def test_every_number(capsys: pytest.CaptureFixture[str]) -> None:
    for row in REFUSALS.values():
        code, out, _ = run(capsys, row.code)
        assert code == 0
        assert out.startswith(f"{row.code}: ")
        assert f": {row.code}: " in out, "a message"
        assert "```" not in out


@pytest.mark.parametrize("arguments", [(), ("--list",)])
def test_list(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == sorted(row.code for row in REFUSALS.values())
    assert "PM027  a path without a result\n" in out


def test_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "PM127") == (
        2, "", "pymetal: no refusal has the number PM127; did you mean PM027: a path without a result?\n",
    )  # fmt: skip
    code, out, err = run(capsys, "functor.py")
    assert (code, out) == (2, "")
    assert "functor.explain(x)" in err, "the other explain"


def test_the_page_is_in_the_package(tmp_path: Path) -> None:
    """What is installed has no folder docs/."""
    assert (ROOT / "pymetal/cli/refusals.md").samefile(ROOT / "docs/refusals.md")
    pytest.importorskip("setuptools", minversion="77")
    code = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "pymetal", "docs"):
        (copy / name).symlink_to(ROOT / name)
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        text = wheel.read("pymetal/cli/refusals.md").decode()
    assert text == (ROOT / "docs/refusals.md").read_text(encoding="utf-8")


def test_the_number_of_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "PC013")
    assert (code, out) == (2, "")
    assert "docs/check.md" in err
