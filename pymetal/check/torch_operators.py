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

from pymetal.accuracy import elementwise
from pymetal.errors import PyMetalError, nearest

Function = Callable[..., Tensor]
_BLOCK = 1 << 10  # elements: a multiple of what torch computes at once


class AgainstError(PyMetalError, LookupError):
    """`--against` names nothing that can be called, or what cannot stand beside the functor."""


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
    return lambda *operands: elementwise.on_integers(function, *operands)


# Integers by Python's own: torch raises where a divisor is zero, and its processor traps at the lowest one by -1.
_INTEGERS: dict[str, Function] = {
    "gcd": _whole(math.gcd),
    "lcm": lambda a, b: elementwise.on_integers(math.lcm, a, b).abs(),
    "div_floor": _whole(lambda a, b: a // b if b else -int(a < 0)),
    "div_trunc": _whole(_quotient),
    "remainder": _whole(lambda a, b: a % b if b else a),
    "fmod": _whole(lambda a, b: a - b * _quotient(a, b)),
}
_INTEGERS |= {"floor_divide": _INTEGERS["div_floor"]}

# What upstream calls kernels that its Python interface has under another name, or with other arguments.
_ALIASES: dict[str, tuple[str, Callable[..., Any]]] = {
    # Defaults are the operator's own, for a functor that has no such parameter.
    "add_alpha": ("torch.add", lambda a, b, alpha=1: torch.add(a, b, alpha=alpha)),
    "sub_alpha": ("torch.sub", lambda a, b, alpha=1: torch.sub(a, b, alpha=alpha)),
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
    "hardshrink": ("aten.hardshrink", lambda x, lambd=0.5: _aten("hardshrink")(x, lambd)),
    "softshrink": ("aten.softshrink", lambda x, lambd=0.5: _aten("softshrink")(x, lambd)),
    "softplus": ("aten.softplus", lambda x, beta=1, threshold=20: _aten("softplus")(x, beta, threshold)),
    "softplus_backward": (
        "aten.softplus_backward",
        lambda g, x, beta, threshold: _aten("softplus_backward")(g, x, beta, threshold),
    ),
    "elu": (
        "aten.elu", lambda x, alpha=1, scale=1, input_scale=1: _aten("elu")(x, alpha, scale, input_scale),
    ),
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
        except Exception as error:  # the module is the user's own
            said = str(error) or type(error).__name__
            raise AgainstError(f"--against {against}: {said}", hint="Write module:function.") from error
        if not callable(found):
            raise AgainstError(f"--against {against} is no function")
        return Operator(against, found)
    first, *parts = against.split(".")
    if first == "mpmath":
        import mpmath

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


class Unusable(Exception):
    """Why an operator cannot stand beside a functor."""


def ask(operator: Operator, operands: tuple[Tensor, ...], scalars: dict[str, Any]) -> Tensor:
    """The operator's value. It is given copies: it may write into its operands.

    Integers go to Python's own function where there is one; else without the elements at which torch would raise.

    Raises:
        Unusable: it does not take such operands, or returns something else than a value for each element.
    """
    integral = not (operands[0].is_floating_point() or operands[0].is_complex())
    try:
        if operator.scalar:
            on = elementwise.on_complex if operands[0].is_complex() else elementwise.on_reals
            return on(lambda *values: operator.function(*values, **scalars), *operands)
        if integral and operator.integers is not None and operands[0].dtype is not torch.bool:
            return operator.integers(*operands)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # softmax without dim=, and other advice to whoever wrote the call
            given = [_padded(o).clone() for o in operands]
            value = operator.function(*given, **scalars)
    except Exception as error:  # a function of the user's own raises what it likes
        said = _first_line(str(error))
        raise Unusable(f"it raises {type(error).__name__}" + (f": {said}" if said else "")) from error
    if not isinstance(value, Tensor):
        raise Unusable(f"it returns {'None' if value is None else type(value).__name__}, not a tensor")
    if value.shape != given[0].shape:
        raise Unusable(f"it returns the shape {tuple(value.shape)} for operands of the shape {tuple(given[0].shape)}")
    return take(value, slice(0, len(operands[0])))


def _first_line(message: str) -> str:
    """The first line of an error, and the next one where the first only announces it."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])


def call(operator: Operator, operands: tuple[Tensor, ...], scalars: dict[str, Any]) -> Tensor | None:
    """The operator's value; None where it has none."""
    try:
        return ask(operator, operands, scalars)
    except Unusable:
        return None


def refusal(operator: Operator, operands: tuple[Tensor, ...], scalars: dict[str, Any]) -> str | None:
    """Why the operator has no value for these operands; None if it has."""
    try:
        ask(operator, operands, scalars)
    except Unusable as reason:
        return str(reason)
    return None


def _padded(x: Tensor) -> Tensor:
    """A vector of a whole number of blocks: torch computes the rest of one by other code, with other signs of zero."""
    rest = -len(x) % _BLOCK
    return x if not rest or x.dtype is torch.complex32 else torch.cat([x, x[-1:].expand(rest)])


def take(x: Tensor, at: Tensor | slice) -> Tensor:
    """`x[at]`, which torch does not have for complex halves."""
    return x.view(torch.int32)[at].view(torch.complex32) if x.dtype is torch.complex32 else x[at]


def unusable(operator: Operator, operands: tuple[Tensor, ...], scalars: dict[str, Any]) -> str | None:
    """Why the operator is no witness, judged by a few elements; None if it is.

    Each element of its result has to depend on its own operands alone, and not on chance.
    """
    few = tuple(_plain_dtype(o)[: 4 if operator.scalar else 64] for o in operands)
    parts = [few] if operator.scalar else [few, tuple(o.flip(0) for o in few), *(
        tuple(o[part] for o in few) for part in (slice(0, 5), slice(5, None))
    )]  # fmt: skip
    try:
        whole, *others = [_plain(ask(operator, part, scalars)) for part in parts]
    except Unusable as reason:
        return str(reason)
    if others:
        back, *halves = others
        if not all(torch.allclose(whole, other, equal_nan=True) for other in (back.flip(0), torch.cat(halves))):
            return "an element of its result depends on other elements, or on chance"
    return None


def is_elementwise(operator: Operator, operands: tuple[Tensor, ...], scalars: dict[str, Any]) -> bool:
    """Whether the operator can stand beside a functor of such operands."""
    return unusable(operator, operands, scalars) is None


def _plain_dtype(x: Tensor) -> Tensor:
    return x.to(torch.complex64) if x.dtype is torch.complex32 else x


def _plain(x: Tensor) -> Tensor:
    return torch.view_as_real(x.to(torch.complex128)) if x.is_complex() else x.double()
