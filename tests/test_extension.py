"""What is added in one place works everywhere: an operator, an arity, a device, all made up.

Nothing of them is left when a test ends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import mpmath
import pytest
import toolbox
import torch
from mps_stand_in import STAND_IN, StandIn

from pymetal import dtypes, ops
from pymetal.arity import Arity, Macro
from pymetal.check.exact_operators import exact_operator
from pymetal.decorators import Decorator
from pymetal.errors import DeviceError
from pymetal.host.device import HOST
from pymetal.intrinsics import metal
from pymetal.ir import Member, Op, TypeRule
from pymetal.ops.table import FLOATING, row
from pymetal.runtime import device
from pymetal.semantics import exact_interpreter
from pymetal.semantics.differentiate import differentiate
from pymetal.semantics.interpreter import evaluate

# --- an operator: one row --------------------------------------------------------------------------------------------

_CUBE = "static inline float cube_of(const float x) {\n  return x * x * x;\n}\n"


@pytest.fixture
def cube() -> Iterator[Op]:
    """A row of the table, for one test."""
    with mock.patch.dict(ops.TABLE), mock.patch.dict(ops.BY_ALIAS):
        yield row(
            "metal.cube", 1, TypeRule.MATH, FLOATING, Member("cube_of", _CUBE), lambda x: x**3,
            lambda x, r: (3 * x * x,), exact=lambda mp, x: x**3,
        )  # fmt: skip
    assert not hasattr(metal, "cube")


@pytest.mark.usefixtures("cube")
def test_an_operator_is_a_row(tmp_path: Path) -> None:
    functor = toolbox.load(
        tmp_path, "@pymetal.unary\ndef f(x: Floating) -> Floating:\n    return metal.cube(x) + 1\n"
    ).f
    x = torch.tensor([-2.0, 0.5, 3.0])
    assert functor(x).tolist() == functor.reference(x).tolist() == [-7.0, 1.125, 28.0]
    assert "return x * x * x;" in functor.metal_source
    assert functor.metal_source.count("cube_of(") == 2
    assert metal.cube(x).tolist() == [-8.0, 0.125, 27.0]
    assert "cube" in dir(metal)

    overload = functor.ir.overload(dtypes.float32)
    slope = differentiate(overload.function, "x", functor.ir.domain)
    assert evaluate(slope, dtypes.float32, [x], {}).tolist() == [12.0, 0.75, 27.0]
    tenth = torch.tensor([0.1], dtype=torch.float64)
    exact = exact_interpreter.evaluate(overload.function, dtypes.float32, (tenth,), {})
    assert exact is not None
    assert exact.item() == float(mpmath.mpf(0.1) ** 3 + 1)
    assert exact_operator("cube") is None, "only `metal.precise` and `metal.c10` stand for torch's operators"


# --- an arity: one row -----------------------------------------------------------------------------------------------

QUATERNARY = Arity(
    "quaternary", 4, Macro("REGISTER_QUATERNARY_OP", (2, 99)), Macro("REGISTER_QUATERNARY_ALPHA_OP", (2, 99)), None,
    None, "QuaternaryKernel.metal", "exec_quaternary_kernel",
)  # fmt: skip


def test_an_arity_is_a_row(tmp_path: Path) -> None:
    text = "@quaternary\ndef f(a: T, b: T, c: T, d: T) -> T:\n    return a * b + c * d\n"
    functor = toolbox.load(tmp_path, text, f"{toolbox.PRELUDE}from {__name__} import quaternary\n").f
    a, b, c = (torch.arange(6.0) + i for i in range(3))
    expected = a * b + c * 2
    assert torch.equal(functor(a, b, c, 2.0), expected)
    assert torch.equal(functor(a[::2], b[::2], c[::2], torch.full((1,), 2.0)), expected[::2])
    assert torch.equal(functor.reference(a, b, c, 2.0), expected)
    assert "REGISTER_QUATERNARY_OP(f, bfloat, bfloat);" in functor.metal_source
    assert "T operator()(const T a, const T b, const T c, const T d)" in functor.metal_source


quaternary = Decorator(QUATERNARY)

# --- a device: one row and a class -----------------------------------------------------------------------------------


class MirrorDevice:
    """Tensors of torch's meta device, whose memory the stand-in for MPS keeps, computed by the host device."""

    name = "mirror"
    several_from = 1 << 30

    def __init__(self) -> None:
        self.memory = StandIn()
        self.launches = 0

    def variant(self) -> str:
        return self.name

    def available(self) -> bool:
        return True

    def compile(self, source: str) -> Callable[[str], Any]:
        kernels = HOST.compile(source)

        def kernel(name: str) -> Callable[..., None]:
            def launch(*args: Any, **keywords: Any) -> None:
                self.launches += 1
                known = [self.memory.get(a) if isinstance(a, torch.Tensor) and a.is_meta else a for a in args]
                kernels(name)(*known, **keywords)

            return launch

        return kernel


MIRROR = MirrorDevice()


def test_a_device_is_a_row(tmp_path: Path) -> None:
    text = "@pymetal.binary\ndef f(a: T, b: T, *, k: float = 2) -> T:\n    return a * b + T(k)\n"
    functor = toolbox.load(tmp_path, text).f
    a, b = torch.arange(6.0), torch.arange(6.0) + 1
    there = MIRROR.memory.put(a), MIRROR.memory.put(b)
    with mock.patch.dict(device.DEVICES, {STAND_IN.type: f"{__name__}:MIRROR"}), mock.patch.dict(device._used):
        assert sys.modules[__name__].MIRROR is MIRROR
        result = functor(*there, k=3.0)
    assert result.device == STAND_IN
    assert MIRROR.launches == 1
    assert torch.equal(MIRROR.memory.get(result), a * b + 3)
    with pytest.raises(DeviceError, match="no device for meta tensors"):
        functor(*there)
