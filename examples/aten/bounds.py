"""How near each functor of the gallery comes to the exact value, and why not nearer where it is not near.

In units in the last place, over the inputs of `catalogue`; the gallery's tests hold every functor to its bound, and
`docs/gallery.md` has what was measured. Complex numbers are measured in units of their larger part. Half and bfloat are
computed in float: within :data:`HALF`.
"""

from __future__ import annotations

from dataclasses import dataclass

HALF = 0.51


@dataclass(frozen=True)
class Bound:
    """The largest error of a float32 result, and of a complex64 one."""

    real: float
    complex: float = 0.0
    why: str = ""


# Every result is the exact one: bits, integers, comparisons, choices.
EXACT = frozenset(
    {
        "div_trunc",
        "fmod",
        "gcd",
        "lcm",
        "fmax",
        "fmin",
        "maximum",
        "minimum",
        "heaviside",
        "copysign",
        "make_complex",
        "nextafter",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "bitwise_left_shift",
        "bitwise_right_shift",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "logical_and",
        "logical_or",
        "logical_xor",
        "neg",
        "floor",
        "ceil",
        "trunc",
        "round_decimals",
        "logical_not",
        "bitwise_not",
        "nan_to_num",
        "round",
        "hardshrink",
        "shrink_backward",
        "relu",
        "sign",
        "signbit",
        "frac",
        "hardtanh_backward",
    }
)

# Not exact, and not correctly rounded at every value.
BOUNDS: dict[str, Bound] = {
    "lerp_alpha": Bound(1.5, 3),
    "add_alpha": Bound(0.51, 2),
    "mul": Bound(0.51, 2),
    "div_true": Bound(0.51, 2.5),
    "div_floor": Bound(2.5, why="the quotient of numbers far apart, (a - a % b) / b, rounds twice"),
    "atan2": Bound(0.51),
    "hypot": Bound(2.5),
    "polar": Bound(0.51, 1.5),
    "pow": Bound(0.51, 48, why="complex: the rounding of b log a is in the exponent"),
    "zeta": Bound(12, why="the rounding of q + k is multiplied by x"),
    "igamma": Bound(24, why="c10's series; its factor x^a e^-x rounds in the exponent"),
    "igammac": Bound(76, why="c10's series; its factor x^a e^-x rounds in the exponent"),
    "logaddexp": Bound(1.5, 56, why="complex: the rounding of the angle b - a where the sum nearly cancels"),
    "logaddexp2": Bound(2),
    "xlogy": Bound(1.5),
    "xlog1py": Bound(2.5),
    "chebyshev_polynomial_t": Bound(7, why="c10's cos(n acos x) from degree 7 on: the angle rounds"),
    "chebyshev_polynomial_u": Bound(28, why="c10's cos(n acos x) from degree 7 on: the angle rounds"),
    "chebyshev_polynomial_v": Bound(36, why="c10's cos(n acos x) from degree 7 on: the angle rounds"),
    "chebyshev_polynomial_w": Bound(12, why="c10's cos(n acos x) from degree 7 on: the angle rounds"),
    "shifted_chebyshev_polynomial_t": Bound(28, why="c10's, of the rounded 2 x - 1"),
    "shifted_chebyshev_polynomial_u": Bound(68, why="c10's, of the rounded 2 x - 1"),
    "shifted_chebyshev_polynomial_v": Bound(60, why="c10's, of the rounded 2 x - 1"),
    "shifted_chebyshev_polynomial_w": Bound(32, why="c10's, of the rounded 2 x - 1"),
    "hermite_polynomial_h": Bound(60, why="c10's recurrence, whose terms are larger than the sum"),
    "hermite_polynomial_he": Bound(32, why="c10's recurrence, whose terms are larger than the sum"),
    "laguerre_polynomial_l": Bound(3),
    "lerp": Bound(3, 3),
    "exp": Bound(0.51, 2),
    "exp2": Bound(0.51, 36, why="complex: the rounding of the angle y log 2"),
    "expm1": Bound(2.5, 2.5),
    "sin": Bound(0.51, 3),
    "cos": Bound(0.51, 3),
    "tan": Bound(0.51, 3.5),
    "sinh": Bound(0.51, 2.5),
    "cosh": Bound(0.51, 2.5),
    "tanh": Bound(0.51, 3.5),
    "asin": Bound(0.51, 4),
    "acos": Bound(0.51, 2),
    "atan": Bound(0.51, 2.5),
    "sqrt": Bound(0.51, 2),
    "reciprocal": Bound(0.51, 2),
    "rsqrt": Bound(2, 3.5),
    "sigmoid": Bound(2, 7.5, why="complex: 1 + e^-z nearly cancels"),
    "log": Bound(0.51, 2),
    "log2": Bound(0.51, 2.5),
    "log10": Bound(0.51, 3),
    "log1p": Bound(2.5, 4),
    "sqr": Bound(0.51, 1.5),
    "pow_scalar": Bound(0.51, 16, why="complex: the rounding of b log a is in the exponent"),
    "abs": Bound(0, 2),
    "erf": Bound(1),
    "erfc": Bound(3.5),
    "erfcx": Bound(2),
    "erfinv": Bound(2.5),
    "lgamma": Bound(5.5, why="between its zeros on the negative axis"),
    "digamma": Bound(12, why="between its zeros on the negative axis; the cotangent is of size 10 there"),
    "trigamma": Bound(4),
    "polygamma": Bound(28, why="between its zeros on the negative axis, where two sums of size 16 cancel"),
    "sinc": Bound(3, 16, why="complex: the rounding of pi y is in the exponent"),
    "elu": Bound(2.5),
    "elu_backward": Bound(2),
    "softplus": Bound(16, why="far below zero, where the rounding of beta x is in the exponent"),
    "softplus_backward": Bound(2.5),
    "log_sigmoid_forward": Bound(2.5),
    "log_sigmoid_backward": Bound(2.5),
    "hardsigmoid": Bound(1.5),
    "hardsigmoid_backward": Bound(1),
    "hardswish": Bound(2),
    "hardswish_backward": Bound(2),
    "silu": Bound(2),
    "silu_backward": Bound(2.5),
    "glu": Bound(2.5),
    "mish": Bound(2),
    "mish_backward": Bound(3),
    "gelu": Bound(2.5),
    "gelu_backward": Bound(3.5),
    "gelu_tanh": Bound(32, why="the rounding of u, which is up to 50, is in the exponent"),
    "gelu_tanh_backward": Bound(3.5),
    "sigmoid_backward": Bound(2.5, 3),
    "tanh_backward": Bound(2.5, 3),
    "logit_backward": Bound(2),
    "addcmul": Bound(1.5, 2.5),
    "addcdiv": Bound(1, 1.5),
    "ndtri": Bound(2.5),
    "log_ndtr": Bound(4),
    "airy_ai": Bound(3),
    "legendre_polynomial_p": Bound(4),
    "sgn": Bound(0, 3),
    "logit": Bound(2.5),
}


def bound(name: str) -> Bound:
    """The bound of a functor; those in neither table are correctly rounded."""
    return Bound(0.0) if name in EXACT else BOUNDS.get(name, Bound(HALF, HALF))
