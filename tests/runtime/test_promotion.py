"""Promotion against torch: every pair of dtypes, dimensioned, 0-dim and Python numbers, in every promotion kind."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, cast

import kinds
import pytest
import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

from pymetal import CallError
from pymetal.functor import Functor
from pymetal.runtime import plan, type_promotion

DOUBLES = (torch.float64, torch.complex128)
FOREIGN = (torch.float8_e4m3fn, torch.float8_e5m2)
NUMBERS = (True, 2, 2.5, 1 + 2j)
Operand = torch.Tensor | bool | int | float | complex


def make(dtype: torch.dtype, dims: int) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex32 is experimental, torch says once
        return torch.ones((2,) * dims).to(dtype)


OPERANDS: list[Operand] = [make(dtype, dims) for dtype in (*kinds.EVERY, *DOUBLES) for dims in (1, 0)]


def planned(functor: Functor, operands: Sequence[Operand]) -> tuple[torch.dtype, torch.dtype]:
    """What a call plans: the dtype that the operands meet in, and that of the result."""
    described = [plan.describe(o, torch.device("cpu")) for o in operands]
    element = functor.caller.element(described)
    return element.torch, functor.caller.result(element).torch


def result_type(operands: Sequence[Operand]) -> torch.dtype | None:
    """What a torch operator of two operands computes in; None if it refuses to promote them."""
    try:
        return torch.result_type(*cast(Any, operands))
    except RuntimeError as error:
        if "Promotion for" not in str(error):
            raise
        return None


def refused(dtype: torch.dtype | None) -> str | None:
    """The message for operands that meet in `dtype`, if pymetal has no such type."""
    if dtype is None:
        return "torch has no common dtype for"
    if dtype in DOUBLES:
        return f"has no kernel for {dtype} (Metal has no double)"
    return None


def read_as(kind: str, common: torch.dtype, operands: Sequence[Operand]) -> torch.dtype:
    """What the operands are converted to: their common dtype, but that torch's int_to_float kind makes a float of each
    integer before anything else, so that one which the common dtype does not hold must not go through it."""
    if kind != "int_to_float" or common.is_floating_point or common.is_complex:
        return common
    limits = torch.iinfo(common) if common is not torch.bool else None
    for operand in operands:
        if not isinstance(operand, torch.Tensor):
            return torch.float32
        if operand.dtype is common or operand.dtype is torch.bool:
            continue
        own = torch.iinfo(operand.dtype)
        if limits is None or own.min < limits.min or own.max > limits.max:
            return torch.float32
    return common


@pytest.mark.parametrize("kind", kinds.BINARY)
def test_every_pair(kind: str) -> None:
    functor = kinds.BINARY[kind]
    torch_kind = ELEMENTWISE_TYPE_PROMOTION_KIND[kind.upper()]
    counts = {"planned": 0, "refused": 0}
    for a, b in itertools.product([*OPERANDS, *NUMBERS], repeat=2):
        if not isinstance(a, torch.Tensor) and not isinstance(b, torch.Tensor):
            continue
        expected = result_type((a, b))
        if message := refused(expected):
            with pytest.raises(CallError) as caught:
                planned(functor, (a, b))
            assert message in str(caught.value), (a, b)
            counts["refused"] += 1
            continue
        assert expected is not None
        element, result = planned(functor, (a, b))
        assert element == read_as(kind, expected, (a, b)), (a, b)
        assert result == elementwise_dtypes(a, b, type_promotion_kind=torch_kind)[1], (a, b)
        counts["planned"] += 1
    assert counts["planned"] > 500
    assert counts["refused"] > 100


# Operators of torch that promote by a kind. Each row: the kind, the operator, dtypes for which it has no kernel.
OPERATORS: dict[str, tuple[str, Callable[..., torch.Tensor]]] = {
    "add": ("default", torch.add),
    "mul": ("default", torch.mul),
    "maximum": ("no_opmath", torch.maximum),
    "true_divide": ("int_to_float", torch.true_divide),
    "atan2": ("int_to_float", torch.atan2),
    "xlogy": ("int_to_float", torch.xlogy),
    "eq": ("always_bool", torch.eq),
    "lt": ("always_bool", torch.lt),
    "logical_and": ("always_bool", torch.logical_and),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_real_operators(name: str) -> None:
    """The dtype of torch's own result, wherever the operator runs."""
    kind, operator = OPERATORS[name]
    functor = kinds.BINARY[kind]
    agreed = 0
    for a, b in itertools.product(OPERANDS, [*OPERANDS, *NUMBERS]):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = operator(a, b).dtype
        except (RuntimeError, TypeError):
            continue  # no kernel, or no promotion: test_every_pair has the latter
        if result_type((a, b)) in DOUBLES:
            continue
        assert planned(functor, (a, b))[1] == expected, (a, b)
        agreed += 1
    assert agreed > 200


