"""A new output has the strides, and a resized one the shape, that torch's own operators give it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import layouts
import pytest
import torch
from hypothesis import given, settings

from examples.atan2 import atan2


def check(operands: Sequence[torch.Tensor]) -> None:
    """The result of pymetal and of torch, by strides and values."""
    functor, operator = layouts.OPERATORS[len(operands)]
    actual, expected = functor(*operands), operator(*operands)
    given_layouts = [(tuple(t.shape), t.stride()) for t in operands]
    assert actual.shape == expected.shape, given_layouts
    assert actual.stride() == expected.stride(), given_layouts
    assert actual.storage_offset() == 0
    assert actual.dtype == expected.dtype
    assert torch.equal(actual, expected), given_layouts


@given(layouts.calls())
@settings(max_examples=300)
def test_any_layout(operands: list[torch.Tensor]) -> None:
    check(operands)


@given(layouts.calls(layouts.sizes_with_zero))
@settings(max_examples=200)
def test_dimensions_of_size_zero(operands: list[torch.Tensor]) -> None:
    check(operands)


def image(memory_format: torch.memory_format) -> torch.Tensor:
    shape = (2, 3, 4, 5) if memory_format is torch.channels_last else (2, 3, 4, 5, 2)
    return (
        torch.arange(torch.Size(shape).numel(), dtype=torch.int32)
        .reshape(shape)
        .contiguous(memory_format=memory_format)
    )


BASE = torch.arange(120, dtype=torch.int32)
LAYOUTS: dict[str, torch.Tensor] = {
    "contiguous": BASE.view(2, 3, 4, 5),
    "channels_last": image(torch.channels_last),
    "channels_last, one channel": image(torch.channels_last)[:, :1].expand(2, 3, 4, 5),
    "channels_last, sliced": image(torch.channels_last)[:, :, 1:3].repeat(1, 1, 2, 1),
    "channels_last, with gaps": torch.cat([image(torch.channels_last)] * 2, 1)[:, ::2],
    "permuted": BASE.view(5, 4, 3, 2).permute(3, 2, 1, 0),
    "permuted otherwise": BASE.view(3, 5, 2, 4).permute(2, 0, 3, 1),
    "not dense": torch.arange(240, dtype=torch.int32).view(2, 3, 4, 10)[..., ::2],
    "not dense outside": torch.arange(240, dtype=torch.int32).view(4, 3, 4, 5)[::2],
    "expanded": BASE[:5].expand(2, 3, 4, 5),
    "expanded inside": BASE[:24].view(2, 3, 4, 1).expand(2, 3, 4, 5),
    "a row": BASE[:5],
    "a column": BASE[:4].view(4, 1),
    "a plane": BASE[:20].view(5, 4).t(),
    "0-dim": BASE[7],
    "one element": BASE[7:8],
    "one element in four dimensions": BASE[7:8].view(1, 1, 1, 1),
    "overlapping": BASE.as_strided((2, 3, 4, 5), (9, 4, 2, 1)),
    "flipped in memory": BASE.as_strided((2, 3, 4, 5), (1, 2, 6, 24)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_pair_of_layouts(name: str) -> None:
    for other in LAYOUTS.values():
        check([LAYOUTS[name], other])
    check([LAYOUTS[name]])


def test_triples_of_layouts() -> None:
    chosen = [
        LAYOUTS[k] for k in ("contiguous", "channels_last", "permuted", "not dense", "expanded", "a row", "0-dim")
    ]
    for operands in itertools.product(chosen, repeat=3):
        check(operands)


def test_five_dimensions() -> None:
    x = image(torch.channels_last_3d)
    assert x.is_contiguous(memory_format=torch.channels_last_3d)
    for other in (x, x.contiguous(), x[:, :, :1], x[:1, :1, :1, :1, :1], x.transpose(1, 4).transpose(1, 4).clone()):
        check([x, other])
        check([other, x])
    assert layouts.negated(x).is_contiguous(memory_format=torch.channels_last_3d)


@pytest.mark.parametrize("strides", [(1, 1, 1), (5, 5, 5), (1, 3, 9), (9, 3, 1), (0, 0, 0), (0, 1, 0)])
def test_dimensions_of_size_one(strides: tuple[int, int, int]) -> None:
    """Their strides mean nothing, and torch keeps or replaces them by rules of its own."""
    for shape in ((1, 1, 1), (1, 3, 1), (3, 1, 1), (1, 1, 3)):
        x = BASE.as_strided(shape, strides)
        check([x])
        check([x, x])
        check([x, torch.ones(shape, dtype=torch.int32)])
        check([x, torch.ones(3, 1, 1, dtype=torch.int32)])


def test_a_float_operator() -> None:
    """`torch.atan2` allocates through another path of TensorIterator than `torch.add`."""
    memory = torch.randn(240)
    for x, y in itertools.product(LAYOUTS.values(), repeat=2):
        a, b = (memory.as_strided(t.shape, t.stride()) for t in (x, y))
        actual, expected = atan2(a, b), torch.atan2(a, b)
        assert actual.stride() == expected.stride()
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("name", LAYOUTS)
def test_next_to_numbers(name: str) -> None:
    """torch makes 0-dim tensors of numbers: then it takes another path than for operands of one shape."""
    x = LAYOUTS[name]
    parts = (x[:0], x[..., :0], x[..., :1]) if x.dim() else ()
    for operand in (x, *parts, x.unsqueeze(0), x.unsqueeze(-1)):
        for actual, expected in (
            (layouts.added(operand, 3), operand + 3),
            (layouts.added(3, operand), 3 + operand),
            (layouts.added(operand, torch.tensor(3)), operand + torch.tensor(3)),
        ):
            assert actual.stride() == expected.stride()
            assert torch.equal(actual, expected)


@given(layouts.calls())
@settings(max_examples=200)
def test_a_resized_output(operands: list[torch.Tensor]) -> None:
    """out= without elements gets the layout of a new output."""
    functor, operator = layouts.OPERATORS[len(operands)]
    actual, expected = torch.empty(0, dtype=torch.int32), torch.empty(0, dtype=torch.int32)
    assert functor(*operands, out=actual) is actual
    operator(*operands, out=expected)
    assert actual.shape == expected.shape
    assert actual.stride() == expected.stride()
    assert torch.equal(actual, expected)
