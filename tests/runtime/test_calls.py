"""Calling a functor: what it accepts, what out= does, what it refuses and says, and that it is a function as well."""

from __future__ import annotations

import copy
import functools
import pickle
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import functors
import numpy
import pytest
import toolbox
import torch
from functors import add_alpha, affine, clamp, elu, less, narrow

import pymetal
from examples.addcmul import addcmul
from examples.atan2 import atan2
from examples.smooth_l1 import smooth_l1
from pymetal import CallError, PyMetalError, T

ones = torch.ones(3)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch says that these are not finished, or will go
    sparse_rows, sparse = torch.eye(3).to_sparse_csr(), ones.to_sparse()
    nested = torch.nested.nested_tensor([torch.ones(2), ones])
    quantized = torch.quantize_per_tensor(ones, 0.1, 0, torch.qint8)
    foreign = torch.frombuffer(bytearray(4), dtype=torch.float32)
whole = torch.ones(3, dtype=torch.int32)


@pymetal.unary(dtypes=("floating", "integral"))
def leaky_relu(x: T, slope: float = 0.01, times: int = 1) -> pymetal.float32:
    return x * times if x > 0 else slope * x * times


@pymetal.unary(dtypes=("floating", "integral"))
def only_positional(x: T, /, times: int) -> T:
    return x * times


@pymetal.binary(dtypes=("floating", "integral", "bool", "complex"))
def plus(a: T, b: T) -> T:
    return a + b


