"""What it does to a statement's levels to place a token, on the current line or on a new one."""

from __future__ import annotations

from pymetal.codegen.layout_align import Break
from pymetal.codegen.layout_breaks import CONTINUATION, Breaks
from pymetal.codegen.layout_rules import ColumnFormat, Statement
from pymetal.codegen.layout_state import (
    ALIGNED,
    AVOID_PACKING,
    BREAK_PARAMETERS,
    CALL_CONTINUATION,
    CALL_START,
    CHAINED,
    FIRST_SHIFT,
    HAS_BREAK,
    INDENT,
    LAST_SPACE,
    NO_BREAK,
    NO_BREAK_IN_OPERAND,
    OPERATOR_WRAPPED,
    ORIGIN,
    QUESTION,
    SUBSCRIPT_START,
    UNWRAPPED_BUILDER,
    State,
    new_level,
)
from pymetal.codegen.layout_tokens import ASSIGNMENT, COMMA, CONDITIONAL, LIMIT, RELATIONAL, Role, Token

_EXCESS = 1_000_000
_FIRST_BREAK_OF_LEVEL = 15
_FIRST_SHIFT = 120


class Placer(Breaks):
    """Places token after token, and adds up what the breaks cost."""

    def __init__(self, statement: Statement, indent: int, release: int) -> None:
        super().__init__(statement, indent)
        self.release = release

    def add(self, state: State, newline: bool, extra: int = 0) -> int:
        if newline:
            return self._on_new_line(state) + self.move(state, True)
        self._on_this_line(state, extra)
        return self.move(state, False)

    def _is_call(self, token: Token) -> bool:
        if token.text != "(" or token.parameters == 0 or not token.index:
            return False
        return self.tokens[token.index - 1].is_identifier

    def _forces_break(self, token: Token) -> bool:
        """Whether there are no breaks in this bracket unless there is one right behind it."""
        if not token.opens or (token.text == "{" and token.match < 0):
            return False
        before = self.tokens[token.index - 1] if token.index else None
        return before is None or (before.text not in ("for", "while") and before.role is not Role.CAST)

    def _is_simple_argument(self, token: Token) -> bool:
        if token.fake_open and token.fake_open[-1] > 0:
            return False
        if self.release < 20 or token.role is Role.UNARY:
            return True
        opening = self.tokens[token.index - 1]
        if self.release >= 22 and opening.index and self.tokens[opening.index - 1].text == "if":
            return False
        if not self._is_call(opening):
            return True
        if self._forces_break(token):
            return True
        after = self.tokens[token.index + 1] if token.index + 1 < len(self.tokens) else None
        return after is None or after.member or self._is_call(after)

    def _on_this_line(self, state: State, extra: int) -> None:
        current, previous = self.tokens[state.position], self.tokens[state.position - 1]
        level = state.level
        spaces = current.spaces + extra
        column = state.column
        if previous.opens:
            if (
                self._forces_break(previous)
                and column > self.new_line_column(state)
                and not self._is_simple_argument(current)
            ):
                level[NO_BREAK] = True
            level[INDENT] = level[ORIGIN] = column + spaces
            level[ALIGNED] = True
        if previous.text == "," and level[AVOID_PACKING]:
            level[NO_BREAK] = True
        if current.member:
            if previous.closes and column > self.new_line_column(state):
                level[UNWRAPPED_BUILDER] = True
            if previous.text == ")" and previous.total - self.tokens[previous.match].total > 10:
                level[NO_BREAK] = True
        colon = previous.text == ":" and previous.role is Role.CONDITIONAL
        if (
            (previous.role is Role.BINARY or previous.text == "," or colon)
            and previous.precedence not in (ASSIGNMENT, RELATIONAL)
        ):  # fmt: skip
            before_operator = previous.text == "<<" or colon
            if not before_operator or not level[OPERATOR_WRAPPED]:
                level[NO_BREAK_IN_OPERAND] = True
        state.column = column = column + spaces
        if extra:
            state.placed = (current.index, Break(spaces), state.placed)
        head = previous.text == "(" and previous.index > 0 and self.tokens[previous.index - 1].text in ("for", "if")
        if head or previous.text == "," or previous.role is Role.CONDITIONAL:
            level[LAST_SPACE] = column
        elif previous.role is Role.BINARY:
            shift = previous.text == "<<" and not previous.operator_index and previous.next_operator < 0
            if (previous.precedence != ASSIGNMENT and not shift) or current.starts_binary:
                level[LAST_SPACE] = column
        elif previous.opens and previous.match >= 0:
            after = previous.match + 1
            called = after < len(self.tokens) and self.tokens[after].member
            if called and state.outer is not None and not state.outer.level[CALL_CONTINUATION]:
                level[LAST_SPACE] = column

    def _on_new_line(self, state: State) -> int:
        current, previous = self.tokens[state.position], self.tokens[state.position - 1]
        level = state.level
        penalty = current.penalty + (0 if level[HAS_BREAK] else _FIRST_BREAK_OF_LEVEL)
        level[HAS_BREAK] = True
        first_shift = current.text == "<<" and not level[FIRST_SHIFT]
        if first_shift and (state.column <= LIMIT // 3 or level[BREAK_PARAMETERS]):
            penalty += _FIRST_SHIFT
        column, origin = self.new_line(state)
        state.column = column
        state.placed = (current.index, Break(column, origin, bool(level[ALIGNED])), state.placed)
        if current.member and not level[CALL_CONTINUATION]:
            level[CALL_CONTINUATION] = column
        if (previous.text in (",", ";") and not level[AVOID_PACKING]) or previous.role is Role.BINARY:
            level[BREAK_PARAMETERS] = False
        if previous.role is Role.CLOSE_ANGLE and current.level == 0:
            level[BREAK_PARAMETERS] = False
        if current.text == "?" or previous.text == "?":
            level[BREAK_PARAMETERS] = True
        if current.role is Role.BINARY and current.can_break:
            level[BREAK_PARAMETERS] = False
        level[LAST_SPACE] = column + 3 if current.text == "<<" else column
        state.line_level = state.lowest_level = current.level
        state.break_outer()
        if (
            previous.text not in (",", ":", ";")
            and (previous.role is not Role.CLOSE_ANGLE or current.level)
            and previous.role is not Role.BINARY
            and current.role is not Role.BINARY
            and not previous.opens
        ):
            level[BREAK_PARAMETERS] = True
        together = previous.text in ("(", "{") or previous.role is Role.BINARY
        if level[AVOID_PACKING] and (self.statement.declaration or not together):
            level[BREAK_PARAMETERS] = True
        return penalty

    def move(self, state: State, newline: bool) -> int:
        """Opens and closes levels at the token that has just been placed."""
        current = self.tokens[state.position]
        level = state.level
        role = current.role
        if role is Role.BINARY or current.text == ",":
            level[NO_BREAK_IN_OPERAND] = False
            if role is Role.BINARY:
                if current.text != "<<" or level[FIRST_SHIFT]:
                    level[OPERATOR_WRAPPED] = newline
                if current.text == "<<" and not level[FIRST_SHIFT]:
                    level[FIRST_SHIFT] = state.column
        elif role is Role.CONDITIONAL:
            level[OPERATOR_WRAPPED] = newline
            if current.text == "?":
                level[QUESTION] = state.column
        elif role is Role.SUBSCRIPT and not level[SUBSCRIPT_START]:
            level[SUBSCRIPT_START] = state.column
        if not current.opens and not current.closes and role is not Role.POINTER:
            state.lowest_level = min(state.lowest_level, current.level)
        if current.member:
            level[CALL_START] = 0 if current.next_operator < 0 else state.column
        if current.fake_open:
            self._open_expressions(state, current)
        if current.closes:
            if current.index:
                state.pop()
            if current.text == "]":
                after = self.tokens[current.index + 1] if current.index + 1 < len(self.tokens) else None
                if after is not None and after.text != "[":
                    state.level[SUBSCRIPT_START] = 0
        elif current.opens:
            self._open_bracket(state, current)
        for _ in range(current.fake_close):
            state.pop()
        state.column += current.width
        state.position += 1
        penalty = _EXCESS * (state.column - LIMIT) if state.column > LIMIT else 0
        if current.index and (table := self.statement.columns.get(current.index - 1)) is not None:
            penalty += self._place_table(state, table)
        return penalty

    def _open_expressions(self, state: State, current: Token) -> None:
        previous = self.tokens[current.index - 1] if current.index else None
        skip = previous is not None and (previous.opens or previous.text in (";", "return"))
        column = state.column
        outermost = len(current.fake_open) - 1
        for index in range(outermost, -1, -1):
            precedence = current.fake_open[index]
            outer = state.level
            level = outer[:]
            level[HAS_BREAK] = level[CHAINED] = False
            level[OPERATOR_WRAPPED] = True
            level[NO_BREAK] = outer[NO_BREAK] or outer[NO_BREAK_IN_OPERAND]
            if precedence > COMMA:
                level[AVOID_PACKING] = False
            if precedence < ASSIGNMENT and (previous is None or previous.text != "return" or precedence > 0):
                start = max(column, outer[LAST_SPACE])
                if start > level[INDENT]:
                    level[INDENT] = level[ORIGIN] = start
            if precedence > 0:
                level[LAST_SPACE] = max(level[LAST_SPACE], column)
            if precedence != CONDITIONAL and current.role is not Role.UNARY:
                level[CALL_START] = column
            if (
                precedence == CONDITIONAL
                and index == outermost
                and previous is not None
                and previous.text == ":"
                and previous.role is Role.CONDITIONAL
            ):
                level[CHAINED] = True
            elif precedence == CONDITIONAL or (not skip and precedence > ASSIGNMENT):
                level[ORIGIN] = level[INDENT]
                level[INDENT] += CONTINUATION
            if (previous is not None and not previous.opens) or precedence != COMMA:
                level[BREAK_PARAMETERS] = False
            state.push(level)
            skip = False

    def _open_bracket(self, state: State, current: Token) -> None:
        outer = state.level
        last_space = outer[LAST_SPACE]
        origin = last_space if current.text == "{" else max(last_space, outer[CALL_START])
        indent = origin + CONTINUATION
        if current.role is Role.OPEN_ANGLE and current.in_parentheses:
            if outer[INDENT] > indent:
                indent, origin = outer[INDENT], outer[ORIGIN]
            last_space = max(last_space, outer[INDENT])
        no_break = outer[NO_BREAK] or outer[NO_BREAK_IN_OPERAND]
        if current.role is Role.OPEN_ANGLE:
            no_break = no_break or outer[UNWRAPPED_BUILDER]
        state.push(new_level(indent, origin, last_space, True, bool(no_break)))

    def _place_table(self, state: State, table: tuple[list[ColumnFormat], list[int], list[int]]) -> int:
        """Places a long list of numbers as a table, when its first item is placed."""
        formats, widths, commas = table
        if len(formats) <= 1:
            return 0
        first = self.tokens[state.position - 1]
        room = LIMIT - state.column + first.width
        best: ColumnFormat | None = None
        for format_ in reversed(formats):
            if format_.width <= room or len(format_.sizes) == 1:
                if best is not None and format_.lines > best.lines:
                    break
                best = format_
        if best is None:
            return 10_000
        end = self.tokens[first.index - 1].match
        penalty = column = item = 0
        while state.position != end:
            newline, extra = False, 0
            if item < len(commas) and state.position - 1 == commas[item]:
                extra = best.sizes[column] - widths[item]
                column += 1
                item += 1
            if column == len(best.sizes):
                column, newline = 0, True
            penalty += self.add(state, newline, extra)
        return penalty
