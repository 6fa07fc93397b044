"""Runs the registered form of a functor on the host device: the kernels that upstream's host code launches, by name.

Operands are CPU tensors of the dtypes and layouts that a kernel is for: nothing is chosen, converted or broadcast here
but what the kernel does.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
from typing import Any

import torch

from pymetal import dtypes, host, ir
from pymetal.arity import installed_release
from pymetal.check.kernel_forms import GRIDS, KERNEL_FORMS, Launch, Row, Version, argument
from pymetal.check.operands import overload_of
from pymetal.codegen.registrations import Registration, registrations
from pymetal.dtypes import BY_METAL, DType, Kind
from pymetal.errors import CallError, DeviceError, nearest
from pymetal.host import float_mode
from pymetal.runtime.arguments import check_scalar, low_bits
from pymetal.runtime.operation import Operation
from pymetal.runtime.plan import Number

MAX_DIMS = 16  # max_ndim of c10/metal/common.h, which no kernel checks


def forms(functor: Operation, version: Version | None = None) -> list[str]:
    """The forms that `run` takes for the functor."""
    chosen = version or installed_release()
    macros = {_macro(r) for r in _registrations(functor)}
    rows = (row for row in _rows(functor) if row.macro in macros and row.holds(chosen))
    return list(dict.fromkeys(row.form for row in rows))


def kernel_names(functor: Operation, torch_version: Version | None = None) -> list[str]:
    """The kernels that upstream's host code can launch, in the order of the registrations.

    Args:
        torch_version: major and minor; None for the installed one.
    """
    version = torch_version or installed_release()
    names = []
    for registration in _registrations(functor):
        if registration.macro.since <= version:
            rows = (row for row in _rows(functor) if row.macro == _macro(registration) and row.holds(version))
            names += [_host_name(row, registration) for row in rows]
    return names


def library(functor: Operation) -> host.ShaderLibrary:
    """The functor's whole registered form on the host device; its kernels are compiled when they are first used."""
    return _library(functor.metal_source, float_mode.current())


@functools.lru_cache(maxsize=64)
def _library(source: str, mode: str) -> host.ShaderLibrary:
    return host.compile_shader(source, numerics=mode)


def kernel_name(functor: Operation, form: str, element: DType) -> str:
    """The installed version's kernel of a form, for an element type."""
    row, registration = _find(functor, form, element)
    return _host_name(row, registration)


def run(
    functor: Operation, form: str, *tensors: torch.Tensor, out: torch.Tensor | None = None, **scalars: Number
) -> torch.Tensor:
    """Runs one kernel of the functor's registered form.

    Args:
        form: which; see `forms`.
        tensors: CPU tensors that fit the form: of one dtype unless it casts, contiguous unless it is strided; of a
            broadcast form one, and of a scalar form one, has fewer elements.
        out: where to write; its dtype may differ from the result's for a castout form. None for a new tensor.
        scalars: the scalar parameters.

    Returns:
        `out`, or a new tensor.

    Raises:
        CallError: there is no such form, or no registration for the operands.
        DeviceError: the installed torch's headers are too old for the form.
    """
    caller = functor.caller
    given, values = caller.arguments(tensors, scalars)
    operands = [t for t in given if isinstance(t, torch.Tensor)]
    element = dtypes.from_torch(functools.reduce(torch.promote_types, [t.dtype for t in operands]))
    if element is None or element not in functor.ir.domain:
        named = " and ".join(str(t.dtype) for t in operands)
        raise CallError(f"{functor.name} is not registered for {named}")
    row, registration = _find(functor, form, element)
    shape = torch.broadcast_shapes(*(t.shape for t in operands))  # type: ignore[no-untyped-call]
    if out is None:
        out = torch.empty(shape, dtype=BY_METAL[registration.arguments[-1]].torch)
    _check_fit(functor.name, row, operands, out, tuple(shape))
    launch = Launch(out, tuple(operands), _bound_scalars(functor, element, list(values.values())))
    args: list[Any] = [out, *operands]
    casts: dict[int, str] = {}
    for token in row.args:
        value, cast = argument(token, launch)
        if cast is not None:
            casts[len(args)] = cast
        args.append(value)
    if out.numel():
        kernel = getattr(library(functor), _host_name(row, registration))
        kernel(*args, threads=GRIDS[row.grid](launch), arg_casts=casts)
    return out


