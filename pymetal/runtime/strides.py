"""The strides of a new output, by the rules of torch's `TensorIterator`.

`compute_elementwise_output_strides` of `torch._prims_common` differs from them: for operands of one layout torch copies
it, for dimensions of size 1 or 0 its order of comparison shows. See `aten/src/ATen/TensorIterator.cpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """The shape and strides of an operand; a number has none."""

    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    def follows(self, order: Sequence[int]) -> bool:
        """True if memory holds the elements without gaps, the dimensions from the fastest in this order."""
        step = 1
        for d in order:
            if self.shape[d] != 1:
                if self.strides[d] != step:
                    return False
                step *= self.shape[d]
        return True

    def is_dense(self) -> bool:
        """True if memory holds each element once and nothing else, in any order of dimensions."""
        wide = [d for d in range(len(self.shape)) if self.shape[d] > 1]
        return self.follows(sorted(wide, key=lambda d: self.strides[d]))


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def expanded_strides(layout: Layout, shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of an operand broadcast to `shape`: zero along the dimensions that it repeats."""
    missing = len(shape) - len(layout.shape)
    wanted = shape[missing:]
    rows = zip(layout.shape, layout.strides, wanted, strict=True)
    return (*(0,) * missing, *(0 if size == 1 and full != 1 else stride for size, stride, full in rows))


_CHANNELS_LAST = (1, 3, 2, 0)  # dimensions from the fastest


def output_strides(layouts: Sequence[Layout], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a new output of `shape` for operands of these layouts, numbers included."""
    if all(layout.shape == shape for layout in layouts):
        inner_first = range(len(shape) - 1, -1, -1)
        if 0 in shape or all(layout.follows(inner_first) for layout in layouts):
            return contiguous_strides(shape)
        if len(shape) == 4 and all(layout.follows(_CHANNELS_LAST) for layout in layouts):
            return _packed(shape, _CHANNELS_LAST)
        first = layouts[0]
        if all(layout.strides == first.strides for layout in layouts) and first.is_dense():
            return first.strides
    order = _order(shape, [expanded_strides(layout, shape) for layout in layouts])
    if order == list(range(len(shape) - 1, -1, -1)):
        return contiguous_strides(shape)
    return _packed(shape, order)


def _packed(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Strides without gaps, the dimensions from the fastest in this order."""
    strides, step = [0] * len(shape), 1
    for d in order:
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def _order(shape: Sequence[int], all_strides: Sequence[Sequence[int]]) -> list[int]:
    """The dimensions from the fastest: an insertion sort, since a comparison may leave two of them undecided."""
    order = list(range(len(shape) - 1, -1, -1))
    for i in range(1, len(order)):
        moving = i
        for other in range(i - 1, -1, -1):
            found = _compared(shape, all_strides, order[other], order[moving])
            if found > 0:
                order[other], order[moving] = order[moving], order[other]
                moving = other
            elif found < 0:
                break
    return order


def _compared(shape: Sequence[int], all_strides: Sequence[Sequence[int]], inner: int, outer: int) -> int:
    """Positive if the two dimensions have to change places, negative if not, 0 if no operand tells."""
    for strides in all_strides:
        a, b = strides[inner], strides[outer]
        if a == 0 or b == 0:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0
