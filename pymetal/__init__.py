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
    Floating,
    Integral,
    Real,
    Signed,
    T,
    Unsigned,
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

    # To a type checker a dtype is what T is: an annotation, and a function in a body.
    from pymetal.dtypes import T as bfloat16
    from pymetal.dtypes import T as bool_
    from pymetal.dtypes import T as complex32
    from pymetal.dtypes import T as complex64
    from pymetal.dtypes import T as float16
    from pymetal.dtypes import T as float32
    from pymetal.dtypes import T as int8
    from pymetal.dtypes import T as int16
    from pymetal.dtypes import T as int32
    from pymetal.dtypes import T as int64
    from pymetal.dtypes import T as uint8
    from pymetal.dtypes import T as uint16
    from pymetal.dtypes import T as uint32
    from pymetal.dtypes import T as uint64

    # Subscripted too, which an alias is not: a name that is nowhere again.
    from pymetal.dtypes import nowhere as ComplexOf  # type: ignore[attr-defined]
    from pymetal.dtypes import nowhere as OpMath  # type: ignore[attr-defined]
    from pymetal.dtypes import nowhere as RealOf  # type: ignore[attr-defined]
else:
    from pymetal.dtypes import (
        ComplexOf,
        OpMath,
        RealOf,
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
