"""Finding a function's text: where it stands, what its names mean, and carets under the right characters."""

from __future__ import annotations

import doctest
import linecache
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import toolbox
import torch

import pymetal
from pymetal import Functor, PyMetalError, SourceError, T
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


@pytest.mark.parametrize(
    "now",
    [
        "\n" * 20 + "y = 1\n",
        "\ndef f(x: T) -> T:\n    return 1 - x * k\n",  # at another line
        "def g(x: T) -> T:\n    return 1 - x * k\n",
        "def f(y: T) -> T:\n    return 1 - y * k\n",
        "def f(x: T) -> T:\n    return x - 1 * k\n",
        "def f(x: T) -> T:\n    return 1 + x * k\n",
        "def f(x: T) -> T:\n    return 1.0 - x * k\n",
        "def f(x: T) -> T:\n    return 1 - x * n\n",
        "def f(x: T) -> T:\n    return (1 -\n",
        "",
    ],
)
def test_a_changed_file_is_noticed(now: str, tmp_path: Path) -> None:
    """Another text is never compiled in place of the one that runs."""
    text = "def f(x: T) -> T:\n    return 1 - x * k\n"
    module = toolbox.load(tmp_path, text)
    assert read_source(module.f).node.name == "f"
    assert module.__file__ is not None
    path = Path(module.__file__)
    path.write_text(path.read_text().replace(text, now))
    linecache.checkcache()
    with pytest.raises(SourceError):
        read_source(module.f)


@pytest.mark.parametrize(
    "text",
    [
        "import math\ndef f(x):\n    return math.exp(x) if x > 0 else -math.sin(x + 70000)\n",
        "def make(k):\n    def f(x):\n        return sum(k * i for i in (x, x)) + f(k)\n    return f\nf = make(1)\n",
        "class A:\n    def f(x):\n        if not (x < 3 and x is x):\n            x = 1\n        return x\nf = A.f\n",
        "if True:\n    def f(x):\n        return f(lambda: x)\n",
        "def f(x):\n    'Doc.'\n    assert x, 'no'\n    return x\n",
    ],
)  # fmt: skip
def test_the_text_is_known_again(text: str, tmp_path: Path) -> None:
    """In its module and alone, a definition is not compiled to the same bytes."""
    assert read_source(toolbox.load(tmp_path, text).f).node.name == "f"


CELL = "@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return x + {}\n"


@pytest.mark.parametrize("name", ["<ipython-input-{}-12ab>", "/nowhere/ipykernel_1/{}.py", "<python-input-{}>"])
def test_cells_of_a_notebook(name: str) -> None:
    """Cells are in the line cache; two define the same name."""
    scope: dict[str, Any] = {"pymetal": pymetal, "T": T, "__name__": "__main__"}
    found: list[Functor] = []
    for number in (1, 2):
        text, file = CELL.format(number), name.format(number)
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        exec(compile(text, file, "exec", dont_inherit=True), scope)
        found.append(scope["f"])
    assert [f.bodies[0].source.lines[-1] for f in found] == ["    return x + 1", "    return x + 2"]
    with pytest.raises(SourceError, match="is not what f was made of"):
        exec(compile(CELL.format("3"), name.format(1), "exec", dont_inherit=True), scope)


def test_doctest() -> None:
    text = (
        ">>> @pymetal.unary(dtypes='floating')\n... def f(x: T) -> T:\n...     return x + 1\n>>> f\n<pymetal.unary f>\n"
    )
    test = doctest.DocTestParser().get_doctest(text, {"pymetal": pymetal, "T": T}, "name", None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0


PROGRAM = """\
import pymetal, sys
from pymetal import T

@pymetal.unary(dtypes="floating")
def f(x: T) -> T:
    return x + 1

print(f.ir.name, sys.argv)
if len(sys.argv) > 1:
    exec(sys.argv[1])
"""


def test_programs_that_are_no_files(tmp_path: Path) -> None:
    """`python -c`, `python < file`, and `exec` of a text that nobody keeps."""
    path = tmp_path / "program"
    path.write_text(PROGRAM)
    inner = "@pymetal.unary\ndef g(x: T) -> T:\n    return x\n"
    with path.open() as file:
        pipe = subprocess.PIPE
        running = [
            subprocess.Popen([sys.executable, *arguments], stdin=stdin, stdout=pipe, stderr=subprocess.STDOUT)
            for arguments, stdin in (
                (["-c", PROGRAM], None), (["-Bc", PROGRAM, inner, "b"], None), ([], file), ([], pipe),
            )
        ]  # fmt: skip
        texts = [None, None, None, PROGRAM.encode()]
        shown = [p.communicate(text, timeout=120)[0].decode() for p, text in zip(running, texts, strict=True)]
    assert shown[0] == "f ['-c']\n"
    assert shown[1].startswith("f ['-c', '@pymetal")
    assert shown[1].count("SourceError: ") == 1
    assert "exec() keeps no text" in shown[1]
    assert shown[2] == "f ['']\n"
    assert shown[3].count("SourceError: ") == 1
    assert "a pipe into `python`" in shown[3]


class TestMethods:
    def test_self(self, tmp_path: Path) -> None:
        error = refused(
            tmp_path,
            "class A:\n    @pymetal.binary(promotion='int_to_float')\n"
            "    def f(self, a: T, b: T, *, k: float = 1) -> T:\n        return a\n",
        )
        assert marked(error) == "self"
        assert str(error).splitlines()[3:] == [
            "    A functor takes no object. In a class, write it as",
            "        @staticmethod",
            "        @pymetal.binary(promotion='int_to_float')",
            "        def f(a: T, b: T, *, k: float=1) -> T:",
        ]

    @pytest.mark.parametrize("decorator", ["unary", "func"])
    def test_cls_and_no_other_parameter(self, decorator: str, tmp_path: Path) -> None:
        error = refused(tmp_path, f"class A:\n    @pymetal.{decorator}\n    def f(cls, /) -> T:\n        return 1\n")
        assert str(error).endswith(f"        @pymetal.{decorator}\n        def f() -> T:")

    @pytest.mark.parametrize("wrapper", ["@staticmethod\n    ", ""])
    def test_in_a_class(self, wrapper: str, tmp_path: Path) -> None:
        text = f"class A:\n    {wrapper}@pymetal.unary(dtypes='floating')\n    def f(x: T) -> T:\n        return x\n"
        module = toolbox.load(tmp_path, text)
        assert module.A.f is module.A().f
        assert module.A.f.dtypes == (torch.float32, torch.float16, torch.bfloat16)

    @pytest.mark.parametrize("wrapper", ["staticmethod", "classmethod"])
    def test_below(self, wrapper: str, tmp_path: Path) -> None:
        text = f"class A:\n    @pymetal.unary\n    @{wrapper}\n    def f(x: T) -> T:\n        return x\n"
        with pytest.raises(SourceError, match=f"f is a {wrapper} here\nWrite `@staticmethod` above"):
            toolbox.load(tmp_path, text)


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
