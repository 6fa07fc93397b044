"""The host device: Metal text compiled as C++, for CPU tensors, with the call protocol of `torch.mps.compile_shader`.

::

    library = pymetal.host.compile_shader(source)
    library.my_kernel(out, x, threads=out.numel())

`toolchain` finds the compiler; `translate`, `rewrite` and `signature` turn Metal into C++ over the headers in `shim/`;
`build` and `cache` make and keep libraries; `library` launches their kernels; `device` is the row of the device table.
"""

from __future__ import annotations

from pymetal.host.float_mode import numerics
from pymetal.host.library import Kernel, ShaderLibrary, clear_memory, compile_shader

__all__ = ["Kernel", "ShaderLibrary", "clear_memory", "compile_shader", "numerics"]
