"""The element types: their names in Python, torch and Metal, and which of them belong together."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from pymetal.errors import PyMetalError, nearest


class Kind(enum.Enum):
    """What sort of number a dtype holds. The order is torch's promotion order."""

    BOOL = "bool"
    UNSIGNED = "unsigned"
    SIGNED = "signed"
    FLOATING = "floating"
    COMPLEX = "complex"


INTEGRAL = frozenset({Kind.BOOL, Kind.UNSIGNED, Kind.SIGNED})
REAL = INTEGRAL | {Kind.FLOATING}
NUMERIC = frozenset(Kind) - {Kind.BOOL}
ANY = frozenset(Kind)


@dataclass(frozen=True)
class DType:
    """One element type, and everything that is known of it by name. Calling it casts, in a body and on a tensor."""

    name: str  # pymetal's and torch's name, but for `bool_`
    metal: str  # as Metal and the REGISTER macros spell it; "" where Metal has no such type
    kind: Kind
    bits: int
    aten: str  # c10::ScalarType's name of it, without the k
    scalar_type: int  # its number there
    cpp: str = ""  # as host code spells a member of a parameter struct; "" where upstream passes none
    cast: str | None = None  # of `compile_shader`'s arg_casts, for a Python number; None: bound as int64 or float32
    # Other dtypes by name.
    opmath: str = ""  # c10::metal::opmath_t, where it is another one: half2 widens from torch 2.13 on
    complex: str = ""  # with parts of this type, or of the next wider one that torch has
    real: str = ""  # of the parts
    double: str = ""  # at double precision

    # Two dtypes are equal if their names are; the generated hash would mix four fields on every look-up.
    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def is_half(self) -> bool:
        """True for the two floats of 16 bits, for which kernels compute in float."""
        return self.kind is Kind.FLOATING and self.bits == 16

    @property
    def limits(self) -> tuple[int, int]:
        """The lowest and the highest value of an integer dtype, or of bool."""
        if self.kind is Kind.BOOL:
            return 0, 1
        signed = self.kind is Kind.SIGNED
        return -(1 << (self.bits - 1)) if signed else 0, (1 << (self.bits - signed)) - 1

    @property
    def torch(self) -> torch.dtype:
        """The torch dtype of this element type."""
        dtype: torch.dtype = getattr(torch, self.name.rstrip("_"))
        return dtype

    def __call__(self, value: Any) -> Any:
        """`value` converted to this type, so that an undecorated body also runs on tensors."""
        return torch.as_tensor(value).to(self.torch)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"pymetal.{self.name}"


float32 = DType(
    "float32", "float", Kind.FLOATING, 32, "Float", 6, "float", complex="complex64", double="float64"
)  # fmt: skip
float16 = DType(
    "float16", "half", Kind.FLOATING, 16, "Half", 5, "c10::Half", "fp16", opmath="float32", complex="complex32",
    double="float64",
)  # fmt: skip
bfloat16 = DType(
    "bfloat16", "bfloat", Kind.FLOATING, 16, "BFloat16", 15, "c10::BFloat16", "bf16", opmath="float32",
    complex="complex64", double="float64",
)  # fmt: skip
int64 = DType("int64", "long", Kind.SIGNED, 64, "Long", 4, "int64_t")
int32 = DType("int32", "int", Kind.SIGNED, 32, "Int", 3, "int32_t", "int32")
int16 = DType("int16", "short", Kind.SIGNED, 16, "Short", 2, "int16_t", "int16", opmath="int32")
uint8 = DType("uint8", "uchar", Kind.UNSIGNED, 8, "Byte", 0, "uint8_t", "uint8", opmath="int32")
int8 = DType("int8", "char", Kind.SIGNED, 8, "Char", 1, "int8_t", "int8", opmath="int32")
bool_ = DType("bool_", "bool", Kind.BOOL, 8, "Bool", 11, "bool", "uint8")
complex64 = DType("complex64", "float2", Kind.COMPLEX, 64, "ComplexFloat", 9, real="float32", double="complex128")
complex32 = DType(
    "complex32", "half2", Kind.COMPLEX, 32, "ComplexHalf", 8, cast="fp16", opmath="complex64", real="float16",
    double="complex128",
)  # fmt: skip
uint64 = DType("uint64", "ulong", Kind.UNSIGNED, 64, "UInt64", 29)
uint32 = DType("uint32", "uint", Kind.UNSIGNED, 32, "UInt32", 28, cast="int32")
uint16 = DType("uint16", "ushort", Kind.UNSIGNED, 16, "UInt16", 27)

