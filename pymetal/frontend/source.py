"""The source of a decorated function: its syntax tree, its place in a file, and the names it can see."""

from __future__ import annotations

import ast
import builtins
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from pymetal.errors import PyMetalError, SourceError, Span
from pymetal.frontend.refusals import construct, refusal

# Python's own functions that a body may call, to suggest.
_BUILTINS = (
    "abs", "all", "any", "bool", "complex", "divmod", "enumerate", "float", "int", "len", "max", "min", "pow", "range",
    "reversed", "round", "sum", "zip",
)  # fmt: skip


@dataclass(frozen=True)
class Source:
    """One function definition, with what messages about it need."""

    node: ast.FunctionDef
    file: str
    first_line: int  # of the text that was parsed, counted from 1 in the file
    lines: tuple[str, ...]
    names: Callable[[str], Any]  # the object of a name that the body does not assign; KeyError if there is none
    known_names: Callable[[], list[str]]

    def span(self, node: ast.AST) -> Span:
        """Where `node` stands in the file. ast counts columns in UTF-8 bytes, a Span in characters."""
        node = node if hasattr(node, "lineno") else self.node
        line, end_line = node.lineno, node.end_lineno or node.lineno  # type: ignore[attr-defined]
        column = self._column(line, node.col_offset)  # type: ignore[attr-defined]
        end_column = self._column(end_line, node.end_col_offset or 0)  # type: ignore[attr-defined]
        offset = self.first_line - 1
        return Span(self.file, line + offset, column, end_line + offset, end_column, self._text(line))

    def refusal(self, slug: str, node: ast.AST, **fields: object) -> PyMetalError:
        """The error of row `slug` at `node`; the fields fill in the row's templates."""
        return refusal(slug, self.span(node), **fields)

    def _text(self, line: int) -> str:
        return self.lines[line - 1] if 0 < line <= len(self.lines) else ""

    def _column(self, line: int, byte: int) -> int:
        return len(self._text(line).encode()[:byte].decode(errors="ignore"))


def read_source(function: object) -> Source:
    """The `Source` of a Python function.

    Raises:
        SourceError: `function` is not a `def` whose text can be found; the message says what to write instead.
        FunctorSyntaxError: it is an `async def`.
    """
    if not isinstance(function, types.FunctionType):
        raise SourceError(
            f"pymetal decorates Python functions, not {type(function).__name__} objects",
            hint="Write a `def` with one annotated parameter for each tensor and decorate that.",
        )
    name = function.__name__
    if name == "<lambda>":
        raise SourceError(
            "a lambda cannot be a functor: it has no name to give the kernel and no place for annotations",
            hint="Write it as a `def` in a file.",
        )
    if hasattr(function, "__wrapped__"):
        raise SourceError(
            f"{name} is wrapped by another decorator, which a kernel would ignore",
            hint="Put the pymetal decorator next to the `def`, and the other one above it.",
        )
    try:
        lines, start = inspect.getsourcelines(function)
    except (OSError, TypeError, SyntaxError, IndentationError) as error:
        raise SourceError(
            f"the source of {name} cannot be found ({error})",
            hint="pymetal reads the text of a function. Put it in a .py file or a notebook cell: functions made by "
            "exec(), typed at the Python prompt or shipped as .pyc only have none.",
        ) from error
    file = inspect.getsourcefile(function) or function.__code__.co_filename
    tree, added = _parse(lines, name)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    definition = next((n for n in ast.walk(tree) if isinstance(n, kinds) and n.name == name), None)
    if definition is None:
        raise SourceError(
            f"the text found for {name} at {file}:{start} has no `def {name}`",
            hint="If the file changed after it was imported, import it again.",
        )
    if added:
        lines = ["if True:\n", *lines]
    names, known = _scope(function)
    stripped = tuple(line.rstrip("\r\n") for line in lines)
    source = Source(cast("ast.FunctionDef", definition), file, start - added, stripped, names, known)
    if not isinstance(definition, ast.FunctionDef):
        what, hint = construct(definition)
        raise source.refusal("statement", definition, what=what, hint=hint)
    return source


def _parse(lines: list[str], name: str) -> tuple[ast.Module, int]:
    """The tree of `lines`, and how many lines were added before them."""
    text = "".join(lines)
    try:
        # An indented definition keeps its columns when it stands in a block of its own.
        if lines[0][:1] in (" ", "\t"):
            return ast.parse("if True:\n" + text), 1
        return ast.parse(text), 0
    except SyntaxError as error:
        raise SourceError(
            f"the text found for {name} is not a complete definition ({error.msg})",
            hint="Put the decorated `def` on lines of its own.",
        ) from error


def _scope(function: types.FunctionType) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Look-up of free names as in Python (closure, globals, builtins), and the names to suggest."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def look_up(name: str) -> Any:
        if name in cells:
            try:
                return cells[name].cell_contents
            except ValueError:  # the enclosing function has not assigned it yet
                raise KeyError(name) from None
        if name in function.__globals__:
            return function.__globals__[name]
        return vars(builtins)[name]

    def known() -> list[str]:
        return [*cells, *function.__globals__, *_BUILTINS]

    return look_up, known
