"""The rows for Metal's and c10's functions: on the host device, against torch, mpmath and Python's integers.

`intrinsic_cases` says with what, and how far a function may be from its reference.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import intrinsic_cases as cases
import mpmath
import pytest
import toolbox
import torch
from intrinsic_cases import ROWS, nan

from pymetal import dtypes
from pymetal.arity import installed_release
from pymetal.dtypes import Kind
from pymetal.errors import PyMetalError
from pymetal.functor import Functor
from pymetal.ir import Op, TypeRule
from pymetal.ops import NOT_ROWS
from pymetal.semantics.differentiate import differentiate
from pymetal.semantics.interpreter import evaluate

INSTALLED = installed_release()
HERE = {name: op for name, op in ROWS.items() if op.since <= INSTALLED}
PLAIN = {name: op for name, op in HERE.items() if not name.startswith(("metal.precise.", "metal.fast."))}


def chunks(names: list[str], size: int) -> list[list[str]]:
    return [names[i : i + size] for i in range(0, len(names), size)]


def of_kind(kind: Kind, rows: dict[str, Op] = HERE) -> list[str]:
    return [name for name, op in rows.items() if kind in cases.kinds(op)]


def run(folder: Path, names: list[str], operands: Callable[[Op], list[list[torch.Tensor]]], check: Any) -> None:
    """Compiles a functor of each row in one go, and gives `check` the row, the functor and each list of operands."""
    problems = []
    with toolbox.batch("ieee"):
        made = [(ROWS[name], cases.functor(folder, ROWS[name]), operands(ROWS[name])) for name in names]
        for op, functor, lists in made:
            for tensors in lists:
                functor.jit_source(*tensors)
                if cases.rounds(op, tensors):
                    functor.jit_source(*(t.float() for t in tensors))
        for op, functor, lists in made:
            for tensors in lists:
                try:
                    check(op, functor, tensors)
                except AssertionError as failed:
                    problems.append(f"{op.name} of {tensors[0].dtype}: {failed}")
    assert problems == []


# --- floats ----------------------------------------------------------------------------------------------------------


def check_float32(op: Op, functor: Functor, tensors: list[torch.Tensor]) -> None:
    got = functor(*tensors)
    if cases.plain(op.name) in cases.OWN:
        toolbox.assert_equal(got, functor.reference(*tensors), tensors)
        return
    want = functor.reference(*(t.double() for t in tensors))
    if got.dtype != torch.float32:
        toolbox.assert_equal(got, want.to(got.dtype), tensors)
        return
    units, limit = cases.error(op, tensors, got, want), cases.limit(op)
    at = units.argmax()
    where = [t[at].item() for t in tensors]
    assert units[at] <= limit.ulp, f"{units[at]:.4g} ulp at {where}: {got[at].item()!r} came, not {want[at].item()!r}"
    if limit.where is not None:
        kept = limit.where(*(t.double() for t in tensors)).double().mean()
        assert kept > 0.3, f"its exceptions leave {kept:.0%}"


@pytest.mark.host
@pytest.mark.parametrize("names", chunks(of_kind(Kind.FLOATING), 24), ids=lambda names: names[0])
def test_float32(names: list[str], tmp_path: Path) -> None:
    run(tmp_path, names, lambda op: [cases.operands(op)], check_float32)


def check_half(op: Op, functor: Functor, tensors: list[torch.Tensor]) -> None:
    """Computed in float and rounded once; functions of the type itself are exact, or rounded by torch as well."""
    got = functor(*tensors)
    wide = [t.float() for t in tensors]
    want = functor(*wide).to(got.dtype) if cases.rounds(op, tensors) else functor.reference(*tensors)
    where = cases.limit(op).where
    if op.name in cases.UNSET and where is not None:  # elsewhere a value that was never set
        kept = where(*wide)
        got, want = got[kept], want[kept]
        tensors = [t[kept] for t in tensors]
    toolbox.assert_equal(got, want, tensors)


def halves(op: Op) -> list[list[torch.Tensor]]:
    return [[t.to(dtype) for t in cases.operands(op)] for dtype in (torch.float16, torch.bfloat16)]


@pytest.mark.host
@pytest.mark.parametrize("names", chunks(of_kind(Kind.FLOATING, PLAIN), 16), ids=lambda names: names[0])
def test_half_and_bfloat(names: list[str], tmp_path: Path) -> None:
    run(tmp_path, names, halves, check_half)


# --- integers --------------------------------------------------------------------------------------------------------


def low_bits(x: int, bits: int, signed: bool) -> int:
    x &= (1 << bits) - 1
    return x - (1 << bits) if signed and x >> (bits - 1) else x


def saturated(x: int, bits: int, signed: bool) -> int:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return min(max(x, low), high)


def pattern(x: int, bits: int) -> int:
    return x & ((1 << bits) - 1)


def truncated(a: int, b: int) -> int:
    return 0 if b == 0 else (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


def floored(a: int, b: int) -> int:
    return -(a < 0) if b == 0 else a // b


def power(a: int, b: int, bits: int) -> int:
    if b >= 0:
        return pow(a, b, 1 << bits)
    return 1 if a == 1 else (-1) ** (b % 2) if a == -1 else 0


def extracted(a: int, b: int, c: int, bits: int, signed: bool) -> int:
    offset, count = pattern(b, 32), pattern(c, 32)
    count = min(count, bits - min(offset, bits))
    return low_bits(pattern(a, bits) >> offset, count, signed) if count else 0


def inserted(a: int, b: int, c: int, bits: int) -> int:
    offset = min(pattern(c, 32), bits)
    mask = pattern(0b11111 << offset, bits)
    return (a & ~mask) | ((b << offset) & mask)


def rotated(a: int, b: int, bits: int) -> int:
    count = b % bits
    return pattern(a, bits) << count | pattern(a, bits) >> (bits - count)


def factor(a: int, signed: bool) -> int:
    return low_bits(a, 24, signed)


def whole(name: str, bits: int, signed: bool) -> Callable[..., int | bool]:
    """A row of integers in Python's integers, before it wraps."""

    def word(x: int) -> int:
        return low_bits(x, 32, signed)

    functions: dict[str, Callable[..., int | bool]] = {
        "abs": abs,
        "absdiff": lambda a, b: abs(a - b),
        "addsat": lambda a, b: saturated(a + b, bits, signed),
        "subsat": lambda a, b: saturated(a - b, bits, signed),
        "hadd": lambda a, b: (a + b) >> 1,
        "rhadd": lambda a, b: (a + b + 1) >> 1,
        "mulhi": lambda a, b: (a * b) >> bits,
        "madhi": lambda a, b, c: ((a * b) >> bits) + c,
        "madsat": lambda a, b, c: saturated(a * b + c, bits, signed),
        "mul24": lambda a, b: word(factor(a, signed) * factor(b, signed)),
        "mad24": lambda a, b, c: word(factor(a, signed) * factor(b, signed) + c),
        "clz": lambda a: bits - pattern(a, bits).bit_length(),
        "ctz": lambda a: bits if a == 0 else (a & -a).bit_length() - 1,
        "popcount": lambda a: bin(pattern(a, bits)).count("1"),
        "reverse_bits": lambda a: int(f"{pattern(a, bits):0{bits}b}"[::-1], 2),
        "rotate": lambda a, b: rotated(a, b, bits),
        "extract_bits": lambda a, b, c: extracted(a, b, c, bits, signed),
        "insert_bits": lambda a, b, c: inserted(a, b, c, bits),
        "min": min,
        "max": max,
        "min3": min,
        "max3": max,
        "median3": lambda a, b, c: sorted((a, b, c))[1],
        "clamp": lambda a, b, c: min(max(a, b), c),
        "select": lambda a, b, c: b if c > 0 else a,
        "less": lambda a, b: a < b,
        "mul": lambda a, b: a * b,
        "div": truncated,
        "fmod": lambda a, b: a - truncated(a, b) * b,
        "safe_mod": lambda a, b: a - truncated(a, b) * b,
        "floor_divide": floored,
        "remainder": lambda a, b: a - floored(a, b) * b if b else a,
        "pow": lambda a, b: power(a, b, bits),
        "conj": lambda a: a,
        "floor": lambda a: a,
        "ceil": lambda a: a,
        "trunc": lambda a: a,
        "sign": lambda a: (a > 0) - (a < 0),
        "gcd": math.gcd,
        "lcm": math.lcm,
    }
    return functions[name.rpartition(".")[2]]


