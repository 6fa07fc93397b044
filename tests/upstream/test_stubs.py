"""Stub types are read from headers: the checkout's, or the installed torch's where it declares none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from pymetal.errors import PyMetalError
from pymetal.upstream.checkout import Checkout
from pymetal.upstream.stubs import Stub, all_stubs, declared, find_stub, installed_stubs, stub_of_functor


def test_the_installed_headers_declare_stubs() -> None:
    assert sum(stub.elementwise for stub in installed_stubs().values()) > 150


def test_the_checkouts_own_headers_count(new_tree: Path) -> None:
    checkout = Checkout.open(new_tree)
    assert "sin_stub" in installed_stubs()
    assert "sin_stub" not in all_stubs(checkout), "its headers do not declare it"
    message = r"no header in aten/src/ATen/native declares the dispatch stub sin_stub; did you mean"
    with pytest.raises(PyMetalError, match=message):
        find_stub(checkout, "sin_stub")


def test_without_headers_the_installed_torch_counts(new_tree: Path) -> None:
    for header in (new_tree / "aten/src/ATen/native").glob("*.h"):
        header.unlink()
    checkout = Checkout.open(new_tree)
    assert find_stub(checkout, "sin_stub") == installed_stubs()["sin_stub"]
    message = (
        f"ATen/native has no headers with dispatch stubs, and torch {torch.__version__} does not declare atan_2_stub"
    )
    with pytest.raises(PyMetalError, match=re.escape(message)):
        find_stub(checkout, "atan_2_stub")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("atan2_stub", ("TensorIteratorBase&",)),
        ("hardswish_stub", ("TensorIterator&",)),
        ("logical_and_stub", ("TensorIterator&",)),
        ("lerp_kernel_scalar_weight", ("TensorIteratorBase&", "const Scalar&")),
        ("clamp_max_scalar_stub", ("TensorIteratorBase&", "Scalar")),
        ("round_decimals_stub", ("TensorIteratorBase&", "int64_t")),
        ("elu_backward_stub", ("TensorIteratorBase&", "const Scalar&", "const Scalar&", "const Scalar&", "bool")),
        ("smooth_l1_stub", ("TensorIteratorBase&", "double")),
    ],
)
def test_surprising_types(name: str, parameters: tuple[str, ...]) -> None:
    assert installed_stubs()[name].parameters == parameters


@pytest.mark.parametrize(
    ("functor", "stub"),
    [
        ("atan2", "atan2_stub"), ("erfcx", "special_erfcx_stub"), ("bessel_j0_forward", "special_bessel_j0_stub"),
        ("make_complex", "complex_stub"), ("bitwise_left_shift", "lshift_stub"), ("lerp", "lerp_kernel_tensor_weight"),
        ("pow_scalar", "pow_tensor_scalar_stub"), ("hardshrink_backward", "shrink_backward_stub"),
        ("special_zeta", "zeta_stub"),
    ],
)  # fmt: skip
def test_functors_find_their_stubs(functor: str, stub: str) -> None:
    assert stub_of_functor(functor, installed_stubs()) == stub


def test_no_stub() -> None:
    with pytest.raises(PyMetalError, match=r"is named after the functor atan3; looked for atan3_stub"):
        stub_of_functor("atan3", installed_stubs())


def test_declarations_of_every_shape() -> None:
    text = """
    // DECLARE_DISPATCH(void(*)(TensorIteratorBase&), commented_stub)
    using scalar_fn = void (*)(
        at::TensorIteratorBase& iter,
        const c10::Scalar& weight);
    DECLARE_DISPATCH(scalar_fn, one_stub)
    DECLARE_DISPATCH(
        void (*)(TensorIteratorBase&, const int64_t, std::optional<double> x),
        two_stub);
    DECLARE_DISPATCH(Tensor (*)(const Tensor&), other_stub)
    """
    assert declared(text, "x.h") == {
        "one_stub": Stub("one_stub", "x.h", ("TensorIteratorBase&", "const Scalar&")),
        "two_stub": Stub("two_stub", "x.h", ("TensorIteratorBase&", "int64_t", "std::optional<double>")),
    }
