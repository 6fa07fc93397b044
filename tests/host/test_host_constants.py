"""Function constants on the host device: undefined without a value, ordinary constants with one."""

from __future__ import annotations

import pytest
import torch

from pymetal import host
from pymetal.errors import CallError

SOURCE = """#include <metal_stdlib>
using namespace metal;
constant bool negate [[function_constant(0)]];
constant float scale [[function_constant(3)]];
constant int given [[function_constant(7)]];
constant int offset = is_function_constant_defined(given) ? given : 100;
kernel void f(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  const float x = is_function_constant_defined(scale) ? scale : 1.0;
  out[i] = (negate ? -x : x) + offset;
}
"""


def run(constants: dict[int, bool | int | float] | None) -> float:
    out = torch.zeros(1)
    host.compile_shader(SOURCE, function_constants=constants).f(out)
    return out.item()


@pytest.mark.parametrize(
    ("constants", "expected"),
    [
        (None, 101.0),
        ({}, 101.0),
        ({0: True}, 99.0),
        ({3: 2.5}, 102.5),
        ({0: True, 3: 2.5, 7: -4}, -6.5),
        ({3: float("inf")}, float("inf")),
        ({7: 0}, 1.0),
    ],
)
def test_values(constants: dict[int, bool | int | float] | None, expected: float) -> None:
    assert run(constants) == expected


def test_unknown_index() -> None:
    with pytest.raises(CallError) as caught:
        run({1: True})
    assert str(caught.value) == ("the source has no function constant 1\nIt has: 0 (negate), 3 (scale), 7 (given).")


def test_lines_stay_where_they_are() -> None:
    with pytest.raises(SyntaxError, match="program_source:11"):
        host.compile_shader(SOURCE + "kernel void g(device float* o [[buffer(0)]]) { o[0] = nothing; }\n")