INTEGERS = (
    torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32, torch.uint32, torch.int64, torch.uint64,
)  # fmt: skip


def columns(op: Op) -> list[list[torch.Tensor]]:
    return [
        [torch.tensor(column, dtype=d) for column in cases.integers(d, min(op.arity, 3))] for d in INTEGERS
    ]  # fmt: skip


def of_torch(op: Op, tensors: list[torch.Tensor]) -> torch.Tensor:
    """The torch column of a row, or of the row behind it, on the operands that its body passes."""
    behind = op.integer_overload or op
    if op.name == "metal.select":
        a, b, c = tensors
        return torch.as_tensor(behind.torch(a, b, torch.tensor([x > 0 for x in c.tolist()])))
    values = [*tensors, torch.full_like(tensors[0], 5)][: op.arity]
    params = op.params or (None,) * op.arity
    given = (t if p is None else t.to(torch.uint32) for t, p in zip(values, params, strict=True))
    return torch.as_tensor(behind.torch(*given))


def check_integer(op: Op, functor: Functor, tensors: list[torch.Tensor]) -> None:
    dtype = tensors[0].dtype
    bits, signed = dtype.itemsize * 8, dtype.is_signed
    function = whole(op.name, bits, signed)
    rows = list(zip(*(t.tolist() for t in tensors), strict=True))
    exact = [function(*row) for row in rows]
    want = exact if op.rule is TypeRule.COMPARE else [low_bits(x, bits, signed) for x in exact]
    for what, result in (("the host device", functor(*tensors)), ("torch", of_torch(op, tensors))):
        assert result.dtype == (torch.bool if op.rule is TypeRule.COMPARE else dtype), what
        got = result.tolist()
        wrong = [i for i, (x, y) in enumerate(zip(got, want, strict=True)) if x != y]
        assert not wrong, f"{what}: {len(wrong)} wrong; of {rows[wrong[0]]} {got[wrong[0]]}, not {want[wrong[0]]}"


