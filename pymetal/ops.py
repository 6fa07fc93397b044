"""The operator table: one row per operator, and nothing about an operator anywhere else."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch

from pymetal import dtypes
from pymetal.dtypes import Kind
from pymetal.ir import Infix, Named, Op, Prefix, Rule
from pymetal.terms import TABLE, Term

FLOATING = frozenset({Kind.FLOATING})
REAL = dtypes.REAL
NUMERIC_REAL = REAL - {Kind.BOOL}
UTILS = "c10/metal/utils.h"
SPECIAL = "c10/metal/special_math.h"
_LN2 = math.log(2)
_LN10 = math.log(10)


def _row(op: Op) -> Op:
    assert op.name not in TABLE, op.name
    TABLE[op.name] = op
    return op


# --- Python's operators ----------------------------------------------------------------------------------------------


def _truediv(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.true_divide(a, b)


def _arithmetic(name: str, symbol: str, precedence: int, kinds: frozenset[Kind], **columns: Any) -> Op:
    text = Infix(symbol, precedence)
    return _row(Op(name, 2, Rule.SAME, kinds, text, getattr(torch, name), wraps=True, congruent=True, **columns))


# bool + bool is "or" and bool * bool is "and" in torch, which C++'s conversion of the int sum to bool gives as well;
# torch refuses bool - bool and -bool.
ADD = _arithmetic("add", "+", 12, REAL, python=operator.add, derivative=lambda x, y, r: (1, 1))
SUB = _arithmetic("sub", "-", 12, NUMERIC_REAL, python=operator.sub, derivative=lambda x, y, r: (1, -1))
MUL = _arithmetic("mul", "*", 13, REAL, python=operator.mul, derivative=lambda x, y, r: (y, x))
TRUEDIV = _row(
    Op(
        "truediv", 2, Rule.DIVIDE, FLOATING, Infix("/", 13), _truediv,
        python=operator.truediv, derivative=lambda x, y, r: (1 / y, -r / y),
    )
)  # fmt: skip
NEG = _row(
    Op(
        "neg", 1, Rule.SAME, NUMERIC_REAL, Prefix("-"), torch.neg,
        python=operator.neg, wraps=True, congruent=True, derivative=lambda x, r: (-1,),
    )
)  # fmt: skip


def _comparison(name: str, symbol: str, precedence: int) -> Op:
    function: Callable[..., Any] = getattr(torch, name)
    return _row(
        Op(name, 2, Rule.COMPARE, REAL, Infix(symbol, precedence), function, python=getattr(operator, name))
    )  # fmt: skip


EQ = _comparison("eq", "==", 9)
NE = _comparison("ne", "!=", 9)
LT = _comparison("lt", "<", 10)
LE = _comparison("le", "<=", 10)
GT = _comparison("gt", ">", 10)
GE = _comparison("ge", ">=", 10)

_BOOL = frozenset({Kind.BOOL})
AND = _row(Op("and", 2, Rule.LOGICAL, _BOOL, Infix("&&", 5), torch.logical_and, python=lambda a, b: a and b))
OR = _row(Op("or", 2, Rule.LOGICAL, _BOOL, Infix("||", 4), torch.logical_or, python=lambda a, b: a or b))
NOT = _row(Op("not", 1, Rule.LOGICAL, _BOOL, Prefix("!"), torch.logical_not, python=operator.not_))

# --- Metal's maths functions -----------------------------------------------------------------------------------------


def _sign(x: Term) -> Term:
    return x.lift(1).where(x > 0, x.lift(-1).where(x < 0, 0))


def _fma(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    # The double product of two floats is exact; only the sum is rounded, to double and then to float.
    return (x.double() * y.double() + z.double()).to(x.dtype)


def _maths(
    name: str, function: Callable[..., Any], derivative: Any, arity: int = 1, math_name: str | None = None
) -> None:
    """The rows `metal.NAME`, `metal.precise.NAME` and `metal.fast.NAME`; `math.NAME` is the precise one."""
    for space, prefix in (("metal", "metal::"), ("metal.precise", "precise::"), ("metal.fast", "fast::")):
        aliases = (f"math.{math_name}",) if math_name and space == "metal.precise" else ()
        text = Named(f"{prefix}{name}")
        _row(
            Op(
                f"{space}.{name}", arity, Rule.MATHS, FLOATING, text, function, derivative,
                aliases=aliases, python=getattr(math, math_name, None) if aliases and math_name else None,
            )
        )  # fmt: skip


_maths("exp", torch.exp, lambda x, r: (r,), math_name="exp")
_maths("exp2", torch.exp2, lambda x, r: (r * _LN2,), math_name="exp2")
_maths("exp10", lambda x: torch.pow(torch.tensor(10.0, dtype=x.dtype), x), lambda x, r: (r * _LN10,))
_maths("log", torch.log, lambda x, r: (1 / x,), math_name="log")
_maths("log2", torch.log2, lambda x, r: (1 / (x * _LN2),), math_name="log2")
_maths("log10", torch.log10, lambda x, r: (1 / (x * _LN10),), math_name="log10")
_maths("sin", torch.sin, lambda x, r: (x.call("metal.precise.cos"),), math_name="sin")
_maths("cos", torch.cos, lambda x, r: (-x.call("metal.precise.sin"),), math_name="cos")
_maths("tan", torch.tan, lambda x, r: (1 + r * r,), math_name="tan")
_maths("asin", torch.asin, lambda x, r: ((1 - x * x).call("metal.precise.rsqrt"),), math_name="asin")
_maths("acos", torch.acos, lambda x, r: (-(1 - x * x).call("metal.precise.rsqrt"),), math_name="acos")
_maths("atan", torch.atan, lambda x, r: (1 / (x * x + 1),), math_name="atan")
_maths("sinh", torch.sinh, lambda x, r: (x.call("metal.precise.cosh"),), math_name="sinh")
_maths("cosh", torch.cosh, lambda x, r: (x.call("metal.precise.sinh"),), math_name="cosh")
_maths("tanh", torch.tanh, lambda x, r: (1 - r * r,), math_name="tanh")
_maths("asinh", torch.asinh, lambda x, r: ((x * x + 1).call("metal.precise.rsqrt"),), math_name="asinh")
_maths("acosh", torch.acosh, lambda x, r: ((x * x - 1).call("metal.precise.rsqrt"),), math_name="acosh")
_maths("atanh", torch.atanh, lambda x, r: (1 / (1 - x * x),), math_name="atanh")
_maths("sqrt", torch.sqrt, lambda x, r: (0.5 / r,), math_name="sqrt")
_maths("rsqrt", torch.rsqrt, lambda x, r: (-0.5 * (r * r * r),))
_maths("fabs", torch.abs, lambda x, r: (_sign(x),), math_name="fabs")
_maths("floor", torch.floor, lambda x, r: (0,))
_maths("ceil", torch.ceil, lambda x, r: (0,))
_maths("trunc", torch.trunc, lambda x, r: (0,))
_maths("rint", torch.round, lambda x, r: (0,))
_maths(
    "atan2", torch.atan2, lambda y, x, r: (x / (x * x + y * y), -y / (x * x + y * y)), arity=2, math_name="atan2"
)  # fmt: skip
_maths(
    "pow", torch.pow,
    lambda x, y, r: (
        x.lift(0).where(y.equals(0), y * x.call("metal.precise.pow", y - 1)),
        x.lift(0).where(x.equals(0), r * x.call("metal.precise.log")),
    ),
    arity=2, math_name="pow",
)  # fmt: skip
_maths(
    "fmod", torch.fmod, lambda x, y, r: (1, -(x / y).call("metal.precise.trunc")), arity=2, math_name="fmod"
)  # fmt: skip
_maths("copysign", torch.copysign, lambda x, y, r: (_sign(x) * _sign(r), 0), arity=2, math_name="copysign")
_maths("fma", _fma, lambda x, y, z, r: (y, x, 1), arity=3)


def _predicate(name: str, function: Callable[..., Any]) -> None:
    _row(
        Op(
            f"metal.{name}", 1, Rule.PREDICATE, FLOATING, Named(f"metal::{name}"), function,
            aliases=(f"math.{name}",), python=getattr(math, name),
        )
    )  # fmt: skip


_predicate("isnan", torch.isnan)
_predicate("isinf", torch.isinf)
_predicate("isfinite", torch.isfinite)

# --- c10::metal's functions ------------------------------------------------------------------------------------------


def _c10(
    name: str, function: Callable[..., Any], derivative: Any, *, arity: int = 1, header: str = SPECIAL,
    since: tuple[int, int] = (2, 8), math_name: str | None = None,
) -> None:  # fmt: skip
    """The row `metal.c10.NAME`: a function that computes in float whatever its argument is."""
    _row(
        Op(
            f"metal.c10.{name}", arity, Rule.MATHS, FLOATING, Named(f"c10::metal::{name}"), function, derivative,
            since=since, header=header,
            aliases=(f"math.{math_name}",) if math_name else (),
            python=getattr(math, math_name) if math_name else None,
        )
    )  # fmt: skip


_c10("log1p", torch.log1p, lambda x, r: (1 / (x + 1),), header=UTILS, math_name="log1p")
_c10("erf", torch.erf, lambda x, r: (2 / math.sqrt(math.pi) * (-(x * x)).call("metal.precise.exp"),), math_name="erf")
_c10(
    "erfinv", torch.erfinv, lambda x, r: (math.sqrt(math.pi) / 2 * (r * r).call("metal.precise.exp"),)
)  # fmt: skip


def find(qualified: str) -> Op | None:
    """The row a body reaches by `qualified`: ``metal.exp``, ``metal.c10.log1p``, ``math.sqrt``."""
    return BY_ALIAS.get(qualified)


BY_ALIAS: dict[str, Op] = {
    name: op for op in TABLE.values() for name in (*([op.name] if op.name.startswith("metal.") else []), *op.aliases)
}
