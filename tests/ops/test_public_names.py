"""Every name of torch, numpy and math that a body calls, and every method, against that function itself."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from pathlib import Path
from typing import Any

import intrinsic_cases as cases
import mpmath
import numpy
import pytest
import toolbox
import torch
from intrinsic_cases import inf, nan

from pymetal import ir
from pymetal.errors import PyMetalError
from pymetal.frontend.names import public_names
from pymetal.functor import Functor
from pymetal.ops import BY_ALIAS, FORMS, TABLE

NAMES = sorted(name for name in {*BY_ALIAS, *FORMS} if "." in name and not name.startswith("metal."))
MODULES = {"torch": torch, "numpy": numpy, "math": math}


def exists(name: str) -> bool:
    """Whether the installed torch, numpy or Python has the function."""
    first, *others = name.split(".")
    found: Any = MODULES[first]
    for other in others:
        found = getattr(found, other, None)
    return found is not None


# How a function of several rows is called.
ARGUMENTS = {
    "where": "a > b, a, b", "clamp": "a, b, c", "clamp_min": "a, b", "clamp_max": "a, b", "relu": "a", "relu6": "a",
    "hardtanh": "a", "leaky_relu": "a", "power": "a, b", "square": "a", "log": "a, b", "round": "a", "divide": "a, b",
    "reciprocal": "a", "left_shift": "a, b", "right_shift": "a, b", "logical_and": "a, b", "logical_or": "a, b",
    "logical_xor": "a, b", "logical_not": "a", "unchanged": "a", "zeros_like": "a", "ones_like": "a",
    "full_like": "a, 3", "real": "a", "imag": "a", "complex": "a, b",
}  # fmt: skip
# Further calls, by the same rule.
CALLS = [
    "torch.clamp(a, 0, 1)", "torch.clamp(a, min=b)", "torch.clamp(a, max=2)", "torch.pow(a, 2)", "torch.pow(2, a)",
    "torch.div(a, b, rounding_mode='floor')", "torch.nn.functional.leaky_relu(a, negative_slope=0.3)",
    "torch.nn.functional.hardtanh(a, -2, 3)", "torch.where(a > 0, a, 0)", "torch.add(a, 1.5)", "math.log(a)",
    "a.exp()", "a.abs().sqrt()", "a.clamp(0, 1)", "a.clamp(max=b)", "a.pow(2)", "a.where(a > b, b)", "a.sigmoid()",
    "(a + b).neg()", "a.maximum(b)", "a.isnan()", "a.logical_and(b)", "a.isnan().to(torch.int64).float()",
    "a.half().float()", "a.to(b.dtype)", "a.type_as(b)", "a.bool()", "a.real + b", "a.sub(b)", "a.copysign(b)",
    "a.atan2(b)", "torch.where(a > 0, a, torch.zeros_like(a))",
    "a.to(dtype=torch.bfloat16)", "a.neg().mul(b)", "a.round()", "a.gt(b)",
]  # fmt: skip


def expression(name: str) -> str:
    """A call of a function on a, b, c."""
    if name in FORMS:
        return f"{name}({ARGUMENTS[FORMS[name]]})"
    return f"{name}({', '.join('abc'[: BY_ALIAS[name].arity])})"


# Of a double, and not of the element type.
OTHER = ("math.nextafter",)
EXPRESSIONS = [expression(n) for n in NAMES if exists(n) and n not in OTHER] + CALLS
# Functions that take floats alone, where Python and numpy convert integers.
OF_FLOATS = ("numpy.nextafter",)


def row_of(text: str) -> ir.Op | None:
    """The row that an expression is, if it is one."""
    name = text.partition("(")[0]
    return BY_ALIAS.get(name) if name not in FORMS else None


def parameters(text: str) -> list[str]:
    """The operands of an expression."""
    return sorted(set(re.findall(r"\b[abc]\b", text)))


# --- operands --------------------------------------------------------------------------------------------------------

WHOLE = [0, 1, -1, 2, -2, 3, 6, -7, 12, 31, 100, -100, 65536, 2**31 - 1, -(2**31)]
SMALL = {
    "torch.gcd": 1 << 31,
    "lcm": 1 << 14,
    "shift": 32,
    "power": 6,
    "pow": 6,
}  # what overflows, or is defined for small operands alone
DIVISIONS = ("fmod", "remainder", "floor_divide", "rounding_mode")  # undefined of zero, and of the lowest integer by -1


def floats(text: str) -> list[torch.Tensor]:
    """Edge values with NaN, infinities, zeros of both signs, in all combinations, and random ones."""
    op = row_of(text)
    operands = cases.operands(op) if op is not None else cases.floats(len(parameters(text)))
    return operands[: len(parameters(text))]


def integers(text: str) -> list[torch.Tensor]:
    """Edge values of int32 in all combinations."""
    limit = next((most for word, most in SMALL.items() if word in text), None)
    first = [x for x in WHOLE if limit is None or abs(x) < limit]
    second = first
    if any(word in text for word in DIVISIONS):
        first, second = first[:-1], [x for x in second if x]
    if limit is not None and limit < 100:
        second = [x for x in second if x >= 0]
    columns = [first, second, second][: len(parameters(text))]
    return [torch.tensor(c, dtype=torch.int32) for c in zip(*itertools.product(*columns), strict=True)]


# --- what the function itself gives ----------------------------------------------------------------------------------


def scope(operands: list[Any]) -> dict[str, Any]:
    return {**MODULES, **dict(zip("abc", operands, strict=False))}


def of_math(text: str, operands: list[torch.Tensor]) -> torch.Tensor:
    """Python's function of each element; where it raises, what is not compared."""

    def value(row: tuple[float, ...]) -> float:
        try:
            return float(eval(text, scope([*row])))
        except (ValueError, ArithmeticError):
            return UNKNOWN

    return torch.tensor([value(row) for row in zip(*(o.tolist() for o in operands), strict=True)], dtype=torch.float64)


