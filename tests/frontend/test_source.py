"""Finding a function's text: where it stands, what its names mean, and carets under the right characters."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import NamedTuple

import pytest
import toolbox
import torch

import pymetal
from pymetal import PyMetalError, SourceError, T
from pymetal.errors import Span, nearest
from pymetal.frontend.source import read_source


class Refused(NamedTuple):
    """A refusal and its place."""

    error: PyMetalError
    span: Span

    def __str__(self) -> str:
        return str(self.error)


def refused(folder: Path, text: str, prelude: str = toolbox.PRELUDE) -> Refused:
    with pytest.raises(PyMetalError) as caught:
        toolbox.load(folder, text, prelude)
    assert caught.value.span is not None
    return Refused(caught.value, caught.value.span)


def marked(error: Refused) -> str:
    """The characters over the caret."""
    _, line, carets, *_ = str(error).splitlines()
    start = carets.index("^")
    return line[start : carets.rindex("^") + 1]


def test_place_in_the_file(tmp_path: Path) -> None:
    error = refused(
        tmp_path,
        "\n# comment\n@pymetal.unary(\n    dtypes='floating',\n)\ndef f(x: T) -> T:\n    return x + nowhere\n",
    )
    lines = Path(error.span.file).read_text().splitlines()
    assert lines[error.span.line - 1] == error.span.text == "    return x + nowhere"
    assert error.span.column == 15
    assert str(error).startswith(f"{error.span.file}:{error.span.line}:16: ")
    assert marked(error) == "nowhere"


def test_indented_definitions(tmp_path: Path) -> None:
    error = refused(
        tmp_path,
        "class Box:\n    def make(self):\n        @pymetal.unary(dtypes='floating')\n"
        "        def f(x: T) -> T:\n            return x + nowhere\n        return f\nBox().make()\n",
    )
    assert Path(error.span.file).read_text().splitlines()[error.span.line - 1] == "            return x + nowhere"
    assert marked(error) == "nowhere"


def test_tabs(tmp_path: Path) -> None:
    error = refused(
        tmp_path, "if True:\n\t@pymetal.unary(dtypes='floating')\n\tdef f(x: T) -> T:\n\t\treturn x + nowhere\n"
    )
    assert error.span.text == "\t\treturn x + nowhere"
    caret = str(error).splitlines()[2]
    assert caret == "    \t\t           ^^^^^^^"


def test_characters_that_are_several_bytes(tmp_path: Path) -> None:
    """ast counts bytes; carets count characters."""
    error = refused(
        tmp_path, "@pymetal.unary(dtypes='floating')\ndef f(größe: T) -> T:\n    return größe + größe + nowhere\n"
    )
    assert error.span.column == 27
    assert marked(error) == "nowhere"
    error = refused(tmp_path, "@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return x + ('→', nowhere)\n")
    assert marked(error).startswith("(")


def test_expression_of_several_lines(tmp_path: Path) -> None:
    """The first line is shown, underlined to its end."""
    error = refused(
        tmp_path, "@pymetal.unary(dtypes='bool')\ndef f(x: T) -> T:\n    return (x\n            - x)\n",
    )  # fmt: skip
    assert error.span.end_line == error.span.line + 1
    assert marked(error) in ("(x", "x")


def test_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "crlf.py"
    path.write_bytes(
        b"import pymetal\r\nfrom pymetal import T\r\n@pymetal.unary(dtypes='floating')\r\n"
        b"def f(x: T) -> T:\r\n    return x + nowhere\r\n"
    )
    linecache.checkcache()
    scope = {"__name__": "crlf", "__file__": str(path)}
    with pytest.raises(PyMetalError) as caught:
        exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), scope)
    assert caught.value.span is not None
    assert caught.value.span.text == "    return x + nowhere"


@pytest.mark.host
def test_one_line_definition(tmp_path: Path) -> None:
    functor = toolbox.load(tmp_path, "@pymetal.unary\ndef f(x: T) -> T: return x\n").f
    assert functor(torch.ones(1)).item() == 1


@pytest.mark.host
def test_long_signatures(tmp_path: Path) -> None:
    functor = toolbox.load(
        tmp_path,
        "@pymetal.binary(dtypes='floating')\ndef f(\n    a: T,  # first\n    b: T,\n    *,\n    k: float = (\n"
        "        1.5\n    ),\n) -> T:\n    '''Doc.\n\n    More.\n    '''\n"
        "    return (\n        a\n        + k * b  # twice\n    )\n",
    ).f
    assert functor(torch.ones(1), torch.ones(1)).item() == 2.5
    assert functor.doc == "Doc.\n\nMore."
    assert functor.functor_source.startswith("// Doc.\n//\n// More.\nstruct f_functor {")


@pytest.mark.host
def test_positional_only_parameters(tmp_path: Path) -> None:
    functor = toolbox.load(tmp_path, "@pymetal.binary\ndef f(a: T, /, b: T) -> T:\n    return a + b\n").f
    assert functor(torch.ones(1), torch.ones(1)).item() == 2


@pytest.mark.host
def test_decorated_again_and_renamed(tmp_path: Path) -> None:
    """Calling the decorator on a function that is already there, under another name."""
    module = toolbox.load(tmp_path, "def f(x: T) -> T:\n    return x + 1\n\ng = pymetal.unary(dtypes='floating')(f)\n")
    assert module.g.name == "f"
    assert module.g(torch.ones(1)).item() == 2


@pytest.mark.host
def test_the_right_one_of_several(tmp_path: Path) -> None:
    """Functions of one name, each with its own text."""
    module = toolbox.load(
        tmp_path,
        "def one():\n    @pymetal.unary(dtypes='floating')\n    def f(x: T) -> T:\n        return x + 1\n    return f\n"
        "def two():\n    @pymetal.unary(dtypes='floating')\n    def f(x: T) -> T:\n        return x + 2\n    return f\n"
        "a, b = one(), two()\n",
    )
    assert (module.a(torch.zeros(1)).item(), module.b(torch.zeros(1)).item()) == (1, 2)


@pytest.mark.host
def test_quoted_annotations(tmp_path: Path) -> None:
    text = (
        "@pymetal.binary(dtypes='floating')\ndef f(a: 'T', b: 'pymetal.T', *, k: 'float' = 2.0) -> 'T':\n"
        "    return a + b * k\n"
    )
    functor = toolbox.load(tmp_path, text).f
    assert functor(torch.ones(1), torch.ones(1)).item() == 3
    functor = toolbox.load(tmp_path, text, "from __future__ import annotations\n" + toolbox.PRELUDE).f
    assert functor(torch.ones(1), torch.ones(1)).item() == 3


def test_names_are_found_as_python_finds_them(tmp_path: Path) -> None:
    """Closure before globals before builtins; an empty cell is no name."""
    module = toolbox.load(
        tmp_path,
        "k = 1\ndef make(k):\n    def f(x: T) -> T:\n        return x * k\n    return f\n"
        "def late():\n    def f(x: T) -> T:\n        return x * after\n    g = f\n    found = None\n"
        "    try:\n        pymetal.unary(dtypes='floating')(f)\n    except pymetal.PyMetalError as error:\n"
        "        found = error\n    after = 2\n    return found\n",
    )
    source = read_source(module.make(5))
    assert source.names("k") == 5
    assert source.names("T") is T
    assert source.names("abs") is abs
    with pytest.raises(KeyError):
        source.names("nowhere")
    assert "'after' is not defined" in str(module.late())


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    module = toolbox.load(tmp_path, "def f(x: T) -> T:\n    return x\n")
    assert module.__file__ is not None
    path = Path(module.__file__)
    path.write_text("\n" * 20 + "y = 1\n")
    linecache.checkcache()
    with pytest.raises(SourceError):
        pymetal.unary(module.f)


@pytest.mark.parametrize("thing", [len, int, "text", None, 3, torch.exp, pymetal.metal.exp, Path("x").exists])
def test_what_is_no_function(thing: object) -> None:
    with pytest.raises(SourceError, match="pymetal decorates Python functions, not"):
        read_source(thing)


class TestSpan:
    def test_caret(self) -> None:
        span = Span("f.py", 3, 4, 3, 7, "    abc + 1")
        assert str(span) == "f.py:3:5"
        assert span.caret() == "        abc + 1\n        ^^^"

    def test_never_empty_and_never_beyond_the_line(self) -> None:
        assert Span("f.py", 1, 3, 1, 3, "abcdef").caret().endswith("       ^")
        assert Span("f.py", 1, 4, 2, 1, "abcdef").caret().endswith("        ^^")
        assert Span("f.py", 1, 0, 1, 99, "abc").caret().endswith("    ^^^")

    def test_error_without_a_place(self) -> None:
        assert str(PyMetalError("what", hint="way out")) == "what\nway out"


def test_nearest() -> None:
    assert nearest("atan", ["atan2", "exp"]) == "atan2"
    assert nearest("qqq", ["atan2", "exp"]) is None
    assert nearest("x", []) is None
