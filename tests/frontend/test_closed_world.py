"""Every class of Python's `ast` is handled with Python's value, or refused with a place; none is dropped.

The classes of Python 3.10 to 3.13 are listed by name, so that each interpreter shows those that it has. A class that a
later Python adds fails the first test until somebody decides about it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import toolbox
import torch

from pymetal import PyMetalError
from pymetal.frontend import refusals
from pymetal.frontend.lower import lower
from pymetal.frontend.overloads import Body

PRELUDE = (
    "from __future__ import annotations; import math, torch, pymetal; from pymetal import T, metal; TABLE = (2, 4)\n"
)

# What each construct does in a functor of a float x: the value at x = 3, or the number of the refusal.
STATEMENTS: dict[str, tuple[str, float | str]] = {
    "AnnAssign": ("y: T = x\nreturn y", 3),
    "Assert": ("assert pymetal.is_floating(T)\nreturn x", 3),
    "Assign": ("y = x + 1\nreturn y", 4),
    "AsyncFor": ("async def g():\n    async for i in x: pass\nreturn x", "PM031"),
    "AsyncFunctionDef": ("async def g(): pass\nreturn x", "PM031"),
    "AsyncWith": ("async def g():\n    async with x: pass\nreturn x", "PM031"),
    "AugAssign": ("y = x\ny += x\nreturn y", 6),
    "Break": ("for i in range(3):\n    x += 1\n    break\nreturn x", 4),
    "ClassDef": ("class C: pass\nreturn x", "PM031"),
    "Continue": ("for i in range(3):\n    if i == 1:\n        continue\n    x += 1\nreturn x", 5),
    "Delete": ("del x\nreturn x", "PM031"),
    "Expr": ("x\nreturn x", "PM031"),
    "For": ("for i in range(3):\n    x += i\nreturn x", 6),
    "FunctionDef": ("def g(): pass\nreturn x", "PM031"),
    "Global": ("global y\nreturn x", "PM031"),
    "If": ("if x > 2:\n    return x + 1\nreturn x", 4),
    "Import": ("import math\nreturn x", "PM031"),
    "ImportFrom": ("from math import pi\nreturn x", "PM031"),
    "Match": ("match x:\n    case 3: x += 1\n    case _: pass\nreturn x", 4),
    "Nonlocal": ("nonlocal outer\nreturn x", "PM031"),
    "Pass": ("pass\nreturn x", 3),
    "Raise": ("raise x", "PM031"),
    "Return": ("return x", 3),
    "Try": ("try: pass\nfinally: pass\nreturn x", "PM031"),
    "TryStar": ("try: pass\nexcept* ValueError: pass\nreturn x", "PM031"),
    "TypeAlias": ("type Y = int\nreturn x", "PM031"),
    "While": ("while x < 10:\n    x *= 2\nreturn x", 12),
    "With": ("with x: pass\nreturn x", "PM031"),
}
EXPRESSIONS: dict[str, tuple[str, float | str]] = {
    "Attribute": ("return x.real", 3),
    "Await": ("async def g(): await x\nreturn x", "PM031"),
    "BinOp": ("return x + x", 6),
    "BoolOp": ("return T(1) if x > 0 and x < 4 else x", 1),
    "Call": ("return metal.fma(x, x, x)", 12),
    "Compare": ("return T(1) if 0 < x < 4 else x", 1),
    "Constant": ("return x + 1.5", 4.5),
    "Dict": ("return {}", "PM032"),
    "DictComp": ("return {x: x for y in x}", "PM032"),
    "FormattedValue": ("return f'{x}'", "PM032"),
    "GeneratorExp": ("return (y for y in TABLE)", "PM032"),
    "IfExp": ("return x + 1 if x > 0 else x", 4),
    "Interpolation": ("return t'{x}'", "PM032"),
    "JoinedStr": ("return f''", "PM032"),
    "Lambda": ("return lambda: x", "PM032"),
    "List": ("return [x]", "PM032"),
    "ListComp": ("return [y for y in TABLE]", "PM032"),
    "Name": ("return x", 3),
    "NamedExpr": ("return (y := x) + y", 6),
    "Set": ("return {x}", "PM032"),
    "SetComp": ("return {y for y in x}", "PM032"),
    "Slice": ("return x[0:1]", "PM032"),
    "Starred": ("return [*x]", "PM032"),
    "Subscript": ("return x + TABLE[1]", 7),
    "TemplateStr": ("return t''", "PM032"),
    "Tuple": ("y, z = x, x + 1\nreturn y * z", 12),
    "UnaryOp": ("return -x", -3),
    "Yield": ("y = yield x\nreturn x", "PM032"),
    "YieldFrom": ("y = yield from x\nreturn x", "PM032"),
}
OPERATORS: dict[str, tuple[str, float | str]] = {
    "And": ("return T(1) if x > 0 and x > 4 else x", 3),
    "Or": ("return T(1) if x > 0 or x > 4 else x", 1),
    "Add": ("return x + 2", 5),
    "Sub": ("return x - 2", 1),
    "Mult": ("return x * 2", 6),
    "MatMult": ("return x @ x", "PM034"),
    "Div": ("return x / 2", 1.5),
    "FloorDiv": ("return -x // 2", -2),
    "Mod": ("return -x % 2", 1),
    "Pow": ("return x ** 3", 27),
    "LShift": ("return T(pymetal.int32(x) << 2)", 12),
    "RShift": ("return T(pymetal.int32(x) >> 1)", 1),
    "BitAnd": ("return T(pymetal.int32(x) & 6)", 2),
    "BitOr": ("return T(pymetal.int32(x) | 8)", 11),
    "BitXor": ("return T(pymetal.int32(x) ^ 5)", 6),
    "Invert": ("return T(~pymetal.int32(x))", -4),
    "Not": ("return T(1) if not x > 4 else x", 1),
    "UAdd": ("return +x", 3),
    "USub": ("return -x", -3),
    "Eq": ("return T(x == 3)", 1),
    "NotEq": ("return T(x != 3)", 0),
    "Lt": ("return T(x < 3)", 0),
    "LtE": ("return T(x <= 3)", 1),
    "Gt": ("return T(x > 3)", 0),
    "GtE": ("return T(x >= 3)", 1),
    "Is": ("return T(x is x)", "PM034"),
    "IsNot": ("return T(x is not x)", "PM034"),
    "In": ("return T(x in x)", "PM034"),
    "NotIn": ("return T(x not in x)", "PM034"),
}
# Parts of the above, and what stands in a signature.
PARTS: dict[str, tuple[str, float | str]] = {
    "Load": ("return x", 3),
    "Store": ("y = x\nreturn y", 3),
    "Del": ("del x\nreturn x", "PM031"),
    "ExceptHandler": ("try: pass\nexcept ValueError: pass\nreturn x", "PM031"),
    "comprehension": ("return sum(x * y for y in TABLE)", 18),
    "arguments": ("return x", 3),
    "arg": ("return x", 3),
    "keyword": ("return metal.exp(x=x)", "PM018"),
    "alias": ("import math\nreturn x", "PM031"),
    "withitem": ("with x: pass\nreturn x", "PM031"),
    "match_case": ("match x:\n    case _: pass\nreturn x", 3),
    "MatchAs": ("match x:\n    case y: pass\nreturn y", 3),
    "MatchClass": ("match x:\n    case float(): pass\nreturn x", "PM031"),
    "MatchMapping": ("match x:\n    case {}: pass\nreturn x", "PM031"),
    "MatchOr": ("match x:\n    case 1 | 3: x += 1\nreturn x", 4),
    "MatchSequence": ("match x:\n    case []: pass\nreturn x", "PM031"),
    "MatchSingleton": ("match x:\n    case None: pass\nreturn x", "PM031"),
    "MatchStar": ("match x:\n    case [*y]: pass\nreturn x", "PM031"),
    "MatchValue": ("match x:\n    case -3: x += 1\nreturn x", 3),
    "ParamSpec": ("def g[**X](y): pass\nreturn x", "PM031"),
    "TypeVar": ("def g[X](y): pass\nreturn x", "PM031"),
    "TypeVarTuple": ("def g[*X](y): pass\nreturn x", "PM031"),
}
SAMPLES = STATEMENTS | EXPRESSIONS | OPERATORS | PARTS
# Never part of a function's tree: what a tree hangs on, comments about types, and classes that the parser gave up
# before Python 3.10.
ABSENT = {
    "Module", "Expression", "Interactive", "FunctionType", "TypeIgnore", "Suite", "Index", "ExtSlice", "AugLoad",
    "AugStore", "Param", "Num", "Str", "Bytes", "NameConstant", "Ellipsis",
}  # fmt: skip
ABSTRACT = {
    "AST", "mod", "stmt", "expr", "expr_context", "boolop", "operator", "unaryop", "cmpop", "excepthandler", "pattern",
    "type_ignore", "type_param", "slice",
}  # fmt: skip


def classes() -> Iterator[str]:
    """The concrete classes of this Python's `ast`."""
    waiting = [ast.AST]
    while waiting:
        class_ = waiting.pop()
        waiting += [c for c in class_.__subclasses__() if c.__module__ in ("ast", "_ast")]
        if class_.__name__ not in ABSTRACT:
            yield class_.__name__


