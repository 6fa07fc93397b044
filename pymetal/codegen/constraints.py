"""Template conditions (`enable_if_t`) that select one of the overloads of a function."""

from __future__ import annotations

from pymetal.dtypes import INTEGRAL, Kind
from pymetal.ir import CheckedFunction, Overload, Var


def _kinds(overload: Overload) -> frozenset[Kind]:
    return frozenset(d.kind for d in overload.domain)


def is_template(checked: CheckedFunction, overload: Overload) -> bool:
    """False for an overload of one dtype that others of its kind have another overload for, and for bool alone.

    C++ prefers a function that is no template, so such an overload needs no condition, nor do the others because of it.
    """
    if checked.helper and not any(p.type == Var() for p in overload.function.params):
        return False  # nothing that the element type could be deduced from: all types are given
    if len(overload.domain) > 1 or len(checked.overloads) == 1:
        return True
    (dtype,) = overload.domain
    if dtype.kind is Kind.BOOL:
        return False
    return not any(dtype.kind in _kinds(other) for other in checked.overloads if other is not overload)


def template_head(checked: CheckedFunction, overload: Overload) -> list[str]:
    """The `template <...>` line of an overload."""
    templates = [o for o in checked.overloads if is_template(checked, o)]
    condition = _condition(overload, templates)
    return [f"template <typename T{f', enable_if_t<{condition}, bool> = true' if condition else ''}>"]


def _condition(overload: Overload, templates: list[Overload]) -> str | None:
    mine = _kinds(overload)
    others = [_kinds(o) for o in templates if o is not overload]
    if any(mine & other for other in others):  # dtypes of one kind, told apart one by one
        names = [f"is_same_v<T, {d.metal}>" for d in overload.domain]
        return " || ".join(names)
    return constraint(mine, mine.union(*others) if others else mine)


def constraint(mine: frozenset[Kind], kinds: frozenset[Kind]) -> str | None:
    """The condition for the kinds of one overload among those of all; None if there are no others.

    `is_floating_point_v<float2>` is true in Metal, so next to a complex overload the scalar form is needed.
    """
    if mine == kinds:
        return None
    floating = "c10::metal::is_scalar_floating_point_v<T>" if Kind.COMPLEX in kinds else "is_floating_point_v<T>"
    if mine == kinds - {Kind.COMPLEX}:
        return "!c10::metal::is_complex_v<T>"
    if mine == kinds & INTEGRAL:
        return "is_integral_v<T>"
    if mine == kinds - INTEGRAL and mine != {Kind.FLOATING}:
        return "!is_integral_v<T>"
    unsigned = "is_integral_v<T> && !is_signed_v<T>"
    atoms = {
        Kind.FLOATING: floating,
        Kind.COMPLEX: "c10::metal::is_complex_v<T>",
        Kind.SIGNED: "is_integral_v<T> && is_signed_v<T>",
        Kind.UNSIGNED: unsigned if Kind.BOOL not in kinds else f"{unsigned} && !is_same_v<T, bool>",
        Kind.BOOL: "is_same_v<T, bool>",
    }
    if {Kind.UNSIGNED, Kind.BOOL} <= mine:
        atoms[Kind.UNSIGNED] = unsigned  # bool is unsigned in Metal
        del atoms[Kind.BOOL]
    chosen = [text for kind, text in atoms.items() if kind in mine]
    return chosen[0] if len(chosen) == 1 else " || ".join(f"({t})" if " " in t else t for t in chosen)
