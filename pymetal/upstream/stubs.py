"""Dispatch stubs: their exact types, from the checkout's own headers, and which of them a functor's name means.

A checkout whose headers declare no stub at all is read with the headers of the installed torch.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch

from pymetal.errors import PyMetalError, nearest
from pymetal.upstream import cpp
from pymetal.upstream.checkout import NATIVE, Checkout

_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*([^;]+);")
_DECLARE = re.compile(r"\bDECLARE_DISPATCH\s*\(")
_POINTER = re.compile(r"^void\s*\(\s*\*\s*\)\s*\((.*)\)$", re.DOTALL)
_ITERATORS = ("TensorIteratorBase&", "TensorIterator&")

# Functors whose stub does not carry their name. The others: NAME_stub, special_NAME_stub.
_NAMED = {
    "make_complex": "complex_stub",
    "bitwise_left_shift": "lshift_stub",
    "bitwise_right_shift": "rshift_stub",
    "lerp": "lerp_kernel_tensor_weight",
    "lerp_alpha": "lerp_kernel_scalar_weight",
    "where": "where_kernel",
    "pow": "pow_tensor_tensor_stub",
    "pow_scalar": "pow_tensor_scalar_stub",
    "hardshrink_backward": "shrink_backward_stub",
    "softshrink_backward": "shrink_backward_stub",
    "add_alpha": "add_stub",
    "sub_alpha": "sub_stub",
}


@dataclass(frozen=True)
class Stub:
    """A dispatch stub with the type of the functions that it takes."""

    name: str
    header: str  # as in an #include
    parameters: tuple[str, ...]  # their types, spaces normalised; the iterator first

    @property
    def iterator(self) -> str:
        """`TensorIteratorBase&` or `TensorIterator&`."""
        return self.parameters[0]

    @property
    def scalars(self) -> tuple[str, ...]:
        """The types after the iterator."""
        return self.parameters[1:]

    @property
    def elementwise(self) -> bool:
        """True if the stub takes an iterator first, as elementwise operators do."""
        return bool(self.parameters) and self.parameters[0] in _ITERATORS


def declared(text: str, header: str) -> dict[str, Stub]:
    """The stubs that a header declares."""
    plain = cpp.masked(text)
    aliases = {m[1]: m[2] for m in _ALIAS.finditer(plain)}
    found = {}
    for match in _DECLARE.finditer(plain):
        close = cpp.closing(plain, match.end() - 1)
        arguments = cpp.split_arguments(plain[match.end() : close])
        if len(arguments) < 2:
            continue
        # The type may hold commas, which split_arguments keeps together inside brackets.
        type_, name = ", ".join(arguments[:-1]), arguments[-1]
        pointer = _POINTER.match(" ".join(aliases.get(type_, type_).split()))
        if pointer is not None:
            found[name] = Stub(name, header, tuple(_type(p) for p in cpp.split_arguments(pointer[1])))
    return found


def find_stub(checkout: Checkout, name: str) -> Stub:
    """The dispatch stub `name` of a checkout.

    Raises:
        PyMetalError: no header declares it, or it takes no iterator.
    """
    known = all_stubs(checkout)
    stub = known.get(name)
    if stub is None:
        near = nearest(name, known)
        problem = f"no header in {NATIVE} declares the dispatch stub"
        if not _checkout_stubs(checkout):
            problem = f"{NATIVE} has no headers with dispatch stubs, and torch {torch.__version__} does not declare"
        raise PyMetalError(
            f"{problem} {name}" + (f"; did you mean {near}?" if near else ""),
            hint="Pass --stub NAME, with the name in a DECLARE_DISPATCH.",
        )
    if not stub.elementwise:
        raise PyMetalError(
            f"{name} takes ({', '.join(stub.parameters)}), not an iterator, so it is not an elementwise stub"
        )
    return stub


def all_stubs(checkout: Checkout) -> dict[str, Stub]:
    """The stubs that the checkout's headers declare; those of the installed torch if they declare none."""
    return _checkout_stubs(checkout) or installed_stubs()


def _checkout_stubs(checkout: Checkout) -> dict[str, Stub]:
    files = sorted((checkout.root / NATIVE).glob("*.h"))
    return _declared_in((file.name, checkout.text(f"{NATIVE}/{file.name}")) for file in files)


@functools.cache
def installed_stubs() -> dict[str, Stub]:
    """The stubs that the headers of the installed torch declare."""
    files = sorted((Path(torch.__file__).parent / "include/ATen/native").glob("*.h"))
    return _declared_in((file.name, file.read_text(encoding="utf-8")) for file in files)


def _declared_in(headers: Iterable[tuple[str, str]]) -> dict[str, Stub]:
    found: dict[str, Stub] = {}
    for name, text in headers:
        if "DECLARE_DISPATCH" in text:
            here = declared(text, f"ATen/native/{name}")
            # cpublas has a copy_stub of its own, in a namespace of its own.
            found.update({n: stub for n, stub in here.items() if stub.elementwise or n not in found})
    return found


def stub_of_functor(functor: str, known: dict[str, Stub]) -> str:
    """The stub that a functor of this name is for.

    Raises:
        PyMetalError: no stub goes by a name like it.
    """
    base = functor.removesuffix("_forward")
    short = base.removeprefix("special_")
    tried = [_NAMED.get(functor, f"{functor}_stub"), f"{base}_stub", f"special_{base}_stub", f"{short}_stub", functor]
    for name in tried:
        if name in known and known[name].elementwise:
            return name
    near = nearest(f"{functor}_stub", known)
    raise PyMetalError(
        f"no dispatch stub is named after the functor {functor}; looked for {', '.join(dict.fromkeys(tried))}",
        hint="Pass --stub NAME" + (f"; the most similar name is {near}." if near else "."),
    )


def _type(text: str) -> str:
    """A parameter's type without its name: `at::`, `c10::` and spaces before `&` go."""
    text = re.sub(r"\b(?:at|c10)::", "", " ".join(text.split()))
    match = re.match(r"^(const )?([\w:]+(?:<[^>]*>)?)\s*(&?)\s*\w*$", text)
    if match is None:
        return text
    const = match[1] if match[1] and match[3] else ""  # const of a value is no part of the type
    return f"{const or ''}{match[2]}{match[3]}"
