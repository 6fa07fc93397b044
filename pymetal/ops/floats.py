"""What the rows of floats and complex numbers mean, where torch's own functions are wrong or know too few dtypes.

torch computes fmod of several float32s at once, and wrongly where the divisor is subnormal: 2 % 1e-45 is NaN. The
remainder of two float32s is exact in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_HALVES = {torch.complex64: torch.complex32, torch.float32: torch.float16}


def on_complex64(function: Callable[..., Any]) -> Callable[..., Tensor]:
    """A function of complex numbers that computes complex32 as complex64 and rounds: torch hardly knows complex32."""

    def wrapped(*operands: Tensor) -> Tensor:
        if operands[0].dtype != torch.complex32:
            return function(*operands)  # type: ignore[no-any-return]
        value: Tensor = function(*(x.to(torch.complex64) for x in operands))
        return value.to(_HALVES.get(value.dtype, value.dtype))

    return wrapped


def fmod(a: Tensor, b: Tensor) -> Tensor:
    """What a quotient rounded to zero leaves over, of the sign of `a`."""
    return torch.fmod(a.double(), b.double()).to(a.dtype)


def remainder(a: Tensor, b: Tensor) -> Tensor:
    """What `floor_divide` leaves over, of the sign of `b`."""
    rest = fmod(a, b)
    return torch.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)


def floor_divide(a: Tensor, b: Tensor) -> Tensor:
    """The quotient rounded down, through the exact remainder as Python and torch have it."""
    rest = fmod(a, b)
    quotient = (a - rest) / b
    quotient = torch.where((rest != 0) & ((b < 0) != (rest < 0)), quotient - 1, quotient)
    down = quotient.floor()
    down = torch.where(quotient - down > 0.5, down + 1, down)
    plain = a / b
    return torch.where(b == 0, plain, torch.where(quotient == 0, torch.zeros_like(a).copysign(plain), down))
