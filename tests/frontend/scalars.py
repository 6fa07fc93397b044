"""Python's own reading of a body: numbers of an element type that Python itself computes with, one at a time.

An undecorated body is executed by Python on `Number`s, so that branches, loops, early returns and short circuits are
Python's. Integers are Python integers wrapped to their width, floats are Python floats rounded after each operation:
nothing here shares code with pymetal or with torch's operators. Only the promotion table is torch's, and what has no
value in Python (division by zero, negative shifts) is what docs/language.md says.
"""

from __future__ import annotations

import functools
import math
import operator
import struct
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

FLOATS = ("float32", "float16", "bfloat16")
BITS = {
    "int64": 64, "int32": 32, "int16": 16, "int8": 8, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64,
}  # fmt: skip


def _signed(dtype: str) -> bool:
    return dtype.startswith("i")


def wrap(value: int, dtype: str) -> int:
    """An integer modulo the width of its type."""
    bits = BITS[dtype]
    value &= (1 << bits) - 1
    return value - (1 << bits) if _signed(dtype) and value >> (bits - 1) else value


def rounded(value: float, dtype: str) -> float:
    """A double rounded to a float type; of an operation on two floats of that type, that is as one rounding."""
    with np.errstate(all="ignore"):
        if dtype == "float16":
            return float(np.float16(value))
        single = np.float32(value)
        if dtype == "float32" or not np.isfinite(single):
            return float(single)
        bits = int(single.view(np.uint32))
        bits += 0x7FFF + (bits >> 16 & 1)
        return float(np.uint32(bits & 0xFFFF0000).view(np.float32))


@functools.cache
def promote(a: str, b: str) -> str:
    """The type in which two meet."""
    return str(torch.promote_types(getattr(torch, a), getattr(torch, b))).removeprefix("torch.")


def _meet(a: Number, b: object) -> tuple[Number, Number]:
    """Both operands in the type in which they meet; a Python number gives way."""
    if isinstance(b, Number):
        dtype = promote(a.dtype, b.dtype)
    elif isinstance(b, bool):
        dtype = promote(a.dtype, "bool")
    elif isinstance(b, int):
        dtype = "int64" if a.dtype == "bool" else a.dtype
    else:
        dtype = a.dtype if a.dtype in FLOATS else "float32"
    return cast(a, dtype), cast(b, dtype)


def cast(value: object, dtype: str) -> Number:
    """A conversion; a Python float is a float32 literal first."""
    raw: Any = value.value if isinstance(value, Number) else value
    if dtype == "bool":
        return Number(bool(raw != 0), dtype)
    if dtype not in FLOATS:
        return Number(wrap(int(raw), dtype), dtype)
    if isinstance(raw, int) and not isinstance(raw, bool):
        single = float(np.array(raw, dtype=np.int64).astype(np.float32))  # one rounding
        return Number(rounded(single, dtype), dtype)
    single = float(raw) if isinstance(value, Number) else rounded(float(raw), "float32")
    return Number(rounded(single, dtype), dtype)


def _swapped(function: Callable[[Number, Any], Any]) -> Callable[[Number, Any], Any]:
    def swapped(self: Number, other: object) -> Any:
        a, b = _meet(self, other)
        return function(b, a)

    return swapped


def _arithmetic(exact: Callable[[Any, Any], Any]) -> Callable[[Number, Any], Any]:
    """+, - and *: exact, then wrapped or rounded."""

    def apply(self: Number, other: object) -> Any:
        if isinstance(other, Complex | complex):
            return (
                NotImplemented
                if isinstance(other, Complex)
                else exact(Complex.of(self, _COMPLEX_OF[self.dtype]), other)
            )
        a, b = _meet(self, other)
        if a.dtype == "bool":
            return Number(bool(exact(a.value, b.value)), "bool")
        if a.dtype in FLOATS:
            return Number(rounded(exact(a.value, b.value), a.dtype), a.dtype)
        return Number(wrap(exact(a.value, b.value), a.dtype), a.dtype)

    return apply


def _divide(self: Number, other: object) -> Number:
    a, b = _meet(self, other)
    if a.dtype not in FLOATS:
        a, b = cast(a, "float32"), cast(b, "float32")
    with np.errstate(all="ignore"):
        return Number(rounded(float(np.float64(a.value) / np.float64(b.value)), a.dtype), a.dtype)


