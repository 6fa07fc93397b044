"""The arguments of a launch -> addresses, by torch's binding rules for Metal, checked against the kernel's signature.

Metal itself does not check: here an argument that the kernel could not read or must not write is refused.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pymetal.dtypes import CASTS, DOUBLES
from pymetal.errors import CallError, DeviceError

KIND_POINTER, KIND_REFERENCE = 1, 2
FLOATING, INTEGER = 1, 2
NOT_ON_DEVICE = frozenset(d.torch for d in DOUBLES)
_INTEGER_BYTES = {"int32": 4, "int16": 2, "int8": 1, "uint8": 1}
_CASTS = ("fp16", "bf16", *_INTEGER_BYTES)


@dataclass(frozen=True)
class Slot:
    """A buffer of a kernel: how the kernel sees it."""

    index: int
    name: str
    kind: int
    is_writable: bool
    size: int  # of one element; 0 for void
    number: int = 0  # FLOATING, INTEGER, or 0 for anything else


def _float_bytes(value: float, code: str) -> bytes:
    try:
        return struct.pack(code, value)
    except OverflowError:
        return struct.pack(code, float("inf") if value > 0 else float("-inf"))


def scalar_bytes(value: int | float, is_float: bool, cast: str | None) -> bytes:
    """The bytes that bind a Python number: int64 or float32, or what the cast names."""
    if cast == "fp16":
        return _float_bytes(float(value), "<e")
    if cast == "bf16":
        bits = int(torch.tensor(float(value), dtype=torch.bfloat16).view(torch.int16).item())
        return struct.pack("<h", bits)
    if cast is not None:
        size = _INTEGER_BYTES[cast]
        return (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    if is_float:
        return _float_bytes(float(value), "<f")
    if not -(1 << 63) <= value < 1 << 63:
        raise DeviceError(f"Python int {value} does not fit in the int64 that binds it")
    return struct.pack("<q", int(value))


def check_tensor(tensor: torch.Tensor, number: int) -> None:
    """Refuse what is not memory of this device."""
    if not tensor.is_cpu:
        where = tensor.device.type
        raise DeviceError(f"Passed {where} tensor to the host device, as argument {number}; it takes CPU tensors")
    if tensor.dtype in NOT_ON_DEVICE:
        raise CallError(f"argument {number} is a {tensor.dtype} tensor, a dtype that Metal does not have")
    if tensor.layout != torch.strided:
        raise DeviceError(f"argument {number} has layout {tensor.layout}; a kernel takes strided memory")
    if tensor.numel() and not tensor.data_ptr():
        raise DeviceError(
            f"argument {number} is a tensor without memory", hint="Pass torch.zeros_like(x), or x.clone()."
        )


def _sequence_bytes(values: Sequence[Any], number: int, cast: str | None) -> bytes:
    """A list or tuple as one array, typed by its first element."""
    if not values:
        raise DeviceError(f"argument {number} is an empty {type(values).__name__}, which has no element type")
    first = values[0]
    if isinstance(first, torch.Tensor):
        for value in values:
            if not isinstance(value, torch.Tensor):
                kind = type(value).__name__
                raise DeviceError(f"argument {number}: Unexpected argument types: a tensor and a {kind} in a list")
            check_tensor(value, number)
        return struct.pack(f"<{len(values)}Q", *(value.data_ptr() for value in values))
    if not isinstance(first, int | float):
        raise DeviceError(f"argument {number}: Unexpected argument types: {type(first).__name__} in a list")
    is_float = isinstance(first, float)
    for value in values:
        if not isinstance(value, int | float) or (isinstance(value, float) and not is_float):
            kind, others = type(value).__name__, "floats" if is_float else "ints"
            raise DeviceError(f"argument {number}: Unexpected argument types: {kind} in a list of {others}")
    return b"".join(scalar_bytes(value, is_float, cast) for value in values)


def cast_of(casts: str | Mapping[int, str] | None, number: int) -> str | None:
    """The cast of one argument."""
    cast = casts.get(number) if isinstance(casts, Mapping) else casts
    if cast is not None and cast not in CASTS:
        raise DeviceError(f"Unsupported cast instruction {cast}; the casts are {', '.join(CASTS)}")
    return cast


def _check_number(slot: Slot, value: int | float, cast: str | None, kernel: str) -> None:
    """Refuses an int where the kernel would read its bytes as a float, and the reverse."""
    is_float = cast in ("fp16", "bf16") if cast is not None else isinstance(value, float)
    if slot.is_writable or slot.number in (0, FLOATING if is_float else INTEGER):
        return
    wanted, given = ("an integer", "a float") if is_float else ("a float", "an integer")
    raise CallError(
        f"kernel {kernel} reads {wanted} at {slot.name!r} (buffer {slot.index}), but {value!r} is bound as {given}",
        hint="Pass an int." if is_float else f"Pass {float(value)!r}.",
    )


def bind(
    args: Sequence[Any], slots: Sequence[Slot], kernel: str, casts: str | Mapping[int, str] | None
) -> tuple[list[int], list[object]]:
    """An address for each argument, and the objects that own the memory of scalars and lists."""
    if len(args) != len(slots):
        wanted = ", ".join(slot.name for slot in slots)
        buffers = "1 buffer" if len(slots) == 1 else f"{len(slots)} buffers"
        given = "1 argument was" if len(args) == 1 else f"{len(args)} arguments were"
        raise CallError(f"kernel {kernel} takes {buffers} ({wanted}) but {given} given")
    addresses: list[int] = []
    owners: list[object] = []
    for number, (value, slot) in enumerate(zip(args, slots, strict=True)):
        if isinstance(value, torch.Tensor):
            check_tensor(value, number)
            if slot.kind == KIND_REFERENCE:
                offset = int(value.storage_offset()) * value.element_size()
                _check_room(slot, value.untyped_storage().nbytes() - offset, kernel, f"a {value.dtype} tensor")
            addresses.append(value.data_ptr())
            continue
        cast = cast_of(casts, number)
        if isinstance(value, int | float):
            _check_number(slot, value, cast, kernel)
            data = scalar_bytes(value, isinstance(value, float), cast)
        elif isinstance(value, list | tuple):
            data = _sequence_bytes(value, number, cast)
        else:
            raise DeviceError(f"Unsupported argument type {type(value).__name__} (argument {number})")
        what = f"a Python {type(value).__name__}"
        if slot.is_writable:
            raise CallError(f"kernel {kernel} writes to {slot.name!r} (buffer {slot.index}): pass a tensor, not {what}")
        _check_room(slot, len(data), kernel, what)
        # Of one int the low bytes are the right ones; of a float or a list a narrower parameter reads the wrong ones.
        misread = isinstance(value, list | tuple) or slot.number == FLOATING
        if misread and slot.kind != KIND_POINTER and 0 < slot.size < len(data):
            named = "fp16" if slot.number == FLOATING else "int32"
            raise CallError(
                f"kernel {kernel} reads {slot.size} bytes of {slot.name!r} (buffer {slot.index}), but {what} binds "
                f"{len(data)}",
                hint=f'Cast it: arg_casts={{{number}: "{named}"}}.',
            )
        memory = (ctypes.c_uint64 * ((len(data) + 15) // 8))()  # aligned, with room for a load of 16 bytes
        ctypes.memmove(memory, data, len(data))
        owners.append(memory)
        addresses.append(ctypes.addressof(memory))
    return addresses, owners


def _check_room(slot: Slot, available: int, kernel: str, what: str) -> None:
    if slot.size > available:
        raise CallError(
            f"kernel {kernel} reads {slot.size} bytes of {slot.name!r} (buffer {slot.index}), "
            f"but {what} binds {available}"
        )
