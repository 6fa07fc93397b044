"""What clang-format takes each token of a statement for.

clang-format has no parser of C++: it guesses what a token is from its neighbours. Its guesses decide where a line may
break, so they are made here as there, for the statements that pymetal prints.
"""

from __future__ import annotations

from pymetal.codegen.layout_tokens import ASSIGNMENT, COMMA, TYPE_WORDS, Role, Token


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

    def _here(self) -> Token | None:
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
        if before is None or before.role in (Role.CONDITIONAL, Role.UNARY, Role.BINARY, Role.CAST):
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
        before, after = self._at(token.index - 1), self._here()
        match token.text:
            case "if" | "while" | "for":
                if after is not None and after.text == "(":
                    return self._parentheses(self._next())
            case "(":
                return self._call(token, before)
            case "[":
                token.role = Role.SUBSCRIPT
                return self._bracket(token, "]", 10)
            case "{":
                return after is None or self._bracket(token, "}", 1)
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
                if after is not None and after.text == "(":
                    after.role = Role.OPERATOR_PARAMETERS
            case "?":
                self._conditional()
            case "template":
                if after is not None and after.text == "<":
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
            while (current := self._here()) is not None:
                previous = self.tokens[current.index - 1]
                if previous.role is Role.BINARY:
                    context.expression = True
                if current.text == closing:
                    opening.match, current.match = current.index, opening.index
                    match = opening.index
                    self._next()
                    current.match = match
                    if closing == ")" and self._ends_cast(opening, current):
                        current.role = Role.CAST
                    return True
                if current.text in (")", "]", "}"):
                    return False
                declares = opening.text == "(" and (previous.text == "const" or previous.text in TYPE_WORDS)
                if declares and current.text not in ("{", "("):
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

    def _ends_cast(self, opening: Token, closing: Token) -> bool:
        """Whether `(name)` looks like a cast of what follows, as in `functor{}(x) - 1`."""
        last, after = self.tokens[closing.index - 1], self._at(closing.index + 1)
        if last is opening or after is None or opening.role is Role.OPERATOR_PARAMETERS:
            return False
        left = self._at(opening.index - 1)
        if left is not None and left.text == ")" and left.role is not Role.CAST:
            left = self._at(left.match - 1) if left.match > 0 else None
            if left is None:
                return False
        if left is not None:
            if (left.is_word and left.text != "return") or left.text == "]":
                return False
            if left.role in (Role.CLOSE_ANGLE, Role.OPERATOR_NAME):
                return False
        if after.text in ("?", "const", "->") or (after.text == "&&" and last.text not in TYPE_WORDS):
            return False
        if after.is_literal or after.text == "sizeof":
            return True
        if (last.role is Role.CLOSE_ANGLE or last.text in TYPE_WORDS) and after.text not in ("=", ";", "{", ">"):
            return True
        inner = self.tokens[opening.index + 1 : closing.index]
        if left is None or any(t.role is Role.BINARY for t in inner):
            return False
        if after.is_identifier:
            return True
        names = all(t.is_identifier or t.text in ("::", "const") for t in inner)
        if after.text == "(":
            return names
        operand = self._at(after.index + 1)
        if after.text not in ("-", "!", "~", "++", "--", "&", "*") or operand is None:
            return False
        if not operand.is_identifier and (after.text in "&*" or not operand.is_literal):
            return False
        return names

    def _angle(self, opening: Token) -> bool:
        """Whether `<` opens a template list; if it does not, what was read is to be read again."""
        before = self._at(opening.index - 1)
        if self._here() is None or opening.index in self._no_template:
            return False
        if before is not None and (before.is_literal or before.text == "}"):
            return False
        if before is not None and before.text == ")" and len(self.contexts) > 1:
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
            while (current := self._here()) is not None:
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
        while (current := self._here()) is not None:
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
        """What clang-format takes for a template list, a reference or a cast it also spaces so."""
        for token in self.tokens[1:]:
            before = self.tokens[token.index - 1]
            if (
                (token.role in (Role.OPEN_ANGLE, Role.CLOSE_ANGLE) and before.text != "template")
                or before.role in (Role.OPEN_ANGLE, Role.UNARY)
                or (before.role is Role.CAST and token.role is not Role.BINARY)
                or token.role is Role.POINTER
            ):
                token.spaces = 0
