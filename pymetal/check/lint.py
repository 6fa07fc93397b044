"""Rules on the text of a functor: the findings of numbers 20 and above.

Each rule is a function of the checked IR, where every conversion is written out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator

from pymetal import dtypes, ir
from pymetal.check.branch_coverage import dead_branches
from pymetal.check.c10_equivalents import equivalents
from pymetal.check.findings import Finding, finding, first_span
from pymetal.dtypes import DType, Kind
from pymetal.errors import Span
from pymetal.ops import python as ops
from pymetal.runtime.operation import Operation

Rule = Callable[[Operation], Iterator[Finding]]
_Rounds = Callable[[ir.Expr], bool]
_Expressions = list[ir.Expr]
_INTEGERS = frozenset({Kind.SIGNED, Kind.UNSIGNED})


def lint(functor: Operation) -> list[Finding]:
    """Runs all rules, in the order of their numbers."""
    return [found for rule in RULES for found in rule(functor)]


def _walk(functor: Operation) -> Iterator[tuple[ir.Overload, ir.Expr, Span | None]]:
    """Every expression of the functor's own bodies, with its place or that of its statement."""
    for overload in functor.ir.overloads:
        for stmt in ir.statements(overload.function.body):
            place = getattr(stmt, "span", None)
            for expr in ir.own_expressions(stmt):
                for part in ir.subexpressions(expr):
                    yield overload, part, getattr(part, "span", None) or place


def _kinds(type_: ir.Type, overload: ir.Overload) -> set[DType]:
    return {d for d in (ir.resolve(type_, e) for e in overload.domain) if d is not None}


def _names(domain: Iterable[DType]) -> tuple[str, ...]:
    return tuple(d.name.rstrip("_") for d in domain)


def int_through_float(functor: Operation) -> Iterator[Finding]:
    """A float of an integer of more than 24 bits, on the way to an integer result or to a truth value."""
    for overload, expr, span in _walk(functor):
        if not isinstance(expr, ir.Cast):
            continue
        hit = []
        for element in overload.domain:
            source, target = ir.resolved(expr.value.type, element), ir.resolved(expr.type, element)
            result = ir.resolved(overload.function.result, element)
            loses = source.kind in _INTEGERS and source.bits > 24 and target.kind is Kind.FLOATING
            back = result.kind in _INTEGERS or (result.kind is Kind.BOOL and element.kind in _INTEGERS)
            if loses and back and not isinstance(expr.value, ir.Const):
                hit.append((element, target))
        if hit:
            yield finding("int-through-float", functor, span, _names([e for e, _ in hit]), type=hit[0][1])


def float_equality(functor: Operation) -> Iterator[Finding]:
    """`a == b` of floats inside a functor that is no comparison, and that tests NaN nowhere."""
    if any(op.tests_nan for op in ir.uses(functor.ir)):
        return
    for overload, expr, span in _walk(functor):
        if not isinstance(expr, ir.Call) or expr.op not in (ops.EQ, ops.NE):
            continue
        numbers = any(isinstance(_bare(a), ir.Const) for a in expr.args)
        floats = any(d.kind is Kind.FLOATING for d in _kinds(expr.args[0].type, overload))
        truth = all(d.kind is Kind.BOOL for d in _kinds(overload.function.result, overload))
        if floats and not numbers and not truth:
            served = [d for d in overload.domain if d.kind is Kind.FLOATING]
            yield finding("float-equality", functor, span, _names(served), symbol=expr.op.symbol)


def _bare(expr: ir.Expr) -> ir.Expr:
    return _bare(expr.value) if isinstance(expr, ir.Cast) else expr


def fast_maths(functor: Operation) -> Iterator[Finding]:
    """`metal.fast.*`."""
    for overload, expr, span in _walk(functor):
        if isinstance(expr, ir.Call) and expr.op.fast:
            yield finding("fast", functor, span, _names(overload.domain), name=expr.op.name, base=expr.op.base)


def half_arithmetic(functor: Operation) -> Iterator[Finding]:
    """More than one operation that rounds to half or bfloat, on one path."""
    for overload in functor.ir.overloads:
        hit = {}
        for element in overload.domain:
            compute = functor.caller.compute(element)
            if not (element.is_half and compute.is_half):
                continue
            rounding = _most_on_a_path(overload.function.body, functools.partial(_rounds, compute=compute))
            if len(rounding) > 1:
                hit[element] = rounding
        if hit:
            first = next(iter(hit.values()))
            place = first_span(first[1:])
            narrow = " and ".join(_names(hit))
            yield finding(
                "half-arithmetic", functor, place, _names(hit), count=len(first), narrow=narrow,
                way="Leave out the conversions on the way: opmath=True computes in float." if functor.opmath
                else "Write opmath=True: computed in float, rounded once.",
            )  # fmt: skip


