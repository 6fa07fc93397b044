"""Every functor at every combination of edge values, against mpmath and Python's integers.

Edge values are NaN, the infinities, the zeros, one, values next to one, tiny, huge and subnormal ones and the ends of
the range. Where mpmath has no value (a pole, an operand that is not finite) torch's double has the convention.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import pytest
import support
import toolbox
import torch
from mpmath import mp
from torch import Tensor

from examples import unimplemented
from examples.aten import load
from examples.aten.bounds import HALF, bound
from examples.aten.catalogue import CATALOGUE
from pymetal.accuracy import elementwise, grids, ulp

ALL = {**load(), **unimplemented.load()}
FLOATS = (torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def _logistic(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _log_cdf(x: Any) -> Any:
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def _floor_quotient(a: Any, b: Any) -> Any:
    return mp.floor(a / b)


UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": mp.exp, "exp2": lambda x: mp.power(2, x), "expm1": mp.expm1, "sin": mp.sin, "cos": mp.cos, "tan": mp.tan,
    "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh, "asin": mp.asin, "acos": mp.acos, "atan": mp.atan,
    "sqrt": mp.sqrt, "reciprocal": lambda x: 1 / x, "rsqrt": lambda x: 1 / mp.sqrt(x), "sigmoid": _logistic,
    "log": mp.log, "log2": lambda x: mp.log(x, 2), "log10": mp.log10, "log1p": mp.log1p, "neg": lambda x: -x,
    "sqr": lambda x: x * x, "abs": abs, "floor": mp.floor, "ceil": mp.ceil, "round": mp.nint,
    "erf": mp.erf, "erfc": mp.erfc, "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x), "erfinv": mp.erfinv,
    "sinc": lambda x: mp.sincpi(x), "digamma": lambda x: mp.psi(0, x),
    "hardsigmoid": lambda x: min(max(x + 3, 0), 6) / 6, "hardswish": lambda x: x * min(max(x + 3, 0), 6) / 6,
    "silu": lambda x: x * _logistic(x), "mish": lambda x: x * mp.tanh(mp.log1p(mp.exp(x))),
    "gelu": lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2, "log_sigmoid_forward": lambda x: -mp.log1p(mp.exp(-x)),
    "log_ndtr": _log_cdf, "frac": lambda x: x - (mp.floor(x) if x >= 0 else mp.ceil(x)), "sign": mp.sign,
    "logit": lambda x: mp.log(x / (1 - x)),
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div_true": lambda a, b: a / b,
    "div_floor": _floor_quotient, "remainder": lambda a, b: a - b * _floor_quotient(a, b),
    "fmod": lambda a, b: mp.sign(a) * (abs(a) - abs(b) * _floor_quotient(abs(a), abs(b))),
    "hypot": lambda a, b: mp.sqrt(a * a + b * b), "atan2": mp.atan2, "pow": mp.power,
    "fmax": max, "fmin": min, "maximum": max, "minimum": min, "logaddexp": lambda a, b: mp.log(mp.exp(a) + mp.exp(b)),
    "logaddexp2": lambda a, b: mp.log(mp.power(2, a) + mp.power(2, b), 2), "xlogy": lambda a, b: a * mp.log(b),
    "xlog1py": lambda a, b: a * mp.log1p(b),
}  # fmt: skip
# Too large for mpmath: e to the power of 1e38 has 1e38 digits before the point.
LIMIT = {
    "logaddexp": 1e4,
    "logaddexp2": 1e4,
    "pow": 1e4,
    "erfcx": 1e4,
    "exp2": 1e4,
    "mish": 1e4,
    "erfc": 1e4,
    "log_ndtr": 1e4,
    "gelu": 1e4,
}
# Operands whose exact result is not what torch means, and what is.
CONVENTIONS: dict[str, str] = {
    "atan2": "mpmath knows no -0",
    "pow": "mpmath knows no -0",
}

WHOLE: dict[str, Callable[..., int | bool]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "add_alpha": lambda a, b: a + 3 * b, "addcmul": lambda a, b, c: a + 2 * b * c, "maximum": max, "minimum": min,
    "gcd": math.gcd, "neg": lambda a: -a, "sqr": lambda a: a * a, "abs": abs, "round": lambda a: a,
    "sign": lambda a: (a > 0) - (a < 0),
    "bitwise_and": lambda a, b: a & b, "bitwise_or": lambda a, b: a | b, "bitwise_xor": lambda a, b: a ^ b,
    "bitwise_not": lambda a: ~a, "relu": lambda a: max(a, 0), "heaviside": lambda a, b: b if a == 0 else int(a > 0),
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "logical_and": lambda a, b: a != 0 and b != 0,
    "logical_or": lambda a, b: a != 0 or b != 0, "logical_xor": lambda a, b: (a != 0) != (b != 0),
    "logical_not": lambda a: a == 0, "signbit": lambda a: a < 0,
    "div_floor": lambda a, b: a // b if b else -int(a < 0), "remainder": lambda a, b: a % b if b else a,
    "bitwise_right_shift": lambda a, b: a >> b if 0 <= b < 64 else -int(a < 0),
}  # fmt: skip


def _edge_operands(dtype: torch.dtype, arity: int) -> list[Tensor]:
    some = grids.edges(dtype)
    return grids.combinations([some[:: 2 if arity == 3 else 1]] * arity)


def _exact(name: str, functor: Any, operands: list[Tensor]) -> Tensor:
    """mpmath's value, and torch's double where that has none."""
    function = UNARY.get(name) or BINARY[name]
    convention = support.expected(CATALOGUE[name], functor, operands, CATALOGUE[name].scalars).double()
    limit = LIMIT.get(name, math.inf)
    plain = torch.ones_like(convention, dtype=torch.bool)
    for operand in operands:
        plain &= operand.isfinite() & (operand.double().abs() < limit)
        if name in CONVENTIONS:
            plain &= operand != 0
    found = convention.clone()
    found[plain] = elementwise.on_reals(function, *(o[plain].double() for o in operands), digits=100)
    return torch.where(found.isnan(), convention, found)


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_floats(name: str) -> None:
    functor, row = ALL[name], CATALOGUE[name]
    with toolbox.batch("ieee"):
        calls = []
        for dtype in FLOATS:
            operands = _edge_operands(dtype, functor.arity.inputs)
            scalars = support.scalars_at(functor, dtype, row.scalars)
            functor.jit_source(*operands, **scalars)
            calls.append((dtype, operands, scalars))
        for dtype, operands, scalars in calls:
            result = functor(*operands, **scalars)
            most = max(bound(name).real, HALF) if dtype is torch.float32 else HALF
            wrong = ulp.error(result, _exact(name, functor, operands), floor=row.floor) > most
            if wrong.any():
                wanted = _exact(name, functor, operands)
                shown = [
                    (*(o[i].item() for o in operands), result[i].item(), wanted[i].item()) for i in wrong.nonzero()
                ]
                raise AssertionError(f"{dtype}: (operands, result, exact): {shown[:8]}, {int(wrong.sum())} in all")


@pytest.mark.parametrize("name", WHOLE)
def test_integers(name: str) -> None:
    functor, row = ALL[name], CATALOGUE[name]
    with toolbox.batch("ieee"):
        calls = []
        for dtype in INTEGERS:
            operands = _edge_operands(dtype, functor.arity.inputs)
            scalars = support.scalars_at(functor, dtype, row.scalars)
            functor.jit_source(*operands, **scalars)
            calls.append((dtype, operands, scalars))
        for dtype, operands, scalars in calls:
            result = functor(*operands, **scalars)
            wanted = elementwise.on_integers(WHOLE[name], *operands, dtype=support.result_dtype(functor, dtype))
            assert torch.equal(result, wanted), dtype


def test_mpmath_is_the_reference() -> None:
    assert mpmath.mp is mp
