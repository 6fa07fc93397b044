"""Speed and accuracy of the host device's elementary functions, beside a loop that calls libm.

    python benchmarks/elementary.py                    # every function: ns an element, times faster, sampled max ulp
    python benchmarks/elementary.py exp sin            # some
    python benchmarks/elementary.py --exhaustive exp   # max ulp over all 2**32 floats (some minutes each)

One thread. The referee is numpy in double.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from elementary_library import FUNCTIONS, Floats, Library, reference, ulps

CHUNK = 1 << 20


def seconds(run: Callable[[], object], repeats: int) -> float:
    """The best of several."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def max_ulp(library: Library, name: str, stride: int) -> float:
    """The largest error over every float, or every `stride`-th; a second argument is drawn so that results vary."""
    worst = 0.0
    generator = np.random.default_rng(0)
    for start in range(0, 2**32, CHUNK * stride):
        x = np.arange(start, min(start + CHUNK * stride, 2**32), stride).astype(np.uint32).view(np.float32)
        arguments: tuple[Floats, ...] = (x,)
        if FUNCTIONS[name].arity == 2:
            power = generator.uniform(-150, 130, x.size)
            with np.errstate(all="ignore"):
                y = power / np.log2(np.abs(x)) if name.startswith("pow") else np.exp2(power / 10) * x
                arguments = (x, y.astype(np.float32))
        worst = max(worst, float(ulps(library(name, *arguments), reference(name, *arguments)).max()))
    return worst


def row(library: Library, name: str, size: int) -> str:
    """One line of the table."""
    function = FUNCTIONS[name]
    generator = np.random.default_rng(0)
    low, high = function.domain
    arguments = [generator.uniform(low, high, size).astype(np.float32) for _ in range(function.arity)]
    out = np.zeros_like(arguments[0])
    ours = seconds(lambda: library(name, *arguments, out=out), 5) / size
    libm, times = "", ""
    if function.libm:
        part = [a[: 1 << 20] for a in arguments]
        scalar = seconds(lambda: library(name, *part, variant="scalar"), 3) / part[0].size
        libm, times = f"{scalar * 1e9:.2f}", f"{scalar / ours:.1f}"
    error = max_ulp(library, name, 1021)
    return f"{name:6} {ours * size * 1e3:8.2f} {ours * 1e9:11.3f} {libm:>8} {times:>6}  {error:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="function", help=", ".join(FUNCTIONS))
    parser.add_argument("--exhaustive", action="store_true", help="compare all floats, and do not time")
    parser.add_argument("--size", type=int, default=1 << 24, help="elements (default 2**24)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = Library(Path(folder), "-ffp-contract=on", libm=True)
        print(f"{'':6} {'ms':>8} {'ns/element':>11} {'libm':>8} {'times':>6}  max ulp")
        for name in options.names or FUNCTIONS:
            if options.exhaustive:
                print(f"{name:6} {'':36}  {max_ulp(library, name, 1):.5f}", flush=True)
            else:
                print(row(library, name, options.size), flush=True)


if __name__ == "__main__":
    main()
