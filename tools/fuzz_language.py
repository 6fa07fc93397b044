"""Compares random functors: the reference, the Metal text on the host device, and Python's own evaluation.

    python tools/fuzz_language.py --programs 5000 --seed 1000000

Prints each mismatch with its seed, and exits with 1 if there is one. The tests run a
hundred of the same programs.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support"), str(ROOT / "tests" / "frontend")]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--programs", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first (default: 0)")
    parser.add_argument("--batch", type=int, default=40, help="how many are compiled at once (default: 40)")
    given = parser.parse_args(arguments)
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYMETAL_CACHE_DIR"] = str(Path(folder) / "cache")
        import differential

        end = given.seed + given.programs
        for start in range(given.seed, end, given.batch):
            for mismatch in differential.check(Path(folder), range(start, min(start + given.batch, end))):
                failures += 1
                print(mismatch, flush=True)
            done = min(start + given.batch, end) - given.seed
            print(f"{done} programs, {failures} mismatches", file=sys.stderr, flush=True)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
