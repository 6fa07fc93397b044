"""A refused call names what does it, in the user's words; tables stand in the text or outside, and may be wide."""

from __future__ import annotations

from pathlib import Path

import pytest
import toolbox
import torch

from pymetal import PyMetalError

HEAD = "WIDE = (2**31, 2**40, -(2**63))\nHUGE = (2**63,)\n\n@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n"
# An expression, and what the message and its way out say.
CALLS = {
    "math.floor(x)": "Write metal.floor(x).",
    "math.ceil(x)": "Write metal.ceil(x).",
    "math.trunc(x)": "Write metal.trunc(x).",
    "math.ldexp(x, 2)": "Write metal.ldexp(x, y).",
    "math.gamma(x)": "Write metal.c10.gamma(x).",
    "math.radians(x)": "Write x * (math.pi / 180).",
    "math.gcd(x, x)": "the functions of math that Metal has",
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
    "metal.floor(x)", "metal.ldexp(x, 2)", "metal.c10.gamma(x)", "x * (math.pi / 180)", "round(x * 100) / 100",
    "x - x * metal.rint(x / x)", "metal.copysign(metal.pow(abs(x), 1 / 3), x)",
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