def refusal(call: Callable[[], object]) -> str:
    """The message of a refused call, which is a PyMetalError and a TypeError."""
    with pytest.raises(CallError) as caught:
        call()
    assert isinstance(caught.value, PyMetalError)
    assert isinstance(caught.value, TypeError)
    return str(caught.value)


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "too few tensors": (
        lambda: atan2(ones),  # type: ignore[call-overload]
        "atan2() missing 1 required positional argument: 'b'\nIt is atan2(a, b, *, out=None).",
    ),
    "too many tensors": (
        lambda: smooth_l1(ones, ones, 0.5),  # type: ignore[call-overload]
        "smooth_l1() takes 2 positional arguments but 3 were given\nIt is smooth_l1(x, target, *, beta=1.0, out=None).",
    ),
    "no tensor": (
        lambda: add_alpha(1, 2),
        "add_alpha was called with numbers only\nPass at least one tensor.",
    ),
    "a list": (
        lambda: add_alpha([1.0, 2.0], ones),
        "add_alpha: a must be a tensor or a number, not list\ntorch.as_tensor(x) makes a tensor of a list or an array.",
    ),
    "an array": (
        lambda: add_alpha(ones, ones.numpy()),
        "add_alpha: b must be a tensor or a number, not ndarray\n"
        "torch.as_tensor(x) makes a tensor of a list or an array.",
    ),
    "None": (
        lambda: add_alpha(ones, None),
        "add_alpha: b must be a tensor or a number, not NoneType\n"
        "torch.as_tensor(x) makes a tensor of a list or an array.",
    ),
    "double": (
        lambda: atan2(ones.double(), ones.double()),
        "atan2 has no kernel for torch.float64 (Metal has no double)\nIt is registered for torch.float32, "
        "torch.float16, torch.bfloat16, "
        "torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8, torch.bool. Convert the tensors, or widen "
        "dtypes= and the annotation of the functor.",
    ),
    "promoted to double": (
        lambda: add_alpha(ones, ones.double()),
        "add_alpha has no kernel for torch.float64 (Metal has no double)\nIt is registered for torch.float32, "
        "torch.float16, torch.bfloat16, "
        "torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8, torch.bool. Convert the tensors, or widen "
        "dtypes= and the annotation of the functor.",
    ),
    "unregistered": (
        lambda: smooth_l1(whole, whole),
        "smooth_l1 has no kernel for torch.int32\nIt is registered for torch.float32, torch.float16, "
        "torch.bfloat16. Convert the tensors, or "
        "widen dtypes= and the annotation of the functor.",
    ),
    "unregistered by promotion": (
        lambda: narrow(whole, 0.5),
        "narrow has no kernel for torch.float32\nIt is registered for torch.int64, torch.int32, torch.int16, "
        "torch.uint8, torch.int8. The tensors are: pass an integer instead of a Python float.",
    ),
    "complex": (
        lambda: add_alpha(ones.to(torch.complex64), ones),
        "add_alpha has no kernel for torch.complex64\nIt is registered for torch.float32, torch.float16, "
        "torch.bfloat16, torch.int64, torch.int32, torch.int16, "
        "torch.uint8, torch.int8, torch.bool. Convert the tensors, or widen dtypes= and the annotation of the functor.",
    ),
    "two devices": (
        lambda: add_alpha(ones, torch.ones(3, device="meta")),
        "add_alpha was called with tensors on cpu and meta\nMove them to one device with .to().",
    ),
    "shapes": (
        lambda: clamp(torch.ones(2, 3), torch.ones(3), torch.ones(2)),
        "clamp was called with shapes that do not broadcast: (2, 3), (3,), (2,)\n"
        "Sizes of a dimension must be equal, or 1, counted from the last dimension.",
    ),
    "unknown keyword": (
        lambda: smooth_l1(ones, ones, bta=0.5),  # type: ignore[call-overload]
        "smooth_l1() got an unexpected keyword argument 'bta'; did you mean 'beta'?\n"
        "It is smooth_l1(x, target, *, beta=1.0, out=None).",
    ),
    "misspelled out": (
        lambda: atan2(ones, ones, ot=ones),  # type: ignore[call-overload]
        "atan2() got an unexpected keyword argument 'ot'; did you mean 'out'?\nIt is atan2(a, b, *, out=None).",
    ),
    "keyword like no other": (
        lambda: atan2(ones, ones, zzzzzz=1),  # type: ignore[call-overload]
        "atan2() got an unexpected keyword argument 'zzzzzz'\nIt is atan2(a, b, *, out=None).",
    ),
    "scalar missing": (
        lambda: affine(ones),  # type: ignore[call-overload]
        "affine() missing 1 required keyword-only argument: 'scale'\n"
        "It is affine(x, *, scale, shift=0, limit=7, out=None).",
    ),
    "scalar is a string": (
        lambda: smooth_l1(ones, ones, beta="1"),  # type: ignore[call-overload]
        "smooth_l1: beta must be a number, not str",
    ),
    "scalar is a vector": (
        lambda: smooth_l1(ones, ones, beta=ones),  # type: ignore[call-overload]
        "smooth_l1: beta must be a number, not Tensor\nPass x.item().",
    ),
    "complex scalar": (
        lambda: add_alpha(ones, ones, alpha=1j),
        "add_alpha: scalar alpha=1j is complex but the tensors are real\nPass a real number.",
    ),
    "complex scalar and integers": (
        lambda: add_alpha(whole, whole, alpha=1j),
        "add_alpha: scalar alpha=1j is complex but the tensors are real\nPass a real number.",
    ),
    "float scalar and integers": (
        lambda: add_alpha(whole, whole, alpha=1.5),
        "add_alpha: scalar alpha=1.5 is not an integer, and alpha is one here\n"
        "Pass an integer, or convert the tensors to a floating dtype.",
    ),
    "positional scalars too many": (
        lambda: leaky_relu(ones, 0.1, 2, 3),  # type: ignore[call-overload]
        "leaky_relu() takes from 1 to 3 positional arguments but 4 were given\n"
        "It is leaky_relu(x, slope=0.01, times=1, *, out=None).",
    ),
    "given twice": (
        lambda: leaky_relu(ones, 0.1, slope=2),  # type: ignore[call-overload]
        "leaky_relu() got multiple values for argument 'slope'\n"
        "It is leaky_relu(x, slope=0.01, times=1, *, out=None).",
    ),
    "tensor given twice": (
        lambda: atan2(ones, ones, a=ones),  # type: ignore[call-overload]
        "atan2() got multiple values for argument 'a'\nIt is atan2(a, b, *, out=None).",
    ),
    "positional-only": (
        lambda: only_positional(x=ones, times=2),  # type: ignore[call-overload]
        "only_positional() got some positional-only arguments passed as keyword arguments: 'x'\n"
        "It is only_positional(x, /, times, *, out=None).",
    ),
    "scalar is None": (
        lambda: leaky_relu(ones, None),  # type: ignore[call-overload]
        "leaky_relu: slope must be a number, not NoneType",
    ),
    "scalar is an array": (
        lambda: leaky_relu(ones, numpy.ones(())),  # type: ignore[call-overload]
        "leaky_relu: slope must be a number, not ndarray\nPass x.item().",
    ),
    "scalar requires grad": (
        lambda: add_alpha(ones, ones, alpha=torch.tensor(2.0, requires_grad=True)),
        "add_alpha has no autograd formula, and alpha requires grad\n"
        "Call it under torch.no_grad(), or pass x.detach().",
    ),
    "scalar on meta": (
        lambda: add_alpha(ones, ones, alpha=torch.tensor(2.0, device="meta")),
        "add_alpha: alpha must be a number, not Tensor\nPass x.item().",
    ),
    "fraction for an int": (
        lambda: leaky_relu(ones, times=0.5),  # type: ignore[call-overload]
        "leaky_relu: scalar times=0.5 is not an integer, and times is an int\nPass an integer.",
    ),
    "sparse rows": (
        lambda: add_alpha(sparse_rows, ones),
        "add_alpha: a must be a strided tensor, not torch.sparse_csr\nPass x.to_dense().",
    ),
    "nested": (
        lambda: leaky_relu(nested),
        "leaky_relu: x must be a strided tensor, not a nested one\n"
        "Pass torch.nested.to_padded_tensor(x, 0), or its parts.",
    ),
    "a sparse out": (
        lambda: leaky_relu(ones, out=sparse),
        "leaky_relu: out= must be a strided tensor, not torch.sparse_coo\nPass x.to_dense().",
    ),
    "a quantized out": (
        lambda: leaky_relu(ones, out=quantized),
        "leaky_relu: result type torch.float32 cannot be cast to the dtype of out=, torch.qint8\n"
        "Pass out= of dtype torch.float32.",
    ),
    "an out of foreign memory": (
        lambda: leaky_relu(ones, out=foreign),
        "leaky_relu: out= of shape [1] cannot be resized to [3]: its memory is not torch's\n"
        "Pass a tensor of that shape.",
    ),
    "the reference has no out": (
        lambda: leaky_relu.reference(ones, out=ones),
        "leaky_relu.reference takes no out=\nWrite out.copy_(f.reference(...)).",
    ),
    "scalar beyond 64 bits": (
        lambda: leaky_relu(ones, 2**64),
        "leaky_relu: slope=18446744073709551616 does not fit 64 bits\nPass a float, if it is not too large for one.",
    ),
    "scalar beyond floats": (
        lambda: leaky_relu(ones, 10**400),
        "leaky_relu: slope=an integer of 1,329 bits does not fit 64 bits\n"
        "Pass a float, if it is not too large for one.",
    ),
    "number beyond 64 bits": (
        lambda: add_alpha(ones, -(2**63) - 1),
        "add_alpha: b=-9223372036854775809 does not fit 64 bits\nPass a float, if it is not too large for one.",
    ),
    "number beyond signed 64 bits, and bool": (
        lambda: add_alpha(ones.bool(), 2**63),
        "torch has no common dtype for torch.bool and the number 9223372036854775808\nConvert one of them with .to().",
    ),
    "a date": (
        lambda: add_alpha(ones, numpy.datetime64("2020-01-01")),
        "add_alpha: b must be a tensor or a number, not datetime64\n"
        "torch.as_tensor(x) makes a tensor of a list or an array.",
    ),
    "requires grad": (
        lambda: atan2(ones, torch.ones(3, requires_grad=True)),
        "atan2 has no autograd formula, and an input requires grad\n"
        "Call it under torch.no_grad(), or pass x.detach().",
    ),
    "out is no tensor": (
        lambda: atan2(ones, ones, out=[0, 0, 0]),  # type: ignore[call-overload]
        "atan2: out= must be a tensor, not list",
    ),
    "out is a number": (
        lambda: atan2(ones, ones, out=3),  # type: ignore[call-overload]
        "atan2: out= must be a tensor, not int",
    ),
    "out on another device": (
        lambda: atan2(ones, ones, out=torch.empty(3, device="meta")),
        "atan2: out= is on meta but the inputs are on cpu\nMove one of them.",
    ),
    "out of a lower kind": (
        lambda: atan2(ones, ones, out=torch.empty(3, dtype=torch.int32)),
        "atan2: result type torch.float32 cannot be cast to the dtype of out=, torch.int32\n"
        "Pass out= of dtype torch.float32.",
    ),
    "out overlaps itself": (
        lambda: atan2(ones, ones, out=torch.empty(1).expand(3)),
        "atan2: unsupported operation: more than one element of the written-to tensor refers to a single memory "
        "location\n"
        "Pass out.clone(), or a new tensor.",
    ),
    "out overlaps an input": (
        lambda: (lambda x: atan2(x[:-1], x[:-1], out=x[1:]))(torch.ones(4)),
        "atan2: unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
        "memory location\n"
        "Pass input.clone(), or an out= that is the input itself or apart from it.",
    ),
    "out requires grad": (
        lambda: atan2(ones, ones, out=torch.zeros(3, requires_grad=True)),
        "atan2: out= requires grad\nPass out.detach(), or call under torch.no_grad().",
    ),
    "scalar too large": (
        lambda: add_alpha(whole.byte(), whole.byte(), alpha=300),
        "add_alpha: scalar alpha=300 does not fit torch.uint8\nPass a smaller number, or convert the tensors.",
    ),
    "sparse": (
        lambda: add_alpha(ones.to_sparse(), ones),
        "add_alpha: a must be a strided tensor, not torch.sparse_coo\nPass x.to_dense().",
    ),
}  # fmt: skip


