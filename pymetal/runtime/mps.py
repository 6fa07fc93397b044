"""The MPS device: Metal text through `torch.mps.compile_shader`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pymetal.errors import DeviceError, MetalSyntaxError
from pymetal.runtime.device import Kernel


class MpsDevice:
    """Apple GPUs, by torch's own shader compiler."""

    name = "mps"
    several_from = 262_144  # upstream's own threshold

    def variant(self) -> str:
        """torch compiles in one way for the life of a process."""
        return self.name

    def available(self) -> bool:
        """True if torch was built with MPS and a GPU is there."""
        return torch.backends.mps.is_available()

    def compile(self, source: str) -> Callable[[str], Kernel]:
        """Compiles a Metal source; see :meth:`pymetal.runtime.device.Device.compile`."""
        # Absent from builds without MPS, whose stub of compile_shader raises RuntimeError.
        compile_shader: Callable[[str], Any] | None = getattr(torch.mps, "compile_shader", None)
        if compile_shader is None or not self.available():
            raise DeviceError(
                "this torch has no MPS device", hint="cpu tensors run the same Metal text on the host device."
            )
        try:
            library = compile_shader(source)
        except (SyntaxError, RuntimeError) as error:  # RuntimeError: torch 2.6, and any failure to build a library
            raise MetalSyntaxError(f"Metal's compiler refused the text: {error}") from error

        def kernel(name: str) -> Kernel:
            # A missing name raises RuntimeError, not AttributeError. Each look-up makes a new handle: callers keep it.
            try:
                found: Kernel = getattr(library, name)
            except RuntimeError as error:  # only now does Metal compile for the GPU at hand
                raise MetalSyntaxError(f"Metal cannot make a pipeline of {name}: {error}") from error
            return found

        return kernel


MPS = MpsDevice()
