"""Finds the c10 function that a functor, or a helper of it, computes as well.

Both have the same values in double precision. In float they may differ: the c10 function is proposed only if its
kernel is no worse than the text, at infinities and NaN, near zero, and for large numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch
from torch import Tensor

from pymetal import dtypes, ir
from pymetal.accuracy.compare import compare
from pymetal.check.findings import first_span
from pymetal.check.measurement import shown
from pymetal.codegen.functor_text import functor_text
from pymetal.errors import PyMetalError, Span
from pymetal.frontend.annotations import Annotation, Signature
from pymetal.ops import TABLE
from pymetal.runtime.dispatch import Caller
from pymetal.runtime.operation import Operation
from pymetal.semantics.interpreter import evaluate

_CLOSE = 1e-6
_NO_DIGIT = 2.0**23  # ulp: what is further off, as sin(pi * 1e25), is not more wrong
_MARGIN = 4.0  # ulp of float that make no difference: Metal's own functions are as far off


def equivalents(functor: Operation) -> Iterator[tuple[str, str, str, Span | None]]:
    """The name, the c10 function, how their values differ, and the place, of each function that c10 has."""
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
        loops = any(isinstance(s, ir.While) for body in everything for s in ir.statements(body))
        used = ir.uses(checked)
        operands = _operands(len(function.params))
        mine = evaluate(function, dtypes.float32, operands, {}, wide=True).double()
        for op in TABLE.values():
            if not op.suggested or op in used or op.arity != len(operands):
                continue
            if _same(mine, op.torch(*operands)):
                difference = _difference(function, op, loops=loops)
                if difference is not None:
                    yield checked.name, op.base, difference, first_span(function.body)
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


def _difference(function: ir.Function, op: ir.Op, *, loops: bool) -> str | None:
    """How the values of a function differ from those of a c10 function in float; None if c10's are worse.

    Args:
        loops: a `while` is in it, which a helper's caller may keep from what has it run for ever.
    """
    operands = _wide_range(len(function.params), loops=loops)
    right = op.torch(*(o.double() for o in operands))
    mine = evaluate(function, dtypes.float32, operands, {}).float()
    try:
        theirs = _kernel(op)(tuple(operands), None, {})
    except PyMetalError:  # the installed headers do not have it
        return None
    a, b = compare(mine, right, flushes=True), compare(theirs, right, flushes=True)
    if bool((a.right & ~b.right).any()):
        return None
    both = a.counted & b.counted
    errors = [torch.where(both, o.errors, 0.0).clamp_max(_NO_DIGIT) for o in (a, b)]
    worst_mine, worst_theirs = (float(e.max()) for e in errors)
    if worst_theirs > worst_mine + _MARGIN:
        return None
    masks = (b.right & (a.nan | a.infinite), errors[0] > errors[1] + _MARGIN, b.right & ~a.right)
    different = next((mask for mask in masks if bool(mask.any())), None)
    if different is None:
        return ""
    at = int(torch.where(different, 1 + errors[0], 0.0).argmax())
    place = ", ".join(shown(o[at].item()) for o in operands)
    return f", which gives {shown(theirs[at].item())} at ({place}); this gives {shown(mine[at].item())}"


def _kernel(op: ir.Op) -> Caller:
    """What calls the kernel of an operator of floats alone."""
    type_ = ir.Var("T")
    names = tuple("abcdefgh"[: op.arity])
    value = ir.Call(op, tuple(ir.Name(n, type_) for n in names), type_)
    function = ir.Function(tuple(ir.Param(n, type_) for n in names), (), type_, (ir.Return(value),))
    name = f"c10_{op.base}"
    checked = ir.CheckedFunction(name, "", (ir.Overload((dtypes.float32,), function),))
    annotation = Annotation(type_, None, "T")
    signature = Signature(tuple((n, annotation) for n in names), annotation, (), annotation, ast.Name("T"))
    return Caller(
        name, signature, checked, widens=False, to_float=False, failures={}, decorated=str, text=functor_text(checked)
    )


def _wide_range(count: int, *, loops: bool) -> list[Tensor]:
    """Floats near zero and far from it, with the ends, and NaN: every combination; and those of `_operands`."""
    sizes = [0.0, 1e-20, 1e-6, 0.01, 1.0, 100.0, 1e25, torch.inf] if count < 3 else [0.0, 1e-6, 1.0, torch.inf]
    if loops:
        sizes = [0.0, 1e-6, 1.0, 4.0]
    grid = torch.tensor([*([] if loops else [torch.nan]), *sizes, *(-s for s in sizes)])
    combined = torch.cartesian_prod(*[grid] * count).reshape(-1, count).unbind(1)
    return [torch.cat([c, o.float()]) for c, o in zip(combined, _operands(count), strict=True)]
