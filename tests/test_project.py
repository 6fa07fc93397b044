"""What the project says of itself is true: CONTRIBUTING.md, the hosted workflow, the hooks, what tests share."""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.metadata
import itertools
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
import rooms

from pymetal.cli import COMMANDS

ROOT = Path(__file__).parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
HOOKS: dict[str, Any] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
ALL_HOOKS: list[dict[str, Any]] = [hook for repo in HOOKS["repos"] for hook in repo["hooks"]]


def section(name: str) -> str:
    """The text of a section of pyproject.toml; Python 3.10 has no parser for it."""
    found = re.search(rf"^\[{re.escape(name)}\]\n(.*?)(?=^\[|\Z)", PROJECT, re.DOTALL | re.MULTILINE)
    assert found is not None, name
    return found[1]


# --- commands --------------------------------------------------------------------------------------------------------


def shell_lines(text: str) -> list[str]:
    """The commands of a script, without what only a shell reads."""
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    return [part.partition(" # ")[0].strip() for line in kept for part in line.split("&&")]


def blocks(page: str) -> str:
    """The shell blocks of a page, and the commands in its text."""
    inline = re.findall(r"`((?:pytest|python) [^`]*)`", page)
    return "\n".join([*re.findall(r"```sh\n(.*?)```", page, re.DOTALL), *inline]).replace("PATH", "tests")


STEPS = [step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step]
# A value of the matrix, as GitHub would put it in.
SCRIPTS = "\n".join(re.sub(r"\$\{\{.*?\}\}", "", step) for step in STEPS)
COMMAND_LINES = sorted(
    {
        *shell_lines(SCRIPTS),
        *(str(hook["entry"]) for hook in ALL_HOOKS),
        *shell_lines((ROOT / ".ci/run").read_text(encoding="utf-8")),
        *shell_lines(blocks(CONTRIBUTING)),
    }
)


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_a_command_names_what_exists(line: str, pytestconfig: pytest.Config) -> None:
    program, *arguments = shlex.split(line)
    program = program.removeprefix(".venv/bin/")
    if program in ("python", "python3") and arguments[0] == "-m":
        _, program, *arguments = arguments
    if program in ("python", "python3"):
        assert (ROOT / arguments[0]).is_file()
        return
    if "/" in program:
        assert (ROOT / program).stat().st_mode & 0o100, "not executable"
        return
    if program == "pymetal":
        assert "pymetal = " in section("project.scripts")
        command, *options = arguments
        assert command in COMMANDS
        parser = argparse.ArgumentParser()
        importlib.import_module(f"pymetal.cli.{command}").configure(parser)
        parser.parse_args(options)
    else:
        # The latter raises if it is not installed.
        assert program in sys.stdlib_module_names or importlib.metadata.distribution(program)
    if program == "pip":
        for extra in re.findall(r"\[(\w+)\]", line):
            assert re.search(rf"^{extra} = \[", section("project.optional-dependencies"), re.MULTILINE), extra
    if program == "pytest":
        check_tests(arguments, pytestconfig)


def check_tests(arguments: list[str], config: pytest.Config) -> None:
    """The markers and paths of a pytest command."""
    known = {str(row).partition(":")[0] for row in config.getini("markers")}
    for option, value in itertools.pairwise(arguments):
        if option == "-m":
            assert set(re.findall(r"\w+", value)) - {"and", "or", "not"} <= known
    for argument in arguments:
        assert not argument.startswith("tests") or (ROOT / argument).exists(), argument


def test_the_hooks_are_read_by_pre_commit() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-config", str(ROOT / ".pre-commit-config.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / "pymetal").rglob("*.py")]
    for hook in ALL_HOOKS:
        assert any(re.search(hook.get("files", ""), file) for file in files), hook["id"]


# --- the matrix of the workflow --------------------------------------------------------------------------------------


def pairs(job: str) -> set[tuple[str, str]]:
    """The Pythons and torches that a job runs on some system."""
    matrix = WORKFLOW["jobs"][job]["strategy"]["matrix"]
    axes = ("os", "python", "torch")
    every = [dict(zip(axes, row, strict=True)) for row in itertools.product(*(matrix.get(a, [None]) for a in axes))]
    kept = [row for row in every if not any(left.items() <= row.items() for left in matrix["exclude"])]
    return {(row["python"], row["torch"]) for row in kept}


@pytest.mark.parametrize("job", ["tests", "mac"])
def test_the_matrix_has_what_the_package_supports(job: str) -> None:
    found = pairs(job)
    pythons, torches = ({pair[i] for pair in found} for i in (0, 1))
    supported = set(re.findall(r"Python :: (3\.\d+)", PROJECT))
    assert pythons <= supported
    assert job != "tests" or pythons == supported
    least = re.search(r'"torch>=([\d.]+)"', PROJECT)
    usual = re.search(r"^torch==(\d+\.\d+)", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert least is not None
    assert usual is not None
    assert torches == {f"{least[1]}.*", f"{usual[1]}.*", "newest"}
    assert ("3.14", "2.8.*") not in found, "torch 2.8 has no wheels for Python 3.14"


# --- the pages -------------------------------------------------------------------------------------------------------


def test_contributing_lists_the_rooms_in_the_order_of_the_imports() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", CONTRIBUTING, re.MULTILINE)
    assert [name for name, _, _ in rows] == [name or "pymetal" for row in rooms.ROOMS for name in row]
    for name, what, tests in rows:
        assert what, name
        paths = re.findall(r"`([^`]+)`", tests)
        assert paths, name
        for path in paths:
            assert path.startswith("tests/")
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_files_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"(?<![\w./~-])(?:\.ci|\.github|benchmarks|docs|examples|pymetal|tests|tools)/[\w./-]*", text)
    assert named
    for path in named:
        assert (ROOT / path.rstrip(".")).exists(), path


def test_the_changelog_has_the_usual_headings() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", text, re.MULTILINE)[0] == "Unreleased"
    assert set(re.findall(r"^### (\w+)", text, re.MULTILINE)) <= {
        "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security",
    }  # fmt: skip


# --- the tests -------------------------------------------------------------------------------------------------------


def test_what_tests_share_is_used_and_says_what_it_is() -> None:
    imported: set[str] = set()
    for path in (ROOT / "tests").glob("*/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            imported.update(names)
    for path in (ROOT / "tests/support").glob("*.py"):
        assert path.stem in imported, f"{path.name} is used nowhere"
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path.name


def test_the_table_of_kinds_names_what_exists() -> None:
    table = re.search(
        r"^KIND_OF = \{\n(.*?)^\}", (ROOT / "tests/conftest.py").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert table is not None
    for name in re.findall(r'"([\w./]+)":', table[1]):
        assert (ROOT / "tests" / name).exists(), name


def test_every_test_is_of_one_kind(request: pytest.FixtureRequest) -> None:
    kinds = {"unit", "host", "upstream", "gallery"}
    for item in request.session.items:
        assert len({mark.name for mark in item.iter_markers()} & kinds) == 1, item.nodeid
