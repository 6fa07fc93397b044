"""A checked functor and the dtypes of a call become a compiled kernel: source text, built once, by one thread."""

from __future__ import annotations

import logging
import re
import threading
from dataclasses import dataclass, field

import torch

from pymetal.arity import installed_release
from pymetal.codegen.functor_text import FunctorText, functor_text
from pymetal.codegen.launch_kernels import KERNEL, LaunchKey, launch_kernel
from pymetal.codegen.metal_file import headers, needs, preamble
from pymetal.errors import DeviceError, MetalSyntaxError, Span
from pymetal.ir import CheckedFunction
from pymetal.runtime.device import Device, Kernel

_log = logging.getLogger(__name__)


def check_release(functor: str, checked: CheckedFunction) -> None:
    """Refuses a functor that calls what the installed torch's headers do not have.

    Raises:
        DeviceError: the name of what is missing and the first release that has it.
    """
    have = installed_release()
    for name, since in needs(checked):
        if since > have:
            raise DeviceError(
                f"{functor} calls {name}, which c10/metal has from torch {since[0]}.{since[1]} on; "
                f"torch {torch.__version__} is installed",
                hint="Install a newer torch, or write the formula out.",
            )


@dataclass
class Programs:
    """The kernels of one functor, each compiled at its first use.

    Attributes:
        name: the functor's.
        results: what computes each of its results.
    """

    name: str
    results: tuple[CheckedFunction, ...]
    text: FunctorText
    _ready: dict[tuple[str, LaunchKey], Kernel] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, device: Device, key: LaunchKey) -> Kernel:
        """The kernel for `key` on `device`."""
        full = (device.variant(), key)
        ready = self._ready.get(full)
        if ready is not None:
            return ready
        with self._lock:  # a second thread waits here, and finds the kernel
            if full not in self._ready:
                for checked in self.results:
                    check_release(self.name, checked)
                self._ready[full] = self._compile(device, key)
            return self._ready[full]

    def _compile(self, device: Device, key: LaunchKey) -> Kernel:
        source = self.source(key)
        _log.debug(source, extra={"stage": "metal", "subject": self.name})
        try:
            return device.compile(source)(KERNEL)
        except MetalSyntaxError as error:
            # Both compilers begin with the place: `program_source:12:5: error: ...`
            place = re.search(r":(\d+):(?:\d+:)? (?:fatal )?error:", str(error))
            span = self._span(key, int(place[1])) if place else None
            raise MetalSyntaxError(
                f"{self.name}: the Metal text of this does not compile on {device.name}: {error.message}",
                span,
                hint="That is a fault of pymetal: please report it with the text of jit_source().",
            ) from error

    def _span(self, key: LaunchKey, line: int) -> Span | None:
        """The place in Python that a line of a kernel's text comes from; lines count from 1."""
        text = self._text(key)
        at = line - 1 - self.source(key).partition(text.source)[0].count("\n")
        return text.spans[at] if 0 <= at < len(text.spans) else None

    def _text(self, key: LaunchKey) -> FunctorText:
        """The functor's text; where the kernel converts what it returns, sums that it returns wrap before that."""
        if key.returned == key.outputs:
            return self.text
        return functor_text(*self.results, called={checked.name for checked in self.results})

    def source(self, key: LaunchKey) -> str:
        """The Metal text that is compiled for a call: the functor's own, not formatted, and a launch kernel."""
        kernel = launch_kernel([checked.name for checked in self.results], key)
        return f"{preamble(set().union(*map(headers, self.results)))}\n{self._text(key).source}\n{kernel}"
