"""`pymetal bench FILE.py`: the time of functors and of the torch operators of their names."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial

import torch

from pymetal.check.torch_operators import AgainstError, Operator, find_operator
from pymetal.cli import UsageError
from pymetal.cli.load import load_functors
from pymetal.dtypes import DType, Kind
from pymetal.runtime.operation import Operation

_LAYOUTS = ("contiguous", "transposed", "broadcast")
_SIDES = (4, 256, 1024, 4096)  # of square inputs: 16 elements to 2**24


@dataclass(frozen=True)
class Row:
    """One measurement: medians in microseconds, and torch's time over the functor's."""

    functor: str
    dtype: str
    layout: str
    elements: int
    functor_us: float
    torch_us: float | None
    ratio: float | None


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 3600:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 3600")
    return seconds


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("file", metavar="FILE.py", help="the Python file with the functors")
    parser.add_argument("--only", metavar="NAME", action="append", help="measure this functor; may be repeated")
    parser.add_argument("--against", metavar="torch.NAME", help="the torch operator; default: the one of its name")
    parser.add_argument("--device", default="cpu", choices=("cpu", "mps"), help="the device of the tensors")
    parser.add_argument("--dtype", action="append", metavar="D", help="such as float16; default: all registered")
    parser.add_argument("--seconds", type=_seconds, default=0.1, help="the least time of each measurement")
    parser.add_argument("--json", action="store_true", help="print one JSON array")


def run(args: argparse.Namespace) -> int:
    """Measures; returns the exit code."""
    if args.device == "mps" and not torch.backends.mps.is_available():
        raise UsageError("this machine has no MPS device")
    rows: list[Row] = []
    for functor in load_functors(args.file, args.only):
        try:
            operator = find_operator(functor.name, args.against)
        except AgainstError as error:
            raise UsageError(str(error)) from error
        rows += measure(functor, operator, args.device, args.dtype, args.seconds)
    if args.json:
        print(json.dumps([asdict(row) for row in rows]))
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table("functor", "dtype", "layout", "elements", "functor us", "torch us", "torch / functor")
    for row in rows:
        table.add_row(
            row.functor, row.dtype, row.layout, f"{row.elements:,}", f"{row.functor_us:.1f}",
            "-" if row.torch_us is None else f"{row.torch_us:.1f}", "-" if row.ratio is None else f"{row.ratio:.2f}",
        )  # fmt: skip
    Console().print(table)
    return 0


def measure(
    functor: Operation, operator: Operator | None, device: str, only: list[str] | None, seconds: float
) -> Iterator[Row]:
    """A row for each dtype, layout and size.

    Raises:
        UsageError: the functor is not registered for a dtype of `only`.
    """
    registered = {dtype.name.rstrip("_"): dtype for dtype in functor.results[0].ir.domain}
    for name in registered if only is None else only:
        if name not in registered:
            raise UsageError(f"{functor.name} is not registered for {name!r}; it is for {', '.join(registered)}")
        for layout, side in itertools.product(_LAYOUTS, _SIDES):
            operands = inputs(functor.arity.inputs, registered[name], side, layout, device)
            ours, theirs = _time(partial(functor, *operands), device, seconds), None
            if operator is not None:
                # torch may lack the dtype, or take other arguments
                with contextlib.suppress(RuntimeError, TypeError, NotImplementedError):
                    theirs = _time(partial(operator.function, *operands), device, seconds)
            ratio = theirs / ours if theirs is not None else None
            yield Row(functor.name, name, layout, side * side, ours, theirs, ratio)


def inputs(count: int, dtype: DType, side: int, layout: str, device: str) -> list[torch.Tensor]:
    """Square operands; in other layouts than contiguous, the last is transposed or a single row."""
    generator = torch.Generator().manual_seed(0)
    tensors = []
    for _ in range(count):
        if dtype.kind in (Kind.FLOATING, Kind.COMPLEX):
            values = torch.randn(side, side, generator=generator)
        else:
            values = torch.randint(1, 2 if dtype.kind is Kind.BOOL else 100, (side, side), generator=generator)
        tensors.append(values.to(dtype.torch).to(device))
    if layout == "transposed":
        tensors[-1] = tensors[-1].t()
    if layout == "broadcast":
        tensors[-1] = tensors[-1][:1].expand(side, side) if count == 1 else tensors[-1][:1]
    return tensors


def _time(call: Callable[[], object], device: str, seconds: float) -> float:
    """The median time of a call in microseconds."""
    from torch.utils.benchmark import Timer

    wait = "; torch.mps.synchronize()" if device == "mps" else ""
    timer = Timer(f"call(){wait}", globals={"call": call, "torch": torch}, num_threads=torch.get_num_threads())
    call()
    return float(timer.blocked_autorange(min_run_time=seconds).median) * 1e6
