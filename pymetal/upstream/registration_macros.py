"""What the macros of Metal files register: the library's own, and those that a file defines on top of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pymetal.arity import ARITIES, TERNARY, UNARY, Arity
from pymetal.codegen.registrations import HELPERS
from pymetal.upstream import cpp
from pymetal.upstream.checkout import INDEXING, KERNELS, Checkout, line_of

Call = tuple[str, tuple[str, ...]]  # a macro of the library, and its types
Macros = dict[str, cpp.Macro]


@dataclass(frozen=True)
class Registered:
    """One functor registered for one dtype."""

    name: str
    input: str  # Metal type names
    alpha: str | None
    output: str
    arity: Arity
    castout: bool
    path: str
    line: int

    @property
    def kernel(self) -> str:
        """The dense kernel's host name, by which two registrations collide."""
        types = [self.output, self.input] + ([self.alpha] if self.alpha else [])
        return f"{self.name}_dense_{'_'.join(types)}"

    @property
    def types(self) -> tuple[Arity, str, str | None, str, bool]:
        """What it is registered for."""
        return self.arity, self.input, self.alpha, self.output, self.castout


@dataclass(frozen=True)
class _Form:
    arity: Arity
    alpha: bool = False
    castout: bool = False


_FORMS = {
    **{a.plain.name: _Form(a) for a in ARITIES},
    **{a.alpha.name: _Form(a, alpha=True) for a in ARITIES},
    **{a.opmath.name: _Form(a) for a in ARITIES if a.opmath is not None},
    **{a.castout.name: _Form(a, castout=True) for a in ARITIES if a.castout is not None},
    # Not written by pymetal, but by upstream.
    "REGISTER_OPMATH_TERNARY_ALPHA_OP": _Form(TERNARY, alpha=True),
    "REGISTER_UNARY_VEC4_OP": _Form(UNARY, castout=True),
}


def tree_registrations(checkout: Checkout) -> list[Registered]:
    """The registrations of every Metal file."""
    return [r for path in checkout.files(KERNELS, ".metal") for r in registrations(path, checkout.text(path))]


def registrations(path: str, text: str) -> list[Registered]:
    """The registrations of one file, helper macros expanded."""
    known = cpp.macros(text)
    found: list[Registered] = []
    for call in cpp.invocations(text):
        line = line_of(text, call.start)
        for functor, (macro, types) in _expanded(known, call.name, call.arguments)[0]:
            form = _FORMS[macro]
            if len(types) == (3 if form.alpha else 2):
                alpha = types[1] if form.alpha else None
                found.append(Registered(functor, types[0], alpha, types[-1], form.arity, form.castout, path, line))
    return found


def library_macros(checkout: Checkout) -> set[str]:
    """The macros that `c10/metal/indexing.h` of the checkout defines."""
    return set(cpp.macros(checkout.text(INDEXING)))


def registers(name: str, known: Macros) -> bool:
    """True for a macro of the library that registers, and for one of the file that stands for such macros only."""
    macro = known.get(name)
    return name in _FORMS or (macro is not None and bool(_meaning(known, name, ["_"] * len(macro.parameters))))


def _expanded(
    known: Macros, name: str, arguments: Sequence[str], depth: int = 0
) -> tuple[list[tuple[str, Call]], bool]:
    """The library's macros that a call stands for, as (functor, call), and whether it does nothing else."""
    if name in _FORMS:
        return ([(arguments[0], (name, tuple(arguments[1:])))] if arguments else []), bool(arguments)
    macro = known.get(name)
    if macro is None or depth > 8:
        return [], False
    text = rest = macro.expanded(list(arguments))
    found: list[tuple[str, Call]] = []
    exact = True
    for call in reversed(list(cpp.invocations(text))):
        inner, alone = _expanded(known, call.name, call.arguments, depth + 1)
        found[:0] = inner
        exact = exact and alone
        rest = rest[: call.start] + rest[call.end :]
    return found, exact and bool(found) and not re.sub(r"[;\s]", "", cpp.masked(rest))


