"""Overloads print in upstream's shapes, compute torch's values, and are refused with both places where they overlap.

The shapes are those of the functors of the same names in PyTorch's Metal sources: for each call operator its condition,
its parameters and its result.
"""

# Overloads have one name, and dtypes are annotations.

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import toolbox
import torch

import pymetal
from examples.aten import load
from pymetal import (
    Complex,
    ComplexOf,
    Floating,
    Functor,
    FunctorTypeError,
    Integral,
    RealOf,
    Signed,
    T,
    Unsigned,
    bfloat16,
    bool_,
    metal,
)

Tensor = torch.Tensor
GALLERY = load()

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")


def shape(functor: Functor) -> list[tuple[str | None, str, str]]:
    """The condition, the parameters and the result of each call operator; a name is `T` in a template only."""
    text = re.sub(r"\s+", " ", functor.functor_source.split("_functor {", 1)[1]).replace("c10::metal::", "")
    pattern = (
        r"(template < ?typename T(?:, enable_if_t<(.*?), bool> = true)? ?> )?inline (\S+) operator\(\)\((.*?)\) \{"
    )
    found = []
    for template, condition, result, parameters in re.findall(pattern, text):
        types = ", ".join(re.sub(r"^const (.*) \w+$", r"\1", p) for p in parameters.split(", "))
        assert template or "T" not in types.split(", ")
        found.append((condition or None, types, result))
    return found


# --- a functor of each shape -----------------------------------------------------------------------------------------


@pymetal.binary(promotion="always_bool")
def lt(a: T, b: T) -> bool:
    return a < b


@pymetal.binary(promotion="int_to_float")
def copysign(a: T, b: T) -> T:
    return metal.copysign(a, b)


@pymetal.binary(promotion="int_to_float")
def logaddexp(a: Floating, b: Floating) -> Floating:
    larger = max(a, b)
    if metal.isinf(a) and a == b:
        return a
    return larger + metal.c10.log1p(metal.precise.exp(-abs(a - b)))


@logaddexp.overload
def logaddexp(a: Integral, b: Integral) -> float:
    return max(a, b) + metal.c10.log1p(metal.precise.exp(-abs(a - b)))


@logaddexp.overload
def logaddexp(a: Complex, b: Complex) -> Complex:
    return a if a.real > b.real else b  # the dominant term


@pymetal.binary(dtypes=("floating", "integral"))
def div_floor(a: T, b: T) -> T:
    if pymetal.is_integral(T):
        if pymetal.is_signed(T):
            return metal.c10.floor_divide(a, b)
        return a // b
    return a // b


@pymetal.binary(promotion="int_to_float")
def xlogy(x: T, y: T) -> T:
    if math.isnan(y):
        return math.nan
    return 0 if x == 0 else x * metal.precise.log(y)


@xlogy.overload
def xlogy(x: bool_, y: bool_) -> float:
    return -math.inf if x and not y else 0


@pymetal.binary(dtypes=(torch.float32, torch.float16))
def make_complex(real: T, imag: T) -> ComplexOf[T]:
    return complex(real, imag)


@pymetal.binary(promotion="always_bool")
def eq(a: T, b: T) -> bool:
    return a == b


@eq.overload
def eq(a: pymetal.complex64, b: pymetal.complex64) -> bool:
    return a.real == b.real and a.imag == b.imag


@eq.overload
def eq(a: pymetal.complex32, b: pymetal.complex32) -> bool:
    return a.real == b.real and a.imag == b.imag


@pymetal.binary
def halfway(a: Floating, b: Floating) -> Floating:
    return Floating((float(a) + float(b)) / 2)


@halfway.overload
def halfway(a: bfloat16, b: bfloat16) -> bfloat16:
    return bfloat16(0.5 * (float(a) + float(b)))


@pymetal.unary(dtypes=("integral", "bool"))
def bitwise_not(x: Integral) -> Integral:
    return ~x


@bitwise_not.overload
def bitwise_not(x: bool_) -> bool_:
    return not x


