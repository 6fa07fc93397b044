"""The command `pymetal`: one module for each subcommand, loaded when it is called.

Exit codes: 0 success, 1 a finding (a functor that does not compile, no compiler), 2 wrong use.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from pymetal.errors import PyMetalError

# Name, and what it does; each is a module of this package with `configure(parser)` and `run(args) -> int`.
COMMANDS = {
    "emit": "print or write the Metal text of a file's functors",
    "upstream": "place functors in a PyTorch checkout, or check one",
    "migrate": "move native_functions.yaml rows from MPSGraph to the shared stub",
    "check": "measure functors, run their registered form, check their text",
    "bench": "time functors and torch's operators",
    "explain": "say what a refusal PMnnn means and what to write instead",
    "doctor": "show what this machine has and what is missing; test a device",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns its exit code."""
    parser = argparse.ArgumentParser(prog="pymetal", description="Elementwise PyTorch operators in Python, as Metal.")
    parser.add_argument("--version", action="version", version=_version())
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    arguments = list(sys.argv[1:] if argv is None else argv)
    if any("\0" in a for a in arguments):
        print("pymetal: an argument contains a NUL character", file=sys.stderr)
        return 2
    chosen = next((a for a in arguments if not a.startswith("-")), None)
    for name, summary in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=summary, description=summary)
        if name == chosen:
            module = importlib.import_module(f"pymetal.cli.{name}")
            module.configure(subparser)
            subparser.set_defaults(run=module.run)
    try:
        args = parser.parse_args(arguments)
        code: int = args.run(args)
    except PyMetalError as error:
        print(error, file=sys.stderr)
        return 1
    except UsageError as error:
        print(f"pymetal: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe has gone: there is nobody to report to
        return 0
    except OSError as error:
        print(f"pymetal: {error.filename or 'error'}: {error.strerror or error}", file=sys.stderr)
        return 2
    except SystemExit as stop:  # argparse
        return stop.code if isinstance(stop.code, int) else 2
    return code


class UsageError(Exception):
    """The command was called with an argument that does not exist or cannot be read."""


def _version() -> str:
    from pymetal import __version__

    return f"pymetal {__version__}"
