"""Metal names for Python's: reserved names get a trailing underscore, and non-ASCII characters are spelled."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from pymetal import dtypes
from pymetal.dtypes import Kind
from pymetal.ir import Member, Named
from pymetal.ops import TABLE

# C++14 keywords and alternative tokens, Metal's additions to them, Metal's types.
RESERVED = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl
    const const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit
    export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast return short signed sizeof
    static static_assert static_cast struct switch template this thread_local throw true try typedef typeid
    typename union unsigned using virtual void volatile wchar_t while xor xor_eq kernel vertex fragment mesh
    object device constant thread threadgroup threadgroup_imageblock ray_data object_data visible stitchable
    intersection patch_control_point half bfloat uchar ushort uint ulong size_t ptrdiff_t int8_t int16_t
    int32_t int64_t uint8_t uint16_t uint32_t uint64_t sampler texture1d texture2d texture3d texturecube
    buffer atomic_int atomic_uint atomic_bool atomic_float NULL I assert metal c10 precise fast std T params
    ILP_PER_THREAD
    enable_if_t is_same_v conditional_t numeric_limits is_integral_v is_floating_point_v is_signed_v is_unsigned_v
    is_scalar_v is_scalar_floating_point_v is_scalar_integral_v is_complex_v vec2type_t opmath_t as_type main
    char8_t co_await co_return co_yield concept consteval constinit requires export import module typeof asm
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
_VECTORS = frozenset(
    f"{scalar}{size}"
    for scalar in (d.metal for d in dtypes.ALL if d.kind is not Kind.COMPLEX)
    for size in (2, 3, 4, "2x2", "2x3", "2x4", "3x2", "3x3", "3x4", "4x2", "4x3", "4x4")
)
# Metal has whole families of functions and types with these beginnings.
_FAMILY = re.compile(
    r"(?:simd|quad|simdgroup|quadgroup|threadgroup|atomic|packed)_|(?:texture|depth)(?:1d|2d|3d|cube|_)"
)
# Macros of <metal_stdlib> and of the headers of c10/metal.
_MACRO = re.compile(
    r"INFINITY|NAN|MAX(?:FLOAT|HALF|BFLOAT)|HUGE_VAL\w+|(?:B?FLOAT|FLT|HALF|DBL)_[A-Z0-9_]+|M_[A-Z0-9_]+|FP_[A-Z0-9]+|IF_CONSTEXPR|"
    r"(?:U|S)?(?:CHAR|SHRT|INT|LONG|BIT)_(?:MAX|MIN|BIT)|(?:REGISTER|DEFINE|INSTANTIATE|IMPL|TORCH|C10|PYMETAL)_\w+|"
    r"_CASE_|_DEFINE_ENUM_VAL_"
)
_SPELLED = str.maketrans({
    **dict.fromkeys("\u2010\u2011\u2013\u2014\u2212", "-"), **dict.fromkeys("\u2018\u2019", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'), "\u00d7": "x", "\u00b7": "*", "\u00f7": "/", "\u00b1": "+-",
    "\u2264": "<=", "\u2265": ">=", "\u2260": "!=", "\u2248": "~", "\u2192": "->", "\u21d2": "=>", "\u221e": "inf",
    "\u03c0": "pi", "\u221a": "sqrt", "\u00df": "ss",
})  # fmt: skip


def to_ascii(text: str) -> str:
    """`text` in ASCII, as `torch.mps.compile_shader` requires: accents go, signs are spelled, control characters and
    the rest become `?`."""
    plain = unicodedata.normalize("NFKD", text.translate(_SPELLED))
    return "".join(c if " " <= c <= "~" or c in "\t\n" else "?" for c in plain if not unicodedata.combining(c))


def identifier(name: str) -> str:
    """`name` as a Metal identifier: non-ASCII characters are spelled by code point."""
    return "".join(c if ord(c) < 128 else f"u{ord(c):04x}" for c in name)


def _ordinary(name: str) -> str:
    """A name without what C++ keeps for the implementation: two underscores, or one and a capital at the start."""
    while "__" in name:
        name = name.replace("__", "_u_")
    kept = (name[0] == "_" and name[1:2].isupper()) or _FAMILY.match(name) or _MACRO.fullmatch(name)
    return f"x{name}" if kept else name


def rename(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """A Metal name for each of `names`: distinct, not reserved and not one of `taken`."""
    used = set(taken)
    result: dict[str, str] = {}
    for name in dict.fromkeys(names):
        metal = _ordinary(identifier(name))
        while metal in RESERVED or metal in _VECTORS or metal in used:
            metal = _ordinary(f"{metal}_")
        used.add(metal)
        result[name] = metal
    return result


def functor_name(name: str) -> str:
    """The NAME of ``NAME_functor``, of registrations and of kernels: ``name``, with ``_op`` if Metal could misread it.

    Reserved words and macros would not survive the registration macros, and with underscores at its ends the struct's
    name would be one that C++ keeps for the implementation.
    """
    metal = identifier(name)
    while "__" in metal.strip("_"):
        metal = metal.strip("_").replace("__", "_u_")
    if metal in RESERVED or metal in _VECTORS or _MACRO.fullmatch(metal) or metal != metal.strip("_"):
        metal = f"{metal.strip('_')}_op"
    return metal if metal[0].isalpha() else f"x{metal}"


# Names of functions in `metal::` and `c10::metal::`, which a using directive brings into every file.
FUNCTIONS = frozenset(
    """
    cast_to less safe_mod powi_impl as_type max min mul div all any array cross dfdx dfdy discard_fragment distance
    distance_squared dot faceforward fast_distance fast_length fast_normalize frexp fwidth length length_squared
    make_filled_vector modf norm normalize reflect refract sincos threadgroup_barrier transpose determinant
    unpack_unorm4x8_to_float pack_float_to_unorm4x8 vec matrix reduce_add
    """.split()  # noqa: SIM905 - a list of words reads better as words
).union(op.text.function.rpartition("::")[2] for op in TABLE.values() if isinstance(op.text, Named | Member))


def helper_name(name: str) -> str:
    """A helper's name in the text: one that Metal or c10 has as a function would be ambiguous."""
    return rename([name], FUNCTIONS)[name]
