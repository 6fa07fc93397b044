"""The source of a decorated function: its syntax tree, its place in a file, and the names it can see."""

from __future__ import annotations

import ast
import builtins
import copy
import dis
import inspect
import os
import stat
import sys
import tokenize
import types
import warnings
from collections.abc import Callable, Iterator
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

    def text(self, node: ast.expr) -> str:
        """An expression as it is written, on one line."""
        if node.lineno != node.end_lineno:
            return ast.unparse(node)
        return ast.get_source_segment("\n".join(self.lines), node) or ast.unparse(node)

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
    if isinstance(function, (staticmethod, classmethod)):
        raise SourceError(
            f"pymetal decorates functions, and {function.__name__} is a {type(function).__name__} here",
            hint="Write `@staticmethod` above the decorator of pymetal, or leave it out: a functor takes no object.",
        )
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
    code = function.__code__
    file = inspect.getsourcefile(function) or code.co_filename
    lines, start = _definition(function)
    # An indented definition keeps its columns when it stands in a block of its own.
    if indented := lines[0][:1] in (" ", "\t"):
        lines = [f"def _({', '.join(code.co_freevars)}):\n" if code.co_freevars else "if True:\n", *lines]
        start -= 1
    tree, compiled = _parse(lines, name)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    line = code.co_firstlineno - start + 1
    definition = next((n for n in ast.walk(tree) if isinstance(n, kinds) and _starts(n) == (name, line)), None)
    # pytest rewrites assertions.
    has_assert = definition is not None and any(isinstance(n, ast.Assert) for n in ast.walk(definition))
    if definition is None or not (has_assert or _facts(code) in _codes(compiled, name, line)):
        raise SourceError(
            f"the text at {file}:{start + indented} is not what {name} was made of",
            hint="If the file changed after it was imported, import it again. exec() keeps no text.",
        )
    names, known = _scope(function)
    stripped = tuple(line.rstrip("\r\n") for line in lines)
    source = Source(cast("ast.FunctionDef", definition), file, start, stripped, names, known)
    if not isinstance(definition, ast.FunctionDef):
        what, hint = construct(definition)
        raise source.refusal("statement", definition, what=what, hint=hint)
    arguments = [*definition.args.posonlyargs, *definition.args.args]
    if arguments and arguments[0].arg in ("self", "cls") and arguments[0].annotation is None:
        hint = "\n        ".join(["A functor takes no object. In a class, write it as", *_static(definition)])
        raise source.refusal("missing-annotation", arguments[0], name=arguments[0].arg, functor=name, hint=hint)
    return source


def _definition(function: types.FunctionType) -> tuple[list[str], int]:
    """The lines of a definition, with its decorators, and the number of the first in its file."""
    code = function.__code__
    try:
        try:
            return inspect.getsourcelines(function)
        except OSError:
            lines = _program(code.co_filename).splitlines(keepends=True)[code.co_firstlineno - 1 :]
            if not lines:
                raise
            return list(inspect.getblock(lines)), code.co_firstlineno
    except (OSError, TypeError, SyntaxError, IndentationError, tokenize.TokenError) as error:
        raise SourceError(
            f"the source of {function.__name__} cannot be found ({error})",
            hint="pymetal reads the text of a function: put it in a .py file or a notebook cell. exec(), .pyc files "
            "alone, a pipe into `python`, and the prompt before Python 3.13 keep no text.",
        ) from error


def _program(file: str) -> str:
    """The text of `python -c TEXT` or of `python < FILE`, which `inspect` does not look for; or nothing."""
    if file == "<string>" and sys.argv[:1] == ["-c"]:
        return sys.orig_argv[-len(sys.argv)]  # what follows are the arguments of the program
    if file == "<stdin>" and stat.S_ISREG(os.fstat(0).st_mode):
        return os.pread(0, os.fstat(0).st_size, 0).decode(errors="replace")
    return ""


def _parse(lines: list[str], name: str) -> tuple[ast.Module, types.CodeType]:
    """The tree of `lines`, and what Python compiles them to."""
    text = "".join(lines)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # Python has shown it
            return ast.parse(text), compile(text, name, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise SourceError(
            f"the text found for {name} is not a complete definition ({error.msg})",
            hint="Put the decorated `def` on lines of its own.",
        ) from error


def _starts(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, int]:
    """The name of a definition, and the line that its code object counts from."""
    return node.name, (*node.decorator_list, node)[0].lineno


def _codes(outer: types.CodeType, name: str, line: int) -> Iterator[object]:
    """The facts of the functions of this name at this line."""
    for code in outer.co_consts:
        if isinstance(code, types.CodeType):
            if (code.co_name, code.co_firstlineno) == (name, line):
                yield _facts(code)
            yield from _codes(code, name, line)


def _facts(code: types.CodeType) -> list[object]:
    """What all compilations of one text have in common. How a function of an imported module is called is not."""
    found: list[object] = []
    for i in dis.get_instructions(code):
        if i.opname.startswith(_COMPARED):
            value = _facts(i.argval) if isinstance(i.argval, types.CodeType) else repr(i.argval).split("<locals>")[-1]
            name = i.opname[:4] if i.opname.startswith(("LOAD", "STORE")) else i.opname
            found.append((name, None if "JUMP" in i.opname else value))
    return found


_COMPARED = ("LOAD", "STORE", "BINARY", "INPLACE", "UNARY", "COMPARE", "IS_", "CONTAINS", "RETURN", "POP_JUMP")


def _static(node: ast.FunctionDef) -> list[str]:
    """The first lines of a method as a static method."""
    args = copy.copy(node.args)
    args.posonlyargs, args.args = node.args.posonlyargs[1:], node.args.args[not node.args.posonlyargs :]
    static = copy.copy(node)
    static.args, static.body = args, [ast.Pass()]
    static.decorator_list = [ast.Name("staticmethod"), *node.decorator_list]
    return ast.unparse(static).splitlines()[:-1]


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
