"""Loops: `while`, `for` over `range`, and `static_range`, which is unrolled."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import replace

from pymetal import dtypes, ir
from pymetal.frontend import control_flow as paths
from pymetal.frontend.arithmetic import number, weak
from pymetal.frontend.context import Binding, Block, Env, Loop, StatementContext
from pymetal.frontend.liveness import NONE, assigned
from pymetal.frontend.names import builtin_name, is_dotted, static_value
from pymetal.frontend.refusals import construct, refusal
from pymetal.ir import Break, Const, Continue, Expr, For, Name, Return, Stmt, Type, Weak, While

_MAX_UNROLL = 1024


def lower_exit(x: StatementContext, stmt: ast.Break | ast.Continue, out: list[Stmt], env: Env) -> tuple[Env, bool]:
    """`break` and `continue`."""
    what = "`break`" if isinstance(stmt, ast.Break) else "`continue`"
    loop = x.loops[-1]  # Python itself refuses them outside a loop
    if loop.rounds is not None:
        over, way = "that static_range unrolls", "Use range(), or an `if`."
        if loop.table is not None:
            over, way = "over a tuple, which is unrolled", "Use an `if`."
            if loop.table:
                way = f"Use range(len({loop.table})) and {loop.table}[i], or an `if`."
        raise refusal("static-loop", x.source.span(stmt), what=what, over=over, way=way)
    if isinstance(stmt, ast.Break):
        loop.breaks.append(env)
        out.append(Break())
    else:
        loop.continues.append(env)
        out.append(Continue())
    return env, False


def lower_while(x: StatementContext, stmt: ast.While, out: list[Stmt], env: Env, block: Block) -> tuple[Env, bool]:
    """A `while` loop; one whose condition is the constant True ends by `break` or `return` only."""
    _no_else(x, stmt)
    live = x.liveness.again[stmt] | x.liveness.after[stmt] | block.live
    names = assigned(stmt.body) & live
    x.loops.append(Loop())
    env = paths.declare_ahead(x, stmt, names, out, env, block, lambda env: x.block(stmt.body, env, x.new_block(live)))
    with x.expressions.sharing.before(None):  # computed in each round
        condition = x.expressions.test(stmt.test, env, "`while`")
    body, _, _ = x.block(stmt.body, env, x.new_block(live))
    loop = x.loops.pop()
    out.append(While(condition, tuple(body), x.source.span(stmt)))
    endless = isinstance(condition, Const) and bool(condition.value)
    if endless and not loop.breaks and not any(isinstance(s, Return) for s in ir.statements(tuple(body))):
        raise refusal(
            "loop", x.source.span(stmt), what="a loop that never ends", way="Leave it by `break` or `return`."
        )
    ends = loop.breaks if endless else [env, *loop.breaks]
    return paths.merge(env, ends), bool(ends)


def lower_for(x: StatementContext, stmt: ast.For, out: list[Stmt], env: Env, block: Block) -> tuple[Env, bool]:
    """A `for` loop over `range` or `static_range`."""
    _no_else(x, stmt)
    if not isinstance(stmt.target, ast.Name):
        raise refusal("target", x.source.span(stmt.target), what=construct(stmt.target)[0])
    called = stmt.iter
    callee = None
    if isinstance(called, ast.Call) and is_dotted(called.func):
        callee = static_value(x.source, called.func)
    if not isinstance(called, ast.Call) or (callee is not range and builtin_name(callee) != "static_range"):
        values = _numbers(x, called, env)
        loop = Loop(rounds=_count(x, called, len(values)), table=ast.unparse(called) if is_dotted(called) else "")
        return _unrolled(x, stmt, stmt.target.id, loop, values, out, env, block)
    if called.keywords or not 1 <= len(called.args) <= 3:
        raise refusal(
            "argument-count", x.source.span(called), name=ast.unparse(called.func), wanted="1 to 3",
            found=len(called.args), way="Call it as range(start, stop, step).",
        )  # fmt: skip
    bounds = [x.expressions.lower(a, env) for a in called.args]
    start, stop, step = _three(x, bounds, called)
    if callee is not range:
        rounds = _static(x, called, (start, stop, step))
        loop = Loop(rounds=len(rounds))
        values = [weak(i, x.source.span(called)) for i in rounds]
        return _unrolled(x, stmt, stmt.target.id, loop, values, out, env, block)
    return _counted(x, stmt, stmt.target.id, (start, stop, step), out, env, block)


def _three(x: StatementContext, args: list[Expr], node: ast.Call) -> tuple[Expr, Expr, Expr]:
    span = x.source.span(node)
    for arg, argument in zip(args, node.args, strict=True):
        if not x.expressions.typing.kinds(arg.type) <= {dtypes.Kind.SIGNED, dtypes.Kind.UNSIGNED}:
            raise refusal("range-type", x.source.span(argument), type=x.expressions.describe(arg.type))
    match args:
        case [stop]:
            return weak(0, span), stop, weak(1, span)
        case [start, stop]:
            return start, stop, weak(1, span)
        case [start, stop, step]:
            if number(step) == 0:
                raise refusal("loop", x.source.span(node.args[2]), what="a step of zero", way="Count up or down.")
            return start, stop, step
        case _:
            raise AssertionError


def _static(x: StatementContext, node: ast.Call, bounds: tuple[Expr, Expr, Expr]) -> range:
    values = []
    for bound in bounds:
        value = number(bound)
        if not isinstance(value, int):
            raise refusal(
                "loop", x.source.span(node), what="static_range with bounds that are not constants", way="Use range()."
            )
        values.append(value)
    start, stop, step = values
    _count(x, node, max(0, -((start - stop) // step)))  # len() of a range fails where it is too large
    return range(start, stop, step)


def _numbers(x: StatementContext, node: ast.expr, env: Env) -> list[Expr]:
    """The numbers of a tuple, which has a name outside the functor or is written there."""
    table = x.expressions.table(node, env)
    if table is not None:
        return [weak(v, x.source.span(node)) for v in table.values]
    values = [x.expressions.lower(e, env) for e in node.elts] if isinstance(node, ast.Tuple | ast.List) else []
    if not isinstance(node, ast.Tuple | ast.List) or not all(number(v) is not None for v in values):
        raise refusal(
            "loop", x.source.span(node), what=f"a loop over {ast.unparse(node)}",
            way="Loop over range(...), pymetal.static_range(...) or a tuple of constant numbers.",
        )  # fmt: skip
    return values


def _count(x: StatementContext, node: ast.expr, count: int) -> int:
    """The rounds of a loop to unroll; with those of the loops around it, they are not too many."""
    around = math.prod(loop.rounds for loop in x.loops if loop.rounds is not None)
    if count * around > _MAX_UNROLL:
        times = f" {around} times" if around > 1 else ""
        raise refusal(
            "loop", x.source.span(node), what=f"unrolling {count} rounds{times}", way=f"Unroll {_MAX_UNROLL} at most."
        )
    return count


def _unrolled(
    x: StatementContext,
    stmt: ast.For,
    name: str,
    loop: Loop,
    values: Sequence[Expr],
    out: list[Stmt],
    env: Env,
    block: Block,
) -> tuple[Env, bool]:
    """The body once for each value, with the loop variable a constant.

    The constant goes to the variable that the name has around it where later statements may read that: after the loop,
    if they are outside its block, and before a branch or a loop that assigns the name.
    """
    x.loops.append(loop)
    x.folded.add(stmt)
    outer = x.unrolled
    before = env.get(name)
    home = before if before is None or before.slot is not None else before.home
    falls = True
    for index, value in enumerate(values):
        if not falls:
            break  # an earlier round always returns
        x.unrolled = (*outer, index)
        env = {**env, name: Binding(value, None, block.number, home=home)}
        statements, env, falls = x.block(stmt.body, env, block)
        out.extend(statements)
    x.unrolled = outer
    x.loops.pop()
    if values and falls and name in block.live and env[name].is_constant:
        env = x.assign(name, env[name].value, stmt, out, env, block)
    return env, falls


def _counted(
    x: StatementContext,
    stmt: ast.For,
    name: str,
    bounds: tuple[Expr, Expr, Expr],
    out: list[Stmt],
    env: Env,
    block: Block,
) -> tuple[Env, bool]:
    type_ = _counter_type(x, bounds)
    roles = zip(("start", "stop", "step"), bounds, strict=True)
    start, stop, step = (_held(x, stmt, f"{name}_{role}", bound, type_, out, env, block) for role, bound in roles)
    live = x.liveness.again[stmt] | x.liveness.after[stmt] | block.live
    # Python assigns the variable in each round: one that is read after the loop, or assigned in it, is a variable of
    # its own, which each round sets from a hidden counter.
    own = name in assigned(stmt.body) or name in x.liveness.after[stmt] | block.live
    names = (assigned(stmt.body) | ({name} if own else NONE)) & live
    variable = Name(x.variables.fresh(f"{name}_count" if own else name), type_)
    limits = _range(bounds)

    def body(env: Env) -> tuple[list[Stmt], list[Env]]:
        """The statements of a round, and the names where it ends."""
        inner, statements = x.new_block(live), list[Stmt]()
        if own:
            env = x.assign(name, variable, stmt, statements, env, inner)
            if name not in assigned(stmt.body):
                env = {**env, name: replace(env[name], bounds=limits)}
        else:
            env = {**env, name: Binding(variable, None, inner.number, bounds=limits)}
        more, end, falls = x.block(stmt.body, env, inner)
        return [*statements, *more], [end] if falls else []

    x.loops.append(Loop())
    env = paths.declare_ahead(x, stmt, names, out, env, block, body)
    statements, ends = body(env)
    loop = x.loops.pop()
    out.append(For(variable.name, type_, start, stop, step, tuple(statements), x.source.span(stmt)))
    # With constant bounds at least one round is certain, and it has ended in one of these ways.
    ends = [*ends, *loop.continues] if limits is not None else [env]
    return paths.merge(env, [*ends, *loop.breaks]), True


def _counter_type(x: StatementContext, bounds: tuple[Expr, Expr, Expr]) -> Type:
    """int, or long where a bound may need it: narrow counters would wrap before they reach their end."""
    wide = any(
        d is not None and (d.bits == 64 or d == dtypes.uint32)
        for b in bounds
        if not isinstance(b.type, Weak)
        for d in x.expressions.typing.at(b.type)
    )
    large = any(isinstance(v := number(b), int) and not -(1 << 31) <= v < 1 << 31 for b in bounds)
    return ir.Concrete(dtypes.int64) if wide or large else ir.WEAK_INT


def _held(
    x: StatementContext, stmt: ast.For, name: str, bound: Expr, type_: Type, out: list[Stmt], env: Env, block: Block
) -> Expr:
    """A bound of the loop, computed once: a constant, or a variable of its own."""
    target = ir.Concrete(dtypes.int32) if isinstance(type_, Weak) else type_
    value = number(bound)
    if value is not None:
        return Const(value, target)
    converted = x.expressions.arithmetic.convert(bound, target)
    if any(b.value == converted and not x.variables.is_mutable(b) for b in env.values()):
        return converted  # a name that is not assigned again
    key = ("bound", name, stmt, x.unrolled)
    x.variables.register(key, target)
    return x.variables.declare(out, name, key, converted, block).value


def _range(bounds: tuple[Expr, Expr, Expr]) -> tuple[int, int] | None:
    """The lowest and highest value of a counter with constant bounds and at least one round."""
    values = [number(b) for b in bounds]
    if not all(isinstance(v, int) for v in values):
        return None
    rounds = range(*values)  # type: ignore[arg-type]
    return (min(rounds[0], rounds[-1]), max(rounds[0], rounds[-1])) if rounds else None


def _no_else(x: StatementContext, stmt: ast.For | ast.While) -> None:
    if stmt.orelse:
        raise refusal(
            "loop", x.source.span(stmt.orelse[0]), what="`else` of a loop", way="Set a flag before `break` and test it."
        )
