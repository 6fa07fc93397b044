"""Chained conditionals are aligned: the `?` of every link and the last `:` stand below each other."""

from __future__ import annotations

from typing import NamedTuple

from pymetal.codegen.layout_tokens import CONDITIONAL, LIMIT, Role, Token


class Break(NamedTuple):
    """How a token is placed if not simply behind the one before it.

    Attributes:
        spaces: before it.
        origin: of a new line, the column from which its indentation is counted; -1 if it is no new line.
        aligned: the new line is indented to what follows a bracket.
    """

    spaces: int
    origin: int = -1
    aligned: bool = False


class Placement:
    """Where the tokens of a statement stand."""

    def __init__(self, tokens: list[Token], indent: int, breaks: dict[int, Break]) -> None:
        self.tokens = tokens
        self.spaces = [t.spaces for t in tokens]
        self.spaces[0] = 0
        self.newline = [False] * len(tokens)
        self.aligned = [False] * len(tokens)
        self.origin = [-1] * len(tokens)
        for index, (spaces, origin, aligned) in breaks.items():
            self.spaces[index], self.newline[index] = spaces, origin >= 0
            self.origin[index], self.aligned[index] = origin, aligned
        self.column: list[int] = []
        end = indent
        for index, token in enumerate(tokens):
            end = self.spaces[index] if self.newline[index] else end + self.spaces[index]
            self.column.append(end)
            end += token.width

    def shift(self, index: int, by: int) -> None:
        """Moves a token and the rest of its line to the right."""
        self.spaces[index] += by
        self.column[index] += by
        for following in range(index + 1, len(self.tokens)):
            if self.newline[following]:
                break
            self.column[following] += by

    def text(self) -> str:
        parts = []
        for token, newline, spaces in zip(self.tokens, self.newline, self.spaces, strict=True):
            parts.append("\n" * newline + " " * spaces + token.text)
        return "".join(parts)


def is_link(token: Token, tokens: list[Token]) -> bool:
    """Whether the conditional behind this `:` continues a chain."""
    follower = tokens[token.index + 1] if token.index + 1 < len(tokens) else None
    return follower is not None and bool(follower.fake_open) and follower.fake_open[-1] == CONDITIONAL


def align(placement: Placement, release: int) -> None:
    """Aligns the chains of a statement."""
    tokens = placement.tokens
    colons = [t for t in tokens if t.text == ":" and t.role is Role.CONDITIONAL]
    if any(is_link(t, tokens) for t in colons) and any(placement.newline[t.index] for t in colons):
        _Aligner(placement, release).scope(0)


