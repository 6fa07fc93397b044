"""The columns of rows that no other test reads, and that no table outside `pymetal.ops` is keyed by an operator's name.

Texts, values and derivatives of every row are tested in `test_ops` and `test_intrinsics`.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import pymetal
from pymetal.accuracy import elementwise
from pymetal.debug.instrument import DEFINITIONS
from pymetal.dtypes import Kind
from pymetal.ir import Concrete, Infix, Op, Prefix, TypeRule
from pymetal.ops import TABLE
from pymetal.ops.table import FLOATING, INTEGERS
from pymetal.semantics.exact_interpreter import mp

PACKAGE = Path(pymetal.__file__).parent
# Strings outside `ops` that are the name of a row, or the last part of one, and mean something else.
OTHER_MEANINGS = {
    "check/exact_operators.py": "torch's operators by name, those that are no rows; the rows are asked first",
    "check/torch_operators.py": "torch's operators by the name of the functor that stands for one",
    "frontend/builtin_calls.py": "the attributes of Python's numbers",
    "frontend/expressions.py": "the words of Python that join conditions",
    "frontend/loops.py": "the names of the arguments of `range`",
    "frontend/source.py": "Python's builtins, to suggest when a name is unknown",
    "frontend/suggestions.py": "functions of Python's math that have no row",
    "frontend/torch_calls.py": "the frontend's words for functions of several rows, and rounding modes",
    "host/build.py": "a feature of processors",
    "upstream/report.py": "the keys of a JSON object",
    "upstream/stubs.py": "upstream's dispatch stubs by the name of the functor that stands for one",
}


def compared_strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """The strings that something may be looked up by or compared with: keys, elements, operands of comparisons, cases,
    and the arguments of tests for a prefix or suffix."""
    for node in ast.walk(tree):
        found: list[ast.expr | None] = []
        match node:
            case ast.Dict(keys=keys):
                found = keys
            case ast.Set(elts=elts) | ast.Tuple(elts=elts) | ast.List(elts=elts):
                found = [*elts]
            case ast.Compare(left=left, comparators=others):
                found = [left, *others]
            case ast.MatchValue(value=value):
                found = [value]
            case ast.Call(func=ast.Attribute(attr="startswith" | "endswith" | "removeprefix" | "removesuffix")):
                found = [*node.args]
        yield from (e for e in found if isinstance(e, ast.Constant) and isinstance(e.value, str))


def test_no_table_elsewhere_is_keyed_by_the_name_of_an_operator() -> None:
    names = {name for op in TABLE.values() for name in (op.name, op.base)}
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        where = path.relative_to(PACKAGE).as_posix()
        strings = {str(c.value) for c in compared_strings(ast.parse(path.read_text(encoding="utf-8")))}
        hits = {s for s in strings if s in names or s.startswith("metal.")}
        if hits and not where.startswith("ops/"):
            found[where] = hits
    assert {w: found[w] for w in found if w not in OTHER_MEANINGS} == {}


# --- the exact column ------------------------------------------------------------------------------------------------

REALS = (-2.5, -1.5, -0.75, -0.375, 0.25, 0.5, 0.875, 1.0, 1.25, 2.0, 3.5, 7.25)
WHOLE = (-128, -127, -7, -2, -1, 0, 1, 2, 3, 100, 127)


def columns(op: Op, values: tuple[float, ...], dtype: torch.dtype) -> list[torch.Tensor]:
    """Every combination of `values`, with what a row fixes the type of an operand to."""
    params = op.params or (None,) * op.arity
    choices = []
    for param in params:
        fixed = param.dtype if isinstance(param, Concrete) else None
        small = [False, True] if fixed is not None and fixed.kind is Kind.BOOL else [0, 1, 2, 3]
        choices.append((small, fixed.torch) if fixed is not None else (values if op.arity == 1 else values[::2], dtype))
    rows = list(itertools.product(*(c for c, _ in choices)))
    return [torch.tensor(c, dtype=d) for c, (_, d) in zip(zip(*rows, strict=True), choices, strict=True)]


EXACT = [name for name, op in TABLE.items() if op.exact is not None]


@pytest.mark.parametrize("name", [n for n in EXACT if TABLE[n].kinds & FLOATING])
def test_exact_column_is_the_torch_column(name: str) -> None:
    """To 1e-9 at double precision; where torch has no value mpmath may have one."""
    op = TABLE[name]
    meaning = op.exact
    assert meaning is not None
    operands = columns(op, REALS, torch.float64)
    theirs = op.torch(*operands).double()
    fixed = [isinstance(p, Concrete) for p in op.params or (None,) * op.arity]

    def exact(*values: float) -> object:
        return meaning(mp, *(v if f else mp.mpf(v) for v, f in zip(values, fixed, strict=True)))

    ours = elementwise.on_reals(exact, *operands, digits=40)
    both = ours.isfinite() & theirs.isfinite()
    assert int(both.sum()) >= min(5, len(both) // 2)
    torch.testing.assert_close(ours[both], theirs[both], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [n for n in EXACT if TABLE[n].kinds & INTEGERS])
def test_exact_column_of_integers_is_the_torch_column(name: str) -> None:
    op = TABLE[name]
    meaning = op.exact
    assert meaning is not None
    operands = columns(op, WHOLE, torch.int8)
    theirs = op.torch(*operands)
    ours = elementwise.on_integers(lambda *values: meaning(mp, *values), *operands, dtype=theirs.dtype)
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("name", [n for n in EXACT if TABLE[n].rule is TypeRule.LOGICAL])
def test_exact_column_of_bools_is_the_torch_column(name: str) -> None:
    op = TABLE[name]
    assert op.exact is not None
    for values in itertools.product((False, True), repeat=op.arity):
        assert op.exact(mp, *values) is bool(op.torch(*map(torch.tensor, values)))


# --- the other columns -----------------------------------------------------------------------------------------------


def test_columns_fit_each_other() -> None:
    for name, op in TABLE.items():
        if op.overflow:
            assert f"inline bool pymetal_{op.overflow}_overflows(T a" in DEFINITIONS, name
        if op.overflow or op.divides:
            assert op.kinds & INTEGERS, name
        if op.suggested:
            assert op.kinds & FLOATING, name
            assert op.params is None, name
        if isinstance(op.text, Infix | Prefix) and op.rule is not TypeRule.LOGICAL:
            assert op.text.symbol == op.symbol, name


def test_rows_that_do_not_round_give_values_of_their_operands_type() -> None:
    """A result of float32 operands, computed in double precision, is a float32."""
    for name, op in TABLE.items():
        if op.rounds or not op.kinds & FLOATING or op.params is not None:
            continue
        operands = columns(op, tuple(torch.tensor(REALS, dtype=torch.float32).tolist()), torch.float32)
        wide = op.torch(*(o.double() for o in operands))
        if name != "metal.nextafter":  # of the operands' own type
            assert torch.equal(wide, wide.float().double()), name
