"""Which expressions a statement consists of, where it may break and what a break costs, as clang-format has it."""

from __future__ import annotations

from itertools import pairwise

from pymetal.codegen.layout_annotate import Annotator
from pymetal.codegen.layout_tokens import ASSIGNMENT, CONDITIONAL, LIMIT, Role, Token, tokens_of

_UNARY, _MEMBER = 16, 17  # levels of binding above those of the binary operators
_UNKNOWN = 0
_RETURN_TYPE_ALONE = 2_000_000


class Statement:
    """The tokens of a statement with all that the search needs to know of them.

    Attributes:
        declaration: it stands in a struct or at file scope.
        columns: for the `{` of a long list of numbers, the tables it may be laid out as.
    """

    def __init__(self, text: str, declaration: bool) -> None:
        self.tokens = tokens_of(text)
        self.declaration = declaration
        annotator = Annotator(self.tokens, declaration)
        annotator.annotate()
        _Expressions(self.tokens).mark()
        self.first = self.tokens[0].text
        self.function = annotator.may_declare_function
        self._template_end = annotator.template_end
        self._breaks()
        self.columns = {t.index: found for t in self.tokens if t.text == "{" and (found := column_formats(self, t))}

    def _breaks(self) -> None:
        tokens = self.tokens
        total = tokens[0].total = tokens[0].width
        for left, right in pairwise(tokens):
            right.must_break = left.index == self._template_end
            right.can_break = right.must_break or self._can_break(left, right)
            total += LIMIT if right.must_break else right.width + right.spaces
            right.total = total
            if right.can_break:
                right.penalty = self._penalty(left, right) + 20 * right.binding

    def _before(self, token: Token) -> Token | None:
        return self.tokens[token.index - 1] if token.index else None

    def _can_break(self, left: Token, right: Token) -> bool:
        text = right.text
        if text in (")", "}", "]", ":") and right.role is not Role.CONDITIONAL:
            return False
        if right.role is Role.CLOSE_ANGLE or right.role is Role.POINTER:
            return False
        if right.role in (Role.NAME, Role.FUNCTION_NAME):
            return True
        if left.role is Role.POINTER or (left.text == "?" and text == ":"):
            return False
        if right.role is Role.CONDITIONAL:
            return True
        if left.role is Role.CONDITIONAL or right.role in (Role.OPERATOR_NAME, Role.OPERATOR_PARAMETERS):
            return False
        if (left.text == ">" and text == ">") or left.role in (Role.CLOSE_ANGLE, Role.UNARY):
            return False
        if left.text == "(":
            before = self._before(left)
            return before is None or before.role not in (Role.BINARY, Role.CAST)
        if text == "typename" and left.text != "const":
            return True
        if (left.is_binary_operator or left.role is Role.BINARY) and left.text != "<<":
            return True
        if left.text in (",", "::", ";", "{", "struct") or right.member or text in ("<<", "["):
            return True
        return left.text == ")" and (right.is_identifier or text == "const")

    def _penalty(self, left: Token, right: Token) -> int:
        text = right.text
        if left.text == ";":
            return 0
        if text == "[":
            return 200 if left.text == "]" else 500
        if left.text == "::":
            return 500
        if right.role in (Role.NAME, Role.FUNCTION_NAME):
            if left.role is Role.NAME:
                return 110
            return _RETURN_TYPE_ALONE if self.function and right.level == 0 else 200
        if left.text == "=" and text == "{":
            return 160
        if left.role is Role.CAST:
            return 100
        if left.text == "struct":
            return 5000
        if right.member:
            follower = self.tokens[right.next_operator - 1] if right.next_operator >= 0 else None
            return 35 if follower is not None and follower.closes else 150
        if left.text == "=" and self.first == "for":
            return 4
        if left.text == "(" and self.function:
            return 100
        if left.text == "(" and (before := self._before(left)) is not None and before.text in ("for", "if"):
            return 1000
        if left.text == "=" and self.function:
            return 110
        if left.role is Role.OPEN_ANGLE:
            return 100
        if left.opens:
            return 1 if left.parameters > 1 else 19
        if left.text == ",":
            return 1
        if text == "<<":
            return 1 if left.text == ")" and right.operator_index == 0 else 2
        if right.must_break:
            return 10
        if left.role is Role.CONDITIONAL:
            return CONDITIONAL
        level = left.precedence or right.precedence
        return level or 3


