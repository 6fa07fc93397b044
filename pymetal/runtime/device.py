"""Devices: what runs Metal text, behind one protocol, and which of them a call's tensors are on."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from pymetal.errors import CallError, DeviceError


class Kernel(Protocol):
    """A kernel that can be launched: `torch.mps.compile_shader`'s call protocol, as far as pymetal uses it."""

    def __call__(self, *args: Any, threads: int | list[int]) -> None: ...


class Device(Protocol):
    """Compiles Metal text and hands out its kernels."""

    name: str
    several_from: int  # the element count from which a thread of a dense kernel computes several elements

    def variant(self) -> str:
        """What else the meaning of compiled text depends on: programs of different variants are kept apart."""
        ...

    def available(self) -> bool:
        """True if a kernel can run here and now."""
        ...

    def compile(self, source: str) -> Callable[[str], Kernel]:
        """Compiles a Metal source.

        Args:
            source: ASCII text of a whole Metal file.

        Returns:
            A function from a kernel's name to the kernel.

        Raises:
            MetalSyntaxError: the text does not compile.
            DeviceError: the device is missing.
        """
        ...


def device_of(functor: str, tensors: Sequence[torch.Tensor]) -> torch.device:
    """The device of a call's tensors; 0-dim CPU tensors go along with the others.

    Raises:
        CallError: they are on more than one device.
    """
    first = tensors[0].device
    if all(t.device == first for t in tensors):
        return first
    leading = [t for t in tensors if not (t.device.type == "cpu" and t.dim() == 0)]
    devices = dict.fromkeys(str(t.device) for t in leading)
    if len(devices) > 1:
        raise CallError(
            f"{functor} was called with tensors on {' and '.join(devices)}", hint="Move them to one device with .to()."
        )
    return leading[0].device if leading else first


# One row per device: the type of the torch device, and where its `Device` is. A row is text, so that a device is
# imported when it is first used, and this module knows none of them.
DEVICES: dict[str, str] = {"cpu": "pymetal.host.device:HOST", "mps": "pymetal.runtime.mps:MPS"}
_used: dict[str, Device] = {}


def find_device(device: torch.device) -> Device:
    """The `Device` that runs kernels on tensors of a torch device.

    Raises:
        DeviceError: there is none.
    """
    found = _used.get(device.type)
    return found if found is not None else _load(device.type)


def _load(name: str) -> Device:
    row = DEVICES.get(name)
    if row is None:
        raise DeviceError(
            f"pymetal has no device for {name} tensors",
            hint="Use mps tensors, or cpu tensors, which the host device computes with the same Metal text.",
        )
    module, _, attribute = row.partition(":")
    try:
        _used[name] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise DeviceError(f"cannot load the device for {name} tensors, {row}: {error}") from error
    return _used[name]
