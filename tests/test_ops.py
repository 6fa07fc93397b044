"""Every row of the operator table: its text compiles, computes its reference, and its derivative is autograd's.

Nothing here names a row but the tables of exceptions, so a row added to the table is tested when it is there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import toolbox
import torch

from pymetal import dtypes
from pymetal.dtypes import Kind
from pymetal.errors import PyMetalError
from pymetal.functor import Functor
from pymetal.ir import Infix, Op, Rule
from pymetal.meaning.differentiate import differentiate
from pymetal.meaning.evaluate import evaluate
from pymetal.terms import TABLE

# How a body writes a row that is not `metal.NAME`.
WRITTEN = {
    "add": "a + b", "sub": "a - b", "mul": "a * b", "truediv": "a / b", "floordiv": "a // b", "mod": "a % b",
    "pow": "a ** b", "neg": "-a", "pos": "+a", "invert": "~a", "eq": "a == b", "ne": "a != b", "lt": "a < b",
    "le": "a <= b", "gt": "a > b", "ge": "a >= b", "and": "a and b", "or": "a or b", "not": "not a",
    "bitand": "a & b", "bitor": "a | b", "bitxor": "a ^ b", "lshift": "a << b", "rshift": "a >> b",
    "and_": "a & b", "or_": "a | b", "xor": "a ^ b", "abs": "abs(a)", "min": "min(a, b)", "max": "max(a, b)",
    "round": "round(a)",
}  # fmt: skip
# What a functor of one row may be decorated with; the first that fits is taken. A row whose operands keep their type is
# not to be rescued by a promotion to float.
FORMS = [("default", "T"), ("int_to_float", "T"), ("always_bool", "bool"), ("complex_to_float", "pymetal.RealOf[T]")]

# In units in the last place of the result's dtype, against the row's reference at double precision, rounded. `fast`
# functions are held to the same: the host device has one implementation of each function. c10's own functions are what
# upstream made them.
ULP = 1
ULP_OF = {"metal.c10.erfinv": 128}  # near 1 it takes the logarithm of a rounded 1 - x * x


def expression(op: Op) -> str | None:
    """How a body writes the row; None if this test has yet to learn it."""
    arguments = ", ".join("abc"[: op.arity])
    if op.name.startswith("metal."):
        return f"{op.name}({arguments})"
    if op.name in WRITTEN:
        return WRITTEN[op.name]
    return next((f"{alias}({arguments})" for alias in op.aliases), None)


def functor_of(folder: Path, op: Op, dtype: torch.dtype) -> Functor | None:
    """A functor that is the row and nothing else; None if the row does not take the dtype."""
    decorator = ("unary", "binary", "ternary")[op.arity - 1]
    parameters = ", ".join(f"{name}: T" for name in "abc"[: op.arity])
    for promotion, result in FORMS[:1] if op.rule is Rule.SAME else FORMS:
        text = (
            f"@pymetal.{decorator}(promotion={promotion!r}, dtypes={dtype})\n"
            f"def row({parameters}) -> {result}:\n    return {expression(op)}\n"
        )
        try:
            return toolbox.load(folder, text).row
        except PyMetalError:
            continue
    return None


def takes(op: Op, dtype: torch.dtype) -> bool:
    """Whether the table says that the row takes operands of `dtype`."""
    kind = dtypes.from_torch(dtype).kind
    if op.rule in (Rule.DIVIDE, Rule.MATHS, Rule.PREDICATE) and kind in dtypes.INTEGRAL:
        kind = Kind.FLOATING
    return kind in op.kinds


def inputs_of(op: Op, dtype: torch.dtype, count: int = 300) -> list[torch.Tensor]:
    """Edge values, values over all exponents, and values in [-1, 1], where some functions live."""
    inputs = toolbox.operands(dtype, op.arity, count)
    if dtype.is_floating_point:
        generator = torch.Generator().manual_seed(1)
        inputs = [torch.cat([x, (torch.rand(200, generator=generator) * 2 - 1).to(dtype)]) for x in inputs]
    return inputs


CHUNK = 6
CHUNKS = [list(TABLE)[i : i + CHUNK] for i in range(0, len(TABLE), CHUNK)]


def dtypes_of(op: Op) -> tuple[torch.dtype, ...]:
    """Operators print as many different texts as there are widths; a function's argument is always a float."""
    if isinstance(op.text, Infix) or op.rule in (Rule.SAME, Rule.COMPARE):
        return toolbox.DTYPES
    return (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool)


@pytest.mark.parametrize("rows", CHUNKS, ids=lambda rows: rows[0])
def test_values(rows: list[str], tmp_path: Path) -> None:
    problems = []
    with toolbox.batch("ieee"):
        runs = []
        for name, dtype in ((n, d) for n in rows for d in dtypes_of(TABLE[n])):
            op = TABLE[name]
            functor = functor_of(tmp_path, op, dtype)
            if (functor is not None) != takes(op, dtype):
                problems.append(f"{name} at {dtype}: the table says {takes(op, dtype)}, the frontend the contrary")
            if functor is not None:
                inputs = inputs_of(op, dtype)
                functor.jit_source(*inputs)
                runs.append((op, functor, inputs))
        for op, functor, inputs in runs:
            try:
                compare(op, functor, inputs)
            except AssertionError as error:
                problems.append(f"{op.name}: {error}")
    assert problems == []


