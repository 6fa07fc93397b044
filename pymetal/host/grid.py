"""The threads of a launch: their counts, and how they are split over CPU threads."""

from __future__ import annotations

import concurrent.futures
import ctypes
import functools
import math
import os
from collections.abc import Callable, Sequence

import torch

from pymetal.errors import DeviceError

MAX_THREADS_PER_GROUP = 1024
GRAIN = 1 << 16  # threads that one CPU thread gets at least: below it, waking another costs more than it saves


class GroupSizeError(DeviceError, ValueError):
    """A threadgroup is larger than the device allows; a ValueError in torch too."""


def extents(value: object, what: str) -> tuple[int, ...]:
    """One to three counts, from an int or a list of ints."""
    values = value if isinstance(value, list | tuple) else (value,)
    if not 1 <= len(values) <= 3:
        raise DeviceError(
            f"Number of threads is undefined or has wrong dimension: {what} has {len(values)} values, not 1 to 3"
        )
    for item in values:
        if not isinstance(item, int) or isinstance(item, bool) or item < 0:
            raise DeviceError(f"{what} must be an int or a list of 1 to 3 ints that are at least 0, not {value!r}")
        if item >= 1 << 32:
            raise DeviceError(f"{what} is {item}; positions in a grid are 32-bit")
    return tuple(values)


def shape(threads: tuple[int, ...], group: tuple[int, ...] | None) -> tuple[int, ...]:
    """Six numbers: the threads along each axis, then the threads of a group along each axis."""
    if group is None:
        group = (min(threads[0], MAX_THREADS_PER_GROUP),) + (1,) * (len(threads) - 1)
    elif len(group) != len(threads):
        raise DeviceError(f"threads has {len(threads)} dimensions and group_size {len(group)}")
    if math.prod(group) > MAX_THREADS_PER_GROUP:
        raise GroupSizeError(f"Threadgroup size exceeds {MAX_THREADS_PER_GROUP} limit")
    if math.prod(threads) and 0 in group:
        raise DeviceError(f"group_size is {list(group)}; each of its values must be at least 1")
    fill = (1,) * (3 - len(threads))
    return (*threads, *fill, *group, *fill)


def workers(threads: int) -> int:
    """How many CPU threads are worth using."""
    if threads < 2 * GRAIN:
        return 1
    return min(torch.get_num_threads(), threads // GRAIN)


@functools.lru_cache(maxsize=1)
def _pool(size: int) -> concurrent.futures.ThreadPoolExecutor:
    """Threads for the parts of a large grid, made when first needed and again after a fork."""
    return concurrent.futures.ThreadPoolExecutor(size, thread_name_prefix="pymetal")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def run(entry: Callable[..., None], addresses: Sequence[int], grid: tuple[int, ...]) -> None:
    """Call the kernel's entry point for every thread of the grid."""
    total = grid[0] * grid[1] * grid[2]
    if total == 0:
        return
    pointers = (ctypes.c_void_p * (len(addresses) + 1))(*addresses)
    counts = (ctypes.c_ulong * 6)(*grid)
    parts = workers(total)
    if parts == 1:
        entry(pointers, counts, 0, total)
        return
    # Parts start at multiples of 64 threads, so that two CPU threads seldom write to one cache line.
    bounds = [total * i // parts & ~63 for i in range(parts)] + [total]
    executor = _pool(torch.get_num_threads())
    futures = [executor.submit(entry, pointers, counts, bounds[i], bounds[i + 1]) for i in range(1, parts)]
    entry(pointers, counts, bounds[0], bounds[1])
    for future in futures:
        future.result()
