"""Random Metal text of the kind that pymetal prints: each statement on one line, however long."""

from __future__ import annotations

from random import Random

NAMES = [
    "x",
    "y",
    "z",
    "a",
    "b",
    "w",
    "n",
    "at",
    "low",
    "high",
    "beta",
    "alpha",
    "value",
    "ratio",
    "larger",
    "smaller",
    "divisor_1",
    "result_of_step",
    "exponent",
    "hypotenuse_of",
    "tail",
    "x_1",
    "accumulated_difference",
    "first_guess",
    "lowest_representable_value",
    "is_negative",
    "target_scale",
]
FUNCTIONS = [
    "precise::exp",
    "precise::atan2",
    "metal::fabs",
    "metal::isnan",
    "c10::metal::log1p",
    "c10::metal::mul",
    "complex_exp",
    "exp_minus_half_square",
    "c10::metal::chebyshev_polynomial_t_forward",
    "metal::clamp",
    "logistic",
    "c10::metal::max",
]
TYPES = [
    "T",
    "float",
    "half",
    "float2",
    "bool",
    "long",
    "int",
    "uchar",
    "half2",
    "c10::metal::opmath_t<T>",
    "c10::metal::vec2type_t<T>",
    "conditional_t<is_same_v<T, half2>, half, float>",
]
CASTS = [
    *("float", "T", "int", "long", "half", "char", "as_type<int>"),
    *("static_cast<T>", "static_cast<T>", "static_cast<T>"),
    *("static_cast<c10::metal::opmath_t<T>>", "static_cast<conditional_t<is_same_v<T, half2>, half, float>>"),
    *("c10::metal::cast_to<float2>", "static_cast<uchar>"),
]  # fmt: skip
LITERALS = [
    "0.0f",
    "1.0f",
    "2",
    "0.044715f",
    "1",
    "-1",
    "0",
    "1e-05f",
    "NAN",
    "INFINITY",
    "-INFINITY",
    "T(0.5f)",
    "T(3)",
    "3.1415927f",
    "true",
    "0.70710677f",
]
LEVELS = {
    4: ["||"], 5: ["&&"], 6: ["|"], 7: ["^"], 8: ["&"], 9: ["==", "!="], 10: ["<", "<=", ">", ">="], 11: ["<<", ">>"],
    12: ["+", "-"], 13: ["*", "/"],
}  # fmt: skip
CONDITIONS = [
    "is_floating_point_v<T>", "c10::metal::is_scalar_floating_point_v<T>", "is_integral_v<T>", "!is_integral_v<T>",
    "is_integral_v<T> && !is_signed_v<T> && !is_same_v<T, bool>", "is_integral_v<T> && is_signed_v<T>",
    "is_floating_point_v<T> || (is_integral_v<T> && is_signed_v<T>)", "!c10::metal::is_complex_v<T>",
    "(is_integral_v<T> && is_signed_v<T>) || is_same_v<T, bool>", "is_same_v<T, half> || is_same_v<T, bfloat>",
    "(is_integral_v<T> && is_signed_v<T>) || (is_integral_v<T> && !is_signed_v<T> && !is_same_v<T, bool>)",
    "is_same_v<T, long> || is_same_v<T, int> || is_same_v<T, short> || is_same_v<T, uchar> || is_same_v<T, char>",
    "c10::metal::is_scalar_floating_point_v<T> || (is_integral_v<T> && is_signed_v<T>) || is_same_v<T, bool>",
    "c10::metal::is_scalar_floating_point_v<T> || c10::metal::is_complex_v<T>",
    "(is_integral_v<T> && !is_signed_v<T> && !is_same_v<T, bool>) || (is_same_v<T, bool>)",
]  # fmt: skip
WORDS = [
    "a",
    "the",
    "of",
    "where",
    "upstream's",
    "which",
    "is",
    "right",
    "and",
    "so",
    "that",
    "NaN,",
    "exactly;",
    "Newton's",
    "method.",
    "(x",
    "-",
    "y)",
    "1",
    "2.",
    "10.",
    "-",
    "*",
    "`beta`",
    "x^2",
    "rounded-to-nearest",
    "half,",
    "bfloat",
    "0.5,",
    "c10::metal::log1p(x)",
    "--",
    "infinite.",
    "polynomial:",
    "\\",
    "@",
    "TODO",
]


