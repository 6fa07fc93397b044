"""The kernels that the registration macros of `c10/metal/indexing.h` make, by torch release.

Their names, buffers and grids change between releases, some under one name. Each row is one kernel as some range of
releases has it; which rows hold is read off a version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch

from pymetal import dtypes
from pymetal.dtypes import DType
from pymetal.errors import CallError
from pymetal.runtime.strides import Layout, expanded_strides

Version: TypeAlias = tuple[int, int]
PER_THREAD = 4  # ILP_PER_THREAD of c10/metal/common.h


@dataclass(frozen=True)
class Row:
    """One kernel of a registration macro.

    Attributes:
        arity: number of tensor operands.
        form: its name in `registered.run`; rows of one form are versions of it.
        name: the host name, with N, O, I and A for the functor, the result, the element type and the scalar's type.
        args: what is bound after the operands; see `_ARGUMENTS`.
        grid: see `GRIDS`.
        since, until: the first release that has it, and the last.
        macro: "plain", "alpha" or "castout": the registrations that make it.
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

KERNEL_FORMS: tuple[Row, ...] = (
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
    for row in KERNEL_FORMS:
        if row.arity == 1 or row.form in ("dense_ilp", "inner_contiguous", "strided_castout"):
            continue
        at = 1 if row.args[:1] in (("numel 0",), ("numel 1",)) else 0
        args = (*row.args[:at], "alpha", *row.args[at:])
        since = max(row.since, (2, 15)) if row.arity == 3 else row.since
        if row.until is None or row.until >= since:
            twins.append(Row(row.arity, row.form, f"{row.name}_A", args, row.grid, since, row.until, "alpha"))
    return tuple(twins)


KERNEL_FORMS += _alpha_twins()


# --- how they are launched ---


@dataclass(frozen=True)
class Launch:
    """The operands of a kernel, and what its arguments are made of."""

    out: torch.Tensor
    tensors: tuple[torch.Tensor, ...]
    alpha: tuple[Any, str | None]  # as it is bound, and its cast

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


# What an argument is made of; a sequence is bound as 32-bit words.
_ARGUMENTS: dict[str, Callable[[Launch], int | Sequence[int]]] = {
    "numel": lambda x: x.out.numel(),
    "numel 0": lambda x: x.tensors[0].numel(),
    "numel 1": lambda x: x.tensors[1].numel(),
    "ndim": lambda x: len(x.sizes),
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
GRIDS: dict[str, Callable[[Launch], list[int]]] = {
    "numel": lambda x: [x.out.numel()],
    "several": lambda x: [-(-x.out.numel() // PER_THREAD)],
    "plane": lambda x: [x.sizes[0], x.out.numel() // x.sizes[0]],
    "inner": lambda x: [-(-x.sizes[0] // PER_THREAD), x.out.numel() // x.sizes[0]],
    "space": lambda x: [*(first := (*x.sizes, 1)[:2]), x.out.numel() // (first[0] * first[1])],
}


def argument(token: str, launch: Launch) -> tuple[Any, str | None]:
    """An argument of a launch, and its cast."""
    if token == "alpha":
        return launch.alpha
    if token in _ARGUMENTS:
        value = _ARGUMENTS[token](launch)
        if isinstance(value, int):
            return value, None
        return [*value, *[0] * (len(value) == 3)], "int32"  # a uint3 has the size of four words
    kind, _, which = token.rpartition(" ")
    match kind:
        case "" | "outer":
            return launch.sizes[kind == "outer" :], None
        case "outer strides":
            return launch.strides(which)[1:], None
        case _:
            return launch.strides(which, kind == "strides"), None


def _metal(dtype: torch.dtype) -> DType:
    found = dtypes.from_torch(dtype)
    if found is None or not found.metal:
        raise CallError(f"Metal has no {dtype}")
    return found
