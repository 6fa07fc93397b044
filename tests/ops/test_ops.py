"""Rows of the operator table for Python's own operators and builtins: text, values, derivatives.

`test_intrinsics` does the same for the functions of Metal and c10. Nothing here names a row but the tables of how it is
written and of exceptions, so a row added to the table is tested when it is there.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import intrinsic_cases
import pytest
import toolbox
import torch

from pymetal import dtypes, ir
from pymetal.dtypes import Kind
from pymetal.errors import PyMetalError
from pymetal.functor import Functor
from pymetal.ir import Op, TypeRule
from pymetal.ops import BY_ALIAS, TABLE, python
from pymetal.semantics.differentiate import differentiate
from pymetal.semantics.interpreter import evaluate

ROWS = {op.name: op for op in vars(python).values() if isinstance(op, Op)}

# How a body writes a row.
WRITTEN = {
    "add": "a + b", "sub": "a - b", "mul": "a * b", "truediv": "a / b", "floordiv": "a // b", "mod": "a % b",
    "pow": "a ** b", "neg": "-a", "invert": "~a", "eq": "a == b", "ne": "a != b", "lt": "a < b", "le": "a <= b",
    "gt": "a > b", "ge": "a >= b", "and": "a and b", "or": "a or b", "not": "not a", "bitand": "a & b",
    "bitor": "a | b", "bitxor": "a ^ b", "shift_left": "a << b", "shift_right": "a >> b", "abs": "abs(a)",
    "min": "min(a, b)", "max": "max(a, b)", "round": "round(a)",
    # for integers
    "floordiv-integer": "a // b", "mod-integer": "a % b", "pow-integer": "a ** b", "abs-integer": "abs(a)",
    "shift_left-constant": "a << 3", "shift_right-constant": "a >> 3",
    # for complex numbers
    "mul-complex": "a * b", "truediv-complex": "a / b", "pow-complex": "a ** b", "eq-complex": "a == b",
    "ne-complex": "a != b", "abs-complex": "abs(a)", "make_complex": "complex(a, b).real - complex(b, a).real",
    "real": "a.real", "imag": "a.imag",
}  # fmt: skip
# What a functor of one row may be decorated with; the first that fits is taken. A row whose operands keep their type is
# not to be rescued by a promotion to float.
FORMS = [("default", "T"), ("complex_to_float", "pymetal.RealOf[T]"), ("always_bool", "bool"), ("int_to_float", "T")]
# Dtypes that a row's kinds admit and the frontend refuses, and why.
REFUSED = {("make_complex", torch.bfloat16): "Metal has no complex of bfloat"}
ALL_DTYPES = (*toolbox.DTYPES, torch.complex64)

# In units in the last place of the result's dtype, against the row's reference at double precision, rounded. Rows that
# keep the type of their operands are exact.
ULP = 1


def written(op: Op) -> str:
    """How a body writes the row: by Python's syntax, or by the name of a function that stands for it."""
    if op.name in WRITTEN:
        return WRITTEN[op.name]
    assert op.aliases, f"add to WRITTEN how a body writes {op.name}"
    return f"{op.aliases[0]}({', '.join('ab'[: op.arity])})"


def functor_of(folder: Path, op: Op, dtype: torch.dtype) -> Functor | None:
    """A functor that is the row and nothing else; None if it is refused at the dtype."""
    body = written(op)
    parameters = [name for name in "ab" if re.search(rf"\b{name}\b", body)]
    decorator = ("unary", "binary")[len(parameters) - 1]
    for promotion, result in FORMS[:3] if op.rule is TypeRule.PROMOTE else FORMS:
        text = (
            f"@pymetal.{decorator}(promotion={promotion!r}, dtypes={dtype})\n"
            f"def row({', '.join(f'{name}: T' for name in parameters)}) -> {result}:\n    return {body}\n"
        )
        with contextlib.suppress(PyMetalError):
            return toolbox.load(folder, text).row
    return None


