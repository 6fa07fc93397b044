"""Runs the registered form of a functor on the host device: the kernels that upstream's host code launches, by name.

The names, buffers and grids of those kernels change between torch releases, some under one name. Each row of `ROWS`
is one kernel as some range of releases has it; which rows hold is read off a version. Operands are CPU tensors of the
dtypes and layouts that the kernel is for: nothing is chosen, converted or broadcast here but what the kernel does.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch

from pymetal import dtypes, host, ir
from pymetal.arity import installed_release
from pymetal.codegen.registrations import Registration, registrations
from pymetal.dtypes import BY_METAL, DType, Kind
from pymetal.errors import CallError, DeviceError, nearest
from pymetal.host import float_mode
from pymetal.runtime.arguments import check_scalar
from pymetal.runtime.operation import Operation
from pymetal.runtime.plan import Number
from pymetal.runtime.strides import Layout, expanded_strides

Version: TypeAlias = tuple[int, int]

MAX_DIMS = 16  # max_ndim of c10/metal/common.h, which no kernel checks
PER_THREAD = 4  # ILP_PER_THREAD of c10/metal/common.h


@dataclass(frozen=True)
class Row:
    """One kernel of a registration macro.

    Attributes:
        arity: number of tensor operands.
        form: what `run` calls it; rows of one form are versions of it.
        name: the host name, with N, O, I and A for the functor, the result, the element type and the scalar's type.
        args: what is bound after the operands; see `_ARGUMENTS`.
        grid: see `_GRIDS`.
        since, until: the first release that has it, and the last.
        macro: "plain", "alpha" or "castout": the registrations that bring it.
    """

    arity: int
    form: str
    name: str
    args: tuple[str, ...] = ()
    grid: str = "numel"
    since: Version = (2, 8)
    until: Version | None = None
    macro: str = "plain"

    def holds(self, version: Version) -> bool:
        """True if a release has the kernel in this shape."""
        return self.since <= version and (self.until is None or version <= self.until)


_STRIDES_U = ("sizes", "strides 0", "strides out", "ndim")
_ELEMENT_STRIDES_U = ("sizes", "element strides 0", "element strides out", "ndim")
_INNER_U = ("outer sizes", "outer strides 0", "outer strides out", "inner")
_STRIDES_B = ("sizes", "strides out", "strides 0", "strides 1")
_INNER_B = ("outer sizes", "outer strides out", "outer strides 0", "outer strides 1", "inner")
_STRIDES_T = ("sizes", "strides out", "strides 0", "strides 1", "strides 2", "ndim")

ROWS: tuple[Row, ...] = (
    # --- unary ---
    Row(1, "dense", "N_dense_O_I", (), "numel", (2, 7), (2, 12)),
    Row(1, "dense", "N_dense_O_I", ("numel",), "several", (2, 13)),
    Row(1, "dense_scalar", "N_dense_scalar_O_I", (), "numel", (2, 13)),
    Row(1, "strided", "N_strided_O_I", _ELEMENT_STRIDES_U, "numel", (2, 7), (2, 12)),
    Row(1, "strided", "N_strided_O_I", _STRIDES_U, "plane", (2, 13)),
    Row(1, "inner_contiguous", "N_inner_contiguous_O_I", _INNER_U, "inner", (2, 14)),
    Row(1, "dense_castout", "N_dense_castout_I", ("out size, type",), "numel", (2, 13)),
    Row(1, "dense_castout_ilp", "N_dense_castout_ilp_I", ("out size, type, numel",), "several", (2, 13)),
    Row(1, "strided_castout", "N_strided_castout_I", (*_STRIDES_U[:3], "ndim, out type"), "plane", (2, 13)),
    Row(1, "inner_contiguous_castout", "N_inner_contiguous_castout_I", (*_INNER_U[:3], "inner, out size, type"),
        "inner", (2, 14)),
    Row(1, "dense", "N_dense_O_I_A", ("alpha",), "numel", (2, 8), None, "alpha"),
    Row(1, "dense_ilp", "N_dense_ilp_O_I_A", ("alpha", "numel"), "several", (2, 14), None, "alpha"),
    Row(1, "strided", "N_strided_O_I_A", (*_ELEMENT_STRIDES_U, "alpha"), "numel", (2, 8), (2, 12), "alpha"),
    Row(1, "strided", "N_strided_O_I_A", (*_STRIDES_U, "alpha"), "plane", (2, 13), None, "alpha"),
    Row(1, "inner_contiguous", "N_inner_contiguous_O_I_A", (*_INNER_U, "alpha"), "inner", (2, 15), None, "alpha"),
    # --- binary ---
    Row(2, "dense", "N_dense_O_I"),
    Row(2, "dense_ilp", "N_dense_ilp4_O_I", ("numel",), "several", (2, 13)),
    Row(2, "strided", "N_strided_O_I", (*_STRIDES_B, "ndim, types")),
    Row(2, "inner_contiguous", "N_inner_contiguous_O_I", _INNER_B, "inner", (2, 14)),
    Row(2, "dense_cast", "N_dense_cast_I", ("sizes, types",), "numel", (2, 8), (2, 12)),
    Row(2, "dense_cast", "N_dense_cast_O_I", ("sizes, types",), "numel", (2, 13)),
    Row(2, "strided_cast", "N_strided_cast_I", (*_STRIDES_B, "ndim, types"), "numel", (2, 8), (2, 12)),
    Row(2, "strided_cast", "N_strided_cast_O_I", (*_STRIDES_B, "ndim, types"), "numel", (2, 13)),
    Row(2, "strided_castout", "N_strided_castout_O_I", (*_STRIDES_B, "ndim, types"), "numel", (2, 13), None, "castout"),
    Row(2, "dense_broadcast", "N_dense_broadcast_O_I", ("numel 1",), "numel", (2, 10)),
    Row(2, "dense_broadcast_rhs", "N_dense_broadcast_rhs_O_I", ("numel 0",), "numel", (2, 10)),
    Row(2, "dense_broadcast_cast", "N_dense_broadcast_cast_I", ("numel 1", "sizes, types"), "numel", (2, 10), (2, 12)),
    Row(2, "dense_broadcast_cast", "N_dense_broadcast_cast_O_I", ("numel 1", "sizes, types"), "numel", (2, 13)),
    Row(2, "dense_broadcast_rhs_cast", "N_dense_broadcast_rhs_cast_I", ("numel 0", "sizes, types"), "numel", (2, 10),
        (2, 12)),
    Row(2, "dense_broadcast_rhs_cast", "N_dense_broadcast_rhs_cast_O_I", ("numel 0", "sizes, types"), "numel", (2, 13)),
    Row(2, "dense_scalar", "N_dense_scalar_O_I", (), "numel", (2, 10)),
    Row(2, "dense_scalar_lhs", "N_dense_scalar_lhs_O_I", (), "numel", (2, 10)),
    Row(2, "dense_scalar_cast", "N_dense_scalar_cast_I", ("sizes, types",), "numel", (2, 10), (2, 12)),
    Row(2, "dense_scalar_cast", "N_dense_scalar_cast_O_I", ("sizes, types",), "numel", (2, 13)),
    Row(2, "dense_scalar_lhs_cast", "N_dense_scalar_lhs_cast_I", ("sizes, types",), "numel", (2, 10), (2, 12)),
    Row(2, "dense_scalar_lhs_cast", "N_dense_scalar_lhs_cast_O_I", ("sizes, types",), "numel", (2, 13)),
    # --- ternary ---
    Row(3, "dense", "N_dense_O_I", (), "numel", (2, 10)),
    Row(3, "strided", "N_strided_O_I", (*_STRIDES_T, "types, out"), "numel", (2, 10), (2, 10)),
    Row(3, "strided", "N_strided_O_I", _STRIDES_T, "numel", (2, 11), (2, 14)),
    Row(3, "strided", "N_strided_O_I", _STRIDES_T, "space", (2, 15)),
    Row(3, "dense_cast", "N_dense_cast_I", ("widths", "types"), "numel", (2, 10), (2, 14)),
    Row(3, "dense_cast", "N_dense_cast_I", ("widths, out", "types, out"), "numel", (2, 15)),
    Row(3, "strided_cast", "N_strided_cast_I", (*_STRIDES_T, "types, out"), "numel", (2, 10), (2, 14)),
    Row(3, "strided_cast", "N_strided_cast_I", (*_STRIDES_T, "types, out"), "space", (2, 15)),
)  # fmt: skip


def _alpha_twins() -> tuple[Row, ...]:
    """Binary and ternary kernels with a scalar: it comes first, but for broadcasting, where the count does."""
    twins = []
    for row in ROWS:
        if row.arity == 1 or row.form in ("dense_ilp", "inner_contiguous", "strided_castout"):
            continue
        at = 1 if row.args[:1] in (("numel 0",), ("numel 1",)) else 0
        args = (*row.args[:at], "alpha", *row.args[at:])
        since = max(row.since, (2, 15)) if row.arity == 3 else row.since
        if row.until is None or row.until >= since:
            twins.append(Row(row.arity, row.form, f"{row.name}_A", args, row.grid, since, row.until, "alpha"))
    return tuple(twins)


ROWS += _alpha_twins()


@dataclass(frozen=True)
class Launch:
    """The operands of a kernel, and what its arguments are made of."""

    out: torch.Tensor
    tensors: tuple[torch.Tensor, ...]
    alpha: Any  # as it is bound

    @property
    def sizes(self) -> list[int]:
        """Of the dimensions, the fastest first."""
        return list(reversed(self.out.shape)) or [1]

    def strides(self, which: str, in_bytes: bool = True) -> list[int]:
        """Of the output or an operand, the fastest dimension first."""
        tensor = self.out if which == "out" else self.tensors[int(which)]
        expanded = expanded_strides(Layout(tuple(tensor.shape), tensor.stride()), self.out.shape)
        return [stride * (tensor.element_size() if in_bytes else 1) for stride in reversed(expanded)] or [0]

    @property
    def codes(self) -> list[int]:
        """The scalar types of the operands."""
        return [_metal(t.dtype).scalar_type for t in self.tensors]

    @property
    def widths(self) -> list[int]:
        """Bytes of an element of each operand."""
        return [t.element_size() for t in self.tensors]

    @property
    def out_code(self) -> int:
        """The scalar type of the output."""
        return _metal(self.out.dtype).scalar_type


def _words(numbers: Sequence[int]) -> list[int]:
    """A uint2, or what a uint3 takes: four numbers."""
    return list(numbers) if len(numbers) != 3 else [*numbers, 0]


# What an argument is made of, and whether it travels as 32-bit words.
_ARGUMENTS: dict[str, Callable[[Launch], int | list[int]]] = {
    "numel": lambda x: x.out.numel(),
    "numel 0": lambda x: x.tensors[0].numel(),
    "numel 1": lambda x: x.tensors[1].numel(),
    "ndim": lambda x: len(x.sizes),
}
_WORDS: dict[str, Callable[[Launch], Sequence[int]]] = {
    "inner": lambda x: [len(x.sizes) - 1, x.sizes[0]],
    "inner, out size, type": lambda x: [len(x.sizes) - 1, x.sizes[0], x.out.element_size(), x.out_code],
    "ndim, types": lambda x: [len(x.sizes), *x.codes, x.out_code],
    "ndim, out type": lambda x: [len(x.sizes), x.out_code],
    "out size, type": lambda x: [x.out.element_size(), x.out_code],
    "out size, type, numel": lambda x: [x.out.element_size(), x.out_code, x.out.numel()],
    "sizes, types": lambda x: [*x.widths, *x.codes],
    "types": lambda x: x.codes,
    "types, out": lambda x: [*x.codes, x.out_code],
    "widths": lambda x: x.widths,
    "widths, out": lambda x: [*x.widths, x.out.element_size()],
}
_GRIDS: dict[str, Callable[[Launch], list[int]]] = {
    "numel": lambda x: [x.out.numel()],
    "several": lambda x: [-(-x.out.numel() // PER_THREAD)],
    "plane": lambda x: [x.sizes[0], x.out.numel() // x.sizes[0]],
    "inner": lambda x: [-(-x.sizes[0] // PER_THREAD), x.out.numel() // x.sizes[0]],
    "space": lambda x: [*(first := (*x.sizes, 1)[:2]), x.out.numel() // (first[0] * first[1])],
}


def _argument(token: str, launch: Launch) -> tuple[Any, str | None]:
    """An argument of a launch, and its cast."""
    if token == "alpha":
        value = launch.alpha
        return value if isinstance(value, tuple) else (value, None)
    if token in _WORDS:
        return _words(list(_WORDS[token](launch))), "int32"
    if token in _ARGUMENTS:
        return _ARGUMENTS[token](launch), None
    kind, _, which = token.rpartition(" ")
    match kind:
        case "" | "outer":
            return launch.sizes[kind == "outer" :], None
        case "outer strides":
            return launch.strides(which)[1:], None
        case _:
            return launch.strides(which, kind == "strides"), None


def forms(functor: Operation, version: Version | None = None) -> list[str]:
    """The forms that `run` takes for the functor."""
    chosen = version or installed_release()
    macros = {_macro(r) for r in _registrations(functor)}
    return list(
        dict.fromkeys(
            row.form for row in ROWS if row.arity == functor.arity.inputs and row.macro in macros and row.holds(chosen)
        )
    )


def kernel_names(functor: Operation, torch_version: Version | None = None) -> list[str]:
    """The kernels that upstream's host code can ask for, in the order of the registrations.

    Args:
        torch_version: major and minor; None for the installed one.
    """
    version = torch_version or installed_release()
    names = []
    for registration in _registrations(functor):
        if registration.macro.since <= version:
            rows = (r for r in ROWS if r.arity == functor.arity.inputs and r.macro == _macro(registration))
            names += [_host_name(row, registration) for row in rows if row.holds(version)]
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
    operands = [t for t in caller.operands(tensors) if isinstance(t, torch.Tensor)]
    element = dtypes.from_torch(functools.reduce(torch.promote_types, [t.dtype for t in operands]))
    if element is None or element not in functor.ir.domain:
        named = " and ".join(str(t.dtype) for t in operands)
        raise CallError(f"{functor.name} is not registered for {named}")
    row, registration = _find(functor, form, element)
    shape = torch.broadcast_shapes(*(t.shape for t in operands))  # type: ignore[no-untyped-call]
    if out is None:
        out = torch.empty(shape, dtype=BY_METAL[registration.arguments[-1]].torch)
    _check_fit(functor.name, row, operands, out, tuple(shape))
    values = caller.numbers(scalars)
    launch = Launch(out, tuple(operands), _bound_scalars(functor, element, list(values.values())))
    args: list[Any] = [out, *operands]
    casts: dict[int, str] = {}
    for token in row.args:
        value, cast = _argument(token, launch)
        if cast is not None:
            casts[len(args)] = cast
        args.append(value)
    if out.numel():
        kernel = getattr(library(functor), _host_name(row, registration))
        kernel(*args, threads=_GRIDS[row.grid](launch), arg_casts=casts)
    return out


def _check_fit(
    functor: str, row: Row, operands: Sequence[torch.Tensor], out: torch.Tensor, shape: tuple[int, ...]
) -> None:
    """Refuses operands that the kernel would misread: it looks at addresses only."""
    words = row.form.split("_")
    problem = None
    if tuple(out.shape) != shape:
        problem = f"out= has shape {tuple(out.shape)} and the result {shape}"
    elif len(shape) > MAX_DIMS:
        problem = f"it takes at most {MAX_DIMS} dimensions"
    elif "cast" not in words and any(t.dtype != operands[0].dtype for t in operands):
        problem = "its operands have one dtype"
    elif words[0] == "dense":
        full = [t for t in operands if t.shape == shape]
        small = 1 if ("scalar" in words and row.arity == 2) or "broadcast" in words else 0
        last = words[-2:] if words[-1] == "cast" else words[-1:]
        place = 0 if last[0] in ("lhs", "rhs") else 1
        if not all(t.is_contiguous() for t in (out, *operands)):
            problem = "its operands are contiguous"
        elif small and operands[1 - place].shape != shape:
            problem = f"operand {1 - place} has the shape of the result"
        elif small and "scalar" in words and operands[place].numel() != 1:
            problem = f"operand {place} has one element"
        elif "broadcast" in words and operands[place].shape != shape[len(shape) - operands[place].dim() :]:
            problem = f"operand {place} has the last dimensions of the result"
        elif not small and len(full) < len(operands):
            problem = "its operands have one shape"
    if problem is not None:
        raise CallError(f"{functor}: the {row.form} kernel cannot take these: {problem}")


def _find(functor: Operation, form: str, element: DType) -> tuple[Row, Registration]:
    version = installed_release()
    rows = [r for r in ROWS if r.arity == functor.arity.inputs and r.form == form]
    for registration in _registrations(functor):
        if registration.arguments[0] != element.metal:
            continue
        for row in rows:
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


def _metal(dtype: torch.dtype) -> DType:
    found = dtypes.from_torch(dtype)
    if found is None or not found.metal:
        raise CallError(f"Metal has no {dtype}")
    return found


# --- scalars: bytes as the kernel's own type has them ---


def _bound_scalars(functor: Operation, element: DType, values: Sequence[Number]) -> tuple[Any, str | None]:
    """The scalar parameters as one argument: a number with its cast, or the bytes of a struct."""
    overload = functor.ir.overload(element)
    assert overload is not None
    if not values:
        return None, None
    types = []
    for param, value in zip(overload.function.scalars, values, strict=True):
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
            return int(bool(value)) if dtype.kind is Kind.BOOL else int(value)


def _number_bytes(value: Number, dtype: DType) -> bytes:
    if dtype.kind is Kind.FLOATING or dtype.kind is Kind.COMPLEX:
        return bytes(torch.tensor([value], dtype=dtype.torch).view(torch.uint8).tolist())
    assert not isinstance(value, complex)
    whole = int(bool(value)) if dtype.kind is Kind.BOOL else int(value)
    return struct.pack("<Q", whole % (1 << 64))[: dtype.bits // 8]
