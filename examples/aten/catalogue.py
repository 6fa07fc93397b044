"""What each functor of the gallery is compared with, and where; `bounds` says how near it comes.

One row per functor: the torch operator of the same meaning, called at double precision, so that it stands for the exact
value, and the inputs.

`floor` is for results that pass through zero without being zero at a float: an error of the operands' own size remains
there, and is measured in units of `floor` instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import mpmath
import torch
from torch import Tensor
from torch.nn import functional

from pymetal.accuracy import elementwise

aten: Any = torch.ops.aten

# (least, largest) magnitude of an operand; None for the whole range of the dtype.
Range = tuple[float, float] | None
MIDDLE = (1e-3, 1e3)
NEAR_ONE = (0.5, 2.0)


@dataclass(frozen=True)
class Row:
    """One functor: its meaning, and where it is compared."""

    torch: Callable[..., Tensor]
    floor: float = 0.0
    ranges: tuple[Range, ...] = ()  # of the operands; missing ones are the whole range
    scalars: dict[str, Any] = field(default_factory=dict)
    degree: bool = False  # the second operand is a small integer, a degree
    complex_range: Range = (1e-3, 50.0)  # of the parts of complex operands
    whole: int = 0  # the largest magnitude of integer operands; 0 for all
    narrow: bool = False  # torch's operator is called with the dtype of the operands: the meaning depends on it
    positive: tuple[bool, ...] = ()  # operands whose sign is dropped


def _polynomial(function: Callable[..., Tensor]) -> Row:
    return Row(function, floor=1.0, ranges=((0.03, 1.0), None), degree=True, whole=4)


def _lcm(a: Tensor, b: Tensor) -> Tensor:
    """C++ takes the absolute value of an int: what is narrower is narrowed after that."""
    if a.dtype is torch.bool:
        return a & b
    found = elementwise.on_integers(math.lcm, a, b)
    return found if a.dtype.itemsize < 4 else found.abs()


def _logit_backward(grad: Tensor, x: Tensor, *, eps: float) -> Tensor:
    result: Tensor = aten.logit_backward(grad, x, None if eps < 0 else eps)
    return result


def _lerp_integer(start: Tensor, end: Tensor, weight: Any) -> Tensor:
    if start.is_floating_point() or start.is_complex():
        return torch.lerp(start, end, weight)
    if start.dtype is torch.bool:
        return end if weight else start
    return start + weight * (end - start)


def _on_bool(function: Callable[..., Tensor], on_bool: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda a, b: on_bool(a, b) if a.dtype is torch.bool else function(a, b)


def _on_integers(function: Callable[..., Tensor], whole: Callable[[int, int], int]) -> Callable[..., Tensor]:
    """torch's operator on floats; on integers Python's, as torch raises, or traps, where a divisor is zero or -1."""
    return lambda a, b: function(a, b) if a.is_floating_point() else elementwise.on_integers(whole, a, b)


def _div_trunc(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _div_floor(a: int, b: int) -> int:
    return a // b if b else -int(a < 0)


def _remainder(a: int, b: int) -> int:
    return a % b if b else a


def _fmod(a: int, b: int) -> int:
    return a - b * _div_trunc(a, b)


def _relu(x: Tensor) -> Tensor:
    return x if x.dtype is torch.bool else torch.relu(x)


def _polygamma(x: Tensor, n: int) -> Tensor:
    return _with_poles(x, torch.polygamma(n, x), math.inf if n % 2 else -math.inf)


def _silu(x: Tensor) -> Tensor:
    """torch has floats only. Of integers the float is rounded towards zero, and saturates."""
    if x.is_floating_point():
        return functional.silu(x)
    value = functional.silu(x.float()).double()
    if x.dtype is torch.bool:
        return value != 0
    info = torch.iinfo(x.dtype)
    return value.clamp(info.min, info.max).to(x.dtype)


def _round_decimals(x: Tensor, decimals: int) -> Tensor:
    """In float, as the product with the power of ten rounds. It may be infinite, where torch's result is too."""
    single = x.float()
    value = torch.round(single, decimals=decimals)
    return torch.where(value.isinf(), single, value).double()


def _polar(length: Tensor, angle: Tensor) -> Tensor:
    return torch.polar(length, angle)


