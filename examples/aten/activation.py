"""The functors of `ActivationKernel.metal`: activation functions and their gradients.

Half and bfloat are computed in float and rounded once. In the gradients `grad` is the gradient of the result.
"""

from __future__ import annotations

import math

import pymetal
from examples.aten.kinds import FLOATING
from examples.aten.normal import logistic, normal_cdf, normal_pdf
from pymetal import T, bool_, int8, int16, int32, metal, uint8

TANH_SCALE = math.sqrt(2 / math.pi)
CUBIC = 0.044715

# --- pieces ----------------------------------------------------------------------------------------------------------


@pymetal.func
def log_one_plus_exp(x: float) -> float:
    """log(1 + e^x), without overflow."""
    return metal.fmax(x, 0.0) + math.log1p(math.exp(-metal.fabs(x)))


@pymetal.func
def w_squared_plus_two_w(x: float) -> float:
    """w^2 + 2 w with w = e^x; tanh(log(1 + w)) is this over this plus two."""
    w = math.exp(metal.fmin(x, 20.0))
    return w * (w + 2)


# --- shrinking and leaking -------------------------------------------------------------------------------------------


@pymetal.unary(dtypes=FLOATING)
def hardshrink(x: T, *, lambd: T = 0.5) -> T:
    """x, but 0 within `lambd` of zero. A NaN stays."""
    return 0 if -lambd <= x <= lambd else x


@pymetal.unary(dtypes=FLOATING)
def softshrink(x: T, *, lambd: T = 0.5) -> T:
    """x moved by `lambd` towards zero, and 0 from there on. A NaN stays."""
    if math.isnan(x):
        return x
    return x - lambd if x > lambd else x + lambd if x < -lambd else 0


@pymetal.binary(dtypes=FLOATING)
def shrink_backward(grad: T, x: T, *, lambd: T = 0.5) -> T:
    """The gradient of both shrinks."""
    return 0 if -lambd <= x <= lambd else grad


@pymetal.unary(dtypes=FLOATING)
def leaky_relu(x: T, *, negative_slope: T = 0.01) -> T:
    """x, and `negative_slope` x below zero."""
    return x if x > 0 else x * negative_slope


@pymetal.binary(dtypes=FLOATING)
def leaky_relu_backward(x: T, grad: T, *, negative_slope: T = 0.01) -> T:
    """The gradient of leaky_relu."""
    return grad if x > 0 else grad * negative_slope


@pymetal.unary(dtypes=("floating", "integral", "bool"))
def relu(x: T) -> T:
    """max(x, 0). A NaN stays."""
    return T(0) if x <= 0 else x


# --- exponential -----------------------------------------------------------------------------------------------------


@pymetal.unary(dtypes=FLOATING)
def elu(x: T, *, alpha: T = 1.0, scale: T = 1.0, input_scale: T = 1.0) -> T:
    """scale x, and scale alpha (e^(input_scale x) - 1) below zero."""
    value, factor = float(x), float(scale)
    return T(factor * value if value > 0 else factor * float(alpha) * math.expm1(float(input_scale) * value))


@pymetal.binary(dtypes=FLOATING)
def elu_backward(grad: T, y: T, *, alpha: T = 1.0, scale: T = 1.0, input_scale: T = 1.0, is_result: bool) -> T:
    """The gradient of elu: `y` is its result, or its input."""
    value, slope = float(y), float(input_scale)
    top = float(scale) * float(alpha)
    if value > 0:
        return T(float(grad) * float(scale))
    return T(float(grad) * slope * (value + top if is_result else top * math.exp(slope * value)))


@pymetal.unary(dtypes=FLOATING)
def softplus(x: T, *, beta: float = 1.0, threshold: float = 20.0) -> T:
    """log(1 + e^(beta x)) / beta, and x itself where beta x is above `threshold`."""
    scaled = float(x) * beta
    return x if scaled > threshold else T(log_one_plus_exp(scaled) / beta)


@pymetal.binary(dtypes=FLOATING)
def softplus_backward(grad: T, x: T, *, beta: float = 1.0, threshold: float = 20.0) -> T:
    """The gradient of softplus."""
    scaled = float(x) * beta
    return grad if scaled > threshold else T(float(grad) * logistic(scaled))


@pymetal.unary(dtypes=FLOATING, opmath=True)
def log_sigmoid_forward(x: T) -> T:
    """log(1 / (1 + e^-x)), without overflow."""
    return -log_one_plus_exp(-x)


@pymetal.binary(dtypes=FLOATING, opmath=True)
def log_sigmoid_backward(x: T, grad: T) -> T:
    """The gradient of log_sigmoid; x comes first, as in the iterator of its stub."""
    return grad * logistic(-x)


# --- gates -----------------------------------------------------------------------------------------------------------