# Known to the reference only: Metal has no double.
float64 = DType("float64", "", Kind.FLOATING, 64, "Double", 7, complex="complex128")
complex128 = DType("complex128", "", Kind.COMPLEX, 128, "ComplexDouble", 10, real="float64")

# In the order in which upstream's helper macros list them; registrations are printed in this order.
ALL: tuple[DType, ...] = (
    float32, float16, bfloat16, int64, int32, int16, uint8, int8, bool_, complex64, complex32, uint64, uint32, uint16,
)  # fmt: skip
DOUBLES: tuple[DType, ...] = (float64, complex128)
BY_NAME = {d.name: d for d in ALL}
BY_METAL = {d.metal: d for d in ALL}
CASTS: tuple[str, ...] = tuple(dict.fromkeys(d.cast for d in ALL if d.cast is not None))
_ROWS = {d.name: d for d in (*ALL, *DOUBLES)}
_BY_TORCH: dict[torch.dtype | None, DType] = {d.torch: d for d in _ROWS.values()}

# The words of `dtypes=`. uint16, uint32 and uint64 take part only when named one by one: torch itself has few
# operators for them.
WORDS: dict[str, tuple[DType, ...]] = {
    "floating": (float32, float16, bfloat16),
    "integral": (int64, int32, int16, uint8, int8),
    "bool": (bool_,),
    "complex": (complex64, complex32),
}


def listed(chosen: Iterable[DType | None]) -> str:
    """The names of dtypes for a message, as torch spells them."""
    return ", ".join(dict.fromkeys(str(d and d.torch) for d in chosen))


def from_torch(dtype: torch.dtype | None) -> DType | None:
    """The element type of a torch dtype, or None if there is none (quantised and 8-bit floats)."""
    return _BY_TORCH.get(dtype)


def complex_of(dtype: DType) -> DType | None:
    """The complex type with parts of `dtype` (bfloat16 widens to complex64, as in torch); a complex type is its own."""
    return dtype if dtype.kind is Kind.COMPLEX else _ROWS.get(dtype.complex)


def real_of(dtype: DType) -> DType:
    """The type of the parts of a complex type; every other type is its own."""
    return _ROWS.get(dtype.real, dtype)


def opmath(dtype: DType) -> DType:
    """The type in which `c10::metal::opmath_t` computes for `dtype`."""
    return _ROWS.get(dtype.opmath, dtype)


def at_opmath(dtype: DType) -> DType:
    """`at::toOpMathType`, which unlike `c10::metal::opmath_t` leaves integers as they are."""
    return dtype if dtype.kind in INTEGRAL else opmath(dtype)


def double_of(dtype: DType) -> DType:
    """The type of a float or complex number at double precision; every other type is its own."""
    return _ROWS.get(dtype.double, dtype)


@functools.cache
def promote(a: DType, b: DType) -> DType | None:
    """`torch.promote_types`, or None where torch has no common type (uint64 with a signed type)."""
    try:
        return from_torch(torch.promote_types(a.torch, b.torch))
    except RuntimeError:
        return None


def ordered(dtypes: Iterable[DType]) -> tuple[DType, ...]:
    """`dtypes` without repetition, in the order of :data:`ALL`."""
    chosen = set(dtypes)
    return tuple(d for d in ALL if d in chosen)