@pymetal.unary(dtypes="integral")
def magnitude(x: Signed) -> Signed:
    return -x if x < 0 else x


@magnitude.overload
def magnitude(x: Unsigned) -> Unsigned:
    return x


@pymetal.unary(promotion="complex_to_float", dtypes="complex")
def real_part(z: Complex) -> RealOf[Complex]:
    return z.real


FLOAT, WHOLE, SCALAR = "is_floating_point_v<T>", "is_integral_v<T>", "is_scalar_floating_point_v<T>"
COMPLEX = "is_complex_v<T>"


@pytest.mark.parametrize(
    ("functor", "upstream"),
    [
        (lt, [(None, "T, T", "bool")]),
        (copysign, [(FLOAT, "T, T", "T"), (WHOLE, "T, T", "float")]),
        (logaddexp, [(SCALAR, "T, T", "T"), (WHOLE, "T, T", "float"), (COMPLEX, "T, T", "T")]),
        # Upstream's two for integers agree here: `//` of integers is c10's floor_divide.
        (div_floor, [(FLOAT, "T, T", "T"), (WHOLE, "T, T", "T")]),
        (xlogy, [(FLOAT, "T, T", "T"), (WHOLE, "T, T", "float"), (None, "bool, bool", "float")]),
        (make_complex, [(None, "T, T", "vec2type_t<T>")]),
        # Upstream writes the complex one twice, for float2 and half2; bodies that agree are one template here.
        (eq, [("!is_complex_v<T>", "T, T", "bool"), (COMPLEX, "T, T", "bool")]),
        (halfway, [(None, "T, T", "T"), (None, "bfloat, bfloat", "bfloat")]),
        (bitwise_not, [(None, "T", "T"), (None, "bool", "bool")]),
        (magnitude, [(f"{WHOLE} && is_signed_v<T>", "T", "T"), (f"{WHOLE} && !is_signed_v<T>", "T", "T")]),
        (GALLERY["polar"], [(None, "T, T", "vec2type_t<T>")]),
        (GALLERY["asin"], [(SCALAR, "T", "T"), (WHOLE, "T", "float"), (COMPLEX, "T", "T")]),
        (GALLERY["tanh"], [(SCALAR, "T", "T"), (WHOLE, "T", "float"), (COMPLEX, "T", "T")]),
        (GALLERY["expm1"], [(SCALAR, "T", "T"), (WHOLE, "T", "float"), (COMPLEX, "T", "T")]),
        (GALLERY["log1p"], [(SCALAR, "T", "T"), (WHOLE, "T", "float"), (COMPLEX, "T", "T")]),
        (GALLERY["erfinv"], [(FLOAT, "T", "T"), (WHOLE, "T", "float")]),
        (GALLERY["digamma"], [(FLOAT, "T", "T"), (WHOLE, "T", "float")]),
        (GALLERY["chebyshev_polynomial_t"], [(FLOAT, "T, T", "T"), (WHOLE, "T, T", "float")]),
        (GALLERY["div_trunc"], [(FLOAT, "T, T", "T"), (WHOLE, "T, T", "T"), (None, "bool, bool", "bool")]),
        (GALLERY["round_decimals"], [(None, "T, long", "T")]),
    ],
    ids=lambda v: getattr(v, "name", ""),
)  # fmt: skip
def test_shapes(functor: Functor, upstream: list[tuple[str | None, str, str]]) -> None:
    assert shape(functor) == upstream


def _eq(a: Tensor, b: Tensor) -> Tensor:
    if a.dtype is torch.complex32:
        return torch.eq(a.to(torch.complex64), b.to(torch.complex64))
    return torch.eq(a, b)


def _dominant(a: Tensor, b: Tensor) -> Tensor:
    if not a.is_complex():
        return torch.logaddexp(a, b) if a.is_floating_point() else torch.logaddexp(a.float(), b.float())
    wide_a, wide_b = a.to(torch.complex64), b.to(torch.complex64)
    return torch.where(wide_a.real > wide_b.real, wide_a, wide_b).to(a.dtype)


