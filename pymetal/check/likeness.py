"""Whose values a function has: a functor, or a helper, beside every c10 function of as many floats."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from pymetal import dtypes, ir
from pymetal.dtypes import Kind
from pymetal.errors import Span
from pymetal.functor import Functor
from pymetal.meaning.evaluate import evaluate
from pymetal.terms import TABLE

_PREFIX = "metal.c10."
# c10's names for what Metal has as well; calling Metal's is no reimplementation.
_PLAIN = frozenset({"max", "min", "mul", "div", "fma", "conj", "less", "fmod", "remainder", "floor_divide", "div_floor",
                    "safe_mod", "pow"})  # fmt: skip
_CLOSE = 1e-6


def alike(functor: Functor) -> Iterator[tuple[str, str, Span | None]]:
    """The function's name, c10's name, and the place, of each that c10 has and that does not call it."""
    for checked in (*ir.callees(functor.ir), functor.ir):
        overload = checked.overload(dtypes.float32)
        if overload is None or overload.function.scalars or not checked.overloads:
            continue
        function = overload.function
        if _is_call(function) or ir.resolve(function.result, dtypes.float32) != dtypes.float32:
            continue
        if any(ir.resolve(p.type, dtypes.float32) != dtypes.float32 for p in function.params):
            continue
        everything = [o.function.body for c in (checked, *ir.callees(checked)) for o in c.overloads]
        if any(isinstance(e, ir.Bits) for body in everything for e in ir.expressions(body)):
            continue
        used = {op.name for op in ir.uses(checked)}
        operands = _operands(len(function.params))
        mine = evaluate(function, dtypes.float32, operands, {}, wide=True).double()
        for name, op in TABLE.items():
            base = name.removeprefix(_PREFIX)
            if name == base or base in _PLAIN or name in used or op.arity != len(operands):
                continue
            if Kind.FLOATING not in op.kinds or "-" in base or op.params is not None:
                continue
            if _same(mine, op.torch(*operands)):
                yield checked.name, base, _first_place(function.body)
                break


def _is_call(function: ir.Function) -> bool:
    """Whether the body is one operator applied to the parameters: then there is nothing reimplemented."""
    match function.body:
        case (ir.Return(value),):
            while isinstance(value, ir.Cast):
                value = value.value
            return isinstance(value, (ir.Call, ir.Invoke)) and not any(
                isinstance(p, (ir.Call, ir.Invoke)) for a in value.args for p in ir.subexpressions(a)
            )
    return False


def _operands(count: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    size = torch.rand(count, 200, generator=generator, dtype=torch.float64) * 4 + 0.05
    sign = torch.ones(count, 200, dtype=torch.float64)
    sign[0, 100:] = -1
    return list(size * sign)


def _same(mine: Tensor, theirs: Tensor) -> bool:
    """Equal wherever both are numbers, which is at half of the places at least; and no constant or identity."""
    both = mine.isfinite() & theirs.isfinite()
    if int(both.sum()) < 90 or float(theirs[both].std()) == 0:
        return False
    close = (mine - theirs).abs() <= _CLOSE * theirs.abs() + 1e-12
    return bool(close[both].all()) and not bool((mine.isfinite() ^ theirs.isfinite()).sum() > 20)


def _first_place(body: tuple[ir.Stmt, ...]) -> Span | None:
    return next((s for stmt in body if (s := getattr(stmt, "span", None)) is not None), None)
