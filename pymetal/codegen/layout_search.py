"""The search for the cheapest line breaks of a statement.

clang-format places token after token, each on the current line or on a new one. Where a new line would be indented,
whether a break is allowed and whether it is demanded depend on the breaks before it. Among all placements, the one
whose breaks cost least is found by Dijkstra's algorithm; of several, the one that was reached first. A statement for
which that takes too long, as deep nesting does, is broken where its lines are full.
"""

from __future__ import annotations

import heapq

from pymetal.codegen.layout_align import Break, Placement, align
from pymetal.codegen.layout_place import Placer
from pymetal.codegen.layout_state import State, new_level
from pymetal.codegen.layout_tokens import LIMIT

_COMPLEX = 50_000
_TOO_COMPLEX = 100_000


class Search(Placer):
    """Lays out one statement."""

    def run(self) -> str:
        """The statement's lines, without the indentation of the first."""
        state = self._start()
        count, end = 0, len(self.tokens)
        queue: list[tuple[int, int, State]] = [(0, 0, state)]
        seen: set[tuple[object, ...]] = set()
        places: set[tuple[object, ...]] = set()
        while queue:
            penalty, _, state = heapq.heappop(queue)
            if count > _TOO_COMPLEX:
                return self._text(self._filled(self._start()))
            while state.position < end:
                key = state.key()
                place = key[:4]
                # As clang-format does with long statements: from here on, levels do not tell states apart.
                if key in seen or (count > _COMPLEX and place in places):
                    break
                seen.add(key)
                places.add(place)
                must, can = self.must_break(state), self.can_break(state)
                if must and not can:
                    break
                if must or not can:
                    penalty += self.add(state, must)
                    count += 1
                    if queue and queue[0][0] <= penalty:
                        heapq.heappush(queue, (penalty, count, state))
                        break
                    continue
                other = state.copy()
                kept = penalty + self.add(state, False)
                broken = penalty + self.add(other, True)
                heapq.heappush(queue, (kept, count + 1, state))
                heapq.heappush(queue, (broken, count + 2, other))
                count += 2
                break
            else:
                return self._text(state)
        return self._text(None)

    def _start(self) -> State:
        """The first token is placed."""
        state = State(self.indent, new_level(self.indent, self.indent, self.indent, False, False), None, {})
        self.move(state, False)
        return state

    def _filled(self, state: State) -> State:
        """All of the statement, with a break before what does not fit its line."""
        while state.position < len(self.tokens):
            newline = self.must_break(state) or (self.can_break(state) and not self._fits(state))
            self.add(state, newline)
        return state

    def _fits(self, state: State) -> bool:
        """Whether there is room on the line up to the next place where a break is allowed."""
        column = state.column
        for token in self.tokens[state.position :]:
            if column > LIMIT or (token.can_break and token.index > state.position):
                break
            column += token.spaces + token.width
        return column <= LIMIT

    def _text(self, state: State | None) -> str:
        breaks: dict[int, Break] = {}
        placed = state.placed if state is not None else None
        while placed is not None:
            token, placed_as, placed = placed
            breaks[token] = placed_as
        placement = Placement(self.tokens, self.indent, breaks)
        align(placement, self.release)
        return placement.text()
