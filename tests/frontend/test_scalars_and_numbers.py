"""Numbers that no dtype holds, scalar parameters that cannot be, and dtypes that no body serves are refused."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy
import pytest
import toolbox
import torch

import pymetal
from pymetal import PyMetalError
from pymetal import dtypes as dtypes_
from pymetal.dtypes import parse_dtypes

# dtypes=, the parameters after x, the body, and what the message says.
REFUSED = [
    (None, "s: T = 10**5000", "x + s", "PM026: an integer of 16,610 bits does not fit"),
    (None, "", "x + (1 << 10000)", "PM026: an integer of 10,001 bits does not fit"),
    ("integral", "s: T = 0.5", "x + s", "PM026: 0.5 does not fit torch.int64"),
    ("integral", "n: int = 0.5", "x + n", "PM026: 0.5 does not fit torch.int64"),
    ("integral", "n: int = 2**63", "x + n", "PM026: 9223372036854775808 does not fit torch.int64"),
    ("floating", "s: float = 1j", "x + s", "PM026: 1j does not fit torch.float32"),
    ("floating", "s: T = None", "x + s", "PM009: default None of 's' is not a number"),
    ("floating", "s: T = numpy.str_('a')", "x + s", "of 's' is not a number"),
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
    for star in ("*, ", ""):
        parameters = f"x: T, {star}{scalar}" if scalar else "x: T"
        with pytest.raises(PyMetalError) as caught:
            toolbox.load(tmp_path, f"import numpy\n{decorator}\ndef f({parameters}) -> T:\n    return {body}\n")
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


# --- which parameters are scalars ------------------------------------------------------------------------------------

# The decorator and the parameters, and how inspect shows what the functor takes; or the refusal.
SIGNATURES = [
    ("unary", "x: T, slope: float", "x, slope"),
    ("unary", "x: T, slope: T = 1", "x, slope=1"),
    ("unary", "x: T, n: int, flag: 'bool' = True", "x, n, flag=True"),
    ("unary", "x: T, /, n: int, *, s: T", "x, /, n, *, s"),
    ("unary", "x: T, n: int = 1, /, s: float = 2", "x, n=1, /, s=2"),
    ("binary", "a: T, b: T, n: pymetal.int8 = 3", "a, b, n=3"),
    ("ternary", "a: T, b: T, c: T, s: float = numpy.float32(0.5)", "a, b, c, s=0.5"),
    ("unary", "x: T, n: int = numpy.int8(3), f: bool = numpy.bool_(True)", "x, n=3, f=True"),
    ("unary", "x: float, s: float", "x, s"),
    ("unary", "größe: T, self: float = 1", "größe, self=1"),
    ("binary", "a: float, b: float", "a, b"),
    ("unary", "x: T, y: T", "PM003: @pymetal.unary takes a function with 1 tensor parameter but f has 2"),
    ("unary", "x: T, n: int, y: T", "PM003: @pymetal.unary takes a function with 1 tensor parameter but f has 3"),
    ("unary", "x: T, n: pymetal.int32", "PM003"),
    ("unary", "x: T = 1", "PM005: tensor parameter 'x' has a default"),
    ("binary", "a: T, b: T = 1", "Write `b: T`, or use @pymetal.unary, where it is a scalar."),
    ("binary", "a: T, b: float = 1", "PM005: tensor parameter 'b' has a default"),
    ("binary", "a: T, b: float", "PM007: 'b' is float but 'a' is T"),
    ("unary", "x: int", "PM020"),
    ("unary", "x: T, s=1j", "PM001"),
]


@pytest.mark.parametrize(("decorator", "parameters", "found"), SIGNATURES)
def test_scalars_of_a_signature(decorator: str, parameters: str, found: str, tmp_path: Path) -> None:
    first = parameters.partition(":")[0]
    result = "float" if "float" in parameters.partition(",")[0] else "T"
    text = f"import numpy\n@pymetal.{decorator}\ndef f({parameters}) -> {result}:\n    return {first}\n"
    if "PM" not in found and "Write" not in found:
        assert str(inspect.signature(toolbox.load(tmp_path, text).f.caller.takes)) == f"({found})"
        return
    with pytest.raises(PyMetalError) as caught:
        toolbox.load(tmp_path, text)
    assert found in str(caught.value)


SCALARS = """
@pymetal.func
def stretched(x: T, n: int, by: T = 2) -> T:
    return x * n + by

@pymetal.unary(dtypes=("floating", "integral"))
def integer(x: T, n: int, times: int = 2) -> T:
    k = n
    for i in range(times):
        k += i
    if x < n:
        n = n - 1
    return stretched(x, k) + stretched(x, n=n, by=1) + stretched(x, 3, 4)

@pymetal.unary(dtypes=("floating", "integral"))
def leaky(x: T, slope: float = 0.25, flip: bool = False) -> pymetal.float32:
    y = x if x > 0 else slope * x
    return -y if flip else y

@pymetal.unary
def above(x: T, bound: T = 1) -> bool:
    return x > bound

@pymetal.unary(dtypes=("floating", "integral"))
def positive(x: T) -> pymetal.bool_:
    return x > 0
