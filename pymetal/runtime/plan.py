"""A call's tensors become a plan: element and result dtype, shape, output, and which launch kernel fits.

Promotion is torch's own (`torch._prims_common.elementwise_dtypes`), and so are the strides of a new output. Nothing
here touches a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from pymetal.dtypes import DType, from_torch
from pymetal.errors import CallError

Operand = torch.Tensor | int | float | complex


def promote(operands: Sequence[Operand]) -> torch.dtype:
    """The dtype that the operands meet in, as `TensorIterator` would compute it.

    Python numbers and 0-dim tensors give way to tensors with dimensions of the same kind of number.
    """
    first = operands[0]
    if isinstance(first, torch.Tensor):
        dtype = first.dtype
        if all(isinstance(o, torch.Tensor) and o.dtype == dtype for o in operands):
            return dtype
    from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

    kind = ELEMENTWISE_TYPE_PROMOTION_KIND.NO_OPMATH
    result: torch.dtype = elementwise_dtypes(*operands, type_promotion_kind=kind)[1]
    return result


def broadcast(functor: str, tensors: Sequence[torch.Tensor]) -> torch.Size:
    """The common shape.

    Raises:
        CallError: the shapes do not broadcast.
    """
    shape = tensors[0].shape
    if all(t.shape == shape for t in tensors):
        return shape
    try:
        sizes = [t.shape for t in tensors]
        return torch.Size(torch.broadcast_shapes(*sizes))  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        shapes = ", ".join(str(tuple(t.shape)) for t in tensors)
        raise CallError(
            f"{functor} was called with shapes that do not broadcast: {shapes}",
            hint="Sizes of a dimension must be equal, or 1, counted from the last dimension.",
        ) from error


def new_output(
    tensors: Sequence[torch.Tensor], shape: torch.Size, dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """An uninitialised output with the strides that TensorIterator would give it."""
    if all(t.is_contiguous() and t.shape == shape for t in tensors):
        return torch.empty(shape, dtype=dtype, device=device)
    from torch._prims_common import compute_elementwise_output_strides

    strides = compute_elementwise_output_strides(*(t.expand(shape) for t in tensors))
    return torch.empty_strided(shape, strides, dtype=dtype, device=device)


def check_output(
    functor: str, out: object, tensors: Sequence[torch.Tensor], shape: torch.Size, dtype: torch.dtype,
    device: torch.device,
) -> torch.Tensor:  # fmt: skip
    """`out` if a result of `dtype` and `shape` can be written there.

    Raises:
        CallError: it is no tensor, on another device, of another shape, of a dtype that cannot hold the result, or it
            overlaps itself or part of an input.
    """
    if not isinstance(out, torch.Tensor):
        raise CallError(f"{functor}: out= is {type(out).__name__}", hint="Pass a tensor.")
    if out.device != device:
        raise CallError(f"{functor}: out= is on {out.device} and the inputs are on {device}", hint="Move one of them.")
    if not torch.can_cast(dtype, out.dtype):
        raise CallError(
            f"{functor}: result type {dtype} cannot be cast to the dtype of out=, {out.dtype}",
            hint=f"Pass out= of dtype {dtype}.",
        )
    if out.shape != shape:
        if out.numel() != 0:
            raise CallError(
                f"{functor}: out= has shape {tuple(out.shape)} and the result {tuple(shape)}",
                hint=f"Pass out= of shape {tuple(shape)}, or an empty tensor, which is resized.",
            )
        out.resize_(shape)
    if torch._debug_has_internal_overlap(out) == 1:
        raise CallError(
            f"{functor}: several elements of out= share one memory location", hint="Pass out.clone(), or a new tensor."
        )
    for tensor in tensors:
        if partly_overlaps(out, tensor):
            raise CallError(
                f"{functor}: out= shares part of its memory with an input, which would be read after it is written",
                hint="Pass input.clone(), or an out= that is the input itself or apart from it.",
            )
    return out


def partly_overlaps(out: torch.Tensor, tensor: torch.Tensor) -> bool:
    """True if the two may share memory and are not the very same elements in the same order."""
    if out.numel() == 0 or tensor.numel() == 0:
        return False
    if out.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr():
        return False
    if (out.data_ptr(), out.shape, out.stride(), out.dtype) == (
        tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype,
    ):  # fmt: skip
        return False
    (a, a_end), (b, b_end) = _bytes(out), _bytes(tensor)
    return a < b_end and b < a_end


def _bytes(tensor: torch.Tensor) -> tuple[int, int]:
    start = tensor.data_ptr()
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return start, start + (last + 1) * tensor.element_size()


def is_dense(out: torch.Tensor, tensors: Sequence[torch.Tensor]) -> bool:
    """True if all have the same elements at the same offsets, without gaps, so that one index serves them all."""
    shape = out.shape
    if any(t.shape != shape for t in tensors):
        return False
    if out.is_contiguous():
        return all(t.is_contiguous() for t in tensors)
    strides = out.stride()
    return all(t.stride() == strides for t in tensors) and _covers_its_memory(out)


def _covers_its_memory(tensor: torch.Tensor) -> bool:
    """True if the strides are those of a contiguous tensor with its dimensions in some order."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def strided_arguments(out: torch.Tensor, tensors: Sequence[torch.Tensor]) -> tuple[list[int], list[int], int]:
    """Sizes, interleaved strides in elements and dimension count for the strided kernel, fastest dimension first."""
    shape = out.shape
    all_strides = [out.stride(), *(t.expand(shape).stride() for t in tensors)]
    order = sorted(range(len(shape)), key=lambda d: (all_strides[0][d], shape[d]))
    order = [d for d in order if shape[d] != 1]
    if not order:
        return [1], [0] * len(all_strides), 1
    sizes = [shape[d] for d in order]
    return sizes, [strides[d] for d in order for strides in all_strides], len(order)


def element_type(functor: str, dtype: torch.dtype, domain: tuple[DType, ...]) -> DType:
    """The element type of a call.

    Raises:
        CallError: the functor is not registered for it.
    """
    element = from_torch(dtype)
    if element is not None and element in domain:
        return element
    allowed = ", ".join(d.name.rstrip("_") for d in domain)
    reason = " (Metal has no double)" if element is not None and not element.metal else ""
    raise CallError(
        f"{functor} has no kernel for {str(dtype).removeprefix('torch.')}{reason}",
        hint=f"It is registered for {allowed}. Convert the tensors, or widen dtypes= of the functor.",
    )


def is_operand(value: Any) -> bool:
    """True for what a functor takes as an operand: a tensor or a Python number."""
    return isinstance(value, (torch.Tensor, bool, int, float, complex))
