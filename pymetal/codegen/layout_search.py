"""The search for the cheapest line breaks of a statement.

clang-format places token after token, each on the current line or on a new one. Where a new line would be indented,
whether a break is allowed and whether it is demanded depend on the breaks before it, through one `level` for every
bracket and every expression that is still open. Among all placements, the one whose breaks cost least is found by
Dijkstra's algorithm; of several, the one that was reached first.
"""

from __future__ import annotations

import heapq

from pymetal.codegen.layout_align import Placement, align
from pymetal.codegen.layout_rules import LIMIT, ColumnFormat, Statement
from pymetal.codegen.layout_tokens import ASSIGNMENT, COMMA, CONDITIONAL, EQUALITY, RELATIONAL, Role, Token

CONTINUATION = 4
_EXCESS = 1_000_000
_FIRST_BREAK_OF_LEVEL = 15
_FIRST_SHIFT = 120

# A level is a list of numbers, so that it is copied fast.
(
    INDENT, LAST_SPACE, QUESTION, CALL_START, SUBSCRIPT_START, CALL_CONTINUATION, FIRST_SHIFT, AVOID_PACKING,
    BREAK_PARAMETERS, NO_BREAK, NO_BREAK_IN_OPERAND, OPERATOR_WRAPPED, HAS_BREAK, UNWRAPPED_BUILDER, CHAINED,
) = range(15)  # fmt: skip
Level = list[int]


def _level(indent: int, last_space: int, avoid_packing: bool, no_break: bool) -> Level:
    level = [0] * 15
    level[INDENT], level[LAST_SPACE] = indent, last_space
    level[AVOID_PACKING], level[NO_BREAK], level[OPERATOR_WRAPPED] = avoid_packing, no_break, True
    return level


class _State:
    """Tokens up to `position` are placed; `placed` links their breaks, the last first."""

    __slots__ = ("column", "line_level", "lowest_level", "placed", "position", "stack")

    def __init__(self, column: int, stack: list[Level]) -> None:
        self.column, self.position, self.stack = column, 0, stack
        self.line_level = self.lowest_level = 0
        self.placed: tuple[int, int, int, object] | None = None  # token, new lines, spaces

    def copy(self) -> _State:
        new = _State(self.column, [level[:] for level in self.stack])
        new.position, new.placed = self.position, self.placed
        new.line_level, new.lowest_level = self.line_level, self.lowest_level
        return new

    def key(self) -> tuple[object, ...]:
        return (self.position, self.column, self.line_level, self.lowest_level, *map(tuple, self.stack))