"""


@pytest.mark.host
def test_scalars_of_numbers_types(tmp_path: Path) -> None:
    """An int never widens the tensor; a float is a float32; both as torch computes with the Python number."""
    module = toolbox.load(tmp_path, SCALARS)
    dtypes = (*toolbox.FLOATS, *toolbox.INTEGERS)
    inputs = {d: toolbox.edges(d) for d in dtypes}
    with toolbox.batch("ieee"):
        for x in inputs.values():
            module.integer.jit_source(x, 1)
            module.leaky.jit_source(x)
            module.above.jit_source(x)
        for dtype, x in inputs.items():
            for n in (3, -7, 300, 2**40):
                got = module.integer(x, n)
                toolbox.assert_equal(got, module.integer.reference(x, n=n))
                if dtype in toolbox.INTEGERS:
                    assert got.tolist() == [_wrapped(v, n, torch.iinfo(dtype)) for v in x.tolist()]
                    assert got.dtype is dtype
                else:  # a number next to a half is rounded to one first
                    k, m = torch.tensor(n + 1).to(dtype), torch.where(x < torch.tensor(n).to(dtype), n - 1, n).to(dtype)
                    toolbox.assert_equal(got, (x * k + 2) + (x * m + 1) + (x * 3 + 4))
            for slope, flip in ((0.25, False), (0.1, True), (float("inf"), False), (float("nan"), True)):
                y = torch.where(x > 0, x, torch.tensor(slope, dtype=torch.float32) * x.float())
                toolbox.assert_equal(module.leaky(x, slope, flip), -y.float() if flip else y.float())
                toolbox.assert_equal(
                    module.leaky.reference(x, slope=slope, flip=flip), -y.float() if flip else y.float()
                )
            assert torch.equal(module.above(x, 2), x > 2)
            assert module.above(x).dtype is torch.bool


def _wrapped(x: int, n: int, info: torch.iinfo) -> int:
    m = n - 1 if x < n else n
    value = (x * (n + 1) + 2) + (x * m + 1) + (x * 3 + 4)
    span = info.max - info.min + 1
    return (value - info.min) % span + info.min


def test_a_bool_result_is_a_promotion(tmp_path: Path) -> None:
    module = toolbox.load(tmp_path, SCALARS)
    assert module.above.promotion.name == module.positive.promotion.name == "always_bool"
    assert module.leaky.promotion.name == "default"
    logic = toolbox.load(tmp_path, "@pymetal.unary\ndef f(x: bool) -> bool:\n    return not x\n").f
    assert logic.promotion.name == "default"
    text = "@pymetal.unary(promotion='no_opmath')\ndef f(x: T) -> bool:\n    return x > 0\n"
    with pytest.raises(PyMetalError, match="PM010: promotion='no_opmath' gives"):
        toolbox.load(tmp_path, text)


def test_calls_of_helpers_bind_as_python_does(tmp_path: Path) -> None:
    helper = "@pymetal.func\ndef h(x: T, n: int = 1, *, s: T = 2) -> T:\n    return x * n + s\n"
    for call, message in (
        ("h(x, 1, 2)", "PM017: h takes 2 arguments but 3 were given"),
        ("h(x, 1, n=2)", "PM017: h takes one argument 'n' but two were given"),
        ("h(x, t=2)", "PM017: h takes no argument 't' but it was given"),
        ("h(n=2)", "PM017: h takes 1 argument but 0 were given"),
        ("h(x, 0.5)", "PM043: h takes torch.int64 here but this is Python float"),
        ("h(x, **x)", "PM018"),
    ):
        with pytest.raises(PyMetalError) as caught:
            toolbox.load(tmp_path, f"{helper}@pymetal.unary\ndef f(x: T) -> T:\n    return {call}\n")
        assert message in str(caught.value)
    text = "@pymetal.unary\ndef f(x: T) -> T:\n    return h(x) + h(n=3, x=x) + h(x, 4, s=5)\n"
    assert toolbox.load(tmp_path, helper + text).f.reference(torch.ones(1)).item() == 3 + 5 + 9


# --- dtypes= ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    ["float32", "torch.float32", "pymetal.float32", "float", torch.float32, pymetal.float32, numpy.float32,
     numpy.dtype("float32")],
)  # fmt: skip
def test_every_name_of_a_dtype(spec: object) -> None:
    assert parse_dtypes(spec) == (dtypes_.float32,)
    assert parse_dtypes([spec, "bool", "torch.half"]) == (dtypes_.float32, dtypes_.float16, dtypes_.bool_)


def test_numpy_s_bool_and_integers() -> None:
    assert parse_dtypes((numpy.bool_, numpy.int8, "long")) == (dtypes_.int64, dtypes_.int8, dtypes_.bool_)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("float23", "dtypes= does not take 'float23'; did you mean 'float32'?"),
        ("torch.flaot16", "dtypes= does not take 'torch.flaot16'; did you mean 'float16'?"),
        ("torch.float64", "dtypes= does not take 'torch.float64'"),
        (numpy.float64, "dtypes= does not take <class 'numpy.float64'>"),
        (torch.complex128, "dtypes= does not take torch.complex128"),
        ("abs", "dtypes= does not take 'abs'"),
        (3, "dtypes= does not take 3"),
        ((), "dtypes= is empty"),
    ],
)
def test_no_dtype(spec: object, message: str) -> None:
    with pytest.raises(PyMetalError) as caught:
        parse_dtypes(spec)
    assert str(caught.value).startswith(message)
