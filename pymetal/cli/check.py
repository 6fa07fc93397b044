"""`pymetal check FILE.py`: whether its functors can be sent."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pymetal import atomic
from pymetal.check.run import PARTS, CheckResult, Options, check, elements, steps
from pymetal.check.torch_operators import AgainstError
from pymetal.cli import UsageError
from pymetal.cli.load import load_functors, print_notes
from pymetal.dtypes import BY_NAME
from pymetal.errors import nearest
from pymetal.functor import Functor
from pymetal.host import float_mode
from pymetal.runtime.operation import Operation

_DELAY = 1.0  # seconds before a progress bar shows


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("file", metavar="FILE.py", help="the Python file with the functors")
    parser.add_argument("--only", metavar="NAME", action="append", help="check this functor; may be repeated")
    parser.add_argument("--dtype", metavar="D", action="append", help="such as float16; default: all registered")
    parser.add_argument(
        "--against", metavar="WHAT", help="torch.NAME, aten.NAME, mpmath.NAME or module:function to compare with; "
        "default: torch's operator of the functor's name",
    )  # fmt: skip
    parser.add_argument("--max-ulp", type=_budget, metavar="N", help="the budget, in place of the decorator's max_ulp=")
    parser.add_argument(
        "--scalar", metavar="NAME=VALUE", action="append", help="a scalar parameter; default: the functor's own"
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="check this alone; may be repeated")
    parser.add_argument("--samples", type=_times, default=1, metavar="N", help="N times as many random operands")
    parser.add_argument("--numerics", choices=float_mode.MODES, help="float arithmetic of the host device")
    parser.add_argument("--replace", action="store_true", help="the functors replace upstream's own")
    parser.add_argument("--torch-headers", metavar="DIR", help="compile against the headers of another torch, instead")
    parser.add_argument("--report", metavar="DIR", help="write DIR/index.html with pictures")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quiet", action="store_true", help="print findings only, and no progress")


def _budget(text: str) -> float:
    with contextlib.suppress(ValueError):
        if (number := float(text)) >= 0:  # NaN is not
            return number
    raise argparse.ArgumentTypeError(f"must be at least 0, not {text!r}")


def _times(text: str) -> int:
    with contextlib.suppress(ValueError):
        if (number := int(text)) >= 1:
            return number
    raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")


def run(args: argparse.Namespace) -> int:
    """Checks; returns 1 if there are findings."""
    loaded = load_functors(args.file, args.only)
    functors = [result for functor in loaded for result in functor.results]
    if args.torch_headers is not None:
        return _other_release(args, functors)
    options = Options(
        tuple(args.part or PARTS), _dtypes(args.dtype, functors), args.against, args.max_ulp,
        _scalars(args.scalar, functors), args.samples, args.replace,
    )  # fmt: skip
    sys.path.insert(0, str(Path(args.file).parent.resolve()))  # for --against module:function
    try:
        with float_mode.numerics(args.numerics or float_mode.current()):
            results = _check_all(functors, options, args.quiet or args.json)
    except AgainstError as error:
        raise UsageError(str(error)) from error
    finally:
        sys.path.pop(0)
    _print(results, loaded, args)
    if args.report is not None:
        _report(results, Path(args.report), args.file, args.quiet or args.json)
    return 1 if any(r.findings for r in results) else 0


def _check_all(functors: Sequence[Operation], options: Options, quiet: bool) -> list[CheckResult]:
    chosen = [f for f in functors if elements(f, options)]
    with progress(sum(steps(f, options) for f in chosen), quiet) as step:
        return [check(f, options, step) for f in chosen]


@contextlib.contextmanager
def progress(total: int, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A function that shows the current step, on a bar that appears after a second; on terminals only."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda what: None
        return
    bar = Progress(console=console, transient=True)
    task = bar.add_task("", total=total)
    count = itertools.count()
    timer = threading.Timer(_DELAY, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda what: bar.update(task, description=what, completed=next(count))
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def _dtypes(wanted: list[str] | None, functors: Sequence[Operation]) -> tuple[str, ...] | None:
    if wanted is None:
        return None
    served = {d.name.rstrip("_") for f in functors for d in f.ir.domain}
    for name in wanted:
        if name not in served:
            near = nearest(name, [n.rstrip("_") for n in BY_NAME])
            hint = f"; did you mean {near!r}?" if near and near != name else ""
            raise UsageError(f"--dtype: no functor here is registered for {name!r}{hint}")
    return tuple(wanted)


def _scalars(given: list[str] | None, functors: Sequence[Operation]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    known = {p.name for f in functors for p in f.ir.overloads[0].function.scalars}
    for text in given or []:
        name, mark, value = text.partition("=")
        try:
            found[name] = complex(value) if "j" in value else float(value) if set(value) & set(".einfa") else int(value)
        except ValueError:
            mark = ""
        if not mark:
            raise UsageError(f"--scalar: {text!r} is not NAME=NUMBER")
        if name not in known:
            near = nearest(name, known)
            raise UsageError(f"--scalar: no functor has {name!r}" + (f"; did you mean {near!r}?" if near else ""))
    return found


def _print(results: Sequence[CheckResult], functors: Sequence[Functor], args: argparse.Namespace) -> None:
    if args.json:
        print(json.dumps({"ok": not any(r.findings for r in results), "functors": [r.as_json() for r in results]}))
    elif args.quiet:
        for finding in (finding for result in results for finding in result.findings):
            print(finding)
    else:
        from rich.console import Console

        from pymetal.check.table import print_results

        print_notes(functors)
        console = Console()
        print_results(results, console if console.is_terminal else Console(width=200))


def _report(results: Sequence[CheckResult], folder: Path, file: str, quiet: bool) -> None:
    from pymetal.check.report import page

    try:
        with progress(len(results), quiet) as step:
            text = page(results, Path(file).name, step)
        folder.mkdir(parents=True, exist_ok=True)
        atomic.write_text(folder / "index.html", text)
    except OSError as error:
        raise UsageError(f"--report: {folder}: {error.strerror or error}") from error
    if not quiet:
        print(f"report: {folder / 'index.html'}", file=sys.stderr)


def _other_release(args: argparse.Namespace, functors: Sequence[Operation]) -> int:
    from pymetal.check.releases import HeadersError, against_headers, open_headers

    try:
        headers = open_headers(Path(args.torch_headers))
    except HeadersError as error:
        raise UsageError(f"--torch-headers: {error}") from error
    rows = []
    with progress(len(functors), args.quiet or args.json) as step:
        for functor in functors:
            step(functor.name)
            rows += against_headers([functor], headers)
    bad = [row for row in rows if not row.ok]
    if args.json:
        print(json.dumps({"ok": not bad, "torch": headers.release, "functors": [asdict(row) for row in rows]}))
    else:
        for row in bad if args.quiet else rows:
            print(f"{row.functor}: torch {headers.release}: {row.why}")
    return 1 if bad else 0
