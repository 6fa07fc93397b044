"""Numbers become Metal literals; tuples of numbers that a body indexes become arrays in constant memory."""

from __future__ import annotations

import math

import numpy as np

from pymetal import dtypes, ir
from pymetal.codegen.names import identifier
from pymetal.dtypes import DType, Kind
from pymetal.ir import CheckedFunction, Element, Table


def literal(value: bool | int | float | complex) -> str:
    """A number as Metal writes it by itself. Floats are the shortest text that reads back as the same float."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if value >= 1 << 63:
            return f"{value}ul"
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
    plain = dtype == dtypes.float32 or (dtype == dtypes.int32 and -(1 << 31) <= value < 1 << 31)
    return text if plain else f"{dtype.metal}({text})"


# --- arrays -----------------------------------------------------------------------------------------------------------


def table_name(owner: str, table: Table) -> str:
    """The array's name: it stands at file scope, so it carries the name of the function that uses it."""
    return identifier(f"{owner}_{table.name}")


def tables(checked: CheckedFunction) -> dict[str, Table]:
    """The tables that a function's own bodies index, by name."""
    bodies = [overload.function.body for overload in checked.overloads]
    found = (e.table for body in bodies for e in ir.expressions(body) if isinstance(e, Element))
    return {table_name(checked.name, table): table for table in found}


def table_text(name: str, table: Table) -> str:
    """The definition of an array."""
    element = ir.resolved(table.type, dtypes.float32).metal
    values = ", ".join(literal(float(v) if element == "float" else v) for v in table.values)
    return f"constant {element} {name}[] = {{{values}}};"