VALUES = [
    (lt, torch.lt, 0), (copysign, torch.copysign, 0), (logaddexp, _dominant, 4), (xlogy, torch.xlogy, 1),
    (div_floor, lambda a, b: torch.div(a, b, rounding_mode="floor"), 0), (eq, _eq, 0),
    (make_complex, lambda a, b: torch.complex(a, b) if a.dtype is torch.float32 else
     torch.complex(a.float(), b.float()).to(torch.complex32), 0),
    (halfway, lambda a, b: ((a.float() + b.float()) / 2).to(a.dtype), 0), (bitwise_not, torch.bitwise_not, 0),
    (magnitude, torch.abs, 0), (real_part, lambda z: z.to(torch.complex64).real.to(z.dtype.to_real()), 0),
]  # fmt: skip


def operands(dtype: torch.dtype, functor: Functor) -> list[Tensor]:
    arity = functor.arity.inputs
    if dtype.is_complex:
        part = {torch.complex64: torch.float32, torch.complex32: torch.float16}[dtype]
        real, imag = toolbox.operands(part, 2, 50)
        real, imag = real.nan_to_num(0).float(), imag.nan_to_num(0).float()
        z = torch.complex(real, imag)
        return [z.to(dtype), z.flip(0).to(dtype)][:arity]
    inputs = toolbox.operands(dtype, arity, 100)
    if functor is div_floor and not dtype.is_floating_point:  # torch raises, and traps
        a, b = inputs
        kept = (b != 0) & ~((b == -1) & (a == torch.iinfo(dtype).min))
        return [a[kept], b[kept]]
    if functor is div_floor:
        # torch itself is not exact where the divisor is subnormal, nor for half, which it computes step by step.
        return [t.float() for t in inputs] if dtype is torch.float32 else [(t * 0 + 3) for t in inputs]
    if functor is logaddexp:
        return [t.clamp(0, 50) if t.dtype is not torch.bool else t for t in inputs]
    return inputs


@pytest.mark.host
@pytest.mark.parametrize(("functor", "theirs", "ulp"), VALUES, ids=lambda v: getattr(v, "name", ""))
def test_values(functor: Functor, theirs: Callable[..., torch.Tensor], ulp: int) -> None:
    """Each overload computes what torch does, in every dtype that is registered."""
    runs = [operands(d.torch, functor) for d in functor.ir.domain]
    with toolbox.batch("ieee"):
        for inputs in runs:
            functor.jit_source(*inputs)
        for inputs in runs:
            wanted = theirs(*inputs)
            normal = torch.ones(wanted.shape, dtype=torch.bool)
            if functor is div_floor and inputs[1].dtype is torch.float32:
                normal = (inputs[1].abs() >= torch.finfo(torch.float32).tiny) | (inputs[1] == 0)
            for result in (functor(*inputs), functor.reference(*inputs)):
                if result.is_complex():
                    result, expected = result.to(torch.complex64), wanted.to(torch.complex64)
                    for part in ("real", "imag"):
                        toolbox.assert_equal(getattr(result, part), getattr(expected, part), inputs, ulp)
                else:
                    toolbox.assert_equal(result[normal], wanted[normal], [t[normal] for t in inputs], ulp)


# --- refusals --------------------------------------------------------------------------------------------------------


def test_overlapping_bodies_name_both_places(tmp_path: Path) -> None:
    text = (
        "@pymetal.unary\ndef f(x: Floating) -> Floating:\n    return x\n\n\n"
        "@f.overload\ndef f(x: Floating) -> Floating:\n    return -x\n"
    )
    with pytest.raises(FunctorTypeError) as caught:
        toolbox.load(tmp_path, text)
    first = 1 + len(toolbox.PRELUDE.splitlines())
    assert caught.value.span is not None
    assert caught.value.span.line == first + 6
    assert re.search(rf"written_\d+\.py:{first + 1}:1\b", caught.value.message)


