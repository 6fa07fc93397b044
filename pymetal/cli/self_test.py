"""The self-test of `pymetal doctor --device`: every functor of the examples on a device, against torch on the CPU."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from pymetal.cli import UsageError
from pymetal.cli.load import load_functors
from pymetal.dtypes import DType, Kind
from pymetal.errors import DeviceError, PyMetalError
from pymetal.functor import Functor
from pymetal.host.float_mode import numerics
from pymetal.runtime.device import find_device

LIMIT = 64.0  # of the error, in units of the result dtype's epsilon times the largest number at hand
_DEVICES = {"mps": "mps", "host": "cpu"}
_LARGE = 300_001  # elements: more than those from which a thread of the dense kernel computes several


@dataclass(frozen=True)
class Row:
    """The result of one functor.

    Attributes:
        dtypes: how many dtypes it was run for.
        error: the largest one, in the units of `LIMIT`.
        problem: what is wrong; None if nothing is.
    """

    file: str
    functor: str
    dtypes: int
    error: float
    problem: str | None


def examples_folder() -> Path:
    """The examples beside the package, as in a checkout.

    Raises:
        UsageError: pymetal was installed without them.
    """
    import pymetal

    folder = Path(pymetal.__file__).parents[1] / "examples"
    if not folder.is_dir():
        raise UsageError("the examples are not installed; name files with functors: --functors FILE ...")
    return folder


def run(device: str, as_json: bool, files: list[str]) -> int:
    """Prints a row for each functor; returns 1 if the device is missing or any functor is wrong on it.

    Args:
        device: `mps` or `host`.
        files: with functors; all examples if there is none.
    """
    where = torch.device(_DEVICES[device])
    if not find_device(where).available():
        missing = "this torch has no MPS device" if device == "mps" else "the host device has no C++ compiler"
        if as_json:
            print(json.dumps({"device": device, "problem": missing, "functors": []}))
        print(missing, file=sys.stderr)
        return 1
    rows = []
    for row in _rows(where, files):
        rows.append(row)
        if not as_json:
            verdict = "ok" if row.problem is None else f"WRONG  {row.problem}"
            print(f"{row.functor:<28}{row.dtypes:>3} dtypes  {row.error:>8.2f} eps  {verdict}", flush=True)
    wrong = sum(row.problem is not None for row in rows)
    if as_json:
        print(json.dumps({"device": device, "problem": None, "functors": [asdict(row) for row in rows]}))
    else:
        print(f"{len(rows)} functors on {device}, {wrong} wrong")
    return 1 if wrong or not rows else 0


def _rows(device: torch.device, files: list[str]) -> Iterator[Row]:
    if files:
        paths = [Path(f) for f in files]
    else:
        folder = examples_folder()
        sys.path.insert(0, str(folder.parent))  # examples import each other
        paths = sorted(p for p in folder.rglob("*.py") if "@pymetal." in p.read_text(encoding="utf-8"))
    for path in paths:
        for functor in load_functors(str(path)):
            yield _row(path, functor, device)


def _row(path: Path, functor: Functor, device: torch.device) -> Row:
    error, problem = 0.0, None
    for element in functor.ir.domain:
        try:
            found = max(_error(functor, element, shape, device) for shape in ((1003,), (17, 59)))
            if element is functor.ir.domain[0]:
                found = max(found, _error(functor, element, (_LARGE,), device))
        except (PyMetalError, RuntimeError, AssertionError) as failure:
            if isinstance(failure, DeviceError) and "c10/metal has from torch" in str(failure):
                break  # this torch is too old for the functor, which is no fault of the device
            problem = problem or f"{element.name}: {type(failure).__name__}: {str(failure).splitlines()[0]}"
            continue
        error = max(error, found)
        if not found <= LIMIT:
            problem = problem or f"{element.name}: off by {found:.3g} eps"
    return Row(path.name, functor.name, len(functor.ir.domain), error, problem)


def _error(functor: Functor, element: DType, shape: tuple[int, ...], device: torch.device) -> float:
    """How far the device is from torch on the CPU, for one dtype; operands of two dimensions are transposed."""
    operands = [_sample(element, shape, seed) for seed in range(functor.arity.inputs)]
    if len(shape) == 2:
        operands = [o.t() if i % 2 == 0 else o.t().contiguous() for i, o in enumerate(operands)]
    scalars: dict[str, Any] = {name: 2 for name, default in functor.caller.scalars.items() if default is None}
    with numerics("ieee"):
        actual = functor(*(o.to(device) for o in operands), **scalars).cpu()
    expected = functor.reference(*operands, **scalars)
    assert actual.dtype == expected.dtype, f"the dtype is {actual.dtype}, not {expected.dtype}"
    assert actual.shape == expected.shape, f"the shape is {tuple(actual.shape)}, not {tuple(expected.shape)}"
    return _distance(actual, expected, operands)


def _distance(actual: torch.Tensor, expected: torch.Tensor, operands: list[torch.Tensor]) -> float:
    """The largest difference in units of epsilon times the largest of 1, the result and the operands."""
    if not (actual.is_floating_point() or actual.is_complex()):
        return 0.0 if torch.equal(actual, expected) else math.inf
    wide = torch.complex128 if actual.is_complex() else torch.float64
    a, e = actual.to(wide), expected.to(wide)
    same = (a == e) | (a.isnan() & e.isnan())
    scale = e.abs().clamp(min=1)
    for operand in operands:
        scale = torch.maximum(scale, operand.to(torch.complex128).abs())
    distance = (a - e).abs() / (torch.finfo(actual.dtype).eps * scale)
    return float(distance.masked_fill(same, 0).nan_to_num(math.inf, math.inf).max())


def _sample(element: DType, shape: tuple[int, ...], seed: int) -> torch.Tensor:
    """Ordinary values: this tests the device, not the functions at their edges."""
    generator = torch.Generator().manual_seed(seed)
    if element.kind is Kind.FLOATING:
        return torch.randn(shape, generator=generator).mul(2).to(element.torch)
    if element.kind is Kind.COMPLEX:
        return torch.randn(shape, generator=generator, dtype=torch.complex64).to(element.torch)
    low, high = {Kind.BOOL: (0, 2), Kind.SIGNED: (-9, 10), Kind.UNSIGNED: (0, 10)}[element.kind]
    return torch.randint(low, high, shape, generator=generator).to(element.torch)
