"""The function that a stub calls: its type is the stub's, and its scalars have the type that the kernel's name has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trees

import pymetal
from pymetal import OpMath, T
from pymetal.errors import PyMetalError
from pymetal.upstream.checkout import Checkout
from pymetal.upstream.host_function import exec_parameters, function_text
from pymetal.upstream.stubs import installed_stubs


@pytest.fixture
def checkout(new_tree: Path) -> Checkout:
    """A checkout of the newer generation."""
    return Checkout.open(new_tree)


def text(checkout: Checkout, functor: Any, stub: str) -> str:
    """The function on one line."""
    return " ".join(function_text(checkout, functor.entry, installed_stubs()[stub]).split())


def test_a_scalar_in_the_element_type(checkout: Checkout) -> None:
    @pymetal.unary(dtypes="floating")
    def leaky_relu(x: T, *, slope: T = 0.01) -> T:
        return x if x > 0 else x * slope

    assert text(checkout, leaky_relu, "leaky_relu_stub") == (
        "static void leaky_relu_mps_kernel(TensorIteratorBase& iter, const Scalar& slope) { "
        'lib.exec_unary_kernel(iter, "leaky_relu", slope); }'
    )


def test_a_scalar_at_opmath_precision(checkout: Checkout) -> None:
    @pymetal.binary(dtypes="floating")
    def shrink_backward(g: T, x: T, *, lambd: OpMath[T] = 0.5) -> T:
        return g if x > lambd else x

    assert text(checkout, shrink_backward, "shrink_backward_stub").endswith(
        '{ lib.exec_binary_kernel(iter, "shrink_backward", lambd, at::toOpMathType(iter.common_dtype())); }'
    )


def test_a_scalar_of_one_type(checkout: Checkout) -> None:
    @pymetal.unary(dtypes="floating")
    def round_decimals(x: T, *, decimals: pymetal.int64 = 0) -> T:
        return x if decimals == 0 else -x

    assert text(checkout, round_decimals, "round_decimals_stub") == (
        "static void round_decimals_mps_kernel(TensorIteratorBase& iter, int64_t decimals) { "
        'lib.exec_unary_kernel(iter, "round_decimals", Scalar(decimals), kLong); }'
    )


def test_a_double_becomes_a_scalar(checkout: Checkout) -> None:
    @pymetal.binary(dtypes="floating")
    def huber(a: T, b: T, *, delta: T = 1) -> T:
        return a if b > delta else b

    assert text(checkout, huber, "huber_stub") == (
        "static void huber_mps_kernel(TensorIterator& iter, double delta) { "
        'lib.exec_binary_kernel(iter, "huber", Scalar(delta)); }'
    )


def test_integers_of_an_int_to_float_operator_pass_a_float(checkout: Checkout) -> None:
    # The iterator's common dtype is float32 for them, so the name ends in `float` for every integer input.
    @pymetal.unary(promotion="int_to_float", dtypes=("floating", "integral"))
    def logit(x: T, *, eps: T = 0.5) -> T:
        return x / eps

    registered = logit.entry.text.scalar_types
    assert {d.name: t for d, t in registered.items() if d.name.startswith("int")} == {
        "int64": "float", "int32": "float", "int16": "float", "int8": "float",
    }  # fmt: skip
    assert 'lib.exec_unary_kernel(iter, "logit", eps);' in text(checkout, logit, "logit_stub")


def test_a_scalar_that_no_argument_gives_is_refused(checkout: Checkout) -> None:
    @pymetal.unary(dtypes=("floating", "integral"))
    def leaky_relu(x: T, *, slope: OpMath[T] = 1) -> T:
        return x if slope == 1 else -x

    with pytest.raises(PyMetalError, match=r"in one type for all dtypes but the functor takes .*int16: int"):
        text(checkout, leaky_relu, "leaky_relu_stub")


def test_a_struct_of_several_types(checkout: Checkout) -> None:
    @pymetal.binary(dtypes="floating")
    def elu_backward(
        g: T, x: T, *, alpha: T = 1, scale: T = 1, input_scale: T = 1, is_result: bool = False
    ) -> T:  # fmt: skip
        return g * alpha * scale * input_scale if is_result else x

    written = text(checkout, elu_backward, "elu_backward_stub")
    assert "struct elu_backward_params { T alpha; T scale; T input_scale; bool is_result; };" in written
    assert "elu_backward_mps_kernel(TensorIteratorBase& iter, const Scalar& alpha, const Scalar& scale, " in written
    assert "input_scale.to<params_t>(), static_cast<bool>(is_result)};" in written
    assert 'lib.exec_binary_kernel_with_params(iter, "elu_backward", params, fmt::format(' in written


def test_ternary_scalars_need_the_newer_library(tmp_path: Path) -> None:
    @pymetal.ternary(dtypes="floating")
    def addcmul(a: T, b: T, c: T, *, value: T = 1) -> T:
        return a + value * b * c

    new = Checkout.open(trees.make(tmp_path / "new", trees.NEW))
    assert 'lib.exec_ternary_kernel(iter, "addcmul", value);' in text(new, addcmul, "addcmul_stub")
    old = Checkout.open(trees.make(tmp_path / "old", trees.OLD))
    assert exec_parameters(old, "exec_ternary_kernel") == ["iter", "name"]
    with pytest.raises(PyMetalError, match="exec_ternary_kernel of this checkout takes no scalar"):
        text(old, addcmul, "addcmul_stub")


def test_the_installed_header_is_read() -> None:
    import torch

    installed = Path(torch.__file__).parent / "include/ATen/native/mps/MetalShaderLibrary.h"
    checkout = Checkout(installed.parents[4])
    checkout.write("aten/src/ATen/native/mps/MetalShaderLibrary.h", installed.read_text())
    assert exec_parameters(checkout, "exec_binary_kernel")[:4] == ["iter", "name", "alpha", "scalar_arg_type"]
    assert exec_parameters(checkout, "exec_unary_kernel")[:2] == ["iter", "name"]
