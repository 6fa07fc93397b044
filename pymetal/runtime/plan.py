"""The plan of a call: the broadcast shape, the output's strides, and the launch kernel and grid that compute it.

Nothing here touches a device or reads a tensor: an operand is described by dtype, shape and strides. The strides of a
new output are torch's own. Dimensions are put in the order of the output's memory and merged where every operand allows
it, as TensorIterator does, so that most calls end up dense or of low rank.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch

from pymetal.codegen.launch_kernels import Form, Role
from pymetal.dtypes import DType, from_torch
from pymetal.errors import CallError
from pymetal.runtime.strides import Layout, contiguous_strides, expanded_strides, output_strides

MAX_THREADS = 2**31  # of one launch: positions are counted in 32 bits
Number: TypeAlias = bool | int | float | complex


@dataclass(frozen=True)
class Operand:
    """What planning needs to know of an operand.

    Attributes:
        dtype: None for a Python number, which takes no part in promotion among tensors of its kind.
        number: a Python number stands for its type here; its value plays no role.
        item: a 0-dim CPU tensor next to tensors of another device: promoted as a tensor, passed as a number.
    """

    dtype: torch.dtype | None
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    number: Number | None = None
    item: bool = False

    @property
    def is_number(self) -> bool:
        """True if its value is passed by itself, not in memory."""
        return self.dtype is None or self.item

    @property
    def layout(self) -> Layout:
        """The shape and strides; those of a number are empty."""
        return Layout(self.shape, self.strides)


@dataclass(frozen=True)
class Plan:
    """How a call is computed.

    Attributes:
        element: what the operands meet in.
        shape: of the output.
        strides: of a new output; None if it is contiguous.
        form: which launch kernel.
        grid: threads in each dimension of the grid; empty if there is nothing to compute.
        sizes: of the dimensions, for the strided kernels, the fastest first.
        steps: strides in elements, for each dimension those of the output and of each tensor operand.
    """

    element: DType
    shape: torch.Size
    strides: tuple[int, ...] | None
    form: Form
    grid: tuple[int, ...]
    sizes: list[int]
    steps: list[int]


def describe(operand: torch.Tensor | Number, device: torch.device) -> Operand:
    """What planning needs to know of an operand of a call on `device`."""
    if not isinstance(operand, torch.Tensor):
        return Operand(None, number=operand)
    # A 0-dim tensor of another device, or of a dtype that Metal lacks, travels by value.
    item = operand.dim() == 0 and (operand.device != device or not is_stored(operand.dtype))
    return Operand(operand.dtype, tuple(operand.shape), tuple(operand.stride()), item=item)


def is_stored(dtype: torch.dtype) -> bool:
    """True for a dtype that a kernel can read from memory."""
    known = from_torch(dtype)
    return known is not None and bool(known.metal)


def broadcast(functor: str, shapes: Sequence[tuple[int, ...]]) -> torch.Size:
    """The common shape.

    Raises:
        CallError: the shapes do not broadcast.
    """
    try:
        return torch.Size(torch.broadcast_shapes(*shapes))  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        listed = ", ".join(str(tuple(s)) for s in shapes)
        raise CallError(
            f"{functor} was called with shapes that do not broadcast: {listed}",
            hint="Sizes of a dimension must be equal, or 1, counted from the last dimension.",
        ) from error


def coalesce(shape: Sequence[int], all_strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Dimensions in the order of the first operand's memory, the fastest first, merged where every operand allows.

    Returns:
        The sizes, and for each dimension the stride of each operand. Dimensions of size 1 are left out.
    """
    order = [d for d in range(len(shape)) if shape[d] != 1]
    # By the output's strides; dimensions that it does not tell apart, by those of the inputs, then last first.
    order.sort(key=lambda d: (*(strides[d] for strides in all_strides), -d))
    sizes: list[int] = []
    steps: list[list[int]] = []
    for d in order:
        step = [strides[d] for strides in all_strides]
        if sizes and all(s == last * sizes[-1] for s, last in zip(step, steps[-1], strict=True)):
            sizes[-1] *= shape[d]
        else:
            sizes.append(shape[d])
            steps.append(step)
    return sizes, steps


def make_plan(functor: str, element: DType, operands: Sequence[Operand], out: Operand | None = None) -> Plan:
    """The plan of a call.

    Args:
        element: what the operands are converted to.
        out: where the result goes, already of the broadcast shape; None for a new tensor.

    Raises:
        CallError: the shapes do not broadcast.
    """
    tensors = [o for o in operands if not o.is_number]
    shape = broadcast(functor, [o.shape for o in tensors]) if tensors else torch.Size(())
    contiguous = contiguous_strides(shape)
    if out is not None:
        strides = out.strides
    elif all(o.shape == shape and o.strides == contiguous for o in operands):
        strides = contiguous
    else:
        strides = output_strides([o.layout for o in operands], tuple(shape))
    new_strides = None if strides == contiguous else strides
    sizes, steps = coalesce(shape, [strides, *(expanded_strides(o.layout, shape) for o in tensors)])
    if shape.numel() == 0:
        sizes = []
    roles = _roles(operands, sizes, steps)
    if roles is not None:
        dense = (shape.numel(),) if shape.numel() else ()
        return Plan(element, shape, new_strides, Form(0, roles), dense, [], [])
    rank = min(len(sizes), 4)
    strided = tuple(Role.NUMBER if o.is_number else Role.ELEMENT for o in operands)
    grid = (*sizes[:2], math.prod(sizes[2:]))[: min(rank, 3)]
    near = steps[0][0] == 1 and all(s in (0, 1) for s in steps[0])
    inner = tuple(s == 1 for s in steps[0]) if near else None
    form = Form(rank, strided, inner=inner)
    return Plan(element, shape, new_strides, form, grid, sizes, [s for step in steps for s in step])


def _roles(operands: Sequence[Operand], sizes: list[int], steps: list[list[int]]) -> tuple[Role, ...] | None:
    """How each operand is indexed if one index serves the output and all of them; None if none does."""
    if len(sizes) > 1 or (sizes and steps[0][0] != 1):
        return None
    inputs = iter(steps[0][1:] if sizes else [0] * sum(not o.is_number for o in operands))
    roles = []
    for operand in operands:
        if operand.is_number:
            roles.append(Role.NUMBER)
            continue
        step = next(inputs)
        if step not in (0, 1):
            return None
        roles.append(Role.ELEMENT if step == 1 or not sizes else Role.SINGLE)
    return tuple(roles)
