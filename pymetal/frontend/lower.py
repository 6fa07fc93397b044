"""A `Source` and a group of dtypes become an `ir.Function`, its variables declared where C++ needs them.

Python has one scope for a function, C++ one for a block. A variable is declared where it is first assigned, or ahead of
the `if` whose branches assign it when it is read afterwards. Assigning a name again where it was declared, with
another type, makes a new variable. Types of variables that several paths assign are joined; since that can change what
was typed before, the body is lowered again until nothing changes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pymetal import ir
from pymetal.dtypes import DType, Kind
from pymetal.frontend.annotations import Signature, parse_type
from pymetal.frontend.expressions import Binding, Env, Expressions
from pymetal.frontend.liveness import Live, assigned, live_after_branches
from pymetal.frontend.refusals import construct, refusal
from pymetal.frontend.source import Source
from pymetal.frontend.typing import Typing
from pymetal.ir import Assign, Const, Expr, Function, If, Let, Name, Param, Return, Stmt, Type

_MAX_PASSES = 16


@dataclass
class _Slot:
    """A variable: what is known of it from the passes so far."""

    type: Type
    mutable: bool = False
    pinned: bool = False  # annotated by the user: never widened


@dataclass(frozen=True)
class _Block:
    number: int
    live: Live  # the names that are read after the statement that holds the block


def lower(source: Source, signature: Signature, domain: tuple[DType, ...], body: Type, result: Type) -> Function:
    """The body of `source`, typed for a group of dtypes of one kind.

    Args:
        body: what the element type means inside the body.
        result: the type that the functor returns.
    """
    return _Lowering(source, signature, domain, body, result).run()


class _Lowering:
    def __init__(
        self, source: Source, signature: Signature, domain: tuple[DType, ...], body: Type, result: Type
    ) -> None:
        self.source = source
        self.signature = signature
        self.typing = Typing(domain)
        self.expressions = Expressions(source, self.typing, body)
        self.result = result
        self.slots: dict[object, _Slot] = {}
        self.copied: set[str] = set()  # parameters that a branch assigns
        self.trials: list[tuple[ast.If, set[str]]] = []
        self.statements = _without_docstring(source.node.body)
        self.expressions.local_names = assigned(self.statements)
        self.live = live_after_branches(self.statements)

    def run(self) -> Function:
        if not self.statements:
            raise refusal("empty-body", self.source.span(self.source.node), functor=self.source.node.name)
        for _ in range(_MAX_PASSES):
            self.changed = False
            self.blocks = 0
            self.taken: set[str] = set()
            function = self._function()
            if not self.changed:
                return function
        raise AssertionError("types of variables do not settle")  # joins only go up a finite ladder

    def _function(self) -> Function:
        signature, element = self.signature, self.expressions.element
        params = tuple(Param(name, signature.element.type) for name in signature.tensors)
        scalars = tuple(Param(name, element(a.type), default) for name, a, default, _ in signature.scalars)
        env: dict[str, Binding] = {}
        for param in params:
            value = self.expressions.convert(Name(param.name, param.type), element(param.type))
            env[param.name] = Binding(value, None, 0)
        for param in scalars:
            env[param.name] = Binding(Name(param.name, param.type), None, 0)
        self.taken |= set(env)
        block = self._new_block(frozenset())
        head: list[Stmt] = []
        for name in sorted(self.copied):
            value = env[name].value
            slot = self._slot(("parameter", name), value.type)
            env[name] = self._declare(head, name, slot, ("parameter", name), value, block)
        body, _, falls = self._block(self.statements, env, block)
        if falls:
            raise refusal("missing-return", self.source.span(self.source.node), functor=self.source.node.name)
        return Function(params, scalars, self.result, (*head, *body))

    # --- blocks ---

    def _new_block(self, live: Live) -> _Block:
        self.blocks += 1
        return _Block(self.blocks, live)

    def _block(self, stmts: list[ast.stmt], env: Env, block: _Block) -> tuple[list[Stmt], Env, bool]:
        """The statements of a block, the names after it, and whether control can leave by its end."""
        out: list[Stmt] = []
        falls = True
        for stmt in stmts:
            if not falls:
                raise refusal("unreachable", self.source.span(stmt))
            env, falls = self._statement(stmt, out, env, block)
        return out, env, falls

    def _statement(self, stmt: ast.stmt, out: list[Stmt], env: Env, block: _Block) -> tuple[Env, bool]:
        span = self.source.span(stmt)
        match stmt:
            case ast.Pass():
                return env, True
            case ast.Return(value=value):
                if value is None:
                    raise refusal("bare-return", span)
                out.append(Return(self._returned(value, env), span))
                return env, False
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self._assign(name, self.expressions.lower(value, env), stmt, out, env, block), True
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value) if value is not None:
                pinned = self.expressions.element(parse_type(self.source, annotation).type)
                lowered = self._fit(self.expressions.lower(value, env), pinned, name, stmt)
                return self._assign(name, lowered, stmt, out, env, block, pinned=True), True
            case ast.AugAssign(target=ast.Name(id=name) as target, op=operator, value=value):
                read = ast.copy_location(ast.Name(name, ast.Load()), target)
                whole = ast.copy_location(ast.BinOp(read, operator, value), stmt)
                return self._assign(name, self.expressions.lower(whole, env), stmt, out, env, block), True
            case ast.If():
                return self._if(stmt, out, env, block)
            case ast.Assign(targets=targets):
                odd = next((t for t in targets if not isinstance(t, ast.Name)), targets[-1])
                what = "several targets" if isinstance(odd, ast.Name) else construct(odd)[0]
                raise refusal("target", self.source.span(odd), what=what)
            case ast.AnnAssign(target=target):
                what = construct(target)[0] if not isinstance(target, ast.Name) else "a name without a value"
                raise refusal("target", span, what=what)
            case ast.AugAssign(target=target):
                raise refusal("target", span, what=construct(target)[0])
            case ast.Expr(value=value):
                what, way = "an expression without effect", "Assign its value, or remove it."
                raise refusal("statement", self.source.span(value), what=what, way=way)
            case _:
                what, way = construct(stmt)
                raise refusal("statement", span, what=what, way=way)

    def _if(self, stmt: ast.If, out: list[Stmt], env: Env, block: _Block) -> tuple[Env, bool]:
        condition = self.expressions.test(stmt.test, env, "`if`")
        if isinstance(condition, Const):  # known when the functor is compiled: only one branch is there
            taken, env, falls = self._block(stmt.body if condition.value else stmt.orelse, env, block)
            out.extend(taken)
            return env, falls
        live = self.live[stmt] | block.live
        self._learn_types(stmt, env, live)
        env = self._declare_ahead(stmt, out, env, block, live)
        then, then_env, then_falls = self._block(stmt.body, env, self._new_block(live))
        otherwise, else_env, else_falls = self._block(stmt.orelse, env, self._new_block(live))
        out.append(If(condition, tuple(then), tuple(otherwise), self.source.span(stmt)))
        ends = [e for e, falls in ((then_env, then_falls), (else_env, else_falls)) if falls]
        merged = {
            name: replace(binding, assigned=all(e[name].assigned for e in ends) if ends else True)
            for name, binding in env.items()
        }
        return merged, bool(ends)

    def _learn_types(self, stmt: ast.If, env: Env, live: Live) -> None:
        """Lowers the branches once for the types of what must be declared ahead of them; the text is thrown away."""
        names = (assigned(stmt.body) | assigned(stmt.orelse)) & live
        unknown = {name for name in names if name not in env and ("ahead", name, stmt) not in self.slots}
        if not unknown:
            return
        taken = set(self.taken)
        self.trials.append((stmt, unknown))
        for branch in (stmt.body, stmt.orelse):
            self._block(branch, env, self._new_block(live))
        self.trials.pop()
        self.taken = taken

    def _declare_ahead(self, stmt: ast.If, out: list[Stmt], env: Env, block: _Block, live: Live) -> Env:
        """Declares what the branches assign and later statements read."""
        new = dict(env)
        for name in sorted((assigned(stmt.body) | assigned(stmt.orelse)) & live):
            binding, key = env.get(name), ("ahead", name, stmt)
            if binding is None and key in self.slots:  # no slot: only a branch that is compiled away assigns it
                new[name] = self._declare(out, name, self.slots[key], key, None, block)
            elif binding is not None and binding.slot is None:
                self.changed |= name not in self.copied
                self.copied.add(name)
        return new

    # --- variables ---

    def _slot(self, key: object, type_: Type) -> _Slot:
        if key not in self.slots:
            self.slots[key] = _Slot(type_)
        return self.slots[key]

    def _declare(
        self, out: list[Stmt], name: str, slot: _Slot, key: object, value: Expr | None, block: _Block
    ) -> Binding:
        fresh = _fresh(name, self.taken)
        self.taken.add(fresh)
        converted = None if value is None else self.expressions.convert(value, slot.type)
        out.append(Let(fresh, slot.type, converted, slot.mutable))
        return Binding(Name(fresh, slot.type), key, block.number, assigned=value is not None)

    def _assign(
        self, name: str, value: Expr, stmt: ast.stmt, out: list[Stmt], env: Env, block: _Block, pinned: bool = False
    ) -> Env:
        binding = env.get(name)
        here = binding is not None and binding.block == block.number
        if binding is not None and binding.slot is not None:
            slot = self.slots[binding.slot]
            same = self.typing.same(slot.type, value.type) or slot.type == value.type
            if (here and same and not pinned) or (not here and name in block.live):
                return self._reassign(name, binding, slot, value, stmt, out, env)
        key = ("here", name, stmt)
        for branching, names in self.trials:
            if name in names:
                ahead = self._slot(("ahead", name, branching), value.type)
                ahead.mutable = True
                ahead.pinned |= pinned
                self._join(name, ahead, value, stmt)
        slot = self._slot(key, value.type)
        slot.pinned = pinned
        if slot.type != value.type and not pinned:
            self._join(name, slot, value, stmt)
        new = dict(env)
        new[name] = self._declare(out, name, slot, key, value, block)
        return new

    def _reassign(
        self, name: str, binding: Binding, slot: _Slot, value: Expr, stmt: ast.stmt, out: list[Stmt], env: Env
    ) -> Env:
        if not slot.mutable:
            slot.mutable = self.changed = True
        self._join(name, slot, value, stmt)
        target = binding.value
        assert isinstance(target, Name)
        out.append(Assign(target.name, self.expressions.convert(value, slot.type), self.source.span(stmt)))
        new = dict(env)
        new[name] = replace(binding, assigned=True)
        return new

    def _join(self, name: str, slot: _Slot, value: Expr, stmt: ast.stmt) -> None:
        """Widens a variable's type so that it also holds `value`."""
        if slot.pinned:
            self._fit(value, slot.type, name, stmt)
            return
        joined = self.typing.join(slot.type, value.type)
        truths = [self.typing.same(t, ir.BOOL) for t in (slot.type, value.type)]
        if joined is None or truths[0] != truths[1]:  # a name is a truth value or a number, not both
            describe = self.expressions.describe
            raise refusal(
                "assign-type", self.source.span(stmt), name=name, wanted=describe(slot.type),
                found=describe(value.type), at="",
            )  # fmt: skip
        if joined != slot.type:
            slot.type = joined
            self.changed = True

    def _fit(self, value: Expr, target: Type, name: str, stmt: ast.stmt) -> Expr:
        """`value` as the type a variable was annotated with."""
        if not self._fits(value, target):
            describe = self.expressions.describe
            raise refusal(
                "assign-type", self.source.span(stmt), name=name, wanted=describe(target), found=describe(value.type),
                at="",
            )  # fmt: skip
        return self.expressions.convert(value, target)

    def _returned(self, node: ast.expr, env: Env) -> Expr:
        value = self.expressions.lower(node, env)
        if not self._fits(value, self.result):
            describe = self.expressions.describe
            raise refusal(
                "return-type", self.source.span(node), found=describe(value.type), wanted=describe(self.result), at=""
            )
        return self.expressions.convert(value, self.result)

    def _fits(self, value: Expr, target: Type) -> bool:
        """True if `value` becomes `target` without losing more than float precision."""
        joined = self.typing.join(value.type, target)
        if joined is not None and self.typing.same(joined, target):
            return True
        # A float result is rounded to half or bfloat where it is returned, as upstream's functors do.
        return self.typing.kinds(value.type) == {Kind.FLOATING} == self.typing.kinds(target)


def _fresh(name: str, taken: Iterable[str]) -> str:
    fresh, count = name, 0
    while fresh in taken:
        count += 1
        fresh = f"{name}_{count}"
    return fresh


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
        case _:
            return body
