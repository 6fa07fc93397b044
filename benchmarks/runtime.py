"""What a call costs besides its arithmetic: on small tensors, at first use, in memory, and over odd layouts.

Times are medians over many calls, interleaved with those of torch's own operator so that both meet the same machine.
Run it as `python -m benchmarks.runtime`; `--quick` takes fewer and smaller samples.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.profiler import ProfilerActivity, profile

import pymetal
from examples.atan2 import atan2
from pymetal import T
from pymetal.functor import Functor


@pymetal.binary(dtypes=("floating", "integral", "bool", "complex"))
def plus(a: T, b: T) -> T:
    return a + b


@pymetal.binary(dtypes="floating")
def plus_alpha(a: T, b: T, *, alpha: T = 1) -> T:
    return a + alpha * b


Work = Callable[[], object]


@dataclass(frozen=True)
class Pair:
    """A call of pymetal and what it is compared with."""

    name: str
    ours: Work
    theirs: Work
    aim: float | None = None  # microseconds that ours may take more


def per_call(work: Work, count: int) -> float:
    """Seconds of one call, over `count` of them."""
    start = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - start) / count


def measure(pair: Pair, rounds: int, count: int) -> tuple[float, float]:
    """Seconds of a call of each, medians over rounds that take turns."""
    for work in (pair.ours, pair.theirs):
        per_call(work, 3)
    times = [(per_call(pair.ours, count), per_call(pair.theirs, count)) for _ in range(rounds)]
    ours, theirs = zip(*times, strict=True)
    return statistics.median(ours), statistics.median(theirs)


def small_calls(rounds: int) -> None:
    """Warm calls on 16 elements."""
    x, y, row, column = torch.randn(4, 4), torch.randn(4, 4), torch.randn(4), torch.randn(4, 1)
    whole = torch.arange(16).view(4, 4)
    pairs = [
        Pair("same shape", lambda: plus(x, y), lambda: torch.add(x, y), 5),
        Pair("same shape, atan2", lambda: atan2(x, y), lambda: torch.atan2(x, y), 5),
        Pair("broadcast row", lambda: plus(x, row), lambda: torch.add(x, row), 12),
        Pair("broadcast column", lambda: plus(x, column), lambda: torch.add(x, column), 12),
        Pair("number", lambda: plus(x, 2.0), lambda: torch.add(x, 2.0)),
        Pair("scalar", lambda: plus_alpha(x, y, alpha=2.0), lambda: torch.add(x, y, alpha=2.0)),
        Pair("other dtype", lambda: plus(x, whole), lambda: torch.add(x, whole)),
        Pair("out=", lambda: plus(x, y, out=out), lambda: torch.add(x, y, out=out)),
    ]
    out = torch.empty(4, 4)
    print("warm call, 16 elements    pymetal      torch   more by   aim   Python calls")
    for pair in pairs:
        ours, theirs = measure(pair, rounds, 500)
        aim = f"{pair.aim:>3.0f} us" if pair.aim is not None else ""
        times = f"{ours * 1e6:>7.2f} us {theirs * 1e6:>7.2f} us {(ours - theirs) * 1e6:>6.2f} us"
        print(f"  {pair.name:<22}{times} {aim:>6} {calls(pair.ours):>8}")


def calls(work: Work) -> int:
    """Python functions that one call enters."""
    entered = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal entered
        entered += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return entered - 1


_COLD = """
import time
import torch
from examples.atan2 import atan2
x = torch.randn(16)
start = time.perf_counter()
atan2(x, x)
print(time.perf_counter() - start)
"""


def cold_calls(repeats: int) -> None:
    """First calls in new processes: compiling, then loading what another process compiled."""
    compiled: list[float] = []
    loaded: list[float] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "PYMETAL_CACHE_DIR": folder}
            for kept in (compiled, loaded):
                done = subprocess.run(
                    [sys.executable, "-c", _COLD], env=environment, capture_output=True, text=True, check=True
                )
                kept.append(float(done.stdout))
    print("first call of a functor in a process")
    print(f"  empty disk cache      {statistics.median(compiled) * 1e3:>8.1f} ms")
    print(f"  disk cache            {statistics.median(loaded) * 1e3:>8.1f} ms")


def peak(work: Work) -> int:
    """The most bytes that torch has allocated at one time during a call."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        kept = work()
    events = [e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"]
    del kept
    held, most = 0, 0
    for event in sorted(events, key=lambda e: int(e.start_ns())):
        held += event.nbytes()
        most = max(most, held)
    return most


def layouts(elements: int) -> list[tuple[str, Functor, Callable[..., torch.Tensor], torch.Tensor, torch.Tensor]]:
    """Operands that are not dense, of one dtype, or of one shape."""
    side = int(elements**0.5)
    x, y = torch.randn(side, side), torch.randn(side, side)
    wide = torch.randn(side, 2 * side)
    return [
        ("dense", plus, torch.add, x, y),
        ("half and float", plus, torch.add, x.half(), y),
        ("long and float", plus, torch.add, x.long(), y),
        ("row", plus, torch.add, x, y[0]),
        ("column", plus, torch.add, x, y[:, :1]),
        ("outer", plus, torch.add, x[:, :1], y[:1]),
        ("transposed", plus, torch.add, x.t(), y),
        ("every other column", plus, torch.add, wide[:, ::2], y),
        ("every other row", plus, torch.add, wide.view(2 * side, side)[::2], y),
        ("atan2, dense", atan2, torch.atan2, x, y),
        ("atan2, row", atan2, torch.atan2, x, y[0]),
        ("atan2, transposed", atan2, torch.atan2, x.t(), y),
    ]


def large_calls(elements: int, rounds: int) -> None:
    """Throughput and peak memory, as ratios to torch in the same run."""
    print(f"{elements:,} elements         pymetal      torch   torch/pymetal   peak memory over the result's")
    for name, functor, operator, a, b in layouts(elements):
        pair = Pair(name, lambda f=functor, a=a, b=b: f(a, b), lambda o=operator, a=a, b=b: o(a, b))  # type: ignore[misc]
        ours, theirs = measure(pair, rounds, 1)
        result = operator(a, b)
        over = peak(pair.ours) - result.numel() * result.element_size()
        print(f"  {name:<22}{ours * 1e3:>7.1f} ms {theirs * 1e3:>7.1f} ms {theirs / ours:>11.2f} {over:>19,} bytes")


def main() -> None:
    """Prints all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller samples")
    quick = parser.parse_args().quick
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {os.cpu_count()} cores")
    small_calls(5 if quick else 31)
    cold_calls(1 if quick else 5)
    large_calls(1 << 20 if quick else 1 << 24, 3 if quick else 9)


if __name__ == "__main__":
    main()
