"""What Python, IPython and pytest show of an error: its place once, and the user's frames."""

from __future__ import annotations

import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
import toolbox
import torch

import pymetal
from pymetal import FunctorSyntaxError, FunctorTypeError, MetalSyntaxError, PyMetalError, T
from pymetal.errors import Span

PACKAGE = str(Path(pymetal.__file__).parent)


@pymetal.unary(dtypes="floating")
def identity(x: T) -> T:
    return x


def caught(action: Callable[[], object]) -> PyMetalError:
    with pytest.raises(PyMetalError) as info:
        action()
    return info.value


def frames(error: BaseException) -> tuple[list[str], int]:
    """The functions of the user's frames, and how many frames are pymetal's."""
    found = [(f.f_code.co_filename, f.f_code.co_name) for f, _ in traceback.walk_tb(error.__traceback__)]
    inside = [file.startswith(PACKAGE) for file, _ in found]
    return [name for (_, name), ours in zip(found, inside, strict=True) if not ours], sum(inside)


class TestFieldsOfSyntaxError:
    def test_place(self, tmp_path: Path) -> None:
        text = "@pymetal.unary(dtypes='floating')\ndef f(größe: T) -> T:\n    return größe + nowhere\n"
        error = caught(lambda: toolbox.load(tmp_path, text))
        assert isinstance(error, FunctorSyntaxError)
        assert error.span is not None
        assert (error.filename, error.lineno, error.end_lineno) == (error.span.file, error.span.line, error.span.line)
        assert error.text == "    return größe + nowhere"
        assert error.offset is not None
        assert error.end_offset is not None
        assert error.text[error.offset - 1 : error.end_offset - 1] == "nowhere"
        assert error.msg == f"{error.message}\n    {error.hint}"

    def test_of_several_lines_the_first(self) -> None:
        error = FunctorSyntaxError("m", Span("f.py", 3, 4, 5, 2, "    abc("))
        assert (error.lineno, error.end_lineno, error.offset, error.end_offset) == (3, 3, 5, 9)

    def test_python_prints_line_and_caret(self) -> None:
        error = FunctorSyntaxError("what", Span("f.py", 3, 4, 3, 7, "    abc + 1"), "way out")
        shown = "".join(traceback.format_exception_only(error))
        assert shown == (
            '  File "f.py", line 3\n    abc + 1\n    ^^^\npymetal.errors.FunctorSyntaxError: what\n    way out\n'
        )

    def test_without_a_place(self) -> None:
        error = MetalSyntaxError("program_source:1: error: no", hint="way out")
        assert "".join(traceback.format_exception_only(error)).split("\n    ") == [
            "pymetal.errors.MetalSyntaxError: program_source:1: error: no", "way out\n",
        ]  # fmt: skip

    def test_pickled(self) -> None:
        error = FunctorSyntaxError("what", Span("f.py", 3, 4, 3, 7, "    abc + 1"), "way out")
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.lineno, again.msg) == (str(error), 3, error.msg)


SYNTAX = """\
import pymetal
from pymetal import T, metal

@pymetal.unary(dtypes="floating")
def f(x: T) -> T:
    return metl.exp(x)
"""
TYPE = SYNTAX.replace("metl.exp(x)", "x & 1")
CALL = SYNTAX.replace("metl", "metal") + "\ndef main():\n    f(pymetal)\n\nmain()\n"


def test_python_shows_each_part_once(tmp_path: Path) -> None:
    """As users see it: `python file.py`."""
    running = {}
    for name, text in (("syntax", SYNTAX), ("type", TYPE), ("call", CALL)):
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        running[name] = subprocess.Popen([sys.executable, str(path)], stderr=subprocess.PIPE, text=True)
    shown = {name: process.communicate(timeout=120)[1] for name, process in running.items()}
    parts = {
        "syntax": ["line 6", "return metl.exp(x)", "PM011: 'metl' is not defined", "Names are found in"],
        "type": ["type.py:6:12", "return x & 1", "PM021: `&` is not defined", "It takes bool and integer"],
        "call": ["line 9, in main", "f(pymetal)", "CallError"],
    }
    for name, words in parts.items():
        assert [shown[name].count(word) for word in words] == [1] * len(words), shown[name]
        assert shown[name].count(PACKAGE) == 1, shown[name]
        if name != "call":
            line = shown[name].splitlines().index(next(s for s in shown[name].splitlines() if "return" in s))
            assert set(shown[name].splitlines()[line + 1].strip()) == {"^"}


class TestFrames:
    """The user's frames, and one of pymetal's."""

    @pytest.mark.parametrize("text", ["@pymetal.unary\ndef f(x: T) -> T:\n    return metl\n",
                                      "@pymetal.unary()\ndef f(x: T) -> T:\n    return metl\n",
                                      "@pymetal.func\ndef f(x: T) -> T:\n    return metl\n"])  # fmt: skip
    def test_decorators(self, text: str, tmp_path: Path) -> None:
        names, inside = frames(caught(lambda: toolbox.load(tmp_path, text)))
        assert names[-1] == "<module>"
        assert inside == 1

    @pytest.mark.parametrize(
        "action",
        [
            lambda: identity("text"),
            lambda: identity(torch.ones(1), n=3),  # type: ignore[call-overload]
            lambda: identity.reference(torch.ones(1), torch.ones(1)),
            lambda: identity.explain(),
            lambda: identity.jit_source(),  # type: ignore[call-arg]
            lambda: identity.trace(),
            lambda: identity.overload(len),
            lambda: identity.patch("/nowhere"),
            lambda: pymetal.emit([], "/nowhere"),
            lambda: pymetal.binary(promotion="intt_to_float")(len),  # type: ignore[call-overload]
        ],
    )
    def test_calls(self, action: Callable[[], object]) -> None:
        assert frames(caught(action)) == (["caught", "<lambda>"], 1)

    def test_no_error_of_pymetal_s_is_chained(self) -> None:
        exec(compile("def missing(x: T) -> T:\n    return x\n", "<unknown>", "exec"), scope := {"T": T})
        error = caught(lambda: pymetal.unary(scope["missing"]))
        assert (error.__cause__, error.__context__) == (None, None)

    def test_the_user_s_error_stays(self) -> None:
        try:
            raise ZeroDivisionError
        except ZeroDivisionError:
            error = caught(lambda: identity("text"))
        assert isinstance(error.__context__, ZeroDivisionError)
        assert not error.__suppress_context__

    def test_raised_again(self) -> None:
        """The frames of one error do not add up."""
        error = caught(lambda: identity("text"))
        for _ in range(3):
            with pytest.raises(PyMetalError):
                raise error.trimmed()
        assert len(list(traceback.walk_tb(error.__traceback__))) == 1

    def test_all_frames_for_debugging(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYMETAL_DEBUG", "1")
        assert frames(caught(lambda: identity("text")))[1] > 2

    def test_other_errors_keep_theirs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object) -> None:
            raise KeyError("inside")

        monkeypatch.setattr("pymetal.functor.read_source", broken)
        with pytest.raises(KeyError) as info:
            pymetal.unary(lambda x: x)
        assert frames(info.value)[1] > 2

    def test_hidden_from_pytest_and_ipython(self) -> None:
        *_, (last, _) = traceback.walk_tb(caught(lambda: identity("text")).__traceback__)
        assert last.f_locals["__tracebackhide__"] is True


def test_both_kinds_are_python_s() -> None:
    assert issubclass(FunctorSyntaxError, SyntaxError)
    assert issubclass(FunctorTypeError, TypeError)
