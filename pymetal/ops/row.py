"""How a row enters the operator table, and the sets of kinds and headers that rows are written with."""

from __future__ import annotations

from pymetal import dtypes
from pymetal.dtypes import Kind
from pymetal.ir import Op
from pymetal.ir.builder import TABLE

FLOATING = frozenset({Kind.FLOATING})
COMPLEX = frozenset({Kind.COMPLEX})
INTEGERS = frozenset({Kind.SIGNED, Kind.UNSIGNED})
REAL = dtypes.REAL
UTILS = "c10/metal/utils.h"
SPECIAL = "c10/metal/special_math.h"


def row(op: Op) -> Op:
    """Adds `op` to the table and returns it."""
    assert op.name not in TABLE, f"two rows are called {op.name}"
    TABLE[op.name] = op
    return op
