"""Branches, what is declared ahead of branches and loops, and which names are assigned where paths merge."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from pymetal.frontend.context import Binding, Block, Env, Item, Loop
from pymetal.frontend.expressions import ExpressionLowering
from pymetal.frontend.liveness import Liveness, Names, assigned_names
from pymetal.frontend.source import Source
from pymetal.frontend.variables import Variables
from pymetal.ir import Const, If


class StatementContext(Protocol):
    """Lowers the statements of one function."""

    source: Source
    expressions: ExpressionLowering
    variables: Variables
    liveness: Liveness
    loops: list[Loop]
    unrolled: tuple[int, ...]
    folded: set[ast.AST]

    def lower_block(self, stmts: list[ast.stmt], env: Env, block: Block) -> tuple[Env, bool]: ...

    def assign(self, name: str, value: Item, stmt: ast.stmt, env: Env, block: Block) -> Env: ...


def lower_if(ctx: StatementContext, stmt: ast.If, env: Env, block: Block) -> tuple[Env, bool]:
    """An `if` with its `elif` and `else`."""
    condition = ctx.expressions.lower_condition(stmt.test, env)
    if isinstance(condition, Const):  # known at compile time: only one branch is lowered
        ctx.folded.add(stmt)
        return ctx.lower_block(stmt.body if condition.value else stmt.orelse, env, block)
    live = ctx.liveness.live_out[stmt] | block.live_out

    def lower_branches(env: Env) -> list[tuple[Block, Env, bool]]:
        branches = []
        for body in (stmt.body, stmt.orelse):
            branch = Block(live)
            branches.append((branch, *ctx.lower_block(body, env, branch)))
        return branches

    names = (assigned_names(stmt.body) | assigned_names(stmt.orelse)) & live
    env = declare_ahead(ctx, stmt, names, env, block, lower_branches)
    branches = lower_branches(env)
    then, otherwise = (tuple(branch.statements) for branch, _, _ in branches)
    block.statements.append(If(condition, then, otherwise, ctx.source.span(stmt)))
    ends = [end for _, end, falls_through in branches if falls_through]
    return merge(env, ends), bool(ends)


def declare_ahead(
    ctx: StatementContext, stmt: ast.stmt, names: Names, env: Env, block: Block, lower_inner: Callable[[Env], object]
) -> Env:
    """Declares the `names` that a branch or a loop assigns and that are read afterwards.

    Where their types are not known yet, `lower_inner` lowers its blocks once, and the statements are discarded.
    """
    compound = (stmt, ctx.unrolled)
    env = ctx.variables.materialize_constants(names, env, block, compound)
    if untyped := ctx.variables.untyped(names, env, compound):
        used, exits = set(ctx.variables.used_names), [(loop.breaks[:], loop.continues[:]) for loop in ctx.loops]
        ctx.variables.inferring.append((compound, untyped))
        lower_inner(env)
        ctx.variables.inferring.pop()
        ctx.variables.used_names = used
        for loop, (breaks, continues) in zip(ctx.loops, exits, strict=True):
            loop.breaks, loop.continues = breaks, continues
    return ctx.variables.declare_ahead(names, env, block, compound)


def merge(env: Env, ends: list[Env]) -> dict[str, Binding]:
    """The bindings after several paths have met: a name is assigned only if every path assigns it."""
    return {
        name: replace(binding, assigned=all(e[name].assigned for e in ends if name in e))
        for name, binding in env.items()
    }