class _Aligner:
    def __init__(self, placement: Placement, release: int) -> None:
        self.placement, self.tokens, self.release = placement, placement.tokens, release
        self.levels = self._levels()

    def _levels(self) -> list[tuple[int, int]]:
        """How deep every token stands, in brackets and in conditionals; the links of a chain are no deeper."""
        levels, scopes, depth = [], [], 0
        for token in self.tokens:
            previous = self.tokens[token.index - 1] if token.index else None
            continues = previous is not None and previous.text == ":" and previous.role is Role.CONDITIONAL
            for position, precedence in enumerate(reversed(token.fake_open)):
                nested = precedence == CONDITIONAL and not (position == 0 and continues)
                depth += nested
                scopes.append(nested)
            levels.append((token.level, depth))
            for _ in range(min(token.fake_close, len(scopes))):
                depth -= scopes.pop()
        return levels

    def _matches(self, index: int) -> bool:
        token = self.tokens[index]
        if token.role is not Role.CONDITIONAL:
            return False
        return not self.placement.newline[index] if token.text == "?" else not is_link(token, self.tokens)

    def scope(self, start: int) -> int:
        """Aligns what begins at `start`, up to the first token that stands less deep; gives its index."""
        placed, tokens, level = self.placement, self.tokens, self.levels[start]
        first = end = left = right = commas = commas_before = 0
        matched: list[int] = []
        match_column = -1  # of the match on this line; in newer releases also of one that the line is indented behind
        index = start

        def finish() -> None:
            nonlocal first, end, left, right
            if 0 < first < end:
                self._move(first, end, left, matched)
            first = end = left = right = 0
            matched.clear()

        while index < len(tokens):
            if self.levels[index] < level:
                break
            if placed.newline[index]:
                commas, end = 0, index
                if match_column < 0:
                    finish()
                if self.release < 23 or placed.origin[index] < match_column:
                    match_column = -1
            if tokens[index].text == ",":
                commas += 1
            elif self.levels[index] > level:
                index = self.scope(index)
                continue
            if not self._matches(index):
                index += 1
                continue
            if (not placed.newline[index] and match_column >= 0) or commas != commas_before:
                matched.append(index)
                finish()
            commas_before, match_column = commas, placed.column[index]
            first = first or index
            new_left = max(left, placed.column[index])
            new_right = max(right, self._rest(index))
            if new_left + new_right > LIMIT:
                finish()
                first, left, right = index, placed.column[index], self._rest(index)
            else:
                left, right = new_left, new_right
            matched.append(index)
            index += 1
        end = index
        while end < len(tokens) and not placed.newline[end]:
            end += 1
        finish()
        return index

    def _rest(self, index: int) -> int:
        """How wide the line is from this token on; in newer releases with the lines that are indented behind it."""
        placed, tokens = self.placement, self.tokens
        start, widest, width, bracket = placed.column[index], 0, tokens[index].width, False
        for position in range(index + 1, len(tokens)):
            token = tokens[position]
            if placed.newline[position] and (self.release < 23 or not (bracket or placed.aligned[position])):
                break
            bracket |= token.opens and token.match >= 0 and not placed.newline[position + 1]
            if placed.newline[position]:
                widest = max(widest, width)
                if placed.origin[position] < start:
                    break
                width = placed.spaces[position] - start
            else:
                width += placed.spaces[position]
            width += token.width
        return max(widest, width)

    def _move(self, start: int, end: int, column: int, matched: list[int]) -> None:
        """Moves matched tokens to `column`, and lines between them that belong to a moved one."""
        if self.release < 23:
            self._move_before_23(start, end, column, matched)
            return
        placed, levels = self.placement, self.levels
        original = by = 0
        scopes: list[tuple[int, int]] = []
        for index in range(start, end):
            level, newline, origin = levels[index], placed.newline[index], placed.origin[index]
            while scopes and level < scopes[-1]:
                scopes.pop()
            if len(scopes) == 1 and newline and level > scopes[0] and origin < original:
                scopes.append(level)
            nested = bool(scopes) and (level > scopes[0] or (level == scopes[0] and origin >= original))
            if newline and not nested:
                by = 0
            match = index in matched
            if match:
                original = placed.column[index]
                by = column - original
                scopes = [level]
            if by and (match or (len(scopes) == 1 and newline and nested)):
                placed.origin[index] += by
                placed.shift(index, by)

    def _move_before_23(self, start: int, end: int, column: int, matched: list[int]) -> None:
        placed, tokens, levels = self.placement, self.tokens, self.levels
        by = 0
        scopes: list[int] = []
        for index in range(start, end):
            if scopes and levels[index] < levels[scopes[-1]]:
                scopes.pop()
            if index != start and levels[index] > levels[index - 1]:
                scopes.append(index)
            if placed.newline[index] and not scopes:
                by = 0
            match = index in matched
            if match:
                by = column - placed.column[index]
            if not by:
                continue
            if match:
                placed.shift(index, by)
            elif scopes and placed.newline[index]:
                bracket = tokens[scopes[-1] - 1]
                called = bracket.text == "(" and tokens[bracket.index - 1].is_identifier
                ternary = Role.CONDITIONAL in (tokens[index].role, tokens[index - 1].role)
                if not called and (ternary or bracket.role is Role.OPEN_ANGLE):
                    placed.shift(index, by)