@pytest.mark.host
@pytest.mark.parametrize("names", chunks(of_kind(Kind.SIGNED), 6), ids=lambda names: names[0])
def test_integers(names: list[str], tmp_path: Path) -> None:
    run(tmp_path, names, columns, check_integer)


# --- complex numbers -------------------------------------------------------------------------------------------------

# The distance from torch's value at double precision, in parts of 2**-24 of its size; elsewhere `where` says why not.
COMPLEX: dict[str, tuple[float, Callable[..., torch.Tensor] | None, str]] = {
    "metal.c10.mul": (4, None, ""),
    "metal.c10.div": (8, lambda x, y: y != 0, "a zero divisor is treated as a real one"),
    "metal.c10.fma": (
        16, lambda x, y, z: (x * y + z).abs() > 0.25 * (x * y).abs(), "a product and a sum, which may cancel"
    ),
    "metal.c10.pow": (64, lambda x, y: x != 0, "0 at base zero, where torch has 1 for exponent 0 and NaN for others"),
    "metal.c10.log1p": (
        64, lambda z: ((z + 1).abs() - 1).abs() > 0.05,
        "the real part cancels where |1 + z| is near 1, and near 0 is taken from rounded squares",
    ),
    "metal.c10.sinc": (16, lambda z: (z - z.real.round()).abs() > 0.05, "0 at 0, where torch has 1"),
    "metal.c10.conj": (0, None, ""),
    "metal.conj": (0, None, ""),
    "metal.c10.logaddexp": (
        64, lambda x, y: (x.real != y.real) & (torch.logaddexp(x, y).abs() > 0.3)
        & ((torch.logaddexp(x, y) - x).abs() > 0.05),
        "of equal real parts the second operand is taken twice; log1p cancels where |1 + z| is near 1",
    ),
}  # fmt: skip


