"""How far a functor's kernel is from the exact result, in units of the last place, beside what its dtype alone gives.

The kernel is run on the host device. The exact result is the functor's meaning at double precision. The other column
is the same formula with every step rounded to the dtype, as a graph of operators of that dtype computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pymetal.accuracy import ulp
from pymetal.dtypes import DType, Kind

_SAMPLES = 4096
# Beside random values of many magnitudes: where formulas go wrong.
_SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-4, 100.0, 3.0, -3.0)


@dataclass(frozen=True)
class Accuracy:
    """The largest error of one dtype, and the inputs where it is."""

    dtype: DType
    kernel: float
    stepwise: float
    at: tuple[float, ...]


def measure(
    run: Callable[..., torch.Tensor], reference: Callable[..., torch.Tensor], inputs: int, dtypes: Sequence[DType]
) -> list[Accuracy]:
    """The errors for the floating `dtypes`; results that are not finite in either are left out."""
    found = []
    for dtype in dtypes:
        if dtype.kind is not Kind.FLOATING:
            continue
        operands = [_samples(dtype.torch, seed) for seed in range(inputs)]
        exact = reference(*(o.double() for o in operands)).double()
        with_kernel = run(*operands)
        stepwise = reference(*operands)
        if not with_kernel.dtype.is_floating_point:
            return []  # a bool or an integer is right or wrong
        mine, theirs = ulps(with_kernel, exact), ulps(stepwise, exact)
        worst = int(mine.argmax())
        at = tuple(float(o[worst]) for o in operands)
        found.append(Accuracy(dtype, float(mine.max()), float(theirs.max()), at))
    return found


def ulps(result: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """The distance of `result` from `exact` in units of its last place; 0 where that is not finite or subnormal."""
    info, size = torch.finfo(result.dtype), exact.abs()
    counted = result.isfinite() & exact.isfinite() & (size <= info.max) & ((size >= info.tiny) | (size == 0))
    return torch.where(counted, ulp.error(result, exact), 0.0)


def table(rows: Sequence[Accuracy]) -> str:
    """A Markdown table."""
    lines = ["| dtype | kernel, max ULP | each step rounded to the dtype, max ULP | worst input |", "|---|---|---|---|"]
    for row in rows:
        at = ", ".join(f"{v:g}" for v in row.at)
        lines.append(f"| {row.dtype.name} | {row.kernel:.2f} | {row.stepwise:.2f} | {at} |")
    return "\n".join(lines) + "\n"


def _samples(dtype: torch.dtype, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    options: dict[str, Any] = {"generator": generator, "dtype": torch.float64}
    mantissa = torch.randn(_SAMPLES, **options)
    exponent = torch.randint(-8, 6, (_SAMPLES,), generator=generator)
    special = torch.tensor(_SPECIAL, dtype=torch.float64)
    places = torch.randint(0, _SAMPLES, (len(_SPECIAL) * 8,), generator=generator)
    values = torch.ldexp(mantissa, exponent)
    values[places] = special.repeat(8)
    return values.to(dtype)