def _floor_divide(self: Number, other: object) -> Number:
    a, b = _meet(self, other)
    if a.dtype not in FLOATS:
        value = a.value // b.value if b.value else -(a.value < 0)
        return Number(wrap(value, a.dtype), a.dtype)
    with np.errstate(all="ignore"):
        return Number(rounded(float(np.float32(a.value) // np.float32(b.value)), a.dtype), a.dtype)


def _remainder(self: Number, other: object) -> Number:
    a, b = _meet(self, other)
    if a.dtype not in FLOATS:
        return Number(wrap(a.value % b.value if b.value else a.value, a.dtype), a.dtype)
    with np.errstate(all="ignore"):
        return Number(rounded(float(np.float32(a.value) % np.float32(b.value)), a.dtype), a.dtype)


def _power(self: Number, other: object) -> Number:
    a, b = _meet(self, other)
    if a.dtype in FLOATS:
        assert not isinstance(other, Number), "only the exponents whose powers are exact products"
        powers: dict[object, Callable[[], Number]] = {
            0: lambda: cast(1, a.dtype), 1: lambda: a, 2: lambda: a * a, 3: lambda: a * a * a, -1: lambda: 1 / a,
        }  # fmt: skip
        return powers[other]()
    if b.value >= 0:
        return Number(wrap(pow(a.value, b.value, 1 << 64), a.dtype), a.dtype)
    unit = a.value if b.value % 2 else 1
    return Number(unit if a.value in (1, -1) else 0, a.dtype)


def _shift_left(self: Number, other: object) -> Number:
    a, b = _meet(self, other)
    return Number(wrap(a.value << b.value, a.dtype) if 0 <= b.value < BITS[a.dtype] else 0, a.dtype)


def _shift_right(self: Number, other: object) -> Number:
    a, b = _meet(self, other)
    return Number(a.value >> (b.value if 0 <= b.value < BITS[a.dtype] else BITS[a.dtype]), a.dtype)


def _bits(function: Callable[[Any, Any], Any]) -> Callable[[Number, Any], Number]:
    def apply(self: Number, other: object) -> Number:
        a, b = _meet(self, other)
        return Number(function(a.value, b.value), a.dtype)

    return apply


def _compare(function: Callable[[Any, Any], bool]) -> Callable[[Number, Any], Any]:
    def apply(self: Number, other: object) -> Any:
        a, b = _meet(self, other)
        return Number(function(a.value, b.value), "bool")

    return apply


class Number:
    """A number of an element type."""

    __slots__ = ("dtype", "value")

    def __init__(self, value: Any, dtype: str) -> None:
        self.value = value
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"{self.dtype}({self.value!r})"

    __add__ = _arithmetic(operator.add)
    __sub__ = _arithmetic(operator.sub)
    __mul__ = _arithmetic(operator.mul)
    __truediv__ = _divide
    __floordiv__ = _floor_divide
    __mod__ = _remainder
    __pow__ = _power
    __lshift__ = _shift_left
    __rshift__ = _shift_right
    __and__ = _bits(operator.and_)
    __or__ = _bits(operator.or_)
    __xor__ = _bits(operator.xor)
    __radd__, __rsub__, __rmul__ = _swapped(__add__), _swapped(__sub__), _swapped(__mul__)
    __rtruediv__, __rfloordiv__, __rmod__ = _swapped(__truediv__), _swapped(__floordiv__), _swapped(__mod__)
    __rpow__, __rlshift__, __rrshift__ = _swapped(__pow__), _swapped(__lshift__), _swapped(__rshift__)
    __rand__, __ror__, __rxor__ = _swapped(__and__), _swapped(__or__), _swapped(__xor__)
    __eq__ = _compare(operator.eq)
    __ne__ = _compare(operator.ne)
    __lt__, __le__ = _compare(operator.lt), _compare(operator.le)
    __gt__, __ge__ = _compare(operator.gt), _compare(operator.ge)
    __hash__ = None  # type: ignore[assignment]

    def __divmod__(self, other: object) -> tuple[Number, Number]:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> tuple[Number, Number]:
        return other // self, other % self

    def __neg__(self) -> Number:
        return (
            Number(-self.value, self.dtype)
            if self.dtype in FLOATS
            else Number(wrap(-self.value, self.dtype), self.dtype)
        )

    def __pos__(self) -> Number:
        return self

    def __invert__(self) -> Number:
        value = not self.value if self.dtype == "bool" else wrap(~self.value, self.dtype)
        return Number(value, self.dtype)

    def __abs__(self) -> Number:
        value = abs(self.value)
        return Number(value if self.dtype in FLOATS else wrap(value, self.dtype), self.dtype)

    def __round__(self) -> Number:
        if self.dtype not in FLOATS or not math.isfinite(self.value):
            return self
        return Number(math.copysign(float(round(self.value)), self.value), self.dtype)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        assert self.dtype not in FLOATS
        return int(self.value)

    @property
    def real(self) -> Number:
        return self

    @property
    def imag(self) -> Number:
        return cast(0, self.dtype)


# --- complex numbers -------------------------------------------------------------------------------------------------

_PARTS = {"complex64": "float32", "complex32": "float16"}
_COMPLEX_OF = {part: whole for whole, part in _PARTS.items()}


class Complex:
    """A complex number of a type.

    Implementations multiply complex numbers in their own ways, and agree where no product is rounded: `rounding` counts
    how often one was.
    """

    __slots__ = ("dtype", "value")
    rounding = 0

    def __init__(self, value: complex, dtype: str) -> None:
        part = _PARTS[dtype]
        self.value = complex(rounded(value.real, part), rounded(value.imag, part))
        self.dtype = dtype
        Complex.rounding += self.value != value

    @staticmethod
    def of(value: Any, dtype: str) -> Complex:
        """A number of any sort as a complex one."""
        if isinstance(value, Complex):
            return Complex(value.value, dtype)
        return Complex(complex(value.value if isinstance(value, Number) else value), dtype)

    @staticmethod
    def _operation(function: Callable[[complex, complex], Any]) -> Callable[[Complex, Any], Any]:
        def apply(self: Complex, other: Any) -> Any:
            b = Complex.of(other, self.dtype)
            return Complex(function(self.value, b.value), self.dtype)

        return apply

    __add__ = __radd__ = _operation(operator.add)
    __sub__ = _operation(operator.sub)
    __rsub__ = _operation(lambda a, b: b - a)

    def __mul__(self, other: Any) -> Complex:
        a, b = self.value, Complex.of(other, self.dtype).value
        products = (a.real * b.real, a.imag * b.imag, a.real * b.imag, a.imag * b.real)
        Complex.rounding += any(rounded(p, _PARTS[self.dtype]) != p for p in products)
        return Complex(a * b, self.dtype)

    __rmul__ = __mul__
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        return Number(self.value == Complex.of(other, self.dtype).value, "bool")

    def __ne__(self, other: object) -> Any:
        return Number(self.value != Complex.of(other, self.dtype).value, "bool")

    def __neg__(self) -> Complex:
        return Complex(-self.value, self.dtype)

    def __pos__(self) -> Complex:
        return self

    def __bool__(self) -> bool:
        return bool(self.value)

    def __pow__(self, exponent: int) -> Complex:
        return {2: lambda: self * self, 3: lambda: self * self * self}[exponent]()

    def conjugate(self) -> Complex:
        return Complex(self.value.conjugate(), self.dtype)

    @property
    def real(self) -> Number:
        return Number(self.value.real, _PARTS[self.dtype])

    @property
    def imag(self) -> Number:
        return Number(self.value.imag, _PARTS[self.dtype])


def _complex(re: Any, im: Any) -> Complex:
    part = next(x.dtype for x in (re, im) if isinstance(x, Number))
    re, im = cast(re, part), cast(im, part)
    return Complex(complex(re.value, im.value), _COMPLEX_OF[part])


# --- functions -------------------------------------------------------------------------------------------------------


def _extreme(worse: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """min and max: a NaN is the result."""

    def apply(*numbers: Any) -> Any:
        numbers = numbers if len(numbers) > 1 else tuple(numbers[0])
        result = numbers[0]
        for number in numbers[1:]:
            if not isinstance(result, Number) and not isinstance(number, Number):
                result = number if worse(result, number) else result
                continue
            a, b = _meet(result, number) if isinstance(result, Number) else reversed(_meet(number, result))
            result = a if a.value != a.value or not (b.value != b.value or worse(a.value, b.value)) else b
        return result

    return apply


def _rounding(function: Callable[[float], int]) -> Callable[[Number], Number]:
    def apply(x: Number) -> Number:
        if not math.isfinite(x.value):
            return x
        return Number(math.copysign(float(function(x.value)), x.value), x.dtype)

    return apply


def _sign(x: Number) -> Number:
    if x.value != x.value:
        return Number(0.0, x.dtype)
    return x if x.value == 0 else Number(math.copysign(1.0, x.value), x.dtype)


def _clamp(x: Number, low: object, high: object) -> Number:
    a, b = _meet(x, low)
    b, c = _meet(b, high)
    a, c = _meet(a, c)
    lower, upper = cast(b, a.dtype).value, c.value
    return Number(min(max(a.value, lower), upper), a.dtype)


def _copysign(x: Number, y: Any) -> Number:
    a, b = _meet(x, y)
    return Number(math.copysign(a.value, b.value), a.dtype)


def _ignoring_nan(better: Callable[[Any, Any], bool]) -> Callable[[Number, Any], Number]:
    def apply(x: Number, y: Any) -> Number:
        a, b = _meet(x, y)
        if a.value != a.value:
            return b
        return b if b.value == b.value and better(b.value, a.value) else a

    return apply


def _as_type(x: Number, target: Any) -> Number:
    codes = {"float32": "<f", "int32": "<i", "uint32": "<I"}
    (value,) = struct.unpack(codes[target.dtype], struct.pack(codes[x.dtype], x.value))
    return Number(value, target.dtype)


def _polevl(x: Number, coefficients: tuple[Any, ...]) -> Number | Complex:
    result: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result if isinstance(result, Number | Complex) else cast(result, x.dtype)


class Type:
    """A type as a body calls it, to cast."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def __call__(self, value: object) -> Any:
        return Complex.of(value, self.dtype) if self.dtype in _PARTS else cast(value, self.dtype)


def names(dtype: str) -> dict[str, Any]:
    """What a body reaches when the element type is `dtype`."""
    integral = dtype not in FLOATS and dtype not in _PARTS
    facts = {
        "is_integral": integral, "is_floating": dtype in FLOATS, "is_bool": dtype == "bool",
        "is_complex": dtype in _PARTS, "is_signed": dtype in FLOATS or dtype.startswith("i"),
    }  # fmt: skip
    types_ = {n: Type(n) for n in (*BITS, *FLOATS)} | {"bool_": Type("bool")}
    pymetal = types.SimpleNamespace(
        **types_, **{n: lambda _, v=v: v for n, v in facts.items()}, static_range=range, func=lambda f: f,
        binary=lambda **_: lambda f: f,
    )  # fmt: skip
    metal = types.SimpleNamespace(
        fabs=abs, floor=_rounding(math.floor), ceil=_rounding(math.ceil), trunc=_rounding(math.trunc),
        rint=lambda x: round(x), sign=_sign, clamp=_clamp, copysign=_copysign, as_type=_as_type, polevl=_polevl,
        conj=lambda z: z.conjugate(), fmin=_ignoring_nan(operator.lt), fmax=_ignoring_nan(operator.gt),
        isnan=lambda x: Number(x.value != x.value, "bool"), isinf=lambda x: Number(math.isinf(x.value), "bool"),
        isfinite=lambda x: Number(math.isfinite(x.value), "bool"),
    )  # fmt: skip
    return {
        "T": Type(dtype), "pymetal": pymetal, "metal": metal, "math": math, "float": Type("float32"),
        "bool": Type("bool"), "complex": _complex, "min": _extreme(operator.gt), "max": _extreme(operator.lt),
    }  # fmt: skip


def numbers(tensor: torch.Tensor) -> list[Any]:
    """The elements of a tensor."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    if tensor.is_complex():
        return [Complex(value, dtype) for value in tensor.to(torch.complex64).tolist()]
    return [Number(value, dtype) for value in tensor.tolist()]


def tensor(values: list[Any], dtype: torch.dtype) -> torch.Tensor:
    """The tensor of numbers that a body returned: all of `dtype`, or Python numbers that give way to it."""
    name = str(dtype).removeprefix("torch.")
    if dtype.is_complex:
        return torch.tensor([Complex.of(v, name).value for v in values], dtype=torch.complex64).to(dtype)
    raw = [v.value if isinstance(v, Number) and v.dtype == name else cast(v, name).value for v in values]
    return torch.tensor(raw, dtype=torch.float64 if dtype.is_floating_point else None).to(dtype)
