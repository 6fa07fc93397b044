"""Rows for Python's operators and builtins.

A body means what Python and torch say. Where neither Metal's operator nor a c10 helper has that meaning at every value,
the row brings a static member function of its own:

* `//` and `%` of floats: c10's helpers divide and round down, which is wrong by one where the quotient rounds up to an
  integer, and lose infinite divisors; these go through the exact remainder, as Python and torch do.
* `<<` and `>>`: Metal masks the count; torch shifts everything out.

Integer division by zero raises in Python and torch. A kernel cannot raise: `x // 0` is -1 for negative x and else 0,
and `x % 0` is x, on the host device and in the reference. Metal leaves both undefined.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch

from pymetal import dtypes
from pymetal.dtypes import Kind
from pymetal.ir import Field, Infix, Member, Named, Op, Prefix, RealOf, TypeRule, Var, Wrapped
from pymetal.ops import exact, floats, integers
from pymetal.ops.builder import Term
from pymetal.ops.floats import on_complex64
from pymetal.ops.integers import WIDE_UNSIGNED, Width, on_wide
from pymetal.ops.table import COMPLEX, FLOATING, INTEGERS, REAL, UTILS, row

_BOOL = frozenset({Kind.BOOL})
_SIGN = -(1 << 63)  # int64s with this bit flipped are in the order of the uint64s they stand for


def _on_unsigned(function: Callable[..., torch.Tensor], flip: int = 0) -> Callable[..., torch.Tensor]:
    """torch has few operators for uint16, uint32 and uint64: computed on the int64s of the same bits (but `flip`)."""

    def wrapped(*args: torch.Tensor) -> torch.Tensor:
        if args[0].dtype not in WIDE_UNSIGNED:
            return function(*args)
        value = function(*(integers.to_wide(a) ^ flip for a in args))
        return value if value.dtype is torch.bool else integers.from_wide(value, args[0].dtype)

    return wrapped


def _names(*names: str) -> tuple[str, ...]:
    """The functions of torch of these names, and that of numpy of the last one."""
    known = dict.fromkeys(f"torch.{name}" for name in names if name != "equal")  # torch.equal compares whole tensors
    return (*known, f"numpy.{names[-1]}")


# --- logic -----------------------------------------------------------------------------------------------------------


def _logical(name: str, arity: int, text: Infix | Prefix, function: Callable[..., Any], fold: Callable[..., Any]) -> Op:
    return row(
        name, arity, TypeRule.LOGICAL, _BOOL, text, function, fold=fold, exact=lambda mp, *operands: fold(*operands)
    )


AND = _logical("and", 2, Infix("&&", 5), torch.logical_and, lambda a, b: a and b)
OR = _logical("or", 2, Infix("||", 4), torch.logical_or, lambda a, b: a or b)
NOT = _logical("not", 1, Prefix("!"), torch.logical_not, operator.not_)

# --- arithmetic ------------------------------------------------------------------------------------------------------


def _on_complex(name: str, symbol: str, c10: str, function: Callable[..., Any], derivative: Any) -> Op:
    return row(
        f"{name}-complex", 2, TypeRule.PROMOTE, COMPLEX, Named(f"c10::metal::{c10}"), on_complex64(function),
        derivative, symbol=symbol, header=UTILS,
    )  # fmt: skip


MUL_COMPLEX = _on_complex("mul", "*", "mul", torch.mul, lambda x, y, r: (y, x))
# c10's squares the length of the divisor, which overflows from about 1e19 on (of half from 256 on); torch scales.
DIV_COMPLEX = _on_complex("truediv", "/", "div", torch.true_divide, lambda x, y, r: (1 / y, -r / y))


def _arithmetic(
    name: str, text: Infix | Prefix, kinds: frozenset[Kind], derivative: Any, also: str,
    complex_overload: Op | None = None,
) -> Op:  # fmt: skip
    fold = getattr(operator, name)
    return row(
        name, 2 if isinstance(text, Infix) else 1, TypeRule.PROMOTE, kinds, text,
        on_complex64(_on_unsigned(getattr(torch, name))), derivative, symbol=text.symbol, fold=fold,
        aliases=_names(name, also),
        complex_overload=complex_overload, promotes_to_int=True, modular=True, rounds=isinstance(text, Infix),
        exact=lambda mp, *operands: fold(*operands), overflow=name,
    )  # fmt: skip


# bool + bool is "or" and bool * bool is "and" in torch, and C++'s conversion of the int sum to bool gives the same;
# torch refuses bool - bool and -bool.
ADD = _arithmetic("add", Infix("+", 12), dtypes.ANY, lambda x, y, r: (1, 1), "add")
SUB = _arithmetic("sub", Infix("-", 12), dtypes.NUMERIC, lambda x, y, r: (1, -1), "subtract")
MUL = _arithmetic("mul", Infix("*", 13), dtypes.ANY, lambda x, y, r: (y, x), "multiply", MUL_COMPLEX)
NEG = _arithmetic("neg", Prefix("-"), dtypes.NUMERIC, lambda x, r: (-1,), "negative")
TRUEDIV = row(
    "truediv", 2, TypeRule.INT_TO_FLOAT, FLOATING, Infix("/", 13), torch.true_divide, lambda x, y, r: (1 / y, -r / y),
    symbol="/", fold=operator.truediv, complex_overload=DIV_COMPLEX, exact=exact.quotient,
    aliases=_names("true_divide"),
)  # fmt: skip

_FLOOR_DIVIDE = """\
static inline float floor_divide(const float a, const float b) {
  if (b == 0.0f) {
    return a / b;
  }
  const float rest = metal::fmod(a, b);
  float quotient = (a - rest) / b;
  if (rest != 0.0f && (b < 0.0f) != (rest < 0.0f)) {
    quotient -= 1.0f;
  }
  if (quotient == 0.0f) {
    return metal::copysign(0.0f, a / b);
  }
  const float down = metal::floor(quotient);
  return quotient - down > 0.5f ? down + 1.0f : down;
}
"""
_REMAINDER = """\
static inline float remainder(const float a, const float b) {
  const float rest = metal::fmod(a, b);
  return rest != 0.0f && (b < 0.0f) != (rest < 0.0f) ? rest + b : rest;
}
"""


def _on_integers(
    name: str, symbol: str, c10: str, function: Callable[..., Any], exact: Callable[..., Any], *,
    since: tuple[int, int] = (2, 8), overflow: str = "", divides: bool = False,
) -> Op:  # fmt: skip
    return row(
        f"{name}-integer", 2, TypeRule.PROMOTE, INTEGERS, Named(f"c10::metal::{c10}"), on_wide(function), symbol=symbol,
        promotes_to_int=True, since=since, header=UTILS, exact=exact, overflow=overflow, divides=divides,
    )  # fmt: skip


FLOORDIV_INTEGER = _on_integers(
    "floordiv", "//", "floor_divide", integers.floor_quotient, exact.floor_divide, overflow="div", divides=True
)
FLOORDIV = row(
    "floordiv", 2, TypeRule.MATH, FLOATING, Member("floor_divide", _FLOOR_DIVIDE), floats.floor_divide,
    lambda x, y, r: (0, 0), symbol="//", fold=operator.floordiv, integer_overload=FLOORDIV_INTEGER,
    exact=exact.floor_divide, aliases=_names("floor_divide"),
)  # fmt: skip


def _fold_remainder(x: Any, y: Any) -> Any:
    """Python's remainder, but a zero of floats has the sign of the dividend, as torch and fmod have it."""
    rest = x % y
    return math.copysign(0.0, x) if isinstance(rest, float) and rest == 0 else rest


