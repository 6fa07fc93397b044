"""`pymetal doctor`: what pymetal uses on this machine, what is missing, and a self-test of a device."""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import sys

import torch

from pymetal.cli import UsageError
from pymetal.codegen.format import find_clang_format
from pymetal.errors import ToolchainError
from pymetal.host.build import machine_flags
from pymetal.host.cache import default_cache
from pymetal.host.toolchain import Compiler, find_compiler
from pymetal.runtime.mps import MPS

_MIB = 2**20


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--device", choices=("mps", "host"),
        help="run the functors of all examples there, and compare them with torch on the CPU",
    )  # fmt: skip
    parser.add_argument("--functors", nargs="+", default=[], metavar="FILE", help="those of these files instead")
    parser.add_argument("--clear-cache", action="store_true", help="remove all compiled kernels from the disk cache")


def run(args: argparse.Namespace) -> int:
    """Reports; returns 1 if the host device has no compiler, or the device of `--device` is missing or wrong."""
    if args.clear_cache:
        _clear(args.json)
        if args.device is None:
            return 0
    if args.device is not None:
        from pymetal.cli import self_test

        return self_test.run(args.device, args.json, args.functors)
    if args.functors:
        raise UsageError("--functors needs --device")
    return _report(args.json)


def _clear(as_json: bool) -> None:
    cache = default_cache()
    freed = cache.clear()
    if as_json:
        print(json.dumps({"cache": str(cache.root), "freed_bytes": freed}))
    else:
        print(f"cache     {cache.root}: {freed / _MIB:.1f} MiB removed")


def _report(as_json: bool) -> int:
    from pymetal import __version__

    problem: str | None = None
    try:
        compiler: Compiler | None = find_compiler()
        machine_flags()
    except ToolchainError as error:
        compiler, problem = None, str(error)
    formatter = find_clang_format()
    release = ".".join(map(str, formatter.release)) if formatter else ""
    cache = default_cache()
    report = {
        "pymetal": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "compiler": compiler and {"version": compiler.version, "command": list(compiler.command)},
        "clang_format": formatter and {"version": release, "path": formatter.path},
        "mps": MPS.available(),
        "cache": str(cache.root),
        "cache_bytes": cache.size(),
        "problem": problem,
    }
    if as_json:
        print(json.dumps(report))
        return 1 if problem else 0
    rows = {
        "pymetal": report["pymetal"], "Python": report["python"], "torch": report["torch"], "system": report["system"],
        "compiler": f"clang {compiler.version} ({shlex.join(compiler.command)})" if compiler else "none",
        "formatter": f"clang-format {release} ({formatter.path})" if formatter else "none: text is not formatted",
        "MPS": "yes" if report["mps"] else "no",
        "cache": f"{cache.root} ({cache.size() / _MIB:.1f} MiB{', for this process only' * cache.is_temporary})",
    }  # fmt: skip
    for name, text in rows.items():
        print(f"{name:<10}{text}")
    if problem:
        print(problem, file=sys.stderr)
        return 1
    return 0
