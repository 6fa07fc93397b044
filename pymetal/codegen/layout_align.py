"""Chained conditionals are aligned: the `?` of every link and the last `:` stand below each other."""

from __future__ import annotations

from pymetal.codegen.layout_tokens import CONDITIONAL, Role, Token

LIMIT = 80


class Placement:
    """Where the tokens of a statement stand: new lines before, spaces before, and columns."""

    def __init__(self, tokens: list[Token], indent: int, breaks: dict[int, tuple[int, int]]) -> None:
        self.tokens = tokens
        self.newline = [False] * len(tokens)
        self.spaces = [t.spaces for t in tokens]
        self.spaces[0] = 0
        for index, (newline, spaces) in breaks.items():
            self.newline[index], self.spaces[index] = bool(newline), spaces
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


def _is_link(token: Token, tokens: list[Token]) -> bool:
    """Whether the conditional behind this `:` continues a chain."""
    follower = tokens[token.index + 1] if token.index + 1 < len(tokens) else None
    return follower is not None and bool(follower.fake_open) and follower.fake_open[-1] == CONDITIONAL


def align(placement: Placement) -> None:
    """Aligns the chains of a statement."""
    tokens = placement.tokens
    colons = [t for t in tokens if t.text == ":" and t.role is Role.CONDITIONAL]
    if any(_is_link(t, tokens) for t in colons) and any(placement.newline[t.index] for t in colons):
        _Aligner(placement).scope(0)


class _Aligner:
    def __init__(self, placement: Placement) -> None:
        self.placement, self.tokens = placement, placement.tokens
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
        return not self.placement.newline[index] if token.text == "?" else not _is_link(token, self.tokens)

    def scope(self, start: int) -> int:
        """Aligns what begins at `start`, up to the first token that stands less deep; gives its index."""
        placed, tokens, level = self.placement, self.tokens, self.levels[start]
        first = end = left = right = commas = commas_before = 0
        matched: list[int] = []
        on_line = False
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
                if not on_line:
                    finish()
                on_line = False
            if tokens[index].text == ",":
                commas += 1
            elif self.levels[index] > level:
                index = self.scope(index)
                continue
            if not self._matches(index):
                index += 1
                continue
            if (not placed.newline[index] and on_line) or commas != commas_before:
                matched.append(index)
                finish()
            commas_before, on_line = commas, True
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
        """How wide the line is from this token on."""
        last = index
        while last + 1 < len(self.tokens) and not self.placement.newline[last + 1]:
            last += 1
        return self.placement.column[last] + self.tokens[last].width - self.placement.column[index]

    def _move(self, start: int, end: int, column: int, matched: list[int]) -> None:
        placed = self.placement
        original = by = 0
        scope: tuple[int, int] | None = None
        left = [m for m in matched if m >= start]
        for index in range(start, end):
            nested = scope is not None and self.levels[index] > scope and placed.column[index] > original
            if placed.newline[index] and not nested:
                by = 0
            match = bool(left) and left[0] == index
            if match:
                left.pop(0)
                original, scope = placed.column[index], self.levels[index]
                by = column - original
            if by and (match or (placed.newline[index] and nested)):
                placed.shift(index, by)