@pymetal.unary(dtypes=FLOATING, opmath=True)
def hardsigmoid(x: T) -> T:
    """(x + 3) / 6, between 0 and 1."""
    return min(max(x + 3, 0), 6) / 6


@pymetal.binary(dtypes=FLOATING, opmath=True)
def hardsigmoid_backward(grad: T, x: T) -> T:
    """The gradient of hardsigmoid."""
    return grad / 6 if -3 < x < 3 else 0


@pymetal.unary(dtypes=FLOATING, opmath=True)
def hardswish(x: T) -> T:
    """x hardsigmoid(x), rounded once; upstream rounds every step to half."""
    return x * (min(max(x + 3, 0), 6) / 6)


@pymetal.binary(dtypes=FLOATING, opmath=True)
def hardswish_backward(grad: T, x: T) -> T:
    """The gradient of hardswish."""
    return 0 if x <= -3 else grad * ((2 * x + 3) / 6) if x < 3 else grad


@pymetal.unary(dtypes=(FLOATING, int32, int16, uint8, int8, bool_))
def silu(x: T) -> T:
    """x / (1 + e^-x)."""
    return T(float(x) / (1 + math.exp(-float(x))))


@pymetal.binary(dtypes=FLOATING, opmath=True)
def silu_backward(grad: T, x: T) -> T:
    """The gradient of silu; beyond 100 it is 0 or 1, also at infinities."""
    bounded = min(max(x, -100), 100)
    gate = logistic(bounded)
    return grad * (gate * (1 + bounded * logistic(-bounded)))


@pymetal.binary(dtypes=FLOATING, opmath=True)
def glu(a: T, b: T) -> T:
    """a / (1 + e^-b)."""
    return a / (1 + math.exp(-b))


@pymetal.unary(dtypes=FLOATING, opmath=True)
def mish(x: T) -> T:
    """x tanh(log(1 + e^x))."""
    square = w_squared_plus_two_w(x)
    return x * (square / (square + 2))


@pymetal.binary(dtypes=FLOATING, opmath=True)
def mish_backward(grad: T, x: T) -> T:
    """The gradient of mish; beyond 100 it is 0 or 1, also at infinities."""
    bounded = min(max(x, -100), 100)
    square = w_squared_plus_two_w(bounded)
    gate, rest = square / (square + 2), 2 / (square + 2)
    return grad * (gate + bounded * logistic(bounded) * rest * (1 + gate))


@pymetal.unary(dtypes=FLOATING, opmath=True)
def gelu(x: T) -> T:
    """x times the normal distribution function, which keeps its digits far below zero; upstream's 1 + erf does not."""
    return x * normal_cdf(x)


@pymetal.binary(dtypes=FLOATING, opmath=True)
def gelu_backward(grad: T, x: T) -> T:
    """The gradient of gelu; beyond 20 it is 0 or 1, also at infinities."""
    bounded = min(max(x, -20), 20)
    return grad * (normal_cdf(bounded) + bounded * normal_pdf(bounded))


@pymetal.unary(dtypes=FLOATING, opmath=True)
def gelu_tanh(x: T) -> T:
    """x (1 + tanh u) / 2, which is x / (1 + e^(-2 u)), with u = sqrt(2 / pi) (x + 0.044715 x^3)."""
    return x * logistic(2 * TANH_SCALE * (x + CUBIC * x**3))


@pymetal.binary(dtypes=FLOATING, opmath=True)
def gelu_tanh_backward(grad: T, x: T) -> T:
    """The gradient of gelu_tanh; beyond 20 it is 0 or 1, also at infinities."""
    bounded = min(max(x, -20), 20)
    turn = 2 * TANH_SCALE * (bounded + CUBIC * bounded**3)
    slope = 2 * TANH_SCALE * (1 + 3 * CUBIC * bounded**2)
    return grad * (logistic(turn) * (1 + bounded * slope * logistic(-turn)))


# --- gradients from results ------------------------------------------------------------------------------------------


@pymetal.binary(dtypes=("floating", "complex"), opmath=True)
def sigmoid_backward(grad: T, y: T) -> T:
    """The gradient of sigmoid, from its result."""
    return grad * metal.conj((1 - y) * y)


@pymetal.binary(dtypes=("floating", "complex"), opmath=True)
def tanh_backward(grad: T, y: T) -> T:
    """The gradient of tanh, from its result."""
    return grad * metal.conj((1 - y) * (1 + y))


@pymetal.binary(dtypes=FLOATING)
def logit_backward(grad: T, x: T, *, eps: T) -> T:
    """The gradient of logit: 0 where it was clamped, and NaN outside [0, 1] if `eps` is negative, which means none."""
    value, low = float(x), float(eps)
    if low < 0 and (value < 0 or value > 1):
        return math.nan
    if low >= 0 and (value < low or value > 1 - low):
        return 0
    return T(float(grad) / (value * (1 - value)))
