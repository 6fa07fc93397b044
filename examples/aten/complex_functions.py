"""Functions of complex numbers that the gallery's functors share.

All are called with complex64: a functor with `opmath=True` widens complex32 before and rounds once after. They keep the
full range of float32, where the textbook formula squares a part and overflows, and nearly its full precision, where the
textbook formula subtracts two numbers that are almost equal.
"""

from __future__ import annotations

import math

import pymetal
from pymetal import complex64, float32, metal

LN2 = math.log(2)


@pymetal.func
def times_i(z: complex64) -> complex64:
    """i z."""
    return complex(-z.imag, z.real)


@pymetal.func
def divided_by_i(z: complex64) -> complex64:
    """z / i = -i z."""
    return complex(z.imag, -z.real)


@pymetal.func
def divide(a: complex64, b: complex64) -> complex64:
    """a / b by Smith's rule: b is scaled by its larger part, so that no square is formed."""
    if b.imag == 0:
        return complex(a.real / b.real, a.imag / b.real)
    if metal.fabs(b.real) >= metal.fabs(b.imag):
        ratio = b.imag / b.real
        divisor = b.real + b.imag * ratio
        return complex((a.real + a.imag * ratio) / divisor, (a.imag - a.real * ratio) / divisor)
    ratio = b.real / b.imag
    divisor = b.real * ratio + b.imag
    return complex((a.real * ratio + a.imag) / divisor, (a.imag * ratio - a.real) / divisor)


@pymetal.func
def square_of_length_minus_one(x: float, y: float) -> float:
    """x^2 + y^2 - 1 to nearly twice the precision of float: the rounding errors of the squares are added back."""
    larger = metal.fmax(metal.fabs(x), metal.fabs(y))
    smaller = metal.fmin(metal.fabs(x), metal.fabs(y))
    square = larger * larger
    square_rest = metal.fma(larger, larger, -square)
    other = smaller * smaller
    other_rest = metal.fma(smaller, smaller, -other)
    whole = square - 1
    total = whole + other
    lost = other - (total - whole)
    return total + (lost + square_rest + other_rest)


@pymetal.func
def log_length(x: float, y: float) -> float:
    """log |x + i y|; near the unit circle through log1p, as the length itself has rounded to one there."""
    length = math.hypot(x, y)
    if 0.5 < length < 2:
        return 0.5 * math.log1p(square_of_length_minus_one(x, y))
    return math.log(length)


@pymetal.func
def complex_log(z: complex64) -> complex64:
    """The principal logarithm."""
    return complex(log_length(z.real, z.imag), math.atan2(z.imag, z.real))


@pymetal.func
def complex_log1p(z: complex64) -> complex64:
    """log(1 + z). For small z, |1 + z|^2 - 1 is x (2 + x) + y^2, of terms that are small themselves; where they cancel,
    the product is split into what it rounds to and the rest."""
    x, y = z.real, z.imag
    angle = math.atan2(y, 1 + x)
    if math.hypot(x, y) > 0.5:
        return complex(log_length(1 + x, y), angle)
    linear, rest = x * (2 + x), metal.fma(x, 2 + x, -(x * (2 + x)))
    return complex(0.5 * math.log1p(metal.fma(y, y, linear) + rest), angle)


@pymetal.func
def complex_exp(z: complex64) -> complex64:
    """e to the power of z. Taken as the square of half the power, so that a small cosine may save a large power."""
    if z.imag == 0:
        return complex(math.exp(z.real), z.imag)
    if metal.fabs(z.real) < 80:
        length = math.exp(z.real)
        return complex(length * math.cos(z.imag), length * math.sin(z.imag))
    root = math.exp(0.5 * z.real)
    return complex(root * math.cos(z.imag) * root, root * math.sin(z.imag) * root)


@pymetal.func
def complex_sqrt(z: complex64) -> complex64:
    """The root whose real part is not negative. The part that does not cancel is computed, and gives the other one."""
    if math.isinf(z.imag):
        return complex(math.inf, z.imag)
    if z.real == 0 and z.imag == 0:
        return complex(float32(0), z.imag)
    # Halved before the sum, which may be larger than any float; small numbers are scaled up first.
    tiny = math.hypot(z.real, z.imag) < 1e-30
    scale = 2.0**40 if tiny else 1.0
    x, y = z.real * scale, z.imag * scale
    part = math.sqrt(0.5 * metal.fabs(x) + 0.5 * math.hypot(x, y))
    other = 0.5 * y / part
    down = 2.0**-20 if tiny else 1.0
    if z.real >= 0:
        return complex(part * down, other * down)
    return complex(metal.fabs(other) * down, math.copysign(part, z.imag) * down)


