"""What is known of a statement of which some tokens are placed.

There is a level for every bracket and every expression that is still open. It says how a new line would be indented and
which breaks are allowed or demanded.
"""

from __future__ import annotations

from pymetal.codegen.layout_align import Break

# A level is a list of numbers, so that it is copied fast: columns, then truth values.
(
    INDENT,  # where its lines begin
    ORIGIN,  # the column that INDENT was counted from
    LAST_SPACE,  # where what is read now began, for what is nested in it
    QUESTION,  # the column of its `?`
    CALL_START,
    SUBSCRIPT_START,
    CALL_CONTINUATION,  # where `.member` began on a line of its own
    FIRST_SHIFT,  # the column of its first `<<`
    AVOID_PACKING,  # every parameter on a line of its own, or all on one
    BREAK_PARAMETERS,  # something nested in it was broken: the next parameter, operand or link is, too
    NO_BREAK,
    NO_BREAK_IN_OPERAND,
    OPERATOR_WRAPPED,
    HAS_BREAK,
    UNWRAPPED_BUILDER,
    CHAINED,  # it is a link of a chain of conditionals
    ALIGNED,  # INDENT is the column behind an opening bracket
) = range(17)
Level = list[int]


def new_level(indent: int, origin: int, last_space: int, avoid_packing: bool, no_break: bool) -> Level:
    """A level with nothing in it yet."""
    level = [0] * 17
    level[INDENT], level[ORIGIN], level[LAST_SPACE] = indent, origin, last_space
    level[AVOID_PACKING], level[NO_BREAK], level[OPERATOR_WRAPPED] = avoid_packing, no_break, True
    return level


class Outer:
    """A level with others inside it; there is one object for equal ones, so that states are compared fast."""

    __slots__ = ("broken", "level", "outer")

    def __init__(self, level: tuple[int, ...], outer: Outer | None) -> None:
        self.level, self.outer = level, outer
        self.broken: Outer | None = None


Pool = dict[tuple[tuple[int, ...], "Outer | None"], Outer]
Placed = tuple[int, Break, "Placed"] | None  # a token, how it is placed, and what was placed before it


class State:
    """Tokens up to `position` are placed; `level` is the innermost."""

    __slots__ = ("column", "level", "line_level", "lowest_level", "outer", "placed", "pool", "position")

    def __init__(self, column: int, level: Level, outer: Outer | None, pool: Pool) -> None:
        self.column, self.position = column, 0
        self.level, self.outer, self.pool = level, outer, pool
        self.line_level = self.lowest_level = 0
        self.placed: Placed = None

    def copy(self) -> State:
        """A state that can be changed apart from this one."""
        new = State(self.column, self.level[:], self.outer, self.pool)
        new.position, new.placed = self.position, self.placed
        new.line_level, new.lowest_level = self.line_level, self.lowest_level
        return new

    def key(self) -> tuple[object, ...]:
        """What the rest of the statement's layout depends on."""
        return (self.position, self.column, self.line_level, self.lowest_level, tuple(self.level), self.outer)

    def push(self, level: Level) -> None:
        """Opens a level."""
        self.outer = self._shared(tuple(self.level), self.outer)
        self.level = level

    def pop(self) -> None:
        """Closes the innermost level, unless it is the only one."""
        if self.outer is not None:
            self.level, self.outer = list(self.outer.level), self.outer.outer

    def break_outer(self) -> None:
        """Notes in all levels but the innermost that there is a break inside them."""
        if self.outer is not None:
            self.outer = self._broken(self.outer)

    def _shared(self, level: tuple[int, ...], outer: Outer | None) -> Outer:
        found = self.pool.get((level, outer))
        if found is None:
            found = self.pool[level, outer] = Outer(level, outer)
        return found

    def _broken(self, outer: Outer) -> Outer:
        if outer.broken is None:
            level = (*outer.level[:BREAK_PARAMETERS], True, *outer.level[BREAK_PARAMETERS + 1 :])
            outer.broken = self._shared(level, None if outer.outer is None else self._broken(outer.outer))
            outer.broken.broken = outer.broken
        return outer.broken