@functools.cache
def warm() -> None:
    """Calls with plain tensors and numbers, whose launches are kept for the next ones of their kind."""
    for _ in range(2):
        for a in (ones, whole):
            add_alpha(a, a)
            add_alpha(a, 2, alpha=2)
            add_alpha(a, a, out=a.clone())
        leaky_relu(ones)
        leaky_relu(ones, 0.5, 2, out=ones.clone())
        leaky_relu(torch.ones(1), out=torch.ones(1))
        narrow(whole, whole)
        smooth_l1(ones, ones)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """In the same words before and after calls that were accepted."""
    call, message = REFUSED[name]
    assert refusal(call) == message
    warm()
    assert refusal(call) == message


@pytest.mark.parametrize("name", ["too few tensors", "unregistered", "shapes", "unknown keyword", "scalar missing"])
def test_reference_refuses_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the same words."""
    call, message = REFUSED[name]
    monkeypatch.setattr(pymetal.Functor, "__call__", pymetal.Functor.reference)
    assert refusal(call) == message


@pytest.mark.parametrize("alpha", [256, 300, 2**40, 2**70, -256, float("inf"), float("nan")])
def test_scalar_out_of_range(alpha: int) -> None:
    """Where torch refuses, the call and the reference do."""
    x = torch.ones(3, dtype=torch.uint8)
    with pytest.raises((RuntimeError, OverflowError)):
        torch.add(x, x, alpha=alpha)
    assert "alpha" in refusal(lambda: add_alpha.reference(x, x, alpha=alpha))
    assert "alpha" in refusal(lambda: add_alpha(x, x, alpha=alpha))


def test_negative_scalar_and_unsigned_tensors() -> None:
    """torch lets a negative scalar wrap, for a - b is a + (-1) * b."""
    x, y = torch.tensor([7, 1], dtype=torch.uint8), torch.tensor([2, 3], dtype=torch.uint8)
    expected = torch.add(x, y, alpha=-1)
    toolbox.assert_equal(add_alpha(x, y, alpha=-1), expected)
    toolbox.assert_equal(add_alpha.reference(x, y, alpha=-1), expected)


def test_arguments_are_bound_as_python_does() -> None:
    x = torch.tensor([-1.0, 2.0])
    for call in (leaky_relu, leaky_relu.reference):
        for results in (
            (call(x, 0.5), call(x, slope=0.5), call(x=x, slope=0.5), call(slope=0.5, x=x, times=1)),
            (call(x, 0.5, 3), call(x, 0.5, times=3), call(times=3, slope=0.5, x=x)),
        ):
            for result in results:
                toolbox.assert_equal(result, results[0])
    assert leaky_relu(x, 0.5, 3).tolist() == [-1.5, 6.0]
    assert leaky_relu(x, times=2, out=x) is x
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([-1.0, 5.0])
    toolbox.assert_equal(atan2(b=b, a=a), atan2(a, b))
    toolbox.assert_equal(add_alpha(alpha=2, b=a, a=b), b + 2 * a)
    assert leaky_relu.jit_source(x, 0.5) == leaky_relu.jit_source(x=x, slope=0.5)
    assert leaky_relu.explain(x, 0.5) == leaky_relu.explain(slope=0.5, x=x)
    assert [str(e) for e in leaky_relu.trace(x, 0.5, 2)] == [str(e) for e in leaky_relu.trace(times=2, x=x, slope=0.5)]
    assert only_positional(x, 2).tolist() == only_positional(x, times=2).tolist()


NUMPY = (
    numpy.float16(1.5), numpy.float32(1.5), numpy.float64(1.5), numpy.longdouble(1.5), numpy.int8(3), numpy.uint8(200),
    numpy.int64(2**40), numpy.complex128(1j),
)  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8, torch.int64, torch.bool, torch.complex64])
def test_numpy_s_scalars(dtype: torch.dtype) -> None:
    """They are Python's numbers, as torch has it. torch 2.13 takes numpy.bool_ for a float, loses the imaginary part of
    numpy.complex64, and does not take numpy.uint64: here they are Python's numbers, too."""
    x = torch.tensor([0, 1, 1]).to(dtype)
    with toolbox.batch("ieee"):
        for value in NUMPY:
            plus.jit_source(x, value)
        for value in NUMPY:
            for result in (plus(x, value), plus(x, value), plus.reference(x, value)):
                assert_equal_parts(result, torch.add(x, value))
                assert_equal_parts(result, torch.add(x, value.item() if value.itemsize <= 16 else float(value)))
        for value, same in ((numpy.bool_(True), True), (numpy.complex64(2j), 2j), (numpy.uint64(2**63 + 5), 2**63 + 5)):
            if dtype is not torch.bool or not isinstance(same, int) or isinstance(same, bool):
                assert_equal_parts(plus(x, value), torch.add(x, same))
                assert_equal_parts(plus.reference(x, value), torch.add(x, same))