def test_a_body_for_a_part(tmp_path: Path) -> None:
    """Integral is a part of Real: the narrower one serves."""
    text = (
        "@pymetal.unary(dtypes=('floating', 'integral'))\ndef f(x: pymetal.Real) -> pymetal.Real:\n    return x\n\n\n"
        "@f.overload\ndef f(x: Integral) -> Integral:\n    return x + 1\n"
    )
    functor = toolbox.load(tmp_path, text).f
    assert functor.reference(torch.tensor([1.0])).tolist() == [1.0]
    assert functor.reference(torch.tensor([1])).tolist() == [2]


def test_an_overload_that_serves_no_dtype_is_refused(tmp_path: Path) -> None:
    text = (
        "@pymetal.unary(dtypes='integral')\ndef f(x: T) -> T:\n    return x\n\n\n"
        "@f.overload\ndef f(x: Floating) -> Floating:\n    return -x\n"
    )
    with pytest.raises(FunctorTypeError, match="PM008: Floating admits none of the dtypes") as caught:
        toolbox.load(tmp_path, text)
    assert caught.value.span is not None
    assert caught.value.span.text.startswith("def f(x: Floating)")


def test_a_missing_body_is_refused_with_the_place_of_the_call(tmp_path: Path) -> None:
    text = (
        "@pymetal.func\ndef g(x: Floating) -> Floating:\n    return x / 2\n\n\n"
        "@pymetal.unary(dtypes='integral')\ndef f(x: T) -> T:\n    return g(x)\n"
    )
    with pytest.raises(FunctorTypeError, match=r"g has no body for torch.int64") as caught:
        toolbox.load(tmp_path, text)
    assert "torch.float32, torch.float16, torch.bfloat16" in str(caught.value)
    assert caught.value.span is not None
    assert caught.value.span.text == "    return g(x)"


@pytest.mark.host
def test_the_narrowest_body_serves(tmp_path: Path) -> None:
    text = (
        "@pymetal.unary(dtypes=('floating', 'integral', 'bool'))\ndef f(x: T) -> T:\n    return x\n\n\n"
        "@f.overload\ndef f(x: Integral) -> Integral:\n    return T(2)\n\n\n"
        "@f.overload\ndef f(x: pymetal.int8) -> pymetal.int8:\n    return pymetal.int8(3)\n"
    )
    functor = toolbox.load(tmp_path, text).f
    for dtype, wanted in ((torch.float32, 1), (torch.int64, 2), (torch.uint8, 2), (torch.int8, 3), (torch.bool, True)):
        x = torch.ones(1, dtype=dtype)
        assert functor(x).tolist() == [wanted]
        assert functor.reference(x).tolist() == [wanted]


@pytest.mark.host
def test_a_helper_serves_the_dtypes_at_which_what_it_calls_does(tmp_path: Path) -> None:
    """A group of dtypes that does not type-check as a whole may do so in part."""
    text = (
        "@pymetal.unary(dtypes='integral')\ndef g(x: T) -> T:\n    return x + 1\n\n\n"
        "@pymetal.func\ndef h(x: T) -> T:\n    return g(x)\n\n\n"
        "@pymetal.unary(dtypes=torch.uint8)\ndef f(x: T) -> T:\n    return h(x)\n"
    )
    functor = toolbox.load(tmp_path, text).f
    assert functor(torch.tensor([1], dtype=torch.uint8)).tolist() == [2]


@pytest.mark.host
def test_a_number_beside_real_and_complex_elements(tmp_path: Path) -> None:
    """`T(3)` of a real type is `T(3, 0)` of a complex one: two texts, of helpers too."""
    text = (
        "@pymetal.func\ndef h(x: T) -> T:\n    return x + 3\n\n\n"
        "@pymetal.unary(dtypes=('floating', 'integral', 'complex'))\ndef f(x: T) -> T:\n    return h(x) * 2 - 1\n"
    )
    functor = toolbox.load(tmp_path, text).f
    for x in (torch.tensor([1.0]), torch.tensor([1], dtype=torch.int8), torch.tensor([1 + 2j])):
        wanted = ((x + 3) * 2 - 1).tolist()
        assert functor(x).tolist() == wanted
        assert functor.reference(x).tolist() == wanted
