"""The operator table: one row per operator, and no other table is keyed by the name of one.

`python` has the operators and builtins of the language, `metal_math` and its kin the functions of Metal, `c10` and
`special` those of PyTorch's headers, `torch_functions` those that torch and Python's math alone have; :data:`NOT_ROWS`
says what has none. A row says what an operator takes and gives, how it prints, what it means in torch and without
rounding, its derivative, how it can go wrong, and the first torch release that has it; see :class:`pymetal.ir.Op`.
"""

from __future__ import annotations

from pymetal.ir import Op
from pymetal.ops import c10 as c10
from pymetal.ops import metal_common as metal_common
from pymetal.ops import metal_integer as metal_integer
from pymetal.ops import metal_math as metal_math
from pymetal.ops import metal_relational as metal_relational
from pymetal.ops import python as python
from pymetal.ops import special as special
from pymetal.ops import torch_functions as torch_functions
from pymetal.ops.table import BY_ALIAS as BY_ALIAS
from pymetal.ops.table import TABLE as TABLE

# Functions of Metal and of c10's headers that a body cannot call, and why.
NOT_ROWS: dict[str, str] = {
    "metal.frexp": "writes one of its results by reference; `math.frexp(x)` gives both",
    "metal.modf": "writes one of its results by reference; `math.modf(x)` gives both",
    "metal.sincos": "gives two results; `metal.sin` and `metal.cos` are the two",
    "metal.not": "Python's `not`",
    "metal.c10.calc_digamma_positive_domain": "a part of `metal.c10.digamma`, which covers it",
    "metal.c10.cast_to": "a cast: `T(x)`, `pymetal.float32(x)`",
    "metal.c10.chbevl": "takes an array; `metal.polevl` takes a tuple of coefficients",
    "metal.c10.copy_bytes_aligned": "copies memory; functors have values only",
    "metal.c10.erfcx_y100": "a part of `metal.c10.erfcx`, in a scaled argument",
    "metal.c10.expm1f_scaled_unchecked": "a part of `metal.c10.expm1f`, without its check of the range",
    "metal.c10.getHermitianLimit": "a constant, the highest order of the Hermite polynomials",
    "metal.c10.powi_impl": "a part of `metal.c10.pow`, without negative exponents",
}

# Functions of torch, numpy and math that the frontend writes with several rows, or with a constant: its word for each,
# and the names by which a body reaches it.
FORMS: dict[str, str] = {
    name: form
    for form, names in {
        "where": "torch.where numpy.where",
        "clamp": "torch.clamp torch.clip numpy.clip",
        "clamp_min": "torch.clamp_min",
        "clamp_max": "torch.clamp_max",
        "relu": "torch.relu torch.nn.functional.relu",
        "relu6": "torch.nn.functional.relu6",
        "hardtanh": "torch.nn.functional.hardtanh",
        "leaky_relu": "torch.nn.functional.leaky_relu",
        "power": "torch.pow numpy.power",
        "square": "torch.square numpy.square",
        "log": "math.log",
        "round": "torch.round torch.special.round numpy.round",
        "divide": "torch.div torch.divide",
        "reciprocal": "torch.reciprocal",
        "left_shift": "torch.bitwise_left_shift numpy.left_shift",
        "right_shift": "torch.bitwise_right_shift numpy.right_shift",
        "logical_and": "torch.logical_and numpy.logical_and",
        "logical_or": "torch.logical_or numpy.logical_or",
        "logical_xor": "torch.logical_xor numpy.logical_xor",
        "logical_not": "torch.logical_not numpy.logical_not",
        "unchanged": "torch.clone torch.positive numpy.positive",
        "zeros_like": "torch.zeros_like numpy.zeros_like",
        "ones_like": "torch.ones_like numpy.ones_like",
        "full_like": "torch.full_like numpy.full_like",
        "real": "torch.real numpy.real",
        "imag": "torch.imag numpy.imag",
        "complex": "torch.complex",
    }.items()
    for name in names.split()
}


def find(qualified: str) -> Op | None:
    """The row a body reaches by `qualified`: ``metal.exp``, ``metal.c10.log1p``, ``math.sqrt``."""
    return BY_ALIAS.get(qualified)
