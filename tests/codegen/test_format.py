"""What is sent is what runs, token by token; clang-format runs once for a file; without it text is not formatted."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import clang_format
import pytest
import torch
import trees
from clang_format import tokens
from hypothesis import given, settings
from hypothesis import strategies as st

import pymetal
from examples import unimplemented
from examples.aten import by_file, load
from pymetal.codegen import format as formatting
from pymetal.codegen.format import ClangFormat, find_clang_format, format_metal, same_text
from pymetal.codegen.wrapping import WRAPPING_ABS
from pymetal.ir import Member
from pymetal.ops import TABLE
from pymetal.runtime.operation import metal_text
from pymetal.upstream.placement import Placement

ROOT = Path(__file__).parents[2]
EXAMPLES = ("addcmul", "atan2", "gelu_tanh", "logaddexp", "smooth_l1")
FUNCTORS = {
    **load(),
    **unimplemented.load(),
    **{name: getattr(importlib.import_module(f"examples.{name}"), name) for name in EXAMPLES},
}
# Lines of the functions that rows of the operator table bring, which have no place in Python.
DEFINITIONS = [WRAPPING_ABS, *(op.text.definition for op in TABLE.values() if isinstance(op.text, Member))]
OF_ROWS = {line.strip() for definition in DEFINITIONS for line in definition.splitlines()}
STATEMENTS = ("const ", "if ", "while ", "return ")
LONG = (
    "struct f {\n  int first_of_two_long_names() { return second_of_two_long_names + 1234567890 * 1234567890; }\n};\n"
)


def test_style() -> None:
    """The style in the package is all of PyTorch's."""
    tool = find_clang_format()
    assert tool is not None
    configurations = [
        subprocess.run(
            [tool.path, "--dump-config", f"--style={style}"], capture_output=True, text=True, check=True
        ).stdout
        for style in (f"file:{formatting._STYLE}", json.dumps(clang_format.STYLE))
    ]
    found, wanted = ([line for line in text.splitlines() if "PadOperators" not in line] for text in configurations)
    assert found == wanted


@pytest.mark.parametrize("name", FUNCTORS)
def test_what_runs_is_what_is_sent(name: str) -> None:
    """The functor's text in the kernel of a call, which is not formatted, has the tokens of the text that is sent."""
    functor = FUNCTORS[name]
    x = torch.ones(2, dtype=functor.ir.domain[0].torch)
    scalars = {s.name: 1 for s in functor.signature.scalars if s.default is None}
    runs = functor.jit_source(*[x] * functor.arity.inputs, **scalars)
    assert functor.text.source in runs
    assert tokens(functor.text.source) == tokens(functor.functor_source)
    assert same_text(functor.text.source, functor.functor_source), "comments too"
    assert " ".join(tokens(functor.functor_source)) in " ".join(tokens(functor.metal_source))


@pytest.mark.parametrize("name", FUNCTORS)
def test_every_line_has_its_place(name: str) -> None:
    """Each statement is one line of the text that is compiled, with the line of Python that it comes from."""
    text = FUNCTORS[name].text
    lines = text.source.split("\n")
    assert len(lines) == len(text.spans)
    for line, span in zip(lines, text.spans, strict=True):
        if span is not None:
            assert line.endswith((";", "{")), line
        else:
            assert line.strip() in OF_ROWS or not line.strip().startswith(STATEMENTS), line


@settings(max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.text(" abcdefg,;:.-*/\\'\"{}()#@!<>|1%", max_size=200),
            st.sampled_from(
                ["clang-format off", "/*", "*/", "IWYU pragma: x " * 9, "TODO: " * 30, "- " * 60, "x" * 99]
            ),
        ),
        max_size=6,
    )
)
def test_any_docstring(lines: list[str]) -> None:
    """Comments are broken and joined; the code below them stays."""
    comment = "".join(f"// {line}".rstrip(" \\") + "\n" for line in lines)
    out = format_metal(comment + LONG)
    assert same_text(out, comment + LONG)
    assert "".join(out.split()).endswith("".join(LONG.split()))


# --- one process for a file ------------------------------------------------------------------------------------------


def test_one_process_for_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    find_clang_format()
    commands: list[list[str]] = []
    run = subprocess.run

    def counted(command: list[str], **options: object) -> object:
        commands.append(command)
        return run(command, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "run", counted)
    formatting._formatted.cache_clear()
    files = [list(functors.values()) for functors in by_file().values()]
    texts = [metal_text(functors) for functors in files]
    assert len(commands) == len(files)
    assert texts == [metal_text(functors) for functors in files]
    assert len(commands) == len(files), "the results are kept"


