"""The tokens of one statement, and what clang-format takes each for.

clang-format has no parser of C++: it guesses what a token is from its neighbours. Its guesses decide where a line may
break, so they are made here as there, for the statements that pymetal prints.
"""

from __future__ import annotations

import enum
import re


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
TYPE_WORDS = frozenset("void bool char short int long float double unsigned signed half".split()) - {"half"}
KEYWORDS = TYPE_WORDS | frozenset(
    "break case const constexpr continue do else false for if inline operator return sizeof static static_cast "
    "static_assert struct template true typename using while".split()
)
# `>>` is two tokens: it may close two template lists.
_TOKEN = re.compile(
    r'[A-Za-z_]\w*|\.?\d(?:[eE][+-]|[\w.])*|"[^"]*"|<<=|>>=|\.\.\.|::|\+\+|--|->|##|<<|[-+*/%&|^=!<>]=|&&|\|\||\S'
)
_WORD = re.compile(r"[A-Za-z_]")


class Token:
    """A token. `level` and the rest are set by `annotate` and `pymetal.codegen.layout_rules`."""

    __slots__ = (
        "binding", "can_break", "closes", "ends_binary", "fake_close", "fake_open", "in_parentheses", "index", "level",
        "match", "member", "must_break", "next_operator", "operator_index", "opens", "parameters", "penalty",
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


class _Context:
    __slots__ = ("binding", "expression", "kind", "template_argument")

    def __init__(self, kind: str, binding: int, expression: bool) -> None:
        self.kind, self.binding, self.expression = kind, binding, expression
        self.template_argument = False


class Annotator:
    """Gives every token its role, its level and its matching bracket."""

    def __init__(self, tokens: list[Token], declaration: bool) -> None:
        """`declaration`: the line stands in a struct or at file scope."""
        self.tokens, self.declaration = tokens, declaration
        self.contexts = [_Context("", 1, False)]
        self.may_declare_function = False
        self.template_end = -1  # the `>` of a `template <...>` head
        self._no_template: set[int] = set()
        self._position = 0

    def annotate(self) -> None:
        while self._position < len(self.tokens):
            if not self._consume():
                self._position += 1
        self._name_function()
        self._correct_spaces()

    @property
    def _current(self) -> Token | None:
        return self.tokens[self._position] if self._position < len(self.tokens) else None

    def _at(self, index: int) -> Token | None:
        return self.tokens[index] if 0 <= index < len(self.tokens) else None

    # --- one token ---------------------------------------------------------------------------------------------------

    def _next(self) -> Token:
        token = self.tokens[self._position]
        context = self.contexts[-1]
        token.level, token.binding = len(self.contexts) - 1, context.binding
        token.match = -1
        if token.role is not Role.OPERATOR_PARAMETERS:
            token.role = Role.PLAIN
        if token.text in "<>":
            token.opens = token.closes = False
        self._modify_context(token, context)
        if token.role is Role.PLAIN:
            token.role = self._role(token, context)
        self._position += 1
        return token

    def _modify_context(self, token: Token, context: _Context) -> None:
        text = token.text
        if token.precedence == ASSIGNMENT:
            first = self.tokens[0].text
            if first not in ("using", "return"):
                before = self._at(token.index - 2)
                named = before is not None and before.text in ("typename", "class")
                if not (first == "template" and context.kind == "<" and named):
                    context.expression = True
        elif text == "return" or text in (";", "!"):
            context.expression = True
        elif text in (")", ">", ",") and self.declaration:
            context.expression = False

    def _role(self, token: Token, context: _Context) -> Role:
        text = token.text
        if text == ":":
            return Role.PLAIN
        if self._starts_name(token):
            return Role.NAME
        if text in ("*", "&", "&&"):
            return self._star(token, context)
        if text in ("+", "-", "^"):
            return Role.UNARY if self._is_unary(token) else Role.BINARY
        if text in ("++", "--"):
            before = self._at(token.index - 1)
            return Role.TRAILING if before and (before.text in (")", "]") or before.is_identifier) else Role.UNARY
        if text in ("!", "~"):
            return Role.UNARY
        if text == "?":
            return Role.CONDITIONAL
        if token.precedence > COMMA and text != ">":
            return Role.BINARY
        return Role.PLAIN

    def _starts_name(self, token: Token) -> bool:
        """A word behind what may be a type."""
        if token.index == 0 or not token.is_identifier:
            return False
        if self.may_declare_function and token.level == 0:
            return False
        after = self._at(token.index + 1)
        if after is None or after.text in ("*", "&", "&&"):
            return False
        index = token.index - 1
        while index >= 0 and self.tokens[index].text == "const":
            index -= 1
        if index < 0:
            return False
        before = self.tokens[index]
        if before.role is Role.CLOSE_ANGLE:
            return before.match > 0 and self.tokens[before.match - 1].text not in (".", "template")
        return before.is_identifier or before.role is Role.POINTER or before.text in TYPE_WORDS

    def _is_unary(self, token: Token) -> bool:
        before = self._at(token.index - 1)
        if before is None or before.role in (Role.CONDITIONAL, Role.UNARY, Role.BINARY):
            return True
        return before.text in ("(", ",", ":", ";", "=", "?", "[", "{", "return", "sizeof")

    def _star(self, token: Token, context: _Context) -> Role:
        before, after = self._at(token.index - 1), self._at(token.index + 1)
        if before is None:
            return Role.UNARY
        if before.text in TYPE_WORDS or after is None or after.text in (">", "=", ",", ")", "const"):
            return Role.POINTER
        if before.text == "::":
            return Role.POINTER
        if self._is_unary(token):
            return Role.UNARY
        if after.text in ("[", ",", ";"):
            return Role.POINTER
        if before.is_literal or before.text in (")", "]", "}", "true", "false"):
            return Role.BINARY
        operand: Token | None = after
        while operand is not None and operand.text == "(":
            operand = self._at(operand.index + 1)
        if operand is not None and (
            operand.is_literal or operand.text in ("true", "false", "+", "-", "!", "~", "++", "--", "sizeof")
        ):
            return Role.BINARY
        if context.template_argument and after.is_word:
            return Role.BINARY
        if token.text == "&&" and after.text in ("(", "*", "&"):
            return Role.BINARY
        return Role.BINARY if context.expression else Role.POINTER

    # --- brackets ----------------------------------------------------------------------------------------------------

    def _consume(self) -> bool:
        token = self._next()
        before = self._at(token.index - 1)
        match token.text:
            case "if" | "while" | "for":
                if self._current is not None and self._current.text == "(":
                    return self._parentheses(self._next())
            case "(":
                return self._call(token, before)
            case "[":
                return self._bracket(token, "]", 10 if self._is_subscript(token, before) else 1)
            case "{":
                return self._current is None or self._bracket(token, "}", 1)
            case "<":
                if not self._angle(token):
                    token.role, token.opens, token.match = Role.BINARY, False, -1
                    self._no_template.add(token.index)
                    self._position = token.index + 1
            case ")" | "]":
                return False
            case "}":
                return before is None
            case ">":
                token.role = Role.BINARY
            case "operator":
                if self._current is not None and self._current.text == "(":
                    self._current.role = Role.OPERATOR_PARAMETERS
            case "?":
                self._conditional()
            case "template":
                if self._current is not None and self._current.text == "<":
                    opening = self._next()
                    if self._angle(opening):
                        self.template_end = opening.match
            case _:
                pass
        return True

    def _call(self, token: Token, before: Token | None) -> bool:
        if before is not None and before.text == ")" and before.match >= 0:
            opening = self.tokens[before.match]
            if opening.role is Role.OPERATOR_PARAMETERS:
                opening.role = before.role = Role.OPERATOR_NAME
                token.role = Role.OPERATOR_PARAMETERS
        if not self._parentheses(token):
            return False
        outer = self.contexts[-1]
        if (
            self.declaration
            and len(self.contexts) == 1
            and not outer.expression
            and not (before is not None and before.role is Role.BINARY)
        ):
            self.may_declare_function = True
        return True

    def _is_subscript(self, token: Token, before: Token | None) -> bool:
        token.role = Role.SUBSCRIPT
        return True

    def _parentheses(self, token: Token) -> bool:
        before = self._at(token.index - 1)
        outer = self.contexts[-1]
        context = _Context("(", outer.binding + 1, outer.expression)
        if token.role is Role.OPERATOR_PARAMETERS:
            context.expression = False
        elif before is not None and (
            before.text in ("while", "(", ",", "if", "static_assert") or before.role is Role.BINARY
        ):
            context.expression = True
        elif not self.declaration:
            context.expression = not (before is not None and before.text == "for")
        return self._list(token, ")", context)

    def _bracket(self, token: Token, closing: str, increase: int) -> bool:
        outer = self.contexts[-1]
        return self._list(token, closing, _Context(token.text, outer.binding + increase, True))

    def _list(self, opening: Token, closing: str, context: _Context) -> bool:
        self.contexts.append(context)
        opening.parameters = 0
        try:
            while (current := self._current) is not None:
                previous = self.tokens[current.index - 1]
                if previous.role is Role.BINARY:
                    context.expression = True
                if current.text == closing:
                    opening.match, current.match = current.index, opening.index
                    match = opening.index
                    self._next()
                    current.match = match
                    return True
                if current.text in (")", "]", "}"):
                    return False
                if opening.text == "(" and (previous.text == "const" or previous.text in TYPE_WORDS):
                    if current.text not in ("{", "("):
                        context.expression = False
                if not self._consume():
                    return False
                if current.text == ",":
                    opening.parameters += 1
                elif opening.parameters == 0:
                    opening.parameters = 1
        finally:
            self.contexts.pop()
        return False

    def _angle(self, opening: Token) -> bool:
        """Whether `<` opens a template list; if it does not, what was read is to be read again."""
        before = self._at(opening.index - 1)
        if self._current is None or opening.index in self._no_template:
            return False
        if before is not None:
            if before.is_literal or before.text == "}" or (before.text == ")" and len(self.contexts) > 1):
                return False
        outer = self.contexts[-1]
        opening.in_parentheses = outer.kind == "("
        context = _Context("<", outer.binding + 12, False)
        context.template_argument = before is not None and before.text != "template"
        self.contexts.append(context)
        opening.parameters = 0
        template_line = self.tokens[0].text == "template"
        ternary, maybe = False, True
        try:
            while (current := self._current) is not None:
                after = self._at(current.index + 1)
                if current.text == ">":
                    if after is not None and after.text == ">" and outer.kind != "<" and after.spaces == 0:
                        return False
                    if outer.expression and ternary and (after is None or after.text not in ("(", "{")):
                        return False
                    if not maybe or (after is not None and after.is_literal):
                        return False
                    self._next()
                    current.role, opening.role = Role.CLOSE_ANGLE, Role.OPEN_ANGLE
                    current.closes = opening.opens = True
                    opening.match, current.match = current.index, opening.index
                    return True
                if current.text in (")", "]", "}"):
                    return False
                previous = self.tokens[current.index - 1]
                if maybe and outer.expression and not template_line:
                    maybe = not (previous.role is Role.BINARY and previous.text in ("&&", "||"))
                ternary |= previous.text in ("?", ":")
                if current.text == ",":
                    opening.parameters += 1
                elif opening.parameters == 0:
                    opening.parameters = 1
                if not self._consume():
                    return False
        finally:
            self.contexts.pop()
        return False

    def _conditional(self) -> None:
        while (current := self._current) is not None:
            if current.text == ":":
                self._next()
                current.role = Role.CONDITIONAL
                return
            if not self._consume():
                return

    # --- afterwards --------------------------------------------------------------------------------------------------

    def _name_function(self) -> None:
        if self.tokens[-1].text != "{" and not self.may_declare_function:
            return
        for token in self.tokens[1:]:
            before = self.tokens[token.index - 1]
            if token.text == "operator":
                if before.text != "return" and (before.is_word or before.role is Role.CLOSE_ANGLE):
                    token.role = Role.FUNCTION_NAME
                    return
            elif token.role is Role.NAME and token.level == 0:
                after = self._at(token.index + 1)
                if after is not None and after.text == "(" and self.tokens[-1].text == "{":
                    token.role = Role.FUNCTION_NAME
                    return

    def _correct_spaces(self) -> None:
        """Where clang-format takes a comparison for a template list, or `&&` for a reference, it also spaces them so."""
        for token in self.tokens[1:]:
            before = self.tokens[token.index - 1]
            if token.role in (Role.OPEN_ANGLE, Role.CLOSE_ANGLE) and before.text != "template":
                token.spaces = 0
            elif before.role is Role.OPEN_ANGLE or token.role is Role.POINTER:
                token.spaces = 0
