"""The arguments of a call: checked against the functor's parameters, and numbers as `compile_shader` binds them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.autograd import forward_ad

from pymetal import ir
from pymetal.codegen.launch_kernels import bound_as
from pymetal.dtypes import DType, Kind, python_number
from pymetal.errors import CallError, nearest
from pymetal.frontend.annotations import Signature
from pymetal.frontend.verify import format_number
from pymetal.runtime.plan import Number

LOWEST = -(1 << 63)  # integer that a kernel takes
Bound: TypeAlias = int | float | list[float]  # a number as it is bound
_INFINITE = (float("inf"), float("-inf"))


@dataclass
class Parameters:
    """What a functor takes.

    Attributes:
        tensors: the names of the tensor parameters.
        scalars: the scalar parameters and their defaults; None where there is no default.
        takes: a Python function with these parameters, which returns the tensors' arguments and those of the scalars.
    """

    name: str
    tensors: tuple[str, ...] = field(init=False)
    scalars: dict[str, Number | None] = field(init=False)
    takes: Callable[..., tuple[tuple[Any, ...], tuple[Any, ...]]] = field(init=False)
    signature: Signature

    def __post_init__(self) -> None:
        self.tensors = tuple(name for name, _ in self.signature.tensors)
        self.scalars = {s.name: s.default for s in self.signature.scalars}
        self.takes = _function(self.name, self.signature)

    def misfit(self, named: dict[str, Any], error: TypeError) -> CallError:
        """What is wrong with a call, from the error of `takes`."""
        message, known = str(error), (*self.tensors, *self.scalars)
        unknown = next((name for name in named if name not in known), None)
        if unknown is not None:  # newer Pythons suggest a name
            near = nearest(unknown, {*known, "out"} - {unknown})
            message = f"{self.name}() got an unexpected keyword argument {unknown!r}"
            message += f"; did you mean {near!r}?" if near else ""
        return CallError(message, hint=f"It is {self}.")

    def __str__(self) -> str:
        star = "" if any(s.keyword_only for s in self.signature.scalars) else "*, "
        return f"{self.name}{str(inspect.signature(self.takes))[:-1]}, {star}out=None)"

    def arguments(
        self, args: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[list[torch.Tensor | Number], dict[str, Number]]:
        """The operands and the scalar parameters of a call, checked; of numbers, Python's types.

        Raises:
            CallError: the parameters do not take the arguments.
        """
        try:
            tensors, scalars = self.takes(*args, **named)
        except TypeError as error:
            raise self.misfit(named, error) from None
        return self.operands(tensors), self.numbers(scalars)

    def operands(self, given: Sequence[Any]) -> list[torch.Tensor | Number]:
        """The operands, one for each tensor parameter.

        Raises:
            CallError: one is neither a tensor nor a number.
        """
        operands: list[torch.Tensor | Number] = []
        for name, value in zip(self.tensors, given, strict=True):
            if not isinstance(value, torch.Tensor):
                number = python_number(value)
                if number is None:
                    raise CallError(
                        f"{self.name}: {name} must be a tensor or a number, not {type(value).__name__}",
                        hint="torch.as_tensor(x) makes a tensor of a list or an array.",
                    )
                operands.append(self._checked(name, number))
                continue
            check_strided(self.name, name, value)
            operands.append(value)
        return operands

    def numbers(self, given: Sequence[Any]) -> dict[str, Number]:
        """The scalar parameters by their names; a 0-dim tensor stands for its number.

        Raises:
            CallError: one is not a number.
        """
        numbers: dict[str, Number] = {}
        for name, value in zip(self.scalars, given, strict=True):
            kind = type(value)
            is_plain = kind is float or (kind is int and LOWEST <= value < -LOWEST)
            numbers[name] = value if is_plain else self._number(name, value)
        return numbers

    def _number(self, name: str, value: object) -> Number:
        if isinstance(value, torch.Tensor) and value.dim() == 0 and not value.is_meta:
            if value.requires_grad and torch.is_grad_enabled():
                raise CallError(
                    f"{self.name} has no autograd formula, and {name} requires grad",
                    hint="Call it under torch.no_grad(), or pass x.detach().",
                )
            value = value.item()
        number = python_number(value)
        if number is None:
            hint = "Pass x.item()." if isinstance(value, (torch.Tensor, np.ndarray)) else None
            raise CallError(f"{self.name}: {name} must be a number, not {type(value).__name__}", hint=hint)
        return self._checked(name, number)

    def _checked(self, name: str, value: Number) -> Number:
        """`value`, which must be a number that torch takes: an integer of 64 bits."""
        if isinstance(value, int) and not LOWEST <= value < 1 << 64:
            raise CallError(
                f"{self.name}: {name}={format_number(value)} does not fit 64 bits",
                hint="Pass a float, if it is not too large for one.",
            )
        return value

    def bind(self, numbers: dict[str, Number], types: Sequence[DType]) -> list[Bound]:
        """The scalar parameters as they are bound to a kernel whose parameters have these types."""
        for scalar, (name, value), dtype in zip(self.signature.scalars, numbers.items(), types, strict=True):
            fixed = isinstance(scalar.annotation.type, ir.Weak | ir.Concrete)
            check_scalar(self.name, name, value, dtype, "" if fixed else ", or convert the tensors to a floating dtype")
        return [bind_number(value, dtype) for value, dtype in zip(numbers.values(), types, strict=True)]


def _function(name: str, signature: Signature) -> Callable[..., tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """A Python function with the parameters of `signature`, which returns the arguments of tensors and of scalars.

    It lets Python bind the arguments of a call, and say what is wrong with them.
    """
    tensors, scalars = [n for n, _ in signature.tensors], [s.name for s in signature.scalars]
    after_star = [s.name for s in signature.scalars if s.keyword_only]
    parameters = [n for n in (*tensors, *scalars) if n not in after_star]
    if signature.positional_only:
        parameters.insert(signature.positional_only, "/")
    parameters += ["*", *after_star] if after_star else []
    results = ["".join(f"{n}, " for n in names) for names in (tensors, scalars)]
    function: Any = eval(f"lambda {', '.join(parameters)}: (({results[0]}), ({results[1]}))")
    function.__qualname__ = name
    defaults = {s.name: s.default for s in signature.scalars if s.default is not None}
    function.__defaults__ = tuple(value for n, value in defaults.items() if n not in after_star)
    function.__kwdefaults__ = {n: value for n, value in defaults.items() if n in after_star}
    return function  # type: ignore[no-any-return]


def check_strided(functor: str, name: str, tensor: torch.Tensor) -> None:
    """Refuses a tensor without strides.

    Raises:
        CallError: it is sparse, or nested.
    """
    if tensor.is_nested:
        hint = "Pass torch.nested.to_padded_tensor(x, 0), or its parts."
        raise CallError(f"{functor}: {name} must be a strided tensor, not a nested one", hint=hint)
    if tensor.layout != torch.strided:
        hint = "Pass x.to_dense()."
        raise CallError(f"{functor}: {name} must be a strided tensor, not {tensor.layout}", hint=hint)


def check_scalar(functor: str, name: str, value: Number, dtype: DType, otherwise: str = "") -> None:
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
            f"{label} is not an integer, and {name} is {'one here' if otherwise else 'an int'}",
            hint=f"Pass an integer{otherwise}.",
        )
    high = (1 << (dtype.bits - (dtype.kind is Kind.SIGNED))) - 1
    low = -high - 1 if dtype.kind is Kind.SIGNED else -high
    if not low <= int(value) <= high:
        raise CallError(f"{label} does not fit {dtype.torch}", hint="Pass a smaller number, or convert the tensors.")


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
    return low_bits(int(value))


def low_bits(value: int) -> int:
    """An integer modulo 2**64: what does not fit wraps, as torch has it for a number next to a tensor."""
    return ((value - LOWEST) & ((1 << 64) - 1)) + LOWEST


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
