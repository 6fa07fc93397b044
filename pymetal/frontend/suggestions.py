"""What to write instead of a call that has no Metal text: a function of `metal`, an expression, other arguments."""

from __future__ import annotations

import ast
import math
import types

from pymetal import ops

CALLABLE = "Callable are metal.*, the functions of math that Metal has, dtypes (as casts) and @pymetal.func functions."
_BY_HAND = {
    "degrees": "Write x * (180 / math.pi).",
    "radians": "Write x * (math.pi / 180).",
    "cbrt": "Write metal.copysign(metal.pow(abs(x), 1 / 3), x).",
    "remainder": "Write x - y * metal.rint(x / y).",
    "fsum": "Write a + b.",
    "prod": "Write a * b.",
}


def instead(callee: object) -> str:
    """What to call in place of `callee`, or what can be called at all."""
    name = getattr(callee, "__name__", "")
    if not isinstance(callee, types.BuiltinFunctionType) or getattr(math, name, None) is not callee:
        return CALLABLE
    if name in _BY_HAND:
        return _BY_HAND[name]
    for qualified in (f"metal.{name}", f"metal.c10.{name}"):
        found = ops.find(qualified)
        if found is not None:
            return f"Write {qualified}({', '.join('xyzw'[: found.arity])})."
    return CALLABLE


def without_keyword(callee: object, node: ast.Call, keyword: str) -> str:
    """How a call reads without a keyword that it does not take."""
    name = ast.unparse(node.func)
    if callee is round:
        return f"Write {name}(x * 100) / 100 for two digits."
    if callee in (max, min) and keyword in ("key", "default"):
        return f"Write x if abs(x) > abs(y) else y, or leave {keyword!r} away."
    return f"Pass {keyword!r} by position."
