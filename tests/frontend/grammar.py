"""Random functors over the whole language: what tests/programs.py writes, and loops, helpers, tables, facts and bits.

Every body ends, every value is exact in every implementation, and what a number gives way to is the element type. Zeros
whose sign implementations choose differently (`%`, `//`, min, max) lose it by `+ 0`. Floats become integers only where
they are known to be small.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import expressions

TABLES = {"WEIGHTS": (0.5, -1.5, 2.0, 0.25), "STEPS": (3, 1, 2), "POLY": (2, 1, 3)}
PRELUDE = (
    "from __future__ import annotations\nimport math\nimport pymetal\nfrom pymetal import T, metal\n\nLIMIT = 5\n"
    "HALF = 0.5\n" + "".join(f"{name} = {values}\n" for name, values in TABLES.items()) + "\n\n"
)
KINDS = ("floating", "integral", "bool", "complex")
_AUGMENTED = {
    "floating": "+-*/%",
    "integral": ["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"],
    "bool": "&|^",
    "complex": "+-",
}


class Writer(expressions.Writer):
    """Writes the text of one functor, with the helpers that it calls."""

    def __init__(self, seed: int, kind: str, name: str = "f") -> None:
        super().__init__(seed, kind)
        self.name = name
        self.reused: list[str] = []  # of the counters, those that any loop and any assignment may set
        self.loops: list[str] = []
        self.room = 40  # statements that may still be written

    # --- whole functions ---

    def text(self) -> str:
        """The functor and its helpers."""
        parts = []
        for number in range(self.random.choice([0, 0, 0, 1, 2])):
            name = f"{self.name}_h{number}"
            functor = self.random.random() < 0.3
            decorator = f'@pymetal.binary(dtypes="{self.kind}")' if functor else "@pymetal.func"
            parts.append(self.function(name, decorator, 5))
            self.helpers.append(name)
        parts.append(self.function(self.name, f'@pymetal.binary(dtypes="{self.kind}")', 20))
        return "\n\n".join(parts)

    def function(self, name: str, decorator: str, room: int) -> str:
        self.room, self.truths, self.counters, self.indices, self.loops = room, [], [], {}, []
        self.reused = ["k1", "k2"][: self.random.choice([0, 1, 2])]
        starts = [f"{name} = {self.random.randint(-3, 9)}" for name in self.reused]
        self.counters += self.reused
        lines, variables, falls = self.block(["a", "b"], 3, self.random.randint(2, 6))
        if falls:
            lines.append(f"return {self.number(variables, 3)}")
        lines = [*starts, *lines]
        if self.random.random() < 0.2:
            fact = f"is_{self.kind}"
            lines.insert(0, f"assert pymetal.{fact}(T)")
        return f"{decorator}\ndef {name}(a: T, b: T) -> T:\n" + "".join(f"    {line}\n" for line in lines)

    # --- statements ---

    def block(self, variables: list[str], depth: int, statements: int) -> tuple[list[str], list[str], bool]:
        truths, counters, reused = self.truths[:], self.counters[:], self.reused[:]
        found = self.statements(variables, depth, statements)
        self.truths, self.counters, self.reused = truths, counters, reused
        return found

    def statements(self, variables: list[str], depth: int, statements: int) -> tuple[list[str], list[str], bool]:
        lines: list[str] = []
        variables = list(variables)
        for _ in range(statements):
            self.room -= 1
            kind = self.random.random()
            if self.room > 0 and depth > 0 and kind < 0.45:
                more, variables, falls = self.compound(variables, depth)
                lines += more
                if not falls:
                    return lines, variables, False
            elif self.loops and self.loops[-1] == "dynamic" and kind < 0.52 and depth < 3:
                lines.append(self.random.choice(["break", "continue"]))
                return lines, variables, False
            elif kind < 0.55 and depth < 3:
                lines.append(f"return {self.number(variables, 2)}")
                return lines, variables, False
            else:
                lines += self.simple(variables) if kind < 0.99 else ["pass"]
        return lines or ["pass"], variables, True

    def simple(self, variables: list[str]) -> list[str]:
        """An assignment of some form; adds what it sets to `variables`."""
        if self.reused and self.random.random() < 0.2:
            return [self.small_step()]
        kind = self.random.random()
        if kind < 0.12:
            name = self.random.choice(variables)
            symbol = self.random.choice(_AUGMENTED[self.kind])
            value = self.number(variables, 2)
            if symbol in ("<<", ">>"):
                value = f"T({self.random.randrange(7)})"
            # What the sign of a zero is is not said.
            zero = [f"{name} = {name} + 0"] if symbol in ("%", "//") and self.floating else []
            return [f"{name} {symbol}= {value}", *zero]
        if kind < 0.2 and len(variables) > 1:
            first, second = self.random.sample(variables, 2)
            if self.random.random() < 0.5:
                return [f"{first}, {second} = {second}, {self.number(variables, 2)}"]
            if self.kind in ("floating", "integral"):
                a, b = self.number(variables, 1), self.number(variables, 1)
                tail = [f"{first} = {first} + 0", f"{second} = {second} + 0"] if self.floating else []
                return [f"{first}, {second} = divmod({a}, {b})", *tail]
        if kind < 0.3:
            name = f"p{self.counted()}"
            line = f"{name} = {self.truth(variables, 2)}"
            self.truths.append(name)
            return [line]
        if kind < 0.36:
            name = self.fresh()
            line = f"{name}: T = {self.number(variables, 2)}"
            variables.append(name)
            return [line]
        if kind < 0.4:
            one, two = self.fresh(), self.fresh()
            line = f"{one} = {two} = {self.number(variables, 2)}"
            variables += [one, two]
            return [line]
        if kind < 0.46:
            name, new = self.random.choice([*variables, self.fresh()]), self.fresh()
            line = f"{name} = {self.sum_of(f'({new} := {self.number(variables, 2)})', new)}"
            variables += [n for n in (name, new) if n not in variables]
            return [line]
        if kind < 0.5 and self.kind != "bool":
            name, pair = self.fresh(), f"t{self.counted()}"
            first, second = self.number(variables, 1), self.random.choice(variables)
            changed = self.random.choice(variables)
            line = f"{pair} = ({first}, {second})"
            variables.append(name)
            return [line, f"{changed} = {self.number(variables[:-1], 1)}", f"{name} = {pair}[0] + sum({pair})"]
        name = self.random.choice([*variables, self.fresh(), self.fresh()])
        line = f"{name} = {self.number(variables, 3)}"
        if name not in variables:
            variables.append(name)
        return [line]

    def sum_of(self, a: str, b: str) -> str:
        return f"{a} {'|' if self.kind == 'bool' else '+'} {b}"

    def small_step(self) -> str:
        """An assignment of a small integer."""
        source = self.random
        name, other = source.choice(self.reused), source.choice(self.counters)
        return source.choice(
            [
                f"{name} = ({name} + {source.randint(1, 3)}) % 7", f"{name} = ({other} * 2 - {name}) % 11",
                f"{name} = {source.randint(-3, 9)}", f"{name} = {other} % 9",
                f"{name}, {other} = {other}, {name}" if other in self.reused else f"{name} = -{name} % 8",
            ]
        )  # fmt: skip

    def counted(self) -> int:
        self.count += 1
        return self.count

    def compound(self, variables: list[str], depth: int) -> tuple[list[str], list[str], bool]:
        kind = self.random.random()
        if kind < 0.06:
            return self.first_unrolled(variables, depth)
        if kind < 0.14:
            return self.matching(variables, depth)
        if kind < 0.4:
            return self.branch(variables, depth)
        if kind < 0.5:
            return self.fact(variables, depth)
        if kind < 0.65:
            return self.repeat(variables, depth)
        return self.count_loop(variables, depth)

    def branch(self, variables: list[str], depth: int) -> tuple[list[str], list[str], bool]:
        """An `if` with its `elif` and `else`; the first test may assign."""
        lines, after, falls = super().branch(variables, depth)
        if self.random.random() < 0.15:
            name, word = self.fresh(), self.random.choice(["and", "or"])
            lines[0] = f"if ({name} := {self.number(variables, 1)}) {word} {lines[0].removeprefix('if ')}"
            after = [*after, name]
        return lines, after, falls

    def matching(self, variables: list[str], depth: int) -> tuple[list[str], list[str], bool]:
        """A `match` on a small integer."""
        source, captured = self.random, f"m{self.counted()}"
        patterns = [
            "0",
            "1 | 3",
            "-2 | 2",
            f"{captured} if {captured} > 3",
            f"5 as {captured}",
            "_ if " + self.condition(variables, 1),
        ]
        chosen = source.sample(patterns, source.randint(1, 3)) + source.choice([[], ["_"], [captured]])
        lines, ends = [f"match {self.small(variables)}:"], []
        for pattern in chosen:
            body, after, falls = self.block(variables, depth - 1, source.randint(1, 2))
            if captured in pattern:
                body.insert(0, f"{variables[0]} = T({captured})")
            lines += [f"    case {pattern}:", *(f"        {line}" for line in body)]
            ends += [after] if falls else []
        if chosen[-1] not in ("_", captured):
            ends.append(variables)
        return lines, [v for v in (ends or [variables])[0] if all(v in names for names in ends)], bool(ends)

    def fact(self, variables: list[str], depth: int) -> tuple[list[str], list[str], bool]:
        """A test that is decided when the functor is compiled, for each kind of dtype."""
        name = self.random.choice(["is_signed", "is_integral", "is_floating", "is_bool", "is_complex"])
        lines = [f"if pymetal.{name}(T):"]
        then, after, falls = self.block(variables, 0, 1)
        lines += [f"    {line}" for line in then]
        if self.random.random() < 0.3:
            return lines, variables, True
        other, after_other, other_falls = self.block(variables, 0, 1)
        lines += ["else:"] + [f"    {line}" for line in other]
        ends = [names for names, ends_here in ((after, falls), (after_other, other_falls)) if ends_here]
        return lines, [v for v in (ends or [variables])[0] if all(v in names for names in ends)], bool(ends)

    def repeat(self, variables: list[str], depth: int) -> tuple[list[str], list[str], bool]:
        """A `while` loop that a counter ends."""
        name, limit = f"n{self.counted()}", self.random.randint(1, 6)
        start = [f"{name} = 0"]
        if self.random.random() < 0.3:
            head = ["while True:", f"    if {name} >= {limit}:", "        break"]
        else:
            tests = [f"{name} < {limit}", self.truth(variables, 1)]
            self.random.shuffle(tests)
            head = [f"while {' and '.join(tests)}:" if self.random.random() < 0.6 else f"while {name} < {limit}:"]
        step = [f"    {name} += 1"]
        if self.random.random() < 0.2:
            head, step = [f"while ({name} := {name} + 1) <= {limit}:"], []
        with self.inside(name, "dynamic"):
            body, _, _ = self.block(variables, depth - 1, self.random.randint(1, 3))
        return [*start, *head, *step, *(f"    {line}" for line in body)], variables, True

    def count_loop(self, variables: list[str], depth: int) -> tuple[list[str], list[str], bool]:
        """A `for` loop: over a range of some form, unrolled, or over a table."""
        source = self.random
        again = bool(self.reused) and source.random() < 0.5
        name = source.choice(self.reused) if again else f"i{self.counted()}"
        kind = source.random()
        table = None
        if kind < 0.3:
            table = source.choice(list(TABLES))
            iterable = source.choice(
                [f"range(len({table}))", f"range({len(TABLES[table])})", f"range({len(TABLES[table]) - 1}, -1, -1)"]
            )
        elif kind < 0.5:
            start, step = source.randint(-4, 4), source.choice([1, 1, 2, 3, -1, -2])
            iterable = f"range({start}, {start + step * source.randint(0, 4) + source.choice([0, 0, 1])}, {step})"
        elif kind < 0.7:
            iterable = self.runtime_range(variables)
        else:
            iterable = self.unrolled()
        static = kind >= 0.7
        if static and not again and source.random() < 0.4:
            return self.pair_loop(variables, depth, name)
        with self.inside(name, "static" if static else "dynamic", None if again else table):
            body, _, _ = self.block(variables, depth - 1, source.randint(1, 3))
        lines = [f"for {name} in {iterable}:", *(f"    {line}" for line in body)]
        if kind < 0.3 and source.random() < 0.4 and not _leaves(body):
            after = self.fresh()  # the variable keeps its last value
            return [*lines, f"{after} = T({name})"], [*variables, after], True
        return lines, variables, True

    def pair_loop(self, variables: list[str], depth: int, name: str) -> tuple[list[str], list[str], bool]:
        """An unrolled loop with two names."""
        other = f"c{self.counted()}"
        pairs = ["enumerate(STEPS)", "enumerate(POLY, 2)", "zip(STEPS, range(3))", "reversed(((1, 2), (0, 5)))"]
        iterable = self.random.choice(pairs)
        with self.inside(name, "static"), self.inside(other, "static"):
            body, _, _ = self.block(variables, depth - 1, self.random.randint(1, 2))
        return [f"for {name}, {other} in {iterable}:", *(f"    {line}" for line in body)], variables, True

    def unrolled(self) -> str:
        """What an unrolled loop runs over: integers."""
        counts = self.random.choice(["1", "3", "1, 4", "3, 0, -1", "0, 4, 2"])
        return self.random.choice(
            [
                "STEPS",
                "POLY",
                "(5, 1)",
                "[2]",
                "reversed(STEPS)",
                "reversed(range(3))",
                *[f"pymetal.static_range({counts})"] * 5,
            ]
        )

    def first_unrolled(self, variables: list[str], depth: int) -> tuple[list[str], list[str], bool]:
        """A variable that an unrolled loop sets in one branch, and an assignment in the other."""
        name = f"k{self.counted()}_"
        lines = [f"if {self.truth(variables, 2)}:", f"    for {name} in {self.unrolled()}:"]
        with self.inside(name, "static"):
            body, _, _ = self.block(variables, depth - 1, self.random.randint(1, 2))
        lines += [f"        {line}" for line in body]
        lines += ["else:", f"    {name} = {self.random.randint(-3, 9)}"]
        self.counters.append(name)
        self.reused.append(name)
        return lines, variables, True

    def runtime_range(self, variables: list[str]) -> str:
        """A range whose bounds the operands decide."""
        small = f"{self.random.choice(self.reused)} % 5" if self.reused and self.random.random() < 0.4 else ""
        small = small or self.small(variables)
        return self.random.choice(
            [f"range({small})", f"range({small}, {self.random.randint(0, 6)})", f"range({small}, -3, -2)"]
        )

    @contextlib.contextmanager
    def inside(self, name: str, kind: str, table: str | None = None) -> Iterator[None]:
        """In the body of a loop that counts `name`."""
        self.loops.append(kind)
        self.counters.append(name)
        if table:
            self.indices[name] = table
        yield
        self.indices.pop(name, None)
        self.counters.remove(name)
        self.loops.pop()


def _leaves(lines: list[str]) -> bool:
    """True if a loop with this body may end before its last round."""
    words = {word for line in lines for word in line.split()}
    return bool(words & {"break", "return", "continue"})