def check_complex(op: Op, functor: Functor, tensors: list[torch.Tensor]) -> None:
    got = functor(*tensors)
    assert got.dtype == tensors[0].dtype
    wide = [t.to(torch.complex64).to(torch.complex128) for t in tensors]
    want = (op.complex_overload or op).torch(*wide)
    limit, where, _ = COMPLEX[op.name]
    unit = 2.0**-24 if got.dtype == torch.complex64 else 2.0**-11
    units = (got.to(torch.complex64).to(torch.complex128) - want).abs() / want.abs().clamp_min(1e-3) / unit
    units = units[want.isfinite() & (want.abs() < 6e4) & (where(*wide) if where else True)]
    assert len(units) > 100
    assert units.max() <= limit, f"{units.max():.4g} units"


def complex_operands(op: Op) -> list[list[torch.Tensor]]:
    return [[t.to(dtype) for t in cases.complexes(op.arity)] for dtype in (torch.complex64, torch.complex32)]


@pytest.mark.host
@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("name", of_kind(Kind.COMPLEX))
def test_complex(name: str, tmp_path: Path) -> None:
    run(tmp_path, [name], complex_operands, check_complex)


# --- the torch column ------------------------------------------------------------------------------------------------


def real(function: Callable[..., Any]) -> Callable[..., float]:
    """A function of mpmath as one of floats; NaN outside its real domain."""

    def value(*arguments: float) -> float:
        if any(math.isnan(x) for x in arguments):
            return nan
        with mpmath.workprec(160):
            try:
                result = mpmath.mpmathify(function(*map(mpmath.mpf, arguments)))
            except (ValueError, ZeroDivisionError, mpmath.libmp.NoConvergence):
                return nan
            return nan if isinstance(result, mpmath.mpc) and result.imag != 0 else float(result.real)

    return value


