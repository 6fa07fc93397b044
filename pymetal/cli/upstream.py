"""`pymetal upstream FILE.py --pytorch DIR`: places a file's functors in a PyTorch checkout, or checks one."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path

from pymetal.cli import UsageError
from pymetal.cli.load import load_functors
from pymetal.errors import PyMetalError
from pymetal.functor import Functor
from pymetal.upstream.checkout import Checkout
from pymetal.upstream.checks import check_tree
from pymetal.upstream.numerics import Accuracy, measure
from pymetal.upstream.placement import Placement
from pymetal.upstream.planner import place
from pymetal.upstream.report import data, findings, pr_text, summary


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("file", metavar="FILE.py", nargs="?", help="the Python file with the functors")
    parser.add_argument("--only", metavar="NAME", action="append", help="place this functor; may be repeated")
    parser.add_argument("--stub", metavar="NAME", help="the dispatch stub, where the functor's name does not tell it")
    parser.add_argument("--file", metavar="NAME.metal", dest="metal", help="the Metal file, existing or new")
    parser.add_argument("--replace", action="store_true", help="put the functor in the place of one of the same name")
    add_common(parser)
    actions = action_group(parser)
    actions.add_argument("--check", action="store_true", help="check the checkout as it is; needs no FILE.py")
    actions.add_argument("--pr-text", action="store_true", help="print the description of a pull request")
    parser.add_argument(
        "--since",
        metavar="COMMIT",
        help="with --check: compile and lay out what changed since then; with --pr-text: describe it; default HEAD",
    )


def add_common(parser: argparse.ArgumentParser) -> None:
    """The arguments that `upstream` and `migrate` share."""
    parser.add_argument("--pytorch", metavar="DIR", required=True, help="the root of a PyTorch checkout")
    parser.add_argument("--force", action="store_true", help="write on top of uncommitted changes, which are kept")
    parser.add_argument("--no-check", action="store_true", help="write even if the checks find something")
    parser.add_argument("--no-compile", action="store_true", help="do not compile the Metal files on the host device")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def action_group(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """What to do with the edits; without one of these they are summed up."""
    actions = parser.add_mutually_exclusive_group()
    actions.add_argument("--diff", action="store_true", help="print the edits as a unified diff, for git apply")
    actions.add_argument("--apply", action="store_true", help="write the edits: all files or none")
    return actions


def run(args: argparse.Namespace) -> int:
    """Places, checks or describes; returns the exit code."""
    open_checkout(args.pytorch)
    if args.check:
        if args.file:
            raise UsageError("--check looks at the checkout as it is: leave FILE.py out")
        return _check(args)
    if not args.file:
        raise UsageError("pass the FILE.py with the functors, or --check")
    functors = load_functors(args.file, args.only)
    for functor in functors:
        functor.check_one_result()
    if args.stub and len(functors) > 1:
        raise UsageError(f"--stub is for one functor, and {args.file} has {len(functors)}: pass --only NAME too")
    placement = place(
        [f.entry for f in functors], args.pytorch, stub=args.stub, file=args.metal, replace=args.replace
    )  # fmt: skip
    if args.pr_text:
        return _describe(args, functors, placement)
    return conclude(args, placement)


def open_checkout(folder: str) -> Checkout:
    """The checkout in a folder.

    Raises:
        UsageError: it is none.
    """
    try:
        return Checkout.open(folder)
    except PyMetalError as error:
        raise UsageError(str(error)) from error


def conclude(args: argparse.Namespace, placement: Placement) -> int:
    """Shows or writes the edits; returns the exit code."""
    report = placement.check(compile_metal=not args.no_compile)
    refused = bool(report.findings) and not args.no_check
    written = args.apply and not refused and bool(placement.apply(force=args.force))
    if args.json:
        print(json.dumps(data(placement, report, applied=written), indent=2))
    elif args.diff:
        sys.stdout.write(placement.diff())
        sys.stderr.write(summary(placement, report))
    else:
        sys.stdout.write(summary(placement, report))
    if args.apply and refused and placement and not args.json:
        print("nothing was written: fix what the checks found, or pass --no-check", file=sys.stderr)
    return 1 if report.findings else 0


def _check(args: argparse.Namespace) -> int:
    checkout = open_checkout(args.pytorch)
    notes = []
    try:
        changed = checkout.changed_since(args.since or "HEAD")
    except PyMetalError as error:
        if args.since:
            raise
        changed, notes = {}, [f"nothing was compiled or laid out: {error.message}"]
    report = check_tree(checkout, changed, compile_metal=not args.no_compile)
    report.notes += notes
    if args.json:
        print(json.dumps({"findings": findings(report), "notes": report.notes}, indent=2))
    else:
        for finding in report.findings:
            print(finding)
        for note in report.notes:
            print(f"note: {note}", file=sys.stderr)
    return 1 if report.findings else 0


def _describe(args: argparse.Namespace, functors: list[Functor], placement: Placement) -> int:
    difference = placement.since(args.since, compile_metal=not args.no_compile)
    accuracy = [(f.name, _accuracy(f)) for f in functors]
    names = "".join(f" --only {n}" for n in args.only or ())
    command = f"pymetal bench {shlex.quote(Path(args.file).name)}{names}"
    text = pr_text(placement, difference, accuracy, command)
    if args.json:
        print(json.dumps({"text": text, "findings": findings(difference.report)}, indent=2))
    else:
        sys.stdout.write(text)
    return 1 if difference.report.findings else 0


def _accuracy(functor: Functor) -> list[Accuracy] | str:
    """The functor's errors, or why they could not be measured: a scalar without default, no compiler."""
    try:
        return measure(functor, functor.reference, functor.arity.inputs, functor.ir.domain)
    except PyMetalError as error:
        return error.message
