"""The sets of element types that the kernels of ATen are registered for, as words of `dtypes=`."""

from __future__ import annotations

INTEGERS = "integral"  # without bool
INTEGERS_AND_BOOL = ("integral", "bool")
REAL = ("floating", "integral", "bool")
NUMBERS = ("floating", "integral", "complex")  # without bool
EVERY = ("floating", "integral", "bool", "complex")
FLOATING = "floating"
FLOATING_AND_COMPLEX = ("floating", "complex")
