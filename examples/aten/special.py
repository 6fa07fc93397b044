"""The special functions of `BinaryKernel.metal` and `UnaryKernel.metal`. Integers are read as float."""

from __future__ import annotations

import math

import pymetal
from examples.aten.complex_functions import complex_exp, complex_log1p, divide
from examples.aten.gamma import digamma_of, hurwitz_zeta, log_gamma
from examples.aten.kinds import FLOATING
from examples.aten.normal import complementary_erf, exp_square, inverse_erf, inverse_erfc, scaled_erfc
from pymetal import Complex, T, int32, int64, metal

INV_LN2 = 1 / math.log(2)

# --- error functions -------------------------------------------------------------------------------------------------


@pymetal.unary(promotion="int_to_float")
def erf(x: T) -> T:
    """The error function."""
    return math.erf(x)


@pymetal.unary(promotion="int_to_float", opmath=True)
def erfc(x: T) -> T:
    """1 - erf(x). By erfcx from 1/2 on, as c10's subtraction has no digit left from 4 on."""
    return complementary_erf(x)


@pymetal.unary(promotion="int_to_float", opmath=True)
def erfcx(x: T) -> T:
    """e^(x^2) erfc(x). Of negative numbers by 2 e^(x^2) - erfcx(-x), with the rounding of the square added back."""
    return scaled_erfc(x) if x >= 0 else 2 * exp_square(x) - scaled_erfc(-x)


@pymetal.unary(promotion="int_to_float", opmath=True)
def erfinv(y: T) -> T:
    """The inverse of erf, by Newton's method: on erf itself near zero, on erfc near one, where 1 - |y| is exact.
    c10's is the first guess alone."""
    size = metal.fabs(y)
    if size > 1 or math.isnan(y):
        return math.nan
    if size == 1:
        return math.copysign(math.inf, y)
    return inverse_erf(y) if size <= 0.5 else math.copysign(inverse_erfc(1 - size), y)


# --- gamma functions -------------------------------------------------------------------------------------------------


@pymetal.unary(promotion="int_to_float", opmath=True)
def lgamma(x: T) -> T:
    """log |gamma(x)|, with its digits near the zeros at 1 and 2."""
    return log_gamma(x)


@pymetal.unary(promotion="int_to_float", opmath=True)
def digamma(x: T) -> T:
    """The derivative of lgamma."""
    return digamma_of(x)


@pymetal.unary(promotion="int_to_float", opmath=True)
def trigamma(x: T) -> T:
    """The derivative of digamma: the sum of 1 / (x + k)^2."""
    return hurwitz_zeta(2.0, x)


@pymetal.unary(promotion="int_to_float", opmath=True)
def polygamma(x: T, *, n: int32) -> T:
    """The derivative of digamma of order n: (-1)^(n + 1) n! zeta(n + 1, x). Infinite at the poles; NaN for n < 0."""
    if n <= 0:
        return digamma_of(x) if n == 0 else math.nan
    size = math.exp(log_gamma(n + 1.0)) * hurwitz_zeta(n + 1.0, x)
    return size if n % 2 == 1 else -size


@pymetal.binary(promotion="int_to_float", opmath=True)
def zeta(x: T, q: T) -> T:
    """Hurwitz's zeta function: the sum of (k + q)^-x over k. c10's is NaN where its terms underflow."""
    return hurwitz_zeta(x, q)


@pymetal.binary(dtypes=FLOATING)
def igamma(a: T, x: T) -> T:
    """The regularised lower incomplete gamma function."""
    return metal.c10.igamma(a, x)


@pymetal.binary(dtypes=FLOATING)
def igammac(a: T, x: T) -> T:
    """The regularised upper incomplete gamma function."""
    return metal.c10.igammac(a, x)


# --- sinc ------------------------------------------------------------------------------------------------------------


@pymetal.unary(promotion="int_to_float", opmath=True)
def sinc(x: T) -> T:
    """sin(pi x) / (pi x), and 1 at zero. The sine of half turns is zero at every integer; upstream's product is not."""
    return 1 if x == 0 else metal.precise.sinpi(x) / (math.pi * x)


@sinc.overload
def sinc(z: Complex) -> Complex:
    """1 at zero, where upstream has 0."""
    if z == 0:
        return complex(1.0, 0.0)
    y = math.pi * z.imag
    sine = complex(metal.precise.sinpi(z.real) * math.cosh(y), metal.precise.cospi(z.real) * math.sinh(y))
    return divide(sine, z * math.pi)


# --- logarithms of several -------------------------------------------------------------------------------------------


@pymetal.binary(promotion="int_to_float", opmath=True)
def logaddexp(a: T, b: T) -> T:
    """log(e^a + e^b), without overflow: the larger operand is taken out of the logarithm."""
    larger = max(a, b)
    if math.isinf(larger) or math.isnan(larger):
        return larger
    return larger + math.log1p(math.exp(-metal.fabs(a - b)))


