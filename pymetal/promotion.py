"""One row per promotion kind: a name of `promotion=`, and what it does to the types of a body.

The names are those of torch's `ELEMENTWISE_TYPE_PROMOTION_KIND` in lower case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pymetal.dtypes import INTEGRAL, Kind
from pymetal.errors import PyMetalError, nearest

# For type checkers: the names of the rows below.
PromotionName: TypeAlias = Literal[
    "default", "no_opmath", "int_to_float", "always_bool", "complex_to_float", "bool_to_long"
]


@dataclass(frozen=True)
class Promotion:
    """How operands are converted before a functor's body, and what dtype its result has."""

    name: str
    floats: frozenset[Kind] = frozenset()  # operands of these kinds are read as float32
    longs: frozenset[Kind] = frozenset()  # operands of these kinds are read as int64
    returns_bool: bool = False
    returns_real: bool = False
    annotated: bool = False  # the annotation may name another result, such as ComplexOf[T]


PROMOTIONS: dict[str, Promotion] = {
    p.name: p
    for p in (
        Promotion("default", annotated=True),
        Promotion("no_opmath", annotated=True),
        Promotion("int_to_float", floats=INTEGRAL),
        Promotion("always_bool", returns_bool=True),
        Promotion("complex_to_float", returns_real=True),
        Promotion("bool_to_long", longs=frozenset({Kind.BOOL})),
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
