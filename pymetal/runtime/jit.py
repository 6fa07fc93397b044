"""A checked functor and the dtypes of a call become a running program: source text, compiled once, and its kernels."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import torch

from pymetal.codegen.launch import DENSE, STRIDED, LaunchKey, launch_kernels
from pymetal.codegen.library import headers
from pymetal.ir import Checked
from pymetal.runtime.device import Device, Kernel
from pymetal.runtime.plan import is_dense, strided_arguments

Bound: TypeAlias = int | float | list[float]  # a scalar as it is bound

# Threads of one launch are counted in 32 bits.
MAX_THREADS = 2**31


@dataclass(frozen=True)
class Program:
    """The two kernels of a functor for the dtypes of a call, on one device."""

    source: str
    dense: Kernel
    strided: Kernel

    def launch(self, out: torch.Tensor, tensors: Sequence[torch.Tensor], scalars: Sequence[Bound]) -> None:
        """Computes `out` from `tensors`, which broadcast to its shape."""
        count = out.numel()
        if count == 0:
            return
        if count > MAX_THREADS:
            self._split(out, tensors, scalars)
        elif is_dense(out, tensors):
            self.dense(out, *tensors, *scalars, threads=count)
        else:
            sizes, strides, ndim = strided_arguments(out, tensors)
            self.strided(out, *tensors, *scalars, sizes, strides, ndim, threads=count)

    def _split(self, out: torch.Tensor, tensors: Sequence[torch.Tensor], scalars: Sequence[Bound]) -> None:
        dim = max(range(out.dim()), key=lambda d: out.shape[d])
        half = out.shape[dim] // 2
        whole = [t.expand(out.shape) for t in tensors]
        for start, length in ((0, half), (half, out.shape[dim] - half)):
            self.launch(out.narrow(dim, start, length), [t.narrow(dim, start, length) for t in whole], scalars)


def jit_source(checked: Checked, functor_source: str, key: LaunchKey) -> str:
    """The Metal text that is compiled for a call: the functor's own, to the letter, and launch kernels."""
    includes = "".join(f"#include <{h}>\n" for h in sorted(headers(checked)))
    kernels = launch_kernels(checked.name, key)
    return f"{includes}#include <metal_stdlib>\n\nusing namespace metal;\n\n{functor_source}\n{kernels}"


@dataclass
class Programs:
    """The programs of one functor, each compiled at its first use, by one thread."""

    checked: Checked
    functor_source: str
    _ready: dict[tuple[str, LaunchKey], Program] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, device: Device, key: LaunchKey) -> Program:
        """The program for `key` on `device`."""
        full = (device.variant(), key)
        ready = self._ready.get(full)
        if ready is not None:
            return ready
        with self._lock:  # a second thread waits here, and finds the program
            if full not in self._ready:
                self._ready[full] = self._compile(device, key)
            return self._ready[full]

    def _compile(self, device: Device, key: LaunchKey) -> Program:
        source = jit_source(self.checked, self.functor_source, key)
        kernel = device.compile(source)
        return Program(source, kernel(DENSE), kernel(STRIDED))