@pytest.mark.parametrize("dtype", kinds.EVERY, ids=str)
def test_unary_kinds(dtype: torch.dtype) -> None:
    """abs makes complex numbers real, sum makes bool long; one operand, and two of a dtype, behave alike."""
    x = make(dtype, 1)
    if dtype is not torch.bool and dtype not in kinds.UNSIGNED and dtype is not torch.complex32:
        assert planned(kinds.complex_to_float, (x, x))[1] == torch.abs(x).dtype
    if dtype is torch.bool or dtype is torch.int64 or dtype.is_floating_point:
        assert planned(kinds.bool_to_long, (x, x))[1] == torch.sum(x).dtype


SOME: list[Operand] = [
    *(make(d, 1) for d in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8)),
    *(make(d, 0) for d in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8)),
    make(torch.bool, 1), make(torch.complex64, 0), make(torch.float64, 0), make(torch.int16, 1), True, 3, 0.5, 2j,
]  # fmt: skip


@pytest.mark.parametrize("kind", kinds.TERNARY)
def test_triples(kind: str) -> None:
    functor = kinds.TERNARY[kind]
    torch_kind = ELEMENTWISE_TYPE_PROMOTION_KIND[kind.upper()]
    seen = 0
    for operands in itertools.product(SOME, repeat=3):
        if not any(isinstance(o, torch.Tensor) for o in operands):
            continue
        expected, result = (elementwise_dtypes(*operands, type_promotion_kind=k)[1] for k in (_NONE, torch_kind))
        if expected in DOUBLES:
            with pytest.raises(CallError, match="Metal has no double"):
                planned(functor, operands)
            continue
        assert planned(functor, operands) == (read_as(kind, expected, operands), result), operands
        seen += 1
    assert seen > 2000


_NONE = ELEMENTWISE_TYPE_PROMOTION_KIND.NO_OPMATH


def test_triples_of_a_real_operator() -> None:
    """`addcmul` promotes as any operator of three tensors."""
    tensors = [o for o in SOME if isinstance(o, torch.Tensor)]
    for operands in itertools.product(tensors, repeat=3):
        meta = [o.to("meta") for o in operands]
        expected = torch.addcmul(*meta).dtype
        if expected in DOUBLES:
            continue
        assert planned(kinds.plain3, operands)[1] == expected, [(o.dtype, o.dim()) for o in operands]


@pytest.mark.parametrize("dtype", FOREIGN, ids=str)
def test_dtypes_that_pymetal_does_not_have(dtype: torch.dtype) -> None:
    x = make(dtype, 1)
    with pytest.raises(CallError, match=f"plain has no kernel for {dtype}\n"):
        planned(kinds.plain, (x, x))
    with pytest.raises(CallError, match="torch has no common dtype for"):
        planned(kinds.plain, (x, make(torch.float32, 1)))
    with pytest.raises(RuntimeError, match="Promotion for Float8"):
        torch.result_type(x, make(torch.float32, 1))


def test_a_kind_that_is_not_registered() -> None:
    """Promotion into a dtype without a kernel names that dtype, not those of the operands."""
    import functors

    for operands, name in (
        ((make(torch.int32, 1), 0.5), "float32"),
        ((make(torch.int64, 1), make(torch.bfloat16, 0)), "bfloat16"),
        ((make(torch.bool, 1), make(torch.bool, 1)), "bool"),
        ((make(torch.int8, 1), make(torch.complex64, 1)), "complex64"),
    ):
        with pytest.raises(CallError, match=f"narrow has no kernel for torch.{name}\n"):
            planned(functors.narrow, operands)


@pytest.mark.parametrize("default", [torch.float16, torch.bfloat16, torch.float64])
def test_the_default_dtype_counts(default: torch.dtype) -> None:
    """A Python float next to an integer tensor becomes torch's default dtype at the time of the call."""
    torch.set_default_dtype(default)
    try:
        expected = torch.result_type(make(torch.int32, 1), 0.5)
        assert expected is default
        described = [plan.describe(o, torch.device("cpu")) for o in (make(torch.int32, 1), 0.5)]
        assert type_promotion.promote(described) is default
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.host
def test_plans_are_kept_by_the_default_dtype() -> None:
    """A call like an earlier one, but for the default dtype, is planned anew."""
    x = torch.arange(3)
    assert kinds.plain(x, 0.5).dtype is torch.float32
    torch.set_default_dtype(torch.float16)
    try:
        assert kinds.plain(x, 0.5).dtype is (x * 0.5).dtype is torch.float16
    finally:
        torch.set_default_dtype(torch.float32)
    assert kinds.plain(x, 0.5).tolist() == [0.0, 0.5, 1.0]
