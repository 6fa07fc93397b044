"""Numbers become Metal literals."""

from __future__ import annotations

import math

import numpy as np

from pymetal import dtypes
from pymetal.dtypes import DType, Kind


def literal(value: bool | int | float | complex) -> str:
    """A number as Metal writes it by itself. Floats are the shortest text that reads back as the same float."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # The lowest integer has no literal: its minus sign is applied to a number that does not fit.
        return f"({value + 1} - 1)" if value in (-(1 << 31), -(1 << 63)) else str(value)
    assert isinstance(value, float)
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if math.isnan(value):
        return "NAN"
    if np.isinf(single):
        return "INFINITY" if single > 0 else "-INFINITY"
    text = (
        np.format_float_positional(single, trim="0")
        if 1e-4 <= abs(single) < 1e7 or single == 0
        else repr(float(str(single)))
    )
    return f"{text}f"


def literal_of(value: bool | int | float | complex, dtype: DType) -> str:
    """A real number as an expression of type `dtype`."""
    assert not isinstance(value, complex)
    if dtype.kind is Kind.BOOL:
        return "true" if value else "false"
    text = literal(float(value) if dtype.kind is Kind.FLOATING else int(value))
    return text if dtype in (dtypes.float32, dtypes.int32) else f"{dtype.metal}({text})"