class Search:
    """Lays out one statement."""

    def __init__(self, statement: Statement, indent: int, release: int) -> None:
        self.statement, self.tokens, self.indent, self.release = statement, statement.tokens, indent, release

    def run(self) -> str:
        """The statement's lines, without the indentation of the first."""
        state = _State(self.indent, [_level(self.indent, self.indent, False, False)])
        self._move(state, False)
        count, end = 0, len(self.tokens)
        queue: list[tuple[int, int, _State]] = [(0, 0, state)]
        seen: set[tuple[object, ...]] = set()
        while queue:
            penalty, _, state = heapq.heappop(queue)
            while state.position < end:
                must, can = self._must_break(state), self._can_break(state)
                if must or not can:
                    if must and not can:
                        break
                    penalty += self._add(state, must)
                    if queue and queue[0][0] <= penalty:
                        count += 1
                        heapq.heappush(queue, (penalty, count, state))
                        break
                    continue
                key = state.key()
                if key in seen:
                    break
                seen.add(key)
                other = state.copy()
                kept = penalty + self._add(state, False)
                broken = penalty + self._add(other, True)
                heapq.heappush(queue, (kept, count + 1, state))
                heapq.heappush(queue, (broken, count + 2, other))
                count += 2
                break
            else:
                return self._text(state)
        return self._text(None)

    def _text(self, state: _State | None) -> str:
        breaks: dict[int, tuple[int, int]] = {}
        placed = state.placed if state is not None else None
        while placed is not None:
            token, newline, spaces, rest = placed
            breaks[token] = (newline, spaces)
            placed = rest  # type: ignore[assignment]
        placement = Placement(self.tokens, self.indent, breaks)
        align(placement)
        return placement.text()

    # --- what is allowed ---------------------------------------------------------------------------------------------

    def _can_break(self, state: _State) -> bool:
        current = self.tokens[state.position]
        if not current.can_break:
            return False
        previous = self.tokens[state.position - 1]
        level = state.stack[-1]
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

    def _must_break(self, state: _State) -> bool:
        current = self.tokens[state.position]
        if current.must_break:
            return True
        previous = self.tokens[state.position - 1]
        level = state.stack[-1]
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
            column = self._new_line_column(state)
            following = current.next_operator
            length = self.tokens[following].total - current.total if following >= 0 else 0
            if state.column + length > LIMIT and (state.column > column or current.level < state.line_level):
                return True
            if previous.closes and (level[CALL_CONTINUATION] or parameters):
                return True
        if not parameters:
            return False
        if state.column <= self._new_line_column(state):
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

    def _new_line_column(self, state: _State) -> int:
        current, previous = self.tokens[state.position], self.tokens[state.position - 1]
        level = state.stack[-1]
        indent = level[INDENT]
        further = max(level[LAST_SPACE], indent) + CONTINUATION
        if current.text == "<<" and level[FIRST_SHIFT]:
            return level[FIRST_SHIFT]
        if current.member:
            return level[CALL_CONTINUATION] or further
        if level[QUESTION] and (
            (current.text == ":" and current.role is Role.CONDITIONAL) or previous.role is Role.CONDITIONAL
        ):
            after = self.tokens[current.index + 1] if current.index + 1 < len(self.tokens) else None
            if current.text == ":" and after is not None and after.fake_open and after.fake_open[-1] == CONDITIONAL:
                return indent - 2 if level[CHAINED] else indent
            return level[QUESTION]
        if current.must_break or current.text == "operator" or current.role is Role.FUNCTION_NAME:
            return max(level[LAST_SPACE], indent)
        if current.role is Role.SUBSCRIPT:
            return level[SUBSCRIPT_START] or further
        if current.role is Role.NAME or previous.text in ("::", "="):
            return further
        if previous.text == ")" and not current.is_binary_operator and current.text != ":":
            return further
        if indent == self.indent and previous.text != "}":
            return indent + CONTINUATION
        return indent

    # --- placing a token ---------------------------------------------------------------------------------------------

    def _add(self, state: _State, newline: bool, extra: int = 0) -> int:
        if newline:
            return self._on_new_line(state) + self._move(state, True)
        self._on_this_line(state, extra)
        return self._move(state, False)

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
        if opening.index and self.tokens[opening.index - 1].text == "if":
            return False
        if not self._is_call(opening):
            return True
        if self._forces_break(token):
            return True
        after = self.tokens[token.index + 1] if token.index + 1 < len(self.tokens) else None
        return after is None or after.member or self._is_call(after)

    def _on_this_line(self, state: _State, extra: int) -> None:
        current, previous = self.tokens[state.position], self.tokens[state.position - 1]
        level = state.stack[-1]
        spaces = current.spaces + extra
        column = state.column
        if previous.opens:
            if (
                self._forces_break(previous)
                and column > self._new_line_column(state)
                and not self._is_simple_argument(current)
            ):
                level[NO_BREAK] = True
            level[INDENT] = column + spaces
        if previous.text == "," and level[AVOID_PACKING]:
            level[NO_BREAK] = True
        if current.member:
            if previous.closes and column > self._new_line_column(state):
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
            state.placed = (current.index, 0, spaces, state.placed)
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
            if called and len(state.stack) > 1 and not state.stack[-2][CALL_CONTINUATION]:
                level[LAST_SPACE] = column

    def _on_new_line(self, state: _State) -> int:
        current, previous = self.tokens[state.position], self.tokens[state.position - 1]
        stack = state.stack
        level = stack[-1]
        penalty = current.penalty + (0 if level[HAS_BREAK] else _FIRST_BREAK_OF_LEVEL)
        level[HAS_BREAK] = True
        first_shift = current.text == "<<" and not level[FIRST_SHIFT]
        if first_shift and (state.column <= LIMIT // 3 or level[BREAK_PARAMETERS]):
            penalty += _FIRST_SHIFT
        column = state.column = self._new_line_column(state)
        state.placed = (current.index, 1, column, state.placed)
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
        for outer in stack[:-1]:
            outer[BREAK_PARAMETERS] = True
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

    def _move(self, state: _State, newline: bool) -> int:
        """Opens and closes levels at the token that has just been placed."""
        current = self.tokens[state.position]
        stack = state.stack
        level = stack[-1]
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
            if len(stack) > 1 and (current.text != "}" or current.index):
                stack.pop()
            if current.text == "]":
                after = self.tokens[current.index + 1] if current.index + 1 < len(self.tokens) else None
                if after is not None and after.text != "[":
                    stack[-1][SUBSCRIPT_START] = 0
        elif current.opens:
            self._open_bracket(state, current)
        for _ in range(min(current.fake_close, len(stack) - 1)):
            stack.pop()
        state.column += current.width
        state.position += 1
        penalty = _EXCESS * (state.column - LIMIT) if state.column > LIMIT else 0
        if current.index and (table := self.statement.columns.get(current.index - 1)) is not None:
            penalty += self._place_table(state, table)
        return penalty

    def _open_expressions(self, state: _State, current: Token) -> None:
        previous = self.tokens[current.index - 1] if current.index else None
        skip = previous is not None and (previous.opens or previous.text in (";", "return"))
        stack, column = state.stack, state.column
        outermost = len(current.fake_open) - 1
        for index in range(outermost, -1, -1):
            precedence = current.fake_open[index]
            outer = stack[-1]
            level = outer[:]
            level[HAS_BREAK] = level[CHAINED] = False
            level[OPERATOR_WRAPPED] = True
            level[NO_BREAK] = outer[NO_BREAK] or outer[NO_BREAK_IN_OPERAND]
            if precedence > COMMA:
                level[AVOID_PACKING] = False
            if precedence < ASSIGNMENT and (previous is None or previous.text != "return" or precedence > 0):
                level[INDENT] = max(column, level[INDENT], outer[LAST_SPACE])
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
                level[INDENT] += CONTINUATION
            if (previous is not None and not previous.opens) or precedence != COMMA:
                level[BREAK_PARAMETERS] = False
            stack.append(level)
            skip = False

    def _open_bracket(self, state: _State, current: Token) -> None:
        outer = state.stack[-1]
        last_space = outer[LAST_SPACE]
        if current.text == "{":
            indent = last_space + CONTINUATION
        else:
            indent = CONTINUATION + max(last_space, outer[CALL_START])
            if current.role is Role.OPEN_ANGLE and current.in_parentheses:
                indent, last_space = max(indent, outer[INDENT]), max(last_space, outer[INDENT])
        no_break = outer[NO_BREAK] or outer[NO_BREAK_IN_OPERAND]
        if current.role is Role.OPEN_ANGLE:
            no_break = no_break or outer[UNWRAPPED_BUILDER]
        state.stack.append(_level(indent, last_space, True, bool(no_break)))

    def _place_table(self, state: _State, table: tuple[list[ColumnFormat], list[int], list[int]]) -> int:
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
            penalty += self._add(state, newline, extra)
        return penalty
