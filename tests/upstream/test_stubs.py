"""Stub types are read from headers; the installed torch's headers and the shipped table agree."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pymetal.errors import PyMetalError
from pymetal.upstream.stubs import STUB_TABLE, Stub, declared, stub_of_functor

HEADERS = Path(torch.__file__).parent / "include/ATen/native"


def installed() -> dict[str, Stub]:
    """The stubs that the installed headers declare."""
    found: dict[str, Stub] = {}
    for header in sorted(HEADERS.glob("*.h")):
        here = declared(header.read_text(), f"ATen/native/{header.name}")
        found.update({n: s for n, s in here.items() if s.elementwise or n not in found})
    return found


def test_the_table_agrees_with_the_installed_headers() -> None:
    there = installed()
    assert len(there) > 300
    common = [name for name in STUB_TABLE if name in there]
    assert len(common) > 150
    for name in common:
        assert STUB_TABLE[name] == there[name]


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
    assert STUB_TABLE[name].parameters == parameters


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
    assert stub_of_functor(functor, STUB_TABLE) == stub


def test_no_stub() -> None:
    with pytest.raises(PyMetalError, match=r"belongs to a functor called atan3; looked for atan3_stub"):
        stub_of_functor("atan3", STUB_TABLE)


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
