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

import operator
from collections.abc import Callable
from typing import Any

import torch

from pymetal import dtypes
from pymetal.dtypes import Kind
from pymetal.ir import Field, Infix, Member, Named, Op, Prefix, RealOf, Rule, Type, Var, Wrapped
from pymetal.ir.builder import Term
from pymetal.ops import floats, integers
from pymetal.ops.integers import WIDE_UNSIGNED, Width, on_wide
from pymetal.ops.row import COMPLEX, FLOATING, INTEGERS, REAL, UTILS, row

_BOOL = frozenset({Kind.BOOL})
_NUMERIC = dtypes.NUMERIC
_ANY = dtypes.ANY


def _half_complex(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """torch's CPU operators know complex32 hardly at all: computed as complex64 and rounded."""

    def wrapped(*args: torch.Tensor) -> torch.Tensor:
        if args[0].dtype != torch.complex32:
            return function(*args)
        result = function(*(a.to(torch.complex64) for a in args))
        return result.to(torch.complex32) if result.dtype == torch.complex64 else result

    return wrapped


def _on_unsigned(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """torch has few operators for uint16, uint32 and uint64: computed on the int64s of the same low bits."""

    def wrapped(*args: torch.Tensor) -> torch.Tensor:
        if args[0].dtype not in WIDE_UNSIGNED:
            return function(*args)
        return integers.from_wide(function(*map(integers.to_wide, args)), args[0].dtype)

    return wrapped


def _compared(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A comparison; of uint64s, of the int64s that are in the same order."""

    def wrapped(*args: torch.Tensor) -> torch.Tensor:
        if args[0].dtype not in WIDE_UNSIGNED:
            return function(*args)
        return function(*(integers.to_wide(a) ^ (-(1 << 63)) for a in args))

    return wrapped


# --- logic -----------------------------------------------------------------------------------------------------------

AND = row(Op("and", 2, Rule.LOGICAL, _BOOL, Infix("&&", 5), torch.logical_and, python=lambda a, b: a and b))
OR = row(Op("or", 2, Rule.LOGICAL, _BOOL, Infix("||", 4), torch.logical_or, python=lambda a, b: a or b))
NOT = row(Op("not", 1, Rule.LOGICAL, _BOOL, Prefix("!"), torch.logical_not, python=operator.not_))

# --- arithmetic ------------------------------------------------------------------------------------------------------


def _complex_pair(name: str, function: Callable[..., Any], derivative: Any) -> Op:
    text = Named(f"c10::metal::{name}")
    return row(
        Op(f"{name}_complex", 2, Rule.SAME, COMPLEX, text, _half_complex(function), derivative, header=UTILS)
    )  # fmt: skip


MUL_COMPLEX = _complex_pair("mul", torch.mul, lambda x, y, r: (y, x))
DIV_COMPLEX = _complex_pair("div", torch.true_divide, lambda x, y, r: (1 / y, -r / y))


def _arithmetic(
    name: str, symbol: str, precedence: int, kinds: frozenset[Kind], derivative: Any, on_complex: Op | None = None
) -> Op:
    function = _half_complex(_on_unsigned(getattr(torch, name)))
    return row(
        Op(
            name, 2, Rule.SAME, kinds, Infix(symbol, precedence), function, derivative,
            wraps=True, congruent=True, python=getattr(operator, name), on_complex=on_complex,
        )
    )  # fmt: skip


# bool + bool is "or" and bool * bool is "and" in torch, and C++'s conversion of the int sum to bool gives the same;
# torch refuses bool - bool and -bool.
ADD = _arithmetic("add", "+", 12, _ANY, lambda x, y, r: (1, 1))
SUB = _arithmetic("sub", "-", 12, _NUMERIC, lambda x, y, r: (1, -1))
MUL = _arithmetic("mul", "*", 13, _ANY, lambda x, y, r: (y, x), on_complex=MUL_COMPLEX)
TRUEDIV = row(
    Op(
        "truediv", 2, Rule.DIVIDE, FLOATING, Infix("/", 13), torch.true_divide, lambda x, y, r: (1 / y, -r / y),
        python=operator.truediv, on_complex=DIV_COMPLEX,
    )
)  # fmt: skip
NEG = row(
    Op(
        "neg", 1, Rule.SAME, _NUMERIC, Prefix("-"), _half_complex(_on_unsigned(torch.neg)), lambda x, r: (-1,),
        python=operator.neg, wraps=True, congruent=True,
    )
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


FLOORDIV_INT = row(
    Op(
        "floordiv_int", 2, Rule.SAME, INTEGERS, Named("c10::metal::floor_divide"), on_wide(integers.floor_quotient),
        wraps=True, header=UTILS,
    )
)  # fmt: skip
FLOORDIV = row(
    Op(
        "floordiv", 2, Rule.MATHS, FLOATING, Member("floor_divide", _FLOOR_DIVIDE), floats.floor_divide,
        lambda x, y, r: (0, 0), python=operator.floordiv, on_integer=FLOORDIV_INT,
    )
)  # fmt: skip
MOD_INT = row(
    Op(
        "mod_int", 2, Rule.SAME, INTEGERS, Named("c10::metal::remainder"), on_wide(integers.rest_of_floor_quotient),
        wraps=True, header=UTILS,
    )
)  # fmt: skip
MOD = row(
    Op(
        "mod", 2, Rule.MATHS, FLOATING, Member("remainder", _REMAINDER), floats.remainder,
        lambda x, y, r: (1, -x.call("floordiv", y)), python=operator.mod, on_integer=MOD_INT,
    )
)  # fmt: skip


POW_INT = row(
    Op(
        "pow_int", 2, Rule.SAME, INTEGERS, Named("c10::metal::pow"), on_wide(integers.power), wraps=True, header=UTILS,
        since=(2, 11),
    )
)  # fmt: skip
COMPLEX_POW = """\
template <typename U>
static inline U complex_pow(const U a, const U b) {
  return U(c10::metal::pow(float2(a), float2(b)));
}
"""
POW_COMPLEX = row(
    Op(
        "pow_complex", 2, Rule.SAME, COMPLEX, Member("complex_pow", COMPLEX_POW), _half_complex(torch.pow),
        header=UTILS, since=(2, 11),
    )
)  # fmt: skip


def _by_exponent(x: Term, y: Term, product: Term) -> Term:
    """The derivative of x ** y by y: where x is 0, 0 for exponents that are not negative, as autograd has it."""
    return x.lift(0).where(y.call("ge", 0), product).where(x.equals(0), product)


POW = row(
    Op(
        "pow", 2, Rule.MATHS, FLOATING, Named("precise::pow"), torch.pow,
        lambda x, y, r: (
            x.lift(0).where(y.equals(0), y * x.call("pow", y - 1)),
            _by_exponent(x, y, r * x.call("metal.precise.log")),
        ),
        python=operator.pow, aliases=("math.pow",), on_integer=POW_INT, on_complex=POW_COMPLEX,
    )
)  # fmt: skip

# --- comparisons -----------------------------------------------------------------------------------------------------


def _comparison(name: str, symbol: str, precedence: int, on_complex: Op | None = None) -> Op:
    function = _compared(getattr(torch, name))
    text = Infix(symbol, precedence)
    return row(
        Op(name, 2, Rule.COMPARE, REAL, text, function, python=getattr(operator, name), on_complex=on_complex)
    )  # fmt: skip


EQ_COMPLEX = row(Op("eq_complex", 2, Rule.COMPARE, COMPLEX, Wrapped("metal::all({0} == {1})"), _half_complex(torch.eq)))
NE_COMPLEX = row(Op("ne_complex", 2, Rule.COMPARE, COMPLEX, Wrapped("metal::any({0} != {1})"), _half_complex(torch.ne)))
EQ = _comparison("eq", "==", 9, EQ_COMPLEX)
NE = _comparison("ne", "!=", 9, NE_COMPLEX)
LT = _comparison("lt", "<", 10)
LE = _comparison("le", "<=", 10)
GT = _comparison("gt", ">", 10)
GE = _comparison("ge", ">=", 10)

# --- bits ------------------------------------------------------------------------------------------------------------


def _bitwise(name: str, symbol: str, precedence: int, function: Callable[..., Any], python: Callable[..., Any]) -> Op:
    return row(
        Op(name, 2, Rule.SAME, dtypes.INTEGRAL, Infix(symbol, precedence), _on_unsigned(function), python=python)
    )


BITAND = _bitwise("bitand", "&", 8, torch.bitwise_and, operator.and_)
BITXOR = _bitwise("bitxor", "^", 7, torch.bitwise_xor, operator.xor)
BITOR = _bitwise("bitor", "|", 6, torch.bitwise_or, operator.or_)
INVERT = row(
    Op(
        "invert", 1, Rule.SAME, INTEGERS, Prefix("~"), _on_unsigned(torch.bitwise_not), python=lambda a: ~int(a),
        wraps=True, congruent=True, on_bool=NOT,
    )
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


def _shift(name: str, definition: str, function: Callable[..., Any], python: Callable[..., Any]) -> Op:
    return row(Op(name, 2, Rule.SAME, INTEGERS, Member(name, definition), on_wide(function), python=python))


SHL = _shift("shift_left", _SHIFT_LEFT, _shift_left, operator.lshift)
SHR = _shift("shift_right", _SHIFT_RIGHT, _shift_right, operator.rshift)
# Counts that are constants inside the width need no test; the frontend chooses these rows.
SHL_CONSTANT = row(
    Op("shift_left_constant", 2, Rule.SAME, INTEGERS, Infix("<<", 11), on_wide(_shift_left), wraps=True)
)  # fmt: skip
SHR_CONSTANT = row(Op("shift_right_constant", 2, Rule.SAME, INTEGERS, Infix(">>", 11), on_wide(_shift_right)))

# --- builtins --------------------------------------------------------------------------------------------------------


def _sign(x: Term) -> Term:
    return x.lift(1).where(x > 0, x.lift(-1).where(x < 0, 0))


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
    Op(
        "abs_complex", 1, Rule.SAME, COMPLEX, Member("complex_abs", _COMPLEX_ABS), _half_complex(torch.abs),
        result=RealOf(Var()),
    )
)  # fmt: skip


ABS_INT = row(Op("abs_int", 1, Rule.SAME, INTEGERS, Named("metal::abs"), on_wide(integers.absolute), wraps=True))
ABS = row(
    Op(
        "abs", 1, Rule.MATHS, FLOATING, Named("metal::fabs"), torch.abs, lambda x, r: (_sign(x),), python=abs,
        on_integer=ABS_INT, on_complex=ABS_COMPLEX,
    )
)  # fmt: skip


def _extreme(
    name: str, function: Callable[..., Any], of_integers: Callable[..., Any], on_bool: Op, python: Callable[..., Any]
) -> Op:
    def value(x: torch.Tensor, y: torch.Tensor) -> Any:
        return on_wide(of_integers)(x, y) if x.dtype in WIDE_UNSIGNED else function(x, y)

    def partials(x: Term, y: Term, r: Term) -> tuple[Term, Term]:
        half = x.lift(0.5).where(x.equals(y), 0)  # torch shares the gradient where the operands are equal
        first = x > y if name == "max" else x < y
        second = y > x if name == "max" else y < x
        return x.lift(1).where(first, half), x.lift(1).where(second, half)

    return row(
        Op(
            name, 2, Rule.SAME, INTEGERS | FLOATING, Named(f"c10::metal::{name}"), value, partials, python=python,
            header=UTILS, on_bool=on_bool,
        )
    )  # fmt: skip


MAX = _extreme("max", torch.maximum, integers.greatest, OR, max)
MIN = _extreme("min", torch.minimum, integers.least, AND, min)

ROUND = row(
    Op("round", 1, Rule.MATHS, FLOATING, Named("metal::rint"), torch.round, lambda x, r: (0,), python=round)
)  # fmt: skip


# --- complex numbers -------------------------------------------------------------------------------------------------


def _field(name: str, component: str, function: Callable[[torch.Tensor], torch.Tensor]) -> Op:
    def value(z: torch.Tensor) -> torch.Tensor:
        return function(z.to(torch.complex64)).half() if z.dtype == torch.complex32 else function(z)

    result: Type = RealOf(Var())
    return row(Op(name, 1, Rule.SAME, COMPLEX, Field(component), value, result=result))


def _make_complex(real: torch.Tensor, imag: torch.Tensor) -> torch.Tensor:
    if real.dtype == torch.float16:
        return torch.complex(real.float(), imag.float()).to(torch.complex32)
    return torch.complex(real, imag)


# The type is the call's, which the printer writes in place of `{type}`.
MAKE_COMPLEX = row(
    Op(
        "make_complex", 2, Rule.SAME, FLOATING, Wrapped("{type}({0}, {1})"), _make_complex, header=UTILS
    )
)  # fmt: skip
REAL_PART = _field("real", "x", torch.real)
IMAG_PART = _field("imag", "y", torch.imag)
