"""Random expressions of each kind of dtype, with helpers, tables, loop variables and bits."""

from __future__ import annotations

from collections.abc import Callable

import programs


class Writer(programs.Writer):
    """Writes expressions of the element type, of truth and of small integers."""

    def __init__(self, seed: int, kind: str) -> None:
        super().__init__(seed, kind == "floating")
        self.kind = kind
        self.helpers: list[str] = []  # names that bodies may call
        self.truths: list[str] = []  # variables that are true or false
        self.counters: list[str] = []  # variables of loops around, and others that are small integers
        self.indices: dict[str, str] = {}  # of them, those that stay inside a table

    def small(self, variables: list[str]) -> str:
        """An integer of -8 to 8 made of an operand."""
        name = self.random.choice(variables)
        if self.floating:
            return f"pymetal.int32(metal.clamp({name}, -4, 6) if {name} == {name} else T(1))"
        if self.kind == "integral":
            return f"(pymetal.int32({name}) & 7)"
        if self.kind == "complex":
            part = f"{name}.real"
            return f"(pymetal.int32(metal.clamp({part}, -4, 6)) if {part} == {part} else pymetal.int32(1))"
        return f"pymetal.int32({name})"

    def number(self, variables: list[str], depth: int) -> str:
        source = self.random
        if depth == 0 or source.random() < 0.1:
            return source.choice(variables)
        if source.random() < 0.12 and self.counters and self.kind != "bool":
            counter = source.choice(self.counters)
            if counter in self.indices and source.random() < 0.6:
                table = self.indices[counter]
                if self.kind != "integral" or table != "WEIGHTS":
                    return f"({source.choice(variables)} * {table}[{counter}])"
            return source.choice([f"({self.number(variables, depth - 1)} + {counter})", f"T({counter})"])
        if source.random() < 0.12 and self.helpers:
            a, b = (self.number(variables, depth - 1) for _ in range(2))
            return f"{source.choice(self.helpers)}({a}, {b})"
        if self.kind == "bool":
            return self.boolean(variables, depth)
        if self.kind == "complex":
            return self.complex(variables, depth)
        if source.random() < 0.5:
            return super().number(variables, depth)
        a, b = (self.number(variables, depth - 1) for _ in range(2))
        shared = [
            lambda: f"abs({a})", lambda: f"({source.choice(['min', 'max'])}({a}, {b}) + 0)", lambda: f"round({a})",
            lambda: f"(+{a})", lambda: f"(LIMIT - {a})",
            lambda: f"({source.choice(variables)} ** {source.choice([2, 3])})",
            lambda: f"({a} % {b} + 0)", lambda: f"({a} // {b} + 0)", lambda: f"({a}).real",
            lambda: f"max({a}, {b}, {source.choice([0, 1, 3])})" if not self.floating else f"({a} + HALF)",
            lambda: f"metal.polevl({source.choice(variables)}, POLY)",
            lambda: f"({a} * STEPS[{source.randrange(-3, 3)}])", lambda: self.reduction(variables, a),
        ]  # fmt: skip
        own = self.floats(variables, a, b) if self.floating else self.integers(variables, a, b)
        return source.choice([*shared, *own])()

    def condition(self, variables: list[str], depth: int) -> str:
        """A truth value, or numbers that are tested."""
        source = self.random
        if source.random() < 0.75:
            return self.truth(variables, depth)
        number, other = self.number(variables, 1), self.truth(variables, max(0, depth - 1))
        return source.choice([number, f"not {number}", f"{number} and {other}", f"({other} or {number})"])

    def reduction(self, variables: list[str], value: str) -> str:
        """A function of a sequence, of numbers."""
        source = self.random
        name, table = source.choice(variables), source.choice(["STEPS", "POLY", "range(3)", "reversed(POLY)"])
        condition = source.choice(["", "", " if c % 2", " if c > 1"])
        forms = [
            f"sum(c * {name} for c in {table}{condition})", f"sum(({value}, {name}, 1))",
            f"sum([{name}, {value}], {name})",
            f"sum({name} * c + d for c, d in zip(STEPS, {table}))", f"({value} + sum(STEPS))",
            f"sum({name} if i else c * {name} for i, c in enumerate({table}))",
        ]  # fmt: skip
        if self.kind != "complex":
            forms += [f"(max({name} - c for c in {table}) + 0)", f"(min(({value}, {name})) + 0)"]
        return source.choice(forms)

    def floats(self, variables: list[str], a: str, b: str) -> list[Callable[[], str]]:
        source = self.random
        name = source.choice(variables)
        special = source.choice(["T(math.inf)", "T(-math.inf)", "T(math.nan)"])
        # Of finite numbers: a signalling NaN is not the same to all.
        bits = f"metal.as_type(metal.as_type(float({name}), pymetal.int32) ^ {source.choice([1, 3, 256])}, float)"
        return [
            lambda: f"(metal.{source.choice(['fmin', 'fmax'])}({a}, {b}) + 0)", lambda: f"metal.sign({a})",
            lambda: f"T(float({a}) {source.choice('+-*/')} float({b}))", lambda: f"T(float({a}) + {b})",
            lambda: f"T({self.small(variables)})", lambda: f"(T({bits}) if metal.isfinite({name}) else T(2))",
            lambda: f"T(metal.{source.choice(['isnan', 'isinf', 'isfinite'])}({a}))",
            lambda: f"({source.choice(variables)} ** -1)", lambda: f"({a} * WEIGHTS[{source.randrange(4)}])",
            lambda: f"({special} if {self.truth(variables, 1)} else {a})",
        ]  # fmt: skip

    def integers(self, variables: list[str], a: str, b: str) -> list[Callable[[], str]]:
        source = self.random
        wide = source.choice(["pymetal.int64", "pymetal.int32", "pymetal.int8"])
        return [
            lambda: f"({a} {source.choice(['&', '|', '^'])} {b})", lambda: f"(~{a})",
            lambda: f"({a} {source.choice(['<<', '>>'])} {source.randrange(7)})",
            lambda: f"({a} {source.choice(['<<', '>>'])} {b})", lambda: f"({a} ** {b})",
            lambda: f"({a} {source.choice(['//', '%'])} {source.choice([1, 2, 3, 7])})",
            lambda: f"({source.choice([1, 5, 100])} {source.choice(['//', '%', '-', '<<', '>>'])} {a})",
            lambda: f"T({wide}({a}) {source.choice(['+', '-', '*', '//', '%', '&', '|', '^'])} {b})",
            lambda: f"T({a} / {b} < {source.choice(['0.5', '1', a])})",
            lambda: f"T(pymetal.uint32({a}) {source.choice(['+', '*', '>>', '//', '%'])} pymetal.uint32({b}))",
            lambda: f"T(pymetal.uint16({a}) {source.choice(['+', '*', '>>', '//', '%'])} pymetal.uint16({b}))",
            lambda: f"T(pymetal.uint64({a}) {source.choice(['+', '*', '>>', '//', '%'])} pymetal.uint64({b}))",
        ]  # fmt: skip

    def boolean(self, variables: list[str], depth: int) -> str:
        source = self.random
        a, b = (self.number(variables, depth - 1) for _ in range(2))
        return source.choice(
            [
                lambda: f"({a} {source.choice('&|^')} {b})",
                lambda: f"(~{a})",
                lambda: f"({a} {source.choice('+*')} {b})",
                lambda: f"T({self.truth(variables, depth - 1)})",
                lambda: f"T({source.choice([0, 1, 2])})",
                lambda: f"({a} if {self.truth(variables, 1)} else {b})",
                lambda: f"{source.choice(['min', 'max'])}({a}, {b})",
                lambda: f"T({a} {source.choice(['and', 'or'])} {b})",
                lambda: f"T(not {a})",
                lambda: f"T(pymetal.int32({a}) + {b} {source.choice(['>', '=='])} {source.randrange(3)})",
            ]
        )()

    def complex(self, variables: list[str], depth: int) -> str:
        source = self.random
        a, b = (self.number(variables, depth - 1) for _ in range(2))
        name = source.choice(variables)
        return source.choice(
            [
                lambda: f"({a} + {b})",
                lambda: f"({a} - {b})",
                lambda: f"(-{a})",
                lambda: f"(+{a})",
                lambda: f"metal.conj({a})",
                lambda: f"({a} * {source.choice(['2', '0.5', '1j', '-1', 'HALF'])})",
                lambda: f"({source.choice(['1', '2.5', '3j'])} {source.choice('+-')} {a})",
                lambda: f"({name} * {source.choice(variables)})",
                lambda: f"({name} ** 2)",
                lambda: f"complex(({a}).real, ({b}).imag)",
                lambda: f"complex(({a}).imag, {source.choice(['2', '0.5', '-1'])})",
                lambda: f"T(({a}).real)",
                lambda: f"(({a}).imag + {b})",
                lambda: f"T({source.choice(['0', '1', '2j', '0.5'])})",
                lambda: f"({a} if {self.truth(variables, 1)} else {b})",
                lambda: f"T({self.truth(variables, 1)})",
                lambda: f"metal.polevl({name}, POLY)",
                lambda: self.reduction(variables, a),
                lambda: f"({a} * STEPS[{source.randrange(-3, 3)}])",
            ]
        )()

    def truth(self, variables: list[str], depth: int) -> str:
        source = self.random
        if self.truths and source.random() < 0.15:
            return source.choice(self.truths)
        if self.counters and source.random() < 0.15:
            return f"({source.choice(self.counters)} {source.choice(programs.COMPARISONS)} {source.randint(-1, 4)})"
        if self.kind == "bool" and source.random() < 0.3:
            return source.choice(variables)
        if source.random() < 0.08:
            name, word = source.choice(variables), source.choice(["any", "all", "in", "not in"])
            if "in" in word:
                return f"({name} {word} {source.choice(['STEPS', '(0, 1)', 'range(2)'])})"
            test = f"{name} {source.choice(['==', '!='])} c" if self.kind == "complex" else f"{name} > c"
            return f"{word}({test} for c in {source.choice(['STEPS', 'range(2)', '(2, 0)'])})"
        if self.kind == "complex":
            if depth > 0 and source.random() < 0.4:
                one, two = (self.truth(variables, depth - 1) for _ in range(2))
                return source.choice([f"(not {one})", f"({one} and {two})", f"({one} or {two})"])
            a, b = (self.number(variables, 1) for _ in range(2))
            part, other = source.choice(["real", "imag"]), source.choice([f"({b}).real", "0", "1.5"])
            return source.choice(
                [f"({a} == {b})", f"({a} != {b})", f"(({a}).{part} {source.choice(programs.COMPARISONS)} {other})"]
            )
        return super().truth(variables, depth)
