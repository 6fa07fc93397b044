"""Which registration macros a functor needs: one for each dtype, or upstream's helper macros for whole sets.

Upstream's helpers are defined inside `BinaryKernel.metal`, not in a header: a file of its own brings the ones it uses,
guarded, so that the same text also stands inside upstream's file.
"""

from __future__ import annotations

from dataclasses import dataclass

from pymetal import dtypes, ir
from pymetal.arity import BINARY, Arity, Macro
from pymetal.dtypes import DType
from pymetal.ir import CheckedFunction

_FLOATS = tuple(d.metal for d in dtypes.WORDS["floating"])
_INTEGERS = tuple(d.metal for d in dtypes.WORDS["integral"])


@dataclass(frozen=True)
class Registration:
    """One macro call for one dtype."""

    macro: Macro
    functor: str
    arguments: tuple[str, ...]  # Metal type names, in the macro's order

    @property
    def text(self) -> str:
        """The call as a line of Metal."""
        return f"{self.macro.name}({', '.join((self.functor, *self.arguments))});"


@dataclass(frozen=True)
class Helper:
    """One of upstream's macros that register a functor for a set of dtypes."""

    name: str
    calls: tuple[tuple[str, tuple[str, ...]], ...]  # (macro, type names)


def _helper(name: str, macro: str, inputs: tuple[str, ...], output: str | None = None) -> Helper:
    return Helper(name, tuple((macro, (i, output or i)) for i in inputs))


_COMPARABLE = (*_FLOATS, *_INTEGERS, "bool")
# In the order in which they are looked for: a larger set before the smaller ones it contains.
HELPERS: tuple[Helper, ...] = (
    _helper("REGISTER_FLOAT_BINARY_OP", "REGISTER_BINARY_OP", _FLOATS),
    _helper("REGISTER_OPMATH_FLOAT_BINARY_OP", "REGISTER_OPMATH_BINARY_OP", _FLOATS),
    _helper("REGISTER_INTEGER_BINARY_OP", "REGISTER_BINARY_OP", (*_INTEGERS, "bool")),
    _helper("REGISTER_INTEGER_BINARY_OP_NO_BOOL", "REGISTER_BINARY_OP", _INTEGERS),
    _helper("REGISTER_INT2FLOAT_BINARY_OP", "REGISTER_BINARY_OP", (*_INTEGERS, "bool"), "float"),
    Helper(
        "REGISTER_COMPARISON_OP",
        tuple(
            (m, (i, "bool")) for i in _COMPARABLE for m in ("REGISTER_BINARY_OP", "REGISTER_BINARY_CASTOUT_OP")
        ),
    ),
)  # fmt: skip


def registrations(
    checked: CheckedFunction, arity: Arity, scalar_types: dict[DType, str], opmath: bool
) -> list[Registration]:
    """The macro calls of a functor, dtype by dtype, in the order of its overloads' dtypes."""
    found = []
    for element in checked.domain:
        overload = checked.overload(element)
        assert overload is not None
        result = ir.resolved(overload.function.result, element)
        scalar = scalar_types.get(element)
        if scalar is not None:
            found.append(Registration(arity.alpha, checked.name, (element.metal, scalar, result.metal)))
            continue
        widened = element == dtypes.float32 or (element.kind in _WIDENED and dtypes.opmath(element) != element)
        macro = arity.opmath if opmath and widened and arity.opmath is not None else arity.plain
        found.append(Registration(macro, checked.name, (element.metal, result.metal)))
        if result == dtypes.bool_ and overload.function.result == ir.BOOL and arity.castout is not None:
            found.append(Registration(arity.castout, checked.name, (element.metal, result.metal)))
    return found


_WIDENED = frozenset({dtypes.Kind.FLOATING, dtypes.Kind.COMPLEX})


def lines(calls: list[Registration], arity: Arity) -> tuple[list[str], list[Helper]]:
    """The calls as lines of Metal, and the helpers among them."""
    left = list(calls)
    out: list[str] = []
    used: list[Helper] = []
    if arity is BINARY:
        for helper in HELPERS:
            present = {(c.macro.name, c.arguments) for c in left}
            if set(helper.calls) <= present:
                out.append(f"{helper.name}({calls[0].functor});")
                used.append(helper)
                left = [c for c in left if (c.macro.name, c.arguments) not in helper.calls]
    return out + [c.text for c in left], used


def definition(helper: Helper) -> str:
    """The guarded definition of a helper.

    Calls of a macro that the installed headers do not have are left out: castout came with torch 2.13.
    """
    text = _define(helper.name, helper.calls)
    plain = tuple(c for c in helper.calls if c[0] != "REGISTER_BINARY_CASTOUT_OP")
    if plain != helper.calls:
        text = f"#ifdef REGISTER_BINARY_CASTOUT_OP\n{text}#else\n{_define(helper.name, plain)}#endif\n"
    return f"#ifndef {helper.name}\n{text}#endif\n"


def _define(name: str, calls: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    rows = [f"  {macro}(NAME, {', '.join(types)})" for macro, types in calls]
    body = "; \\\n".join(rows)
    return f"#define {name}(NAME) \\\n{body}\n"
