"""A refused call names what does it, in the user's words; tables stand in the text or outside, and may be wide."""

from __future__ import annotations

from pathlib import Path

import pytest
import toolbox
import torch

from pymetal import PyMetalError
from pymetal.frontend import suggestions

HEAD = "WIDE = (2**31, 2**40, -(2**63))\nHUGE = (2**63,)\n\n@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n"
# An expression, and what the message and its way out say.
CALLS = {
    "math.cbrt(x)": "Write metal.copysign(metal.pow(abs(x), 1 / 3), x).",
    "math.frexp(x)": "It gives two results; `metal.ilogb` and `metal.ldexp` give them one by one.",
    "math.gcd(x, x)": "PM021: gcd is not defined for torch.float32 operands",
    "torch.ldexp(x, 2)": "Write math.ldexp(x, y).",
    "torch.topk(x, 1)": "'torch.topk' is a function of torch and cannot be called in a functor",
    "torch.special.expi(x)": "PM012: torch.special has no 'expi'; did you mean torch.special.expit?",
    "torch.float32(x)": "Write x.to(torch.float32).",
    "metal.lgamma(x)": "PM012: metal has no 'lgamma'; did you mean math.lgamma?",
    "metal.sigmoid(x)": "PM012: metal has no 'sigmoid'; did you mean torch.sigmoid?",
    "metal.where(x > 0, x, 0)": "Write `a if c else b`.",
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
    "x.any()": "Write x != 0.",
    "x.topk(1)": "PM012: x has no 'topk'\n",
    "torch.nn.functional.softplus(x, beta=2.0)": "Call it as torch.nn.functional.softplus(x).",
    "x.exp(out=x)": "Omit 'out'",
    "torch.nn.functional.mse_loss(x, x, reduction='none')": "Write (a - b) ** 2.",
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


# What `WAYS` of the frontend says, but for loops and words.
WORDS = ("loop", "itself", "outside", "z.", "complex")
NAMES = "xabcdknvy"


@pytest.mark.parametrize("name", [n for n, way in suggestions.WAYS.items() if not any(word in way for word in WORDS)])
def test_ways_out_of_single_functions(name: str, tmp_path: Path) -> None:
    way = suggestions.WAYS[name].strip("`")
    way = way.replace("value * ", "2 * ")
    variables = "".join(f"    {n} = x + {i}\n" for i, n in enumerate(NAMES[1:]) if n != "c")
    body = f"{variables}    c = x > 0\n" if "if c" in way else f"{variables}    c = x * 2\n"
    assert toolbox.load(tmp_path, f"{HEAD}{body}    return T({way})\n").f.functor_source
