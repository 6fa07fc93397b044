"""Scalars of the wrong sort: their bytes would be read as another number, which Metal does without a word."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pymetal import host
from pymetal.errors import CallError

SOURCE = """#include <metal_stdlib>
using namespace metal;
struct Pair { float a; float b; };
kernel void f(device float* out [[buffer(0)]], constant float& x [[buffer(1)]], constant long& n [[buffer(2)]],
              constant half& h [[buffer(3)]], uint i [[thread_position_in_grid]]) {
  out[i] = x * n + float(h);
}
kernel void g(device float* out [[buffer(0)]], constant Pair& p [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  out[i] = p.a + p.b;
}
"""


def call(x: Any, n: Any, h: Any, casts: Any = None) -> float:
    out = torch.zeros(1)
    host.compile_shader(SOURCE).f(out, x, n, h, arg_casts=casts if casts is not None else {3: "fp16"})
    return out.item()


def test_right_sorts() -> None:
    assert call(1.5, 2, 0.5) == 3.5
    assert call(1.5, True, 1) == 2.5  # a bool is an integer, and the cast makes a half of an int
    assert call(torch.tensor(1.5), torch.tensor(2), 0.5) == 3.5


@pytest.mark.parametrize(
    ("x", "n", "casts", "message"),
    [
        (2, 2, None, "kernel f reads a float at 'x' (buffer 1), but 2 is bound as an integer\nPass 2.0."),
        (1.5, 2.0, None, "kernel f reads an integer at 'n' (buffer 2), but 2.0 is bound as a float\nPass an int."),
        (1.5, 2, {3: "int16"}, "kernel f reads a float at 'h' (buffer 3), but 0.5 is bound as an integer\nPass 0.5."),
    ],
)
def test_wrong_sorts(x: Any, n: Any, casts: Any, message: str) -> None:
    with pytest.raises(CallError) as caught:
        call(x, n, 0.5, casts)
    assert str(caught.value) == message


def test_a_struct_is_made_of_anything() -> None:
    out = torch.zeros(1)
    host.compile_shader(SOURCE).g(out, [1.5, 2.0])
    assert out.item() == 3.5
