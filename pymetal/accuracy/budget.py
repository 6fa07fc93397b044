"""The `max_ulp=` of a decorator: the largest error that `pymetal check` accepts, for all dtypes or by dtype."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pymetal.dtypes import ALL, DType, parse_dtypes
from pymetal.errors import PyMetalError

Budget = Mapping[DType, float]


def parse_budget(spec: object) -> Budget | None:
    """`max_ulp=` as a number for each dtype; None if there is none.

    Args:
        spec: a number, or a dict from what `dtypes=` takes to numbers. A dtype that is missing has no budget.

    Raises:
        PyMetalError: it is neither, or a number is not positive.
    """
    if spec is None:
        return None
    if not isinstance(spec, Mapping):
        number = _number(spec)
        return dict.fromkeys(ALL, number)
    found: dict[DType, float] = {}
    # Words before single dtypes, which are more to the point.
    for key, value in sorted(spec.items(), key=lambda item: not isinstance(item[0], str)):
        found.update(dict.fromkeys(parse_dtypes(key), _number(value)))
    return found


def unserved(spec: object, domain: Collection[DType]) -> list[str]:
    """The keys of a `max_ulp=` that stand for none of the registered dtypes: what they say holds nowhere."""
    if not isinstance(spec, Mapping):
        return []
    return [str(key) for key in spec if not set(parse_dtypes(key)) & set(domain)]


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise PyMetalError(
            f"max_ulp= does not take {value!r}",
            hint='Pass a number of units in the last place, or a dict: max_ulp={torch.float32: 2, "floating": 1}.',
        )
    return float(value)