def _meaning(known: Macros, name: str, arguments: Sequence[str]) -> list[tuple[str, Call]]:
    """The registrations that a call stands for; nothing if it does anything else as well."""
    found, exact = _expanded(known, name, arguments)
    return found if exact else []


# --- registrations as a file writes them -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One line that registers a functor, and the library's macros that it stands for."""

    text: str
    calls: tuple[Call, ...]

    @property
    def bfloat(self) -> bool:
        """True if it is about bfloat and nothing else, so that it can stand in a guard."""
        return all("bfloat" in types for _, types in self.calls)


def registration_lines(calls: Sequence[Call], functor: str, text: str) -> tuple[list[Line], list[str]]:
    """The calls as lines that use the macros of the file `text`, and notes about macros of equal meaning.

    Upstream's helpers are used where the file gives them their meaning, other macros of the file where they are the
    only ones of their meaning. A line that no macro of the file covers is a plain call.
    """
    known = cpp.macros(text)
    uses = [c for c in cpp.invocations(text) if c.arguments]
    used = {c.name for c in uses}
    notes: list[str] = []
    left = list(calls)
    found: list[Line] = []
    for names, meaning in _macros_for_sets(known, used):
        if not set(meaning) <= set(left):
            continue
        if len(names) > 1:
            notes.append(f"{functor}: {' and '.join(names)} register the same dtypes; neither is used: choose one")
            continue
        found.append(Line(f"{names[0]}({functor});", meaning))
        left = [c for c in left if c not in meaning]
    plain = {(c.name, len(set(c.arguments[1:])) == 1) for c in uses}
    for macro, types in left:
        line = f"{macro}({functor}, {', '.join(types)});"
        if (macro, len(set(types)) == 1) not in plain:  # the file does not write such a call itself
            short = sorted(set(_macros_for_call(known, used, (macro, types), functor)))
            if len(short) == 1:
                line = short[0]
            elif short:
                notes.append(f"{functor}: {' and '.join(short)} mean the same; {line} is written: choose one")
        found.append(Line(line, ((macro, types),)))
    return found, notes


def _macros_for_sets(known: Macros, used: set[str]) -> Iterator[tuple[list[str], tuple[Call, ...]]]:
    """The sets of calls for which the file has macros, with their names: upstream's first, then larger ones."""
    groups: dict[frozenset[Call], list[str]] = {}
    for name, macro in known.items():
        if name in _FORMS or len(macro.parameters) != 1:
            continue
        calls = _meaning(known, name, ["NAME"])
        if len(calls) > 1 and all(functor == "NAME" for functor, _ in calls):
            groups.setdefault(frozenset(call for _, call in calls), []).append(name)
    for helper in HELPERS:
        names = groups.pop(frozenset(helper.calls), [])
        mine = [helper.name] if helper.name in names else [name for name in names if name in used]
        if mine:
            yield mine, helper.calls
    for meaning, names in sorted(groups.items(), key=lambda g: -len(g[0])):
        mine = [name for name in names if name in used]
        if mine:
            yield mine, tuple(sorted(meaning))


def _macros_for_call(known: Macros, used: Iterable[str], call: Call, functor: str) -> Iterator[str]:
    """The calls of the file's macros for one functor and dtype that mean this call."""
    types = call[1]
    for name, local in known.items():
        if name in _FORMS or name not in used or len(local.parameters) not in (2, 3):
            continue
        choices = [[t] for t in types] if len(local.parameters) == 2 else [list(types), list(reversed(types))]
        for chosen in choices:
            arguments = [functor, *chosen]
            if len(arguments) == len(local.parameters) and _meaning(known, name, arguments) == [(functor, call)]:
                yield f"{name}({', '.join(arguments)});"
