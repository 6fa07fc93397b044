"""A checked function and tensors become the tensor that the function means, computed with torch operators.

Both branches of an `if` are computed and the elements of each kept where its condition holds, so that the branches may
depend on the data. A float64 input widens everything: the function is then evaluated at double precision, with every
float of its body a double.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from typing_extensions import assert_never

from pymetal import dtypes, ir
from pymetal.dtypes import DType, wrap
from pymetal.ops import integers

Scalar = bool | int | float | complex


def evaluate(
    function: ir.Function,
    element: DType,
    tensors: Sequence[torch.Tensor],
    scalars: Mapping[str, Scalar],
    *,
    wide: bool = False,
) -> torch.Tensor:
    """The value of `function` at `element`.

    Args:
        function: the body, typed for a group of dtypes that `element` belongs to (float64 to that of the floats).
        element: the element type.
        tensors: the operands, of dtype `element` and one shape; of double precision if `wide`, but for integers.
        scalars: a number for each scalar parameter.
        wide: compute every float of the body in double precision, also where `element` is another type.

    Returns:
        A new tensor of the operands' shape.
    """
    evaluation = Evaluation(element, tensors[0].shape, tensors[0].device, wide)
    # Not of no dimensions: next to an int32, torch would narrow an int64 that is.
    numbers = [evaluation.constant(scalars[p.name], p.type).expand(evaluation.shape) for p in function.scalars]
    return evaluation.call(function, [*tensors, *numbers]).clone()


@dataclass
class _Loop:
    """Where, in the loop being run, control has left for its end or its next round."""

    broken: torch.Tensor
    continued: torch.Tensor


class Evaluation:
    """One evaluation of a function over tensors of one shape; `active` says at which elements the body is running."""

    def __init__(self, element: DType, shape: torch.Size, device: torch.device, wide: bool = False) -> None:
        self.element = element
        self.shape = shape
        self.device = device
        self.widen = wide or element in dtypes.DOUBLES
        self.values: dict[str, torch.Tensor] = {}
        self.result: torch.Tensor | None = None
        self.loops: list[_Loop] = []
        # Where the expression being computed is needed: a function that is called elsewhere need not end.
        self.active = torch.ones(shape, dtype=torch.bool, device=device)

    def dtype(self, type_: ir.Type) -> torch.dtype:
        resolved = ir.resolve(type_, self.element)
        assert resolved is not None, f"{type_} at {self.element}"
        return (dtypes.double_of(resolved) if self.widen else resolved).torch

    def constant(self, value: Scalar, type_: ir.Type) -> torch.Tensor:
        """A 0-dim tensor. A float becomes a float32 first, as a literal or an argument of a kernel does."""
        dtype = self.dtype(type_)
        if isinstance(value, complex):
            return torch.tensor(value, dtype=torch.complex128, device=self.device).to(dtype)
        if dtype.is_floating_point or dtype.is_complex:
            number = torch.tensor(float(value), dtype=torch.float64, device=self.device)
            return (number if self.widen else number.float()).to(dtype)
        whole = bool(value) if dtype == torch.bool else wrap(int(value), dtype)
        return torch.tensor(whole, dtype=dtype, device=self.device)

    def call(self, function: ir.Function, args: Sequence[torch.Tensor]) -> torch.Tensor:
        """The value of a function, in the shape of the whole."""
        for param, value in zip((*function.params, *function.scalars), args, strict=True):
            self.values[param.name] = value
        self.run(function.body, self.active)
        assert self.result is not None, "a checked function returns"
        return self.result.expand(self.shape)

    # --- statements ---

    def run(self, body: tuple[ir.Stmt, ...], active: torch.Tensor) -> torch.Tensor:
        """Runs `body` where `active` holds; returns where control reaches its end."""
        for stmt in body:
            self.active = active
            if not bool(active.any()) and self.result is not None:
                break  # nothing more can happen here; a loop ends by this
            match stmt:
                case ir.Let(name, type_, value):
                    # Outside `active` the variable is never read: it is declared again, or assigned, before any use.
                    self.values[name] = self.constant(0, type_) if value is None else self.expr(value)
                case ir.Assign(name, value):
                    self.values[name] = torch.where(active, self.expr(value), self.values[name])
                case ir.Return(value):
                    returned = self.expr(value)
                    self.result = returned if self.result is None else torch.where(active, returned, self.result)
                    return torch.zeros_like(active)
                case ir.If(condition, then, otherwise):
                    holds = self.expr(condition)
                    ends_then = self.run(then, active & holds)
                    active = ends_then | self.run(otherwise, active & ~holds)
                case ir.While():
                    active = self._while(stmt, active)
                case ir.For():
                    active = self._for(stmt, active)
                case ir.Break():
                    self.loops[-1].broken = self.loops[-1].broken | active
                    return torch.zeros_like(active)
                case ir.Continue():
                    self.loops[-1].continued = self.loops[-1].continued | active
                    return torch.zeros_like(active)
                case _:
                    assert_never(stmt)
        return active

    def _while(self, stmt: ir.While, active: torch.Tensor) -> torch.Tensor:
        return self._loop(stmt.body, active, lambda: self.expr(stmt.condition))

    def _for(self, stmt: ir.For, active: torch.Tensor) -> torch.Tensor:
        dtype = self.dtype(stmt.type)
        start, stop, step = (integers.to_wide(self.expr(e).to(dtype)) for e in (stmt.start, stmt.stop, stmt.step))
        width, counter, passed = integers.width(dtype), start - step, torch.zeros_like(active)
        known = stmt.step.value if isinstance(stmt.step, ir.Const) else None
        up = step > 0 if width.signed or known is not None else step != 0
        down = ~up & (step != 0)
        first = True

        def holds() -> torch.Tensor:
            nonlocal counter, passed, first
            before, counter = counter, counter + step
            if not first:  # beyond the end of the type
                passed = passed | (up & integers.less(counter, before, width))
                passed = passed | (down & integers.less(before, counter, width))
            first = False
            self.values[stmt.name] = integers.from_wide(counter, dtype)
            inside = (up & integers.less(counter, stop, width)) | (down & integers.less(stop, counter, width))
            return inside & ~passed

        return self._loop(stmt.body, active, holds)

    def _loop(
        self, body: tuple[ir.Stmt, ...], active: torch.Tensor, condition: Callable[[], torch.Tensor]
    ) -> torch.Tensor:
        """Runs `body` as long as the condition, which is computed before each round, holds somewhere."""
        none = torch.zeros_like(active)
        loop = _Loop(none, none)
        self.loops.append(loop)
        ended = none
        while bool(active.any()):
            self.active = active
            holds = condition()
            ended = ended | (active & ~holds)
            active = active & holds
            if bool(active.any()):
                loop.continued = none
                active = self.run(body, active) | loop.continued
        self.loops.pop()
        return ended | loop.broken

    # --- expressions ---

    def expr(self, expr: ir.Expr) -> torch.Tensor:
        match expr:
            case ir.Name(name):
                return self.values[name]
            case ir.Const(value, type_):
                return self.constant(value, type_)
            case ir.Cast(type_, value):
                return convert(self.expr(value), self.dtype(type_))
            case ir.Select(condition, then, otherwise):
                holds = self.expr(condition)
                return torch.where(holds, self.side(holds, then), self.side(~holds, otherwise))
            case ir.Call(op, args):
                result: torch.Tensor = op.torch(*(self.expr(a) for a in args))
                return result
            case ir.Bits(type_, value):
                return self.expr(value).contiguous().view(self.dtype(type_))
            case ir.Element(table, index):
                dtype = self.dtype(table.type)
                values = torch.stack([self.constant(v, table.type) for v in table.values]).to(dtype)
                # A lane that has left the loop may hold an index beyond the end.
                return values[self.expr(index).long().clamp(0, len(table.values) - 1)]
            case ir.Invoke():
                return self._invoke(expr)
            case _:
                assert_never(expr)

    def side(self, holds: torch.Tensor, expr: ir.Expr) -> torch.Tensor:
        """One side of a `Select`."""
        active, self.active = self.active, self.active & holds
        value = self.expr(expr)
        self.active = active
        return value

    def _invoke(self, call: ir.Invoke) -> torch.Tensor:
        element = ir.resolved(call.bound, self.element)
        overload = call.callee.overload(element) or next(
            o for o in call.callee.overloads if any(d.kind is element.kind for d in o.domain)
        )
        inner = Evaluation(element, self.shape, self.device, self.widen)
        inner.active = self.active
        return inner.call(overload.function, [self.expr(a) for a in call.args])


def convert(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A conversion as the kernel does it: by truncation from float to integer, through complex64 for complex32."""
    if dtype == torch.complex32 and not value.dtype.is_complex:
        return value.to(torch.complex64).to(dtype)
    return value.to(dtype)
