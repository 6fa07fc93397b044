"""What the Metal files of a checkout register: for each kernel name its dtypes, whichever macro wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pymetal.arity import ARITIES, Arity
from pymetal.upstream import cpp
from pymetal.upstream.checkout import INDEXING, KERNELS, Checkout, line_of


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


@dataclass(frozen=True)
class _Form:
    arity: Arity
    alpha: bool
    castout: bool


def _forms() -> dict[str, _Form]:
    forms = {}
    for arity in ARITIES:
        forms[arity.plain.name] = _Form(arity, alpha=False, castout=False)
        forms[arity.alpha.name] = _Form(arity, alpha=True, castout=False)
        if arity.opmath is not None:
            forms[arity.opmath.name] = _Form(arity, alpha=False, castout=False)
        if arity.castout is not None:
            forms[arity.castout.name] = _Form(arity, alpha=False, castout=True)
    # Not written by pymetal, but by upstream.
    forms["REGISTER_OPMATH_TERNARY_ALPHA_OP"] = _Form(ARITIES[2], alpha=True, castout=False)
    forms["REGISTER_UNARY_VEC4_OP"] = _Form(ARITIES[0], alpha=False, castout=True)
    return forms


FORMS = _forms()


def registrations(path: str, text: str) -> list[Registered]:
    """The registrations of one file, helper macros expanded."""
    known = cpp.macros(text)
    found: list[Registered] = []
    for call in cpp.invocations(text):
        found += _of_call(call.name, call.arguments, known, path, line_of(text, call.start))
    return found


def tree_registrations(checkout: Checkout) -> list[Registered]:
    """The registrations of every Metal file."""
    return [r for path in checkout.files(KERNELS, ".metal") for r in registrations(path, checkout.text(path))]


def library_macros(checkout: Checkout) -> set[str]:
    """The macros that `c10/metal/indexing.h` of the checkout defines."""
    return set(cpp.macros(checkout.text(INDEXING)))


def _of_call(
    name: str, arguments: list[str], known: dict[str, cpp.Macro], path: str, line: int
) -> Iterator[Registered]:
    for macro, values in _flat(name, arguments, known, 0):
        form = FORMS.get(macro)
        if form is None or len(values) != (4 if form.alpha else 3):
            continue
        alpha = values[2] if form.alpha else None
        yield Registered(values[0], values[1], alpha, values[-1], form.arity, form.castout, path, line)


def _flat(name: str, arguments: list[str], known: dict[str, cpp.Macro], depth: int) -> Iterator[tuple[str, list[str]]]:
    """A call as the calls that it stands for; macros that register by other means give nothing."""
    if name in FORMS:
        yield name, arguments
        return
    macro = known.get(name)
    if macro is None or depth > 8:
        return
    for call in cpp.invocations(macro.expanded(arguments)):
        yield from _flat(call.name, call.arguments, known, depth + 1)
