"""Which breaks are allowed and which are demanded, after the breaks before them."""

from __future__ import annotations

from pymetal.codegen.layout_align import is_link
from pymetal.codegen.layout_rules import Statement
from pymetal.codegen.layout_state import (
    BREAK_PARAMETERS,
    CALL_CONTINUATION,
    CHAINED,
    FIRST_SHIFT,
    INDENT,
    LAST_SPACE,
    NO_BREAK,
    NO_BREAK_IN_OPERAND,
    ORIGIN,
    QUESTION,
    SUBSCRIPT_START,
    UNWRAPPED_BUILDER,
    State,
)
from pymetal.codegen.layout_tokens import ASSIGNMENT, EQUALITY, LIMIT, RELATIONAL, Role

CONTINUATION = 4


class Breaks:
    """Says where a statement may and must break, and where the new line begins."""

    def __init__(self, statement: Statement, indent: int) -> None:
        self.statement, self.tokens, self.indent = statement, statement.tokens, indent

    def can_break(self, state: State) -> bool:
        """Whether the next token may stand on a new line."""
        current = self.tokens[state.position]
        if not current.can_break:
            return False
        previous = self.tokens[state.position - 1]
        level = state.level
        if previous.opens:
            if previous.text == "{":
                before = self.tokens[previous.index - 1] if previous.index else None
                if before is not None and before.text in ("{", "(", ",") and not current.must_break:
                    return False
            elif state.lowest_level < state.line_level and state.lowest_level < current.level:
                return False
        if current.member and level[UNWRAPPED_BUILDER]:
            return False
        if current.role is Role.FUNCTION_NAME and state.column < 6:
            return False
        if current.role is not Role.BINARY and current.text != "," and level[NO_BREAK_IN_OPERAND]:
            return False
        return not level[NO_BREAK]

    def must_break(self, state: State) -> bool:
        """Whether the next token may not stand on this line."""
        current = self.tokens[state.position]
        if current.must_break:
            return True
        previous = self.tokens[state.position - 1]
        level = state.level
        parameters = level[BREAK_PARAMETERS]
        if parameters and (
            (previous.text in (",", ";") and current.text not in (")", "}"))
            or (previous.role is Role.CLOSE_ANGLE and current.role is Role.NAME and previous.level == 1)
            or (current.role is Role.CONDITIONAL and previous.text != "?")
        ):
            return True
        if level[CHAINED] and current.text == ":" and current.role is Role.CONDITIONAL:
            return True
        if current.member:
            column = self.new_line_column(state)
            following = current.next_operator
            length = self.tokens[following].total - current.total if following >= 0 else 0
            if state.column + length > LIMIT and (state.column > column or current.level < state.line_level):
                return True
            if previous.closes and (level[CALL_CONTINUATION] or parameters):
                return True
        if not parameters:
            return False
        if state.column <= self.new_line_column(state):
            return False
        if previous.role is Role.BINARY and current.can_break:
            if previous.precedence != ASSIGNMENT:
                before = self.tokens[previous.index - 1] if previous.index else None
                if before is not None and before.ends_binary:
                    return True
                comparison = previous.precedence in (RELATIONAL, EQUALITY)
                if not (comparison and before is not None and before.role is not Role.BINARY):
                    return True
        elif current.role is Role.BINARY and current.can_break and current.precedence != ASSIGNMENT:
            return True
        if current.text == "<<" and not level[FIRST_SHIFT]:
            return True
        return current.role is Role.FUNCTION_NAME

    def new_line_column(self, state: State) -> int:
        """Where a new line begins."""
        return self.new_line(state)[0]

    def new_line(self, state: State) -> tuple[int, int]:
        """Where a new line begins, and the column from which that is counted."""
        current, previous = self.tokens[state.position], self.tokens[state.position - 1]
        level = state.level
        indent = level[INDENT]
        base = max(level[LAST_SPACE], indent)
        column = 0
        if current.text == "<<" and level[FIRST_SHIFT]:
            column = level[FIRST_SHIFT]
        elif current.member:
            column = level[CALL_CONTINUATION] or base + CONTINUATION
        elif level[QUESTION] and (
            (current.text == ":" and current.role is Role.CONDITIONAL) or previous.role is Role.CONDITIONAL
        ):
            if current.text == ":" and is_link(current, self.tokens):
                return indent, indent
            column = level[QUESTION]
        elif current.must_break or current.role is Role.FUNCTION_NAME:
            column = base
        elif current.role is Role.SUBSCRIPT:
            column = level[SUBSCRIPT_START] or base + CONTINUATION
        elif (
            current.role is Role.NAME
            or previous.text in ("::", "=")
            or (previous.text == ")" and not current.is_binary_operator and current.text != ":")
        ):
            column = base + CONTINUATION
        elif indent == self.indent and previous.text != "}":
            return indent + CONTINUATION, indent
        else:
            return indent, level[ORIGIN]
        return column, base if column == base + CONTINUATION else column
