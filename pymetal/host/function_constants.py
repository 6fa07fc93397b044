"""Function constants of a Metal source become ordinary constants, with the values given when it is compiled.

``torch.mps.compile_shader`` has no way to set one: there every function constant is undefined, and a kernel runs only
if it asks `is_function_constant_defined` before it reads. Here they are undefined too, and zero, unless a value is
given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pymetal.errors import CallError

Value = bool | int | float

_DECLARATION = re.compile(
    r"\bconstant\s+((?:\w+\s+)*?\w+)\s+(\w+)\s*\[\[\s*function_constant\s*\(\s*(\d+)\s*\)\s*\]\]\s*;"
)
_QUESTION = re.compile(r"\bis_function_constant_defined\s*\(\s*(\w+)\s*\)")


def bind_function_constants(text: str, values: Mapping[int, Value]) -> str:
    """`text` with each declaration given its value, and each question whether one is defined answered.

    Lines stay where they are.

    Args:
        text: preprocessed Metal text.
        values: by the index of the attribute.

    Raises:
        CallError: the text has no function constant of some index in `values`.
    """
    declared = {int(m[3]): m[2] for m in _DECLARATION.finditer(text)}
    for index in values:
        if index not in declared:
            known = ", ".join(f"{i} ({name})" for i, name in sorted(declared.items())) or "none"
            raise CallError(f"the source has no function constant {index}", hint=f"It has: {known}.")
    defined = {declared[index] for index in values}

    def declare(match: re.Match[str]) -> str:
        type_, name, index = match[1], match[2], int(match[3])
        newlines = "\n" * match[0].count("\n")
        return f"constant {type_} {name} = static_cast<{type_}>({_literal(values.get(index, 0))});{newlines}"

    text = _DECLARATION.sub(declare, text)
    return _QUESTION.sub(lambda m: "true" if m[1] in defined else "false", text)


def _literal(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value != value:
        return '__builtin_nanf("")'  # the text is preprocessed: NAN, a macro, would stay
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "__builtin_inff()" if value > 0 else "-__builtin_inff()"
    return f"{value!r}f" if isinstance(value, float) else str(value)
