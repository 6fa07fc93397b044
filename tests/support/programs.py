"""Random functor bodies: lines and branches over + - * /, comparisons, conditionals, casts and exact functions.

A literal stands only beside an operand that is no literal, so that Python, numpy, torch and Metal agree in what type it
is computed. Functions are those that every implementation computes exactly; none looks at the sign of a NaN, which
arithmetic leaves open.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

FUNCTIONS = ("metal.fabs", "metal.floor", "metal.ceil", "metal.trunc", "metal.rint")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class Writer:
    """Writes one body; `floating` ones divide and call functions, the others convert between integers."""

    def __init__(self, seed: int, floating: bool) -> None:
        self.random = random.Random(seed)
        self.floating = floating
        self.count = 0

    def body(self) -> list[str]:
        """The lines of a body that returns on every path."""
        lines, variables, falls = self.block(["a", "b"], 3, self.random.randint(2, 5))
        if falls:
            lines.append(f"return {self.number(variables, 3)}")
        return lines

    def block(self, variables: list[str], depth: int, statements: int) -> tuple[list[str], list[str], bool]:
        """Lines, the variables that are set after them, and whether control reaches their end."""
        lines: list[str] = []
        variables = list(variables)
        for _ in range(statements):
            kind = self.random.random()
            if kind < 0.3 and depth > 0:
                more, variables, falls = self.branch(variables, depth)
                lines += more
                if not falls:
                    return lines, variables, False
            elif kind < 0.45:
                target = self.random.choice(variables)
                lines.append(f"{target} {self.random.choice('+-*')}= {self.number(variables, 2)}")
            elif kind < 0.5 and depth < 3:
                lines.append(f"return {self.number(variables, 2)}")
                return lines, variables, False
            else:
                name = self.random.choice([*variables, self.fresh(), self.fresh()])
                lines.append(f"{name} = {self.number(variables, 3)}")
                if name not in variables:
                    variables.append(name)
        return lines, variables, True

    def branch(self, variables: list[str], depth: int) -> tuple[list[str], list[str], bool]:
        lines: list[str] = []
        ends = []
        heads = ["if", *["elif"] * self.random.choice([0, 0, 1, 2])]
        shared = self.fresh() if self.random.random() < 0.5 else None
        for head in [*heads, "else"] if self.random.random() < 0.7 else heads:
            lines.append(f"{head}:" if head == "else" else f"{head} {self.condition(variables, 2)}:")
            inner, after, falls = self.block(variables, depth - 1, self.random.randint(1, 2))
            if shared and falls:
                inner.append(f"{shared} = {self.number(after, 2)}")
                after.append(shared)
            lines += [f"    {line}" for line in inner]
            if falls:
                ends.append(after)
        if not lines[-1].startswith(" ") or "else:" not in lines:
            ends.append(variables)
        if not ends:
            return lines, variables, False
        return lines, [v for v in ends[0] if all(v in end for end in ends)], True

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def literal(self) -> str:
        if self.floating:
            return self.random.choice(["1", "2", "3", "0.5", "1.5", "0.1", "-1", "0"])
        return self.random.choice(["0", "1", "2", "3", "5", "7"])

    def number(self, variables: list[str], depth: int) -> str:
        """An expression of the element type."""
        kind = self.random.random()
        if depth == 0 or kind < 0.2:
            return self.random.choice(variables)
        a = self.number(variables, depth - 1)
        if kind < 0.3:
            return f"T({self.literal()})"
        if kind < 0.65:
            b = self.literal() if self.random.random() < 0.3 else self.number(variables, depth - 1)
            a, b = (b, a) if self.random.random() < 0.3 else (a, b)
            operator = self.random.choice(["+", "-", "*", "/"] if self.floating else ["+", "-", "*"])
            return f"({a} {operator} {b})" if self.random.random() < 0.8 else f"{a} {operator} ({b})"
        if kind < 0.72:
            return f"-({a})"
        if kind < 0.82:
            return f"({a} if {self.condition(variables, 1)} else {self.number(variables, depth - 1)})"
        if kind < 0.88:
            return f"T({self.truth(variables, 1)})"
        if self.floating:
            return f"{self.random.choice(FUNCTIONS)}({a})"
        return f"T({self.random.choice(['pymetal.int16', 'pymetal.int8', 'pymetal.uint8', 'pymetal.int64'])}({a}))"

    def condition(self, variables: list[str], depth: int) -> str:
        """An expression that is tested."""
        return self.truth(variables, depth)

    def truth(self, variables: list[str], depth: int) -> str:
        """An expression that is true or false."""
        kind = self.random.random()
        if depth == 0 or kind < 0.6:
            a, b = (self.number(variables, 1) for _ in range(2))
            text = f"{a} {self.random.choice(COMPARISONS)} {b}"
            if self.random.random() < 0.2:
                text += f" {self.random.choice(COMPARISONS)} {self.number(variables, 1)}"
            return f"({text})"
        if kind < 0.7:
            return f"(not {self.truth(variables, depth - 1)})"
        word = self.random.choice(["and", "or"])
        return f"({self.truth(variables, depth - 1)} {word} {self.truth(variables, depth - 1)})"


def function(name: str, lines: list[str]) -> str:
    """The text of a function of two parameters with a body."""
    return f"def {name}(a: T, b: T) -> T:\n" + "".join(f"    {line}\n" for line in lines) + "\n"


TOKEN = re.compile(r"[\w.]+|[<>=!]=|\S")
SPARE = [
    "a", "b", "v1", "nowhere", "1", "2.5", "300", "True", "None", "'text'", "T", "bool", "float", "int", "metal.exp",
    "metal.atan2", "metal.nothing", "metal", "math.pi", "pymetal.int8", "pymetal", "abs", "len", "+", "-", "*", "/",
    "@", "&", "<<", "==", "<", "=", "+=", ":=", "(", ")", "[", "]", "{", "}", ",", ":", ".x", "if", "else", "and", "or",
    "not", "is", "in", "lambda", "yield", "await", "return", "pass", "del", "global", "import", "raise", "with", "try",
    "class", "def", "~", "1j", "...", "*a", "**b", "x=", "f'{a}'",
]  # fmt: skip


def mutants(lines: list[str], seed: int, count: int) -> Iterator[list[str]]:
    """The body with a token dropped, doubled, exchanged with another or replaced, or with a line dropped or moved."""
    source = random.Random(seed)
    for _ in range(count):
        changed = list(lines)
        for _ in range(source.choice([1, 1, 1, 2, 3])):
            at = source.randrange(len(changed))
            line = changed[at]
            spans = [m.span() for m in TOKEN.finditer(line)]
            kind = source.random()
            if kind < 0.1:
                changed[at] = "pass" if line == line.lstrip() else f"{line[: len(line) - len(line.lstrip())]}pass"
            elif kind < 0.2:
                changed.insert(source.randrange(len(changed) + 1), line)
            elif spans:
                start, end = source.choice(spans)
                other = source.choice(spans)
                new = source.choice(["", line[start:end] * 2, line[slice(*other)], *[source.choice(SPARE)] * 5])
                changed[at] = (
                    f"{line[:start]} {new} {line[end:]}"
                    if line[:start].strip()
                    else f"{line[:start]}{new} {line[end:]}"
                )
        yield changed
