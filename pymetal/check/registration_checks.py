"""Checks of the registered form of a functor: it compiles, it has the kernels that upstream's host code launches, they
compute what a call computes, and their names are free.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from pymetal.accuracy import grids
from pymetal.arity import installed_release
from pymetal.check import registered
from pymetal.check.findings import Finding, finding
from pymetal.check.measurement import Place
from pymetal.check.operands import Scalars, scalars_for
from pymetal.check.torch_operators import take
from pymetal.codegen.metal_file import required_release
from pymetal.dtypes import DType
from pymetal.errors import CallError, MetalSyntaxError
from pymetal.runtime.operation import Operation

_DATA = Path(__file__).parent / "data" / "host_names.json"
_SHAPE = (29, 31)  # no multiple of what one thread computes
_TRANSPOSED = ("strided", "strided_cast", "strided_castout", "inner_contiguous")


@dataclass(frozen=True)
class RegisteredForm:
    """What was checked of a registered form.

    Attributes:
        kernels: how many kernels were run and compared.
        names: how many kernels upstream's host code can launch.
        forms: those run: dense, strided, broadcast, ...
    """

    kernels: int
    names: int
    forms: tuple[str, ...]
    findings: tuple[Finding, ...] = field(repr=False)


def check_registered_form(functor: Operation, elements: list[DType], *, replaces: bool = False) -> RegisteredForm:
    """Compiles the registered form against the installed headers and compares its kernels with calls.

    Args:
        elements: the dtypes whose kernels are run.
        replaces: the functor is to replace upstream's own of its name.
    """
    since, what = required_release([functor.entry])
    installed = installed_release()
    if since > installed:
        needed, release = (".".join(map(str, version)) for version in (since, installed))
        return RegisteredForm(0, 0, (), (finding("release", functor, since=needed, name=what, release=release),))
    try:
        have = set(dir(registered.library(functor)))
    except MetalSyntaxError as error:
        text = str(error).splitlines()[0]
        return RegisteredForm(0, 0, (), (finding("form-compile", functor, error=text),))
    names = registered.kernel_names(functor)
    found = [finding("form-missing", functor, kernel=n) for n in names if n not in have][:3]
    if not replaces and (clash := clashes(functor)) is not None:
        found.append(finding("clash", functor, kernel=clash[0], release=clash[1]))
    cases = list(_cases(functor, elements))
    registered.library(functor).prepare({kernel for _, _, kernel in cases})
    for form, element, kernel in cases:
        scalars = scalars_for(functor, element, {})
        different = _first_difference(functor, form, _operands(functor, form, element), scalars)
        if different is not None:
            at, times = different
            dtypes = (element.name.rstrip("_"),)
            found.append(finding("form-differs", functor, None, dtypes, kernel=kernel, at=at, count=times))
    return RegisteredForm(len(cases), len(names), tuple(dict.fromkeys(form for form, _, _ in cases)), tuple(found))


def _cases(functor: Operation, elements: list[DType]) -> Iterator[tuple[str, DType, str]]:
    """Each form and dtype that has a kernel, with its name."""
    for element in elements:
        for form in registered.forms(functor):
            with contextlib.suppress(CallError):  # a form of another registration
                yield form, element, registered.kernel_name(functor, form, element)


def _operands(functor: Operation, form: str, element: DType) -> tuple[Tensor, ...]:
    """Edge values and random ones, laid out as the form wants them."""
    count = functor.arity.inputs
    flat = []
    for seed in range(count):
        values = torch.cat([grids.edges(element.torch), _random(element.torch, _SHAPE[0] * _SHAPE[1], seed)])
        order = torch.randperm(_SHAPE[0] * _SHAPE[1], generator=torch.Generator().manual_seed(seed))
        flat.append(take(values, order).view(*_SHAPE))
    if form in _TRANSPOSED:
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
        return torch.view_as_complex(torch.randn(size, 2, generator=generator)).to(dtype)
    if dtype.is_floating_point:
        return (torch.randn(size, generator=generator) * 4).to(dtype)
    return grids.integers(dtype, size, seed)


def _first_difference(
    functor: Operation, form: str, operands: tuple[Tensor, ...], scalars: Scalars
) -> tuple[Place, int] | None:
    """The first element with other bits, and how many there are; all NaNs are equal."""
    shape = torch.broadcast_shapes(*(t.shape for t in operands))  # type: ignore[no-untyped-call]
    # One kernel for all forms: that calls agree in every layout is tested with the runtime.
    wanted = functor(*(t.expand(shape).contiguous() for t in operands), **scalars)
    got = registered.run(functor, form, *operands, out=torch.empty_like(wanted), **scalars)
    different = (~_same_bits(got, wanted)).nonzero()
    if not len(different):
        return None
    at = tuple(different[0].tolist())
    place = Place(tuple(t.expand(shape)[at].item() for t in operands), got[at].item(), wanted[at].item())
    return place, len(different)


def _same_bits(a: Tensor, b: Tensor) -> Tensor:
    if a.is_complex():
        return _same_bits(torch.view_as_real(a), torch.view_as_real(b)).all(-1)
    integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
    same = a.contiguous().view(integer) == b.contiguous().view(integer)
    return same | (a.isnan() & b.isnan()) if a.is_floating_point() else same


# --- upstream's own names --------------------------------------------------------------------------------------------


@functools.cache
def _upstream_groups() -> list[dict[str, str]]:
    """Functors and types of upstream's dense kernels, each with the first and the last release that has them."""
    return json.loads(_DATA.read_text(encoding="ascii"))["groups"]  # type: ignore[no-any-return]


def clashes(functor: Operation) -> tuple[str, str] | None:
    """A kernel whose name upstream has too, and the releases that do; None if all names are free."""
    groups = [group for group in _upstream_groups() if functor.name in group["functors"].split()]
    releases = {types: group for group in groups for types in group["types"].split()}
    for name in registered.kernel_names(functor):
        if (group := releases.get(name.removeprefix(f"{functor.name}_dense_"))) is not None:
            last = f"to {group['last']}" if group["last"] else "and newer"
            return name, f"{group['first']} {last}"
    return None