def takes(op: Op, dtype: torch.dtype) -> bool:
    """Whether the table says that the row computes with operands of `dtype`."""
    element = dtypes.from_torch(dtype)
    assert element is not None
    kind = element.kind
    if (
        op.rule in (TypeRule.INT_TO_FLOAT, TypeRule.MATH, TypeRule.PREDICATE)
        and kind in dtypes.INTEGRAL
        and op.integer_overload is None
    ):
        kind = Kind.FLOATING
    instead = {Kind.BOOL: op.bool_overload, Kind.COMPLEX: op.complex_overload, Kind.SIGNED: op.integer_overload}
    return kind in op.kinds and instead.get(kind) is None and (op.name, dtype) not in REFUSED


def inputs_of(functor: Functor, dtype: torch.dtype, count: int = 300) -> list[torch.Tensor]:
    """Edge values, values over all exponents, and values in [-1, 1]."""
    if dtype.is_complex:
        parts = toolbox.operands(torch.float32, 2, count)
        z = torch.complex(*(torch.where(p.isfinite() & (p.abs() < 1e4) & (p.abs() > 1e-4), p, 1.5) for p in parts))
        return [z, z.flip(0)][: functor.arity.inputs]
    inputs = toolbox.operands(dtype, functor.arity.inputs, count)
    if dtype.is_floating_point:
        generator = torch.Generator().manual_seed(1)
        inputs = [torch.cat([x, (torch.rand(200, generator=generator) * 2 - 1).to(dtype)]) for x in inputs]
    return inputs


CHUNK = 6
CHUNKS = [list(ROWS)[i : i + CHUNK] for i in range(0, len(ROWS), CHUNK)]


@pytest.mark.host
@pytest.mark.parametrize("rows", CHUNKS, ids=lambda rows: rows[0])
def test_values(rows: list[str], tmp_path: Path) -> None:
    problems = []
    with toolbox.batch("ieee"):
        runs = []
        for op, dtype in ((ROWS[n], d) for n in rows for d in ALL_DTYPES):
            functor = functor_of(tmp_path, op, dtype)
            if functor is None and takes(op, dtype):
                problems.append(f"{op.name} at {dtype}: the table takes it, and the frontend does not")
            if functor is not None and op in ir.uses(functor.ir):
                inputs = inputs_of(functor, dtype)
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
    if inputs[0].is_complex():
        torch.testing.assert_close(actual, functor.reference(*inputs), rtol=2e-5, atol=1e-6, equal_nan=True)
        return
    floating = inputs[0].is_floating_point()
    expected = functor.reference(*(t.double() if floating else t for t in inputs)).to(actual.dtype)
    toolbox.assert_equal(actual, expected, inputs, 0 if op.rule is TypeRule.PROMOTE else ULP)


@pytest.mark.parametrize("name", ROWS)
def test_row_is_reached(name: str, tmp_path: Path) -> None:
    functors = [functor_of(tmp_path, ROWS[name], d) for d in ALL_DTYPES]
    assert any(ROWS[name] in ir.uses(f.ir) for f in functors if f is not None), "no dtype reaches the row"


@pytest.mark.host
def test_complex_abs_of_special_values(tmp_path: Path) -> None:
    decorator = "@pymetal.unary(promotion='complex_to_float', dtypes='complex')\n"
    text = f"{decorator}def f(z: T) -> pymetal.RealOf[T]:\n    return abs(z)\n"
    functor = toolbox.load(tmp_path, text).f
    special = [0.0, -0.0, 1.0, 1e-30, 3e38, toolbox.inf, -toolbox.inf, toolbox.nan]
    z = torch.tensor([complex(x, y) for x in special for y in special], dtype=torch.complex64)
    expected = z.to(torch.complex128).abs().float()
    with toolbox.batch("ieee"):
        toolbox.assert_equal(functor(z), expected, ulp=2)


# --- against Python --------------------------------------------------------------------------------------------------


def wrap(value: int) -> int:
    """As int8."""
    return (value + 128) % 256 - 128


