"""The variables of a body: where each is declared, with what type, and its name in the text.

Python has one scope for a function, C++ one for a block. A name assigned again in the block that declares it keeps its
variable if the type stays, and gets a new one otherwise. A name that a branch or a loop assigns and later statements
read is declared ahead of it. Types of variables that several paths assign are joined; since that can change what was
typed before, the body is lowered again until nothing changes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pymetal import ir
from pymetal.dtypes import Kind
from pymetal.errors import PyMetalError, Span
from pymetal.frontend.context import Binding, Block, Env, ExpressionContext, Item
from pymetal.frontend.liveness import Names
from pymetal.ir import Assign, Const, Expr, Let, Name, Type, Weak


@dataclass
class Variable:
    """What the passes so far have found about a variable."""

    type: Type
    mutable: bool = False
    annotated: bool = False  # by the user: its type is never widened


class Variables:
    """The variables of one function, over all passes."""

    def __init__(self, expressions: ExpressionContext) -> None:
        self.source = expressions.source
        self.typing = expressions.typing
        self.convert = expressions.arithmetic.convert
        self.variables: dict[object, Variable] = {}
        self.copied: set[str] = set()  # parameters that a branch or a loop assigns
        self.span: Span | None = None  # of the statement being lowered
        # Compound statements lowered only to infer the types of the names to declare ahead of them.
        self.inferring: list[tuple[object, Names]] = []
        self.start_pass()

    def start_pass(self) -> None:
        """Discards the text of the last pass; what it found about variables stays."""
        self.changed = False
        self.used_names: set[str] = set()

    def unique_name(self, name: str) -> str:
        """A name that the text does not use yet."""
        unique, count = name, 0
        while unique in self.used_names:
            count += 1
            unique = f"{name}_{count}"
        self.used_names.add(unique)
        return unique

    def is_mutable(self, binding: Binding) -> bool:
        """True if the text assigns the variable behind a name after its declaration."""
        return binding.variable is not None and self.variables[binding.variable].mutable

    def declare(self, name: str, key: object, value: Expr | None, block: Block) -> Binding:
        """Declares the variable `key`, which the body calls `name`."""
        variable = self.variables[key]
        converted = None if value is None else self.convert(value, variable.type)
        unique = self.unique_name(name)
        block.statements.append(Let(unique, variable.type, converted, variable.mutable, self.span))
        return Binding(Name(unique, variable.type), key, block, assigned=value is not None)

    def declare_new(self, name: str, key: object, value: Expr, type_: Type, block: Block) -> Expr:
        """Declares the variable `key` as one of `type_`, whatever its type was before; its name in the text."""
        self.variable(key, type_).type = type_
        return self.declare(name, key, value, block).value

    def variable(self, key: object, type_: Type) -> Variable:
        """The variable `key`, of `type_` if it is new."""
        return self.variables.setdefault(key, Variable(type_))

    def assign(
        self, name: str, value: Expr, key: object, env: Env, block: Block, stmt: ast.stmt, annotated: bool = False
    ) -> Env:
        """The bindings after `name = value`."""
        binding = env.get(name)
        if binding is not None and binding.shadowed is not None:
            binding = binding.shadowed
        if binding is not None and binding.variable is not None:
            variable, here = self.variables[binding.variable], binding.block is block
            if (here and self.typing.same(variable.type, value.type) and not annotated) or (
                not here and name in block.live_out
            ):
                return self._reassign(name, binding, variable, value, env, block, stmt)
        for compound, names in self.inferring:
            if name in names:
                ahead = self.variable(("ahead", name, compound), value.type)
                ahead.mutable = True
                ahead.annotated |= annotated
                self._widen(name, ahead, value, stmt)
        variable = self.variable(key, value.type)
        variable.annotated = annotated
        if not annotated:
            self._widen(name, variable, value, stmt)
        return {**env, name: self.declare(name, key, value, block)}

    def assign_items(
        self, name: str, items: tuple[Item, ...], key: object, env: Env, block: Block, stmt: ast.stmt
    ) -> Env:
        """The bindings after `name` is assigned a tuple, which is known item by item in this block alone."""
        if name in block.live_out:
            raise self.source.refusal("target", stmt, what=f"`{name}`, a tuple that is read outside this block,")
        kept = self.keep(items, name, key, env, block, computed=True)
        assert isinstance(kept, tuple)
        value = Name(self.unique_name(name), ir.WEAK_INT)
        return {**env, name: Binding(value, block=block, items=kept)}

    def keep(self, item: Item, name: str, key: object, env: Env, block: Block, computed: bool = False) -> Item:
        """`item`, with variables for what is assigned later; if `computed`, for all that is neither name nor number."""
        if isinstance(item, tuple):
            parts = enumerate(item)
            return tuple(self.keep(part, f"{name}_{i}", (key, i), env, block, computed) for i, part in parts)
        read = set(ir.subexpressions(item))
        changes = any(self.is_mutable(binding) and binding.value in read for binding in env.values())
        if changes or (computed and not isinstance(item, Name | Const)):
            return self.declare_new(name, ("kept", key), item, item.type, block)
        return item

    def _reassign(
        self, name: str, binding: Binding, variable: Variable, value: Expr, env: Env, block: Block, stmt: ast.stmt
    ) -> Env:
        if not variable.mutable:
            variable.mutable = self.changed = True
        self._widen(name, variable, value, stmt)
        assert isinstance(binding.value, Name)
        converted = self.convert(value, variable.type)
        block.statements.append(Assign(binding.value.name, converted, self.source.span(stmt)))
        return {**env, name: replace(binding, assigned=True, bounds=None)}

    def untyped(self, names: Names, env: Env, compound: object) -> Names:
        """Those of `names` that must be declared ahead of `compound` and whose types are not known yet."""
        return frozenset(n for n in names if n not in env and ("ahead", n, compound) not in self.variables)

    def materialize_constants(self, names: Names, env: Env, block: Block, compound: tuple[ast.stmt, object]) -> Env:
        """Makes variables of the constants that a branch or a loop assigns."""
        for name in sorted(names):
            if name in env and env[name].is_constant:
                env = self.assign(name, env[name].value, ("constant", name, compound), env, block, compound[0])
        return env

    def declare_ahead(self, names: Iterable[str], env: Env, block: Block, compound: tuple[ast.stmt, object]) -> Env:
        """Declares what a branch or a loop assigns and what is read afterwards."""
        new = dict(env)
        for name in sorted(names):
            binding, key = env.get(name), ("ahead", name, compound)
            if binding is not None and binding.items is not None:
                raise self.source.refusal("target", compound[0], what=f"`{name}`, a tuple before this statement,")
            if binding is None:
                if key in self.variables:  # not there: only a branch that is compiled away assigns it
                    new[name] = self.declare(name, key, None, block)
            elif binding.variable is None:
                self.changed |= name not in self.copied
                self.copied.add(name)
        return new

    def _widen(self, name: str, variable: Variable, value: Expr, stmt: ast.stmt) -> None:
        """Widens a variable's type so that it also holds `value`."""
        if variable.type == value.type:
            return
        if variable.annotated:
            self.convert_annotated(value, variable.type, name, stmt)
            return
        joined = self.typing.join(variable.type, value.type)
        if joined is None or self._is_condition(variable.type) != self._is_condition(value.type):
            raise self._refuse(name, variable.type, value, stmt)
        if joined != variable.type:
            variable.type = joined
            self.changed = True

    def _is_condition(self, type_: Type) -> bool:
        """A name is a truth value or a number, not both; where all elements are bool, T is both."""
        return type_ == ir.BOOL and self.typing.at(ir.Var()) != self.typing.at(ir.BOOL)

    def convert_annotated(self, value: Expr, target: Type, name: str, stmt: ast.stmt) -> Expr:
        """`value` as the type that a variable was annotated with."""
        if not self.is_assignable(value, target):
            raise self._refuse(name, target, value, stmt)
        return self.convert(value, target)

    def _refuse(self, name: str, wanted: Type, value: Expr, stmt: ast.stmt) -> PyMetalError:
        describe = self.typing.describe
        return self.source.refusal("assign-type", stmt, name=name, wanted=describe(wanted), found=describe(value.type))

    def is_assignable(self, value: Expr, target: Type) -> bool:
        """True if `value` becomes `target` without losing more than float precision."""
        joined = self.typing.join(value.type, target)
        if joined is not None and self.typing.same(joined, target):
            return True
        if isinstance(value, Const) and isinstance(value.type, Weak):
            return False
        kinds = self.typing.kinds(value.type)
        # A float result is rounded to half or bfloat where it is stored or returned, as upstream's functors do.
        return kinds == self.typing.kinds(target) and kinds in ({Kind.FLOATING}, {Kind.COMPLEX})
