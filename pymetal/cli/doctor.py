"""`pymetal doctor`: what this machine has that pymetal uses, and what is missing."""

from __future__ import annotations

import argparse
import json
import platform
import sys

import torch

from pymetal.errors import ToolchainError
from pymetal.runtime.cache import default_cache
from pymetal.runtime.mps import MPS
from pymetal.runtime.toolchain import describe, find_compiler


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Reports; returns 1 if the host device has no compiler."""
    from pymetal import __version__

    problem: str | None = None
    try:
        compiler: str | None = describe(find_compiler())
    except ToolchainError as error:
        compiler, problem = None, str(error)
    cache = default_cache()
    report = {
        "pymetal": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "compiler": compiler,
        "mps": MPS.available(),
        "cache": str(cache.root),
        "cache_bytes": cache.size(),
        "problem": problem,
    }
    if args.json:
        print(json.dumps(report))
        return 1 if problem else 0
    print(f"pymetal   {report['pymetal']}")
    print(f"Python    {report['python']}")
    print(f"torch     {report['torch']}")
    print(f"system    {report['system']}")
    print(f"compiler  {compiler or 'none'}")
    print(f"MPS       {'yes' if report['mps'] else 'no'}")
    print(f"cache     {cache.root} ({cache.size() / 2**20:.1f} MiB)")
    if problem:
        print(problem, file=sys.stderr)
        return 1
    return 0