def nth(polynomial: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, n: mpmath.mpf(0) if n < 0 else polynomial(n, x)


def third(n: Any, x: Any) -> Any:
    return mpmath.chebyu(n, x) - (mpmath.chebyu(n - 1, x) if n > 0 else 0)


def fourth(n: Any, x: Any) -> Any:
    return mpmath.chebyu(n, x) + (mpmath.chebyu(n - 1, x) if n > 0 else 0)


def he(n: Any, x: Any) -> Any:
    return mpmath.mpf(2) ** (-n / 2) * mpmath.hermite(n, x / mpmath.sqrt(2))


def shifted(polynomial: Callable[..., Any]) -> Callable[..., Any]:
    return nth(lambda n, x: polynomial(n, 2 * x - 1))


MPMATH: dict[str, Callable[..., Any]] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "exp10": lambda x: mpmath.mpf(10) ** x,
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x, 2),
    "log10": mpmath.log10,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "sinpi": mpmath.sinpi,
    "cospi": mpmath.cospi,
    "tanpi": lambda x: mpmath.sinpi(x) / mpmath.cospi(x),
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "atanh": mpmath.atanh,
    "sqrt": mpmath.sqrt,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "fabs": abs,
    "floor": mpmath.floor,
    "ceil": mpmath.ceil,
    "trunc": lambda x: mpmath.sign(x) * mpmath.floor(abs(x)),
    "rint": mpmath.nint,
    "fract": lambda x: x - mpmath.floor(x),
    "round": lambda x: mpmath.sign(x) * mpmath.floor(abs(x) + mpmath.mpf(1) / 2),
    "ilogb": lambda x: mpmath.frexp(x)[1] - 1,
    "ldexp": lambda x, n: x * mpmath.mpf(2) ** n,
    "atan2": mpmath.atan2,
    "pow": mpmath.power,
    "powr": lambda x, y: mpmath.power(x, y) if x > 0 else nan,
    "divide": lambda x, y: x / y,
    "fma": lambda x, y, z: x * y + z,
    "fmod": lambda x, y: mpmath.sign(x) * mpmath.fmod(abs(x), abs(y)),
    "copysign": lambda x, y: abs(x) * mpmath.sign(y),
    "fdim": lambda x, y: max(x - y, 0),
    "saturate": lambda x: min(max(x, 0), 1),
    "sign": mpmath.sign,
    "step": lambda edge, x: int(x >= edge),
    "mix": lambda x, y, t: x * (1 - t) + y * t,
    "clamp": lambda x, low, high: min(max(x, low), high),
    "median3": lambda x, y, z: sorted([x, y, z])[1],
    "max3": max,
    "min3": min,
    "hypot": mpmath.hypot,
    "degrees": mpmath.degrees,
    "radians": mpmath.radians,
    "remainder": lambda x, y: x - y * mpmath.nint(x / y),
    "frac": lambda x: x - mpmath.sign(x) * mpmath.floor(abs(x)),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "silu": lambda x: x / (1 + mpmath.exp(-x)),
    "logsigmoid": lambda x: -mpmath.log1p(mpmath.exp(-x)),
    "softplus": lambda x: x if x > 20 else mpmath.log1p(mpmath.exp(x)),
    "leaky_relu": lambda x, slope: x if x > 0 else x * slope,
    "lerp": lambda x, y, t: x * (1 - t) + y * t,
    "log1p": mpmath.log1p,
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "erfinv": mpmath.erfinv,
    "expm1f": mpmath.expm1,
    "expm1": mpmath.expm1,
    "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "gamma": mpmath.gamma,
    "lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))),
    "log_gamma": lambda x: mpmath.log(abs(mpmath.gamma(x))),
    "digamma": mpmath.digamma,
    "trigamma": lambda x: mpmath.psi(1, x),
    "polygamma": lambda n, x: mpmath.psi(int(n), x),
    "zeta": mpmath.zeta,
    "igamma": lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
    "igammac": lambda a, x: mpmath.gammainc(a, x, regularized=True),
    "logaddexp": lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
    "logaddexp2": lambda x, y: mpmath.log(mpmath.mpf(2) ** x + mpmath.mpf(2) ** y, 2),
    "xlogy": lambda x, y: x * mpmath.log(y),
    "xlog1py": lambda x, y: x * mpmath.log1p(y),
    "entr": lambda x: -x * mpmath.log(x) if x > 0 else -mpmath.inf,
    "sinc": mpmath.sincpi,
    "spherical_bessel_j0": mpmath.sinc,
    "i0": lambda x: mpmath.besseli(0, x),
    "i1": lambda x: mpmath.besseli(1, x),
    "i0e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x),
    "i1e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x),
    "bessel_j0_forward": mpmath.j0,
    "bessel_j1_forward": mpmath.j1,
    "bessel_y0_forward": lambda x: mpmath.bessely(0, x),
    "bessel_y1_forward": lambda x: mpmath.bessely(1, x),
    "modified_bessel_i0_forward": lambda x: mpmath.besseli(0, x),
    "modified_bessel_i1_forward": lambda x: mpmath.besseli(1, x),
    "modified_bessel_k0_forward": lambda x: mpmath.besselk(0, x),
    "modified_bessel_k1_forward": lambda x: mpmath.besselk(1, x),
    "scaled_modified_bessel_k0_forward": lambda x: mpmath.exp(x) * mpmath.besselk(0, x),
    "scaled_modified_bessel_k1_forward": lambda x: mpmath.exp(x) * mpmath.besselk(1, x),
    "chebyshev_polynomial_t_forward": nth(mpmath.chebyt),
    "chebyshev_polynomial_u_forward": nth(mpmath.chebyu),
    "chebyshev_polynomial_v_forward": nth(third),
    "chebyshev_polynomial_w_forward": nth(fourth),
    "shifted_chebyshev_polynomial_t_forward": shifted(mpmath.chebyt),
    "shifted_chebyshev_polynomial_u_forward": shifted(mpmath.chebyu),
    "shifted_chebyshev_polynomial_v_forward": shifted(third),
    "shifted_chebyshev_polynomial_w_forward": shifted(fourth),
    "hermite_polynomial_h_forward": nth(mpmath.hermite),
    "hermite_polynomial_he_forward": nth(he),
    "laguerre_polynomial_l_forward": nth(lambda n, x: mpmath.laguerre(n, 0, x)),
}
# torch's own functions of doubles that are not good to 1e-11 here.
TORCH_IS_WEAK = {
    "erfinv": 1e-10,
    "zeta": 1e-10,
    "trigamma": 1e-8,
    "polygamma": 1e-8,
    "bessel_j0_forward": 1e-7,
    "bessel_j1_forward": 1e-7,
    "bessel_y0_forward": 1e-7,
    "bessel_y1_forward": 1e-7,
}
# Points inside the domain, without the edges of which mpmath has no opinion.
FIRST = [0.03, 0.3, 0.7, 0.95, 1.2, 2.7, 4.4, 9.3, 23.7, -0.2, -0.6, -1.3, -3.7]
SECOND = [0.4, 1.7, 0.05, 2.5, -0.8, 6.1, -2.2]


