"""Derivatives of whole functors, with branches, variables and scalars, against torch.autograd at double precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import functors
import pytest
import toolbox
import torch

from examples.addcmul import addcmul
from examples.atan2 import atan2
from examples.gelu_tanh import gelu_tanh
from examples.logaddexp import logaddexp
from examples.smooth_l1 import smooth_l1
from pymetal import PyMetalError, dtypes, ir
from pymetal.functor import Functor
from pymetal.semantics.differentiate import differentiate
from pymetal.semantics.interpreter import evaluate


def body_of(functor: Functor) -> ir.Function:
    """The function that serves floats."""
    overload = functor.ir.overload(dtypes.float32)
    assert overload is not None
    return overload.function


def floats_of(functor: Functor) -> list[dtypes.DType]:
    """The dtypes at which there is a derivative; one body may serve integers as well."""
    return [d for d in functor.ir.domain if d.kind is dtypes.Kind.FLOATING]


def derivative(functor: Functor, wrt: str, inputs: list[torch.Tensor], scalars: dict[str, Any]) -> torch.Tensor:
    derived = differentiate(body_of(functor), wrt, floats_of(functor))
    return evaluate(derived, dtypes.float64, inputs, scalars)


def check(functor: Functor, **scalars: float) -> None:
    """By each tensor and each scalar parameter, away from the points where there is no derivative."""
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(500, dtype=torch.float64, generator=generator) * 2 for _ in range(functor.arity.inputs)]
    function = body_of(functor)
    for i, param in enumerate(function.params):
        leaves = [t.clone().requires_grad_(i == k) for k, t in enumerate(inputs)]
        (expected,) = torch.autograd.grad(functor.reference(*leaves, **scalars).sum(), leaves[i])
        actual = derivative(functor, param.name, inputs, scalars)
        torch.testing.assert_close(actual, expected, rtol=1e-11, atol=1e-12, msg=f"d/d{param.name} of {functor.name}")
    for name, value in scalars.items():
        step = 1e-6
        high, low = (functor.reference(*inputs, **{**scalars, name: value + s}) for s in (step, -step))
        actual = derivative(functor, name, inputs, scalars)
        difference = (high - low) / (2 * step)
        smooth = (actual - difference).abs() < 1e-6 * (1 + actual.abs())
        # A step over the edge of a branch is no derivative.
        assert smooth.float().mean() > 0.99, f"d/d{name}"


@pytest.mark.parametrize(
    ("functor", "scalars"),
    [
        (atan2, {}),
        (logaddexp, {}),
        (gelu_tanh, {}),
        (smooth_l1, {"beta": 0.7}),
        (addcmul, {"value": 0.3}),
        (functors.add_alpha, {"alpha": 0.3}),
        (functors.elu, {"alpha": 1.5, "scale": 0.75, "input_scale": 2.0}),
        (functors.clamp, {}),
        (functors.staircase, {}),
        (functors.log_normal, {}),
        (functors.kinds, {}),
        (functors.only_floats, {}),
        (functors.reserved, {}),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_functors(functor: Functor, scalars: dict[str, float]) -> None:
    check(functor, **scalars)


BODIES = {
    "a variable reassigned": "y = x\ny = y * y\ny += x\nreturn y * y",
    "the tangent is of the old value": "y = x * x\nif x > 0:\n    y = y * x + y\nreturn y",
    "declared ahead": "if x > 1:\n    y = metal.sin(x)\nelif x > 0:\n    y = x * 3\nelse:\n    y = T(2)\nreturn y * x",
    "early return": "if x < 0:\n    return x * x\ny = metal.exp(x)\nif y > 2:\n    return metal.log(y) * 2\nreturn y",
    "selects": "return (x * x if x > 0 else metal.cos(x)) * (x if x < 1 else T(1))",
    "through casts": "y = float(x) * 2\nreturn T(y * y)",
    "constants only": "return T(3)",
    "a parameter assigned": "x = x * x\nx = x * x\nreturn x",
    "truth values": "p = x > 0\nq = p and x < 1\nreturn x * x if q else x * T(p)",
    "d_x is a name of the body": "d_x = x * 2\nreturn d_x * x",
    "an integer in between": "n = 3\nif x > 0:\n    n = 2\nreturn x * n",
    "quotients": "return (x * x + 1) / (x * x * x + 40)",
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies(name: str, tmp_path: Path) -> None:
    lines = "".join(f"    {line}\n" for line in BODIES[name].splitlines())
    functor = toolbox.load(tmp_path, f"@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n{lines}").f
    if name == "constants only":
        zero = derivative(functor, "x", [torch.randn(5, dtype=torch.float64)], {})
        assert (zero == 0).all()
        return
    check(functor)


def test_integers_have_no_slope(tmp_path: Path) -> None:
    text = "@pymetal.unary(dtypes=torch.float32)\ndef f(x: T) -> T:\n    return float(pymetal.int32(x)) * x\n"
    functor = toolbox.load(tmp_path, text).f
    x = torch.tensor([1.5, 2.5], dtype=torch.float64)
    assert derivative(functor, "x", [x], {}).tolist() == [1, 2]


def test_the_derivative_is_a_function_of_the_same_parameters() -> None:
    function = body_of(smooth_l1)
    derived = differentiate(function, "x", smooth_l1.ir.domain)
    assert (derived.params, derived.scalars, derived.result) == (function.params, function.scalars, function.result)


def test_zeros_and_ones_are_left_out() -> None:
    """The text of a derivative is read by people: x + y by x is 1."""
    derived = differentiate(body_of(functors.add_alpha), "a", floats_of(functors.add_alpha))
    (returned,) = derived.body
    assert isinstance(returned, ir.Return)
    assert returned.value == ir.Const(1, ir.Var())


def test_second_derivative() -> None:
    """A derivative is IR like any other."""
    function = body_of(gelu_tanh)
    domain = gelu_tanh.ir.domain
    twice = differentiate(differentiate(function, "x", domain), "x", domain)
    x = torch.randn(100, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(gelu_tanh.reference(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(evaluate(twice, dtypes.float64, [x.detach()], {}), second, rtol=1e-9, atol=1e-10)


def test_a_body_that_serves_integers_too() -> None:
    overload = functors.add_alpha.ir.overload(dtypes.float32)
    assert overload is not None
    derived = differentiate(overload.function, "a", overload.domain)
    x = torch.ones(2, dtype=torch.float64)
    assert evaluate(derived, dtypes.float64, [x, x], {"alpha": 1}).tolist() == [1, 1]


def test_unknown_parameter() -> None:
    with pytest.raises(PyMetalError) as caught:
        differentiate(body_of(smooth_l1), "y", smooth_l1.ir.domain)
    assert str(caught.value) == "there is no parameter 'y'\nParameters: x, target, beta."
