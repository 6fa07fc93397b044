"""`pymetal bench FILE.py`: how long functors take beside the torch operators of their names."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch

from pymetal.cli import UsageError
from pymetal.cli.load import load_functors
from pymetal.dtypes import DType, Kind, from_torch
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


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("file", metavar="FILE.py", help="the Python file with the functors")
    parser.add_argument("--only", metavar="NAME", action="append", help="measure this functor; may be repeated")
    parser.add_argument("--against", metavar="torch.NAME", help="the torch operator; default: the one of its name")
    parser.add_argument("--device", default="cpu", choices=("cpu", "mps"), help="where the tensors are")
    parser.add_argument("--dtype", action="append", metavar="D", help="such as float16; default: all registered")
    parser.add_argument("--seconds", type=float, default=0.1, help="how long each measurement takes at least")
    parser.add_argument("--json", action="store_true", help="print one JSON array")


def run(args: argparse.Namespace) -> int:
    """Measures; returns the exit code."""
    if args.device == "mps" and not torch.backends.mps.is_available():
        raise UsageError("this machine has no MPS device")
    rows = [
        row
        for functor in load_functors(args.file, args.only)
        for row in measure(functor, find_operator(functor.name, args.against), args.device, args.dtype, args.seconds)
    ]
    if args.json:
        print(json.dumps([asdict(row) for row in rows]))
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table("functor", "dtype", "layout", "elements", "functor us", "torch us", "torch / functor")
    for row in rows:
        theirs = "-" if row.torch_us is None else f"{row.torch_us:.1f}"
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        table.add_row(
            row.functor, row.dtype, row.layout, f"{row.elements:,}", f"{row.functor_us:.1f}", theirs, ratio
        )  # fmt: skip
    Console().print(table)
    return 0


def find_operator(name: str, against: str | None) -> Callable[..., Any] | None:
    """The torch operator to compare with; None if there is none of that name.

    Raises:
        UsageError: `against` names nothing in torch.
    """
    if against is not None:
        found: Any = torch
        for part in against.removeprefix("torch.").split("."):
            found = getattr(found, part, None)
        if not callable(found):
            raise UsageError(f"--against: torch has no {against}")
        return found  # type: ignore[no-any-return]
    for module in (torch, torch.special, torch.nn.functional):
        if callable(found := getattr(module, name, None)):
            return found  # type: ignore[no-any-return]
    return None


def measure(
    functor: Operation, operator: Callable[..., Any] | None, device: str, only: list[str] | None, seconds: float
) -> Iterator[Row]:
    """A row for each dtype, layout and size.

    Raises:
        UsageError: a dtype of `only` is none that the functor is registered for.
    """
    for dtype in _chosen(functor, only):
        for layout in _LAYOUTS:
            for side in _SIDES:
                operands = inputs(functor.arity.inputs, dtype, side, layout, device)
                ours = _time(partial(functor, *operands), device, seconds)
                theirs = None
                if operator is not None:
                    try:
                        theirs = _time(partial(operator, *operands), device, seconds)
                    except (RuntimeError, TypeError, NotImplementedError):
                        theirs = None  # torch lacks the dtype, or takes other arguments
                ratio = theirs / ours if theirs is not None else None
                yield Row(functor.name, dtype.name.rstrip("_"), layout, side * side, ours, theirs, ratio)


def _chosen(functor: Operation, only: list[str] | None) -> list[DType]:
    if only is None:
        return list(functor.ir.domain)
    chosen = []
    for name in only:
        named = getattr(torch, name, None)
        found = from_torch(named) if isinstance(named, torch.dtype) else None
        if found is None or found not in functor.ir.domain:
            registered = ", ".join(d.name.rstrip("_") for d in functor.ir.domain)
            raise UsageError(f"{functor.name} is not registered for {name!r}; it is for {registered}")
        chosen.append(found)
    return chosen


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