def points(op: Op) -> list[list[float]]:
    if "polynomial" in op.name:
        return [[x, float(n)] for x in (-0.95, -0.3, 0.01, 0.4, 0.8, 1.3) for n in range(-1, 10)]
    if op.name == "metal.c10.polygamma":
        return [[float(n), x] for n in range(5) for x in (0.2, 0.9, 2.3, 7.7)]
    if cases.plain(op.name) in ("metal.c10.igamma", "metal.c10.igammac", "metal.c10.zeta"):
        return [[x, y] for x in FIRST for y in SECOND if y > 0 and x > (1 if op.name.endswith("zeta") else 0)]
    if op.name.endswith("ldexp"):
        return [[x, float(n)] for x in FIRST for n in (-130, -3, 0, 5, 100)]
    tail = (
        [[]]
        if op.arity == 1
        else [[y] for y in SECOND]
        if op.arity == 2
        else [[y, z] for y in SECOND for z in (0.6, -0.4)]
    )
    return [[x, *rest] for x in FIRST for rest in tail]


MEASURED = [n for n in PLAIN if n.rpartition(".")[2] in MPMATH and Kind.FLOATING in ROWS[n].kinds]


@pytest.mark.parametrize("name", MEASURED)
def test_torch_column_is_the_function(name: str) -> None:
    """The reference at double precision against mpmath, which shares nothing with torch or c10."""
    op, short = ROWS[name], name.rpartition(".")[2]
    if name in ("metal.c10.remainder", "metal.c10.floor_divide"):
        pytest.skip("Python's own, tested with the operators")
    rows = points(op)
    want = torch.tensor([real(MPMATH[short])(*row) for row in rows], dtype=torch.float64)
    values = [torch.tensor(column, dtype=torch.float64) for column in zip(*rows, strict=True)]
    params = op.params or (None,) * op.arity
    got = op.torch(*(v if p is None else v.long() for v, p in zip(values, params, strict=True))).double()
    known = want.isfinite()
    assert known.sum() >= 5
    apart = (got - want).abs() / want.abs().clamp_min(1e-2)
    wrong = known & ~(apart < TORCH_IS_WEAK.get(short, 1e-11))
    assert not wrong.any(), [(rows[i], got[i].item(), want[i].item()) for i in wrong.nonzero().flatten().tolist()[:3]]


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_torch_column_takes_every_value(name: str, dtype: torch.dtype) -> None:
    op = ROWS[name]
    if Kind.FLOATING not in op.kinds:
        pytest.skip("not of floats")
    values = [t.to(dtype) for t in cases.operands(op)]
    params = op.params or (None,) * op.arity
    kinds = {"int32": torch.int32, "int64": torch.int64, "bool": torch.bool}
    given = [v if p is None else v.nan_to_num(0).to(kinds[str(p)]) for v, p in zip(values, params, strict=True)]
    before = [t.clone() for t in given]
    result = op.torch(*given)
    assert result.shape == given[0].shape
    assert all(torch.equal(a.nan_to_num(7), b.nan_to_num(7)) for a, b in zip(given, before, strict=True))
    if op.rule in (TypeRule.MATH, TypeRule.OPMATH, TypeRule.PROMOTE) and op.result is None:
        assert result.dtype == dtype


