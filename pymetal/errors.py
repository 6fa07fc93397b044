"""Errors: exceptions whose messages show the place and what to do.

Every error a user can cause is a :class:`PyMetalError`. The subclasses say what to change: the functor's text, the
call, or the machine's compiler. Each is also the built-in exception that fits, so ``except TypeError`` works.
"""

from __future__ import annotations

import difflib
import functools
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Span:
    """A place in a user's Python file. Lines count from 1, columns from 0, as in :mod:`ast`."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str  # the whole source line `line`, without its newline

    def caret(self) -> str:
        """The source line with the span underlined; columns are in characters, tabs are kept so that carets align."""
        end = self.end_column if self.end_line == self.line else len(self.text)
        width = max(1, min(end, len(self.text)) - self.column)
        pad = "".join("\t" if c == "\t" else " " for c in self.text[: self.column])
        return f"    {self.text}\n    {pad}{'^' * width}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column + 1}"


# Control characters of a user's text, which a terminal would obey, are shown as escapes.
_CONTROL = {c: f"\\x{c:02x}" for c in (*range(32), *range(127, 160)) if chr(c) not in "\t\n"}


class PyMetalError(Exception):
    """Base of every error that pymetal raises on purpose.

    Attributes:
        by_dtype: it says that a body has no meaning at some dtypes, and may have one at others.
    """

    by_dtype = False

    def __init__(self, message: str, span: Span | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint

    def __str__(self) -> str:
        parts = [f"{self.span}: {self.message}", self.span.caret()] if self.span else [self.message]
        if self.hint:
            parts.append(f"    {self.hint}" if self.span else self.hint)
        return "\n".join(parts).translate(_CONTROL)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.span, self.hint), self.__dict__

    def trimmed(self) -> PyMetalError:
        """The error without the frames and the errors of pymetal's own that led to it; whole with PYMETAL_DEBUG=1.

        It is to be raised outside of an `except`: then Python keeps the error that the caller was handling.
        """
        if os.environ.get("PYMETAL_DEBUG", "0") in ("", "0"):
            self.__traceback__ = self.__cause__ = self.__context__ = None
            self.__suppress_context__ = False
        return self


def public(function: F) -> F:
    """A function that users call: its errors have the user's frames and one of pymetal's."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except PyMetalError as error:
            trimmed = error.trimmed()
        __tracebackhide__ = True  # read by pytest and IPython
        raise trimmed

    return cast("F", call)


class TextError(PyMetalError, SyntaxError):
    """An error in a text. Python, IPython and pytest show its place, from the fields of `SyntaxError`."""

    def __init__(self, message: str, span: Span | None = None, hint: str | None = None) -> None:
        super().__init__(message, span, hint)
        self.msg = f"{message}\n    {hint}" if hint else message
        if span is not None:
            # As `caret` shows it: a place of several lines ends with the first one, which is all that is shown.
            end = span.end_column if span.end_line == span.line else len(span.text)
            self.filename, self.text = span.file, span.text
            self.lineno = self.end_lineno = span.line
            self.offset, self.end_offset = span.column + 1, end + 1


class FunctorSyntaxError(TextError):
    """The functor's text uses a construct, name or shape that cannot become Metal."""


class FunctorTypeError(PyMetalError, TypeError):
    """The functor's text does not type-check for one of its element types."""


class CallError(PyMetalError, TypeError):
    """A functor or kernel was called with arguments it cannot take."""


class SourceError(PyMetalError, TypeError):
    """What is decorated is not a Python function whose source can be read."""


class MetalSyntaxError(TextError):
    """Metal text does not compile; raised where ``torch.mps.compile_shader`` raises ``SyntaxError``."""


class DeviceError(PyMetalError, RuntimeError):
    """A device is missing, or cannot do what was asked of it."""


class ToolchainError(DeviceError):
    """The host device has no C++ compiler it can use."""


def plural(count: int, noun: str) -> str:
    """A count for a message: "1 argument", "2 arguments"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def were_given(count: int) -> str:
    """How many were given, for a message: "1 was given", "2 were given"."""
    return f"{count} was given" if count == 1 else f"{count} were given"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to `name`, or None if none is similar."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None