def assert_equal_parts(actual: torch.Tensor, expected: torch.Tensor) -> None:
    assert actual.dtype == expected.dtype
    assert torch.equal(actual, expected)


def test_numpy_s_scalars_as_scalars() -> None:
    x = torch.tensor([3, -4])
    for alpha in (numpy.int8(2), numpy.uint64(2), numpy.float32(2), numpy.longdouble(2), 2):
        assert add_alpha(x, x, alpha=alpha).tolist() == [9, -12]
    for tensor in (torch.tensor(2), torch.tensor(2.0, dtype=torch.float16), torch.tensor(2, dtype=torch.uint64)):
        assert add_alpha(x, x, alpha=tensor).tolist() == [9, -12]
    assert leaky_relu(x, numpy.float16(0.5), numpy.int64(3)).tolist() == [9, -6]
    with torch.no_grad():
        assert add_alpha(x, x, alpha=torch.tensor(2.0, requires_grad=True)).tolist() == [9, -12]


WIDE = (2**63, 2**64 - 1, -(2**63), 2**63 - 1)


@pytest.mark.parametrize("warm", [False, True])
def test_numbers_of_64_bits_and_beyond(warm: bool, tmp_path: Path) -> None:
    """The plan of a small number is not used for one that does not fit."""
    text = "@pymetal.binary(dtypes=('floating', 'integral'))\ndef f(a: T, b: T) -> T:\n    return a + b\n"
    f = toolbox.load(tmp_path, text).f
    for dtype in (torch.float32, torch.int8, torch.int64):
        x = torch.tensor([1, -2], dtype=dtype)
        if warm:
            f(x, 1)
        for value in WIDE:
            toolbox.assert_equal(f(x, value), torch.add(x, value))
            toolbox.assert_equal(f.reference(x, value), torch.add(x, value))
        for value in (2**64, -(2**63) - 1, 10**400, -(10**400)):
            with pytest.raises(OverflowError):
                torch.add(x, value)
            for call in (f, f.reference, functools.partial(f, out=x)):
                assert "f: b=" in refusal(functools.partial(call, x, value))


