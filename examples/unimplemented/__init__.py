"""Operators that have no Metal kernel upstream, as functors that are ready to be sent.

`heaviside`, `ndtri`, `log_ndtr`, `airy_ai`, `laguerre_polynomial_l` and `legendre_polynomial_p` had no MPS kernel at
all as of torch 2.14; `sign`, `sgn`, `signbit`, `frac`, `logit` and `hardtanh_backward` do not use a Metal kernel yet.

Errors in float32 are 4 units in the last place at most, but for the zeros of `airy_ai` and of the polynomials, which
are not floats: near them the error is that of the values around. `examples.aten.catalogue` has the measured numbers.
"""

from __future__ import annotations

import pymetal
from examples.aten.binary import heaviside
from examples.aten.special import laguerre_polynomial_l
from examples.unimplemented.signs import frac, hardtanh_backward, logit, sgn, sign, signbit
from examples.unimplemented.special import airy_ai, legendre_polynomial_p, log_ndtr, ndtri

FUNCTORS = (
    heaviside, ndtri, log_ndtr, airy_ai, laguerre_polynomial_l, legendre_polynomial_p, sign, sgn, signbit, frac, logit,
    hardtanh_backward,
)  # fmt: skip


def load() -> dict[str, pymetal.Functor]:
    """The functors by the name that their kernels would have."""
    return {f.name: f for f in FUNCTORS}
