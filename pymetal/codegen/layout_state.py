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


Placed = tuple[int, Break, "Placed"] | None  # a token, how it is placed, and what was placed before it


class State:
    """Tokens up to `position` are placed."""

    __slots__ = ("column", "line_level", "lowest_level", "placed", "position", "stack")

    def __init__(self, column: int, stack: list[Level]) -> None:
        self.column, self.position, self.stack = column, 0, stack
        self.line_level = self.lowest_level = 0
        self.placed: Placed = None

    def copy(self) -> State:
        """A state that can be changed apart from this one."""
        new = State(self.column, [level[:] for level in self.stack])
        new.position, new.placed = self.position, self.placed
        new.line_level, new.lowest_level = self.line_level, self.lowest_level
        return new

    def key(self) -> tuple[object, ...]:
        """What the rest of the statement's layout depends on."""
        return (self.position, self.column, self.line_level, self.lowest_level, *map(tuple, self.stack))