def test_no_process_before_text_is_emitted() -> None:
    """Neither importing, nor decorating, nor what a call compiles runs clang-format, or looks for it."""
    code = """
import subprocess, torch
def refuse(*args, **kwargs):
    raise AssertionError(args)
subprocess.Popen.__init__ = refuse
import pymetal
from examples.atan2 import atan2
from pymetal.codegen import format
format.find_clang_format = refuse
x = torch.ones(2)
assert "atan2_functor" in atan2.jit_source(x, x)
try:
    atan2.functor_source
except AssertionError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.stdout, done.stderr) == ("refused\n", "")


# --- without clang-format --------------------------------------------------------------------------------------------


def script(folder: Path, body: str, mode: int = 0o755) -> str:
    path = folder / "clang-format"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(mode)
    return str(path)


BROKEN = {
    "fails": ("echo 'invalid style' >&2; exit 1", "failed: invalid style"),
    "writes nothing": ("exit 0", "failed: its output has other tokens than its input"),
    "writes something else": ("cat; echo x", "failed: its output has other tokens than its input"),
    "joins lines": (r"tr '\n' ' '", "failed: its output has other tokens than its input"),
    "loses comment marks": ("sed 's,// ,,'", "failed: its output has other tokens than its input"),
    "loses blanks": (r"tr -d ' '", "failed: its output has other tokens than its input"),
    "is no program": ("", "failed: .*Permission denied"),
    "writes no text": (r"printf '\377'", "failed: .*can't decode byte"),
}


@pytest.fixture
def unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatting, "_warned", False)


def unformatted(monkeypatch: pytest.MonkeyPatch, tool: ClangFormat | None, message: str) -> None:
    """Text is emitted as it is printed, with one warning."""
    monkeypatch.setattr(formatting, "find_clang_format", lambda: tool)
    functor = load()["hypot"]
    with pytest.warns(UserWarning, match=message) as caught:
        texts = [functor.functor_source, functor.metal_source, metal_text(by_file()["PointwiseOps.metal"].values())]
    assert len(caught) == 1
    assert str(caught[0].message).endswith("emitted Metal is not formatted; pip install 'clang-format>=19.1'")
    assert texts[0] == functor.text.source
    assert texts[0] in texts[1]


@pytest.mark.usefixtures("unwarned")
def test_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    unformatted(monkeypatch, None, "^no clang-format was found: ")


@pytest.mark.usefixtures("unwarned")
def test_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    unformatted(monkeypatch, ClangFormat("clang-format", (18, 1)), "clang-format 18.1 is .* older than 19.1: ")


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize("fault", BROKEN)
def test_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str) -> None:
    body, message = BROKEN[fault]
    path = script(tmp_path, body, 0o644 if fault == "is no program" else 0o755)
    unformatted(monkeypatch, ClangFormat(path, (19, 1)), message)


@pytest.mark.usefixtures("unwarned")
@pytest.mark.host
def test_unformatted_text_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the same tokens, and compiles with its registrations."""
    wanted = {name: metal_text(functors.values()) for name, functors in by_file().items()}
    monkeypatch.setattr(formatting, "find_clang_format", lambda: None)
    with pytest.warns(UserWarning, match="no clang-format"):
        found = {name: metal_text(functors.values()) for name, functors in by_file().items()}
    for name, text in found.items():
        assert max(map(len, text.splitlines())) > 80
        assert tokens(text) == tokens(wanted[name])
        assert text.isascii()
    library = pymetal.host.compile_shader(found["ActivationKernel.metal"])
    assert "hardsigmoid_dense_float_float" in dir(library)


def placed(placement: Placement) -> str:
    """The text of the Metal file that a placement changes."""
    (path,) = (path for path in placement.checkout.changed if path.endswith(".metal"))
    return placement.checkout.text(path)


@pytest.mark.usefixtures("unwarned")
def test_a_patch_without_clang_format(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The functor is placed as it is printed, and the notes say that nothing formatted it."""
    root = trees.make(tmp_path / "pytorch", trees.GENERATIONS[0])
    functor = load()["gcd"]
    assert functor.functor_source in placed(functor.patch(root))
    monkeypatch.setattr(formatting, "find_clang_format", lambda: None)
    monkeypatch.setattr("pymetal.upstream.formatting.find_clang_format", lambda: None)
    with pytest.warns(UserWarning, match="no clang-format"):
        placement = functor.patch(root)
    assert functor.text.source in placed(placement)
    assert any("the new lines are not formatted" in note for note in placement.notes)


# --- the finder ------------------------------------------------------------------------------------------------------


def test_the_package_is_found_with_its_binary() -> None:
    tool = find_clang_format()
    assert tool is not None
    assert ".".join(map(str, tool.release)) == ".".join(metadata.version("clang-format").split(".")[:2])
    assert not Path(tool.path).read_bytes().startswith(b"#!"), "the console script starts Python"


FOUND = {
    "upstream's": ("echo 'clang-format version 20.1.8 (https://github.com/llvm 0123)'", (20, 1)),
    "Debian's": ("echo 'Debian clang-format version 19.1.4 (1~deb12u1)'", (19, 1)),
    "without a version": ("echo something", (0, 0)),
    "broken": ("exit 3", None),
}


@pytest.mark.parametrize("kind", FOUND)
def test_one_on_the_path_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    body, release = FOUND[kind]
    path = script(tmp_path, body)
    monkeypatch.setattr(metadata, "distribution", missing)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_clang_format.__wrapped__() == (None if release is None else ClangFormat(path, release))
    monkeypatch.setenv("PATH", "")
    assert find_clang_format.__wrapped__() is None
