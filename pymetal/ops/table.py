"""The operator table, how a row enters it, and the sets of kinds and headers that rows are written with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ParamSpec

from pymetal import dtypes
from pymetal.dtypes import Kind
from pymetal.ir import Op

_Columns = ParamSpec("_Columns")

FLOATING = frozenset({Kind.FLOATING})
COMPLEX = frozenset({Kind.COMPLEX})
INTEGERS = frozenset({Kind.SIGNED, Kind.UNSIGNED})
REAL = dtypes.REAL
UTILS = "c10/metal/utils.h"
SPECIAL = "c10/metal/special_math.h"

TABLE: dict[str, Op] = {}  # every row by its name
# Rows by the names by which a body reaches them. Those whose name has no dot are reached by Python's own syntax.
BY_ALIAS: dict[str, Op] = {}


def _entering(make: Callable[_Columns, Op]) -> Callable[_Columns, Op]:
    def row(*args: _Columns.args, **columns: _Columns.kwargs) -> Op:
        op = make(*args, **columns)
        own = (op.name,) if "." in op.name and "-" not in op.name else ()
        names = (*own, *op.aliases)
        assert op.name not in TABLE, f"two rows are called {op.name}"
        assert not BY_ALIAS.keys() & set(names), f"{op.name}: another row has one of its names"
        TABLE[op.name] = op
        BY_ALIAS.update(dict.fromkeys(names, op))
        return op

    return row


def spelled(names: str) -> dict[str, Any]:
    """The columns for further names of a row, as in "math.exp torch.exp": numbers are computed by the one of math."""
    aliases = tuple(names.split())
    python = next((a.removeprefix("math.") for a in aliases if a.startswith("math.")), "")
    return {"aliases": aliases, "fold": getattr(math, python, None)}


row = _entering(Op)  # makes an `Op` of its arguments, puts it into the table and returns it