def parse_dtypes(spec: object) -> tuple[DType, ...]:
    """The dtypes named by a ``dtypes=`` argument: one entry or several.

    An entry is a word of :data:`WORDS`, or a dtype of torch, pymetal or numpy, or the name of one.

    Raises:
        PyMetalError: an entry is none of these, or there is none at all.
    """
    entries = spec if isinstance(spec, (tuple, list, set, frozenset)) else (spec,)
    chosen: list[DType] = []
    for entry in entries:
        is_type = isinstance(entry, type) and issubclass(entry, np.generic)
        name = str(np.dtype(entry) if is_type else entry).removeprefix("torch.").removeprefix("pymetal.")
        found = entry if isinstance(entry, DType) else BY_NAME.get(name) or from_torch(getattr(torch, name, None))
        if isinstance(entry, str) and entry in WORDS:
            chosen.extend(WORDS[entry])
        elif found in ALL:
            assert found is not None
            chosen.append(found)
        else:
            words = ", ".join(f'"{w}"' for w in WORDS)
            near = nearest(name, [*WORDS, *BY_NAME])
            raise PyMetalError(
                f"dtypes= does not take {entry!r}" + (f"; did you mean {near!r}?" if near else ""),
                hint=f"Allowed: {words}, or dtypes that Metal has: {listed(ALL)}.",
            )
    if not chosen:
        raise PyMetalError("dtypes= is empty: a functor needs at least one element type")
    return ordered(chosen)


class TypeVariable:
    """A name that stands for the element type of a functor's tensors; its kinds say which dtypes it admits."""

    def __init__(self, name: str, kinds: frozenset[Kind]) -> None:
        self.name = name
        self.kinds = kinds

    def __call__(self, value: Any) -> Any:
        """In a body `T(x)` casts to the element type; on tensors, outside one, there is nothing to cast to."""
        return value

    def __repr__(self) -> str:
        return f"pymetal.{self.name}"


class TypeFunction:
    """`ComplexOf`, `RealOf`, `OpMath`: a type made from the element type by subscription, as in ``ComplexOf[T]``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, item: Any) -> Any:
        return TypeApplication(self, item)

    def __repr__(self) -> str:
        return f"pymetal.{self.name}"


@dataclass(frozen=True)
class TypeApplication:
    """A `TypeFunction` with its argument, for annotations that Python evaluates."""

    function: TypeFunction
    argument: Any

    def __call__(self, value: Any) -> Any:
        return value


if TYPE_CHECKING:
    # To a type checker an element is anything: annotations, casts and bodies are checked when a functor is decorated.
    # Pyright calls Any not callable, so it is a name that is nowhere, which checkers take for Any and do not ask about.
    T: TypeAlias = nowhere  # type: ignore[name-defined]  # noqa: F821
    Real: TypeAlias = T
    Floating: TypeAlias = T
    Integral: TypeAlias = T
    Signed: TypeAlias = T
    Unsigned: TypeAlias = T
    Complex: TypeAlias = T
    ComplexOf: Any
    RealOf: Any
    OpMath: Any
else:
    T = TypeVariable("T", ANY)
    Real = TypeVariable("Real", REAL)
    Floating = TypeVariable("Floating", frozenset({Kind.FLOATING}))
    Integral = TypeVariable("Integral", INTEGRAL)
    Signed = TypeVariable("Signed", frozenset({Kind.SIGNED}))
    Unsigned = TypeVariable("Unsigned", frozenset({Kind.UNSIGNED}))
    Complex = TypeVariable("Complex", frozenset({Kind.COMPLEX}))
    ComplexOf = TypeFunction("ComplexOf")
    RealOf = TypeFunction("RealOf")
    OpMath = TypeFunction("OpMath")


def wrap(value: int, dtype: torch.dtype) -> int:
    """The integer that a register of `dtype` keeps of `value`; of bool, whether it is not zero."""
    if dtype is torch.bool:
        return int(value != 0)
    info = torch.iinfo(dtype)
    low = value & ((1 << info.bits) - 1)
    return low - (1 << info.bits) if low > info.max else low


_PYTHON_NUMBERS: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def python_number(value: object) -> bool | int | float | complex | None:
    """`value` as a Python number, which numpy's scalars stand for; None if it is no number."""
    if isinstance(value, np.generic):
        make = _PYTHON_NUMBERS.get(value.dtype.kind)
        return None if make is None else make(value)
    # Of a subclass, whose own methods may print anything, the number itself.
    match value:
        case bool():
            return value
        case int():
            return int.__index__(value)
        case float():
            return float.__float__(value)
        case complex():
            return complex(complex.real.__get__(value), complex.imag.__get__(value))
    return None
