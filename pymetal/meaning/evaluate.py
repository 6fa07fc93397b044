"""A checked function and tensors become the tensor that the function means, computed with torch operators.

Both branches of an `if` are computed and the elements of each kept where its condition holds, so that the branches may
depend on the data. A float64 input widens everything: the function is then evaluated at double precision, with every
float of its body a double.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from typing_extensions import assert_never

from pymetal import dtypes, ir
from pymetal.dtypes import DType
from pymetal.ir import Assign, Call, Cast, Const, Expr, Function, If, Let, Name, Return, Select, Stmt, Type

Scalar = bool | int | float | complex
_WIDE = {
    dtypes.float16: dtypes.float64, dtypes.bfloat16: dtypes.float64, dtypes.float32: dtypes.float64,
    dtypes.complex32: dtypes.complex128, dtypes.complex64: dtypes.complex128,
}  # fmt: skip


def evaluate(
    function: Function, element: DType, tensors: Sequence[torch.Tensor], scalars: Mapping[str, Scalar]
) -> torch.Tensor:
    """The value of `function` at `element`.

    Args:
        function: the body, typed for a group of dtypes that `element` belongs to (float64 to that of the floats).
        element: the element type.
        tensors: the operands, of dtype `element` and one shape.
        scalars: a number for each scalar parameter.

    Returns:
        A new tensor of the operands' shape.
    """
    evaluation = _Evaluation(element)
    shape = tensors[0].shape
    for param, tensor in zip(function.params, tensors, strict=True):
        evaluation.values[param.name] = tensor
    for param in function.scalars:
        evaluation.values[param.name] = evaluation.constant(scalars[param.name], param.type)
    evaluation.run(function.body, torch.ones(shape, dtype=torch.bool, device=tensors[0].device))
    assert evaluation.result is not None, "a checked function returns"
    return evaluation.result.expand(shape).clone()


class _Evaluation:
    def __init__(self, element: DType) -> None:
        self.element = element
        self.widen = element in (dtypes.float64, dtypes.complex128)
        self.values: dict[str, torch.Tensor] = {}
        self.result: torch.Tensor | None = None

    def dtype(self, type_: Type) -> torch.dtype:
        resolved = ir.resolve(type_, self.element)
        assert resolved is not None, f"{type_} at {self.element}"
        return (_WIDE.get(resolved, resolved) if self.widen else resolved).torch

    def constant(self, value: Scalar, type_: Type) -> torch.Tensor:
        """A 0-dim tensor. A float becomes a float32 first, as a literal or an argument of a kernel does."""
        dtype = self.dtype(type_)
        if isinstance(value, complex):
            return torch.tensor(value, dtype=torch.complex128).to(dtype)
        if dtype.is_floating_point or dtype.is_complex:
            number = torch.tensor(float(value), dtype=torch.float64)
            return (number if self.widen else number.float()).to(dtype)
        return torch.tensor(value, dtype=dtype)

    # --- statements ---

    def run(self, body: tuple[Stmt, ...], active: torch.Tensor) -> torch.Tensor:
        """Runs `body` where `active` holds; returns where control reaches its end."""
        for stmt in body:
            match stmt:
                case Let(name, type_, value):
                    # Outside `active` the variable is never read: it is declared again, or assigned, before any use.
                    self.values[name] = self.constant(0, type_) if value is None else self.expr(value)
                case Assign(name, value):
                    self.values[name] = torch.where(active, self.expr(value), self.values[name])
                case Return(value):
                    returned = self.expr(value)
                    self.result = returned if self.result is None else torch.where(active, returned, self.result)
                    return torch.zeros_like(active)
                case If(condition, then, otherwise):
                    holds = self.expr(condition)
                    ends_then = self.run(then, active & holds)
                    active = ends_then | self.run(otherwise, active & ~holds)
                case _:
                    assert_never(stmt)
        return active

    # --- expressions ---

    def expr(self, expr: Expr) -> torch.Tensor:
        match expr:
            case Name(name):
                return self.values[name]
            case Const(value, type_):
                return self.constant(value, type_)
            case Cast(type_, value):
                return self.expr(value).to(self.dtype(type_))
            case Select(condition, then, otherwise):
                return torch.where(self.expr(condition), self.expr(then), self.expr(otherwise))
            case Call(op, args):
                result: torch.Tensor = op.torch(*(self.expr(a) for a in args))
                return result
            case _:
                assert_never(expr)