# --- scalars ---------------------------------------------------------------------------------------------------------


def test_scalar_of_any_number_type() -> None:
    x, y = torch.randn(2, 5)
    for alpha in (2, 2.0, True, torch.tensor(2), torch.tensor(2.0, dtype=torch.float64)):
        expected = x + float(alpha) * y
        torch.testing.assert_close(add_alpha(x, y, alpha=alpha), expected)
        torch.testing.assert_close(add_alpha.reference(x, y, alpha=alpha), expected)


def test_integral_float_scalar_with_integers() -> None:
    """As torch.add has it: 2.0 is refused there, and 2 is what pymetal reads it as."""
    assert add_alpha(whole, whole, alpha=2.0).tolist() == [3, 3, 3]


def test_scalars_keep_all_bits() -> None:
    large = 2**62 + 12345
    x = torch.tensor([1, -1])
    toolbox.assert_equal(add_alpha(x, x, alpha=large), torch.add(x, x, alpha=large))
    toolbox.assert_equal(add_alpha.reference(x, x, alpha=large), torch.add(x, x, alpha=large))


def test_float_scalar_is_float32() -> None:
    """As a kernel's argument is: the double 0.1 is not used, not even by the reference."""
    zero = torch.zeros(1)
    assert smooth_l1(zero, zero + 0.05, beta=0.1).item() == smooth_l1.reference(zero, zero + 0.05, beta=0.1).item()
    exact = 0.5 * 0.05 * 0.05 / 0.1
    assert smooth_l1.reference(zero.double(), zero.double() + 0.05, beta=0.1).item() == pytest.approx(exact, rel=1e-14)