def compare(op: Op, functor: Functor, inputs: list[torch.Tensor]) -> None:
    """The text on the host device against the row's reference: at double precision for floats, whose own precision is
    not the referee's (torch's float32 fmod is NaN where the quotient is huge)."""
    actual = functor(*inputs)
    floating = inputs[0].is_floating_point()
    expected = functor.reference(*(t.double() if floating else t for t in inputs)).to(actual.dtype)
    toolbox.assert_equal(actual, expected, inputs, 0 if op.rule is Rule.SAME else ULP_OF.get(op.name, ULP))


@pytest.mark.parametrize("name", TABLE)
def test_row_is_written_somehow(name: str) -> None:
    assert expression(TABLE[name]) is not None, f"add to WRITTEN how a body writes {name}"
    assert any(takes(TABLE[name], d) for d in (*toolbox.DTYPES, torch.complex64)), "no dtype reaches the row"


# --- derivatives -----------------------------------------------------------------------------------------------------

# Where a derivative is not autograd's, by function and parameter: a test of the operands, and why.
Where = Callable[..., Any]
EXCEPTIONS: dict[tuple[str, str], tuple[Where, str]] = {
    ("copysign", "a"): (lambda x, y: ~x.isfinite(), "autograd divides the result by the operand: inf / inf is NaN"),
}
# The same, where the row is to change.
AWAITED: dict[tuple[str, str], tuple[Where, str]] = {
    ("atan2", "a"): (lambda y, x: (x == 0) & (y == 0), "NaN at the origin, where autograd has 0"),
    ("atan2", "b"): (lambda y, x: (x == 0) & (y == 0), "NaN at the origin, where autograd has 0"),
    ("pow", "b"): (lambda x, y: (x == 0) & ~(y >= 0), "0 at a zero base and a negative exponent, autograd has inf"),
}
DIFFERENTIABLE = [name for name, op in TABLE.items() if op.derivative is not None]


def derivatives(op: Op, parameter: str, folder: Path) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
    """Operands, the derivative by `parameter` there, and torch's, all at double precision."""
    functor = functor_of(folder, op, torch.float32)
    assert functor is not None
    inputs = [t.double() for t in inputs_of(op, torch.float32)]
    (overload,) = functor.ir.overloads
    ours = evaluate(differentiate(overload.function, parameter, functor.ir.domain), dtypes.float64, inputs, {})
    leaves = [t.clone().requires_grad_() for t in inputs]
    result = op.torch(*leaves)
    if not result.requires_grad:  # a step function
        return inputs, ours, torch.zeros_like(ours)
    (theirs,) = torch.autograd.grad(result.sum(), leaves["abc".index(parameter)], materialize_grads=True)
    return inputs, ours, theirs


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivative(name: str, tmp_path: Path) -> None:
    op = TABLE[name]
    short = name.rpartition(".")[2]
    for parameter in "abc"[: op.arity]:
        inputs, ours, theirs = derivatives(op, parameter, tmp_path)
        excused = torch.zeros_like(ours, dtype=torch.bool)
        for table in (EXCEPTIONS, AWAITED):
            if (short, parameter) in table:
                excused |= table[short, parameter][0](*inputs)
        assert excused.float().mean() < 0.25, "the exceptions leave too little"
        wrong = ~torch.isclose(ours, theirs, rtol=1e-9, atol=1e-15, equal_nan=True) & ~excused
        at = [t[wrong][:1].item() for t in (*inputs, ours, theirs)] if wrong.any() else []
        assert not at, f"d/d{parameter} at {at[:-2]}: {at[-2]} came, autograd has {at[-1]}"


@pytest.mark.parametrize(("name", "parameter"), AWAITED)
@pytest.mark.xfail(strict=True, reason="derivative columns that differ from autograd at edges")
def test_awaited_derivative(name: str, parameter: str, tmp_path: Path) -> None:
    inputs, ours, theirs = derivatives(TABLE[f"metal.{name}"], parameter, tmp_path)
    where = AWAITED[name, parameter][0](*inputs)
    assert torch.equal(ours[where].nan_to_num(-7), theirs[where].nan_to_num(-7))


def test_exceptions_name_rows() -> None:
    short = {name.rpartition(".")[2] for name in TABLE}
    assert {name for name, _ in [*EXCEPTIONS, *AWAITED]} <= short


def test_every_row_has_a_derivative_or_a_truth_value() -> None:
    for name, op in TABLE.items():
        truth = op.rule in (Rule.COMPARE, Rule.LOGICAL, Rule.PREDICATE) or not op.kinds & {Kind.FLOATING, Kind.COMPLEX}
        assert (op.derivative is None) == truth, name


# --- other columns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, op in TABLE.items() if op.python is not None])
def test_python_column_is_the_torch_column(name: str) -> None:
    """Constants fold to what the row computes."""
    op = TABLE[name]
    samples = [True, False] if op.rule is Rule.LOGICAL else [0.25, 0.75, 1.0, -0.5, 2.0, 3.0]
    checked = 0
    for values in zip(*(samples[i:] + samples[:i] for i in range(op.arity)), strict=True):
        try:
            folded = op.python(*values)
        except (ValueError, ZeroDivisionError):  # outside the domain Python raises
            continue
        expected = op.torch(
            *(torch.tensor(v, dtype=torch.bool if op.rule is Rule.LOGICAL else torch.double) for v in values)
        )
        assert folded == pytest.approx(expected.item(), rel=1e-12)
        checked += 1
    assert checked > 0


def test_names_and_aliases_are_distinct() -> None:
    assert all(name == op.name for name, op in TABLE.items())
    aliases = [alias for op in TABLE.values() for alias in op.aliases]
    assert len(aliases) == len(set(aliases))
