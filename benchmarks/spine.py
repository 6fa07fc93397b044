"""What the pipeline costs: import, decoration, compilation, a call, and a large call beside torch's own operator.

    python benchmarks/spine.py             # every number
    python benchmarks/spine.py --quick     # smaller tensors, fewer repeats: to see that it runs

Times are the best of several, on this machine; compare numbers of one run only.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).parents[1]
TEXT = """
import pymetal
from pymetal import T, metal


@pymetal.binary(promotion="int_to_float")
def atan2_{0}(a: T, b: T) -> T:
    return metal.precise.atan2(a, b)
"""


def best(run: Callable[[], object], repeats: int) -> float:
    """Seconds of the quickest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def line(what: str, seconds: float, aim: str = "") -> None:
    """One number of the report."""
    value = f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"
    print(f"{what:58} {value:>10}  {aim}".rstrip(), flush=True)


# Torch's objects are left out of garbage collections: one of all of them takes 0.1 s, and falls where it falls. Modules
# are compiled once, as they are for a user: the environment may forbid it.
TORCH = "import gc, time, torch; gc.freeze()"


def environment() -> dict[str, str]:
    """Of the processes that are timed."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}


def import_time(repeats: int) -> float:
    """`import pymetal` in a process that has imported torch."""
    code = f"{TORCH}; t = time.perf_counter(); import pymetal; print(time.perf_counter() - t)"
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
        for _ in range(repeats + 1)
    ]
    return statistics.median(float(run.stdout) for run in runs[1:])


@contextlib.contextmanager
def fresh_cache() -> Iterator[str]:
    """A cache folder with nothing in it but what finding the compiler leaves there."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYMETAL_CACHE_DIR"] = folder
        try:
            yield folder
        finally:
            del os.environ["PYMETAL_CACHE_DIR"]


def functor_of(folder: Path, number: int) -> Any:
    """A functor of its own name, so that no cache has it. Its file is written, and not timed."""
    path = folder / f"functor_{number}.py"
    path.write_text(TEXT.format(number))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, f"atan2_{number}")


def decorate_and_emit(folder: Path, repeats: int) -> float:
    """A function becomes a functor and its whole Metal file."""
    import pymetal

    functions = [functor_of(folder, 1000 + i).__wrapped__ for i in range(repeats)]
    times = []
    for function in functions:
        start = time.perf_counter()
        _ = pymetal.binary(promotion="int_to_float")(function).metal_source
        times.append(time.perf_counter() - start)
    return min(times)


FIRST_CALL = f"""
import importlib.util, sys
{TORCH}
spec = importlib.util.spec_from_file_location("functor", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
functor = getattr(module, sys.argv[2])
x = torch.ones(16)
start = time.perf_counter()
functor(x, x)
print(time.perf_counter() - start)
"""


def compile_times(folder: Path, repeats: int) -> tuple[float, float]:
    """The first call of a functor in a process: with nothing in the cache, and with its kernel on disk."""
    functor_of(folder, 0)(torch.ones(16), torch.ones(16))  # the compiler is found, the headers are compiled, once
    cold: list[float] = []
    warm: list[float] = []
    for i in range(1, repeats + 1):
        functor_of(folder, i)
        command = [sys.executable, "-c", FIRST_CALL, str(folder / f"functor_{i}.py"), f"atan2_{i}"]
        for times in (cold, warm):
            run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
            times.append(float(run.stdout))
    return min(cold), min(warm)


def main() -> None:
    """Prints the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller tensors, fewer repeats")
    quick = parser.parse_args().quick
    repeats = 2 if quick else 7
    sys.path.insert(0, str(ROOT))
    from examples.atan2 import atan2

    print(f"torch {torch.__version__}, {torch.get_num_threads()} thread(s)")
    line("import pymetal, beyond import torch", import_time(repeats))
    with tempfile.TemporaryDirectory() as folder, fresh_cache():
        line("decorate and emit one functor", decorate_and_emit(Path(folder), 5 * repeats), "aim: below 2 ms")
        cold, warm = compile_times(Path(folder), repeats)
        line("first call on the host device, nothing cached", cold, "aim: below 1 s")
        line("first call, kernel in the disk cache", warm, "aim: below 30 ms")
        x, y = torch.randn(2, 16)
        calls = 200 if quick else 5000
        ours = best(lambda: [atan2(x, y) for _ in range(calls)], repeats) / calls
        theirs = best(lambda: [torch.atan2(x, y) for _ in range(calls)], repeats) / calls
        line("warm call on 16 elements", ours)
        line("torch.atan2 on 16 elements", theirs)
        count = 1 << (20 if quick else 24)
        x, y = torch.randn(2, count)
        out = torch.empty(count)
        ours = best(lambda: atan2(x, y, out=out), repeats)
        theirs = best(lambda: torch.atan2(x, y, out=out), repeats)
        line(f"atan2 of {count:,} float32", ours)
        line(f"torch.atan2 of {count:,} float32", theirs)
        print(f"{'ratio':58} {ours / theirs:10.2f}")


if __name__ == "__main__":
    main()
