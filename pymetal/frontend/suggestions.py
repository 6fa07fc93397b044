"""What to write in place of a function that has no Metal text, or of a name that a module does not have."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterable

import torch

from pymetal import ops
from pymetal.errors import nearest

CALLABLE = "A body calls metal.*, functions of math and torch that have Metal text, dtypes and Python functions."
# What to write for functions that no other one replaces, by the last part of their names.
WAYS = {
    "addcdiv": "a + value * b / c",
    "addcmul": "a + value * b * c",
    "all": "x != 0",
    "angle": "math.atan2(z.imag, z.real)",
    "any": "x != 0",
    "as_tensor": "the number itself",
    "cbrt": "metal.copysign(metal.pow(abs(x), 1 / 3), x)",
    "comb": "a loop: `for i in range(k): r = r * (n - i) // (i + 1)`",
    "dist": "math.hypot(a - b, c - d)",
    "elu": "x if x > 0 else math.expm1(x)",
    "factorial": "a loop: `for i in range(1, n + 1): r = r * i`",
    "float_power": "a ** b",
    "finfo": "EPS = torch.finfo(torch.float32).eps outside the functor, and EPS here",
    "fsum": "a + b",
    "gelu": "0.5 * x * (1 + math.erf(x / math.sqrt(2)))",
    "full": "the number itself",
    "hardsigmoid": "torch.clamp(x / 6 + 0.5, 0, 1)",
    "hardswish": "x * torch.clamp(x + 3, 0, 6) / 6",
    "heaviside": "1 if x > 0 else y if x == 0 else 0",
    "iinfo": "MOST = torch.iinfo(torch.int32).max outside the functor, and MOST here",
    "isclose": "abs(a - b) <= 1e-8 + 1e-5 * abs(b)",
    "isqrt": "pymetal.int64(math.sqrt(n))",
    "item": "x itself: it is one number",
    "l1_loss": "abs(a - b)",
    "logit": "math.log(x / (1 - x))",
    "masked_fill": "`v if c else x`",
    "mish": "x * math.tanh(torch.nn.functional.softplus(x))",
    "mse_loss": "(a - b) ** 2",
    "nan_to_num": "0 if math.isnan(x) else x",
    "perm": "a loop: `for i in range(k): r = r * (n - i)`",
    "prod": "a * b",
    "rsub": "b - a",
    "polar": "complex(a * math.cos(b), a * math.sin(b))",
    "softsign": "x / (1 + abs(x))",
    "sum": "a + b",
    "sumprod": "a * b + c * d",
    "tanhshrink": "x - math.tanh(x)",
    "tensor": "the number itself",
    "ulp": "math.nextafter(x, math.inf) - x",
    "where": "`a if c else b`",
}
# Where a function of the same name is looked for, in this order.
_SPACES = ("math", "torch", "metal", "torch.nn.functional", "torch.special", "numpy", "metal.c10")
KNOWN = frozenset({*ops.BY_ALIAS, *ops.FORMS})


def _same_name(name: str, module: str = "") -> str | None:
    """A function of this name, not of `module`: Python's newest functions are not in every math."""
    names = (f"{space}.{name}" for space in _SPACES if space != module)
    return next((known for known in names if known in KNOWN), None)


def _reason(name: str) -> str | None:
    """Why Metal's function of this name has no row, or what to write in its place."""
    if name in WAYS:
        return f"Write {WAYS[name]}."
    return f"It {reason}." if (reason := ops.NOT_ROWS.get(f"metal.{name}")) else None


def unknown_attribute(owner: object, module: str, name: str) -> tuple[str, str]:
    """What a message adds, and its hint, about a module that has no `name`."""
    listed = f"dir({module}) lists what it has."
    if (reason := _reason(name)) is not None:
        return "", reason
    space = getattr(owner, "__name__", module)
    if (same := _same_name(name, space)) is not None:
        return f"; did you mean {same}?", listed
    near = nearest(name, [k.rpartition(".")[2] for k in KNOWN if k.rpartition(".")[0] == space])
    near = near or nearest(name, dir(owner))
    return f"; did you mean {module}.{near}?" if near else "", listed


def unknown_method(name: str, value: str, others: Iterable[str]) -> tuple[str, str]:
    """What a message adds, and its hint, about a value without a method `name`; `others` are further methods."""
    listed = "A value has the methods of a tensor that have Metal text."
    if (reason := _reason(name)) is not None:
        return "", reason
    is_known = hasattr(torch.Tensor, name) and not name.endswith("_")  # a method that is not misspelt
    near = None if is_known else nearest(name, [*methods(), *others])
    return f"; did you mean {value}.{near}()?" if near else "", listed


def methods() -> list[str]:
    """The methods of torch's tensors that are functions of torch that a body calls."""
    names = [k.removeprefix("torch.") for k in KNOWN if k.startswith("torch.")]
    return sorted(name for name in names if hasattr(torch.Tensor, name))


def call_hint(callee: object, names: list[str]) -> str:
    """What to call in place of `callee`, which has no Metal text; `names` are those of math, torch and numpy."""
    if isinstance(callee, torch.dtype):
        return f"Write x.to({callee})."
    if isinstance(callee, type) and callee.__module__ == "torch" and (reason := _reason(callee.__name__)) is not None:
        return reason
    if isinstance(callee, type) and issubclass(callee, float | complex):  # numpy's
        return "Metal has no double: write float(x)."
    if isinstance(callee, types.MethodType):
        return f"Write it as a `def` without {next(iter(inspect.signature(callee.__func__).parameters), 'self')!r}."
    if isinstance(callee, functools.partial):
        return f"Write a `def` that calls {getattr(callee.func, '__name__', 'its function')}."
    if not names and hasattr(callee, "__wrapped__"):
        return "Call a `def` without its decorator."
    for name in (n.rpartition(".")[2] for n in names):
        if (reason := _reason(name)) is not None:
            return reason
        if (same := _same_name(name)) is not None:
            op = ops.find(same)
            return f"Write {same}({', '.join('xyzw'[: op.arity if op else 1])})."
    return CALLABLE


def keyword_hint(callee: object, name: str, keyword: str, given: int | None = None) -> str:
    """What to write in place of a call of `callee` with a keyword argument; `given` are all others that it takes."""
    if callee is round or keyword == "decimals":
        return f"Write {name}(x * 100) / 100 for two digits."
    if callee in (max, min) and keyword in ("key", "default"):
        return f"Write x if abs(x) > abs(y) else y, or omit {keyword!r}."
    if keyword == "alpha":
        return f"Write {'a + alpha * b' if name.endswith('add') else 'a - alpha * b'}."
    if keyword in ("inplace", "out"):
        return f"Omit {keyword!r}: a functor returns its value."
    if given is not None:
        return f"Call it as {name}({', '.join('xyzw'[:given])})."
    return f"Pass {keyword!r} by position."