UNKNOWN = 12345678.9


def expected(text: str, operands: list[torch.Tensor]) -> torch.Tensor | None:
    """The value of the expression in Python; None if these operands are refused."""
    try:
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if text.startswith("math."):
                return of_math(text, operands)
            if text.startswith("numpy."):
                return torch.as_tensor(eval(text, scope([o.numpy() for o in operands])))
            return torch.as_tensor(eval(text, scope(operands)))
    except (RuntimeError, TypeError):
        return None


def functor(folder: Path, text: str, dtype: torch.dtype, result: torch.dtype) -> Functor:
    """A functor that is the expression, of a type that its value has, without a conversion."""
    names = parameters(text)
    decorator = ("unary", "binary", "ternary")[len(names) - 1]
    promotion = "always_bool" if result == torch.bool else "default"
    returns = "T" if result == dtype else "bool" if result == torch.bool else f"pymetal.{str(result)[6:]}"
    body = (
        f"@pymetal.{decorator}(dtypes={dtype}, promotion={promotion!r})\n"
        f"def f({', '.join(f'{n}: T' for n in names)}) -> {{}}:\n    return {text}\n"
    )
    if returns not in ("T", "bool") and not dtype.is_floating_point:  # not by a conversion where it is returned
        with pytest.raises(PyMetalError, match=rf"this returns .*\b{str(result)[6:]}\b.* but"):
            toolbox.load(folder, PRELUDE + body.format("T"))
    made: Functor = toolbox.load(folder, PRELUDE + body.format(returns)).f
    return made


PRELUDE = "import numpy\n\n"


def result_type(text: str, value: torch.Tensor, operands: list[torch.Tensor]) -> torch.dtype:
    """The type that a functor gives: Python's and numpy's doubles are float32."""
    if value.dtype == torch.float64:
        name = text.partition("(")[0].partition(".")[2]
        whole = text.startswith("math.") and name in ("floor", "ceil", "trunc", "gcd", "lcm")
        test = text.startswith("math.is")
        return torch.bool if test else operands[0].dtype if whole else torch.float32
    return value.dtype