class _Expressions:
    """Marks where expressions begin and end, by the precedence of their operators.

    A level of precedence that no operator of the statement has is passed over: it would mark nothing.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.precedences = [self._precedence_of(t) for t in tokens]
        present = {p for p in self.precedences if p >= 0}
        levels = sorted(present | {0, _MEMBER} | ({_UNARY} if any(t.role is Role.UNARY for t in tokens) else set()))
        self.following = dict(pairwise(levels))

    def mark(self) -> None:
        self._parse(0)

    def _precedence_of(self, token: Token) -> int:
        if token.role is Role.CONDITIONAL:
            return CONDITIONAL
        if token.text == ";":
            return 0
        if token.role is Role.BINARY or token.text == ",":
            return token.precedence
        return _MEMBER if token.member else -1

    def _here(self) -> Token | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def _parse(self, level: int) -> None:
        while (current := self._here()) is not None and current.text == "return":
            self.position += 1
        if current is None:
            return
        if level == CONDITIONAL:
            self._conditional()
        elif level == _UNARY:
            self._unary()
        else:
            self._binary(current, level)

    def _binary(self, start: Token, level: int) -> None:
        current: Token | None
        latest: Token | None = None
        index = 0
        while True:
            if level != _MEMBER:
                self._parse(self.following[level])
            current = self._here()
            if current is None:
                break
            precedence = self.precedences[self.position]
            if current.closes and current.match >= 0:
                break
            if -1 != precedence < level:
                break
            if precedence == CONDITIONAL and level == ASSIGNMENT and current.text == ":":
                break
            if current.opens:
                while (current := self._here()) is not None and not (current.closes and current.match >= 0):
                    self.position += 1
                    self._parse(0)
                self.position += 1
            else:
                if precedence == level:
                    if latest is not None:
                        latest.next_operator = current.index
                    latest = current
                    current.operator_index = index
                    index += 1
                self.position += 1
            if self._here() is None:
                break
        if latest is not None and (self._here() is not None or level > 0):
            self._add(start, _UNKNOWN if level == _MEMBER else level)

    def _add(self, start: Token, level: int) -> None:
        start.fake_open.append(level)
        start.starts_binary |= level > _UNKNOWN
        if self.position < len(self.tokens):
            end = self.tokens[self.position - 1]
            end.fake_close += 1
            end.ends_binary |= level > _UNKNOWN

    def _unary(self) -> None:
        operators = []
        while (current := self._here()) is not None and current.role is Role.UNARY:
            operators.append(current)
            self.position += 1
        self._parse(_MEMBER)
        for operator in reversed(operators):
            self._add(operator, _UNKNOWN)

    def _conditional(self) -> None:
        start = self._here()
        assert start is not None
        self._parse(self.following[CONDITIONAL])
        current = self._here()
        if current is None or current.text != "?":
            return
        assignment = ASSIGNMENT if ASSIGNMENT in self.following else CONDITIONAL
        self.position += 1
        self._parse(assignment)
        current = self._here()
        if current is None or current.role is not Role.CONDITIONAL:
            return
        self.position += 1
        self._parse(assignment)
        self._add(start, CONDITIONAL)


class ColumnFormat:
    """A table for a braced list: the widths of its columns."""

    __slots__ = ("lines", "sizes", "width")

    def __init__(self, sizes: list[int], lines: int, width: int) -> None:
        self.sizes, self.lines, self.width = sizes, lines, width


def column_formats(statement: Statement, brace: Token) -> tuple[list[ColumnFormat], list[int], list[int]] | None:
    """The tables for a list of 20 items and more, its items' widths and its commas."""
    if brace.match < 0:
        return None
    tokens = statement.tokens
    commas = [
        t.index
        for t in tokens[brace.index + 1 : brace.match]
        if t.text == "," and t.level == brace.level + 1
    ]  # fmt: skip
    if len(commas) < 19:
        return None
    starts = [brace.index + 1, *(c + 1 for c in commas)]
    closing = tokens[brace.match]
    widths, widths_at_end = [], []
    for start, end in zip(starts, [*commas, brace.match - 1], strict=True):
        first = tokens[start]
        widths.append(tokens[end].total - first.total + first.width)
        widths_at_end.append(widths[-1])
    last = closing.index
    while last + 1 < len(tokens) and not tokens[last + 1].can_break:
        last += 1
    first = tokens[starts[-1]]
    widths_at_end[-1] = tokens[last].total - first.total + first.width
    formats = []
    for count in range(1, LIMIT // 3 + 1):
        sizes, least, lines, column, full = [0] * count, [1 << 30] * count, 1, 0, False
        for item, width in enumerate(widths):
            if column == count:
                lines, column = lines + 1, 0
            full |= column == count - 1
            length = widths_at_end[item] if column == count - 1 else width
            sizes[column], least[column] = max(sizes[column], length), min(least[column], length)
            column += 1
        if not full:
            break
        total = count - 1 + sum(sizes)
        if any(s - m > 10 for s, m in zip(sizes[:-1], least[:-1], strict=True)) or (total > LIMIT and count > 1):
            continue
        formats.append(ColumnFormat(sizes, lines, total))
    return formats, widths, commas
