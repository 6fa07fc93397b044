"""out=: dtype, shape, layout; memory shared with inputs or with itself; conj and neg views; what is refused."""

from __future__ import annotations

import itertools
import warnings

import layouts
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import added

import pymetal
from pymetal import CallError, ComplexOf, T
from pymetal.runtime.overlap import has_internal_overlap, shares_elements


@pymetal.binary(dtypes=("floating", "integral", "bool", "complex"))
def summed(a: T, b: T) -> T:
    return a + b


@pymetal.unary(dtypes=("floating", "integral", "bool", "complex"))
def copied(a: T) -> T:
    return a


@pymetal.binary(dtypes=torch.float32)
def made_complex(a: T, b: T) -> ComplexOf[T]:
    return complex(a, b)


def whole(*shape: int) -> torch.Tensor:
    return torch.arange(torch.Size(shape).numel(), dtype=torch.int32).reshape(shape)


# --- dtype -----------------------------------------------------------------------------------------------------------

DTYPES = (
    torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8,
    torch.bool, torch.complex64, torch.float64, torch.complex128,
)  # fmt: skip


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in (torch.float64, torch.complex128)], ids=str)
def test_every_dtype_of_out(dtype: torch.dtype) -> None:
    """Cast on store as torch casts, refused where torch refuses; a double is filled through a float."""
    x = torch.tensor([0, 1, 2, 3, 100]).to(dtype)
    y = torch.tensor([1, 0, 5, 20, 27]).to(dtype)
    for wanted in DTYPES:
        expected, actual = torch.full((5,), 1, dtype=wanted), torch.full((5,), 1, dtype=wanted)
        try:
            torch.add(x, y, out=expected)
        except RuntimeError as error:
            assert "can't be cast" in str(error)  # noqa: PT017 - the reason matters
            with pytest.raises(CallError, match="cannot be cast to the dtype of out="):
                summed(x, y, out=actual)
            continue
        assert summed(x, y, out=actual) is actual
        assert actual.dtype is wanted
        assert torch.equal(actual, expected), (dtype, wanted)