def check(text: str, f: Functor, operands: list[torch.Tensor]) -> None:
    got = f(*operands)
    plain = expected(text, operands)
    assert plain is not None
    if not operands[0].is_floating_point() and not got.is_floating_point():
        known = plain.double() != UNKNOWN
        toolbox.assert_equal(got[known], plain.to(got.dtype)[known], [o[known] for o in operands])
        return
    op = row_of(text)
    own = op is not None and cases.plain(op.name) in cases.OWN
    # torch's functions of float32 are less exact than the host device's, and integers are converted to float32 first.
    wide = operands if own or op is None else [o.float().double() for o in operands]
    want = expected(text, wide)
    want = plain if want is None else want
    if got.is_complex():
        torch.testing.assert_close(got, want.to(got.dtype), equal_nan=True)
        return
    known = want.double() != UNKNOWN
    if not got.is_floating_point() or want.dtype in (torch.float16, torch.bfloat16):
        toolbox.assert_equal(got[known], want.to(got.dtype)[known], [o[known] for o in operands])
        return
    row = op if op is not None and op.name in cases.ROWS else TABLE["hypot"]
    units = torch.where(known, cases.error(row, operands, got, want.double()), 0.0)
    at = units.argmax()
    limit = max(cases.limit(row).ulp, 1)
    where = [o[at].item() for o in operands]
    assert units[at] <= limit, f"{units[at]:.4g} ulp of {where}: {got[at].item()!r} came, not {want[at].item()!r}"


@pytest.mark.host
@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32], ids=str)
def test_a_name_is_the_function_itself(dtype: torch.dtype, tmp_path: Path) -> None:
    problems, made = [], []
    with toolbox.batch("ieee"), toolbox.unoptimized():
        for text in EXPRESSIONS:
            operands = floats(text) if dtype.is_floating_point else integers(text)
            value = expected(text, operands)
            if value is None or (text.startswith(OF_FLOATS) and not dtype.is_floating_point):
                continue
            try:
                f = functor(tmp_path, text, dtype, result_type(text, value, operands))
            except (PyMetalError, pytest.fail.Exception, AssertionError) as error:
                problems.append(f"{text}: {error}")
                continue
            f.jit_source(*operands)
            made.append((text, f, operands))
        for text, f, operands in made:
            try:
                check(text, f, operands)
            except AssertionError as error:
                problems.append(f"{text}: {error}")
    assert not problems, "\n".join(problems)
    assert len(made) > 100


# --- which names, and how they are found -----------------------------------------------------------------------------


def test_a_torch_function_that_a_row_means_is_reached_by_its_name() -> None:
    unreached = {}
    for op in TABLE.values():
        names = [n for n in public_names(op.torch) if n.startswith("torch.")]
        if names and not any(n in BY_ALIAS or n in FORMS for n in names):
            unreached[op.name] = names
    assert unreached == {}


def test_names_are_those_of_functions() -> None:
    """But for what this release of torch, numpy or Python does not have."""
    found = {n for n in NAMES if exists(n)}
    assert found >= {"torch.exp", "torch.nn.functional.silu", "numpy.exp", "math.gcd", "torch.special.expit"}
    assert len(found) > 0.9 * len(NAMES)
    assert set(ARGUMENTS) == set(FORMS.values())


HEAD = """\
from math import log1p as m
from torch import exp as e, where
import torch.nn.functional as F
import numpy as np

sigma = torch.sigmoid


@pymetal.{arity}(dtypes={dtypes!r}, promotion={promotion!r})
def f({parameters}) -> {result}:
    return {body}
"""


def written(folder: Path, body: str, dtypes: str, result: str = "T", promotion: str = "default") -> Functor:
    names = [n for n in "xyz" if re.search(rf"\b{n}\b", body)]
    text = HEAD.format(
        arity=("unary", "binary", "ternary")[len(names) - 1], dtypes=dtypes, promotion=promotion,
        parameters=", ".join(f"{n}: T" for n in names), result=result, body=body,
    )  # fmt: skip
    made: Functor = toolbox.load(folder, text).f
    return made


def test_functions_are_found_whatever_they_are_called(tmp_path: Path) -> None:
    body = "e(x) + where(x > 0, sigma(x), F.silu(x)) * np.pi + m(x * np.float32(0.5)) + torch.tanh(x)"
    f = written(tmp_path, body, "floating")
    x = torch.tensor([0.5, 1.5, 3.0], dtype=torch.float64)
    want = x.exp() + torch.sigmoid(x) * math.pi + torch.log1p(x * 0.5) + x.tanh()
    torch.testing.assert_close(f.reference(x), want)


