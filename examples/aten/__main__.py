"""Writes the gallery as `.metal` files of upstream's layout: `python -m examples.aten --emit DIR`."""

from __future__ import annotations

import argparse
from pathlib import Path

import pymetal
from examples.aten import by_file


def main(arguments: list[str] | None = None) -> None:
    """Writes `BinaryKernel.metal`, `UnaryKernel.metal`, `ActivationKernel.metal` and `PointwiseOps.metal`."""
    parser = argparse.ArgumentParser(prog="python -m examples.aten", description=__doc__)
    parser.add_argument("--emit", metavar="DIR", type=Path, required=True, help="the folder to write to")
    folder: Path = parser.parse_args(arguments).emit
    folder.mkdir(parents=True, exist_ok=True)
    for name, functors in by_file().items():
        pymetal.emit(functors.values(), folder / name)
        print(f"{folder / name}: {len(functors)} functors")


if __name__ == "__main__":
    main()
