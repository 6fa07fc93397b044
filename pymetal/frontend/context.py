"""What the parts of the frontend need of each other: names at a point, and who lowers expressions and blocks."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pymetal.frontend.annotations import Signature
from pymetal.frontend.arithmetic import Arithmetic, number
from pymetal.frontend.common_subexpressions import Sharing
from pymetal.frontend.liveness import Live, Liveness
from pymetal.frontend.source import Source
from pymetal.frontend.typing import Typing
from pymetal.ir import Expr, Stmt, Table, Type


@dataclass(frozen=True)
class Binding:
    """What a name of the body stands for at some point."""

    value: Expr  # how a use of the name reads
    slot: object | None  # the variable behind it; None for a parameter
    block: int  # the block that declares it
    assigned: bool = True  # False: declared, but some path to here sets no value
    bounds: tuple[int, int] | None = None  # the lowest and highest value of a loop variable, where they are constant
    home: Binding | None = None  # of a constant, the variable that the name had before

    @property
    def is_constant(self) -> bool:
        """True for the variable of an unrolled loop, which no variable of the text holds."""
        return self.slot is None and number(self.value) is not None


Env = Mapping[str, Binding]


@dataclass(frozen=True)
class Block:
    """A block of statements in the text."""

    number: int
    live: Live  # the names that are read after the block, or in its next round


@dataclass
class Loop:
    """A loop whose body is being lowered."""

    rounds: int | None = None  # of an unrolled loop
    table: str | None = None  # what an unrolled loop runs over, if not over static_range
    breaks: list[Env] = field(default_factory=list)  # the names at each `break`
    continues: list[Env] = field(default_factory=list)


class ExpressionContext(Protocol):
    """Lowers the expressions of one function."""

    source: Source
    typing: Typing
    arithmetic: Arithmetic
    sharing: Sharing
    local_names: frozenset[str]

    def lower(self, node: ast.expr, env: Env) -> Expr: ...

    def test(self, node: ast.expr, env: Env, what: str) -> Expr: ...

    def table(self, node: ast.expr, env: Env, inline: bool = False) -> Table | None: ...

    def element(self, type_: Type) -> Type: ...

    def describe(self, type_: Type) -> str: ...


class VariableContext(Protocol):
    """The variables of one function."""

    taken: set[str]
    trials: list[tuple[object, Live]]

    def fresh(self, name: str) -> str: ...

    def declare(self, out: list[Stmt], name: str, key: object, value: Expr | None, block: Block) -> Binding: ...

    def settle(
        self, names: Live, out: list[Stmt], env: Env, block: Block, compound: tuple[ast.stmt, object]
    ) -> Env: ...

    def unknown(self, names: Live, env: Env, compound: object) -> Live: ...

    def declare_ahead(self, names: Live, out: list[Stmt], env: Env, block: Block, compound: object) -> Env: ...

    def is_mutable(self, binding: Binding) -> bool: ...

    def register(self, key: object, type_: Type) -> None: ...


class StatementContext(Protocol):
    """Lowers the statements of one function."""

    source: Source
    signature: Signature
    liveness: Liveness
    loops: list[Loop]
    unrolled: tuple[int, ...]
    blocks: int
    folded: set[ast.AST]

    @property
    def expressions(self) -> ExpressionContext: ...

    @property
    def variables(self) -> VariableContext: ...

    def new_block(self, live: Live) -> Block: ...

    def block(self, stmts: list[ast.stmt], env: Env, block: Block) -> tuple[list[Stmt], Env, bool]: ...

    def assign(self, name: str, value: Expr, stmt: ast.stmt, out: list[Stmt], env: Env, block: Block) -> Env: ...
