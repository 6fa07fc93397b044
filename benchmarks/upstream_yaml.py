"""How long the edit of the real native_functions.yaml takes: the one that torch ships with torchgen.

Run `python benchmarks/upstream_yaml.py`. Reading and editing are what every run pays; torchgen's check comes on top.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import torchgen  # type: ignore[import-untyped]

from pymetal.upstream import torchgen_check
from pymetal.upstream.native_functions import NativeFunctions, join

FOLDER = Path(torchgen.__file__).parent / "packaged/ATen/native"


def best(run: Callable[[], object], repeats: int) -> float:
    """The shortest of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Prints one line for each measurement."""
    text = (FOLDER / "native_functions.yaml").read_bytes().decode()
    tags = (FOLDER / "tags.yaml").read_text()
    file = NativeFunctions(text)
    names = [
        name
        for name, row in file.rows.items()
        if (line := row.line("CPU")) and "MPS" not in line.keys and row.kernel("CUDA") == line.kernel
    ]
    print(f"native_functions.yaml: {text.count(chr(10)):,} lines, {len(file.rows):,} rows")
    print(f"read                       {best(lambda: NativeFunctions(text), 5):7.3f} s")
    print(f"edit one row               {best(lambda: join(text, names[:1]), 5):7.3f} s")
    print(f"edit {len(names)} rows              {best(lambda: join(text, names), 5):7.3f} s")
    after = join(text, names)
    intended = {name: file[name].kernel("CPU") or "" for name in names}
    spent = best(lambda: torchgen_check.check_edit(text, after, tags, intended), 2)
    print(f"torchgen reads both texts  {spent:7.3f} s")


if __name__ == "__main__":
    main()