def _normal(x: Tensor) -> Tensor:
    return 0.5 * torch.erfc(-x * math.sqrt(0.5))


def _gelu(x: Tensor) -> Tensor:
    """torch's own, 1 + erf, has no digits left at double precision from -8 on."""
    return x * _normal(x)


def _gelu_tanh(x: Tensor) -> Tensor:
    return x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def _sinc(x: Tensor) -> Tensor:
    """torch's own takes the sine of the rounded pi x, which is not zero where x is an integer."""
    if x.is_complex():
        return torch.sinc(x)
    turn = torch.fmod(x, 2)
    sine = torch.where(turn == turn.round(), 0.0, torch.sin(math.pi * turn))
    return torch.where(x == 0, 1.0, sine / (math.pi * x))


def _with_poles(x: Tensor, value: Tensor, pole: float = math.inf) -> Tensor:
    """torch has large finite numbers at the negative integers."""
    return torch.where((x <= 0) & (x == x.floor()), pole, value)


def _airy_ai(x: Tensor) -> Tensor:
    """torch's own loses its digits where the argument is large and negative."""
    return elementwise.on_reals(mpmath.airyai, x, digits=30)


def _pow_scalar(x: Tensor, *, exponent: Any) -> Tensor:
    return torch.pow(x, exponent)


SPECIAL = torch.special

