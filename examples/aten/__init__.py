"""The gallery: PyTorch's elementwise Metal kernels, each written as a pymetal functor.

::

    from examples.aten import load

    load()["hypot"](x, y)                      # runs on mps tensors, and on cpu tensors
    print(load()["hypot"].functor_source)      # struct hypot_functor { ... };

`python -m examples.aten --emit DIR` writes them all as the `.metal` files that upstream has. `registrations` says where
a functor is registered for other types than upstream's is, and why.
"""

from __future__ import annotations

from types import ModuleType

import pymetal
from examples.aten import activation, binary, comparison, special, ternary, unary

# Which of upstream's files holds the functors of a module.
_FILES: tuple[tuple[str, tuple[ModuleType, ...]], ...] = (
    ("BinaryKernel.metal", (binary, comparison, special, ternary)),
    ("UnaryKernel.metal", (unary, special)),
    ("ActivationKernel.metal", (activation,)),
    ("PointwiseOps.metal", (ternary,)),
)
_POINTWISE = ("addcmul", "addcdiv")


def defined(module: ModuleType) -> dict[str, pymetal.Functor]:
    """The functors that a module defines, by name, in the order of the text."""
    found = (v for v in vars(module).values() if isinstance(v, pymetal.Functor))
    return {f.name: f for f in found if f.__module__ == module.__name__}


def load() -> dict[str, pymetal.Functor]:
    """All functors of the gallery, by upstream's name."""
    return {name: functor for functors in by_file().values() for name, functor in functors.items()}


def by_file() -> dict[str, dict[str, pymetal.Functor]]:
    """The functors by the upstream file that holds them, then by name."""
    files: dict[str, dict[str, pymetal.Functor]] = {}
    for file, modules in _FILES:
        arity = {"BinaryKernel.metal": ("binary", "ternary"), "UnaryKernel.metal": ("unary",)}.get(file)
        files[file] = {
            name: functor
            for module in modules
            for name, functor in defined(module).items()
            if (arity is None or functor.arity.name in arity) and (name in _POINTWISE) == (file == "PointwiseOps.metal")
        }
    files["PointwiseOps.metal"].pop("lerp", None)  # upstream keeps it with the binary ones
    return files