MOD_INTEGER = _on_integers("mod", "%", "remainder", integers.rest_of_floor_quotient, exact.remainder, divides=True)
MOD = row(
    "mod", 2, TypeRule.MATH, FLOATING, Member("remainder", _REMAINDER), floats.remainder,
    lambda x, y, r: (1, -x.call("floordiv", y)), symbol="%", fold=_fold_remainder, integer_overload=MOD_INTEGER,
    exact=exact.remainder, aliases=_names("remainder"),
)  # fmt: skip
POW_INTEGER = _on_integers("pow", "**", "pow", integers.power, exact.power, since=(2, 11), overflow="pow")
COMPLEX_POW = """\
template <typename U>
static inline U complex_pow(const U a, const U b) {
  return U(c10::metal::pow(float2(a), float2(b)));
}
"""
POW_COMPLEX = row(
    "pow-complex", 2, TypeRule.PROMOTE, COMPLEX, Member("complex_pow", COMPLEX_POW), on_complex64(torch.pow),
    symbol="**", header=UTILS, since=(2, 11),
)  # fmt: skip


def _by_exponent(x: Term, y: Term, product: Term) -> Term:
    """The derivative of x ** y by y: where x is 0, 0 for exponents that are not negative, as autograd has it."""
    return x.lift(0).where(y.call("ge", 0), product).where(x.equals(0), product)


POW = row(
    "pow", 2, TypeRule.MATH, FLOATING, Named("precise::pow"), torch.pow,
    lambda x, y, r: (
        x.lift(0).where(y.equals(0), y * x.call("pow", y - 1)),
        _by_exponent(x, y, r * x.call("metal.precise.log")),
    ),
    symbol="**", fold=operator.pow, integer_overload=POW_INTEGER, complex_overload=POW_COMPLEX,
    exact=exact.power,
)  # fmt: skip

