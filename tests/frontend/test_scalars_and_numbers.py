"""Numbers that no dtype holds, scalar parameters that cannot be, and dtypes that no body serves are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import toolbox
import torch

from pymetal import PyMetalError

# dtypes=, the parameters after x, the body, and what the message says.
REFUSED = [
    (None, "s: T = 10**5000", "x + s", "PM026: an integer of 16,610 bits does not fit"),
    (None, "", "x + (1 << 10000)", "PM026: an integer of 10,001 bits does not fit"),
    ("integral", "s: T = 0.5", "x + s", "PM026: 0.5 does not fit torch.int64"),
    ("floating", "s: T = 1j", "x + s", "PM026: 1j does not fit torch.float32"),
    ("floating", "s: pymetal.int8 = 200", "x + s", "PM026: 200 does not fit torch.int8"),
    ("floating", "n: Integral = 1", "x + n", "PM007: 'n' is Integral but 'x' is T"),
    ("integral", "", "T(math.nan)", "PM026: nan does not fit torch.int64"),
    ("integral", "", "x + T(-math.inf)", "PM026: -inf does not fit torch.int64"),
    ("integral", "", "T(pymetal.int32(3000000000) + x)", "PM026: 3000000000 does not fit torch.int32"),
]


@pytest.mark.parametrize(("dtypes", "scalar", "body", "message"), REFUSED)
def test_what_no_dtype_holds(dtypes: str | None, scalar: str, body: str, message: str, tmp_path: Path) -> None:
    decorator = f"@pymetal.unary(dtypes={dtypes!r})" if dtypes else "@pymetal.unary"
    parameters = f"x: T, *, {scalar}" if scalar else "x: T"
    with pytest.raises(PyMetalError) as caught:
        toolbox.load(tmp_path, f"{decorator}\ndef f({parameters}) -> T:\n    return {body}\n")
    assert message in str(caught.value)
    assert ".py:" in str(caught.value)


@pytest.mark.host
def test_a_variable_of_python_integers_is_as_wide_as_they_are(tmp_path: Path) -> None:
    text = "@pymetal.unary(dtypes=torch.int64)\ndef f(x: T) -> T:\n    k = {}\n    return x + k\n"
    for number in ("3000000000", "pymetal.int64(3000000000)"):
        assert toolbox.load(tmp_path, text.format(number)).f(torch.tensor([1])).item() == 3000000001


@pytest.mark.host
def test_a_default_that_some_dtype_holds(tmp_path: Path) -> None:
    functor = toolbox.load(tmp_path, "@pymetal.unary\ndef f(x: T, *, s: T = 0.5) -> T:\n    return x + s\n").f
    assert functor(torch.ones(1)).item() == 1.5


@pytest.mark.host
def test_dtypes_without_a_body(tmp_path: Path) -> None:
    text = "@pymetal.unary(dtypes=('floating', 'integral'))\ndef f(x: Floating) -> Floating:\n    return x / 2\n"
    functor = toolbox.load(tmp_path, text).f
    message = r"PM058: dtypes= contains torch\.int64, .*, torch\.int8 but no body of f serves it"
    for use in (lambda: functor(torch.ones(1)), lambda: functor.metal_source, lambda: functor(torch.ones(1).int())):
        with pytest.raises(PyMetalError, match=message):
            use()
    more = "@f.overload\ndef f(x: Integral) -> Integral:\n    return x // 2\n"
    functor = toolbox.load(tmp_path, text + more).f
    assert functor(torch.tensor([5])).item() == 2
    assert functor(torch.tensor([5.0])).item() == 2.5
