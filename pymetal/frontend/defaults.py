"""What the scalar parameters of a functor say must be possible: their defaults fit, their kinds are the functor's."""

from __future__ import annotations

from collections.abc import Sequence

from pymetal import ir
from pymetal.dtypes import DType, Kind
from pymetal.frontend.refusals import refusal
from pymetal.frontend.verify import Body, fits, shown


def check_scalars(body: Body, domain: Sequence[DType]) -> None:
    """Checks the scalar parameters of a body that serves `domain`.

    Raises:
        FunctorTypeError: a default fits its type at no dtype, or a type variable does not admit the element type.
    """
    first, element = body.signature.tensors[0]
    for name, annotation, default, node in body.signature.scalars:
        if annotation.variable is not None and not {d.kind for d in domain} <= annotation.variable.kinds:
            raise refusal(
                "mixed-elements", body.source.span(node), name=name, found=annotation.text, first=first,
                wanted=element.text,
            )  # fmt: skip
        types = [t for d in domain if (t := ir.resolve(annotation.type, d)) is not None]
        if default is not None and types and not any(_takes(t, default) for t in types):
            raise refusal(
                "does-not-fit", body.source.span(node), value=shown(default), dtype=types[0],
                way="Give it a default of its type, or none.",
            )  # fmt: skip


def _takes(dtype: DType, value: bool | int | float | complex) -> bool:
    return fits(value, dtype) and (not isinstance(value, complex) or dtype.kind is Kind.COMPLEX)
