"""A user's functors and calls: no type checker finds anything in them, under its strictest settings."""

from __future__ import annotations

from collections.abc import Callable

import torch

import pymetal
from pymetal import Complex, ComplexOf, Floating, Integral, OpMath, RealOf, T, metal


@pymetal.unary
def leaky_relu(x: T, slope: float = 0.01) -> T:
    return x if x > 0 else slope * x


@pymetal.unary(dtypes=("floating", torch.int8, pymetal.int16), promotion="int_to_float", max_ulp=2)
def scaled(x: T, /, factor: float, *, times: int = 1, negate: bool = False) -> T:
    y = float(x) * factor
    for _ in range(times):
        y = y * factor
    return T(-y if negate else y)


@pymetal.binary()
def add(a: T, b: T, *, alpha: T = 1) -> T:
    return a + alpha * b


@pymetal.func
def squared(x: T) -> T:
    return x * x


@pymetal.ternary(opmath=True)
def norm(x: Floating, y: Floating, z: Floating) -> Floating:
    wide = OpMath[T](squared(x)) + pymetal.float32(squared(y))
    total: OpMath[T] = wide + squared(z)
    return Floating(metal.sqrt(total))


@pymetal.unary
def bits(x: pymetal.float32) -> pymetal.int32:
    return metal.as_type(x, pymetal.int32)


@pymetal.unary
def is_odd(x: Integral) -> pymetal.bool_:
    return x & 1 == 1


@pymetal.unary(promotion="complex_to_float", dtypes="complex")
def length(z: Complex) -> RealOf[Complex]:
    return abs(z)


@pymetal.unary
def turned(x: Floating) -> ComplexOf[Floating]:
    return complex(0, x)


@turned.overload
def _(z: Complex) -> Complex:
    return z * 1j


def use(x: torch.Tensor, unary: pymetal.Functor) -> list[torch.Tensor]:
    """Calls of every form; the results are tensors."""
    results = [leaky_relu(x), leaky_relu(x, 0.1), leaky_relu(x, slope=1), leaky_relu(x=x), leaky_relu(2, out=x)]
    results += [scaled(x, 2, times=3), scaled(x, factor=0.5, negate=True, out=x), scaled.reference(x, 2)]
    results += [add(x, 2, alpha=0.5), add(b=1, a=x), norm(x, y=x, z=1), bits(x), is_odd(x), length(x), turned(x)]
    function: Callable[[torch.Tensor], torch.Tensor] = leaky_relu
    source: str = leaky_relu.jit_source(x, slope=2)
    print(source, add.explain(x, x), leaky_relu.__name__, squared(x), unary(x, x, any=1))
    return [*results, function(x), leaky_relu.__wrapped__(x, 0.5)]
