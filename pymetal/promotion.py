"""One row per promotion kind: the names of `promotion=`, torch's kind, and what each does to a body's types."""

from __future__ import annotations

from dataclasses import dataclass

from pymetal import ir
from pymetal.dtypes import INTEGRAL, Kind, int64
from pymetal.errors import PyMetalError, nearest


@dataclass(frozen=True)
class Promotion:
    """How operands are converted before a functor's body, and what dtype its result has."""

    name: str
    torch_kind: str  # a member of torch._prims_common.ELEMENTWISE_TYPE_PROMOTION_KIND
    floats: frozenset[Kind] = frozenset()  # operands of these kinds are read as float32
    longs: frozenset[Kind] = frozenset()  # operands of these kinds are read as int64
    returns_bool: bool = False
    returns_real: bool = False
    annotated: bool = False  # the annotation may name another result, such as ComplexOf[T]

    def body_type(self, kind: Kind) -> ir.Type:
        """What the element type means inside the body, for operands of `kind`."""
        if kind in self.floats:
            return ir.FLOAT
        if kind in self.longs:
            return ir.Concrete(int64)
        return ir.Var()

    def result_type(self, kind: Kind) -> ir.Type:
        """The type that the functor returns for operands of `kind`."""
        if self.returns_bool:
            return ir.BOOL
        body = self.body_type(kind)
        return ir.RealOf(body) if self.returns_real and kind is Kind.COMPLEX else body


PROMOTIONS: dict[str, Promotion] = {
    p.name: p
    for p in (
        Promotion("default", "DEFAULT", annotated=True),
        Promotion("no_opmath", "NO_OPMATH", annotated=True),
        Promotion("int_to_float", "INT_TO_FLOAT", floats=INTEGRAL),
        Promotion("always_bool", "ALWAYS_BOOL", returns_bool=True),
        Promotion("complex_to_float", "COMPLEX_TO_FLOAT", returns_real=True),
        Promotion("bool_to_long", "BOOL_TO_LONG", longs=frozenset({Kind.BOOL})),
    )
}


def find_promotion(name: object) -> Promotion:
    """The row called `name`.

    Raises:
        PyMetalError: there is no such row.
    """
    if isinstance(name, str) and name in PROMOTIONS:
        return PROMOTIONS[name]
    near = nearest(str(name), PROMOTIONS)
    raise PyMetalError(
        f"promotion= does not take {name!r}" + (f"; did you mean {near!r}?" if near else ""),
        hint=f"Allowed: {', '.join(repr(n) for n in PROMOTIONS)}.",
    )