CASTS = {
    "float": "float32", "half": "float16", "bfloat16": "bfloat16", "long": "int64", "int": "int32", "short": "int16",
    "char": "int8", "byte": "uint8",
}  # fmt: skip


@pytest.mark.parametrize("method", [*CASTS, *(f"to:{d}" for d in CASTS.values())])
def test_casts(method: str, tmp_path: Path) -> None:
    dtype = CASTS.get(method, method.partition(":")[2])
    call = f"to(torch.{dtype})" if ":" in method else f"{method}()"
    x = torch.tensor([-3.75, 0.0, 2.5, 100.0])
    x = x.abs() if dtype == "uint8" else x
    got = written(tmp_path, f"x.{call}", "floating", f"pymetal.{dtype}").reference(x)
    assert torch.equal(got, x.to(getattr(torch, dtype)))


def test_dtypes_of_torch_are_annotations(tmp_path: Path) -> None:
    x = torch.tensor([0.0, 1.5, -2.0])
    bits = written(tmp_path, "metal.as_type(x, torch.int32)", "float32", "torch.int32")
    assert torch.equal(bits.reference(x), x.view(torch.int32))


def test_numpy_s_types_are_casts(tmp_path: Path) -> None:
    x = torch.tensor([-3, 0, 7])
    assert torch.equal(written(tmp_path, "np.float32(x) / 2", "integral", "pymetal.float32").reference(x), x / 2)
    assert torch.equal(written(tmp_path, "np.int8(x)", "integral", "pymetal.int8").reference(x), x.to(torch.int8))
    assert torch.equal(written(tmp_path, "np.bool_(x)", "integral", "bool", "always_bool").reference(x), x.bool())


COMPLEX = {
    "z.conj() * z": lambda z: z.conj() * z,
    "z.conjugate()": torch.conj,
    "torch.conj(z) + np.conj(z)": lambda z: 2 * z.conj(),
    "torch.complex(z.imag, torch.real(z))": lambda z: torch.complex(z.imag, z.real),
    "z.square().mul(2)": lambda z: 2 * z * z,
    "torch.where(z.real > 0, z, -z)": lambda z: torch.where(z.real > 0, z, -z),
    "z * z.abs()": lambda z: z * z.abs(),
    "z.to(torch.complex64)": lambda z: z,
}


@pytest.mark.parametrize("body", COMPLEX)
def test_complex_numbers(body: str, tmp_path: Path) -> None:
    z = torch.tensor([1 + 2j, -0.5 + 0j, 3 - 4j], dtype=torch.complex64)
    torch.testing.assert_close(written(tmp_path, body, "complex").reference(z), COMPLEX[body](z).resolve_conj())


@pytest.mark.host
def test_sigmoid_and_silu_keep_what_is_normal(tmp_path: Path) -> None:
    """At both ends, with subnormals flushed: e**x is subnormal from -87.4 down, and e**-x infinite from -88.8 down."""
    x = torch.tensor([-inf, -200.0, -91.5, -90.0, -88.9, -88.0, -87.0, -20.5, -1e-40, 0.0, 89.0, 3e38, inf, nan])
    with toolbox.batch("apple"):
        for body in ("F.silu(x)", "sigma(x)"):
            got = written(tmp_path, body, "floating")(x)
            finite = x.isfinite()
            shares = [1 / (1 + mpmath.exp(-v)) for v in x[finite].tolist()]
            values = [v * s if "silu" in body else s for v, s in zip(x[finite].tolist(), shares, strict=True)]
            want = torch.tensor([float(v) for v in values], dtype=torch.float64)
            normal = want.abs() > torch.finfo(torch.float32).smallest_normal
            assert ((got[finite].double() - want).abs() / want.abs())[normal].max() < 3e-7
            assert (got[finite].double().abs()[~normal] < 1.2e-38).all()
            ends = [nan, inf, nan] if "silu" in body else [0.0, 1.0, nan]  # as torch has them
            toolbox.assert_equal(got[~finite], torch.tensor(ends))
