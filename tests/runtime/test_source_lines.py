"""What a Metal compiler says about a line of text is shown at the line of Python that it was made of."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import mps_stand_in
import pytest
import toolbox
import torch

from pymetal import MetalSyntaxError
from pymetal.functor import Functor
from pymetal.host.device import HostDevice

TEXT = '''
@pymetal.func
def halved(x: T) -> T:
    return x / 2  # helper


@pymetal.unary(dtypes="floating")
def staged(x: T, *, limit: float = 3.0) -> T:
    """Statements of every sort, each on a line of its own."""
    a = x * 2  # let
    a = a + halved(x)  # reassign
    if a > limit:  # condition
        return a - 7  # then
    for i in pymetal.static_range(2):
        a = a * 5  # loop
    return metal.precise.tanh(a)  # last
'''

# A piece of the Metal text that stands on one line, and the comment at the end of the Python line it comes from.
PIECES = {
    "let": r"= x \* T",
    "reassign": r"halved\(x\);",
    "condition": r"if \(",
    "then": r"- T\(7\)",
    "loop": r"\* T\(5\)",
    "last": r"tanh\(",
    "helper": r"return x / T",
}  # fmt: skip


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Functor:
    functor: Functor = toolbox.load(tmp_path_factory.mktemp("lines"), TEXT).staged
    return functor


def failing(at: str, kind: type[Exception], form: str, seen: list[str]) -> Callable[..., Any]:
    """A compiler that complains about the line of the source that matches `at`."""

    def compile_(source: str) -> Any:
        lines = source.splitlines()
        line = next(n for n, text in enumerate(lines, 1) if re.search(at, text))
        seen.append(lines[line - 1])
        raise kind(form.format(line=line))

    return compile_


FORMS = {
    "newer torch": (SyntaxError, "program_source:{line}:3: error: no matching function for call"),
    "torch 2.6": (RuntimeError, "Failed to create metal library, error: program_source:{line}:3: error: no matching"),
    "fatal": (SyntaxError, "program_source:{line}:1: fatal error: too many errors"),
    "with a warning before": (
        SyntaxError, "program_source:1:1: warning: unused\nprogram_source:{line}:3: error: no matching function",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("piece", PIECES)
def test_on_mps(staged: Functor, piece: str, form: str) -> None:
    kind, message = FORMS[form]
    seen: list[str] = []
    with mps_stand_in.installed() as stand_in:
        compile_ = failing(PIECES[piece], kind, message, seen)
        with mock.patch.object(torch.mps, "compile_shader", compile_), pytest.raises(MetalSyntaxError) as caught:
            staged(stand_in.put(torch.ones(3)))
    assert seen, staged.functor_source
    span = caught.value.span
    assert span is not None, seen
    assert span.text.endswith(f"# {piece}"), (seen, span.text)
    assert Path(span.file).name.startswith("written_")
    assert str(caught.value).startswith(f"{span.file}:{span.line}:{span.column + 1}: staged: ")
    assert span.text in str(caught.value)


@pytest.mark.host
def test_on_the_host_device(staged: Functor) -> None:
    """The real compiler, for a text that is broken on its way to it."""
    plain = HostDevice.compile

    def broken(device: HostDevice, source: str) -> Any:
        return plain(device, source.replace("tanh(", "no_such_function("))

    with mock.patch.object(HostDevice, "compile", broken), pytest.raises(MetalSyntaxError, match="on host") as caught:
        staged(torch.ones(3))
    span = caught.value.span
    assert span is not None
    assert span.text.endswith("# last")
    assert "no_such_function" in str(caught.value)


def test_a_line_that_is_of_no_statement(staged: Functor) -> None:
    """Includes and the launch kernel have no place in Python: the message stands alone."""
    for piece in ("metal_stdlib", "kernel void"):
        seen: list[str] = []
        compile_ = failing(piece, SyntaxError, FORMS["newer torch"][1], seen)
        with mps_stand_in.installed() as stand_in:
            with mock.patch.object(torch.mps, "compile_shader", compile_), pytest.raises(MetalSyntaxError) as caught:
                staged(stand_in.put(torch.ones(3)))
            assert caught.value.span is None
            assert "staged: the Metal text of this does not compile on mps" in str(caught.value)
    with mps_stand_in.installed() as stand_in:  # a message without a place
        x = stand_in.put(torch.ones(3))
        nothing = mock.patch.object(torch.mps, "compile_shader", side_effect=RuntimeError("device lost"))
        with nothing, pytest.raises(MetalSyntaxError, match="device lost") as caught:
            staged(x)
        assert caught.value.span is None
