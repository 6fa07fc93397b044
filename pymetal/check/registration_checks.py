"""The registered form of a functor, as it would be sent: does it compile, does it have the kernels that upstream's host
code asks for, do they compute what a call computes, are their names free.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pymetal.accuracy import grids
from pymetal.arity import installed_release
from pymetal.check import registered
from pymetal.check.findings import Finding, finding
from pymetal.check.operands import default_scalars, fitting
from pymetal.check.outcomes import Place
from pymetal.check.references import rounded_scalars
from pymetal.codegen.metal_file import required_release
from pymetal.dtypes import DType
from pymetal.errors import CallError, MetalSyntaxError
from pymetal.runtime.operation import Operation

_DATA = Path(__file__).parent / "data" / "host_names.json"
_SHAPE = (29, 31)  # no multiple of what one thread computes
# What each form is for: how its operands lie.
_TURNED = ("strided", "strided_cast", "strided_castout", "inner_contiguous")


@dataclass(frozen=True)
class Form:
    """What was looked at.

    Attributes:
        kernels: those that were run and compared.
        names: those that upstream's host code can ask for.
        kinds: the forms run: dense, strided, broadcast, ...
    """

    kernels: int
    names: int
    kinds: tuple[str, ...]
    findings: tuple[Finding, ...]


def check_form(functor: Operation, elements: list[DType], *, replaces: bool = False) -> Form:
    """Compiles the registered form against the installed headers and runs its kernels beside calls.

    Args:
        elements: the dtypes whose kernels are run.
        replaces: the functor is to take the place of upstream's own of its name.
    """
    (major, minor), what = required_release([functor.entry])
    installed = installed_release()
    if (major, minor) > installed:
        release = ".".join(map(str, installed))
        return Form(0, 0, (), (finding("release", functor, since=f"{major}.{minor}", name=what, release=release),))
    try:
        have = set(dir(registered.library(functor)))
    except MetalSyntaxError as error:
        text = str(error).splitlines()[0]
        return Form(0, 0, (), (finding("form-compile", functor, error=text),))
    names = registered.kernel_names(functor)
    found = [finding("form-missing", functor, kernel=n) for n in names if n not in have][:3]
    if not replaces and (clash := clashes(functor)) is not None:
        found.append(finding("clash", functor, kernel=clash[0], release=clash[1]))
    count = 0
    kinds: dict[str, None] = {}
    cases = list(_cases(functor, elements))
    registered.library(functor).prepare({registered.kernel_name(functor, form, e) for form, e, _ in cases})
    for form, element, operands in cases:
        scalars = rounded_scalars(functor, element, fitting(functor, element, default_scalars(functor, {})))
        count += 1
        kinds[form] = None
        different = _differs(functor, form, operands, scalars)
        if different is not None:
            at, times = different
            kernel = registered.kernel_name(functor, form, element)
            found.append(finding("form-differs", functor, None, (_name(element),), kernel=kernel, at=at, count=times))
    return Form(count, len(names), tuple(kinds), tuple(found))


def _name(element: DType) -> str:
    return element.name.rstrip("_")


def _cases(functor: Operation, elements: list[DType]) -> Iterator[tuple[str, DType, tuple[Tensor, ...]]]:
    for element in elements:
        for form in registered.forms(functor):
            try:
                registered.kernel_name(functor, form, element)
            except CallError:
                continue  # a form of another registration
            yield form, element, _operands(functor, form, element)


def _operands(functor: Operation, form: str, element: DType) -> tuple[Tensor, ...]:
    """Edge values and random ones, laid out as the form wants them."""
    count = functor.arity.inputs
    size = _SHAPE[0] * _SHAPE[1]
    columns = []
    for seed in range(count):
        values = torch.cat([grids.edges(element.torch), _random(element.torch, size, seed)])
        order = torch.randperm(size, generator=torch.Generator().manual_seed(seed))
        # torch cannot index complex halves.
        columns.append(torch.stack([values.view(torch.int16).view(-1, 2)[:size][order][:, i] for i in (0, 1)], 1)
                       .contiguous().view(torch.complex32).flatten()
                       if element.torch is torch.complex32 else values[:size][order])  # fmt: skip
    flat = [c.view(*_SHAPE) for c in columns]
    if form in _TURNED:
        return tuple(t.t() if i % 2 == 0 else t.reshape(_SHAPE[1], _SHAPE[0]) for i, t in enumerate(flat))
    if "broadcast" in form and count == 2:
        return (flat[0][3], flat[1]) if "rhs" in form else (flat[0], flat[1][3])
    if "scalar" in form and count == 2:
        one = flat[1][2, 2].reshape(())
        return (one, flat[0]) if "lhs" in form else (flat[0], one)
    return tuple(flat)


def _random(dtype: torch.dtype, size: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_complex:
        parts = torch.randn(size, 2, generator=generator)
        return torch.view_as_complex(parts).to(dtype)
    if dtype.is_floating_point:
        return (torch.randn(size, generator=generator) * 4).to(dtype)
    return grids.integers(dtype, size, seed)


def _differs(
    functor: Operation, form: str, operands: tuple[Tensor, ...], scalars: dict[str, Any]
) -> tuple[Place, int] | None:
    """The first element with other bits, and how many there are; NaNs are alike."""
    shape = torch.broadcast_shapes(*(t.shape for t in operands))  # type: ignore[no-untyped-call]
    # One kernel for all forms: that calls agree in every layout is the runtime's own to test.
    wanted = functor(*(t.expand(shape).contiguous() for t in operands), **scalars)
    got = registered.run(functor, form, *operands, out=torch.empty_like(wanted), **scalars)
    same = _bits(got) == _bits(wanted)
    if got.is_floating_point():
        same |= got.isnan() & wanted.isnan()
    elif got.is_complex():
        a, b = torch.view_as_real(got), torch.view_as_real(wanted)
        same = ((_bits(a) == _bits(b)) | (a.isnan() & b.isnan())).all(-1)
    if bool(same.all()):
        return None
    at = tuple(int(i) for i in (~same).nonzero()[0])
    spread = [t.expand(wanted.shape) for t in operands]
    place = Place(tuple(t[at].item() for t in spread), got[at].item(), wanted[at].item())
    return place, int((~same).sum())


def _bits(x: Tensor) -> Tensor:
    if x.is_complex():
        return x
    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return x.contiguous().view(integers[x.element_size()])


# --- upstream's own names --------------------------------------------------------------------------------------------


@functools.cache
def _upstream() -> dict[str, dict[str, list[str | None]]]:
    """By functor, the types of its dense kernels, each with the first and the last release that has it."""
    return json.loads(_DATA.read_text(encoding="ascii"))["kernels"]  # type: ignore[no-any-return]


def clashes(functor: Operation) -> tuple[str, str] | None:
    """A kernel whose name upstream has too, and the releases that do; None if all names are free."""
    theirs = _upstream().get(functor.name, {})
    for name in registered.kernel_names(functor):
        types = name.removeprefix(f"{functor.name}_dense_")
        if types != name and types in theirs:
            first, last = theirs[types]
            return name, f"{first} to {last}" if last else f"{first} and newer"
    return None
