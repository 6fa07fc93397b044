import unittest

import torch

from .opinfo.core import DecorateInfo

if torch.backends.mps.is_available():

    def mps_ops_modifier(ops, device_type="mps", xfail_exclusion=None):
        SUPPORTED_COMPLEX_OPS = {
            "abs",
            "atan2",
        }

        # Those ops are not expected to work
        UNIMPLEMENTED_XFAILLIST = {
            "heaviside": None,  # no kernel
            "special.airy_ai": None,
            "gcd": None,
            # "sgn": None,
            "sgn": [torch.bool, torch.float16],
            "nn.functional.hardshrink": None,
            "frac": [
                torch.float16,
                torch.int64,  # never
            ],
        }
        UNDEFINED_XFAILLIST = {"atan2": None, "put": None}
        SKIPLIST = {
            "atan2",
        }
        for op in ops:
            key = op.name + op.variant_test_name

    def mps_ops_grad_modifier(ops):
        XFAILLIST_GRAD = {
            # Unimplemented
            "special.airy_ai": [torch.float32],
            "atan2": [torch.float16],
        }