def test_several_scalars_travel_in_order() -> None:
    x = torch.tensor([-1.0, 2.0])
    expected = torch._C._nn.elu(x, 3.0, 5.0, 0.5)
    torch.testing.assert_close(elu(x, alpha=3.0, scale=5.0, input_scale=0.5), expected)
    torch.testing.assert_close(elu(x, input_scale=0.5, alpha=3.0, scale=5.0), expected)
    assert affine(whole * 3, scale=2, shift=-1, limit=5).tolist() == [5, 5, 5]
    assert affine(whole * 3, scale=2, shift=-2, limit=5).tolist() == [4, 4, 4]


def test_nan_and_infinite_scalars() -> None:
    assert add_alpha(ones, ones, alpha=float("inf")).tolist() == [float("inf")] * 3
    assert add_alpha(ones, ones, alpha=float("nan")).isnan().all()


# --- out= ------------------------------------------------------------------------------------------------------------


def test_out_is_returned_and_filled() -> None:
    x, y = torch.randn(2, 10)
    out = torch.full((10,), 7.0)
    assert atan2(x, y, out=out) is out
    toolbox.assert_equal(out, atan2(x, y))


@pytest.mark.parametrize(
    ("inputs", "out"),
    [
        (torch.int32, torch.int64),
        (torch.int64, torch.int8),
        (torch.int32, torch.float16),
        (torch.float32, torch.float16),
        (torch.float16, torch.bfloat16),
        (torch.bfloat16, torch.float16),
        (torch.float32, torch.complex64),
        (torch.bool, torch.float32),
        (torch.bool, torch.uint8),
        (torch.uint8, torch.int16),
    ],
)
def test_out_of_another_dtype(inputs: torch.dtype, out: torch.dtype) -> None:
    """What torch.add casts on store, pymetal does, too."""
    x, y = toolbox.operands(inputs, 2, 20)
    if not inputs.is_floating_point and inputs is not torch.bool:
        x, y = x // 2, y // 2
    expected = torch.empty(x.shape, dtype=out)
    torch.add(x, y, out=expected)
    actual = torch.empty(x.shape, dtype=out)
    with toolbox.batch("ieee"):
        assert add_alpha(x, y, out=actual) is actual
    if out.is_complex:
        actual, expected = torch.view_as_real(actual), torch.view_as_real(expected)
    toolbox.assert_equal(actual, expected)


def test_comparison_into_float() -> None:
    x, y = torch.randn(2, 10)
    out = torch.empty(10)
    toolbox.assert_equal(less(x, y, out=out), (x < y).float())


