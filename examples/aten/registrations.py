"""Where a functor of the gallery is registered for other types than upstream's kernel is, and why.

An instantiation is (macro kind, input, alpha, output), by Metal's names. `DIFFERENCES` lists those that upstream has
and the gallery has not, and the other way round; everything else is the same, which a test holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import pymetal
from pymetal.codegen.registrations import registrations

Instantiation = tuple[str, str, str | None, str]


@dataclass(frozen=True)
class Difference:
    """What upstream registers and the gallery does not, what the gallery adds, and the reason."""

    missing: frozenset[Instantiation]
    extra: frozenset[Instantiation]
    why: str


def _difference(why: str, missing: list[Instantiation], extra: list[Instantiation] | None = None) -> Difference:
    return Difference(frozenset(missing), frozenset(extra or ()), why)


_FLOAT8: list[Instantiation] = [(kind, "float8_e4m3fn", None, "bool") for kind in ("binary", "binary_castout")]

DIFFERENCES: dict[str, Difference] = {
    "sub": _difference(
        "torch refuses to subtract truth values; upstream's kernel is never reached", [("binary", "bool", None, "bool")]
    ),
    "eq": _difference("float8_e4m3fn is a class inside upstream's file, not a type of Metal", _FLOAT8),
    "ne": _difference("float8_e4m3fn is a class inside upstream's file, not a type of Metal", _FLOAT8),
}

# Several scalars travel in a struct, which pymetal names after the functor: NAME_params_float. Upstream's name of it.
PARAMETERS: dict[str, str] = {
    "nan_to_num": "NanToNumParams_{}",
    "elu": "ELUParams_{}",
    "elu_backward": "ELUBackwardParams_{}",
    "softplus": "SoftplusParams",
    "softplus_backward": "SoftplusParams",
}


def instantiations(functor: pymetal.Functor) -> set[Instantiation]:
    """What a functor registers, with upstream's names for structs of scalars."""
    entry, arity = functor.entry, functor.arity
    found: set[Instantiation] = set()
    for call in registrations(entry.checked, entry.arity, entry.text.scalar_types, entry.opmath):
        kind = arity.name
        if call.macro is arity.castout:
            kind = f"{arity.name}_castout"
        elif call.macro is arity.alpha:
            kind = f"{arity.name}_alpha"
        alpha = call.arguments[1] if len(call.arguments) == 3 else None
        if alpha is not None and functor.name in PARAMETERS:
            alpha = PARAMETERS[functor.name].format(alpha.removeprefix(f"{functor.name}_params_"))
        found.add((kind, call.arguments[0], alpha, call.arguments[-1]))
    return found
