"""The torch operator that a functor stands for, found by its name or chosen by the user."""

from __future__ import annotations

import functools
import importlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from pymetal.accuracy import elementwise
from pymetal.errors import PyMetalError, nearest

Function = Callable[..., Tensor]
_BLOCK = 1 << 10  # elements: a multiple of what torch computes at once
_aten: Any = torch.ops.aten


class AgainstError(PyMetalError, LookupError):
    """`--against` names nothing that can be called, or an operator that cannot be compared with the functor."""


class Unusable(Exception):
    """Why an operator cannot be compared with a functor."""


@dataclass(frozen=True)
class Operator:
    """What to compare with.

    Attributes:
        name: as it is shown.
        function: called with the operands, and the scalars by keyword.
        integers: what to call for integer operands instead.
        scalar: `function` takes mpmath's numbers, one for each operand, and knows no dtype.
        index: which element of a tuple that it returns.
    """

    name: str
    function: Callable[..., Any]
    integers: Function | None = None
    scalar: bool = False
    index: int | None = None


def _quotient(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _whole(function: Callable[..., int]) -> Function:
    return lambda *operands: elementwise.on_integers(function, *operands)


# Integers are computed by Python: torch raises where a divisor is zero, and x86 traps at the lowest integer by -1.
_INTEGERS: dict[str, Function] = {
    "gcd": _whole(math.gcd),
    "lcm": lambda a, b: elementwise.on_integers(math.lcm, a, b).abs(),
    "div_floor": _whole(lambda a, b: a // b if b else -int(a < 0)),
    "div_trunc": _whole(_quotient),
    "remainder": _whole(lambda a, b: a % b if b else a),
    "fmod": _whole(lambda a, b: a - b * _quotient(a, b)),
}
_INTEGERS |= {"floor_divide": _INTEGERS["div_floor"]}

# The operators of functors that PyTorch's kernels call otherwise than its Python interface does.
# Scalars come by keyword; where the functor has none, the operator's default holds.
_ALIASES: dict[str, tuple[str, Callable[..., Any]]] = {
    "add_alpha": ("torch.add", torch.add),
    "sub_alpha": ("torch.sub", torch.sub),
    "lerp_alpha": ("torch.lerp", torch.lerp),
    "div_true": ("torch.true_divide", torch.true_divide),
    "div_floor": ("torch.div(rounding_mode='floor')", functools.partial(torch.div, rounding_mode="floor")),
    "div_trunc": ("torch.div(rounding_mode='trunc')", functools.partial(torch.div, rounding_mode="trunc")),
    "make_complex": ("torch.complex", torch.complex),
    "sqr": ("torch.square", torch.square),
    "trigamma": ("torch.polygamma(1, x)", functools.partial(torch.polygamma, 1)),
    "polygamma": ("torch.polygamma", lambda x, n: torch.polygamma(n, x)),
    "round_decimals": ("torch.round", torch.round),
    "pow_scalar": ("torch.pow", torch.pow),
    "gelu_tanh": ("torch.nn.functional.gelu(approximate='tanh')", functools.partial(F.gelu, approximate="tanh")),
    "gelu_tanh_backward": (
        "aten.gelu_backward(approximate='tanh')", functools.partial(_aten.gelu_backward, approximate="tanh"),
    ),
    "log_sigmoid_forward": ("torch.nn.functional.logsigmoid", F.logsigmoid),
    "smooth_l1": ("torch.nn.functional.smooth_l1_loss", functools.partial(F.smooth_l1_loss, reduction="none")),
    "mse": ("torch.nn.functional.mse_loss", functools.partial(F.mse_loss, reduction="none")),
    "leaky_relu_backward": (
        "aten.leaky_relu_backward",
        lambda x, g, negative_slope: _aten.leaky_relu_backward(g, x, negative_slope, False),
    ),
    "shrink_backward": ("aten.hardshrink_backward", _aten.hardshrink_backward),
    "log_sigmoid_backward": (
        "aten.log_sigmoid_backward",
        lambda g, x: _aten.log_sigmoid_backward(g, x, torch.exp(-x.abs())),  # the CPU's forward pass keeps this
    ),
    "elu_backward": (
        "aten.elu_backward", lambda g, y, **scalars: _aten.elu_backward(g, self_or_result=y, **scalars),
    ),
    "hardshrink": ("aten.hardshrink", _aten.hardshrink),
    "softshrink": ("aten.softshrink", _aten.softshrink),
    "softplus": ("aten.softplus", _aten.softplus),
    "elu": ("aten.elu", _aten.elu),
    "glu": ("a * torch.sigmoid(b)", lambda a, b: a * torch.sigmoid(b)),
}  # fmt: skip


def find_operator(name: str, against: str | None = None) -> Operator | None:
    """Finds the operator to compare a functor with; None if there is none of its name.

    Args:
        name: the functor's.
        against: what the user chose: `torch.hypot`, `torch.special.erfcx`, `aten.silu_backward`, `mpmath.gamma`, or
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
    if name.endswith("_backward") and hasattr(_aten, name):
        return Operator(f"aten.{name}", getattr(_aten, name))
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
            raise AgainstError(f"--against {against} is not a function")
        return Operator(against, found)
    first, *parts = against.split(".")
    if first not in ("torch", "aten", "mpmath"):
        first, parts = "torch", [first, *parts]
    found = _aten if first == "aten" else importlib.import_module(first)
    for part in parts:
        last, found = found, getattr(found, part, None)
        if found is None:
            near = nearest(part, dir(last))
            raise AgainstError(
                f"--against {against}: there is no {part!r}" + (f"; did you mean {near!r}?" if near else ""),
                hint="Write torch.NAME, torch.special.NAME, aten.NAME, mpmath.NAME or module:function.",
            )
    if not callable(found) or not parts:
        raise AgainstError(f"--against {against} is not a function")
    return Operator(".".join((first, *parts)), found, _INTEGERS.get(parts[-1]), scalar=first == "mpmath")


def call(operator: Operator, operands: tuple[Tensor, ...], scalars: dict[str, Any]) -> Tensor:
    """The operator's value. It is given copies: it may write into its operands.

    Integers go to Python's own function where there is one.

    Raises:
        Unusable: it does not take such operands, or returns something else than a value for each element.
    """
    dtype = operands[0].dtype
    integral = not (dtype.is_floating_point or dtype.is_complex or dtype is torch.bool)
    try:
        if operator.scalar:
            on = elementwise.on_complex if dtype.is_complex else elementwise.on_reals
            return on(lambda *values: operator.function(*values, **scalars), *operands)
        if integral and operator.integers is not None:
            return operator.integers(*operands)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # softmax without dim=, and other advice to whoever wrote the call
            given = [_padded(o).clone() for o in operands]
            value = operator.function(*given, **scalars)
    except Exception as error:  # a function of the user's own raises what it likes
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        # The next line too where the first only announces it.
        message = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])
        raise Unusable(f"it raises {type(error).__name__}" + (f": {message}" if message else "")) from error
    if operator.index is not None and isinstance(value, tuple) and operator.index < len(value):
        value = value[operator.index]
    if not isinstance(value, Tensor):
        raise Unusable(f"it returns {'None' if value is None else type(value).__name__}, not a tensor")
    if value.shape != given[0].shape:
        raise Unusable(f"it returns the shape {tuple(value.shape)} for operands of the shape {tuple(given[0].shape)}")
    return take(value, slice(0, len(operands[0])))


def _padded(x: Tensor) -> Tensor:
    """A vector of a whole number of blocks: torch computes the rest of one by other code, with other signs of zero."""
    rest = -len(x) % _BLOCK
    return x if not rest or x.dtype is torch.complex32 else torch.cat([x, x[-1:].expand(rest)])


def take(x: Tensor, at: Tensor | slice) -> Tensor:
    """`x[at]`, which torch does not have for complex halves."""
    return x.view(torch.int32)[at].view(torch.complex32) if x.dtype is torch.complex32 else x[at]


def check_elementwise(operator: Operator, operands: tuple[Tensor, ...], scalars: dict[str, Any]) -> None:
    """Checks on a few elements that each element of the result depends on its own operands alone, and is not random.

    Raises:
        Unusable: that is not so, or the operator does not take such operands.
    """

    def values(*parts: tuple[Tensor, ...]) -> Tensor:
        found = torch.cat([call(operator, part, scalars) for part in parts])
        return torch.view_as_real(found.to(torch.complex128)) if found.is_complex() else found.double()

    few = tuple((o.to(torch.complex64) if o.dtype is torch.complex32 else o)[:64] for o in operands)
    if operator.scalar:
        values(tuple(o[:4] for o in few))
        return
    whole = values(few)
    backwards = values(tuple(o.flip(0) for o in few)).flip(0)
    in_parts = values(tuple(o[:5] for o in few), tuple(o[5:] for o in few))
    if not all(torch.allclose(whole, other, equal_nan=True) for other in (backwards, in_parts)):
        raise Unusable("its result at an element depends on other elements, or is random")
