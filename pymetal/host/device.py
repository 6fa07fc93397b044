"""The host device: the same Metal text, compiled as C++, on CPU tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable

from pymetal.errors import ToolchainError
from pymetal.host import float_mode
from pymetal.host.library import compile_shader
from pymetal.host.toolchain import find_compiler
from pymetal.runtime.device import Kernel


class HostDevice:
    """CPU tensors, by a C++ compiler."""

    name = "host"
    several_from = 1 << 62  # never: the loop over threads is the compiler's to unroll

    def variant(self) -> str:
        """The numerics mode: `apple` or `ieee`."""
        return float_mode.current()

    def available(self) -> bool:
        """True if a C++ compiler that can be used is found."""
        try:
            find_compiler()
        except ToolchainError:
            return False
        return True

    def compile(self, source: str) -> Callable[[str], Kernel]:
        """Compiles a Metal source; see :meth:`pymetal.runtime.device.Device.compile`."""
        return functools.partial(getattr, compile_shader(source))


HOST = HostDevice()
