"""Lowering of comparisons: `<` and its like, which chain, `in` of a tuple of numbers, and `is True`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pymetal.errors import PyMetalError, Span
from pymetal.frontend import static_iteration
from pymetal.frontend.arithmetic import number, weak
from pymetal.frontend.context import Env, ExpressionContext
from pymetal.frontend.refusals import SYMBOLS
from pymetal.ir import Expr, Op
from pymetal.ops import python as ops

_COMPARE: dict[type[ast.cmpop], Op] = {
    ast.Eq: ops.EQ, ast.NotEq: ops.NE, ast.Lt: ops.LT, ast.LtE: ops.LE, ast.Gt: ops.GT, ast.GtE: ops.GE,
}  # fmt: skip


def lower_compare(ctx: ExpressionContext, node: ast.Compare, env: Env) -> Expr:
    """A chain of comparisons, each of which is evaluated only if those before it hold."""
    return ctx.short_circuit(ops.AND, _comparisons(ctx, node, env), ctx.source.span(node))


def _comparisons(ctx: ExpressionContext, node: ast.Compare, env: Env) -> Iterator[Expr]:
    left, span, last = ctx.lower(node.left, env), ctx.source.span(node), len(node.ops) - 1
    for index, (operator, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
        op = _COMPARE.get(type(operator))
        negated = isinstance(operator, ast.NotIn | ast.IsNot)
        if op is not None:
            uses = 2 if index < last else 1
            right = ctx.subexpressions.share(ctx.lower(comparator, env), "middle", uses, ctx.source.span(comparator))
            yield ctx.arithmetic.apply(op, [left, right], span)
            left = right
            continue
        if index < last:
            raise _refuse(ctx, node, operator)
        if isinstance(operator, ast.Is | ast.IsNot):
            if not isinstance(comparator, ast.Constant) or not isinstance(comparator.value, bool):
                raise _refuse(ctx, node, operator)
            condition = _is(ctx, left, comparator.value, span)
        else:
            condition = _in(ctx, node, operator, left, comparator, env)
        yield ctx.arithmetic.apply(ops.NOT, [condition], span) if negated else condition


def _is(ctx: ExpressionContext, value: Expr, truth: bool, span: Span) -> Expr:
    """`value is True` or `value is False`, which no number is."""
    if not ctx.is_bool(value):
        return weak(False, span)
    condition = ctx.truth(value, span)
    return condition if truth else ctx.arithmetic.apply(ops.NOT, [condition], span)


def _in(
    ctx: ExpressionContext, node: ast.Compare, operator: ast.cmpop, value: Expr, sequence: ast.expr, env: Env
) -> Expr:
    """Whether a tuple of numbers has one that is equal to `value`."""
    found = static_iteration.lazy_items(ctx, sequence, env)
    if found is None:
        raise _refuse(ctx, node, operator)
    items, span = tuple(found), ctx.source.span(node)
    numbers = [item for item in items if not isinstance(item, tuple) and number(item) is not None]
    if len(numbers) < len(items):  # of two variables, Python also asks whether they are the same object
        raise ctx.source.refusal("table", sequence, name=ast.unparse(sequence), what="numbers")
    value = ctx.subexpressions.share(value, "element", len(numbers), span)
    return ctx.short_circuit(ops.OR, (ctx.arithmetic.apply(ops.EQ, [value, item], span) for item in numbers), span)


def _refuse(ctx: ExpressionContext, node: ast.Compare, operator: ast.cmpop) -> PyMetalError:
    hint = "Elements are numbers: compare with `==`."
    if isinstance(operator, ast.In | ast.NotIn):
        hint = "Only tuples of numbers are searched: `x in (1, 2)`."
    return ctx.source.refusal("operator", node, symbol=SYMBOLS[type(operator)], hint=hint)
