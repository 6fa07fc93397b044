"""The tokens of a statement that is laid out."""

from __future__ import annotations

import enum
import re

LIMIT = 80


class Role(enum.Enum):
    """What a token is taken for."""

    PLAIN = enum.auto()
    BINARY = enum.auto()
    UNARY = enum.auto()
    TRAILING = enum.auto()  # ++ and -- after their operand
    CONDITIONAL = enum.auto()  # ? and :
    POINTER = enum.auto()  # * and & of a type
    OPEN_ANGLE = enum.auto()
    CLOSE_ANGLE = enum.auto()
    SUBSCRIPT = enum.auto()
    CAST = enum.auto()  # the closing parenthesis of what looks like `(T)x`
    NAME = enum.auto()  # of something that is declared here
    FUNCTION_NAME = enum.auto()
    OPERATOR_NAME = enum.auto()  # the parentheses of `operator()`
    OPERATOR_PARAMETERS = enum.auto()


COMMA, ASSIGNMENT, CONDITIONAL, RELATIONAL, EQUALITY = 1, 2, 3, 10, 9
PRECEDENCE = {
    ",": COMMA, "?": CONDITIONAL, "||": 4, "&&": 5, "|": 6, "^": 7, "&": 8, "==": EQUALITY, "!=": EQUALITY,
    "<": RELATIONAL, "<=": RELATIONAL, ">": RELATIONAL, ">=": RELATIONAL, "<<": 12, "+": 13, "-": 13, "*": 14,
    "/": 14, "%": 14,
    **dict.fromkeys(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="), ASSIGNMENT),
}  # fmt: skip
TYPE_WORDS = frozenset(("void", "bool", "char", "short", "int", "long", "float", "double", "unsigned", "signed"))
KEYWORDS = TYPE_WORDS | {
    "break", "case", "const", "constexpr", "continue", "do", "else", "false", "for", "if", "inline", "operator",
    "return", "sizeof", "static", "static_assert", "static_cast", "struct", "template", "true", "typename", "using",
    "while",
}  # fmt: skip
# `>>` is two tokens: it may close two template lists.
_TOKEN = re.compile(
    r'[A-Za-z_]\w*|\.?\d(?:[eE][+-]|[\w.])*|"[^"]*"|<<=|>>=|\.\.\.|::|\+\+|--|->|##|<<|[-+*/%&|^=!<>]=|&&|\|\||\S'
)
_WORD = re.compile(r"[A-Za-z_]")


class Token:
    """A token. `level` and the rest are set by `layout_annotate` and `layout_rules`."""

    __slots__ = (
        "binding", "can_break", "closes", "ends_binary", "fake_close", "fake_open", "in_parentheses", "index", "level",
        "match", "member", "must_break", "next_operator", "opens", "operator_index", "parameters", "penalty",
        "precedence", "role", "spaces", "starts_binary", "text", "total", "width",
    )  # fmt: skip

    def __init__(self, index: int, text: str, spaces: int) -> None:
        self.index, self.text, self.spaces = index, text, spaces
        self.width = len(text)
        self.precedence = PRECEDENCE.get(text, 0)
        self.role = Role.PLAIN
        self.level = 0  # how many brackets it stands in; a closing bracket stands in its own
        self.binding = 1
        self.match = -1  # the index of the other bracket
        self.opens = text in ("(", "[", "{")
        self.closes = text in (")", "]", "}")
        self.member = text in (".", "->")
        self.parameters = 0  # of an opening bracket
        self.in_parentheses = False  # an opening angle bracket directly in parentheses
        self.can_break = self.must_break = False
        self.penalty = self.total = 0
        self.fake_open: list[int] = []  # precedences of the expressions that begin here, the innermost first
        self.fake_close = 0  # how many expressions end here
        self.starts_binary = self.ends_binary = False
        self.operator_index = 0
        self.next_operator = -1

    @property
    def is_identifier(self) -> bool:
        return _WORD.match(self.text) is not None and self.text not in KEYWORDS

    @property
    def is_word(self) -> bool:
        return _WORD.match(self.text) is not None

    @property
    def is_literal(self) -> bool:
        return self.text[0].isdigit() or self.text[0] == '"' or (self.text[0] == "." and self.width > 1)

    @property
    def is_binary_operator(self) -> bool:
        """By its text alone; the angle brackets of a template list are among them."""
        return self.precedence > COMMA


def tokens_of(text: str) -> list[Token]:
    """The tokens of a statement, which may be printed over several lines."""
    found: list[Token] = []
    end = 0
    for match in _TOKEN.finditer(text):
        gap = text[end : match.start()]
        spaces = len(gap)
        if "\n" in gap:
            spaces = 0 if found[-1].opens or match[0] in ("[", ".") or found[-1].text == "::" else 1
        found.append(Token(len(found), match[0], spaces))
        end = match.end()
    return found