def _most_on_a_path(body: tuple[ir.Stmt, ...], rounds: _Rounds) -> _Expressions:
    """The expressions that round on a path through the body; of the path that has most. A loop runs once."""
    ended, through = _block(body, rounds)
    return _longer(ended, through) or []


def _longer(a: _Expressions | None, b: _Expressions | None) -> _Expressions | None:
    if a is None or b is None:
        return b if a is None else a
    return b if len(b) > len(a) else a


def _block(body: tuple[ir.Stmt, ...], rounds: _Rounds) -> tuple[_Expressions | None, _Expressions | None]:
    """The longest of the paths that return in a block, and of those that do not; None where there is no such path."""
    before: _Expressions = []
    ended: _Expressions | None = None
    for stmt in body:
        before = before + [e for expr in ir.own_expressions(stmt) for e in _expression(expr, rounds)]
        if isinstance(stmt, ir.Return):
            return _longer(ended, before), None
        if isinstance(stmt, (ir.Break, ir.Continue)):
            break
        through: _Expressions | None = None if isinstance(stmt, ir.If) else []
        for block in ir.blocks(stmt):
            returned, left = _block(block, rounds)
            ended = _longer(ended, None if returned is None else before + returned)
            through = _longer(through, left)
        if through is None:
            return ended, None
        before = before + through
    return ended, before


def _expression(expr: ir.Expr, rounds: _Rounds) -> _Expressions:
    """Those of one expression; of a choice between two values one is computed."""
    own = [expr] if rounds(expr) else []
    parts = [_expression(part, rounds) for part in ir.operands(expr)]
    if isinstance(expr, ir.Select):
        condition, then, otherwise = parts
        return own + condition + (otherwise if len(otherwise) > len(then) else then)
    return own + [e for part in parts for e in part]


def _rounds(expr: ir.Expr, compute: DType) -> bool:
    """Whether an expression rounds to `compute`: an operator on it, or a conversion of what a wider one gave."""
    if isinstance(expr, ir.Call):
        constant = all(isinstance(_bare(a), ir.Const) for a in expr.args)
        return ir.resolve(expr.type, compute) == compute and expr.op.rounds and not constant
    if not isinstance(expr, ir.Cast) or not isinstance(expr.value, ir.Call):
        return False
    narrows = ir.resolve(expr.type, compute) == compute and ir.resolve(expr.value.type, compute) == dtypes.float32
    # fabs(float(x)) has no more digits than x.
    narrow = all(ir.resolve(_bare(a).type, compute) == compute for a in expr.value.args)
    return narrows and (expr.value.op.rounds or not narrow)


def integer_division(functor: Operation) -> Iterator[Finding]:
    """A division of integers by what is neither a constant nor a variable that is compared with one."""
    seen: set[tuple[tuple[DType, ...], str]] = set()
    for overload, expr, place in _walk(functor):
        if not isinstance(expr, ir.Call) or not expr.op.divides:
            continue
        divisor = _bare(expr.args[1])
        integral = any(d.kind in _INTEGERS for d in _kinds(expr.type, overload))
        safe = _never_zero(divisor) or divisor in _compared_with_numbers(overload)
        key = (overload.domain, str(place))
        if integral and not safe and key not in seen:
            seen.add(key)
            served = [d for d in overload.domain if d.kind in _INTEGERS]
            yield finding("integer-division", functor, place, _names(served))


def _compared_with_numbers(overload: ir.Overload) -> set[ir.Expr]:
    calls = [e for e in ir.expressions(overload.function.body) if isinstance(e, ir.Call)]
    sides = [[_bare(a) for a in c.args] for c in calls if c.op.rule is ir.TypeRule.COMPARE]
    return {a for pair in sides if any(isinstance(a, ir.Const) for a in pair) for a in pair if isinstance(a, ir.Name)}


def _never_zero(expr: ir.Expr) -> bool:
    """Whether an integer is seen to be another number than zero: a constant, `b | 1`, `max(b, 1)`."""
    expr = _bare(expr)
    if isinstance(expr, ir.Const):
        return True
    if not isinstance(expr, ir.Call) or expr.op not in (ops.BITOR, ops.MAX):
        return False
    constants = [v for a in expr.args if isinstance(c := _bare(a), ir.Const) and isinstance(v := c.value, int)]
    return any(v != 0 if expr.op is ops.BITOR else v > 0 for v in constants)


def unreached(functor: Operation) -> Iterator[Finding]:
    """Branches that no element takes."""
    for what, span in dead_branches(functor):
        yield finding("dead-branch", functor, span, what=what)


def reimplementation(functor: Operation) -> Iterator[Finding]:
    """The functor, or a helper of it, that is a c10 function written anew."""
    for name, function, difference, span in equivalents(functor):
        yield finding("reimplementation", functor, span, name=name, function=function, difference=difference)


RULES: tuple[Rule, ...] = (
    int_through_float, float_equality, fast_maths, half_arithmetic, integer_division, unreached, reimplementation,
)  # fmt: skip