# Python's integers, for every pair of int8 for which Python has a value.
EXHAUSTIVE: dict[str, tuple[Callable[[int, int], int], Callable[[int], bool]]] = {
    "a + b": (operator.add, lambda b: True),
    "a - b": (operator.sub, lambda b: True),
    "a * b": (operator.mul, lambda b: True),
    "a // b": (operator.floordiv, lambda b: b != 0),
    "a % b": (operator.mod, lambda b: b != 0),
    "a ** b": (lambda a, b: pow(a, b, 256), lambda b: b >= 0),
    "a & b": (operator.and_, lambda b: True),
    "a | b": (operator.or_, lambda b: True),
    "a ^ b": (operator.xor, lambda b: True),
    "a << b": (operator.lshift, lambda b: b >= 0),
    "a >> b": (operator.rshift, lambda b: b >= 0),
    "min(a, b)": (min, lambda b: True),
    "max(a, b)": (max, lambda b: True),
    "abs(a) + b": (lambda a, b: abs(a) + b, lambda b: True),
    "~a - b": (lambda a, b: ~a - b, lambda b: True),
}


@pytest.mark.host
def test_int8_is_python_s_integers_wrapped(tmp_path: Path) -> None:
    text = "@pymetal.binary(dtypes=torch.int8)\ndef f{}(a: T, b: T) -> T:\n    return {}\n"
    module = toolbox.load(tmp_path, "".join(text.format(i, e) for i, e in enumerate(EXHAUSTIVE)))
    pairs = [(a, b) for a in range(-128, 128) for b in range(-128, 128)]
    a, b = torch.tensor(pairs, dtype=torch.int8).t().contiguous()
    with toolbox.batch():
        for i in range(len(EXHAUSTIVE)):
            getattr(module, f"f{i}").jit_source(a, b)
        for i, (expression, (function, defined)) in enumerate(EXHAUSTIVE.items()):
            functor = getattr(module, f"f{i}")
            known = torch.tensor([defined(y) for _, y in pairs])
            expected = torch.tensor([wrap(function(x, y)) if defined(y) else 0 for x, y in pairs], dtype=torch.int8)
            for actual in (functor(a, b), functor.reference(a, b)):
                wrong = (actual != expected) & known
                assert not wrong.any(), f"{expression} of {[t[wrong][0].item() for t in (a, b, actual, expected)]}"


FLOATS = {"a // b": operator.floordiv, "a % b": operator.mod}