@logaddexp.overload
def logaddexp(a: Complex, b: Complex) -> Complex:
    larger = a if a.real >= b.real else b
    smaller = b if a.real >= b.real else a
    return larger + complex_log1p(complex_exp(smaller - larger))


@pymetal.binary(promotion="int_to_float", opmath=True)
def logaddexp2(a: T, b: T) -> T:
    """log2(2^a + 2^b), without overflow."""
    larger = max(a, b)
    if math.isinf(larger) or math.isnan(larger):
        return larger
    return larger + math.log1p(metal.precise.exp2(-metal.fabs(a - b))) * INV_LN2


@pymetal.binary(promotion="int_to_float", opmath=True)
def xlogy(x: T, y: T) -> T:
    """x log y, and 0 for x = 0 whatever y is but NaN. Rounded once in half, upstream twice."""
    if x == 0 and not math.isnan(y):
        return 0
    return x * math.log(y)


@pymetal.binary(promotion="int_to_float", opmath=True)
def xlog1py(x: T, y: T) -> T:
    """x log(1 + y), and 0 for x = 0 whatever y is but NaN."""
    if x == 0 and not math.isnan(y):
        return 0
    return x * math.log1p(y)


# --- orthogonal polynomials ------------------------------------------------------------------------------------------
# The degree is the second operand, read as an integer; polynomials of negative degree are zero.


@pymetal.binary(promotion="int_to_float")
def chebyshev_polynomial_t(x: T, n: T) -> T:
    """Chebyshev's polynomial of the first kind: cos(n acos x)."""
    return metal.c10.chebyshev_polynomial_t_forward(x, int64(n))


@pymetal.binary(promotion="int_to_float")
def chebyshev_polynomial_u(x: T, n: T) -> T:
    """Chebyshev's polynomial of the second kind: sin((n + 1) acos x) / sin(acos x)."""
    return metal.c10.chebyshev_polynomial_u_forward(x, int64(n))


@pymetal.binary(promotion="int_to_float")
def chebyshev_polynomial_v(x: T, n: T) -> T:
    """Chebyshev's polynomial of the third kind."""
    return metal.c10.chebyshev_polynomial_v_forward(x, int64(n))


@pymetal.binary(promotion="int_to_float")
def chebyshev_polynomial_w(x: T, n: T) -> T:
    """Chebyshev's polynomial of the fourth kind."""
    return metal.c10.chebyshev_polynomial_w_forward(x, int64(n))


@pymetal.binary(promotion="int_to_float")
def shifted_chebyshev_polynomial_t(x: T, n: T) -> T:
    """Chebyshev's polynomial of the first kind, of 2 x - 1."""
    return metal.c10.shifted_chebyshev_polynomial_t_forward(x, int64(n))


@pymetal.binary(promotion="int_to_float")
def shifted_chebyshev_polynomial_u(x: T, n: T) -> T:
    """Chebyshev's polynomial of the second kind, of 2 x - 1."""
    return metal.c10.shifted_chebyshev_polynomial_u_forward(x, int64(n))


@pymetal.binary(promotion="int_to_float")
def shifted_chebyshev_polynomial_v(x: T, n: T) -> T:
    """Chebyshev's polynomial of the third kind, of 2 x - 1."""
    return metal.c10.shifted_chebyshev_polynomial_v_forward(x, int64(n))


@pymetal.binary(promotion="int_to_float")
def shifted_chebyshev_polynomial_w(x: T, n: T) -> T:
    """Chebyshev's polynomial of the fourth kind, of 2 x - 1."""
    return metal.c10.shifted_chebyshev_polynomial_w_forward(x, int64(n))


@pymetal.binary(promotion="int_to_float")
def hermite_polynomial_h(x: T, n: T) -> T:
    """The physicists' Hermite polynomial."""
    return metal.c10.hermite_polynomial_h_forward(x, int64(n))


@pymetal.binary(promotion="int_to_float")
def hermite_polynomial_he(x: T, n: T) -> T:
    """The probabilists' Hermite polynomial."""
    return metal.c10.hermite_polynomial_he_forward(x, int64(n))


@pymetal.binary(promotion="int_to_float", opmath=True)
def laguerre_polynomial_l(x: T, n: T) -> T:
    """Laguerre's polynomial, by its recurrence for the steps from one degree to the next: near zero, where every
    polynomial is 1, the steps are small, and so are their errors. c10 has it from torch 2.15 on."""
    degree = int64(n)
    if degree < 0:
        return 0
    value, step = 1.0, 0.0
    k = 0
    while k < degree and not math.isnan(value):
        step = (k * step - x * value) / (k + 1)
        value += step
        k += 1
    return value
