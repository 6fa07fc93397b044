"""UndefinedBehaviorSanitizer over the code of whole collections of functors: arithmetic, conversions, loads of bool.

Signed overflow of a sum that is only returned, also by way of a variable, is reported and meant; no other kind is.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import differential
import pytest
import toolbox
import torch
from functors import ALL

from examples.aten import load
from pymetal import Functor, host
from pymetal.accuracy import grids
from pymetal.host import build

HANDLERS = Path(differential.__file__).parents[1] / "support" / "ubsan.h"
FLAGS = (
    "-O0", "-g1", "-fsanitize=undefined,float-cast-overflow", "-fsanitize-recover=all",
    "-fno-sanitize=vptr,function,alignment,object-size,null", "-include", str(HANDLERS),
)  # fmt: skip
MEANT = re.compile(r"(add|sub|mul|negate)_overflow: (return|((const )?\w+ )?\w+ =) ")
# Loops as long as an operand says.
COUNTED = re.compile("polynomial|polygamma|mvlgamma")


# Of narrow integers and halves there is one of each; torch copies no complex32.
LEFT_OUT = {torch.bfloat16, torch.int16, torch.complex32}


@dataclass
class Reports:
    """What is compiled, and what the sanitizer says of it."""

    capture: pytest.CaptureFixture[str]
    texts: list[str] = field(default_factory=list)

    def read(self) -> set[str]:
        """The kind and the line of each report in the text; those in upstream's headers are upstream's."""
        found = re.findall(r"^ubsan:(.*):(\d+):(\w+)$", self.capture.readouterr().err, re.M)
        assert not [file for file, _, _ in found if "/shim/" in file]
        lines = {f"text_{k}": text.splitlines() for k, text in enumerate(self.texts)}
        return {f"{kind}: {lines[file][int(n) - 1].strip()}" for file, n, kind in found if file in lines}


@pytest.fixture
def reports(capfd: pytest.CaptureFixture[str]) -> Iterator[Reports]:
    found, flags, compile_shader = Reports(capfd), build._code_flags, host.compile_shader

    def compile_(text: str, **options: Any) -> Any:
        with mock.patch.object(build, "SOURCE_NAME", f"text_{len(found.texts)}"):
            found.texts.append(text)
            return compile_shader(text, **options)

    sanitized = mock.patch.object(build, "_code_flags", lambda numerics: (*flags(numerics), *FLAGS))
    with sanitized, mock.patch.object(host, "compile_shader", compile_), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield found


def launch(functors: Iterable[Functor]) -> int:
    """Runs functors in every dtype on the pairs of the edges; the number of launches."""
    calls = []
    for functor in functors:
        for element in functor.dtypes:
            if element in LEFT_OUT:
                continue
            edges = grids.edges(element)
            given = [edges.repeat(len(edges)), edges.repeat_interleave(len(edges)), edges.flip(0).repeat(len(edges))]
            given = given[: functor.arity.inputs]
            if COUNTED.search(functor.name):
                given[-1] = given[-1].double().nan_to_num(0).clamp(-3, 60).to(element)
            calls.append((functor, given, {p.name: 1 for p in functor.ir.overloads[0].function.scalars}))
    with toolbox.batch("ieee"):
        for functor, given, scalars in calls:
            functor.jit_source(*given, **scalars)
        for functor, given, scalars in calls:
            functor(*given, **scalars)
    return len(calls)


def test_the_gallery(reports: Reports) -> None:
    """But for silu, which upstream has for integers: the float that is nearest to the highest int is not an int."""
    assert launch(load().values()) > 600
    found = {report for report in reports.read() if not MEANT.match(report)}
    assert found == {"float_cast_overflow: return static_cast<T>(float(x) / (1.0f + precise::exp(-float(x))));"}


def test_chosen_functors(reports: Reports) -> None:
    launch(ALL)
    assert {report for report in reports.read() if not MEANT.match(report)} == set()


def test_random_programs(reports: Reports, tmp_path: Path) -> None:
    for mismatch in differential.check(tmp_path, range(4000, 4016)):
        raise mismatch
    assert {report for report in reports.read() if not MEANT.match(report)} == set()


def test_the_sanitizer_is_awake(reports: Reports) -> None:
    """What is undefined is reported, with its line."""
    lines = {
        "add_overflow": "out[i] += 1;",
        "float_cast_overflow": "out[i] = int(1e20f + out[i]);",
        "load_invalid_value": "if (flags[i]) out[i] = 0;",
    }
    text = (
        "#include <metal_stdlib>\nkernel void run(device int* out,\n    device const bool* flags,\n"
        f"    uint i [[thread_position_in_grid]]) {{\n{chr(10).join(lines.values())}\n}}\n"
    )
    flags = torch.full((4,), 7, dtype=torch.uint8).view(torch.bool)
    host.compile_shader(text).run(torch.full((4,), 2**31 - 1, dtype=torch.int32), flags)
    assert reports.read() == {f"{kind}: {line}" for kind, line in lines.items()}
