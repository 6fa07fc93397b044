"""What to write in place of a function that has no Metal text, or of a name that a module does not have."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Iterable, Mapping

import torch

from pymetal import ops
from pymetal.errors import nearest

CALLABLE = "A body calls metal.*, functions of math and torch that have Metal text, dtypes and Python functions."
# What to write for functions that no other one replaces, by the last part of their names: a formula of their
# parameters, or words. A call is told the formula of its own arguments.
FORMULAS = {
    "addcdiv": "input, tensor1, tensor2, value=1: input + value * tensor1 / tensor2",
    "addcmul": "input, tensor1, tensor2, value=1: input + value * tensor1 * tensor2",
    "angle": "z: math.atan2(z.imag, z.real)",
    "cbrt": "x: metal.copysign(metal.pow(abs(x), 1 / 3), x)",
    "celu": "input, alpha=1.0: input if input > 0 else alpha * math.expm1(input / alpha)",
    "elu": "input, alpha=1.0: input if input > 0 else alpha * math.expm1(input)",
    "float_power": "input, exponent: input ** exponent",
    "gelu": "input: 0.5 * input * (1 + math.erf(input / math.sqrt(2)))",
    "hardshrink": "input, lambd=0.5: input if abs(input) > lambd else 0",
    "hardsigmoid": "input: torch.clamp(input / 6 + 0.5, 0, 1)",
    "hardswish": "input: input * torch.clamp(input + 3, 0, 6) / 6",
    "heaviside": "input, values: 1 if input > 0 else values if input == 0 else 0",
    "isclose": "input, other, rtol=1e-5, atol=1e-8: abs(input - other) <= atol + rtol * abs(other)",
    "isqrt": "n: pymetal.int64(math.sqrt(n))",
    "l1_loss": "input, target: abs(input - target)",
    "logit": "x: math.log(x / (1 - x))",
    "masked_fill": "input, mask, value: value if mask else input",
    "mish": "input: input * math.tanh(torch.nn.functional.softplus(input))",
    "mse_loss": "input, target: (input - target) ** 2",
    "nan_to_num": "input, nan=0.0, posinf=HIGH, neginf=LOW: "
    "nan if math.isnan(input) else posinf if input == math.inf else neginf if input == -math.inf else input",
    "polar": "abs, angle: complex(abs * math.cos(angle), abs * math.sin(angle))",
    "rsub": "input, other, alpha=1: other - alpha * input",
    "selu": "input: 1.0507009873554805 * (input if input > 0 else 1.6732632423543772 * math.expm1(input))",
    "softplus": "input, beta=1: torch.nn.functional.softplus(input * beta) / beta",
    "softshrink": "input, lambd=0.5: input - lambd if input > lambd else input + lambd if input < -lambd else 0",
    "softsign": "input: input / (1 + abs(input))",
    "tanhshrink": "input: input - math.tanh(input)",
    "threshold": "input, threshold, value: input if input > threshold else value",
    "ulp": "x: math.nextafter(x, math.inf) - x",
    "where": "condition, input, other: input if condition else other",
}
_REDUCTIONS = (
    "all any amax amin aminmax argmax argmin cummax cummin cumprod cumsum dist fsum log_softmax logcumsumexp "
    "logsumexp max mean median min mode norm prod softmax softmin std sum sumprod topk var"
)
_IGNORED = ("inplace", "out", "reduction")  # a functor returns the value of one element
_WORDS = {
    **dict.fromkeys(_REDUCTIONS.split(), "A functor sees one element of each tensor: compute this outside of it"),
    "as_tensor": "Write the number itself",
    "comb": "Write a loop: `for i in range(k): r = r * (n - i) // (i + 1)`",
    "factorial": "Write a loop: `for i in range(1, n + 1): r = r * i`",
    "finfo": "Write EPS = torch.finfo(torch.float32).eps outside the functor, and EPS here",
    "full": "Write the number itself",
    "iinfo": "Write MOST = torch.iinfo(torch.int32).max outside the functor, and MOST here",
    "item": "Write x itself: it is one number",
    "perm": "Write a loop: `for i in range(k): r = r * (n - i)`",
    "tensor": "Write the number itself",
}
# Where a function of the same name is looked for, in this order.
_SPACES = ("math", "torch", "metal", "torch.nn.functional", "torch.special", "numpy", "metal.c10")
KNOWN = frozenset({*ops.BY_ALIAS, *ops.FORMS})


def _same_name(name: str, module: str = "") -> str | None:
    """A function of this name, not of `module`: Python's newest functions are not in every math."""
    names = (f"{space}.{name}" for space in _SPACES if space != module)
    return next((known for known in names if known in KNOWN), None)


