"""Branch coverage: which branches of a functor are taken, when it is evaluated on samples of every dtype."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from pymetal import ir
from pymetal.accuracy.samples import samples
from pymetal.check.findings import first_span
from pymetal.check.operands import Scalars, numbers_of, overload_of, reads_bits, scalars_for
from pymetal.check.references import wide
from pymetal.check.torch_operators import take
from pymetal.dtypes import DType, Kind
from pymetal.errors import Span
from pymetal.runtime.operation import Operation
from pymetal.semantics import interpreter

_GRID, _MOST = 4096, 4000  # elements for each dtype: of the grid, which comes first, and of the others
_SCALARS = (None, 0, 1, -1, 0.25, 3)  # a branch may depend on a scalar alone


class _Coverage(interpreter.Evaluation):
    """An evaluation that records the blocks and the sides of conditional expressions that some element takes."""

    def __init__(self, element: DType, operands: Sequence[Tensor], widened: bool, taken: set[int]) -> None:
        super().__init__(element, operands[0].shape, operands[0].device, widened)
        self.taken = taken

    def run(self, body: tuple[ir.Stmt, ...], active: Tensor) -> Tensor:
        if bool(active.any()):
            self.taken.add(id(body))
        return super().run(body, active)

    def side(self, holds: Tensor, expr: ir.Expr) -> Tensor:
        if bool((holds & self.active).any()):
            self.taken.add(id(expr))
        return super().side(holds, expr)


def dead_branches(functor: Operation) -> list[tuple[str, Span | None]]:
    """What each is called and where it is, of the branches that no element of any dtype takes.

    Branches inside dead branches are left out. A place that several overloads come from is dead if it is in all of
    them.
    """
    taken: set[int] = set()
    branches = [_branches(overload.function.body) for overload in functor.ir.overloads]
    if not any(branches):
        return []
    scalars = functor.ir.overloads[0].function.scalars
    for value in _SCALARS if scalars else (None,):
        for element in functor.ir.domain:
            _cover(functor, element, {} if value is None else {p.name: value for p in scalars}, taken)
    dead: dict[str, tuple[str, Span | None]] = {}
    live: set[str] = set()
    for what, span, key in itertools.chain(*branches):
        if key in taken:
            live.add(f"{what} {span}")
        else:
            dead.setdefault(f"{what} {span}", (what, span))
    found = [place for key, place in dead.items() if key not in live]
    return [f for f in found if not any(_inside(f[1], other[1]) for other in found if other is not f)]


def _inside(span: Span | None, other: Span | None) -> bool:
    if span is None or other is None or span == other:
        return False
    return other.line <= span.line and span.end_line <= other.end_line and span.line > other.line


def _cover(functor: Operation, element: DType, given: Scalars, taken: set[int]) -> None:
    scalars = scalars_for(functor, element, given)
    drawn = samples(element.torch, functor.arity.inputs, numbers_of(functor, element, scalars)).tensors
    step = max(1, (len(drawn[0]) - _GRID) // _MOST)
    if element.kind is Kind.COMPLEX:
        drawn = tuple(o.to(torch.complex64) for o in drawn)
    operands = [torch.cat([take(o, slice(0, _GRID)), take(o, slice(_GRID, None, step))]) for o in drawn]
    function = overload_of(functor, element).function
    compute = functor.caller.compute(element)
    narrow = reads_bits(functor, element)
    if element.kind is Kind.COMPLEX or not narrow:
        operands = [wide(o) for o in operands]
    else:
        operands = [o.to(compute.torch) for o in operands]
    coverage = _Coverage(compute, operands, not narrow, taken)
    numbers = [coverage.constant(scalars[p.name], p.type) for p in function.scalars]
    coverage.call(function, [*operands, *numbers])


def _branches(body: tuple[ir.Stmt, ...]) -> list[tuple[str, Span | None, int]]:
    found: list[tuple[str, Span | None, int]] = []
    for stmt in ir.statements(body):
        place = getattr(stmt, "span", None)
        match stmt:
            case ir.If(_, then, otherwise):
                if then:
                    found.append(("branch", first_span(then) or place, id(then)))
                if otherwise:
                    found.append(("`else` branch", first_span(otherwise) or place, id(otherwise)))
            case ir.While(_, inner) | ir.For(body=inner):
                found.append(("loop", place, id(inner)))
            case _:
                pass
        for expr in ir.own_expressions(stmt):
            for part in ir.subexpressions(expr):
                if isinstance(part, ir.Select):
                    for what, side in (("", part.then), ("`else` ", part.otherwise)):
                        own = first_span(ir.subexpressions(side))
                        found.append((f"{what}side of a conditional", own or place, id(side)))
    return found
