"""Functors for the operators of the bug cases, each as short as it can be and right where a known report was wrong."""

# Annotations are element types and pymetal's overloads are functions of one name, which a type checker cannot know.
from __future__ import annotations

import math

import pymetal
from pymetal import T, int16, int32, metal

NUMBERS = ("floating", "integral")
EVERY = ("floating", "integral", "bool", "complex")


@pymetal.binary(dtypes=NUMBERS)
def remainder(a: T, b: T) -> T:
    return a % b


@pymetal.binary(dtypes=NUMBERS)
def fmod(a: T, b: T) -> T:
    return metal.c10.fmod(a, b)


@pymetal.unary(dtypes=NUMBERS)
def absolute(a: T) -> T:
    return abs(a)


@pymetal.binary(dtypes=NUMBERS)
def floor_divide(a: T, b: T) -> T:
    return a // b


@pymetal.binary(dtypes=EVERY)
def add(a: T, b: T, *, alpha: T = 1) -> T:
    return a + alpha * b


@pymetal.binary(dtypes=("floating", "integral", "complex"))
def sub(a: T, b: T, *, alpha: T = 1) -> T:
    return a - alpha * b


@pymetal.binary(dtypes=EVERY)
def mul(a: T, b: T) -> T:
    return a * b


@pymetal.binary(promotion="int_to_float", opmath=True)
def true_divide(a: T, b: T) -> T:
    return a / b


@pymetal.binary(dtypes="floating")
def trunc_divide(a: T, b: T) -> T:
    return metal.trunc(a / b)


@pymetal.binary(promotion="always_bool")
def eq(a: T, b: T) -> bool:
    return a == b


@pymetal.binary(promotion="always_bool")
def le(a: T, b: T) -> bool:
    return a <= b


@pymetal.func
def order(x: pymetal.float32) -> int32:
    """An integer in the order of the floats; the two zeros are one."""
    bits = metal.as_type(x, int32)
    return bits if bits >= 0 else -2147483648 - bits


@pymetal.binary(promotion="always_bool", dtypes="floating")
def gt(a: T, b: T) -> bool:
    """On bits: a GPU that flushes subnormals would call them zero."""
    x, y = float(a), float(b)
    return not math.isnan(x) and not math.isnan(y) and order(x) > order(y)


@pymetal.ternary(dtypes=NUMBERS)
def clamp(x: T, low: T, high: T) -> T:
    return metal.c10.min(metal.c10.max(x, low), high)


@pymetal.binary(dtypes=NUMBERS)
def clamp_min(x: T, low: T) -> T:
    return metal.c10.max(x, low)


@pymetal.unary(dtypes=NUMBERS)
def ceil(x: T) -> T:
    return x if pymetal.is_integral(T) else metal.ceil(x)


@pymetal.unary(dtypes=NUMBERS)
def rounded(x: T) -> T:
    return round(x)