def test_out_with_strides() -> None:
    x, y = torch.randn(2, 4, 6)
    whole_out = torch.full((8, 12), -1.0)
    out = whole_out[::2, ::2]
    assert add_alpha(x, y, out=out) is out
    toolbox.assert_equal(out, x + y)
    assert (whole_out[1::2] == -1).all()
    assert (whole_out[:, 1::2] == -1).all()
    turned = torch.empty(6, 4).t()
    toolbox.assert_equal(add_alpha(x, y, out=turned), x + y)
    assert turned.stride() == (1, 4)


def test_out_is_an_input() -> None:
    for x, y in ((torch.randn(100), torch.randn(100)), (torch.randn(6, 4).t(), torch.randn(4, 6))):
        expected = x + 2 * y
        torch.testing.assert_close(add_alpha(x, y, alpha=2, out=x), expected)
        torch.testing.assert_close(x, expected)
    x = torch.randn(10)
    expected = x + x
    toolbox.assert_equal(add_alpha(x, x, out=x), expected)


def test_out_apart_in_the_same_storage() -> None:
    storage = torch.arange(10.0)
    add_alpha(storage[:5], storage[:5], out=storage[5:])
    assert storage.tolist() == [0, 1, 2, 3, 4, 0, 2, 4, 6, 8]


def test_out_of_double() -> None:
    """Metal has no double: the result is computed in float, and torch casts it."""
    out = torch.empty(3, dtype=torch.float64)
    assert atan2(ones, ones, out=out) is out
    torch.testing.assert_close(out, torch.full((3,), torch.pi / 4, dtype=torch.float64), rtol=1e-7, atol=0)


def test_out_of_another_shape_is_resized_with_torch_s_warning() -> None:
    for shape in ((4,), (2, 2), (7,)):
        out, theirs = torch.zeros(shape), torch.zeros(shape)
        with pytest.warns(UserWarning, match="was resized since it had shape"):
            torch.add(torch.ones(2, 1), ones, out=theirs)
        with pytest.warns(UserWarning, match="was resized since it had shape"):
            add_alpha(torch.ones(2, 1), ones, out=out)
        toolbox.assert_equal(out, theirs)


def test_empty_out_is_resized() -> None:
    out = torch.empty(0)
    assert add_alpha(torch.ones(2, 1), torch.ones(3), out=out) is out
    assert out.tolist() == [[2, 2, 2], [2, 2, 2]]


def test_inputs_that_require_grad_without_autograd() -> None:
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        assert add_alpha(x, x).tolist() == [2, 2, 2]
    with torch.inference_mode():
        assert add_alpha(x, x).tolist() == [2, 2, 2]


# --- as an object ----------------------------------------------------------------------------------------------------


def test_wraps_the_function() -> None:
    assert atan2.__name__ == "atan2"
    assert atan2.__doc__ == atan2.doc == "Angle of the point (b, a), in radians."
    assert atan2.__module__ == "examples.atan2"
    x, y = torch.randn(2, 5)
    # The undecorated body is ordinary Python on tensors: a third witness.
    torch.testing.assert_close(atan2.__wrapped__(x, y), torch.atan2(x, y))
    body = addcmul.__wrapped__
    torch.testing.assert_close(body(x, y, y, value=2), torch.addcmul(x, y, y, value=2))


def test_attributes() -> None:
    assert (add_alpha.name, add_alpha.arity.name, add_alpha.arity.inputs) == ("add_alpha", "binary", 2)
    assert (clamp.arity.name, elu.arity.name) == ("ternary", "unary")
    assert [d.name for d in smooth_l1.ir.domain] == ["float32", "float16", "bfloat16"]
    assert repr(atan2) == "<pymetal.binary atan2>"
    assert less.doc == ""


def test_pickle_and_copy() -> None:
    assert pickle.loads(pickle.dumps(atan2)) is atan2
    assert copy.copy(atan2) is atan2
    assert copy.deepcopy([atan2])[0] is atan2


def test_bare_and_called_decorators(tmp_path: Path) -> None:
    bare = "@pymetal.unary\ndef f(x: T) -> T:\n    return x\n"
    a = toolbox.load(tmp_path, bare).f
    b = toolbox.load(tmp_path, bare.replace("unary", "unary()")).f
    assert a.metal_source == b.metal_source