class Writer:
    """Writes text; `size` is how long expressions become."""

    def __init__(self, random: Random, size: int) -> None:
        self.random, self.left = random, size

    def pick(self, choices: list[str]) -> str:
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def leaf(self) -> str:
        roll = self.random.random()
        name = self.pick(NAMES)
        if roll < 0.5:
            return name
        if roll < 0.65:
            return self.pick(LITERALS)
        if roll < 0.75:
            return f"{name}.{self.pick(['x', 'y'])}"
        if roll < 0.85:
            return f"params.{name}"
        if roll < 0.9:
            return f"{name}_table[{self.pick(NAMES)}]"
        return f"{self.pick(CASTS)}({name})"

    def expression(self, precedence: int = 3) -> str:
        """An expression that binds at least as tightly as `precedence`."""
        text, level = self.any_expression()
        return text if level >= precedence else f"({text})"

    def any_expression(self) -> tuple[str, int]:
        self.left -= 1
        if self.left <= 0 or self.chance(0.15):
            text = self.leaf()
            return text, 15 if text.startswith("-") else 16
        roll = self.random.random()
        if roll < 0.12:
            links = self.random.choice([1, 1, 1, 2, 3])
            text = "".join(f"{self.expression(4)} ? {self.expression(4)} : " for _ in range(links))
            return text + self.expression(3), 3
        if roll < 0.5:
            return self.infix()
        if roll < 0.58:
            operator = self.pick(["-", "-", "!", "~"])
            operand = self.expression(15)
            return (f"{operator}({operand})" if operand.startswith(operator) else f"{operator}{operand}"), 15
        if roll < 0.78:
            return f"{self.pick(CASTS)}({self.expression()})", 16
        if roll < 0.95:
            count = self.random.choice([1, 1, 2, 2, 2, 3, 4])
            arguments = ", ".join(self.expression() for _ in range(count))
            return f"{self.pick([*FUNCTIONS, 'float2', 'half2'])}({arguments})", 16
        if roll < 0.97:
            return f"{self.pick(['float2', 'complex_exp'])}({self.expression()}).{self.pick(['x', 'y'])}", 16
        if roll < 0.98:
            return f"{self.pick(NAMES)}_coefficients[{self.expression()}]", 16
        arguments = [self.expression() for _ in range(self.random.choice([1, 2]))]
        if self.chance(0.5):
            scalars = ", ".join(self.expression() for _ in range(2))
            arguments.append(f"{self.pick(NAMES)}_params<{self.pick(['T', 'float'])}>{{{scalars}}}")
        return f"{self.pick(NAMES)}_functor{{}}({', '.join(arguments)})", 16

    def infix(self) -> tuple[str, int]:
        level = self.random.choice([4, 5, 5, 6, 7, 8, 9, 10, 10, 11, 12, 12, 12, 12, 13, 13, 13, 13])
        text, left = self.any_expression()
        text = text if left >= level and not self.mixed(level, left) else f"({text})"
        for _ in range(self.random.choice([1, 1, 1, 2, 3]) if level not in (9, 10, 11) else 1):
            operand, right = self.any_expression()
            operand = operand if right > level and not self.mixed(level, right) else f"({operand})"
            text = f"{text} {self.pick(LEVELS[level])} {operand}"
        return text, level

    @staticmethod
    def mixed(level: int, operand: int) -> bool:
        """As pymetal's printer: parentheses for the reader's sake."""
        return (
            (level in (9, 10) and operand in (9, 10))
            or (level in (4, 5) and operand in (4, 5) and level != operand)
            or (level in (6, 7, 8) and operand < 15 and operand != level)
            or (level == 11 and operand < 15)
        )

    # --- statements --------------------------------------------------------------------------------------------------

    def simple(self) -> str:
        roll = self.random.random()
        if roll < 0.4:
            return f"return {self.expression()};"
        if roll < 0.75:
            const = "const " if self.chance(0.8) else ""
            return f"{const}{self.pick(TYPES)} {self.pick(NAMES)} = {self.expression()};"
        return f"{self.pick(NAMES)} {self.pick(['=', '=', '=', '+=', '*='])} {self.expression()};"

    def statements(self, indent: int, size: int, depth: int) -> list[str]:
        lines = []
        margin = " " * indent
        for _ in range(self.random.choice([1, 2, 3])):
            self.left = size
            roll = self.random.random()
            if depth == 0 or roll < 0.7:
                lines.append(margin + self.simple())
                continue
            if roll < 0.85:
                lines.append(f"{margin}if ({self.expression()}) {{")
                lines += self.statements(indent + 2, size, depth - 1)
                if self.chance(0.4):
                    self.left = size
                    lines.append(f"{margin}}} else if ({self.expression()}) {{")
                    lines += self.statements(indent + 2, size, depth - 1)
                if self.chance(0.4):
                    lines.append(f"{margin}}} else {{")
                    lines += self.statements(indent + 2, size, depth - 1)
            elif roll < 0.92:
                lines.append(f"{margin}while ({self.expression()}) {{")
                lines += self.statements(indent + 2, size, depth - 1)
            else:
                name, start, stop = self.pick(NAMES), self.expression(), self.expression(11)
                advance = f"{name}++" if self.chance(0.6) else f"{name} += {self.expression(11)}"
                lines.append(f"{margin}for (int {name} = {start}; {name} < {stop}; {advance}) {{")
                lines += self.statements(indent + 2, size, depth - 1)
            lines.append(f"{margin}}}")
        return lines

    # --- what is around them -----------------------------------------------------------------------------------------

    def comment(self) -> list[str]:
        lines = []
        for _ in range(self.random.choice([1, 1, 2, 3])):
            words = [self.pick(WORDS) for _ in range(self.random.randrange(1, 30))]
            lines.append(f"// {' '.join(words)}".rstrip("\\ "))
            if self.chance(0.1):
                lines.append("//")
        return lines

    def head(self, name: str) -> list[str]:
        parameters = [f"const {self.pick(TYPES)} {n}" for n in self.random.sample(NAMES, self.random.choice([1, 2, 3]))]
        if self.chance(0.2):
            parameters.append(f"const {self.pick(NAMES)}_params<{self.pick(['T', 'float'])}> params")
        lines = []
        if self.chance(0.7):
            condition = f", enable_if_t<{self.pick(CONDITIONS)}, bool> = true" if self.chance(0.6) else ""
            lines.append(f"template <typename T{condition}>")
        return [*lines, f"inline {self.pick(TYPES)} {name}({', '.join(parameters)}) {{"]

    def function(self, indent: int, name: str, size: int) -> list[str]:
        margin = " " * indent
        return [
            *(margin + line for line in self.head(name)),
            *self.statements(indent + 2, size, 2),
            f"{margin}}}",
        ]

    def piece(self, size: int) -> list[str]:
        roll = self.random.random()
        name = "_".join(self.random.sample(NAMES, self.random.choice([1, 2])))
        if roll < 0.5:
            lines = self.comment() if self.chance(0.3) else []
            lines.append(f"struct {name}_functor {{")
            for index in range(self.random.choice([1, 2])):
                lines += [*([""] if index else []), *self.function(2, "operator()", size)]
            return [*lines, "};"]
        if roll < 0.7:
            return [*(self.comment() if self.chance(0.5) else []), *self.function(0, name, size)]
        if roll < 0.8:
            return self.comment()
        if roll < 0.87:
            number = self.random.choice([3, 8, 19, 20, 25, 40])
            values = ", ".join(
                self.pick(["1.0f", "-0.25f", "1.2345678f", "12", "0.001f", "-3e-05f"]) for _ in range(number)
            )
            return [f"constant {self.pick(['float', 'int'])} {name}_coefficients[] = {{{values}}};"]
        if roll < 0.94:
            kinds = [self.pick(["float", "half", "bfloat", f"{name}_params_bfloat"]) for _ in range(3)]
            return [f"REGISTER_BINARY_ALPHA_OP({name}, {', '.join(kinds)});"]
        return [f"using {name}_params_{self.pick(['T', 'bfloat'])} = {name}_params<{self.pick(['float', 'bfloat'])}>;"]


def piece(random: Random, size: int) -> str:
    """A struct, a function, a comment, a table, a registration or an alias."""
    return "\n".join(Writer(random, size).piece(size)) + "\n"
