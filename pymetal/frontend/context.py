"""What the stages of lowering share: name bindings, blocks, loops, and the interface for lowering an expression."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from pymetal.errors import Span
from pymetal.frontend.annotations import Definition, Signature
from pymetal.frontend.arithmetic import Arithmetic, number
from pymetal.frontend.common_subexpressions import CommonSubexpressions
from pymetal.frontend.liveness import Names
from pymetal.frontend.source import Source
from pymetal.frontend.typing import Typing
from pymetal.ir import Expr, Op, Stmt, Table, Type

Item: TypeAlias = "Expr | tuple[Item, ...]"  # a value, or a tuple of values known item by item


@dataclass(frozen=True, eq=False)
class Block:
    """A block of statements in the text, as far as it is lowered."""

    live_out: Names  # read after the block, or in the next iteration of the loop around it
    statements: list[Stmt] = field(default_factory=list)


@dataclass(frozen=True)
class Binding:
    """What a name of the body stands for at some point."""

    value: Expr  # what a use of the name becomes
    variable: object | None = None  # the key of the variable behind it; None for a parameter or a constant
    block: Block | None = None  # the block that declares it; None for a parameter
    assigned: bool = True  # False: declared, but some path to this point assigns no value
    bounds: tuple[int, int] | None = None  # the lowest and highest value of a loop variable, where they are constant
    shadowed: Binding | None = None  # of a constant, the variable that the name had before
    items: tuple[Item, ...] | None = None  # of a name that stands for a tuple, whose `value` is not used

    @property
    def is_constant(self) -> bool:
        """True for the variable of an unrolled loop, which is a constant in each iteration."""
        return self.variable is None and number(self.value) is not None


Env = Mapping[str, Binding]


@dataclass
class Loop:
    """A loop whose body is being lowered."""

    iterations: int | None = None  # of an unrolled loop
    table: str | None = None  # what an unrolled loop iterates over, if not over static_range
    breaks: list[Env] = field(default_factory=list)  # the bindings at each `break`
    continues: list[Env] = field(default_factory=list)


# Type-checks a helper function at every dtype.
Define: TypeAlias = Callable[[Source, Signature], Definition]


class ExpressionContext(Protocol):
    """Lowers the expressions of one function."""

    define: Define
    source: Source
    typing: Typing
    arithmetic: Arithmetic
    subexpressions: CommonSubexpressions
    local_names: Names

    def lower(self, node: ast.expr, env: Env) -> Expr: ...

    def lower_condition(self, node: ast.expr, env: Env) -> Expr: ...

    def is_bool(self, value: Expr) -> bool: ...

    def truth(self, value: Expr, span: Span) -> Expr: ...

    def short_circuit(self, op: Op, conditions: Iterator[Expr], span: Span) -> Expr: ...

    def lower_table(self, node: ast.expr, env: Env, inline: bool = False) -> Table | None: ...

    def lower_results(self, node: ast.Call, env: Env) -> list[Expr] | None: ...

    def element_type(self, type_: Type) -> Type: ...