@pytest.mark.parametrize("wanted", [torch.float16, torch.bfloat16, torch.complex64, torch.float64])
def test_stores_round_as_torch_does(wanted: torch.dtype) -> None:
    x = torch.tensor([1 + 2**-11, 1 + 2**-9, 65519.99, 1e-7, float("inf"), float("nan"), -0.0])
    actual, expected = torch.empty(7, dtype=wanted), x.to(wanted)
    copied(x, out=actual)
    real_parts = [torch.view_as_real(t) if t.is_complex() else t for t in (actual, expected)]
    torch.testing.assert_close(*real_parts, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(*(t.signbit() | t.isnan() for t in real_parts))


# --- shape -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4,), (2,), (2, 3), (3, 1), (1, 3), (6,), (), (1,), (3, 0)])
def test_another_shape_is_resized_with_torch_s_warning(shape: tuple[int, ...]) -> None:
    x = whole(3)
    outcomes = []
    for operator in (added, torch.add):
        out = torch.zeros(shape, dtype=torch.int32)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert operator(x, x, out=out) is out
        assert torch.equal(out, x + x)
        outcomes.append([w.category for w in caught])
        for w in caught:
            assert f"was resized since it had shape [{', '.join(map(str, shape))}]" in str(w.message)
            assert "required output shape [3]" in str(w.message)
        if operator is added:
            assert all(w.filename == __file__ for w in caught)
    assert outcomes[0] == outcomes[1]
    assert bool(outcomes[0]) == (0 not in shape)


def test_a_view_that_is_resized_leaves_its_base() -> None:
    """torch lets the view grow over its base; so does pymetal, with the same result in memory."""
    memories = []
    for operator in (added, torch.add):
        memory = torch.zeros(10, dtype=torch.int32)
        out = memory[2:4]
        with pytest.warns(UserWarning, match="was resized"):
            operator(whole(4), 1, out=out)
        memories.append(memory)
        assert out.tolist() == [1, 2, 3, 4]
    assert torch.equal(*memories)


def test_out_takes_part_in_no_promotion_or_broadcast() -> None:
    """A larger out= does not stretch the operands."""
    out = torch.zeros(2, 3, dtype=torch.int64)
    with pytest.warns(UserWarning, match="was resized"):
        added(whole(3), whole(3), out=out)
    assert out.tolist() == [0, 2, 4]
    huge = torch.tensor([2**31 - 1], dtype=torch.int32)
    out = torch.zeros(1, dtype=torch.int64)
    assert (
        added(huge, 1, out=out).item() == torch.add(huge, 1, out=torch.zeros(1, dtype=torch.int64)).item() == -(2**31)
    )


# --- layout ----------------------------------------------------------------------------------------------------------


@given(layouts.calls(), st.data())
@settings(max_examples=300)
def test_out_in_any_layout(operands: list[torch.Tensor], data: st.DataObject) -> None:
    """Written where it is, and nowhere else."""
    functor, operator = layouts.OPERATORS[len(operands)]
    expected = operator(*operands)
    order = data.draw(st.permutations(range(expected.dim())))
    gaps = [data.draw(st.sampled_from([1, 1, 2])) for _ in order]
    offset = data.draw(st.sampled_from([0, 1, 3]))
    strides, step = [0] * expected.dim(), 1
    for d, gap in zip(order, gaps, strict=True):
        strides[d] = step * gap
        step *= gap * expected.shape[d]
    memory = torch.full((offset + step + 2,), -77, dtype=torch.int32)
    out = memory.as_strided(expected.shape, strides, offset)
    assert functor(*operands, out=out) is out
    assert torch.equal(out, expected)
    assert out.stride() == tuple(strides)
    untouched = torch.full_like(memory, -77)
    untouched.as_strided(expected.shape, strides, offset).copy_(expected)
    assert torch.equal(memory, untouched)


# --- memory shared with an input -------------------------------------------------------------------------------------


def test_the_input_itself() -> None:
    for x in (whole(3, 4), whole(4, 3).t(), whole(6, 8)[::2, ::2], whole(2, 3, 4).permute(2, 0, 1), whole(12)[3:7]):
        y = torch.full_like(x, 5)
        expected = x + y
        assert added(x, y, out=x) is x
        assert torch.equal(x, expected)
        assert torch.equal(added(y, x, out=x), expected + 5)
        assert torch.equal(added(x, x, out=x), 2 * (expected + 5))


def test_the_input_itself_broadcast_against_another() -> None:
    x, row = whole(3, 4), whole(4)
    expected = x + row
    assert torch.equal(added(x, row, out=x), expected)


def torch_refuses(inputs: list[torch.Tensor], out: torch.Tensor) -> bool:
    try:
        torch.add(*inputs, out=out)
    except RuntimeError as error:
        assert "single memory location" in str(error)  # noqa: PT017 - the reason matters
        return True
    return False


MEMORY = whole(48)
SHARED: dict[str, tuple[torch.Tensor, torch.Tensor, bool]] = {
    # The input, the output, and whether they share an element that is not the same in both.
    "ahead by one": (MEMORY[:8], MEMORY[1:9], True),
    "behind by one": (MEMORY[1:9], MEMORY[:8], True),
    "last element": (MEMORY[:8], MEMORY[7:15], True),
    "side by side": (MEMORY[:8], MEMORY[8:16], False),
    "even and odd": (MEMORY[:16:2], MEMORY[1:16:2], False),
    "even and every": (MEMORY[:16:2], MEMORY[:8], True),
    "reversed dimensions": (MEMORY[:16].view(4, 4), MEMORY[:16].view(4, 4).t(), True),
    "columns": (MEMORY.view(6, 8)[:, :4], MEMORY.view(6, 8)[:, 4:], False),
    "columns that meet": (MEMORY.view(6, 8)[:, :4], MEMORY.view(6, 8)[:, 3:7], True),
    "rows": (MEMORY.view(6, 8)[:3], MEMORY.view(6, 8)[3:], False),
    "rows that meet": (MEMORY.view(6, 8)[:3], MEMORY.view(6, 8)[2:5], True),
    "another checkerboard": (MEMORY.view(6, 8)[::2, ::2], MEMORY.view(6, 8)[::2, 1::2], False),
    "thirds": (MEMORY[::3], MEMORY[1::3], False),
    "broadcast from the output": (MEMORY[:1], MEMORY[:8], True),
    "broadcast from beside the output": (MEMORY[8:9], MEMORY[:8], False),
    "row of the output": (MEMORY.view(6, 8)[2], MEMORY.view(6, 8), True),
    "expanded": (MEMORY[:1].expand(8), MEMORY[:8], True),
}


@pytest.mark.parametrize("name", SHARED)
def test_partial_overlap(name: str) -> None:
    source, target, overlaps = SHARED[name]
    memory = whole(48)
    x, out = (memory.as_strided(t.shape, t.stride(), t.storage_offset()) for t in (source, target))
    other = torch.ones(out.shape, dtype=torch.int32)
    expected = x + other
    assert shares_elements(out, x) is overlaps
    if overlaps:
        with pytest.raises(
            CallError, match="unsupported operation: some elements of the input tensor and the written-to"
        ):
            added(x, other, out=out)
        assert torch.equal(memory, whole(48))
    else:
        assert torch.equal(added(x, other, out=out), expected)
    # torch refuses some of these; it lets pass what it cannot tell from strides and extents alone.
    if torch_refuses([x, other], out):
        assert overlaps


@given(st.data())
@settings(max_examples=400)
def test_shared_elements_by_counting(data: st.DataObject) -> None:
    """Both tests for shared memory against sets of offsets."""
    memory = torch.empty(400)

    def view() -> torch.Tensor:
        dims = data.draw(st.integers(0, 3))
        shape = [data.draw(st.integers(0, 4)) for _ in range(dims)]
        strides = [data.draw(st.sampled_from([0, 1, 2, 3, 4, 6, 8, 12])) for _ in range(dims)]
        return memory.as_strided(shape, strides, data.draw(st.integers(0, 20)))

    def offsets(t: torch.Tensor) -> list[int]:
        indices = itertools.product(*(range(n) for n in t.shape))
        return [
            int(t.storage_offset()) + sum(i * s for i, s in zip(index, t.stride(), strict=True)) for index in indices
        ]

    out, x = view(), view()
    assert has_internal_overlap(out) == (len(set(offsets(out))) < len(offsets(out)))
    same = (out.shape, out.stride(), out.storage_offset()) == (x.shape, x.stride(), x.storage_offset())
    assert shares_elements(out, x) == (not same and bool(set(offsets(out)) & set(offsets(x))))


def test_shared_storage_of_another_dtype() -> None:
    """A view of other element width covers bytes of the other's elements."""
    memory = torch.zeros(8, dtype=torch.int32)
    halves = memory.view(torch.int16)
    assert shares_elements(memory[:4], halves[:4])
    assert shares_elements(memory[:4], halves[7:8])
    assert not shares_elements(memory[:4], halves[8:])
    with pytest.raises(CallError, match="some elements of the input tensor"):
        added(halves[:8], halves[8:], out=memory)
    assert torch.equal(added(halves[8:12], halves[12:], out=memory[:4]), torch.zeros(4, dtype=torch.int32))


def test_the_same_memory_as_another_dtype() -> None:
    """Bits of one width, read and written at the same place by the same thread."""
    memory = torch.zeros(8, dtype=torch.int32)
    floats = memory.view(torch.float32)
    assert added(memory, 1, out=memory).tolist() == [1] * 8
    summed(memory, 1, out=floats)
    assert floats.tolist() == [2.0] * 8


# --- memory shared with itself ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((5,), (0,)), ((3, 4), (0, 1)), ((3, 4), (1, 1)), ((3, 4), (4, 0)), ((2, 2, 2), (1, 1, 4)), ((3, 3), (1, 2))],
)
def test_output_that_overlaps_itself(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    memory = whole(48)
    out = memory.as_strided(shape, strides)
    with pytest.raises(CallError, match="more than one element of the written-to tensor refers to a single"):
        added(torch.ones(shape, dtype=torch.int32), 1, out=out)
    assert torch.equal(memory, whole(48))


@pytest.mark.parametrize(("shape", "strides"), [((3, 2), (3, 4)), ((1, 4), (0, 1)), ((2, 2), (2, 3)), ((0, 3), (0, 0))])
def test_output_whose_strides_only_look_like_overlap(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    out = torch.zeros(48, dtype=torch.int32).as_strided(shape, strides)
    x = whole(*shape)
    assert torch.equal(added(x, 1, out=out), x + 1)
    assert torch.equal(torch.add(x, 1, out=out), x + 1)


# --- conj and neg views ----------------------------------------------------------------------------------------------

Z = torch.tensor([1 + 2j, -3 + 0.5j, complex(0, -4), complex(2, 0)])
LAZY: dict[str, torch.Tensor] = {
    "plain": Z,
    "conj": Z.conj(),
    "conj twice": Z.conj().conj(),
    "conj of a view": Z[1:].conj(),
    "imag of conj": Z.conj().imag,
    "neg view": torch._neg_view(Z),
    "neg view of conj": torch._neg_view(Z).conj(),
    "real neg view": torch._neg_view(Z.real),
}


@pytest.mark.parametrize("name", LAZY)
def test_pending_conjugation_or_negation_of_an_input(name: str) -> None:
    x = LAZY[name]
    ones = torch.ones(x.shape)
    for _ in range(2):  # planned, then from the kept plan
        assert torch.equal(copied(x), x.resolve_conj().resolve_neg())
        assert torch.equal(summed(x, ones), x + ones)
        assert torch.equal(summed(ones, x), x + ones)
        assert torch.equal(summed(x, x), x + x)
        # The same shape, dtype and strides with nothing pending.
        y = x.resolve_conj().resolve_neg()
        assert torch.equal(summed(y, ones), y + ones)


@pytest.mark.parametrize("name", ["conj", "neg view", "neg view of conj", "real neg view", "imag of conj"])
def test_pending_conjugation_or_negation_of_an_output(name: str) -> None:
    memories = [torch.zeros(6, dtype=torch.complex64) for _ in range(2)]
    actual, expected = (_lazy(name, memory)[1:5] for memory in memories)
    assert actual.is_conj() or actual.is_neg()
    x = Z if actual.is_complex() else Z.real
    assert copied(x, out=actual) is actual
    assert torch.equal(actual, x)
    expected.copy_(x)
    assert torch.equal(*memories)


def _lazy(name: str, memory: torch.Tensor) -> torch.Tensor:
    match name:
        case "conj":
            return memory.conj()
        case "neg view":
            return torch._neg_view(memory)
        case "neg view of conj":
            return torch._neg_view(memory).conj()
        case "real neg view":
            return torch._neg_view(memory.real)
        case _:
            return memory.conj().imag


def test_a_conjugated_input_in_place() -> None:
    z = Z.clone()
    view = z.conj()
    expected = view + 1
    assert summed(view, 1, out=view) is view
    assert torch.equal(view, expected)


def test_a_conjugated_output_after_a_plain_one() -> None:
    """The launch that is kept of a call with real inputs is not taken for it."""
    a, z = torch.tensor([1.0, 2.0]), torch.zeros(2, dtype=torch.complex64)
    expected = made_complex(a, a)
    for out in (z, z.conj(), z.conj()):
        assert torch.equal(made_complex(a, a, out=out), expected)
    assert torch.equal(z, expected.conj())


# --- autograd --------------------------------------------------------------------------------------------------------


def test_an_input_that_requires_grad() -> None:
    x, y = torch.ones(3, requires_grad=True), torch.ones(3)
    for operands in ((x, y), (y, x), (x, 2.0), (x * 2, y), (y, x.sum())):
        with pytest.raises(CallError, match="summed has no autograd formula, and an input requires grad"):
            summed(*operands)
        with torch.no_grad():
            assert not summed(*operands).requires_grad
        with torch.inference_mode():
            assert torch.equal(summed(*operands), operands[0] + operands[1])
    assert summed(x.detach(), y).tolist() == [2.0] * 3
    # A plan that was kept while gradients were off does not open the way when they are on.
    with pytest.raises(CallError, match="requires grad"):
        summed(x, y)


def test_an_output_that_requires_grad() -> None:
    y, out = torch.ones(3), torch.zeros(3, requires_grad=True)
    with pytest.raises(CallError, match="summed: out= requires grad"):
        summed(y, y, out=out)
    with pytest.raises(RuntimeError):
        torch.add(y, y, out=out)
    assert out.tolist() == [0.0] * 3
    with torch.no_grad():
        summed(y, y, out=out)
    assert out.tolist() == [2.0] * 3


def test_writing_counts_as_a_change_for_autograd() -> None:
    """torch notices that a tensor saved for backward was written to."""
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    loss = (w * x).sum()
    summed(x, x, out=x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    with torch.inference_mode():  # such tensors have no count of changes
        y = torch.ones(3)
        assert summed(y, y, out=y).tolist() == [2.0] * 3


# --- 0-dim tensors ---------------------------------------------------------------------------------------------------


def test_zero_dim_operands_inside_a_storage() -> None:
    """Their own element counts, not the first of the storage."""
    for dtype in (torch.float64, torch.float32, torch.int64, torch.float16, torch.complex128):
        values = torch.tensor([11, 22, 33]).to(dtype)
        x = torch.ones(4)
        for i, scalar in enumerate(values):
            assert scalar.storage_offset() == i
            expected = x + scalar
            assert torch.equal(summed(x, scalar), expected)
            assert torch.equal(summed(scalar, x), expected)


def test_zero_dim_output() -> None:
    memory = torch.zeros(5)
    summed(torch.tensor(2.0), torch.tensor(3.0), out=memory[3])
    assert memory.tolist() == [0, 0, 0, 5, 0]
    assert summed(torch.tensor(2), torch.tensor(3.5)).shape == ()
    assert summed(torch.tensor(2), 3).dtype is torch.int64
