"""The variables of a body: where each is declared, with what type, and which name it has in the text.

Python has one scope for a function, C++ one for a block. A name assigned again in the block that declares it keeps its
variable if the type stays, and else gets a new one. A name that a branch or a loop assigns and later statements read is
declared ahead of it. Types of variables that several paths assign are joined; since that can change what was typed
before, the body is lowered again until nothing changes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pymetal import ir
from pymetal.dtypes import Kind
from pymetal.errors import Span
from pymetal.frontend.context import Binding, Block, Env, ExpressionContext
from pymetal.frontend.refusals import refusal
from pymetal.ir import Assign, Const, Expr, Let, Name, Stmt, Type, Weak


@dataclass
class Slot:
    """A variable: what is known of it from the passes so far."""

    type: Type
    mutable: bool = False
    pinned: bool = False  # annotated by the user: never widened


class Variables:
    """The variables of one function, over all passes."""

    def __init__(self, expressions: ExpressionContext) -> None:
        self.expressions = expressions
        self.typing = expressions.typing
        self.slots: dict[object, Slot] = {}
        self.copied: set[str] = set()  # parameters that a branch or a loop assigns
        # Compound statements being lowered only to learn the types of the names to declare ahead of them.
        self.span: Span | None = None  # of the statement being lowered
        self.trials: list[tuple[object, frozenset[str]]] = []
        self.start_pass()

    def start_pass(self) -> None:
        """Forgets the text, and keeps what was learnt."""
        self.changed = False
        self.taken: set[str] = set()

    def fresh(self, name: str) -> str:
        """A name for the text that is not taken yet."""
        fresh, count = name, 0
        while fresh in self.taken:
            count += 1
            fresh = f"{name}_{count}"
        self.taken.add(fresh)
        return fresh

    def is_mutable(self, binding: Binding) -> bool:
        """True if the text assigns the variable behind a name after its declaration."""
        return binding.slot is not None and self.slots[binding.slot].mutable

    def declare(self, out: list[Stmt], name: str, key: object, value: Expr | None, block: Block) -> Binding:
        """Declares the variable `key`, which the body calls `name`."""
        slot = self.slots[key]
        converted = None if value is None else self.expressions.arithmetic.convert(value, slot.type)
        fresh = self.fresh(name)
        out.append(Let(fresh, slot.type, converted, slot.mutable, self.span))
        return Binding(Name(fresh, slot.type), key, block.number, assigned=value is not None)

    def register(self, key: object, type_: Type) -> None:
        """Makes the variable `key` one of `type_`, whatever it was before."""
        self.slot(key, type_).type = type_

    def slot(self, key: object, type_: Type) -> Slot:
        """The variable `key`, of `type_` if it is new."""
        if key not in self.slots:
            self.slots[key] = Slot(type_)
        return self.slots[key]

    def assign(
        self, name: str, value: Expr, key: object, out: list[Stmt], env: Env, block: Block, stmt: ast.stmt,
        pinned: bool = False,
    ) -> Env:  # fmt: skip
        """The names after `name = value`."""
        binding = env.get(name)
        if binding is not None and binding.home is not None:
            binding = binding.home
        here = binding is not None and binding.block == block.number
        if binding is not None and binding.slot is not None:
            slot = self.slots[binding.slot]
            same = slot.type == value.type or self.typing.same(slot.type, value.type)
            if (here and same and not pinned) or (not here and name in block.live):
                return self._reassign(name, binding, slot, value, out, env, stmt)
        for compound, names in self.trials:
            if name in names:
                ahead = self.slot(("ahead", name, compound), value.type)
                ahead.mutable = True
                ahead.pinned |= pinned
                self._join(name, ahead, value, stmt)
        slot = self.slot(key, value.type)
        slot.pinned = pinned
        if slot.type != value.type and not pinned:
            self._join(name, slot, value, stmt)
        new = dict(env)
        new[name] = self.declare(out, name, key, value, block)
        return new

    def _reassign(
        self, name: str, binding: Binding, slot: Slot, value: Expr, out: list[Stmt], env: Env, stmt: ast.stmt
    ) -> Env:
        if not slot.mutable:
            slot.mutable = self.changed = True
        self._join(name, slot, value, stmt)
        target = binding.value
        assert isinstance(target, Name)
        converted = self.expressions.arithmetic.convert(value, slot.type)
        out.append(Assign(target.name, converted, self.expressions.source.span(stmt)))
        new = dict(env)
        new[name] = replace(binding, assigned=True, bounds=None)
        return new

    def unknown(self, names: Iterable[str], env: Env, compound: object) -> frozenset[str]:
        """Those of `names` that must be declared ahead of `compound` and whose types are not known yet."""
        return frozenset(n for n in names if n not in env and ("ahead", n, compound) not in self.slots)

    def settle(
        self, names: Iterable[str], out: list[Stmt], env: Env, block: Block, compound: tuple[ast.stmt, object]
    ) -> Env:
        """Makes variables of the constants that a branch or a loop assigns."""
        for name in sorted(names):
            if name in env and env[name].is_constant:
                key = ("constant", name, compound)
                env = self.assign(name, env[name].value, key, out, env, block, compound[0])
        return env

    def declare_ahead(self, names: Iterable[str], out: list[Stmt], env: Env, block: Block, compound: object) -> Env:
        """Declares what a branch or a loop assigns and what is read afterwards."""
        new = dict(env)
        for name in sorted(names):
            binding, key = env.get(name), ("ahead", name, compound)
            if binding is None:
                if key in self.slots:  # no slot: only a branch that is compiled away assigns it
                    new[name] = self.declare(out, name, key, None, block)
            elif binding.slot is None:
                self.changed |= name not in self.copied
                self.copied.add(name)
        return new

    def _join(self, name: str, slot: Slot, value: Expr, stmt: ast.stmt) -> None:
        """Widens a variable's type so that it also holds `value`."""
        if slot.pinned:
            self.fit(value, slot.type, name, stmt)
            return
        joined = self.typing.join(slot.type, value.type)
        if joined is None or self._is_truth(slot.type) != self._is_truth(value.type):
            raise self._refuse(name, slot.type, value, stmt)
        if joined != slot.type:
            slot.type = joined
            self.changed = True

    def _is_truth(self, type_: Type) -> bool:
        """A name is a truth value or a number, not both; where all elements are bool, T is both."""
        return type_ == ir.BOOL and self.typing.at(ir.Var()) != self.typing.at(ir.BOOL)

    def fit(self, value: Expr, target: Type, name: str, stmt: ast.stmt) -> Expr:
        """`value` as the type that a variable was annotated with."""
        if not self.fits(value, target):
            raise self._refuse(name, target, value, stmt)
        return self.expressions.arithmetic.convert(value, target)

    def _refuse(self, name: str, wanted: Type, value: Expr, stmt: ast.stmt) -> Exception:
        describe = self.expressions.describe
        return refusal(
            "assign-type", self.expressions.source.span(stmt), name=name, wanted=describe(wanted),
            found=describe(value.type), at="",
        )  # fmt: skip

    def fits(self, value: Expr, target: Type) -> bool:
        """True if `value` becomes `target` without losing more than float precision."""
        if isinstance(value, Const) and isinstance(value.type, Weak):
            joined = self.typing.join(value.type, target)
            return joined is not None and self.typing.same(joined, target)
        joined = self.typing.join(value.type, target)
        if joined is not None and self.typing.same(joined, target):
            return True
        kinds = self.typing.kinds(value.type)
        # A float result is rounded to half or bfloat where it is stored or returned, as upstream's functors do.
        return kinds == self.typing.kinds(target) and kinds in ({Kind.FLOATING}, {Kind.COMPLEX})