def test_every_class_of_this_python_is_listed() -> None:
    assert set(classes()) <= SAMPLES.keys() | ABSENT


def make(name: str, folder: Path, body: str) -> Any:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    text = f"def make(outer=0):\n    @pymetal.unary(dtypes='floating')\n    def f(x: T) -> T:\n{lines}    return f\n"
    assert any(type(node).__name__ == name for node in ast.walk(ast.parse(text))), f"no {name} in the sample"
    return toolbox.load(folder, text, PRELUDE).make()


@pytest.mark.parametrize("name", [n for n in SAMPLES if hasattr(ast, n)])
def test_every_class_is_handled_or_refused(name: str, tmp_path: Path) -> None:
    body, wanted = SAMPLES[name]
    if isinstance(wanted, str):
        with pytest.raises(PyMetalError) as caught:
            make(name, tmp_path, body)
        check_located(caught.value, wanted)
    else:
        functor = make(name, tmp_path, body)
        assert functor.reference(torch.tensor([3.0])).tolist() == [wanted]


def check_located(error: PyMetalError, number: str) -> None:
    assert error.message.startswith(f"{number}: ")
    assert error.span is not None
    assert error.span.text.strip()
    assert "^" in str(error)
    assert error.hint


# Refused as values only, where they are lowered.
VALUES = ("Expr", "Slice", "Starred", "List", "ListComp", "GeneratorExp")


