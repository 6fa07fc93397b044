"""Tuples of numbers that a body indexes become arrays in constant memory."""

from __future__ import annotations

from pymetal import ir
from pymetal.codegen.literals import literal
from pymetal.codegen.names import identifier
from pymetal.ir import CheckedFunction, Element, Table


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
    element = "float" if table.type == ir.WEAK_FLOAT else "int" if table.type == ir.WEAK_INT else "long"
    values = ", ".join(literal(float(v) if element == "float" else v) for v in table.values)
    return f"constant {element} {name}[] = {{{values}}};"
