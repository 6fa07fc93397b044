"""The functors of the examples and of the tests, with operands that fit them."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import functors
import toolbox
import torch

import examples
from pymetal.functor import Functor
from pymetal.host.device import HostDevice

_FOLDER = Path(examples.__file__).parent


def _examples() -> Iterator[Functor]:
    for path in sorted(_FOLDER.glob("*.py")):
        if path.stem != "__init__":
            module = importlib.import_module(f"examples.{path.stem}")
            yield from (v for v in vars(module).values() if isinstance(v, Functor) and v.__module__ == module.__name__)


EXAMPLES = tuple(_examples())
ALL: tuple[Functor, ...] = (*EXAMPLES, *functors.ALL)


def scalars(functor: Functor, dtype: torch.dtype) -> dict[str, Any]:
    """A value for each scalar parameter that has no default."""
    return {name: 2 for name, default in functor.caller.scalars.items() if default is None}


def sample(dtype: torch.dtype, *shape: int, seed: int = 0) -> torch.Tensor:
    """Values that no functor turns into an overflow."""
    generator = torch.Generator().manual_seed(seed)
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, generator=generator, dtype=torch.float64).mul(3).to(dtype)
    return torch.randint(0 if dtype is torch.uint8 else -9, 10, shape, generator=generator).to(dtype)


def operands(functor: Functor, dtype: torch.dtype, *shape: int) -> list[torch.Tensor]:
    """One tensor for each operand."""
    return [sample(dtype, *shape, seed=seed) for seed in range(functor.arity.inputs)]


def domain(functor: Functor) -> list[torch.dtype]:
    """The dtypes that the functor is registered for."""
    return [d.torch for d in functor.ir.domain]


def varied(functor: Functor, dtype: torch.dtype) -> Iterator[tuple[str, list[torch.Tensor | float]]]:
    """Calls in every form that a launch kernel has."""
    n = functor.arity.inputs
    yield "dense", list(operands(functor, dtype, 13))
    yield "matrix", list(operands(functor, dtype, 5, 7))
    yield (
        "transposed",
        [o.t() if i % 2 == 0 else o.t().contiguous() for i, o in enumerate(operands(functor, dtype, 5, 7))],
    )
    yield "gaps", [o[:, ::2] for o in operands(functor, dtype, 5, 7)]
    yield "offset", [o[1:] for o in operands(functor, dtype, 14)]
    if n > 1:
        first, *rest = operands(functor, dtype, 4, 6)
        yield "broadcast", [first, *(o[i % 4 : i % 4 + 1] for i, o in enumerate(rest))]
        yield "outer", [first[:, :1], *(o[:1] for o in rest)]
        yield "single", [first, *(o[0, 1] for o in rest)]
        yield "number", [first, *([2] * (n - 1))]
    four = [o.view(2, 3, 2, 5) for o in operands(functor, dtype, 60)]
    yield "four", [four[0].permute(3, 1, 0, 2), *(o.reshape(5, 3, 2, 2) for o in four[1:])]


def mixed(functor: Functor) -> Iterator[list[torch.Tensor]]:
    """Operands of two dtypes that meet in one that the functor has."""
    if functor.arity.inputs > 1:
        have = domain(functor)
        for a, b in ((torch.float16, torch.float32), (torch.float32, torch.int64), (torch.uint8, torch.int64)):
            if torch.promote_types(a, b) in have:
                first, *rest = operands(functor, a, 11)
                yield [first, *(o.abs().to(b) for o in rest)]


@contextlib.contextmanager
def batched() -> Iterator[tuple[toolbox.Batch, Callable[[str], Callable[[str], Any]]]]:
    """The host device compiles together, at the first launch, what was asked for while `collecting` was set.

    Yields the batch, and what compiles a source into it.
    """
    batch = toolbox.Batch()
    known: dict[str, Callable[[str], Any]] = {}

    def build(source: str) -> Callable[[str], Any]:
        if source not in known:
            known[source] = batch.compile(source)
        return known[source]

    with mock.patch.object(HostDevice, "compile", lambda self, source: build(source)):
        yield batch, build