@pymetal.binary(dtypes="integral")
def lcm(a: T, b: T) -> T:
    x, y = abs(a), abs(b)
    while y != 0:
        x, y = y, metal.c10.fmod(x, y)
    return a if x == 0 else abs(a // x * b)


@pymetal.binary(dtypes=("floating", "integral", "complex"))
def power(a: T, b: T) -> T:
    if pymetal.is_complex(T):
        return T(1) if b == 0 else a**b  # through the logarithm of zero it would be 0, or NaN
    else:  # noqa: RET505 - decided when it is compiled
        return a**b


@pymetal.unary(promotion="always_bool")
def isnan(x: T) -> bool:
    return x != x


@pymetal.unary(promotion="always_bool", dtypes=NUMBERS)
def isfinite(x: T) -> bool:
    return True if pymetal.is_integral(T) else math.isfinite(x)


@pymetal.unary(promotion="always_bool", dtypes=NUMBERS)
def isneginf(x: T) -> bool:
    return False if pymetal.is_integral(T) else math.isinf(x) and x < 0


@pymetal.unary(promotion="int_to_float", opmath=True)
def sigmoid(x: T) -> T:
    e = math.exp(-metal.fabs(x))
    return 1 / (1 + e) if x >= 0 else e / (1 + e)


@pymetal.binary(dtypes="integral")
def right_shift(a: T, b: T) -> T:
    return a >> b


@pymetal.unary(promotion="int_to_float")
def to_float(x: T) -> T:
    return x


@pymetal.ternary(dtypes=NUMBERS)
def addcmul(x: T, a: T, b: T, *, value: T = 1) -> T:
    return x + value * a * b


@pymetal.ternary(dtypes="floating")
def addcdiv(x: T, a: T, b: T, *, value: T = 1) -> T:
    return x + value * (a / b)


@pymetal.unary(promotion="always_bool", dtypes=EVERY)
def logical_not(x: T) -> bool:
    return x == 0


@pymetal.binary(promotion="int_to_float")
def copysign(a: T, b: T) -> T:
    return metal.copysign(a, b)


@pymetal.binary(dtypes="integral")
def bitwise_xor(a: T, b: T) -> T:
    return a ^ b


@pymetal.binary(dtypes="floating")
def fmax(a: T, b: T) -> T:
    return metal.fmax(a, b)


@pymetal.binary(dtypes="floating")
def fmin(a: T, b: T) -> T:
    return metal.fmin(a, b)


@pymetal.binary(dtypes=NUMBERS)
def maximum(a: T, b: T) -> T:
    return max(a, b)


@pymetal.binary(dtypes="floating", opmath=True)
def lerp(a: T, b: T, *, weight: float) -> T:
    """From the nearer end, so that a weight of one is the other end exactly."""
    return a + weight * (b - a) if metal.fabs(weight) < 0.5 else b - (b - a) * (1 - weight)


@pymetal.ternary(dtypes="floating")
def lerp3(a: T, b: T, weight: T) -> T:
    return a + weight * (b - a)


@pymetal.unary(dtypes="floating")
def softshrink(x: T, *, lambd: float = 0.5) -> T:
    if x > lambd:
        return x - lambd
    return x + lambd if x < -lambd else x * 0


@pymetal.unary(dtypes="floating")
def hardtanh(x: T, *, low: float = -1.0, high: float = 1.0) -> T:
    return T(metal.c10.min(metal.c10.max(float(x), low), high))


@pymetal.unary(dtypes="floating")
def leaky_relu(x: T, *, negative_slope: float = 0.01) -> T:
    return x if x > 0 else T(x * negative_slope)


@pymetal.unary(dtypes="floating")
def hardshrink(x: T, *, lambd: float = 0.5) -> T:
    return T(0) if -lambd <= x <= lambd else x


@pymetal.binary(dtypes="floating", opmath=True)
def hypot(a: T, b: T) -> T:
    x, y = metal.fabs(a), metal.fabs(b)
    if math.isinf(x) or math.isinf(y):
        return math.inf
    large = max(x, y)
    small = min(x, y)
    ratio = small / large
    return x + y if x != x or y != y or large == 0 else large * metal.precise.sqrt(1 + ratio * ratio)


@pymetal.unary(dtypes=NUMBERS)
def sign(x: T) -> T:
    return T(x > 0) - T(x < 0)


@pymetal.binary(dtypes="floating", opmath=True)
def logaddexp(a: T, b: T) -> T:
    gap = metal.fabs(a - b)
    return a + b if math.isnan(gap) else max(a, b) + math.log1p(math.exp(-gap))


@logaddexp.overload
def logaddexp(a: pymetal.float32, b: pymetal.float32) -> pymetal.float32:
    """Infinities of one sign are their own sum."""
    if a == b and math.isinf(a):
        return a
    return max(a, b) + math.log1p(math.exp(-metal.fabs(a - b)))


@pymetal.binary(promotion="int_to_float", opmath=True)
def xlogy(x: T, y: T) -> T:
    if y != y:
        return y
    return 0 * x if x == 0 else x * math.log(y)


@pymetal.binary(dtypes=NUMBERS)
def heaviside(x: T, at_zero: T) -> T:
    return at_zero if x == 0 else T(x > 0)


@pymetal.unary(promotion="int_to_float")
def sqrt(x: T) -> T:
    return metal.precise.sqrt(x)


@pymetal.binary(promotion="int_to_float", opmath=True)
def atan2(a: T, b: T) -> T:
    return metal.precise.atan2(a, b)


@pymetal.unary(dtypes="floating")
def frac(x: T) -> T:
    return x - metal.trunc(x)


@pymetal.unary(promotion="int_to_float", opmath=True)
def expm1(x: T) -> T:
    return math.expm1(x)


@pymetal.unary(promotion="int_to_float", opmath=True)
def tanh(x: T) -> T:
    return math.tanh(x)


@pymetal.unary(dtypes="floating")
def softplus(x: T, *, beta: float = 1.0, threshold: float = 20.0) -> T:
    z = float(x) * beta
    return x if z > threshold else T(math.log1p(math.exp(z)) / beta)


@pymetal.func
def step_bits(a: int32, b: int32, lowest: int32) -> int32:
    """The bits of the next float after `a` towards `b`; `lowest` are those of -0."""
    x = a if a >= 0 else lowest - a
    y = b if b >= 0 else lowest - b
    if x == y:
        return b
    moved = x + 1 if x < y else x - 1
    return moved if moved >= 0 else lowest - moved


@pymetal.binary
def nextafter(a: pymetal.float32, b: pymetal.float32) -> pymetal.float32:
    if math.isnan(a) or math.isnan(b):
        return math.nan
    return metal.as_type(step_bits(metal.as_type(a, int32), metal.as_type(b, int32), -2147483648), pymetal.float32)


@nextafter.overload
def nextafter(a: pymetal.bfloat16, b: pymetal.bfloat16) -> pymetal.bfloat16:
    if math.isnan(a) or math.isnan(b):
        return math.nan
    bits = step_bits(metal.as_type(a, int16), metal.as_type(b, int16), -32768)
    return metal.as_type(int16(bits), pymetal.bfloat16)


@pymetal.unary(promotion="int_to_float", opmath=True)
def digamma(x: T) -> T:
    if x == 0:
        return metal.copysign(math.inf, -x)
    return metal.c10.digamma(x)


@pymetal.unary(promotion="int_to_float", opmath=True)
def polygamma(x: T, *, n: int32) -> T:
    if n > 0 and x <= 0 and x == metal.floor(x):
        return math.inf if n % 2 == 1 else math.nan
    return metal.c10.digamma(x) if n == 0 else metal.c10.polygamma(n, x)


@pymetal.unary(dtypes="floating", opmath=True)
def logit(x: T) -> T:
    return math.log(x / (1 - x))


@pymetal.unary(dtypes="floating")
def logit_eps(x: T, *, eps: float) -> T:
    z = metal.clamp(float(x), eps, 1 - eps)
    return T(math.log(z / (1 - z)))


@pymetal.unary(dtypes=("floating", "integral", "complex"))
def neg(x: T) -> T:
    return -x


@pymetal.unary(dtypes="floating")
def elu(x: T, *, alpha: float = 1.0) -> T:
    return x if x > 0 else T(alpha * math.expm1(float(x)))


@pymetal.ternary(dtypes=EVERY)
def where(condition: T, a: T, b: T) -> T:
    return a if condition != 0 else b


@pymetal.unary(dtypes="floating")
def nan_to_num(x: T, *, nan: float = 0.0) -> T:
    return T(nan) if x != x else x


@pymetal.binary(dtypes="integral")
def offset(i: T, j: T, *, row: T, column: T) -> T:
    return i * row + j * column


@pymetal.unary(dtypes=(pymetal.int64, pymetal.int32))
def index_expression(i: T) -> T:
    return (i // 65536) % 6
