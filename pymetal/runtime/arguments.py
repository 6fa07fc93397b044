"""The arguments of a call: checked against the functor's parameters, and numbers as `compile_shader` binds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch.autograd import forward_ad

from pymetal.codegen.launch_kernels import bound_as
from pymetal.dtypes import DType, Kind
from pymetal.errors import CallError, nearest
from pymetal.runtime.plan import Number

Bound: TypeAlias = int | float | list[float]  # a number as it is bound
_INFINITE = (float("inf"), float("-inf"))


@dataclass
class Parameters:
    """What a functor takes.

    Attributes:
        tensors: the names of the tensor parameters.
        scalars: the scalar parameters and their defaults; None where there is no default.
    """

    name: str
    tensors: tuple[str, ...]
    scalars: dict[str, Number | None]

    def operands(self, args: tuple[Any, ...]) -> list[torch.Tensor | Number]:
        """The operands, checked for number and kind.

        Raises:
            CallError: there are more or fewer than the functor takes, or one is neither a tensor nor a number.
        """
        if len(args) != len(self.tensors):
            takes = "1 tensor" if len(self.tensors) == 1 else f"{len(self.tensors)} tensors"
            given = "1 was" if len(args) == 1 else f"{len(args)} were"
            raise CallError(
                f"{self.name}({', '.join(self.tensors)}) takes {takes} but {given} given",
                hint="Scalar parameters are passed by keyword." if len(args) > len(self.tensors) else None,
            )
        for name, value in zip(self.tensors, args, strict=True):
            if not isinstance(value, (torch.Tensor, bool, int, float, complex)):
                raise CallError(
                    f"{self.name}: {name} must be a tensor or a number, not {type(value).__name__}",
                    hint="torch.as_tensor(x) makes a tensor of a list or an array.",
                )
            if isinstance(value, torch.Tensor) and value.layout != torch.strided:
                raise CallError(
                    f"{self.name}: {name} must be a strided tensor, not {value.layout}", hint="Pass x.to_dense()."
                )
        return list(args)

    def numbers(self, given: dict[str, Any]) -> dict[str, Number]:
        """The scalar parameters, defaults filled in.

        Raises:
            CallError: there is no such parameter, one is missing, or one is not a number.
        """
        for name in given:
            if name not in self.scalars:
                near = nearest(name, [*self.scalars, "out"])
                raise CallError(
                    f"{self.name} has no parameter {name!r}" + (f"; did you mean {near!r}?" if near else ""),
                    hint=f"Keywords: {', '.join([*self.scalars, 'out'])}.",
                )
        numbers: dict[str, Number] = {}
        for name, default in self.scalars.items():
            value = given.get(name, default)
            if value is None:
                raise CallError(f"{self.name} needs the scalar {name!r}", hint=f"Call it with {name}=...")
            if isinstance(value, torch.Tensor) and value.dim() == 0:
                value = value.item()
            if not isinstance(value, (bool, int, float, complex)):
                raise CallError(f"{self.name}: {name} must be a number, not {type(value).__name__}")
            numbers[name] = value
        return numbers

    def bind(self, numbers: dict[str, Number], types: Sequence[DType]) -> list[Bound]:
        """The scalar parameters as they are bound to a kernel whose parameters have these types."""
        for (name, value), dtype in zip(numbers.items(), types, strict=True):
            check_scalar(self.name, name, value, dtype)
        return [bind_number(value, dtype) for value, dtype in zip(numbers.values(), types, strict=True)]


def check_scalar(functor: str, name: str, value: Number, dtype: DType) -> None:
    """Refuses a scalar parameter that its type cannot hold, as torch does.

    Raises:
        CallError: it is complex and the type is not, or not an integer of the type's range. Unsigned types take
            negative numbers, which wrap: a - b is a + (-1) * b.
    """
    label = f"{functor}: scalar {name}={value!r}"
    if isinstance(value, complex) and dtype.kind is not Kind.COMPLEX:
        raise CallError(f"{label} is complex but the tensors are real", hint="Pass a real number.")
    if dtype.kind not in (Kind.SIGNED, Kind.UNSIGNED) or isinstance(value, complex):
        return
    if value != value or value in _INFINITE or int(value) != value:
        raise CallError(
            f"{label} cannot be used with integer tensors",
            hint="Pass an integer, or convert the tensors to a floating dtype.",
        )
    high = (1 << (dtype.bits - (dtype.kind is Kind.SIGNED))) - 1
    low = -high - 1 if dtype.kind is Kind.SIGNED else -high
    if not low <= int(value) <= high:
        raise CallError(f"{label} does not fit {dtype}", hint="Pass a smaller number, or convert the tensors.")


def bind_number(value: Number, dtype: DType) -> Bound:
    """A number as `compile_shader` binds it: an int, a float, or a pair of floats for a complex one."""
    kind = bound_as(dtype).kind
    if kind is Kind.COMPLEX:
        number = complex(value)
        return [number.real, number.imag]
    assert not isinstance(value, complex)
    if kind is Kind.FLOATING:
        return float(value)
    if dtype.kind is Kind.BOOL:
        return int(bool(value))
    # The low 64 bits: what does not fit wraps, as torch has it for a number next to a tensor.
    return ((int(value) + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def readable(operand: torch.Tensor | Number) -> torch.Tensor | Number:
    """An operand as a kernel can read it: with memory, and with no conjugation or negation pending."""
    if not isinstance(operand, torch.Tensor):
        return operand
    if operand._is_zerotensor():  # zeros without memory
        return torch.zeros(operand.shape, dtype=operand.dtype, device=operand.device)
    return operand.resolve_conj().resolve_neg()


def is_transformed() -> bool:
    """True where torch hands out tensors that stand for others: functorch's transforms, tracing, dispatch modes."""
    transformed = (
        torch._C._functorch.peek_interpreter_stack() is not None
        or torch._C._len_torch_dispatch_stack()
        or torch._C._get_tracing_state() is not None
    )
    # Dynamo leaves the call out of its graph by itself.
    return bool(transformed) and not torch.compiler.is_compiling()


def refuse_tangents(functor: str, values: tuple[Any, ...]) -> None:
    """Forward-mode derivatives are not computed, so they must not be lost in silence."""
    for value in values:
        if isinstance(value, torch.Tensor) and forward_ad.unpack_dual(value).tangent is not None:  # type: ignore[no-untyped-call]
            raise CallError(
                f"{functor} has no autograd formula, and a tensor has a tangent of forward-mode differentiation",
                hint="Call it with torch.autograd.forward_ad.unpack_dual(x).primal.",
            )
