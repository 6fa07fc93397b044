"""The reference: branches that depend on the data, double precision, dtypes, and that it leaves its arguments alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import functors
import pytest
import toolbox
import torch

import pymetal
from examples.addcmul import addcmul
from examples.atan2 import atan2
from examples.gelu_tanh import gelu_tanh
from examples.logaddexp import logaddexp
from examples.smooth_l1 import smooth_l1
from pymetal import T
from pymetal.functor import Functor

Tensor = torch.Tensor


def test_both_branches_are_masked() -> None:
    x = torch.tensor([-3.0, 4.0, 7.0, 20.0])
    # By hand: (0 + 1) * 2 + 3, (0 + 1) * 2 - 4, (5 + 1) * 2 + 7, (10 + 2) * 2 + 20
    assert functors.staircase.reference(x).tolist() == [5, -2, 19, 44]


def test_the_untaken_branch_does_not_leak(tmp_path: Path) -> None:
    """Infinities and NaNs of the other branch are computed and thrown away, with no warning."""
    functor = toolbox.load(
        tmp_path,
        "@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    if x > 0:\n        return metal.log(x)\n"
        "    y = 1 / x if x != 0 else x\n    return y\n",
    ).f
    x = torch.tensor([-2.0, 0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert functor.reference(x).tolist() == [-0.5, 0, 0]


@pytest.mark.host
def test_nested_returns_in_every_order(tmp_path: Path) -> None:
    functor = toolbox.load(
        tmp_path,
        "@pymetal.binary(dtypes=('floating', 'integral'))\ndef f(a: T, b: T) -> T:\n    r = T(0)\n    if a > 0:\n"
        "        if b > 0:\n            return T(1)\n        r = T(2)\n        if b == 0:\n            r = r + 10\n"
        "        else:\n            return T(3)\n    elif b > 0:\n        r = T(4)\n    r = r + 100\n    return r\n",
    ).f
    a, b = torch.tensor([1, 1, 1, -1, -1, 0]), torch.tensor([1, 0, -1, 1, 0, 5])
    assert functor.reference(a, b).tolist() == [1, 112, 3, 104, 100, 104]
    assert functor(a, b).tolist() == [1, 112, 3, 104, 100, 104]


DOUBLES = [
    (atan2, torch.atan2, {}),
    (logaddexp, torch.logaddexp, {}),
    (
        smooth_l1,
        lambda x, y, beta: torch.nn.functional.smooth_l1_loss(x, y, reduction="none", beta=beta),
        {"beta": 0.1},
    ),
    (gelu_tanh, lambda x: torch.nn.functional.gelu(x, approximate="tanh"), {}),
    (addcmul, torch.addcmul, {"value": 0.1}),
    (functors.elu, torch._C._nn.elu, {"alpha": 0.1, "scale": 0.3, "input_scale": 1.7}),
    (functors.log_normal, torch.distributions.Normal(0, 1).log_prob, {}),
]


@pytest.mark.parametrize(("functor", "operator", "scalars"), DOUBLES, ids=lambda v: getattr(v, "name", ""))
def test_double_precision(functor: Functor, operator: Callable[..., torch.Tensor], scalars: dict[str, float]) -> None:
    """Every float of the body is a double: casts, constants, scalars and operators."""
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(1000, dtype=torch.float64, generator=generator) for _ in range(functor.arity.inputs)]
    expected = operator(*inputs, *scalars.values()) if functor is functors.elu else operator(*inputs, **scalars)
    actual = functor.reference(*inputs, **scalars)
    assert actual.dtype is torch.float64
    torch.testing.assert_close(actual, expected, rtol=1e-13, atol=1e-14)


def test_double_takes_the_body_of_the_floats() -> None:
    assert functors.kinds.reference(torch.tensor([4.0], dtype=torch.float64)).item() == 2


def test_result_is_new() -> None:
    """Never an argument or a view of one, whatever the body returns."""
    x = torch.arange(6.0).reshape(2, 3)
    result = functors.clamp.reference(x, x[:1] * 0 - 100, x[:1] * 0 + 100)
    assert torch.equal(result, x)
    assert result.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
    result.add_(1)
    assert x[0, 0] == 0


@pytest.mark.host
def test_a_constant_fills_the_shape(tmp_path: Path) -> None:
    functor = toolbox.load(tmp_path, "@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return T(2)\n").f
    for shape in ((), (0,), (2, 3)):
        toolbox.assert_equal(functor.reference(torch.ones(shape)), torch.full(shape, 2.0))
        toolbox.assert_equal(functor(torch.ones(shape)), torch.full(shape, 2.0))


@pytest.mark.host
def test_arguments_are_left_alone() -> None:
    x, y = torch.randn(2, 100)
    before = x.clone(), y.clone()
    for functor in (atan2, logaddexp, functors.add_alpha, functors.reserved):
        functor.reference(x, y)
        functor(x, y)
    assert torch.equal(x, before[0])
    assert torch.equal(y, before[1])


def test_autograd_goes_through_the_reference() -> None:
    """It is made of torch operators, so torch can differentiate it."""
    x = torch.randn(10, dtype=torch.float64, requires_grad=True)
    y = torch.randn(10, dtype=torch.float64)
    (ours,) = torch.autograd.grad(atan2.reference(x, y).sum(), x)
    (theirs,) = torch.autograd.grad(torch.atan2(x, y).sum(), x)
    torch.testing.assert_close(ours, theirs)


def test_an_undecorated_body_is_a_third_witness() -> None:
    """Straight-line bodies are Python that runs on tensors."""
    x, y = torch.randn(2, 100)
    for functor, inputs in ((atan2, (x, y)), (functors.log_normal, (x,)), (functors.reserved, (x, y))):
        body: Callable[..., torch.Tensor] = functor.__wrapped__  # of functools.wraps
        torch.testing.assert_close(body(*inputs), functor.reference(*inputs), rtol=1e-6, atol=1e-6)


@pymetal.binary(dtypes="floating", opmath=True)
def quotient(a: T, b: T) -> T:
    return a / b


@pymetal.unary(dtypes=("integral", "bool", torch.uint64))
def shifted(a: T, k: T = 0) -> T:
    return a ^ k


@pytest.mark.host
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_operands_next_to_half_are_rounded_once_under_opmath(dtype: torch.dtype) -> None:
    """Numbers and 0-dim tensors of other dtypes become float, not half; the values are those of float32's `/`."""
    x = torch.tensor([1.0, 3388.0, 100.0], dtype=dtype)
    numbers: list[float] = [0.1, 65519.9, 70000, 524288.0, 2.0**64, -(2.0**70), 2**64 - 1, 1e300, True]
    tensors = [torch.tensor(v) for v in (0.1, 2049.0, 524288.0, 16777217, True)]
    tensors += [torch.tensor(0.1, dtype=torch.float64), torch.tensor(70000, dtype=torch.uint32)]
    values: list[float | Tensor] = [*numbers, *tensors]
    for value in values:
        single = torch.tensor(float(value), dtype=torch.float64).float()
        for args, wanted in (((x, value), x.float() / single), ((value, x), single / x.float())):
            toolbox.assert_equal(quotient.reference(*args), wanted.to(dtype))
            toolbox.assert_equal(quotient(*args), wanted.to(dtype))


def test_numbers_next_to_doubles_are_doubles() -> None:
    x = torch.tensor([3.0], dtype=torch.float64)
    for value in (0.1, 1e300, 2**53 + 1):
        assert quotient.reference(x, value).item() == 3.0 / value


@pytest.mark.host
def test_scalars_beyond_int64_keep_every_bit() -> None:
    x = torch.tensor([0, 1], dtype=torch.uint64)
    for value in (2**63, 2**64 - 1, 2**53 + 1, 2.0**63):
        for call in (shifted, shifted.reference):
            assert call(x, value).tolist() == [int(value), int(value) ^ 1]
    truth = torch.tensor([False, True])
    for number in (2.0**64, 2.0**70, 1e300):
        for call in (shifted, shifted.reference):
            assert call(truth, number).tolist() == [True, False]
