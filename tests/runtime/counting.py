"""Counters: launches, compilations, and the bytes that torch allocates."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from torch.profiler import ProfilerActivity, profile

from pymetal.host.device import HostDevice


@dataclass
class Launches:
    """The `threads` of every launch, in order, and the sources that were compiled."""

    threads: list[int | list[int]] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)


class _Counted:
    def __init__(self, kernel: Any, seen: Launches) -> None:
        self.kernel, self.seen = kernel, seen

    def __call__(self, *args: Any, threads: int | list[int]) -> None:
        self.seen.threads.append(threads)
        self.kernel(*args, threads=threads)


@contextlib.contextmanager
def launches() -> Iterator[Launches]:
    """What the host device does inside, for kernels that are compiled inside: use functors of your own."""
    seen = Launches()
    plain = HostDevice.compile

    def compile_(device: HostDevice, source: str) -> Callable[[str], Any]:
        seen.sources.append(source)
        library = plain(device, source)
        return lambda name: _Counted(library(name), seen)

    with mock.patch.object(HostDevice, "compile", compile_):
        yield seen


def allocations(call: Callable[[], object]) -> list[int]:
    """The sizes in bytes of all blocks of memory that torch allocates on the CPU in a call, temporary ones included."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        kept = call()
    events = seen.profiler.kineto_results.events()
    sizes = [e.nbytes() for e in events if e.name() == "[memory]"]
    del kept
    return [size for size in sizes if size > 0]
