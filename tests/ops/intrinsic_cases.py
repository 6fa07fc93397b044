"""How the rows for Metal's and c10's functions are tested: functors, operands, limits, independent values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import toolbox
import torch

from pymetal.dtypes import Kind
from pymetal.functor import Functor
from pymetal.ir import Op, TypeRule
from pymetal.ops import TABLE

inf, nan = math.inf, math.nan

# What a body passes for operands that are not of the element type.
BODIES = {
    "metal.select": "metal.select(a, b, c > 0)",
    "metal.insert_bits": "metal.insert_bits(a, b, pymetal.uint32(c), 5)",
    "metal.all": "metal.all(a != 0)",
    "metal.any": "metal.any(a != 0)",
}
_WORDS = {Kind.FLOATING: "'floating'", Kind.COMPLEX: "'complex'"}
_INTEGERS = ["'integral'", "pymetal.uint16", "pymetal.uint32", "pymetal.uint64"]
DECORATORS = {1: "unary", 2: "binary", 3: "ternary", 4: "ternary"}
# Rows that a body reaches by their names in math and torch alone.
PYTHON = (
    "hypot", "expm1", "floor", "ceil", "trunc", "sign", "frac", "degrees", "radians", "remainder", "gcd", "lcm",
    "gamma", "lgamma", "sigmoid", "silu", "logsigmoid", "softplus", "leaky_relu", "lerp",
)  # fmt: skip
ROWS = {name: op for name, op in TABLE.items() if (name.startswith("metal.") and "-" not in name) or name in PYTHON}


def body(op: Op) -> str:
    """The call of a row on a, b, c."""
    if op.name in BODIES:
        return BODIES[op.name]
    params = op.params or (None,) * op.arity
    arguments = (n if p is None else f"pymetal.{p}({n})" for n, p in zip("abc", params, strict=False))
    return f"{op.aliases[0] if op.name in PYTHON else op.name}({', '.join(arguments)})"


def kinds(op: Op) -> set[Kind]:
    """The kinds of operands that a row takes as they are, rows behind it included; of bool none is tested here."""
    found = set(op.kinds)
    found |= {Kind.SIGNED, Kind.UNSIGNED} if op.integer_overload else set()
    found |= {Kind.COMPLEX} if op.complex_overload else set()
    return {Kind.FLOATING} if found == {Kind.BOOL} else found


def functor(folder: Path, op: Op) -> Functor:
    """A functor that is the row and nothing else."""
    found = kinds(op)
    words = [w for kind, w in _WORDS.items() if kind in found]
    words += _INTEGERS if Kind.SIGNED in found else []
    result, promotion = "T", "default"
    if op.rule in (TypeRule.COMPARE, TypeRule.PREDICATE, TypeRule.LOGICAL):
        result, promotion = "bool", "always_bool"
    elif op.result is not None:
        result = f"pymetal.{op.result}"
    parameters = ", ".join(f"{n}: T" for n in "abc"[: op.arity])
    text = (
        f"@pymetal.{DECORATORS[op.arity]}(promotion={promotion!r}, dtypes=({', '.join(words)},))\n"
        f"def row({parameters}) -> {result}:\n    return {body(op)}\n"
    )
    made: Functor = toolbox.load(folder, text).row
    return made


# --- operands --------------------------------------------------------------------------------------------------------

EDGES = [
    0.0, 1e-45, 1e-38, 1e-20, 1e-7, 1e-3, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.0000001, 1.5, 2.0, 2.5, 3.0, 3.5, 7.25,
    10.0, 31.4, 87.0, 89.0, 100.0, 1e3, 12345.67, 1e6, 1e10, 1e20, 3e38, inf,
]  # fmt: skip
_FEW = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 7.25, 100.0, 1e10, inf]


def floats(arity: int) -> list[torch.Tensor]:
    """Every pair (triple) of edge values, and random ones of all sizes."""
    edge = {1: EDGES, 2: [*EDGES[::2], 0.5, 1.0, 2.0, 3.0], 3: _FEW}[arity]
    values = [*edge, *(-x for x in edge), nan]
    combined = torch.tensor(list(itertools.product(values, repeat=arity)), dtype=torch.float64).float()
    generator = torch.Generator().manual_seed(arity)
    count = 400
    size = torch.exp(torch.rand(count, arity, generator=generator) * 12 - 8)
    small = torch.rand(count, arity, generator=generator) * 4 - 2
    wide = size * torch.where(torch.rand(count, arity, generator=generator) < 0.5, -1.0, 1.0)
    return list(torch.cat([combined, wide, small]).T.contiguous())


def polynomial_operands() -> list[torch.Tensor]:
    """Points of [-1.5, 1.5] and orders from -1 to 12."""
    x = torch.cat([torch.linspace(-1.5, 1.5, 61), torch.tensor([-0.0, 1 - 2**-24, 0.1, 1e-3, nan])])
    return [t.flatten() for t in torch.meshgrid(x, torch.arange(-1.0, 13.0), indexing="ij")]


def operands(op: Op) -> list[torch.Tensor]:
    """What a row of floats is tested with."""
    if "polynomial" in op.name:
        return polynomial_operands()
    values = floats(min(op.arity, 3))
    if op.name == "metal.c10.polygamma":
        values[0] = (values[0].abs() % 6).trunc().nan_to_num(2)
    if op.name.endswith("ldexp"):
        values[1] = values[1].nan_to_num(3).clamp(-300, 300).trunc()
    return values


def integers(dtype: torch.dtype, arity: int) -> list[list[int]]:
    """Columns of edge and random values as Python integers."""
    bits, signed = dtype.itemsize * 8, dtype.is_signed
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    edge = sorted(
        {low, low + 1, low // 2, -3 if signed else 3, -1 if signed else 1, 0, 1, 2, 7, bits - 1, high // 3, high}
    )
    if arity == 3:
        edge = edge[::2]
    rows = list(itertools.product(edge, repeat=arity))
    generator = torch.Generator().manual_seed(bits + arity)
    words = torch.randint(-(1 << 62), 1 << 62, (200, arity, 2), generator=generator).tolist()
    rows += [tuple(low + (a * 4 + b) % (high - low + 1) for a, b in row) for row in words]
    return [list(column) for column in zip(*rows, strict=True)]


def complexes(arity: int) -> list[torch.Tensor]:
    """Random points of moderate size and points on the axes."""
    generator = torch.Generator().manual_seed(arity)
    z = torch.randn(300, arity, generator=generator, dtype=torch.complex64) * 1.5
    part = torch.tensor([0.0, 0.5, 1.0, -1.0, 2.0])
    points = torch.complex(*(t.flatten() for t in torch.meshgrid(part, part, indexing="ij")))
    grid = torch.cartesian_prod(*[points] * arity).reshape(-1, arity)[:: 1 if arity == 1 else 3]
    return list(torch.cat([z, grid]).T.contiguous())


def spacing(x: torch.Tensor) -> torch.Tensor:
    """The distance between neighbouring float32s at doubles; that of the subnormals near zero."""
    exponent = torch.frexp(x.double()).exponent.clamp_min(-125)
    return torch.exp2((exponent - 24).double())


# --- limits ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limit:
    """How far a row may be from its reference at double precision, in float32 units in the last place."""

    ulp: float
    why: str = ""
    where: Callable[..., torch.Tensor] | None = None  # of the operands; elsewhere the function is another one, see why
    scale: Callable[..., torch.Tensor] | None = None  # of the operands and the result: the size whose ulp counts


def _of(size: float) -> Callable[..., torch.Tensor]:
    """Units of the result, but of `size` where that is larger."""
    return lambda *operands: operands[-1].abs().clamp_min(size)


def _largest(*operands: torch.Tensor) -> torch.Tensor:
    return torch.stack([x.abs() for x in operands]).amax(0)


def _near_a_pole(x: torch.Tensor, distance: float) -> torch.Tensor:
    """Where a negative x is near an integer, or is tiny."""
    return (x < 0) & ((x - x.round()).abs() < distance)


# Metal's functions are correctly rounded on the host device, but for a few cases in a thousand.
METAL = Limit(0.51)
# The reference at float32 itself: a function that depends on the precision.
OWN = ("metal.nextafter", "metal.fract", "metal.isnormal", "metal.c10.floor_divide")
_ASYMPTOTIC = "from 8 on by an asymptotic series at a rounded angle"
_OVERFLOW = "exp(x) times a series below one: infinite from 88.73 on, where the function is still finite"
_ANGLE = "cos(n * acos(x)) of a rounded angle from n = 7 on; of NaN, from n = 2 on, a variable that was never set"
_RECURRENCE = "a recurrence that cancels"
LIMITS = {
    "metal.smoothstep": Limit(4, "several roundings"),
    "metal.mix": Limit(2, "x + (y - x) * t, each step rounded", scale=lambda x, y, t, r: _largest(x, y, t * (y - x))),
    "hypot": Limit(2),
    "degrees": Limit(1.5),
    "radians": Limit(1.5),
    "gamma": Limit(40, "a product of up to 36 factors; below -38 subnormal", where=lambda x: ~(x < -33)),
    "lgamma": Limit(4, "no relative accuracy near its zeros", scale=_of(1)),
    "sigmoid": Limit(2),
    "silu": Limit(3),
    "logsigmoid": Limit(3),
    "softplus": Limit(3),
    "lerp": Limit(
        3, "x + (y - x) * t, each step rounded", scale=lambda x, y, t, r: _largest(x, y, t * (y - x), (1 - t) * (y - x))
    ),
    "expm1": Limit(2.5),
    "metal.c10.log1p": Limit(2),
    "metal.c10.hypot": Limit(
        2,
        "NaN of an infinity and a NaN up to torch 2.13",
        where=lambda x, y: ~(x.isnan() | y.isnan()) | ~(x.isinf() | y.isinf()),
    ),
    "metal.c10.remainder": Limit(
        1,
        "x - y * floor(x / y): off by a rounding of x, or of the whole of y; NaN for an infinite y",
        where=lambda x, y: (y.isfinite() & (y.abs() > 1e-30)) & ~((x / y).abs() > 1e6),
        scale=lambda x, y, r: _largest(x, y),
    ),
    "metal.c10.xlogy": Limit(1.5),
    "metal.c10.xlog1py": Limit(2.5),
    "metal.c10.entr": Limit(1.5),
    "metal.c10.erf": Limit(1),
    "metal.c10.erfc": Limit(1, "1 - erf(x) up to torch 2.13: no relative accuracy from 4 on", scale=_of(1)),
    "metal.c10.erfcx": Limit(32, "exp of a rounded square for negative x"),
    "metal.c10.erfinv": Limit(128, "near 1 the logarithm of a rounded 1 - x"),
    "metal.c10.expm1f": Limit(2500, "its ln 2 lacks the low part: off by 1.4e-6 for each power of two in the result"),
    "metal.c10.gamma": Limit(
        1000,
        "1 / (x + 0.577 x**2) of every negative x; 1 + x loses digits of a small x; NaN at infinity",
        where=lambda x: (x > 0) & x.isfinite(),
    ),
    "metal.c10.log_gamma": Limit(
        128,
        "log of gamma: no relative accuracy near 1 and 2, none near negative integers; NaN at infinity",
        where=lambda x: (x.abs() < 1e30) & (x.abs() > 1e-37) & ~_near_a_pole(x, 0.01),
        scale=_of(1),
    ),
    "metal.c10.digamma": Limit(
        64,
        "the reflection loses what fract(x) loses: all of a tiny negative x",
        where=lambda x: ~_near_a_pole(x, 0.01),
        scale=_of(1),
    ),
    "metal.c10.trigamma": Limit(
        64,
        "sin(pi * x) of a rounded product, for negative x",
        where=lambda x: (x > -4) & ~_near_a_pole(x, 0.05),
        scale=_of(1),
    ),
    "metal.c10.polygamma": Limit(
        256, "a float zeta; NaN at infinity and at poles", where=lambda n, x: (x > 0.01) & (x < 1e4), scale=_of(1)
    ),
    "metal.c10.zeta": Limit(
        4,
        "NaN where the terms underflow; pow(q, -x) of large q",
        where=lambda x, q: (x < 30) & (q > 0) & (q < 100),
        scale=_of(1e-30),
    ),
    "metal.c10.igamma": Limit(300, "a float series of tiny a", scale=_of(1)),
    "metal.c10.igammac": Limit(8, "a float series, or 1 - igamma", scale=_of(1)),
    "metal.c10.logaddexp": Limit(
        2, "the larger plus log1p: cancels near a zero result", scale=lambda x, y, r: _largest(x, y, r).clamp_min(1)
    ),
    "metal.c10.logaddexp2": Limit(
        2,
        "the larger plus log1p / ln 2: cancels near a zero result",
        scale=lambda x, y, r: _largest(x, y, r).clamp_min(1),
    ),
    "metal.c10.sinc": Limit(1, "sin of a rounded pi * x", where=lambda x: ~(x.abs() > 1e30), scale=_of(1)),
    "metal.c10.spherical_bessel_j0": Limit(1.5),
    "metal.c10.i0": Limit(4, _OVERFLOW, where=lambda x: ~(x.abs() > 88) | x.isinf()),
    "metal.c10.i0e": Limit(6),
    "metal.c10.i1": Limit(10, _OVERFLOW, where=lambda x: ~(x.abs() > 88) | x.isinf()),
    "metal.c10.i1e": Limit(10),
    "metal.c10.bessel_j0_forward": Limit(4, _ASYMPTOTIC, where=lambda x: ~(x.abs() > 200) | x.isinf(), scale=_of(1)),
    "metal.c10.bessel_j1_forward": Limit(4, _ASYMPTOTIC, where=lambda x: ~(x.abs() > 200) | x.isinf(), scale=_of(1)),
    "metal.c10.bessel_y0_forward": Limit(4, _ASYMPTOTIC, where=lambda x: ~(x.abs() > 200) | x.isinf(), scale=_of(1)),
    "metal.c10.bessel_y1_forward": Limit(4, _ASYMPTOTIC, where=lambda x: ~(x.abs() > 200) | x.isinf(), scale=_of(1)),
    "metal.c10.modified_bessel_i0_forward": Limit(4, _OVERFLOW, where=lambda x: ~(x.abs() > 88) | x.isinf()),
    "metal.c10.modified_bessel_i1_forward": Limit(10, _OVERFLOW, where=lambda x: ~(x.abs() > 88) | x.isinf()),
    "metal.c10.modified_bessel_k0_forward": Limit(12, where=lambda x: ~(x.abs() < 1e-38) | (x == 0)),
    "metal.c10.modified_bessel_k1_forward": Limit(8, where=lambda x: ~(x.abs() < 1e-38) | (x == 0)),
    "metal.c10.scaled_modified_bessel_k0_forward": Limit(12, where=lambda x: ~(x.abs() < 1e-38) | (x == 0)),
    "metal.c10.scaled_modified_bessel_k1_forward": Limit(8, where=lambda x: ~(x.abs() < 1e-38) | (x == 0)),
    **{
        f"metal.c10.{s}chebyshev_polynomial_{k}_forward": Limit(
            128, _ANGLE, where=lambda x, n: ~x.isnan(), scale=_of(1)
        )
        for s in ("", "shifted_")
        for k in "tuvw"
    },
    "metal.c10.hermite_polynomial_h_forward": Limit(64, _RECURRENCE, scale=_of(1)),
    "metal.c10.hermite_polynomial_he_forward": Limit(128, _RECURRENCE, scale=_of(1)),
}


def plain(name: str) -> str:
    """`metal.NAME` of a precise or fast function."""
    return name.replace("metal.precise.", "metal.").replace("metal.fast.", "metal.")


def rounds(op: Op, tensors: list[torch.Tensor]) -> bool:
    """Whether the row computes half and bfloat as float and rounds."""
    return op.rule in (TypeRule.MATH, TypeRule.OPMATH) and tensors[0].dtype in (torch.float16, torch.bfloat16)


def limit(op: Op) -> Limit:
    """The limit of a row; precise and fast functions have that of the plain one."""
    name = plain(op.name)
    assert name in LIMITS or "c10" not in name or name in EXACT, f"{name} needs a limit"
    return LIMITS.get(name, METAL)


# Those that return a variable that was never set where their limit's `where` says no.
UNSET = tuple(name for name in LIMITS if "chebyshev" in name)

# c10's functions that are as exact as Metal's.
EXACT = (
    "metal.c10.max",
    "metal.c10.min",
    "metal.c10.mul",
    "metal.c10.div",
    "metal.c10.fmod",
    "metal.c10.pow",
    "metal.c10.conj",
    "metal.c10.less",
    "metal.c10.floor_divide",
    "metal.c10.div_floor",
    "metal.c10.fma",
)


def error(op: Op, operands: list[torch.Tensor], got: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
    """The distance of a float32 from a double in the units of the row's limit; infinite between numbers and others."""
    chosen = limit(op)
    single = want.float()
    units = (got.double() - want).abs()
    wide = [x.double() for x in operands]
    if op.name == "metal.c10.remainder":  # modulo y
        units = torch.minimum(units, (units - wide[1].abs()).abs())
    size = chosen.scale(*wide, want) if chosen.scale else want
    units = units / spacing(size)
    same = (got == single) | (got.isnan() & single.isnan())
    units = torch.where(got.isfinite() & single.isfinite(), units, torch.where(same, 0.0, inf))
    return units if chosen.where is None else torch.where(chosen.where(*wide), units, 0.0)