# --- derivatives -----------------------------------------------------------------------------------------------------

DIFFERENTIABLE = [n for n, op in HERE.items() if op.derivative is not None and Kind.FLOATING in op.kinds]
NO_PARTIAL = {("metal.c10.zeta", "a"), ("metal.c10.igamma", "a"), ("metal.c10.igammac", "a")}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivative(name: str, tmp_path: Path) -> None:
    """The derivative column at double precision against central differences of the torch column."""
    op = ROWS[name]
    functor = cases.functor(tmp_path, op)
    overload = functor.ir.overload(dtypes.float32)
    assert overload is not None
    rows = torch.tensor(points(op), dtype=torch.float64)
    values = list(rows.T[: min(op.arity, 3)])
    for index, parameter in enumerate("abc"[: op.arity]):
        if (op.params and op.params[index] is not None) or (name, parameter) in NO_PARTIAL:
            continue
        derived = differentiate(overload.function, parameter, [dtypes.float32])
        got = evaluate(derived, dtypes.float64, values, {})
        step = 1e-6 * values[index].abs().clamp_min(0.1)
        beyond = [[v + sign * step if i == index else v for i, v in enumerate(values)] for sign in (1, -1)]
        upper, lower = (evaluate(overload.function, dtypes.float64, v, {}) for v in beyond)
        want = (upper - lower) / (2 * step)
        known = want.isfinite() & (want.abs() < 1e3) & ~jumps(want, beyond[0], values, op)
        assert known.sum() >= 5
        size = torch.maximum(want.abs(), upper.abs()).clamp_min(1)
        wrong = known & ~((got - want).abs() / size < 1e-6)
        at = [(rows[i].tolist(), got[i].item(), want[i].item()) for i in wrong.nonzero().flatten().tolist()[:3]]
        assert not at, f"d/d{parameter}: {at}"


def jumps(want: torch.Tensor, beyond: list[torch.Tensor], values: list[torch.Tensor], op: Op) -> torch.Tensor:
    """Where operands are equal the differences straddle a kink."""
    equal = torch.zeros_like(want, dtype=torch.bool)
    for i, x in enumerate(values):
        for y in values[i + 1 :]:
            equal |= (x - y).abs() < 1e-4
    return equal


# --- the table -------------------------------------------------------------------------------------------------------

