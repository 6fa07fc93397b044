"""Where paths part and meet: branches, what is declared ahead of branches and loops, and what is set after them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from pymetal.frontend.context import Binding, Block, Env, StatementContext
from pymetal.frontend.liveness import Live, assigned
from pymetal.ir import Const, If, Stmt


def lower_if(x: StatementContext, stmt: ast.If, out: list[Stmt], env: Env, block: Block) -> tuple[Env, bool]:
    """An `if` with its `elif` and `else`."""
    condition = x.expressions.test(stmt.test, env, "`if`")
    if isinstance(condition, Const):  # known when the functor is compiled: only one branch is there
        x.folded.add(stmt)
        taken, env, falls = x.block(stmt.body if condition.value else stmt.orelse, env, block)
        out.extend(taken)
        return env, falls
    live = x.liveness.after[stmt] | block.live
    names = (assigned(stmt.body) | assigned(stmt.orelse)) & live

    def branches(env: Env) -> None:
        for body in (stmt.body, stmt.orelse):
            x.block(body, env, x.new_block(live))

    env = declare_ahead(x, stmt, names, out, env, block, branches)
    then, then_env, then_falls = x.block(stmt.body, env, x.new_block(live))
    otherwise, else_env, else_falls = x.block(stmt.orelse, env, x.new_block(live))
    out.append(If(condition, tuple(then), tuple(otherwise), x.source.span(stmt)))
    ends = [e for e, falls in ((then_env, then_falls), (else_env, else_falls)) if falls]
    return merge(env, ends), bool(ends)


def declare_ahead(
    x: StatementContext,
    stmt: ast.stmt,
    names: Live,
    out: list[Stmt],
    env: Env,
    block: Block,
    run: Callable[[Env], object],
) -> Env:
    """Declares the `names` that a branch or a loop assigns and that are read afterwards.

    Where their types are not known yet, `run` lowers what is in it once; the text is thrown away.
    """
    compound = (stmt, x.unrolled)
    env = x.variables.settle(names, out, env, block, compound)
    unknown = x.variables.unknown(names, env, compound)
    if unknown:
        _learn_types(x, compound, unknown, lambda: run(env))
    return x.variables.declare_ahead(names, out, env, block, compound)


def _learn_types(x: StatementContext, compound: object, unknown: Live, run: Callable[[], object]) -> None:
    taken, blocks = set(x.variables.taken), x.blocks
    exits = [(loop.breaks[:], loop.continues[:]) for loop in x.loops]
    x.variables.trials.append((compound, unknown))
    run()
    x.variables.trials.pop()
    x.variables.taken, x.blocks = taken, blocks
    for loop, saved in zip(x.loops, exits, strict=True):
        loop.breaks, loop.continues = saved


def merge(env: Env, ends: list[Env]) -> dict[str, Binding]:
    """The names after several paths have met: set only if every path sets them."""
    return {
        name: replace(binding, assigned=all(e[name].assigned for e in ends if name in e) if ends else True)
        for name, binding in env.items()
    }