# --- comparisons -----------------------------------------------------------------------------------------------------


def _comparison(name: str, symbol: str, precedence: int, word: str, complex_overload: Op | None = None) -> Op:
    fold = getattr(operator, name)
    return row(
        name, 2, TypeRule.COMPARE, REAL, Infix(symbol, precedence), _on_unsigned(getattr(torch, name), _SIGN),
        symbol=symbol, fold=fold, complex_overload=complex_overload, exact=lambda mp, x, y: fold(x, y),
        aliases=_names(name, word),
    )  # fmt: skip


def _complex_comparison(name: str, symbol: str, pattern: str) -> Op:
    function = on_complex64(getattr(torch, name))
    return row(f"{name}-complex", 2, TypeRule.COMPARE, COMPLEX, Wrapped(pattern), function, symbol=symbol)


EQ_COMPLEX = _complex_comparison("eq", "==", "metal::all({0} == {1})")
NE_COMPLEX = _complex_comparison("ne", "!=", "metal::any({0} != {1})")
EQ = _comparison("eq", "==", 9, "equal", EQ_COMPLEX)
NE = _comparison("ne", "!=", 9, "not_equal", NE_COMPLEX)
LT = _comparison("lt", "<", 10, "less")
LE = _comparison("le", "<=", 10, "less_equal")
GT = _comparison("gt", ">", 10, "greater")
GE = _comparison("ge", ">=", 10, "greater_equal")

# --- bits ------------------------------------------------------------------------------------------------------------


def _bitwise(name: str, symbol: str, precedence: int, function: Callable[..., Any], fold: Callable[..., Any]) -> Op:
    return row(
        name, 2, TypeRule.PROMOTE, dtypes.INTEGRAL, Infix(symbol, precedence), _on_unsigned(function), symbol=symbol,
        fold=fold, exact=lambda mp, x, y: fold(x, y), aliases=_names(function.__name__),
    )  # fmt: skip


BITAND = _bitwise("bitand", "&", 8, torch.bitwise_and, operator.and_)
BITXOR = _bitwise("bitxor", "^", 7, torch.bitwise_xor, operator.xor)
BITOR = _bitwise("bitor", "|", 6, torch.bitwise_or, operator.or_)
INVERT = row(
    "invert", 1, TypeRule.PROMOTE, INTEGERS, Prefix("~"), _on_unsigned(torch.bitwise_not), symbol="~",
    fold=lambda a: ~int(a), promotes_to_int=True, modular=True, bool_overload=NOT, exact=lambda mp, x: ~x,
    aliases=_names("bitwise_not"),
)  # fmt: skip

_SHIFT_LEFT = """\
template <typename U>
static inline U shift_left(const U a, const U b) {
  return b < U(0) || b >= U(8 * sizeof(U)) ? U(0) : static_cast<U>(a << b);
}
"""
# The count is limited, not masked: what is left is the sign.
_SHIFT_RIGHT = """\
template <typename U>
static inline U shift_right(const U a, const U b) {
  const U last = U(8 * sizeof(U) - 1);
  const bool beyond = b < U(0) || b > last;
  if (is_signed_v<U>) {
    return static_cast<U>(a >> (beyond ? last : b));
  }
  return beyond ? U(0) : static_cast<U>(a >> b);
}
"""


def _shift_left(a: torch.Tensor, b: torch.Tensor, w: Width) -> torch.Tensor:
    inside = ~integers.less(b, torch.zeros_like(b), w) & integers.less(b, torch.full_like(b, w.bits), w)
    return torch.where(inside, a << b.clamp(0, w.bits - 1), 0)


def _shift_right(a: torch.Tensor, b: torch.Tensor, w: Width) -> torch.Tensor:
    inside = ~integers.less(b, torch.zeros_like(b), w) & integers.less(b, torch.full_like(b, w.bits), w)
    count = torch.where(inside, b, w.bits - 1)
    if w.signed:
        return a >> count
    return torch.where(inside, integers.shifted(a, count), 0)


def _shift(name: str, symbol: str, definition: str, function: Callable[..., Any], fold: Callable[..., Any]) -> Op:
    return row(
        name, 2, TypeRule.PROMOTE, INTEGERS, Member(name, definition), on_wide(function), symbol=symbol, fold=fold
    )


SHL = _shift("shift_left", "<<", _SHIFT_LEFT, _shift_left, operator.lshift)
SHR = _shift("shift_right", ">>", _SHIFT_RIGHT, _shift_right, operator.rshift)
# Counts that are constants inside the width need no test; the frontend chooses these rows.
SHL_CONSTANT = row(
    "shift_left-constant", 2, TypeRule.PROMOTE, INTEGERS, Infix("<<", 11), on_wide(_shift_left), symbol="<<",
    promotes_to_int=True, overflow="shift",
)  # fmt: skip
SHR_CONSTANT = row(
    "shift_right-constant", 2, TypeRule.PROMOTE, INTEGERS, Infix(">>", 11), on_wide(_shift_right), symbol=">>"
)