MSL = {
    "common": "clamp mix saturate sign smoothstep step",
    "maths": """
        acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh cospi divide exp exp10 exp2 fabs abs fdim floor
        fma fmax max fmax3 max3 fmedian3 median3 fmin min fmin3 min3 fmod fract frexp ilogb ldexp log log10 log2 modf
        nextafter pow powr rint round rsqrt sin sincos sinh sinpi sqrt tan tanh tanpi trunc""",
    "integer": """
        abs absdiff addsat clamp clz ctz extract_bits hadd insert_bits mad24 madhi madsat max max3 median3 min min3
        mul24 mulhi popcount reverse_bits rhadd rotate subsat""",
    "relational": "all any isfinite isinf isnan isnormal isordered isunordered not select signbit",
}
# Of the maths functions those that have no row as precise:: and fast::, of the common ones those that have.
NO_VARIANTS = {"frexp", "modf", "sincos", "nextafter"}
VARIANTS = {"clamp", "saturate"}
HEADERS = ("utils", "special_math", "igamma", "expm1f")


def c10_functions() -> set[str]:
    """The functions that the installed headers define in c10::metal, outside their unnamed namespaces."""
    folder = Path(torch.__file__).parent / "include/c10/metal"
    found: set[str] = set()
    for header in HEADERS:
        path = folder / f"{header}.h"
        text = path.read_text() if path.exists() else ""
        text = re.sub(r"^namespace \{.*?^\} // namespace$", "", text, flags=re.DOTALL | re.MULTILINE)
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
        text = re.sub(r"^ *#.*?(?<!\\)$", "", text, flags=re.DOTALL | re.MULTILINE)
        for line in re.sub(r"template\s*<[^{};]*?>\s*(?=[\w:])", "", text).splitlines(keepends=True):
            match = re.match(
                r"(?:inline |constexpr |static )*[\w:<>&, ]+?[ >](\w+)\($|(?:inline |constexpr )*[\w:<>&, ]*?(\w+)\(",
                line,
            )
            if match and not line.startswith((" ", "}", "using", "struct")):
                found.add(match[1] or match[2])
    return found - {"decltype", "declval", "enable_if_t"}


@pytest.mark.parametrize("chapter", MSL)
def test_every_function_of_metal_has_a_row_or_a_reason(chapter: str) -> None:
    for name in MSL[chapter].split():
        assert (f"metal.{name}" in ROWS) != (f"metal.{name}" in NOT_ROWS), name
        variants = name in VARIANTS if chapter == "common" else chapter == "maths" and name not in NO_VARIANTS
        for space in ("precise", "fast"):
            if variants:
                assert f"metal.{space}.{name}" in ROWS
            elif not any(name in MSL[c].split() for c in ("maths", "common") if c != chapter):
                assert f"metal.{space}.{name}" not in ROWS


def test_every_function_of_c10_has_a_row_or_a_reason() -> None:
    found = c10_functions()
    assert len(found) > 60
    missing = {n for n in found if f"metal.c10.{n}" not in ROWS and f"metal.c10.{n}" not in NOT_ROWS}
    assert missing == set()
    assert not ROWS.keys() & NOT_ROWS.keys()


def test_since_is_what_the_headers_have() -> None:
    """Rows of this release and earlier are in the installed headers, later ones are not."""
    found = c10_functions()
    for name, op in ROWS.items():
        if name.startswith("metal.c10."):
            assert (name.rpartition(".")[2] in found) == (op.since <= INSTALLED), name


def test_a_newer_function_is_refused_by_name_and_release(tmp_path: Path) -> None:
    later = [op for op in ROWS.values() if op.since > INSTALLED]
    if not later:
        pytest.skip("every row is in the installed torch")
    for op in later:
        release = ".".join(map(str, op.since))
        with pytest.raises(PyMetalError, match=rf"(?s){op.name}.*{release}|{release}.*{op.name}"):
            cases.functor(tmp_path, op)(*(t[:3] for t in cases.operands(op)))


def test_reasons_are_short_sentences() -> None:
    assert all(reason and not reason.endswith(".") for reason in NOT_ROWS.values())
