"""A decorated function as its callers need it: what it takes, and its checked bodies."""

from __future__ import annotations

from dataclasses import dataclass, field

from pymetal.dtypes import DType
from pymetal.errors import PyMetalError
from pymetal.frontend.annotations import Signature
from pymetal.ir import CheckedFunction


@dataclass(frozen=True)
class Definition:
    """A functor or a helper function.

    Attributes:
        signature: the parameters of its first body.
        checked: its bodies, for the dtypes at which they type-check.
        failures: why a helper does not type-check at the other dtypes that its annotations admit.
    """

    signature: Signature
    checked: CheckedFunction
    failures: dict[DType, PyMetalError] = field(default_factory=dict)


def definition_of(value: object) -> Definition | None:
    """The definition behind a decorated function, or None if `value` is something else."""
    found = getattr(value, "__pymetal_definition__", None)
    return found if isinstance(found, Definition) else None
