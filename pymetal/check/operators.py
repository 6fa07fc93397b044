"""The torch operator that a functor stands for, found by its name or named by the user."""

from __future__ import annotations

import functools
import importlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pymetal.accuracy import exact
from pymetal.errors import PyMetalError, nearest

Function = Callable[..., Tensor]
_BLOCK = 1 << 10  # elements: a multiple of what torch computes at once


class AgainstError(PyMetalError, LookupError):
    """`--against` names nothing that can be called."""


@dataclass(frozen=True)
class Operator:
    """What to compare with.

    Attributes:
        name: as it is shown.
        function: called with the operands, and the scalars by keyword.
        integers: what to call for integer operands instead.
        scalar: `function` takes mpmath's numbers, one for each operand, and knows no dtype.
    """

    name: str
    function: Callable[..., Any]
    integers: Function | None = None
    scalar: bool = False


def _aten(name: str) -> Callable[..., Any]:
    return getattr(torch.ops.aten, name)  # type: ignore[no-any-return]


def _quotient(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _whole(function: Callable[..., int]) -> Function:
    return lambda *operands: exact.on_integers(function, *operands)


# Integers by Python's own: torch raises where a divisor is zero, and its processor traps at the lowest one by -1.
_INTEGERS: dict[str, Function] = {
    "gcd": _whole(math.gcd),
    "lcm": lambda a, b: exact.on_integers(math.lcm, a, b).abs(),
    "div_floor": _whole(lambda a, b: a // b if b else -int(a < 0)),
    "div_trunc": _whole(_quotient),
    "remainder": _whole(lambda a, b: a % b if b else a),
    "fmod": _whole(lambda a, b: a - b * _quotient(a, b)),
}
_INTEGERS |= {"floor_divide": _INTEGERS["div_floor"]}

# What upstream calls kernels that its Python interface has under another name, or with other arguments.
_ALIASES: dict[str, tuple[str, Callable[..., Any]]] = {
    "add_alpha": ("torch.add", lambda a, b, alpha: torch.add(a, b, alpha=alpha)),
    "sub_alpha": ("torch.sub", lambda a, b, alpha: torch.sub(a, b, alpha=alpha)),
    "lerp_alpha": ("torch.lerp", lambda a, b, weight: torch.lerp(a, b, weight)),
    "div_true": ("torch.true_divide", torch.true_divide),
    "div_floor": ("torch.div(rounding_mode='floor')", lambda a, b: torch.div(a, b, rounding_mode="floor")),
    "div_trunc": ("torch.div(rounding_mode='trunc')", lambda a, b: torch.div(a, b, rounding_mode="trunc")),
    "make_complex": ("torch.complex", torch.complex),
    "sqr": ("torch.square", torch.square),
    "trigamma": ("torch.polygamma(1, x)", lambda x: torch.polygamma(1, x)),
    "polygamma": ("torch.polygamma", lambda x, n: torch.polygamma(n, x)),
    "round_decimals": ("torch.round", lambda x, decimals: torch.round(x, decimals=decimals)),
    "pow_scalar": ("torch.pow", lambda x, exponent: torch.pow(x, exponent)),
    "gelu_tanh": (
        "torch.nn.functional.gelu(approximate='tanh')",
        lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    ),
    "gelu_tanh_backward": (
        "aten.gelu_backward(approximate='tanh')",
        lambda g, x: _aten("gelu_backward")(g, x, approximate="tanh"),
    ),
    "log_sigmoid_forward": ("torch.nn.functional.logsigmoid", torch.nn.functional.logsigmoid),
    "smooth_l1": (
        "torch.nn.functional.smooth_l1_loss",
        lambda a, b, beta=1.0: torch.nn.functional.smooth_l1_loss(a, b, reduction="none", beta=beta),
    ),
    "mse": (
        "torch.nn.functional.mse_loss",
        lambda a, b: torch.nn.functional.mse_loss(a, b, reduction="none"),
    ),
    "leaky_relu_backward": (
        "aten.leaky_relu_backward",
        lambda x, g, negative_slope: _aten("leaky_relu_backward")(g, x, negative_slope, False),
    ),
    "shrink_backward": (
        "aten.hardshrink_backward",
        lambda g, x, lambd: _aten("hardshrink_backward")(g, x, lambd),
    ),
    "log_sigmoid_backward": (
        "aten.log_sigmoid_backward",
        lambda g, x: _aten("log_sigmoid_backward")(g, x, torch.exp(-x.abs())),  # the CPU's forward pass keeps this
    ),
    "elu_backward": (
        "aten.elu_backward",
        lambda g, y, alpha, scale, input_scale, is_result: _aten("elu_backward")(
            g, alpha, scale, input_scale, is_result, y
        ),
    ),
    "hardshrink": ("aten.hardshrink", lambda x, lambd: _aten("hardshrink")(x, lambd)),
    "softshrink": ("aten.softshrink", lambda x, lambd: _aten("softshrink")(x, lambd)),
    "softplus": ("aten.softplus", lambda x, beta, threshold: _aten("softplus")(x, beta, threshold)),
    "softplus_backward": (
        "aten.softplus_backward",
        lambda g, x, beta, threshold: _aten("softplus_backward")(g, x, beta, threshold),
    ),
    "elu": ("aten.elu", lambda x, alpha, scale, input_scale: _aten("elu")(x, alpha, scale, input_scale)),
    "glu": ("a * torch.sigmoid(b)", lambda a, b: a * torch.sigmoid(b)),
}  # fmt: skip


def find_operator(name: str, against: str | None = None) -> Operator | None:
    """The operator to compare a functor with; None if there is none of its name.

    Args:
        name: the functor's.
        against: what the user named: `torch.hypot`, `torch.special.erfcx`, `aten.silu_backward`, `mpmath.gamma`, or
            `module:function` of the user's own, which takes tensors.

    Raises:
        AgainstError: `against` names nothing that can be called.
    """
    if against is not None:
        return _named(against, name)
    if name in _ALIASES:
        shown, function = _ALIASES[name]
        return Operator(shown, function, _INTEGERS.get(name))
    for module in (torch, torch.special, torch.nn.functional):
        found = getattr(module, name, None)
        if callable(found) and not isinstance(found, type):
            return Operator(f"{module.__name__}.{name}", found, _INTEGERS.get(name))
    if name.endswith("_backward") and hasattr(torch.ops.aten, name):
        return Operator(f"aten.{name}", _aten(name))
    return None


def _named(against: str, functor: str) -> Operator:
    if ":" in against:
        module, _, attribute = against.partition(":")
        try:
            found: Any = functools.reduce(getattr, attribute.split("."), importlib.import_module(module))
        except (ImportError, AttributeError) as error:
            raise AgainstError(f"--against {against}: {error}", hint="Write module:function.") from error
        return Operator(against, found)
    first, *parts = against.split(".")
    if first == "mpmath":
        import mpmath  # type: ignore[import-untyped]

        root: Any = mpmath
    elif first == "aten":
        root = torch.ops.aten
    else:
        root, parts = torch, parts if first == "torch" else [first, *parts]
    found = root
    for part in parts:
        last, found = found, getattr(found, part, None)
        if found is None:
            near = nearest(part, dir(last))
            raise AgainstError(
                f"--against {against}: there is no {part!r}" + (f"; did you mean {near!r}?" if near else ""),
                hint="Write torch.NAME, torch.special.NAME, aten.NAME, mpmath.NAME or module:function.",
            )
    if not callable(found) or not parts:
        raise AgainstError(f"--against {against} is no function")
    shown = against if first in ("torch", "aten", "mpmath") else f"torch.{against}"
    return Operator(shown, found, _INTEGERS.get(parts[-1]), scalar=first == "mpmath")


def call(operator: Operator, operands: tuple[Tensor, ...], scalars: dict[str, Any]) -> Tensor | None:
    """The operator's value; None where it does not take such operands.

    Integers go to Python's own function where there is one; else without the elements at which torch would raise.
    """
    integral = not (operands[0].is_floating_point() or operands[0].is_complex())
    try:
        if operator.scalar:
            on = exact.on_complex if operands[0].is_complex() else exact.on_reals
            return on(lambda *values: operator.function(*values, **scalars), *operands)
        if integral and operator.integers is not None and operands[0].dtype is not torch.bool:
            return operator.integers(*operands)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # softmax without dim=, and other advice to whoever wrote the call
            value = operator.function(*map(_padded, operands), **scalars)
    except (RuntimeError, TypeError, NotImplementedError, ValueError, ZeroDivisionError):
        return None
    if not isinstance(value, Tensor) or value.dim() != 1 or len(value) != len(_padded(operands[0])):
        return None
    return take(value, slice(0, len(operands[0])))


def _padded(x: Tensor) -> Tensor:
    """A vector of a whole number of blocks: torch computes the rest of one by other code, with other signs of zero."""
    rest = -len(x) % _BLOCK
    return x if not rest or x.dtype is torch.complex32 else torch.cat([x, x[-1:].expand(rest)])


def take(x: Tensor, at: Tensor | slice) -> Tensor:
    """`x[at]`, which torch does not have for complex halves."""
    return x.view(torch.int32)[at].view(torch.complex32) if x.dtype is torch.complex32 else x[at]


def is_elementwise(operator: Operator, operands: tuple[Tensor, ...], scalars: dict[str, Any]) -> bool:
    """Whether each element of the result depends on its own operands alone, and not on chance."""
    if operator.scalar:
        return True
    few = tuple(_plain_dtype(o)[:64] for o in operands)
    whole = call(operator, few, scalars)
    if whole is None:
        return False
    back = call(operator, tuple(o.flip(0) for o in few), scalars)
    halves = [call(operator, tuple(o[part] for o in few), scalars) for part in (slice(0, 5), slice(5, None))]
    if back is None or any(h is None for h in halves):
        return False
    parts = torch.cat([_plain(h) for h in halves if h is not None])
    return all(torch.allclose(_plain(whole), other, equal_nan=True) for other in (_plain(back).flip(0), parts))


def _plain_dtype(x: Tensor) -> Tensor:
    return x.to(torch.complex64) if x.dtype is torch.complex32 else x


def _plain(x: Tensor) -> Tensor:
    return torch.view_as_real(x.to(torch.complex128)) if x.is_complex() else x.double()