@pytest.mark.host
@pytest.mark.parametrize("expression", FLOATS)
def test_float_division_is_python_s(expression: str, tmp_path: Path) -> None:
    """Of half operands, for which Python's doubles are exact enough to say what the float32 arithmetic should give."""
    text = f"@pymetal.binary(dtypes=torch.float16)\ndef f(a: T, b: T) -> T:\n    return {expression}\n"
    functor = toolbox.load(tmp_path, text).f
    inputs = toolbox.operands(torch.float16, 2, 2000)
    defined = inputs[0].isfinite() & inputs[1].isfinite() & (inputs[1] != 0)
    a, b = (t[defined] for t in inputs)
    values = [FLOATS[expression](x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    expected = torch.tensor(values, dtype=torch.float64)
    with toolbox.batch("ieee"):
        toolbox.assert_equal(functor(a, b), expected.half(), (a, b), ulp=1)


# --- derivatives -----------------------------------------------------------------------------------------------------

# Where a derivative is not autograd's, by row and parameter: a test of the operands, and why.
Where = Callable[..., Any]
NAN = "where an operand is NaN autograd gives 1 to both, and the rule to neither"
EXCEPTIONS: dict[tuple[str, str], tuple[Where, str]] = {
    ("max", "a"): (lambda x, y: x.isnan() | y.isnan(), NAN),
    ("max", "b"): (lambda x, y: x.isnan() | y.isnan(), NAN),
    ("min", "a"): (lambda x, y: x.isnan() | y.isnan(), NAN),
    ("min", "b"): (lambda x, y: x.isnan() | y.isnan(), NAN),
}
# Rows whose meaning is not one operator of torch, and the operator whose derivative they share.
AUTOGRAD: dict[str, Callable[..., torch.Tensor]] = {
    "floordiv": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "mod": torch.remainder,
}
DIFFERENTIABLE = [name for name, op in ROWS.items() if op.derivative is not None and Kind.FLOATING in op.kinds]


def derivatives(op: Op, parameter: str, folder: Path) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
    """Operands, the derivative by `parameter` there, and torch's, all at double precision."""
    functor = functor_of(folder, op, torch.float32)
    assert functor is not None
    inputs = [t.double() for t in inputs_of(functor, torch.float32)]
    (overload,) = functor.ir.overloads
    ours = evaluate(differentiate(overload.function, parameter, functor.ir.domain), dtypes.float64, inputs, {})
    leaves = [t.clone().requires_grad_() for t in inputs]
    result = AUTOGRAD.get(op.name, op.torch)(*leaves)
    if not result.requires_grad:  # a step function
        return inputs, ours, torch.zeros_like(ours)
    (theirs,) = torch.autograd.grad(result.sum(), leaves["ab".index(parameter)], materialize_grads=True)
    return inputs, ours, theirs


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivative(name: str, tmp_path: Path) -> None:
    op = ROWS[name]
    for parameter in "ab"[: op.arity]:
        inputs, ours, theirs = derivatives(op, parameter, tmp_path)
        excused = torch.zeros_like(ours, dtype=torch.bool)
        if (name, parameter) in EXCEPTIONS:
            excused |= EXCEPTIONS[name, parameter][0](*inputs)
        assert excused.float().mean() < 0.25, "the exceptions leave too little"
        wrong = ~torch.isclose(ours, theirs, rtol=1e-9, atol=1e-15, equal_nan=True) & ~excused
        at = [t[wrong][:1].item() for t in (*inputs, ours, theirs)] if wrong.any() else []
        assert not at, f"d/d{parameter} at {at[:-2]}: {at[-2]} came, autograd has {at[-1]}"


def test_exceptions_name_rows() -> None:
    assert {name for name, _ in EXCEPTIONS} <= set(ROWS)
    assert {name for name, _ in REFUSED} <= set(ROWS)


def test_every_row_of_floats_has_a_derivative_or_a_truth_value() -> None:
    for name, op in ROWS.items():
        truth = op.rule in (TypeRule.COMPARE, TypeRule.LOGICAL, TypeRule.PREDICATE)
        if Kind.FLOATING in op.kinds and name != "make_complex":
            assert (op.derivative is None) == truth, name


# --- the table -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, op in ROWS.items() if op.fold is not None])
def test_python_column_is_the_torch_column(name: str) -> None:
    """Constants fold to what the row computes, NaN, infinities and signed zeros included; else Python refuses them."""
    op = ROWS[name]
    assert op.fold is not None
    samples: list[Any] = [
        0.0,
        -0.0,
        0.25,
        0.75,
        1.0,
        -0.5,
        -1.0,
        2.0,
        3.0,
        -3.0,
        6.0,
        1e30,
        math.inf,
        -math.inf,
        math.nan,
    ]
    dtype = torch.double
    if not op.kinds & {Kind.FLOATING}:
        samples, dtype = [0, 1, 2, 5, 3, 7, -4], torch.int64
    if op.rule is TypeRule.LOGICAL:
        samples, dtype = [True, False], torch.bool
    checked = 0
    for values in itertools.product(samples, repeat=op.arity):
        try:
            folded = op.fold(*values)
        except (ValueError, ArithmeticError):  # outside the domain Python raises
            continue
        if isinstance(folded, complex):  # of Python; a real functor refuses it
            continue
        expected = op.torch(*(torch.tensor(v, dtype=dtype) for v in values)).item()
        assert folded == pytest.approx(expected, rel=1e-12, nan_ok=True), values
        if isinstance(folded, float) and folded == 0:  # an int, as of math.floor, has no negative zero
            assert math.copysign(1, folded) == math.copysign(1, expected), values
        checked += 1
    assert checked > 0


def test_every_row_is_tested_somewhere() -> None:
    """Here, in `test_intrinsics`, or as what takes the place of such a row for bools, integers or complex numbers."""
    tested = {**ROWS, **intrinsic_cases.ROWS}
    instead = {
        o.name
        for op in tested.values()
        for o in (op.bool_overload, op.integer_overload, op.complex_overload)
        if o is not None
    }
    assert set(TABLE) == set(tested) | instead


def test_names_and_aliases_are_distinct() -> None:
    assert all(name == op.name for name, op in TABLE.items())
    own = [name for name in TABLE if "." in name and "-" not in name]
    reached = [*own, *(alias for op in TABLE.values() for alias in op.aliases)]
    assert len(reached) == len(set(reached)) == len(BY_ALIAS)
