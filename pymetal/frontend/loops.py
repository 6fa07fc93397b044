"""Loops: `while`, `for` over `range`, and `for` over a sequence whose items are known, which is unrolled."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import replace

from pymetal import dtypes, ir
from pymetal.dtypes import Kind
from pymetal.frontend import static_iteration
from pymetal.frontend.arithmetic import number, weak
from pymetal.frontend.context import Binding, Block, Env, Item, Loop
from pymetal.frontend.control_flow import StatementContext, declare_ahead, merge
from pymetal.frontend.liveness import NO_NAMES, Names, assigned_names, iterates_at_least_once
from pymetal.frontend.names import builtin_name, is_dotted
from pymetal.frontend.refusals import construct
from pymetal.ir import Break, Const, Continue, Expr, For, Name, Return, Type, While


def lower_exit(ctx: StatementContext, stmt: ast.Break | ast.Continue, env: Env, block: Block) -> tuple[Env, bool]:
    """`break` and `continue`."""
    what = "`break`" if isinstance(stmt, ast.Break) else "`continue`"
    loop = ctx.loops[-1]  # Python itself refuses them outside a loop
    if loop.iterations is not None:
        over, hint = "that static_range unrolls", "Use range(), or an `if`."
        if loop.table is not None:
            over, hint = "over a tuple, which is unrolled", "Use an `if`."
            if loop.table:
                hint = f"Use range(len({loop.table})) and {loop.table}[i], or an `if`."
        raise ctx.source.refusal("static-loop", stmt, what=what, over=over, hint=hint)
    if isinstance(stmt, ast.Break):
        loop.breaks.append(env)
        block.statements.append(Break())
    else:
        loop.continues.append(env)
        block.statements.append(Continue())
    return env, False


def lower_while(ctx: StatementContext, stmt: ast.While, env: Env, block: Block) -> tuple[Env, bool]:
    """A `while` loop; one whose condition is the constant True ends by `break` or `return` only."""
    _check_no_else(ctx, stmt)
    live = _live_names(ctx, stmt, block)
    names = assigned_names(stmt.body) & live
    ctx.loops.append(Loop())
    env = declare_ahead(ctx, stmt, names, env, block, lambda env: ctx.lower_block(stmt.body, env, Block(live)))
    with ctx.expressions.subexpressions.insert_at(None):  # computed in each iteration
        condition = ctx.expressions.lower_condition(stmt.test, env)
    inner = Block(live)
    ctx.lower_block(stmt.body, env, inner)
    loop = ctx.loops.pop()
    body = tuple(inner.statements)
    block.statements.append(While(condition, body, ctx.source.span(stmt)))
    endless = isinstance(condition, Const) and bool(condition.value)
    if endless and not loop.breaks and not any(isinstance(s, Return) for s in ir.statements(body)):
        hint = "Leave it by `break` or `return`."
        raise ctx.source.refusal("loop", stmt, what="a loop that never ends", hint=hint)
    ends = loop.breaks if endless else [env, *loop.breaks]
    return merge(env, ends), bool(ends)


def lower_for(ctx: StatementContext, stmt: ast.For, env: Env, block: Block) -> tuple[Env, bool]:
    """A `for` loop over `range`, which counts, or over a sequence whose items are known, which is unrolled."""
    _check_no_else(ctx, stmt)
    iterable, expressions = stmt.iter, ctx.expressions
    bounds = _counted(ctx, iterable, env)
    if bounds is not None:
        if not isinstance(stmt.target, ast.Name):
            raise ctx.source.refusal("target", stmt.target, what=construct(stmt.target)[0])
        return _lower_range(ctx, stmt, stmt.target.id, bounds, env, block)
    items = static_iteration.items_of(expressions, iterable, env)
    if not items and iterates_at_least_once(iterable):
        raise ctx.source.refusal("table", iterable, name=ast.unparse(iterable), what="numbers")
    around = math.prod(loop.iterations for loop in ctx.loops if loop.iterations is not None)
    static_iteration.check_unrolled(ctx.source, iterable, len(items), around)
    static_range = builtin_name(static_iteration.callee(expressions, iterable, env)) == "static_range"
    indexed = is_dotted(iterable) and not any(isinstance(item, tuple) for item in items)
    table = None if static_range else ast.unparse(iterable) if indexed else ""
    return _lower_unrolled(ctx, stmt, Loop(len(items), table), items, env, block)


def _counted(ctx: StatementContext, node: ast.expr, env: Env) -> tuple[Expr, Expr, Expr] | None:
    """The bounds of `range(...)`, or of `reversed(range(...))` with constant bounds; None for anything else."""
    if not isinstance(node, ast.Call):
        return None
    callee = static_iteration.callee(ctx.expressions, node, env)
    if callee is range:
        return static_iteration.range_bounds(ctx.expressions, node, env)
    if callee is reversed and len(node.args) == 1:
        inner = _counted(ctx, node.args[0], env)
        values = None if inner is None else static_iteration.constant_range(inner)
        if values is not None:
            back, span = values[::-1], ctx.source.span(node)
            return weak(back.start, span), weak(back.stop, span), weak(back.step, span)
    return None


def _lower_unrolled(
    ctx: StatementContext, stmt: ast.For, loop: Loop, items: Sequence[Item], env: Env, block: Block
) -> tuple[Env, bool]:
    """The body once for each item.

    A number stays a constant, which is assigned to the variable that the name has around the loop where later
    statements may read that: after the loop, if they are outside its block, and before a branch or a loop that assigns
    the name. Other items are computed before the loop where its body may change what they are made of.
    """
    ctx.loops.append(loop)
    ctx.folded.add(stmt)
    outer = ctx.unrolled
    names = sorted(assigned_names([stmt.target]))
    before = {name: env.get(name) for name in names}
    shadowed = {n: b if b is None or b.variable is not None else b.shadowed for n, b in before.items()}
    next_name = f"{names[0] if len(names) == 1 else 'item'}_next"
    kept = [ctx.variables.keep(item, next_name, (stmt, outer, i), env, block) for i, item in enumerate(items)]
    falls_through = True
    for index, item in enumerate(kept):
        if not falls_through:
            break  # an earlier iteration always returns
        ctx.unrolled = (*outer, index)
        for name, value in static_iteration.bind_target(ctx.source, stmt.target, item):
            if not isinstance(value, tuple) and number(value) is not None:
                env = {**env, name: Binding(value, block=block, shadowed=shadowed[name])}
            else:
                env = ctx.assign(name, value, stmt, env, block)
        env, falls_through = ctx.lower_block(stmt.body, env, block)
    ctx.unrolled = outer
    ctx.loops.pop()
    if items and falls_through:
        for name in names:
            if name in block.live_out and env[name].is_constant:
                env = ctx.assign(name, env[name].value, stmt, env, block)
    return env, falls_through


def _lower_range(
    ctx: StatementContext, stmt: ast.For, name: str, bounds: tuple[Expr, Expr, Expr], env: Env, block: Block
) -> tuple[Env, bool]:
    """A `for` loop of the text, which counts."""
    type_ = _counter_type(ctx, bounds)
    roles = zip(("start", "stop", "step"), bounds, strict=True)
    start, stop, step = (_bound(ctx, stmt, f"{name}_{role}", bound, type_, env, block) for role, bound in roles)
    live = _live_names(ctx, stmt, block)
    # Python assigns the variable in each iteration: one that is read after the loop, or assigned in it, is a variable
    # of its own, which each iteration sets from a hidden counter.
    own = name in assigned_names(stmt.body) or name in ctx.liveness.live_out[stmt] | block.live_out
    names = (assigned_names(stmt.body) | ({name} if own else NO_NAMES)) & live
    counter = Name(ctx.variables.unique_name(f"{name}_count" if own else name), type_)
    limits = _value_range(bounds)

    def lower_body(env: Env) -> tuple[Block, list[Env]]:
        """The statements of an iteration, and the bindings at its end, if control gets there."""
        inner = Block(live)
        if own:
            env = ctx.assign(name, counter, stmt, env, inner)
            if name not in assigned_names(stmt.body):
                env = {**env, name: replace(env[name], bounds=limits)}
        else:
            env = {**env, name: Binding(counter, block=inner, bounds=limits)}
        end, falls_through = ctx.lower_block(stmt.body, env, inner)
        return inner, [end] if falls_through else []

    ctx.loops.append(Loop())
    env = declare_ahead(ctx, stmt, names, env, block, lower_body)
    inner, ends = lower_body(env)
    loop = ctx.loops.pop()
    body = tuple(inner.statements)
    block.statements.append(For(counter.name, type_, start, stop, step, body, ctx.source.span(stmt)))
    # With constant bounds there is at least one iteration, and it has ended in one of these ways.
    ends = [*ends, *loop.continues] if limits is not None else [env]
    return merge(env, [*ends, *loop.breaks]), True


def _counter_type(ctx: StatementContext, bounds: tuple[Expr, Expr, Expr]) -> Type:
    """int, or long where a bound may need it: narrow counters would wrap before they reach their end.

    It is ulong where a bound is one and none is negative.
    """
    typing, constants = ctx.expressions.typing, [number(b) for b in bounds]
    types = [typing.at(b.type) for b in bounds if number(b) is None]
    unsigned = [any(row[k] == dtypes.uint64 for row in types) for k in range(len(typing.domain))]
    if typing.uniform(unsigned):
        others = [d for row in types for d in row if d is not None and d.kind is Kind.SIGNED]
        if not others and all(v >= 0 for v in constants[:2] if isinstance(v, int)):
            return ir.Concrete(dtypes.uint64)
    wide = any(d is not None and (d.bits == 64 or d == dtypes.uint32) for row in types for d in row)
    large = any(not -(1 << 31) <= v < 1 << 31 for v in constants if isinstance(v, int))
    return ir.WEAK_LONG if wide or large else ir.WEAK_INT


def _bound(ctx: StatementContext, stmt: ast.For, name: str, bound: Expr, type_: Type, env: Env, block: Block) -> Expr:
    """A bound of the loop, computed once: a constant, or a variable of its own."""
    target = ir.Concrete(ir.resolved(type_, dtypes.int32))
    value = number(bound)
    if value is not None:
        return Const(value, ir.Concrete(dtypes.int64) if target.dtype == dtypes.uint64 else target)
    converted = ctx.expressions.arithmetic.convert(bound, target)
    if any(b.value == converted and not ctx.variables.is_mutable(b) for b in env.values()):
        return converted  # a name that is not assigned again
    return ctx.variables.declare_new(name, ("bound", name, stmt, ctx.unrolled), converted, target, block)


def _value_range(bounds: tuple[Expr, Expr, Expr]) -> tuple[int, int] | None:
    """The lowest and highest value of a counter with constant bounds and at least one iteration."""
    values = [number(b) for b in bounds]
    if not all(isinstance(v, int) for v in values):
        return None
    counts = range(*values)  # type: ignore[arg-type]
    return (min(counts[0], counts[-1]), max(counts[0], counts[-1])) if counts else None


def _live_names(ctx: StatementContext, stmt: ast.For | ast.While, block: Block) -> Names:
    """The names that are read in the next iteration of a loop, or after it."""
    return ctx.liveness.loop_live_in[stmt] | ctx.liveness.live_out[stmt] | block.live_out


def _check_no_else(ctx: StatementContext, stmt: ast.For | ast.While) -> None:
    if stmt.orelse:
        hint = "Set a flag before `break` and test it."
        raise ctx.source.refusal("loop", stmt.orelse[0], what="`else` of a loop", hint=hint)
