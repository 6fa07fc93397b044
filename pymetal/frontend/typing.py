"""Typing rules: the common type of two operands, and when two types are the same.

A symbolic type is a function from the element dtype to a dtype. A rule is applied at every dtype of the domain with
torch's own promotion table, and its result is the symbolic type that agrees everywhere; where none does, the result is
None, and the user has to write a cast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pymetal import dtypes, ir
from pymetal.dtypes import DType, Kind
from pymetal.ir import Number, Type, Weak
from pymetal.promotion import Promotion

Fact = TypeVar("Fact")
_ORDER = (Number.INT, Number.FLOAT, Number.COMPLEX)


class SplitGroup(Exception):
    """A compile-time fact differs within a group of dtypes: each of `parts` is lowered by itself."""

    def __init__(self, parts: tuple[tuple[DType, ...], ...]) -> None:
        super().__init__()
        self.parts = parts


@dataclass(frozen=True)
class Typing:
    """The rules for one group of dtypes."""

    domain: tuple[DType, ...]

    def at(self, type_: Type) -> tuple[DType | None, ...]:
        """The dtype of `type_` for each dtype of the domain."""
        return tuple(ir.resolve(type_, d) for d in self.domain)

    def same(self, a: Type, b: Type) -> bool:
        """True if the two types agree at every dtype of the domain, neither of them a Python number's."""
        if a == b:
            return True
        if isinstance(a, Weak) or isinstance(b, Weak):
            return False
        return self.at(a) == self.at(b)

    def kinds(self, type_: Type) -> frozenset[Kind]:
        """The kinds of `type_` over the domain."""
        return frozenset(d.kind for d in self.at(type_) if d is not None)

    def join(self, a: Type, b: Type) -> Type | None:
        """The common type of `a` and `b`, by `torch.promote_types`; None if there is none for all dtypes."""
        if a == b:
            return a
        if isinstance(a, Weak) and isinstance(b, Weak):
            return max(a, b, key=lambda t: (_ORDER.index(t.number), t.wide))
        if isinstance(a, Weak):
            return self._agree([weak_join(a.number, d) for d in self.at(b)], (b,))
        if isinstance(b, Weak):
            return self._agree([weak_join(b.number, d) for d in self.at(a)], (a,))
        pairs = zip(self.at(a), self.at(b), strict=True)
        return self._agree([dtypes.promote(x, y) if x and y else None for x, y in pairs], (a, b))

    def floating(self, type_: Type) -> Type | None:
        """`type_` with integers and bools replaced by float32, as torch's maths functions do."""
        return self.map(type_, lambda d: dtypes.float32 if d.kind in dtypes.INTEGRAL else d)

    def compute(self, type_: Type) -> Type | None:
        """The type in which a maths function of `type_` is computed: float where `type_` is half or bfloat."""
        return self.map(type_, lambda d: dtypes.float32 if d.kind in dtypes.INTEGRAL else dtypes.opmath(d))

    def map(self, type_: Type, function: Callable[[DType], DType | None]) -> Type | None:
        """The symbolic type that is `function` of `type_` everywhere, or None."""
        if isinstance(type_, Weak):
            dtype = ir.resolve(type_, self.domain[0])
            mapped = function(dtype) if dtype else None
            return type_ if mapped == dtype else (ir.Concrete(mapped) if mapped else None)
        return self._agree([function(d) if d else None for d in self.at(type_)], (type_,))

    def uniform(self, facts: Sequence[Fact]) -> Fact:
        """The fact that holds at every dtype of the domain, of one for each.

        Raises:
            SplitGroup: there are several.
        """
        if len(set(facts)) == 1:
            return facts[0]
        pairs = list(zip(self.domain, facts, strict=True))
        raise SplitGroup(tuple(tuple(d for d, f in pairs if f == fact) for fact in dict.fromkeys(facts)))

    def describe(self, type_: Type) -> str:
        """A type for a message, with the dtypes it stands for."""
        names = self.dtype_names(type_)
        return (
            str(type_) if isinstance(type_, Weak) else names if isinstance(type_, ir.Concrete) else f"{type_} ({names})"
        )

    def dtype_names(self, type_: Type) -> str:
        """The dtypes that `type_` stands for, for a message."""
        return dtypes.listed(self.at(type_))

    def substitute(self, type_: Type, element: Type) -> Type:
        """`type_` with its element type replaced by `element`, in the simplest form that agrees everywhere."""
        match type_:
            case ir.Var():
                return element
            case ir.OpMath(of) | ir.ComplexOf(of) | ir.RealOf(of):
                inner = self.substitute(of, element)
                mapped = self.map(inner, ir.APPLY[type(type_)])
                return mapped if mapped is not None else type(type_)(inner)
            case _:
                return type_

    def _agree(self, wanted: list[DType | None], operands: tuple[Type, ...]) -> Type | None:
        if None in wanted:
            return None
        var = ir.Var()
        for candidate in (*operands, var, ir.OpMath(var), ir.RealOf(var), ir.ComplexOf(var)):
            if list(self.at(candidate)) == wanted:
                return candidate
        first = wanted[0]
        return ir.Concrete(first) if first is not None and all(d == first for d in wanted) else None


def weak_join(number: Number, dtype: DType | None) -> DType | None:
    """The common dtype of a Python number and a value of `dtype`: torch's rule for wrapped numbers."""
    if dtype is None:
        return None
    match number:
        case Number.INT:
            return dtypes.int64 if dtype.kind is Kind.BOOL else dtype
        case Number.FLOAT:
            return dtypes.float32 if dtype.kind in dtypes.INTEGRAL else dtype
        case Number.COMPLEX:
            return dtypes.complex64 if dtype.kind in dtypes.INTEGRAL else dtypes.complex_of(dtype)


def body_type(promotion: Promotion, kind: Kind) -> Type:
    """What the element type means inside a body, for operands of `kind`."""
    if kind in promotion.floats:
        return ir.FLOAT
    return ir.Concrete(dtypes.int64) if kind in promotion.longs else ir.Var()


def result_type(promotion: Promotion, kind: Kind) -> Type:
    """The type that a functor returns for operands of `kind`."""
    if promotion.returns_bool:
        return ir.BOOL
    body = body_type(promotion, kind)
    return ir.RealOf(body) if promotion.returns_real and kind is Kind.COMPLEX else body
