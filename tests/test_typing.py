"""Where two types meet, and what the result is: torch's own promotion, at every dtype of a functor."""

from __future__ import annotations

import itertools

import pytest
import torch

from pymetal import dtypes, ir
from pymetal.dtypes import DType, Kind
from pymetal.frontend.typing import Typing
from pymetal.frontend.verify import fits

VAR = ir.Var()
NUMBERS = {ir.WEAK_INT: 2, ir.WEAK_FLOAT: 2.5, ir.WEAK_COMPLEX: 2j}

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")


def concrete(dtype: DType) -> ir.Type:
    return ir.Concrete(dtype)


@pytest.mark.parametrize("a", dtypes.ALL, ids=str)
def test_join_of_dtypes_is_promote_types(a: DType) -> None:
    for b in dtypes.ALL:
        joined = Typing((dtypes.float32,)).join(concrete(a), concrete(b))
        try:
            expected = torch.promote_types(a.torch, b.torch)
        except RuntimeError:  # uint64 and a signed type
            assert joined is None
            continue
        if dtypes.from_torch(expected) in dtypes.ALL:
            assert joined is not None
            assert ir.resolve(joined, dtypes.float32) == dtypes.from_torch(expected), (a, b)


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
@pytest.mark.parametrize("weak", NUMBERS, ids=str)
def test_join_with_a_python_number_is_result_type(dtype: DType, weak: ir.Weak) -> None:
    for order in ((weak, VAR), (VAR, weak)):
        joined = Typing((dtype,)).join(*order)
        tensor = torch.empty(2, dtype=dtype.torch)
        expected = dtypes.from_torch(torch.result_type(tensor, NUMBERS[weak]))
        assert joined is not None
        assert ir.resolve(joined, dtype) == expected


def test_python_numbers_among_themselves() -> None:
    typing = Typing((dtypes.float32,))
    assert typing.join(ir.WEAK_INT, ir.WEAK_FLOAT) == ir.WEAK_FLOAT
    assert typing.join(ir.WEAK_COMPLEX, ir.WEAK_INT) == ir.WEAK_COMPLEX
    assert typing.join(ir.WEAK_INT, ir.WEAK_INT) == ir.WEAK_INT


def test_the_element_type_stays_symbolic() -> None:
    """One text serves all dtypes of a group, so the answer is the type that is right at each of them."""
    floats = Typing(dtypes.WORDS["floating"])
    assert floats.join(VAR, VAR) == VAR
    assert floats.join(VAR, ir.WEAK_FLOAT) == VAR
    assert floats.join(VAR, ir.FLOAT) == ir.FLOAT
    assert floats.join(VAR, ir.OpMath(VAR)) == ir.OpMath(VAR)
    assert floats.join(VAR, concrete(dtypes.int32)) == VAR
    computed = floats.compute(VAR)
    assert computed is not None
    assert floats.same(computed, ir.FLOAT)
    integers = Typing(dtypes.WORDS["integral"])
    assert integers.join(VAR, ir.WEAK_INT) == VAR
    assert integers.join(VAR, ir.WEAK_FLOAT) == ir.FLOAT
    assert integers.join(VAR, concrete(dtypes.int64)) == concrete(dtypes.int64)
    assert integers.floating(VAR) == ir.FLOAT


def test_no_answer_is_none() -> None:
    """float16 meets float32 in float32, bfloat16 in float32, and itself in itself: no type says so."""
    floats = Typing(dtypes.WORDS["floating"])
    assert floats.join(VAR, concrete(dtypes.float16)) is None
    two = Typing((dtypes.float32, dtypes.bfloat16))
    joined = two.join(VAR, concrete(dtypes.float16))
    assert joined is not None
    assert two.same(joined, ir.FLOAT)


def test_join_is_symmetric_and_idempotent() -> None:
    types = [VAR, ir.FLOAT, ir.BOOL, ir.WEAK_INT, ir.WEAK_FLOAT, *(concrete(d) for d in dtypes.ALL[:9])]
    for group in (dtypes.WORDS["floating"], dtypes.WORDS["integral"], (dtypes.bool_,)):
        typing = Typing(group)
        for a, b in itertools.product(types, types):
            ab, ba = typing.join(a, b), typing.join(b, a)
            assert (ab is None) == (ba is None)
            if ab is not None and ba is not None:
                assert ab == ba or typing.same(ab, ba)
                again = typing.join(ab, a)
                assert again is not None
                assert typing.at(again) == typing.at(ab)


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_resolve(dtype: DType) -> None:
    assert ir.resolve(VAR, dtype) == dtype
    assert ir.resolved(ir.RealOf(VAR), dtype).torch == torch.empty(1, dtype=dtype.torch).real.dtype
    made = ir.resolve(ir.ComplexOf(VAR), dtype)
    if dtype.kind is Kind.FLOATING:
        assert made is not None
        assert made.torch.is_complex
        assert made.bits == max(2 * dtype.bits, 64 if dtype is dtypes.bfloat16 else 0)
    elif dtype.kind is not Kind.COMPLEX:
        assert made is None
    wide = ir.resolved(ir.OpMath(VAR), dtype)
    assert wide.bits >= dtype.bits
    assert wide.kind in (dtype.kind, Kind.SIGNED)


@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL if d.kind in (Kind.SIGNED, Kind.UNSIGNED)], ids=str)
def test_fits(dtype: DType) -> None:
    info = torch.iinfo(dtype.torch)
    fitting: list[complex] = [info.min, info.max, 0, 1, 1.0]
    for value in fitting:
        assert fits(value, dtype)
    for value in (info.min - 1, info.max + 1, 0.5, float("nan"), float("inf"), 1j):
        assert not fits(value, dtype)


def test_floats_take_every_real_number() -> None:
    for value in (0, 10**300, 1e300, float("nan"), -0.0, True):
        assert fits(value, dtypes.float16)
    assert not fits(10**400, dtypes.float32), "Python cannot make a float of it"


class TestDTypes:
    def test_tables(self) -> None:
        assert len({d.name for d in dtypes.ALL}) == len(dtypes.ALL) == len({d.metal for d in dtypes.ALL})
        for d in dtypes.ALL:
            assert d.torch.itemsize * 8 == d.bits
            assert d.torch.is_floating_point == (d.kind is Kind.FLOATING)
            assert d.torch.is_complex == (d.kind is Kind.COMPLEX)
            assert dtypes.from_torch(d.torch) is d
            if d.kind in (Kind.SIGNED, Kind.UNSIGNED):
                assert d.torch.is_signed == (d.kind is Kind.SIGNED)

    def test_words(self) -> None:
        assert dtypes.parse_dtypes("floating") == (dtypes.float32, dtypes.float16, dtypes.bfloat16)
        assert dtypes.parse_dtypes(["integral", torch.bool, dtypes.float16]) == (
            dtypes.float16, dtypes.int64, dtypes.int32, dtypes.int16, dtypes.uint8, dtypes.int8, dtypes.bool_,
        )  # fmt: skip
        assert dtypes.parse_dtypes({torch.half, "floating"}) == dtypes.WORDS["floating"]

    def test_casts_outside_a_body(self) -> None:
        """An undecorated body is ordinary Python on tensors."""
        value = torch.tensor([1.75, -2.5])
        assert dtypes.int32(value).tolist() == [1, -2]
        assert dtypes.float16(1).dtype is torch.float16
        assert dtypes.T(value) is value
        assert dtypes.OpMath[dtypes.T](value) is value
