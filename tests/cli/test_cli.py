"""The command line: what it prints, where, and its exit codes: 0 success, 1 a finding, 2 wrong use."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import pymetal
from examples.atan2 import atan2
from pymetal.cli import COMMANDS, main
from pymetal.host.toolchain import find_compiler
from pymetal.runtime.operation import metal_text

ROOT = Path(__file__).parents[2]
TWO = """
import pymetal
from pymetal import T, metal
from examples.atan2 import atan2  # imported, so not this file's own


@pymetal.unary(dtypes="floating")
def second(x: T) -> T:
    return metal.exp(x)


@pymetal.unary(dtypes="floating")
def first(x: T) -> T:
    return x + 1


again = first
"""


@pytest.fixture
def two(tmp_path: Path) -> str:
    path = tmp_path / "two.py"
    path.write_text(TWO)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


class TestEmit:
    def test_prints(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, err = run(capsys, "emit", str(ROOT / "examples" / "atan2.py"))
        assert (code, out, err) == (0, atan2.metal_source, "")

    def test_prints_what_the_file_defines(self, two: str, capsys: pytest.CaptureFixture[str]) -> None:
        """In the order of the file, each once, and nothing that it imports."""
        code, out, _ = run(capsys, "emit", two)
        assert code == 0
        assert [line for line in out.splitlines() if line.startswith("struct")] == [
            "struct second_functor {",
            "struct first_functor {",
        ]

    def test_writes(self, two: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        target = tmp_path / "out.metal"
        code, out, err = run(capsys, "emit", two, "-o", str(target))
        assert (code, out, err) == (0, "", f"{target}: second, first\n")
        assert target.read_text() == run(capsys, "emit", two)[1]

    def test_only(self, two: str, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, _ = run(capsys, "emit", two, "--only", "first")
        assert code == 0
        assert "first_functor" in out
        assert "second_functor" not in out
        code, out, _ = run(capsys, "emit", two, "--only", "first", "--only", "second", "--only", "first")
        assert code == 0
        assert out.index("first_functor") < out.index("second_functor")

    def test_only_of_no_functor(self, two: str, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, err = run(capsys, "emit", two, "--only", "frist")
        assert (code, out) == (2, "")
        assert err == f"pymetal: {two}: no functor is called 'frist'; did you mean 'first'? It has second, first.\n"

    def test_refused_functor(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "wrong.py"
        path.write_text("import pymetal\nfrom pymetal import T\n@pymetal.unary\ndef f(x: T) -> T:\n    return y\n")
        code, out, err = run(capsys, "emit", str(path))
        assert (code, out) == (1, "")
        assert err.startswith(f"{path}:5:12: PM011: 'y' is not defined")
        assert "\n        return y\n               ^\n" in err
        assert "Traceback" not in err

    def test_missing_file(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(capsys, "emit", "/nowhere/f.py") == (2, "", "pymetal: /nowhere/f.py: no such file\n")

    def test_a_folder(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(capsys, "emit", str(tmp_path))[0] == 2

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("x = 1\n", "no functor is defined there; decorate a function with @pymetal.binary"),
            ("x = 1 / 0\n", "ZeroDivisionError: division by zero"),
            ("x = (\n", "SyntaxError"),
            ("import nowhere_at_all\n", "ModuleNotFoundError"),
            ("raise SystemExit(0)\n", "SystemExit"),
        ],
    )
    def test_files_that_do_not_run(
        self, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "f.py"
        path.write_text(text)
        code, out, err = run(capsys, "emit", str(path))
        assert (code, out) == (2, "")
        assert err.startswith(f"pymetal: {path}")
        assert message in err

    def test_place_of_an_exception(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "f.py"
        path.write_text("x = 1\n\ny = x / 0\n")
        assert run(capsys, "emit", str(path))[2].startswith(f"pymetal: {path}:3: ZeroDivisionError")

    def test_not_python(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "f.metal"
        path.write_text("kernel void f() {}\n")
        assert run(capsys, "emit", str(path))[0] == 2

    def test_cannot_write(self, two: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        target = tmp_path / "nowhere" / "out.metal"
        code, out, err = run(capsys, "emit", two, "-o", str(target))
        assert (code, out) == (2, "")
        assert err == f"pymetal: {target}: No such file or directory\n"

    def test_neighbours_can_be_imported(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "constants_of_mine.py").write_text("SCALE = 3.5\n")
        path = tmp_path / "f.py"
        path.write_text(
            "import pymetal\nfrom pymetal import T\nfrom constants_of_mine import SCALE\n"
            "@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return x * SCALE\n"
        )
        before = list(sys.path)
        code, out, _ = run(capsys, "emit", str(path))
        assert code == 0
        assert "3.5f" in out
        assert sys.path == before


@pytest.mark.host
class TestDoctor:
    def test_text(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, err = run(capsys, "doctor")
        assert (code, err) == (0, "")
        rows = dict(line.split(maxsplit=1) for line in out.splitlines())
        assert rows["pymetal"] == pymetal.__version__
        assert rows["Python"] == sys.version.split()[0]
        assert rows["torch"] == torch.__version__
        assert "clang" in rows["compiler"]
        assert rows["formatter"].startswith("clang-format ")
        assert rows["MPS"] == ("yes" if torch.backends.mps.is_available() else "no")
        assert rows["cache"].startswith(os.environ["PYMETAL_CACHE_DIR"])

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, _ = run(capsys, "doctor", "--json")
        report = json.loads(out)
        assert code == 0
        assert report["pymetal"] == pymetal.__version__
        assert report["torch"] == torch.__version__
        assert report["mps"] is torch.backends.mps.is_available()
        assert report["problem"] is None
        assert report["cache_bytes"] >= 0

    def test_compiler_is_readable(self, capsys: pytest.CaptureFixture[str]) -> None:
        compiler = find_compiler()
        line = f"compiler  clang {compiler.version} ({shlex.join(compiler.command)})\n"
        assert line in run(capsys, "doctor")[1]
        given = json.loads(run(capsys, "doctor", "--json")[1])["compiler"]
        assert given == {"version": compiler.version, "command": list(compiler.command)}

    @pytest.mark.parametrize("json_", [False, True])
    def test_no_compiler(
        self, json_: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PYMETAL_CXX", "/nowhere/clang++")
        code, out, err = run(capsys, "doctor", *(["--json"] if json_ else []))
        assert code == 1
        message = json.loads(out)["problem"] if json_ else err
        assert "PYMETAL_CXX is '/nowhere/clang++', which is not an executable" in message
        assert "pip install 'torch-pymetal[host]'" in message
        if not json_:
            assert "compiler  none" in out


class TestUse:
    def test_no_command(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, _, err = run(capsys)
        assert code == 2
        assert "COMMAND" in err

    def test_unknown_command(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, _, err = run(capsys, "emitt")
        assert code == 2
        assert "emitt" in err

    def test_unknown_option(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(capsys, "doctor", "--jsn")[0] == 2
        assert run(capsys, "emit")[0] == 2

    def test_help(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, _ = run(capsys, "--help")
        assert code == 0
        assert all(name in out for name in COMMANDS)
        for name in COMMANDS:
            assert run(capsys, name, "--help")[0] == 0

    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(capsys, "--version")[:2] == (0, f"pymetal {pymetal.__version__}\n")


@pytest.mark.parametrize("command", [["-m", "pymetal"], ["-m", "pymetal.cli"]])
def test_as_a_program(command: list[str]) -> None:
    arguments = [sys.executable, *command, "emit", "examples/atan2.py"]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == metal_text([atan2])


def test_a_reader_that_goes_away() -> None:
    """`pymetal emit FILE | head -1` ends quietly."""
    arguments = [sys.executable, "-m", "pymetal", "emit", "examples/atan2.py"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def test_output_paths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files are replaced whole, links stay links, pipes are written to, and nothing else is touched."""
    source, text = tmp_path / "two.py", tmp_path / "out.metal"
    source.write_text(TWO)
    link = tmp_path / "link.metal"
    link.symlink_to("out.metal")
    assert main(["emit", str(source), "-o", str(link)]) == 0
    assert link.is_symlink()
    wanted = text.read_text()
    assert "struct second_functor" in wanted
    capsys.readouterr()
    assert main(["emit", str(source), "-o", "-"]) == 0
    assert capsys.readouterr().out == wanted
    reader, writer = os.pipe()
    assert main(["emit", str(source), "-o", f"/dev/fd/{writer}"]) == 0
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert pipe.read() == wanted
    os.mkfifo(tmp_path / "unread")
    for path, message in {
        tmp_path / "unread": "No such device or address",
        "/dev/null": "it is neither a file nor a pipe",
        "/dev/full": "it is neither a file nor a pipe",
        tmp_path: "Is a directory",
        "a" * 5000: "File name too long",
    }.items():
        assert main(["emit", str(source), "-o", str(path)]) == 2
        assert message in capsys.readouterr().err
    assert {p.name for p in tmp_path.iterdir()} - {"__pycache__"} == {"two.py", "out.metal", "link.metal", "unread"}


UNPRINTABLE = "class Broken(Exception):\n    def __str__(self):\n        raise ValueError\n\nraise Broken\n"


def test_hostile_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is one line and exit code 2."""
    broken, two = tmp_path / "broken.py", tmp_path / "two.py"
    broken.write_text(UNPRINTABLE)
    two.write_text(TWO)
    cases: dict[str, list[str]] = {
        "an argument contains a NUL character": ["emit", "a\0b.py"],
        "File name too long": ["check", "a" * 5000 + ".py"],
        "Broken: (it cannot be printed)": ["emit", str(broken)],
        "not a Python file": ["emit", torch._C.__file__],
        "nan is not between 0 and 3600": ["bench", str(two), "--seconds", "nan"],
    }
    for message, arguments in cases.items():
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert message in error
        assert "Traceback" not in error
        assert len(error) < 1000
