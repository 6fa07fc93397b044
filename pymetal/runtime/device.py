"""Devices: what runs Metal text, behind one protocol, and which of them a call's tensors are on."""

from __future__ import annotations

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


def find_device(device: torch.device) -> Device:
    """The `Device` that runs kernels on tensors of a torch device.

    Raises:
        DeviceError: there is none.
    """
    found = _DEVICES.get(device.type)
    return found if found is not None else _load(device.type)


_DEVICES: dict[str, Device] = {}  # those that have been used


def _load(name: str) -> Device:
    match name:
        case "cpu":
            from pymetal.runtime.host_device import HOST

            _DEVICES[name] = HOST
        case "mps":
            from pymetal.runtime.mps import MPS

            _DEVICES[name] = MPS
        case other:
            raise DeviceError(
                f"pymetal has no device for {other} tensors",
                hint="Use mps tensors, or cpu tensors, which the host device computes with the same Metal text.",
            )
    return _DEVICES[name]