@pytest.mark.parametrize("name", [n for n, (_, w) in SAMPLES.items() if isinstance(w, str) and hasattr(ast, n)])
def test_refused_in_a_branch_that_is_compiled_away(name: str, tmp_path: Path) -> None:
    """A statement or expression that no functor has is not let through by a test that never holds."""
    body, wanted = SAMPLES[name]
    if wanted not in ("PM031", "PM032") or name in VALUES:
        return
    hidden = "if pymetal.is_integral(T):\n" + "".join(f"    {line}\n" for line in body.splitlines()) + "return x"
    if name in ("Nonlocal", "Global"):
        hidden = body.split("\n")[0] + "\n" + hidden
    with pytest.raises(PyMetalError) as caught:
        make(name, tmp_path, hidden)
    check_located(caught.value, wanted)


# --- classes that only a later Python has ----------------------------------------------------------------------------


def lowered(tree: ast.FunctionDef, folder: Path) -> None:
    """Lowers a tree that the parser of this Python cannot make."""
    functor = toolbox.load(folder, "@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return x\n", PRELUDE).f
    (body,) = functor.bodies
    assert isinstance(body, Body)
    source = body.source.__class__(**{**body.source.__dict__, "node": tree})
    overload = functor.ir.overloads[0].function

    def define(*_: object) -> NoReturn:
        pytest.fail("it calls no plain function")

    lower(source, body.signature, functor.ir.domain, overload.params[0].type, overload.result, define)


def tree_of(functor_text: str) -> ast.FunctionDef:
    tree = ast.parse(functor_text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def test_a_statement_of_a_later_python_is_refused(tmp_path: Path) -> None:
    class Later(ast.stmt):
        _fields = ()

    tree = tree_of("def f(x: T) -> T:\n    return x\n")
    tree.body.insert(0, ast.copy_location(Later(), tree.body[0]))
    with pytest.raises(PyMetalError, match="PM031: `Later` cannot become Metal"):
        lowered(tree, tmp_path)


def test_an_expression_of_a_later_python_is_refused(tmp_path: Path) -> None:
    class Later(ast.expr):
        _fields = ()

    tree = tree_of("def f(x: T) -> T:\n    return x\n")
    tree.body = [ast.copy_location(ast.Return(ast.copy_location(Later(), tree.body[0])), tree.body[0])]
    with pytest.raises(PyMetalError, match="PM032: `Later` cannot become Metal"):
        lowered(tree, tmp_path)


def test_type_parameters_are_refused(tmp_path: Path) -> None:
    """`def f[X](x: T) -> T` of Python 3.12."""
    tree = tree_of("def f(x: T) -> T:\n    return x\n")
    tree.type_params = [ast.copy_location(ast.Name("X"), tree)]  # type: ignore[attr-defined, list-item, unused-ignore]
    with pytest.raises(PyMetalError, match="PM031: a type parameter cannot become Metal"):
        lowered(tree, tmp_path)


def test_what_is_refused_everywhere_has_words_of_its_own() -> None:
    """`construct` names every class of statement and expression that is refused."""
    named = {class_.__name__ for class_ in refusals.CONSTRUCTS}
    refused = {n for n, (_, w) in (STATEMENTS | EXPRESSIONS).items() if w in ("PM031", "PM032")}
    assert {n for n in refused if hasattr(ast, n)} - {"Expr", "Interpolation", "TemplateStr"} <= named
