"""`pymetal migrate ROW ... --pytorch DIR`: moves rows from MPSGraph to the shared dispatch stub."""

from __future__ import annotations

import argparse

from pymetal.cli import UsageError
from pymetal.cli.upstream import action_group, add_common, conclude, open_checkout
from pymetal.upstream.planner import migrate


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "rows", metavar="ROW", nargs="+", help="`op` for all rows of its stub, `op.overload` for one, `op.default` too"
    )
    parser.add_argument("--own", metavar="KERNEL", help="give MPS a line of its own in one row, with this kernel")
    add_common(parser)
    action_group(parser)


def run(args: argparse.Namespace) -> int:
    """Migrates; returns the exit code."""
    open_checkout(args.pytorch)
    if args.own and len(args.rows) > 1:
        raise UsageError("--own is for one row")
    return conclude(args, migrate(args.rows, args.pytorch, own_kernel=args.own))