def _formula(name: str, call: ast.Call | None) -> str | None:
    """What to write for a function of this name, in terms of the arguments of `call`; None if none is known for it."""
    if name not in FORMULAS:
        return None
    function = ast.parse(f"lambda {FORMULAS[name]}", mode="eval").body
    assert isinstance(function, ast.Lambda)
    names = [arg.arg for arg in function.args.args]
    defaults = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    if call is None:
        given = {n: defaults.get(n, ast.Name(n)) for n in names}
    else:
        keywords = {keyword.arg or "**": keyword.value for keyword in call.keywords if keyword.arg not in _IGNORED}
        given = {**defaults, **dict(zip(names, call.args, strict=False)), **keywords}
        if len(call.args) > len(names) or given.keys() != set(names):
            return None
    return ast.unparse(_Substitution(given).visit(function.body))


class _Substitution(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)


def written_as(name: str, call: ast.Call | None = None) -> str | None:
    """What to write in place of a function by its name, or why Metal's has no row."""
    name = name.rpartition(".")[2]
    if (text := _formula(name, call)) is not None:
        limits = ", with HIGH and LOW, the limits of the dtype, outside the functor" if "HIGH" in text else ""
        return f"Write `{text}`{limits}."
    if name in _WORDS:
        return f"{_WORDS[name]}."
    return f"It {reason}." if (reason := ops.NOT_ROWS.get(f"metal.{name}")) else None


def unknown_attribute(owner: object, module: str, name: str) -> tuple[str, str]:
    """What a message adds, and its hint, about a module that has no `name`."""
    listed = f"dir({module}) lists what it has."
    if (reason := written_as(name)) is not None:
        return "", reason
    space = getattr(owner, "__name__", module)
    if (same := _same_name(name, space)) is not None:
        return f"; did you mean {same}?", listed
    near = nearest(name, [k.rpartition(".")[2] for k in KNOWN if k.rpartition(".")[0] == space])
    near = near or nearest(name, dir(owner))
    return f"; did you mean {module}.{near}?" if near else "", listed


def unknown_method(call: ast.Call, name: str, value: str, others: Iterable[str]) -> tuple[str, str]:
    """What a message adds, and its hint, about a value without a method `name`; `others` are further methods.

    Args:
        call: the call of it, with the value as its first argument.
    """
    listed = "A value has the methods of a tensor that have Metal text."
    if (reason := written_as(name, call)) is not None:
        return "", reason
    is_known = hasattr(torch.Tensor, name) and not name.endswith("_")  # a method that is not misspelt
    near = None if is_known else nearest(name, [*methods(), *others])
    return f"; did you mean {value}.{near}()?" if near else "", listed


def methods() -> list[str]:
    """The methods of torch's tensors that are functions of torch that a body calls."""
    names = [k.removeprefix("torch.") for k in KNOWN if k.startswith("torch.")]
    return sorted(name for name in names if hasattr(torch.Tensor, name))


def call_hint(callee: object, names: list[str], call: ast.Call) -> str:
    """What to write in place of a call of `callee`, which has no Metal text; `names` are its public names."""
    if isinstance(callee, torch.dtype):
        return f"Write x.to({callee})."
    if isinstance(callee, type) and callee.__module__ == "torch" and (reason := written_as(callee.__name__)):
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
        if (reason := written_as(name, call)) is not None:
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
