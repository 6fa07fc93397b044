"""Bodies of two operands computed three times: by the reference, on the host device, and by Python itself."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import differential
import scalars
import toolbox
import torch

CONSTANTS = (
    "import enum\n\nWEIGHTS = (3, 1, 2)\nMIXED = (5, 0.5)\nLIMIT = 5\nPAIRS = ((1, 2), (3, 0), (0, -1))\n"
    "FLAGS = (True, False)\nSTEPS = range(1, 4)\nNOTHING = ()\n\n\n"
    "class Level(enum.IntEnum):\n    LOW, HIGH = -1, 2\n\n\n"
)
ROUNDS = "@pymetal.func\ndef N(x: T) -> pymetal.int32:\n    return pymetal.int32(abs(x % 5 + 0))\n\n\n"


def text(number: int, body: str) -> str:
    """The functor of a body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"@pymetal.binary(dtypes=(torch.int32, torch.float32))\ndef f{number}(a: T, b: T) -> T:\n{lines}\n\n"


def load(folder: Path, bodies: Mapping[str, str]) -> dict[str, differential.Program]:
    """The functors of `bodies`, by title."""
    module = toolbox.load(folder, CONSTANTS + ROUNDS + "".join(text(n, body) for n, body in enumerate(bodies.values())))
    return {
        title: differential.Program(text(number, body), "int32", getattr(module, f"f{number}"))
        for number, (title, body) in enumerate(bodies.items())
    }


def grid(dtype: torch.dtype) -> list[torch.Tensor]:
    """All pairs of small integers."""
    values = torch.arange(-3, 8)
    return [values.repeat_interleave(11).to(dtype), values.repeat(11).to(dtype)]


def python(
    program: differential.Program, dtype: torch.dtype, inputs: list[torch.Tensor], before: str = CONSTANTS + ROUNDS
) -> torch.Tensor:
    """What Python computes, with the constants of the text `before`."""
    names = scalars.names(str(dtype).removeprefix("torch."))
    names["torch"] = torch
    exec(compile(before + program.text, "<body>", "exec", 0x1000000, dont_inherit=True), names)
    body = names[program.functor.name]
    rows = zip(*(scalars.numbers(t) for t in inputs), strict=True)
    return scalars.tensor([body(a, b) for a, b in rows], dtype)


def check(
    programs: Mapping[str, differential.Program], dtype: torch.dtype, inputs: list[torch.Tensor] | None = None,
    before: str = CONSTANTS + ROUNDS,
) -> None:  # fmt: skip
    """Compares the three, on all pairs of small integers or on `inputs`.

    Raises:
        AssertionError: two differ.
    """
    inputs = grid(dtype) if inputs is None else inputs
    # Integers are compiled with optimization, which shows undefined behaviour.
    optimized = contextlib.nullcontext() if dtype is torch.int32 else toolbox.unoptimized()
    with optimized, toolbox.batch("ieee"):
        for program in programs.values():
            program.functor.jit_source(*inputs)
        for title, program in programs.items():
            wanted = python(program, dtype, inputs, before)
            for result in (program.functor.reference(*inputs), program.functor(*inputs)):
                try:
                    toolbox.assert_equal(result, wanted, inputs)
                except AssertionError as error:
                    raise AssertionError(f"{title}: {error}\n{program.functor.functor_source}") from None