CATALOGUE: dict[str, Row] = {
    # sums, products, quotients
    "add": Row(torch.add),
    "sub": Row(torch.sub),
    "add_alpha": Row(torch.add, scalars={"alpha": 3}, floor=4.0, complex_range=(0.5, 4.0)),
    "mul": Row(torch.mul),
    "lerp_alpha": Row(
        _lerp_integer, ranges=((0.5, 4.0),) * 2, floor=4.0, complex_range=(0.5, 4.0), scalars={"weight": 0.75}
    ),
    "lerp": Row(_lerp_integer, ranges=((0.5, 4.0),) * 3, floor=4.0, complex_range=(0.5, 4.0)),
    "addcmul": Row(torch.addcmul, ranges=((0.5, 4.0),) * 3, floor=4.0, complex_range=(0.5, 4.0), scalars={"value": 2}),
    "addcdiv": Row(torch.addcdiv, ranges=((0.5, 4.0),) * 3, floor=4.0, complex_range=(0.5, 4.0), scalars={"value": 2}),
    "div_true": Row(torch.true_divide),
    "div_floor": Row(_on_integers(lambda a, b: torch.div(a, b, rounding_mode="floor"), _div_floor)),
    "div_trunc": Row(_on_integers(lambda a, b: torch.trunc(a / b), _div_trunc), narrow=True),
    "remainder": Row(_on_integers(torch.remainder, _remainder)),
    "fmod": Row(_on_integers(torch.fmod, _fmod)),
    "gcd": Row(lambda a, b: elementwise.on_integers(math.gcd, a, b)),
    "lcm": Row(_lcm),
    # extremes
    "fmax": Row(torch.fmax),
    "fmin": Row(torch.fmin),
    "maximum": Row(torch.maximum),
    "minimum": Row(torch.minimum),
    "heaviside": Row(torch.heaviside),
    # lengths, angles, powers
    "copysign": Row(torch.copysign),
    "atan2": Row(torch.atan2),
    "hypot": Row(torch.hypot),
    "make_complex": Row(torch.complex),
    "polar": Row(_polar),
    "pow": Row(_on_bool(torch.pow, lambda a, b: a | ~b), complex_range=(0.1, 4.0)),
    "pow_scalar": Row(_pow_scalar, complex_range=(0.1, 4.0), scalars={"exponent": 3}),
    "nextafter": Row(torch.nextafter, narrow=True),
    # bits
    "bitwise_and": Row(torch.bitwise_and),
    "bitwise_or": Row(torch.bitwise_or),
    "bitwise_xor": Row(torch.bitwise_xor),
    "bitwise_not": Row(torch.bitwise_not),
    "bitwise_left_shift": Row(torch.bitwise_left_shift),
    "bitwise_right_shift": Row(torch.bitwise_right_shift),
    # comparisons
    **{
        name: Row(getattr(torch, name))
        for name in ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "logical_not")
    },
    # special functions of two
    "zeta": Row(SPECIAL.zeta, whole=20, ranges=((1.01, 20.0), (0.1, 100.0)), positive=(True, True)),
    "igamma": Row(torch.igamma, ranges=((0.05, 60.0), (0.05, 100.0)), positive=(True, True), floor=1e-3),
    "igammac": Row(torch.igammac, ranges=((0.05, 60.0), (0.05, 100.0)), positive=(True, True), floor=1e-3),
    "logaddexp": Row(torch.logaddexp, floor=1.0),
    "logaddexp2": Row(torch.logaddexp2, floor=1.0),
    "xlogy": Row(torch.xlogy, positive=(False, True)),
    "xlog1py": Row(SPECIAL.xlog1py, positive=(False, True)),
    "chebyshev_polynomial_t": _polynomial(SPECIAL.chebyshev_polynomial_t),
    "chebyshev_polynomial_u": _polynomial(SPECIAL.chebyshev_polynomial_u),
    "chebyshev_polynomial_v": _polynomial(SPECIAL.chebyshev_polynomial_v),
    "chebyshev_polynomial_w": _polynomial(SPECIAL.chebyshev_polynomial_w),
    "shifted_chebyshev_polynomial_t": _polynomial(SPECIAL.shifted_chebyshev_polynomial_t),
    "shifted_chebyshev_polynomial_u": _polynomial(SPECIAL.shifted_chebyshev_polynomial_u),
    "shifted_chebyshev_polynomial_v": _polynomial(SPECIAL.shifted_chebyshev_polynomial_v),
    "shifted_chebyshev_polynomial_w": _polynomial(SPECIAL.shifted_chebyshev_polynomial_w),
    "hermite_polynomial_h": _polynomial(SPECIAL.hermite_polynomial_h),
    "hermite_polynomial_he": _polynomial(SPECIAL.hermite_polynomial_he),
    "laguerre_polynomial_l": _polynomial(SPECIAL.laguerre_polynomial_l),
    # exponentials, logarithms, trigonometric functions
    **{
        name: Row(getattr(torch, name))
        for name in (
            "exp",
            "exp2",
            "expm1",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "asin",
            "acos",
            "atan",
            "sqrt",
            "reciprocal",
            "rsqrt",
            "sigmoid",
            "log",
            "log2",
            "log10",
            "log1p",
            "neg",
            "floor",
            "ceil",
            "trunc",
            "round",
        )
    },
    "abs": Row(lambda x: x.abs().to(x.dtype)),
    "angle": Row(lambda x: x.angle().to(x.dtype) if x.is_complex() else x.angle()),
    "sqr": Row(torch.square),
    "round_decimals": Row(_round_decimals, scalars={"decimals": 2}),
    "nan_to_num": Row(torch.nan_to_num, scalars={"nan": 1.5, "posinf": 100.0, "neginf": -200.0}),
    # special functions of one
    "erf": Row(torch.erf),
    "erfc": Row(torch.erfc),
    "erfcx": Row(SPECIAL.erfcx),
    "erfinv": Row(torch.erfinv, ranges=((1e-30, 1.0),)),
    "lgamma": Row(torch.lgamma, floor=1.0),
    "digamma": Row(lambda x: torch.digamma(x), floor=1.0),
    "trigamma": Row(lambda x: _with_poles(x, torch.polygamma(1, x)), floor=1.0),
    "polygamma": Row(_polygamma, scalars={"n": 2}, floor=1.0, ranges=((0.1, 100.0),)),
    "sinc": Row(_sinc, complex_range=(1e-3, 4.0)),
    # activation functions
    "hardshrink": Row(lambda x, lambd: aten.hardshrink(x, lambd), scalars={"lambd": 0.5}),
    "softshrink": Row(lambda x, lambd: aten.softshrink(x, lambd), scalars={"lambd": 0.5}),
    "shrink_backward": Row(lambda g, x, lambd: aten.hardshrink_backward(g, x, lambd), scalars={"lambd": 0.5}),
    "leaky_relu": Row(lambda x, negative_slope: aten.leaky_relu(x, negative_slope), scalars={"negative_slope": 0.125}),
    "leaky_relu_backward": Row(
        lambda x, g, negative_slope: aten.leaky_relu_backward(g, x, negative_slope, False),
        scalars={"negative_slope": 0.125},
    ),
    "relu": Row(_relu),
    "elu": Row(
        lambda x, alpha, scale, input_scale: aten.elu(x, alpha, scale, input_scale),
        scalars={"alpha": 1.5, "scale": 2.0, "input_scale": 0.5},
    ),
    "elu_backward": Row(
        lambda g, y, alpha, scale, input_scale, is_result: aten.elu_backward(
            g, alpha, scale, input_scale, is_result, y
        ),
        ranges=(NEAR_ONE, (1e-3, 64.0)),
        scalars={"alpha": 1.5, "scale": 2.0, "input_scale": 0.5, "is_result": False},
    ),
    "softplus": Row(
        lambda x, beta, threshold: aten.softplus(x, beta, threshold), scalars={"beta": 2.0, "threshold": 20.0}
    ),
    "softplus_backward": Row(
        lambda g, x, beta, threshold: aten.softplus_backward(g, x, beta, threshold),
        ranges=(NEAR_ONE, (1e-3, 40.0)),
        scalars={"beta": 2.0, "threshold": 20.0},
    ),
    "log_sigmoid_forward": Row(functional.logsigmoid),
    "log_sigmoid_backward": Row(
        lambda x, g: aten.log_sigmoid_backward(g, x, torch.exp(-x.abs())), ranges=((1e-3, 64.0), NEAR_ONE)
    ),
    "hardsigmoid": Row(functional.hardsigmoid),
    "hardsigmoid_backward": Row(lambda g, x: aten.hardsigmoid_backward(g, x)),
    "hardswish": Row(functional.hardswish),
    "hardswish_backward": Row(lambda g, x: aten.hardswish_backward(g, x)),
    "silu": Row(_silu, ranges=((1e-3, 64.0),)),
    "silu_backward": Row(lambda g, x: aten.silu_backward(g, x), floor=0.25, ranges=(NEAR_ONE, (1e-3, 64.0))),
    "glu": Row(lambda a, b: a * torch.sigmoid(b), ranges=(None, (1e-3, 64.0))),
    "mish": Row(functional.mish, ranges=((1e-3, 64.0),)),
    "mish_backward": Row(lambda g, x: aten.mish_backward(g, x), floor=0.25, ranges=(NEAR_ONE, (1e-3, 64.0))),
    "gelu": Row(_gelu, ranges=((1e-3, 8.0),)),
    "gelu_backward": Row(
        lambda g, x: g * (_normal(x) + x * torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)),
        floor=0.25,
        ranges=(NEAR_ONE, (1e-3, 8.0)),
    ),
    "gelu_tanh": Row(_gelu_tanh, ranges=((1e-3, 8.0),)),
    "gelu_tanh_backward": Row(
        lambda g, x: aten.gelu_backward(g, x, approximate="tanh"), floor=0.25, ranges=(NEAR_ONE, (1e-3, 8.0))
    ),
    "sigmoid_backward": Row(lambda g, y: aten.sigmoid_backward(g, y), ranges=(MIDDLE, (1e-6, 1.0))),
    "tanh_backward": Row(lambda g, y: aten.tanh_backward(g, y), ranges=(MIDDLE, (1e-6, 1.0))),
    "logit_backward": Row(_logit_backward, scalars={"eps": 0.125}, ranges=(None, (0.001, 1.0))),
    # the operators of `examples.unimplemented`
    "ndtri": Row(SPECIAL.ndtri, ranges=((1e-37, 1.0),), positive=(True,)),
    "log_ndtr": Row(SPECIAL.log_ndtr),
    "airy_ai": Row(_airy_ai, whole=100, floor=0.25, ranges=((1e-3, 100.0),)),
    "legendre_polynomial_p": _polynomial(SPECIAL.legendre_polynomial_p),
    "sign": Row(torch.sign),
    "sgn": Row(torch.sgn),
    "signbit": Row(torch.signbit),
    "frac": Row(torch.frac),
    "logit": Row(
        lambda x, eps: aten.logit(x, eps if eps >= 0 else None), ranges=((1e-30, 1.0),), scalars={"eps": -1.0}
    ),
    "hardtanh_backward": Row(
        lambda g, x, min_val, max_val: aten.hardtanh_backward(g, x, min_val, max_val),
        scalars={"min_val": -1.0, "max_val": 2.0},
    ),
}