# --- builtins --------------------------------------------------------------------------------------------------------


_COMPLEX_ABS = """\
template <typename U>
static inline float complex_abs(const U z) {
  const float x = metal::fabs(float(z.x));
  const float y = metal::fabs(float(z.y));
  const float larger = metal::fmax(x, y);
  const float ratio = metal::fmin(x, y) / larger;
  if (larger == 0.0f) {
    return x + y;
  }
  if (metal::isinf(larger)) {
    return larger;
  }
  return metal::isnan(x) || metal::isnan(y) ? NAN : larger * precise::sqrt(1.0f + ratio * ratio);
}
"""

ABS_COMPLEX = row(
    "abs-complex", 1, TypeRule.PROMOTE, COMPLEX, Member("complex_abs", _COMPLEX_ABS), on_complex64(torch.abs),
    result=RealOf(Var()),
)  # fmt: skip
ABS_INTEGER = row(
    "abs-integer", 1, TypeRule.PROMOTE, INTEGERS, Named("metal::abs"), on_wide(integers.absolute),
    promotes_to_int=True, rounds=False, exact=lambda mp, x: abs(x), overflow="abs",
)  # fmt: skip
ABS = row(
    "abs", 1, TypeRule.MATH, FLOATING, Named("metal::fabs"), torch.abs, lambda x, r: (x.sign(),), fold=abs,
    integer_overload=ABS_INTEGER, complex_overload=ABS_COMPLEX, rounds=False, exact=lambda mp, x: abs(x),
    aliases=_names("abs", "absolute"),
)  # fmt: skip


def _extreme(
    name: str, floats: Callable[..., Any], of_integers: Callable[..., Any], bool_overload: Op,
    fold: Callable[..., Any], exact: Callable[..., Any],
) -> Op:  # fmt: skip
    def value(x: torch.Tensor, y: torch.Tensor) -> Any:
        return on_wide(of_integers)(x, y) if x.dtype in WIDE_UNSIGNED else floats(x, y)

    def partials(x: Term, y: Term, r: Term) -> tuple[Term, Term]:
        half = x.lift(0.5).where(x.equals(y), 0)  # torch shares the gradient where the operands are equal
        first = x > y if name == "max" else x < y
        second = y > x if name == "max" else y < x
        return x.lift(1).where(first, half), x.lift(1).where(second, half)

    return row(
        name, 2, TypeRule.PROMOTE, INTEGERS | FLOATING, Named(f"c10::metal::{name}"), value, partials, fold=fold,
        header=UTILS, bool_overload=bool_overload, exact=exact, rounds=False, signed_zero=False,
        aliases=(*_names(floats.__name__), f"torch.{name}"),
    )  # fmt: skip


def _fold_extreme(pick: Callable[..., Any]) -> Callable[..., Any]:
    """Python's function, but for a NaN, which Python keeps or drops by its place."""
    return lambda x, y: math.nan if x != x or y != y else pick(x, y)


MAX = _extreme("max", torch.maximum, integers.greatest, OR, _fold_extreme(max), exact.maximum)
MIN = _extreme("min", torch.minimum, integers.least, AND, _fold_extreme(min), exact.minimum)

ROUND = row(
    "round", 1, TypeRule.MATH, FLOATING, Named("metal::rint"), torch.round, lambda x, r: (0,), fold=round,
    exact=exact.mpmath("nint"), rounds=False,
)  # fmt: skip

# --- complex numbers -------------------------------------------------------------------------------------------------


def _field(name: str, component: str, function: Callable[[torch.Tensor], torch.Tensor]) -> Op:
    return row(
        name, 1, TypeRule.PROMOTE, COMPLEX, Field(component), on_complex64(function), result=RealOf(Var()), rounds=False
    )


def _make_complex(real: torch.Tensor, imag: torch.Tensor) -> torch.Tensor:
    if real.dtype == torch.float16:
        return torch.complex(real.float(), imag.float()).to(torch.complex32)
    return torch.complex(real, imag)


# The type is the call's, which the printer writes in place of `{type}`.
MAKE_COMPLEX = row(
    "make_complex", 2, TypeRule.PROMOTE, FLOATING, Wrapped("{type}({0}, {1})"), _make_complex, header=UTILS
)  # fmt: skip
REAL_PART = _field("real", "x", torch.real)
IMAG_PART = _field("imag", "y", torch.imag)
