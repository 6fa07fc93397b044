"""`pymetal emit FILE.py`: the Metal text of a file's functors."""

from __future__ import annotations

import argparse
import sys

from pymetal.cli import UsageError
from pymetal.cli.load import load_functors, print_notes
from pymetal.files import emit
from pymetal.runtime.operation import metal_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("file", metavar="FILE.py", help="the Python file with the functors")
    parser.add_argument("-o", "--output", metavar="OUT.metal", help="write there; `-` is standard output")
    parser.add_argument("--only", metavar="NAME", action="append", help="emit this functor; may be repeated")


def run(args: argparse.Namespace) -> int:
    """Emits; returns the exit code."""
    functors = load_functors(args.file, args.only)
    print_notes(functors)
    if args.output in (None, "-"):
        sys.stdout.write(metal_text(functors))
        return 0
    try:
        emit(functors, args.output)
    except OSError as error:
        raise UsageError(f"{args.output}: {error.strerror or error}") from error
    names = ", ".join(f.name for f in functors)
    print(f"{args.output}: {names}", file=sys.stderr)
    return 0
