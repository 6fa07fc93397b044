"""Names: the Python object a name or dotted name of a body stands for, and what to write in place of a wrong one."""

from __future__ import annotations

import ast
import enum
import math
import types
from collections.abc import Callable, Iterable
from typing import Any

from pymetal import ops
from pymetal.errors import nearest
from pymetal.frontend.source import Source

# Python's own functions by identity, so that `from math import exp as e` is found as well.
_MATH: dict[Callable[..., Any], str] = {
    getattr(math, alias.removeprefix("math.")): alias
    for alias in ops.BY_ALIAS
    if alias.startswith("math.") and hasattr(math, alias.removeprefix("math."))
}
CALLABLE = "A body calls metal.*, the functions of math that Metal has, dtypes (as casts) and @pymetal.func functions."
# What to write for functions of math that no function of metal replaces.
_MATH_HINTS = {
    "degrees": "Write x * (180 / math.pi).",
    "radians": "Write x * (math.pi / 180).",
    "cbrt": "Write metal.copysign(metal.pow(abs(x), 1 / 3), x).",
    "remainder": "Write x - y * metal.rint(x / y).",
    "fsum": "Write a + b.",
    "prod": "Write a * b.",
}


def static_value(source: Source, node: ast.expr, nearby: Iterable[str] = ()) -> Any:
    """The Python object that a name or dotted name stands for, by the function's closure, globals and builtins.

    Args:
        nearby: names of the body itself, to suggest.

    Raises:
        FunctorSyntaxError: there is none; the nearest known name is suggested.
    """
    match node:
        case ast.Name(id=name):
            try:
                return source.names(name)
            except KeyError:
                near = nearest(name, [*nearby, *source.known_names()])
                hint = "Names are found in the function, around it and in its module, when it is decorated."
                raise source.refusal(
                    "unknown-name", node, name=name, near=f"; did you mean {near!r}?" if near else "", hint=hint
                ) from None
        case ast.Attribute(value=ast.Name() | ast.Attribute() as base, attr=name):
            owner = static_value(source, base)
            if isinstance(owner, types.ModuleType | type) or hasattr(owner, "__pymetal_namespace__"):
                try:
                    return getattr(owner, name)
                except AttributeError:
                    near = nearest(name, dir(owner))
                    module = ast.unparse(base)
                    raise source.refusal(
                        "unknown-attribute", node, module=module, name=name,
                        near=f"; did you mean {module}.{near}?" if near else "",
                        hint=f"dir({module}) lists what it has.",
                    ) from None  # fmt: skip
            raise source.refusal("not-a-value", base, name=ast.unparse(base), what=describe(owner))
        case _:
            raise AssertionError(f"not a dotted name: {ast.dump(node)}")


def python_number(value: object) -> bool | int | float | complex | None:
    """The number that a Python object is: a numpy scalar and a member of an `IntEnum` are numbers too."""
    if isinstance(value, enum.Enum) and isinstance(value, (int, float)):
        value = value.value
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    return value if isinstance(value, (bool, int, float, complex)) else None


def is_dotted(node: ast.expr) -> bool:
    """True for `a`, `a.b`, `a.b.c`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def root(node: ast.expr) -> str:
    """The first part of a dotted name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    assert isinstance(node, ast.Name)
    return node.id


def math_alias(value: object) -> str | None:
    """The alias, such as ``math.exp``, of a function of Python's math module that has a row."""
    return _MATH.get(value) if isinstance(value, types.BuiltinFunctionType) else None


def builtin_name(value: object) -> str | None:
    """The name of a function of pymetal that the frontend reads itself: "as_type", "polevl", "static_range"."""
    name = getattr(value, "__pymetal_builtin__", None) if isinstance(value, types.FunctionType) else None
    return name if isinstance(name, str) else None


def describe(value: object) -> str:
    """What kind of Python object `value` is, for a message."""
    if isinstance(value, types.ModuleType):
        return f"the module {value.__name__}"
    if isinstance(value, types.FunctionType):
        return "a Python function"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def call_hint(callee: object) -> str:
    """What to call in place of `callee`, which has no Metal text."""
    name = getattr(callee, "__name__", "")
    if not isinstance(callee, types.BuiltinFunctionType) or getattr(math, name, None) is not callee:
        return CALLABLE
    if name in _MATH_HINTS:
        return _MATH_HINTS[name]
    for qualified in (f"metal.{name}", f"metal.c10.{name}"):
        found = ops.find(qualified)
        if found is not None:
            return f"Write {qualified}({', '.join('xyzw'[: found.arity])})."
    return CALLABLE


def keyword_hint(callee: object, name: str, keyword: str) -> str:
    """What to write in place of a call of `callee` with a keyword argument."""
    if callee is round:
        return f"Write {name}(x * 100) / 100 for two digits."
    if callee in (max, min) and keyword in ("key", "default"):
        return f"Write x if abs(x) > abs(y) else y, or omit {keyword!r}."
    return f"Pass {keyword!r} by position."
