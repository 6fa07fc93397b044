import unittest
from collections.abc import Sequence

import torch

from .opinfo.core import DecorateInfo, OpInfo


if torch.backends.mps.is_available():

    def mps_ops_modifier(
        ops: Sequence[OpInfo], device_type: str = "mps", sparse: bool = False
    ) -> Sequence[OpInfo]:
        # Complex inputs are refused
        UNSUPPORTED_COMPLEX_OPS = {
            "atan2",
            "sgn",
            "exp",
        }

        UNIMPLEMENTED_XFAILLIST: dict[str, list | None] = {
            "special.airy_ai": None,
            "gcd": None,
            "sgn": [torch.bool, torch.float16],
            "nn.functional.hardshrink": None,
            "gt": [
                torch.complex64,
            ],
        }
        if sparse:
            UNIMPLEMENTED_XFAILLIST.update({})

        SKIPLIST = {
            # precision
            "atan2": [torch.float16],
        }

    def mps_ops_grad_modifier(ops: Sequence[OpInfo]) -> Sequence[OpInfo]:
        XFAILLIST_GRAD: dict[str, list | None] = {
            "special.airy_ai": [torch.float32],
        }