def test_threads_compile_once_and_agree(tmp_path: Path) -> None:
    functor = toolbox.load(tmp_path, "@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return x * 3 - 1\n").f
    x = torch.randn(1000)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(functor(x))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    for result in results:
        torch.testing.assert_close(result, x * 3 - 1)


def test_constants_are_frozen_when_decorated(tmp_path: Path) -> None:
    """A later change of a global does not reach the functor: the text was made."""
    module = toolbox.load(
        tmp_path, "SCALE = 2\n@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return x * SCALE\n"
    )
    module.SCALE = 5  # type: ignore[attr-defined]
    assert module.f(torch.ones(1)).item() == 2
    assert module.f.reference(torch.ones(1)).item() == 2


def test_jit_source_compiles_nothing_away() -> None:
    """`jit_source` is what the call with the same arguments compiles: its kernels read the stored dtypes."""
    text = add_alpha.jit_source(torch.ones(2).half(), torch.ones(2))
    assert "device const half* in0" in text
    assert "device const float* in1" in text
    assert "device float* out" in text
    assert "constant float& s0" in text


def test_same_name_in_one_file() -> None:
    with pytest.raises(CallError, match="two functors are called atan2"):
        pymetal.emit([atan2, atan2], "/nowhere/out.metal")
    with pytest.raises(CallError, match="no functor to emit"):
        pymetal.emit([], "/nowhere/out.metal")
    with pytest.raises(CallError, match="is not a functor"):
        pymetal.emit([torch.atan2], "/nowhere/out.metal")  # type: ignore[list-item]


def test_emit(tmp_path: Path) -> None:
    path = tmp_path / "out.metal"
    text = pymetal.emit([atan2, functors.less], path)
    assert path.read_text(encoding="ascii") == text
    stamp = path.stat().st_mtime_ns
    pymetal.emit([atan2, functors.less], path)
    assert path.stat().st_mtime_ns == stamp  # a file with the same text is left alone
    path.chmod(0o640)
    assert pymetal.emit(atan2, path) == atan2.metal_source == path.read_text(encoding="ascii")
    assert path.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["out.metal"]
    with pytest.raises(OSError, match="nowhere"):
        pymetal.emit(atan2, tmp_path / "nowhere" / "out.metal")


@pymetal.unary(dtypes="bool")
def negated(a: T) -> T:
    return not a


@pymetal.binary(dtypes=("floating", "integral", "bool"))
def total(a: T, b: T) -> T:
    return a + b


@pymetal.binary(promotion="always_bool", dtypes=("integral", "bool"))
def equal(a: T, b: T) -> bool:
    return a == b


@pymetal.unary(dtypes="bool")
def widened(a: T) -> pymetal.int64:
    return pymetal.int64(a)


def test_bytes_of_bool_memory_are_truth_values() -> None:
    """A view of bytes as bool has bytes other than 0 and 1, in every layout; what is stored is 0 or 1."""
    raw = torch.tensor([2, 1, 0, 255, 3, 128, 0, 1] * 8, dtype=torch.uint8)
    x, y = raw.view(torch.bool), (raw.flip(0) * 3).view(torch.bool)
    layouts = [(x, y), (x.view(8, 8).t(), y.view(8, 8)), (x[::2], y[1::2]), (x.view(8, 8), y[:8]), (x, y[0])]
    for a, b in layouts:
        numbers = a.long(), b.long()
        for found, wanted in (
            (negated(a), numbers[0] == 0),
            (total(a, b), numbers[0] + numbers[1] > 0),
            (equal(a, b), numbers[0] == numbers[1]),
            (negated.reference(a), numbers[0] == 0),
            (equal.reference(a, b), numbers[0] == numbers[1]),
        ):
            assert torch.equal(found.view(torch.uint8), wanted.view(torch.uint8))
        assert torch.equal(widened(a), numbers[0])
        assert torch.equal(total(a, b.half()), numbers[0] + b.half())
        assert torch.equal(total(a, numbers[1]), numbers[0] + numbers[1])
    dirty = raw.clone().view(torch.bool)
    total(x, y, out=dirty)
    assert dirty.view(torch.uint8).max() == 1