@pymetal.func
def real_asinh(x: float) -> float:
    """The inverse of sinh, exact near zero and without a square that overflows."""
    size = metal.fabs(x)
    if size > 1e9:
        return math.copysign(math.log(size) + LN2, x)
    return math.copysign(math.log1p(size + size * size / (1 + math.sqrt(1 + size * size))), x)


@pymetal.func
def complex_sinh(z: complex64) -> complex64:
    """sinh x cos y + i cosh x sin y."""
    if z.imag == 0:
        return complex(math.sinh(z.real), z.imag)
    if metal.fabs(z.real) < 20:
        return complex(math.sinh(z.real) * math.cos(z.imag), math.cosh(z.real) * math.sin(z.imag))
    half = math.exp(0.5 * metal.fabs(z.real))
    sine, cosine = 0.5 * half * math.sin(z.imag), 0.5 * half * math.cos(z.imag)
    return complex(math.copysign(1.0, z.real) * cosine * half, sine * half)


@pymetal.func
def complex_cosh(z: complex64) -> complex64:
    """cosh x cos y + i sinh x sin y."""
    if z.imag == 0:
        return complex(math.cosh(z.real), z.real * z.imag)
    if metal.fabs(z.real) < 20:
        return complex(math.cosh(z.real) * math.cos(z.imag), math.sinh(z.real) * math.sin(z.imag))
    half = math.exp(0.5 * metal.fabs(z.real))
    sine, cosine = 0.5 * half * math.sin(z.imag), 0.5 * half * math.cos(z.imag)
    return complex(cosine * half, math.copysign(1.0, z.real) * sine * half)


@pymetal.func
def complex_tanh(z: complex64) -> complex64:
    """Kahan's formula, in tan y and sinh x; beyond |x| = 10 the real part is one, and the imaginary one nearly zero."""
    if metal.fabs(z.real) > 10:
        decay = math.exp(-metal.fabs(z.real))
        return complex(math.copysign(1.0, z.real), 4 * math.sin(z.imag) * math.cos(z.imag) * decay * decay)
    tangent, sine = math.tan(z.imag), math.sinh(z.real)
    slope, length = 1 + tangent * tangent, math.sqrt(1 + sine * sine)
    divisor = 1 + slope * sine * sine
    if math.isinf(tangent):
        return complex(length / sine, 1 / tangent)
    return complex(slope * length * sine / divisor, tangent / divisor)


@pymetal.func
def complex_asin(z: complex64) -> complex64:
    """Kahan's formula: of the roots of 1 - z and 1 + z, only sums of one sign are formed."""
    r, s = complex_sqrt(1 - z), complex_sqrt(1 + z)
    return complex(math.atan2(z.real, r.real * s.real - r.imag * s.imag), real_asinh(r.real * s.imag - r.imag * s.real))


@pymetal.func
def complex_acos(z: complex64) -> complex64:
    """Kahan's formula, as for the inverse sine."""
    r, s = complex_sqrt(1 - z), complex_sqrt(1 + z)
    return complex(2 * math.atan2(r.real, s.real), real_asinh(s.real * r.imag - s.imag * r.real))


@pymetal.func
def complex_atan(z: complex64) -> complex64:
    """The real part by the angle of (1 - |z|^2, 2 x), the imaginary part by the distances to i and -i."""
    x, y = z.real, metal.fabs(z.imag)
    if metal.fabs(x) > 1e9 or y > 1e9:
        return complex(math.copysign(math.pi / 2, x), -divide(complex(1.0, 0.0), z).imag)
    real = 0.5 * math.atan2(2 * x, -square_of_length_minus_one(x, y))
    imag = 0.25 * math.log1p(4 * y / (x * x + (1 - y) * (1 - y)))
    return complex(real, math.copysign(imag, z.imag))


@pymetal.func
def complex_pow(a: complex64, b: complex64) -> complex64:
    """e^(b log a); 1 for b = 0, where c10's has 0 for a = 0, and 0 for a = 0, where the logarithm is infinite."""
    if b == 0:
        return complex(1.0, 0.0)
    if a == 0:
        return complex(0.0, 0.0)
    return complex_exp(b * complex_log(a))