def _check_fit(
    functor: str, row: Row, operands: Sequence[torch.Tensor], out: torch.Tensor, shape: tuple[int, ...]
) -> None:
    """Refuses operands that the kernel would misread: it looks at addresses only."""
    words = row.form.split("_")
    problem = None
    if tuple(out.shape) != shape:
        problem = f"out= has shape {tuple(out.shape)} and the result has {shape}"
    elif len(shape) > MAX_DIMS:
        problem = f"it takes at most {MAX_DIMS} dimensions"
    elif "cast" not in words and any(t.dtype != operands[0].dtype for t in operands):
        problem = "its operands must have one dtype"
    elif words[0] == "dense":
        full = [t for t in operands if t.shape == shape]
        small = 1 if ("scalar" in words and row.arity == 2) or "broadcast" in words else 0
        last = words[-2:] if words[-1] == "cast" else words[-1:]
        place = 0 if last[0] in ("lhs", "rhs") else 1
        if not all(t.is_contiguous() for t in (out, *operands)):
            problem = "its operands must be contiguous"
        elif small and operands[1 - place].shape != shape:
            problem = f"operand {1 - place} must have the shape of the result"
        elif small and "scalar" in words and operands[place].numel() != 1:
            problem = f"operand {place} must have one element"
        elif "broadcast" in words and operands[place].shape != shape[len(shape) - operands[place].dim() :]:
            problem = f"operand {place} must have the last dimensions of the result"
        elif not small and len(full) < len(operands):
            problem = "its operands must have one shape"
    if problem is not None:
        raise CallError(f"{functor}: the {row.form} kernel cannot run on these operands: {problem}")


def _find(functor: Operation, form: str, element: DType) -> tuple[Row, Registration]:
    version = installed_release()
    rows = [row for row in _rows(functor) if row.form == form]
    for registration in _registrations(functor):
        for row in rows if registration.arguments[0] == element.metal else ():
            if row.macro == _macro(registration) and row.holds(version):
                return row, registration
    have = forms(functor)
    if form in {r.form for r in rows} and form not in have:
        raise DeviceError(f"{functor.name} has no {form} kernel with torch {torch.__version__}")
    near = nearest(form, have)
    raise CallError(
        f"{functor.name} has no {form!r} kernel for {element.name}" + (f"; did you mean {near!r}?" if near else ""),
        hint=f"Its forms are {', '.join(have)}.",
    )


def _rows(functor: Operation) -> list[Row]:
    return [row for row in KERNEL_FORMS if row.arity == functor.arity.inputs]


def _registrations(functor: Operation) -> list[Registration]:
    entry = functor.entry
    return registrations(entry.checked, entry.arity, entry.text.scalar_types, entry.opmath)


def _macro(registration: Registration) -> str:
    if registration.macro.name.endswith("_CASTOUT_OP"):
        return "castout"
    return "alpha" if len(registration.arguments) == 3 else "plain"


def _host_name(row: Row, registration: Registration) -> str:
    """The name's words replaced: the macros put the output first."""
    element, *alpha, result = registration.arguments
    words = {"N": registration.functor, "O": result, "I": element, "A": alpha[0] if alpha else ""}
    return "_".join(words.get(word, word) for word in row.name.split("_"))


# --- scalars: bytes as the kernel's own type has them ---


def _bound_scalars(functor: Operation, element: DType, values: Sequence[Number]) -> tuple[Any, str | None]:
    """The scalar parameters as one argument: a number with its cast, or the bytes of a struct."""
    if not values:
        return None, None
    types = []
    for param, value in zip(overload_of(functor, element).function.scalars, values, strict=True):
        resolved = ir.resolved(param.type, element)
        check_scalar(functor.name, param.name, value, resolved)
        types.append(resolved)
    if len(values) == 1:
        return _number(values[0], types[0]), types[0].cast
    data = b""
    for value, dtype in zip(values, types, strict=True):
        width = dtype.bits // 8
        data += b"\0" * (-len(data) % width) + _number_bytes(value, dtype)
    data += b"\0" * (-len(data) % max(d.bits // 8 for d in types))
    return torch.frombuffer(bytearray(data), dtype=torch.uint8), None  # a struct has no other way in


def _number(value: Number, dtype: DType) -> int | float | list[float]:
    match dtype.kind:
        case Kind.COMPLEX:
            number = complex(value)
            return [number.real, number.imag]
        case Kind.FLOATING:
            assert not isinstance(value, complex)
            return float(value)
        case _:
            assert not isinstance(value, complex)
            return int(bool(value)) if dtype.kind is Kind.BOOL else low_bits(int(value))


def _number_bytes(value: Number, dtype: DType) -> bytes:
    if dtype.kind is Kind.FLOATING or dtype.kind is Kind.COMPLEX:
        return bytes(torch.tensor([value], dtype=dtype.torch).view(torch.uint8).tolist())
    assert not isinstance(value, complex)
    whole = int(bool(value)) if dtype.kind is Kind.BOOL else int(value)
    return struct.pack("<Q", whole % (1 << 64))[: dtype.bits // 8]
