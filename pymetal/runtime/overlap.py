"""What may be written where: `out=` against the shape, dtype and device of a result, and against the inputs' memory."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import torch

from pymetal.dtypes import from_torch
from pymetal.errors import CallError
from pymetal.runtime.arguments import check_strided

_MAX_WORK = 10_000  # of the exact test for shared elements, which is exponential in the worst case
_BASE = 4096  # any address but that of no memory
_MAX_COUNTED = 1 << 20  # elements of an output whose offsets are compared one by one


def check_output(functor: str, out: object, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """`out` if a result of `dtype` can be written to it.

    Raises:
        CallError: it is no tensor with strides, on another device, or of a dtype that cannot hold the result.
    """
    if not isinstance(out, torch.Tensor):
        raise CallError(f"{functor}: out= must be a tensor, not {type(out).__name__}")
    check_strided(functor, "out=", out)
    if out.device != device:
        raise CallError(f"{functor}: out= is on {out.device} but the inputs are on {device}", hint="Move one of them.")
    if out.is_inference() and not torch.is_inference_mode_enabled():
        raise CallError(
            f"{functor}: inplace update to inference tensor outside InferenceMode is not allowed",
            hint="Pass out.clone(), or call under torch.inference_mode().",
        )
    if from_torch(out.dtype) is None or not torch.can_cast(dtype, out.dtype):
        raise CallError(
            f"{functor}: result type {dtype} cannot be cast to the dtype of out=, {out.dtype}",
            hint=f"Pass out= of dtype {dtype}.",
        )
    return out


def resize_output(functor: str, out: torch.Tensor, shape: torch.Size, strides: tuple[int, ...] | None = None) -> None:
    """Gives `out` the shape of the result, as torch does: silently if it is empty, else with torch's warning.

    Args:
        strides: those of a new output, which a resized one gets, too; None if it is contiguous.

    Raises:
        CallError: its memory belongs to something that does not resize it.
    """
    if out.shape == shape:
        return
    storage, wanted = out.untyped_storage(), (out.storage_offset() + shape.numel()) * out.element_size()
    if not storage.resizable() and wanted > storage.nbytes():  # torch itself would fail with the shape changed
        raise CallError(
            f"{functor}: out= of shape {list(out.shape)} cannot be resized to {list(shape)}: its memory is not torch's",
            hint="Pass a tensor of that shape.",
        )
    if out.numel() != 0:
        warnings.warn(
            f"{functor}: an output with one or more elements was resized since it had shape {list(out.shape)}, which "
            f"does not match the required output shape {list(shape)}. torch deprecates this: resize it to zero "
            "elements first, out.resize_(0), or pass an out= of that shape.",
            stacklevel=5,
        )
    out.resize_(shape)
    if strides is not None:
        out.as_strided_(shape, strides)


def check_memory(functor: str, out: torch.Tensor, tensors: Sequence[torch.Tensor]) -> bool:
    """Whether `out` can be written while `tensors` are read.

    Returns:
        False if it cannot be told in reasonable time whether they share elements: then a copy is the answer.

    Raises:
        CallError: several elements of `out` are one, or `out` shares elements with an input without being it.
    """
    if has_internal_overlap(out):
        raise CallError(
            f"{functor}: unsupported operation: more than one element of the written-to tensor refers to a single "
            "memory location",
            hint="Pass out.clone(), or a new tensor.",
        )
    for tensor in tensors:
        match shares_elements(out, tensor):
            case True:
                raise CallError(
                    f"{functor}: unsupported operation: some elements of the input tensor and the written-to tensor "
                    "refer to a single memory location",
                    hint="Pass input.clone(), or an out= that is the input itself or apart from it.",
                )
            case None:
                return False
            case False:
                pass
    return True


def check_apart(functor: str, outs: Sequence[torch.Tensor]) -> None:
    """Refuses outputs that share elements with each other.

    Raises:
        CallError: two do, or it cannot be told in reasonable time.
    """
    for first, second in itertools.combinations(outs, 2):
        if _is_alias(first, second) and _meet(first, second) is not False:
            raise CallError(
                f"{functor}: two tensors of out= share memory", hint="Pass a tensor of its own for each result."
            )


def has_internal_overlap(tensor: torch.Tensor) -> bool:
    """True if two indices of `tensor` name one element. Like torch, it trusts what is too large to count."""
    wide = sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1)
    if tensor.numel() == 0 or not wide:
        return False
    if wide[0][0] == 0:
        return True
    last = 0  # the offset of the last element
    nested = True
    for stride, size in wide:
        nested = nested and stride > last
        last += stride * (size - 1)
    if nested:
        return False
    if tensor.numel() > last + 1:
        return True
    if tensor.numel() > _MAX_COUNTED:
        return False
    offsets = np.zeros(1, dtype=np.int64)
    for stride, size in wide:
        offsets = (offsets[:, None] + np.arange(size) * stride).ravel()
    return len(np.unique(offsets)) < len(offsets)


def shares_elements(out: torch.Tensor, tensor: torch.Tensor) -> bool | None:
    """True if the two share elements and are not the very same in the same order; None if that is too hard to tell."""
    if not _is_alias(out, tensor):
        return False
    same_place = _address(out) == _address(tensor) and out.element_size() == tensor.element_size()
    if same_place and out.shape == tensor.shape and out.stride() == tensor.stride():
        return False
    return _meet(out, tensor)


def _is_alias(a: torch.Tensor, b: torch.Tensor) -> bool:
    """True if neither is empty, and both are of one storage."""
    return bool(torch._C._is_alias_of(a, b)) and a.numel() != 0 and b.numel() != 0  # type: ignore[attr-defined]


def _meet(a: torch.Tensor, b: torch.Tensor) -> bool | None:
    """True if two tensors of one storage share elements; None if that is too hard to tell."""
    try:
        return bool(np.shares_memory(_memory(a), _memory(b), _MAX_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return None


def _address(tensor: torch.Tensor) -> int:
    """Where a tensor begins, in bytes from the start of its storage: pointers to other memory need not be addresses."""
    return int(tensor.storage_offset()) * tensor.element_size()


def _memory(tensor: torch.Tensor) -> npt.NDArray[np.void]:
    """A tensor's memory as numpy sees memory, as if its storage began at `_BASE`; nothing reads it."""
    size = tensor.element_size()
    interface = {
        "version": 3,
        "typestr": f"|V{size}",
        "shape": tuple(tensor.shape),
        "strides": tuple(stride * size for stride in tensor.stride()),
        "data": (_BASE + _address(tensor), True),
    }
    return np.asarray(SimpleNamespace(__array_interface__=interface))
