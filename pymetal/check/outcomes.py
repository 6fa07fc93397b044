"""What a comparison says: places, mismatches, the numbers of one witness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Place:
    """One element: operands, the kernel's value, the right one."""

    operands: tuple[Any, ...]
    got: Any
    wanted: Any

    def __str__(self) -> str:
        return f"({', '.join(map(show, self.operands))}): {show(self.got)}, not {show(self.wanted)}"


@dataclass(frozen=True)
class Mismatch:
    """Elements whose kind of value is wrong, and the first of them."""

    kind: str  # "nan", "infinity", "zero", "integer"
    count: int
    first: Place


@dataclass(frozen=True)
class Comparison:
    """The kernel beside one witness.

    Attributes:
        compared: how many elements had numbers to compare.
        beyond: how many errors are beyond the limit, where the operands' own rounding does not explain them and torch's
            operator at the same dtype has another value.
        worst_beyond: the largest of those.
        flushed: how many elements are wrong only as Apple's GPUs take subnormal numbers on the way for zero; they are
            left out of all else.
    """

    witness: str
    compared: int
    max_ulp: float
    mean_ulp: float
    at: Place | None
    mismatches: tuple[Mismatch, ...]
    limit: float
    beyond: int = 0
    worst_beyond: float = 0.0
    beyond_at: Place | None = None
    flushed: int = 0


def show(value: Any) -> str:
    """A value as a person reads it."""
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, complex):
        return f"{value.real:.9g}{value.imag:+.9g}j"
    return str(value)
