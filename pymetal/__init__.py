"""pymetal: elementwise PyTorch operators written in Python, as readable Metal that runs.

A typed Python function goes through one stage after the other, each with its own value::

    function -> Source -> ir.Function -> CheckedFunction -> Metal text -> running kernel | patch
                frontend/source  lower      verify           codegen/      runtime/     upstream/

Imports go one way, from the last stages to the first; `python tools/rooms.py` prints and checks them.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from pymetal.decorators import binary, ternary, unary
from pymetal.dtypes import (
    Complex,
    ComplexOf,
    Floating,
    Integral,
    OpMath,
    Real,
    RealOf,
    Signed,
    T,
    Unsigned,
    bfloat16,
    bool_,
    complex32,
    complex64,
    float16,
    float32,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from pymetal.errors import (
    CallError,
    DeviceError,
    FunctorSyntaxError,
    FunctorTypeError,
    MetalSyntaxError,
    PyMetalError,
    SourceError,
    ToolchainError,
)
from pymetal.files import emit
from pymetal.functor import Functor
from pymetal.helper import func
from pymetal.intrinsics import is_bool, is_complex, is_floating, is_integral, is_signed, metal, static_range

if TYPE_CHECKING:
    from pymetal import host

__version__ = "0.1.0"

__all__ = [
    "CallError",
    "Complex",
    "ComplexOf",
    "DeviceError",
    "Floating",
    "Functor",
    "FunctorSyntaxError",
    "FunctorTypeError",
    "Integral",
    "MetalSyntaxError",
    "OpMath",
    "PyMetalError",
    "Real",
    "RealOf",
    "Signed",
    "SourceError",
    "T",
    "ToolchainError",
    "Unsigned",
    "bfloat16",
    "binary",
    "bool_",
    "complex32",
    "complex64",
    "emit",
    "float16",
    "float32",
    "func",
    "host",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_bool",
    "is_complex",
    "is_floating",
    "is_integral",
    "is_signed",
    "metal",
    "static_range",
    "ternary",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unary",
]


if os.environ.get("PYMETAL_DEBUG", "0") not in ("", "0"):
    from pymetal.debug.dump import install

    install()


def __getattr__(name: str) -> Any:
    # The host device is not needed to write functors, nor on MPS tensors.
    if name == "host":
        return importlib.import_module("pymetal.host")
    raise AttributeError(f"module 'pymetal' has no attribute {name!r}")
