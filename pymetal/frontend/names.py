"""Names: the Python object a name or dotted name of a body stands for, and what to write in place of a wrong one."""

from __future__ import annotations

import ast
import enum
import functools
import sys
import types
from collections.abc import Iterable
from typing import Any

from pymetal.dtypes import python_number
from pymetal.errors import nearest
from pymetal.frontend.source import Source
from pymetal.frontend.suggestions import unknown_attribute

# Modules of functions that a body calls; numpy if it is loaded.
_MODULES = ("math", "torch", "torch.special", "torch.nn.functional", "numpy")


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
                    module = ast.unparse(base)
                    near, hint = unknown_attribute(owner, module, name)
                    raise source.refusal(
                        "unknown-attribute", node, module=module, name=name, near=near, hint=hint
                    ) from None
            raise source.refusal("not-a-value", base, name=ast.unparse(base), what=describe(owner))
        case _:
            raise AssertionError(f"not a dotted name: {ast.dump(node)}")


def frozen_number(value: object) -> bool | int | float | complex | None:
    """The number that an object outside a body is frozen as: also of a 0-dim tensor and a member of an `IntEnum`."""
    if isinstance(value, enum.Enum) and isinstance(value, (int, float)):
        value = value.value
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    return python_number(value)


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


@functools.cache
def _functions(modules: tuple[str, ...]) -> dict[int, tuple[object, list[str]]]:
    """The functions of modules by identity, so that `from math import exp as e` is found as well, with their names."""
    found: dict[int, tuple[object, list[str]]] = {}
    for module in modules:
        for name, value in vars(sys.modules[module]).items():
            if callable(value) and not isinstance(value, type) and not name.startswith("_"):
                found.setdefault(id(value), (value, []))[1].append(f"{module}.{name}")
    return found


def public_names(value: object) -> list[str]:
    """The names, such as ``math.exp``, of a function of math, torch or numpy; none of other values."""
    functions = _functions(tuple(module for module in _MODULES if module in sys.modules))
    return functions.get(id(value), (None, []))[1]


def builtin_name(value: object) -> str | None:
    """The name of a function of pymetal that the frontend reads itself: "as_type", "polevl", "static_range"."""
    name = getattr(value, "__pymetal_builtin__", None) if isinstance(value, types.FunctionType) else None
    return name if isinstance(name, str) else None


def describe(value: object) -> str:
    """What kind of Python object `value` is, for a message."""
    if names := public_names(value):
        return f"a function of {names[0].partition('.')[0]}"
    if isinstance(value, types.ModuleType):
        return f"the module {value.__name__}"
    if isinstance(value, types.FunctionType):
        return "a Python function"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
