"""A refused call names what does it, in the user's words; tables stand in the text or outside, and may be wide."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy
import pytest
import toolbox
import torch
import torch.nn.functional as nn

from pymetal import PyMetalError
from pymetal.frontend import suggestions

HEAD = "WIDE = (2**31, 2**40, -(2**63))\nHUGE = (2**64,)\n\n@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n"
# An expression, and what the message and its way out say.
CALLS = {
    "math.cbrt(x)": "Write `metal.copysign(metal.pow(abs(x), 1 / 3), x)`.",
    "math.frexp(x)": "Write `a, b = math.frexp(...)`.",
    "metal.frexp(x)": "It writes one of its results by reference; `math.frexp(x)` gives both.",
    "math.gcd(x, x)": "PM021: gcd is not defined for torch.float32 operands",
    "torch.ldexp(x, 2)": "Write math.ldexp(x, y).",
    "torch.topk(x, 1)": "'torch.topk' is a function of torch and cannot be called in a functor",
    "torch.special.expi(x)": "PM012: torch.special has no 'expi'; did you mean torch.special.expit?",
    "torch.float32(x)": "Write x.to(torch.float32).",
    "metal.lgamma(x)": "PM012: metal has no 'lgamma'; did you mean math.lgamma?",
    "metal.sigmoid(x)": "PM012: metal has no 'sigmoid'; did you mean torch.sigmoid?",
    "metal.where(x > 0, x, 0)": "Write `input if condition else other`.",
    "metal.rsqr(x)": "PM012: metal has no 'rsqr'; did you mean metal.rsqrt?",
    "torch.add(x, x, alpha=2)": "Write a + alpha * b.",
    "torch.round(x, decimals=2)": "Write torch.round(x * 100) / 100 for two digits.",
    "torch.nn.functional.relu(x, inplace=True)": "Omit 'inplace': a functor returns its value.",
    "torch.div(x, x, rounding_mode='trunc')": "Write torch.trunc(x / x).",
    "torch.exp()": "PM017: torch.exp takes 1 argument but 0 were given",
    "x.exp(1)": "PM017: x.exp takes 0 arguments but 1 was given",
    "x.clamp()": "PM017: x.clamp takes 1 to 2 arguments but 0 were given",
    "x.clamp(max=0, low=1)": "Pass 'low' by position.",
    "x.clamp(0, min=1)": "Pass 'min' by position.",
    "torch.clamp(None, 0)": "PM033: None is not a value that Metal can compute with",
    "x.clamp(None, None)": "PM017: x.clamp takes 1 to 2 arguments",
    "x.tann()": "PM012: x has no 'tann'; did you mean x.tan()?",
    "x.add_(x)": "PM012: x has no 'add_'; did you mean x.add()?",
    "x.floats()": "PM012: x has no 'floats'; did you mean x.float()?",
    "x.double()": "Metal has no double: write x.float().",
    "x.any()": "A functor sees one element of each tensor: compute this outside of it.",
    "x.max()": "A functor sees one element of each tensor: compute this outside of it.",
    "torch.sum(x)": "A functor sees one element of each tensor: compute this outside of it.",
    "x.topk(1)": "PM012: x has no 'topk'\n",
    "torch.nn.functional.softplus(x, beta=2.0)": "Write `torch.nn.functional.softplus(x * 2.0) / 2.0`.",
    "torch.nn.functional.softplus(x + 1, 3)": "Write `torch.nn.functional.softplus((x + 1) * 3) / 3`.",
    "torch.nn.functional.elu(x, 2)": "Write `x if x > 0 else 2 * math.expm1(x)`.",
    "torch.nn.functional.elu(x, alpha=2, inplace=True)": "Write `x if x > 0 else 2 * math.expm1(x)`.",
    "torch.nn.functional.gelu(x, approximate='tanh')": "A body calls metal.*",
    "torch.logit(x, eps=0.1)": "A body calls metal.*",
    "torch.heaviside(x, x + 1)": "Write `1 if x > 0 else x + 1 if x == 0 else 0`.",
    "torch.nan_to_num(x, nan=7.0, posinf=1, neginf=-1)": "Write `7.0 if math.isnan(x) else 1 if x == math.inf else -1",
    "torch.nan_to_num(x)": "x`, with HIGH and LOW, the limits of the dtype, outside the functor.",
    "x.masked_fill(x > 1, 0)": "Write `0 if x > 1 else x`.",
    "x.exp(out=x)": "Omit 'out'",
    "torch.nn.functional.mse_loss(x, x, reduction='none')": "Write `(x - x) ** 2`.",
    "torch.finfo(torch.float32)": "Write EPS = torch.finfo(torch.float32).eps outside the functor, and EPS here.",
    "torch.where(x > 0, torch.tensor(0.0), x)": "Write the number itself.",
    "x.to(torch.float64)": "PM006: torch.float64 is not a type that pymetal knows: Metal has no double",
    "x.exp": "Write x.exp().",
    "y.exp()": "PM011: 'y' is not defined",
    "x.exp(*x)": "PM019",
    "round(x, ndigits=2)": "Write round(x * 100) / 100 for two digits.",
    "max(x, x, key=abs)": "Write x if abs(x) > abs(y) else y, or omit 'key'.",
    "metal.as_type(x)": "Call it as metal.as_type(x, pymetal.int32).",
    "metal.polevl(x)": "Call it as metal.polevl(x, COEFFICIENTS).",
    "x * math.sqrt(-1)": "PM039: math.sqrt of these numbers fails: math domain error",
    "x * math.pow(10.0, 400)": "PM039: math.pow of these numbers fails: the result is too large for a float",
    "x * 10.0**400": "PM039: `**` of these numbers fails: the result is too large for a float",
    "metal.polevl(x, HUGE)": "PM040: HUGE is not a tuple of numbers of at most 64 bits, sign included",
    "metal.polevl(x, (1.0, x))": "PM040: (1.0, x) is not a tuple of numbers",
}


WAYS = (
    "round(x * 100) / 100", "metal.copysign(metal.pow(abs(x), 1 / 3), x)", "math.ldexp(x, 2)",
    "x.to(torch.float32)", "x.float()", "torch.trunc(x / x)", "metal.ldexp(x, -metal.ilogb(x))",
)  # fmt: skip


@pytest.mark.parametrize("expression", CALLS)
def test_messages(expression: str, tmp_path: Path) -> None:
    with pytest.raises(PyMetalError) as caught:
        toolbox.load(tmp_path, f"{HEAD}    return {expression}\n")
    assert CALLS[expression] in str(caught.value)


@pytest.mark.parametrize("expression", WAYS)
def test_ways_out(expression: str, tmp_path: Path) -> None:
    assert toolbox.load(tmp_path, f"{HEAD}    return T({expression})\n").f.functor_source


def test_a_table_in_the_text(tmp_path: Path) -> None:
    body = "    total = metal.polevl(x, (1.0, -2, 0.5)) * len((1, 2))\n"
    functor = toolbox.load(tmp_path, f"{HEAD}{body}    return total\n").f
    x = torch.tensor([0.0, 1.5, -3.0])
    toolbox.assert_equal(functor.reference(x), ((1.0 * x - 2) * x + 0.5) * 2)


@pytest.mark.host
def test_a_table_of_wide_integers(tmp_path: Path) -> None:
    text = HEAD.replace("'floating'", "torch.int64") + "    for i in range(3):\n        x += WIDE[i]\n    return x\n"
    functor = toolbox.load(tmp_path, text).f
    text = " ".join(functor.functor_source.split())
    assert "constant long f_WIDE[] = { 2147483648, 1099511627776, (-9223372036854775807 - 1)};" in text
    x = torch.tensor([5, -7])
    for result in (functor(x), functor.reference(x)):
        assert result.tolist() == [v + 2**31 + 2**40 - 2**63 for v in x.tolist()]


# Arguments of a function whose formula is its own: what torch, numpy or math says is the value of the formula.
X = torch.tensor([-2.5, -0.4, -0.0, 0.0, 0.3, 1.0, 4.0])
UNIT = torch.tensor([0.1, 0.25, 0.9])
FORMULAS: dict[str, tuple[str, torch.Tensor, torch.Tensor]] = {
    "addcdiv": ("torch.addcdiv(x, x, x + 9, value=2)", X, torch.addcdiv(X, X, X + 9, value=2)),
    "addcmul": ("x.addcmul(x, x + 1)", X, X.addcmul(X, X + 1)),
    "angle": ("torch.angle(complex(x, 1))", X, torch.angle(torch.complex(X, torch.ones(7)))),
    "cbrt": ("numpy.cbrt(x)", X, torch.from_numpy(numpy.cbrt(X.numpy()))),
    "celu": ("torch.nn.functional.celu(x, 0.5)", X, nn.celu(X, 0.5)),
    "elu": ("torch.nn.functional.elu(x, alpha=0.5)", X, nn.elu(X, 0.5)),
    "float_power": ("torch.float_power(x, 2)", X, X**2),
    "gelu": ("torch.nn.functional.gelu(x)", X, nn.gelu(X)),
    "hardshrink": ("torch.nn.functional.hardshrink(x, 0.35)", X, nn.hardshrink(X, 0.35)),
    "hardsigmoid": ("torch.nn.functional.hardsigmoid(x)", X, nn.hardsigmoid(X)),
    "hardswish": ("torch.nn.functional.hardswish(x, inplace=True)", X, nn.hardswish(X)),
    "heaviside": ("torch.heaviside(x, x + 0.5)", X, torch.heaviside(X, X + 0.5)),
    "isclose": ("torch.isclose(x, x * x, atol=0.1)", X, torch.isclose(X, X * X, atol=0.1).float()),
    "isqrt": ("math.isqrt(pymetal.int64(x * x))", X, torch.tensor([2.0, 0, 0, 0, 0, 1, 4])),
    "l1_loss": ("torch.nn.functional.l1_loss(x, x * x, reduction='none')", X, (X - X * X).abs()),
    "logit": ("torch.logit(x)", UNIT, torch.logit(UNIT)),
    "masked_fill": ("x.masked_fill(x > 0, 5)", X, X.masked_fill(X > 0, 5)),
    "mish": ("torch.nn.functional.mish(x)", X, nn.mish(X)),
    "mse_loss": ("torch.nn.functional.mse_loss(x, x * x)", X, (X - X * X) ** 2),
    "nan_to_num": ("torch.nan_to_num(1 / x, 7, 8, 9)", X, torch.nan_to_num(1 / X, 7, 8, 9)),
    "polar": ("torch.polar(x, x + 1)", X, torch.polar(X, X + 1).real),
    "rsub": ("torch.rsub(x, x * x)", X, torch.rsub(X, X * X)),
    "selu": ("torch.nn.functional.selu(x)", X, nn.selu(X)),
    "softplus": ("torch.nn.functional.softplus(x, 2)", X, nn.softplus(X, 2)),
    "softshrink": ("torch.nn.functional.softshrink(x, 0.35)", X, nn.softshrink(X, 0.35)),
    "softsign": ("torch.nn.functional.softsign(x)", X, nn.softsign(X)),
    "tanhshrink": ("torch.nn.functional.tanhshrink(x)", X, nn.tanhshrink(X)),
    "threshold": ("torch.nn.functional.threshold(x, 0.1, 20)", X, nn.threshold(X, 0.1, 20)),
    "ulp": ("math.ulp(x)", UNIT, torch.nextafter(UNIT, torch.tensor(math.inf)) - UNIT),
    "where": ("metal.where(x > 0, x, 1)", X, torch.where(X > 0, X, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_formulas_are_torchs(name: str, tmp_path: Path) -> None:
    """The formula of a message, written as the message has it, has the values of the call that is refused."""
    expression, x, expected = FORMULAS[name]
    head = "import numpy\n" + HEAD.replace("'floating'", "torch.float32")
    head += "    condition, input, other = x > 0, x, T(1)\n"  # of an attribute that metal lacks, no arguments are known
    with pytest.raises(PyMetalError) as caught:
        toolbox.load(tmp_path, f"{head}    return {expression}\n")
    (way,) = re.findall("Write `(.*)`", str(caught.value))
    real = f"({way}).real" if name == "polar" else way
    functor = toolbox.load(tmp_path, f"{head}    return T({real})\n").f
    torch.testing.assert_close(functor.reference(x), expected, rtol=2e-6, atol=2e-7)


def test_each_formula_is_tried() -> None:
    assert suggestions.FORMULAS.keys() == FORMULAS.keys()
