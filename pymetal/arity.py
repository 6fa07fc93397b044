"""One row per arity: how many tensors an operator takes, and what upstream calls the things made for it."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Macro:
    """A registration macro of `c10/metal/indexing.h` and the first torch release that has it."""

    name: str
    since: tuple[int, int]


@dataclass(frozen=True)
class Arity:
    """What differs between unary, binary and ternary operators.

    Macro arguments are (NAME, input, output), and (NAME, input, scalar, output) for `alpha`; host names put the output
    first. `None` means that upstream has no such macro.
    """

    name: str
    inputs: int
    plain: Macro
    alpha: Macro
    opmath: Macro | None  # the kernel widens half and bfloat before it calls the functor
    castout: Macro | None  # results of a fixed dtype, stored in the dtype of `out=`
    kernel_file: str  # where upstream keeps functors of this arity
    exec_call: str  # the host call of `MetalShaderLibrary`

    def widens(self, has_scalars: bool) -> bool:
        """True if a registration macro can widen half and bfloat, so that the functor need not."""
        return self.opmath is not None and not has_scalars


UNARY = Arity(
    "unary", 1, Macro("REGISTER_UNARY_OP", (2, 7)), Macro("REGISTER_UNARY_ALPHA_OP", (2, 8)), None, None,
    "UnaryKernel.metal", "exec_unary_kernel",
)  # fmt: skip
BINARY = Arity(
    "binary", 2, Macro("REGISTER_BINARY_OP", (2, 8)), Macro("REGISTER_BINARY_ALPHA_OP", (2, 8)),
    Macro("REGISTER_OPMATH_BINARY_OP", (2, 8)), Macro("REGISTER_BINARY_CASTOUT_OP", (2, 13)),
    "BinaryKernel.metal", "exec_binary_kernel",
)  # fmt: skip
TERNARY = Arity(
    "ternary", 3, Macro("REGISTER_TERNARY_OP", (2, 10)), Macro("REGISTER_TERNARY_ALPHA_OP", (2, 15)),
    Macro("REGISTER_OPMATH_TERNARY_OP", (2, 10)), None, "PointwiseOps.metal", "exec_ternary_kernel",
)  # fmt: skip
ARITIES = (UNARY, BINARY, TERNARY)


def installed_release() -> tuple[int, int]:
    """The major and minor version of the installed torch, whose headers are used."""
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)
