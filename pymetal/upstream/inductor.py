"""What inductor's MPS back end lacks for an operator, with the position and the exact lines to add."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pymetal.arity import Arity
from pymetal.ops import TABLE
from pymetal.upstream.checkout import INDUCTOR_MPS, METAL_HEADERS, Checkout, parse_python
from pymetal.upstream.plan import Outcome, Plan, Step

_HANDLER = "torch/_inductor/ops_handler.py"
_COMMON = "torch/_inductor/codegen/common.py"
_BASES = ("OpOverrides", "OpDecompositions", "BasicMathOpsMixin")
_SPECIAL_MATH = f"{METAL_HEADERS}/special_math.h"


@dataclass(frozen=True)
class _Backend:
    """What `MetalOverrides` of a checkout has."""

    known: frozenset[str]
    lists: dict[tuple[str, bool], int]  # by arity and `_forward` suffix: the line of the last name
    typed: bool  # its methods say CSEVariable
    method_line: tuple[int, str]  # a method goes above the helpers for special functions, or below the class
    loop_line: int | None  # below which a further loop over names goes: the last of `_initialize_special_ops`


def edit(checkout: Checkout, plan: Plan) -> Outcome:
    """The editor of inductor's MPS back end: where a name goes is for the author to decide, so it only says so."""
    return Outcome(steps=tuple(s for ops, arity in plan.compiled for s in inductor_steps(checkout, ops, arity)))


def inductor_steps(checkout: Checkout, ops: Collection[str], arity: Arity) -> list[Step]:
    """What inductor lacks for operators that it could compile itself."""
    backend = _backend(checkout)
    if backend is None:
        return []
    handled, inherited = _handled(checkout), _inherited(checkout)
    steps = []
    for op in ops:
        short = op.removeprefix("special_")
        if op.endswith("_backward") or {short, op} & (backend.known | inherited):
            continue
        function = _c10_function(checkout, short)
        # What inductor has no operation for, it decomposes into others or calls as a whole.
        if short in handled if handled else (function is not None or op.startswith("special_")):
            steps.append(_step(backend, short, function, arity))
    return steps


def _step(backend: _Backend, name: str, function: str | None, arity: Arity) -> Step:
    lacks = f"inductor has no {name}; "
    own = None if function else _standard(name)
    if own is not None:
        return _method(backend, name, own, arity, f"{lacks}{own} of Metal computes it. ", header=False)
    if function is None:
        function = name
        lacks += f"{METAL_HEADERS} has no function of that name: move the functor's to {_SPECIAL_MATH}. "
    else:
        lacks += f"c10::metal::{function} computes it. "
    forward = function == f"{name}_forward"
    place = backend.lists.get((arity.name, forward))
    if place is not None:
        return Step(INDUCTOR_MPS, place, f"{lacks}Add to this list:", f'"{name}",')
    loop = backend.loop_line
    if loop is not None and arity.inputs <= 2:
        suffix = ' + "_forward"' if forward else ""
        text = f'for name in ["{name}"]:\n    setattr(\n        cls,\n        name,\n'
        text += f"        functools.partialmethod(cls._special_{arity.name}, name=name{suffix}),\n    )"
        return Step(INDUCTOR_MPS, loop, f"{lacks}Add below this line:", text)
    return _method(backend, name, f"c10::metal::{function}", arity, lacks, header=True)


def _method(backend: _Backend, name: str, function: str, arity: Arity, message: str, *, header: bool) -> Step:
    names = ("x", "y")[: arity.inputs] if arity.inputs <= 2 else ("a", "b", "c")
    given = ", ".join(f"{n}: CSEVariable" if backend.typed else n for n in names)
    result = " -> str" if backend.typed else ""
    asked = '    V.kernel.headers.add("special_math")\n' if header else ""
    values = ", ".join(f"{{{n}}}" for n in names)
    text = f'@staticmethod\ndef {name}({given}){result}:\n{asked}    return f"{function}({values})"'
    line, side = backend.method_line
    return Step(INDUCTOR_MPS, line, f"{message}Add {side} this line, in the class:", text)


def _backend(checkout: Checkout) -> _Backend | None:
    if not checkout.exists(INDUCTOR_MPS):
        return None
    text = checkout.text(INDUCTOR_MPS)
    tree = parse_python(INDUCTOR_MPS, text)
    overrides = next((n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == "MetalOverrides"), None)
    if overrides is None:
        return None
    known = {n.name for n in ast.walk(overrides) if isinstance(n, ast.FunctionDef)}
    known |= {n.attr for n in ast.walk(overrides) if isinstance(n, ast.Attribute)}
    known |= {str(n.value) for n in ast.walk(overrides) if isinstance(n, ast.Constant)}
    methods = {n.name: n for n in overrides.body if isinstance(n, ast.FunctionDef)}
    special = methods.get("_initialize_special_ops")
    first = next((m for name, m in methods.items() if name in ("_special_unary", "_initialize_special_ops")), None)
    method_line = (overrides.end_lineno or overrides.lineno, "below")
    if first is not None:
        method_line = (min([first.lineno, *(d.lineno for d in first.decorator_list)]), "above")
    loop_line = special.end_lineno if special is not None else None
    typed = "CSEVariable" in text
    return _Backend(frozenset(known), _special_lists(overrides), typed, method_line, loop_line)


def _handled(checkout: Checkout) -> frozenset[str]:
    """The operations that inductor's intermediate representation has; empty if the checkout does not say."""
    return frozenset(name for name, _ in _methods(checkout, _HANDLER, None))


def _inherited(checkout: Checkout) -> frozenset[str]:
    """The operations that every back end has from its base classes."""
    found = [m for path in (_COMMON, _HANDLER) for m in _methods(checkout, path, _BASES)]
    return frozenset(name for name, body in found if "NotImplementedError" not in body)


def _methods(checkout: Checkout, path: str, classes: Collection[str] | None) -> Iterator[tuple[str, str]]:
    if checkout.exists(path):
        for node in ast.walk(parse_python(path, checkout.text(path))):
            if isinstance(node, ast.ClassDef) and (classes is None or node.name in classes):
                yield from ((n.name, ast.unparse(n)) for n in node.body if isinstance(n, ast.FunctionDef))


def _special_lists(overrides: ast.ClassDef) -> dict[tuple[str, bool], int]:
    """The last line of each list of names in `_initialize_special_ops`: by arity and `_forward` suffix."""
    found = {}
    for node in ast.walk(overrides):
        if not (isinstance(node, ast.For) and isinstance(node.iter, ast.List) and node.iter.elts):
            continue
        body = ast.dump(ast.Module(node.body, []))
        for arity in ("unary", "binary"):
            if f"_special_{arity}" in body:
                last = node.iter.elts[-1]
                found[arity, "_forward" in body] = last.end_lineno or last.lineno
    return found


def _c10_function(checkout: Checkout, name: str) -> str | None:
    """The c10::metal function of an operator."""
    for path in checkout.files(METAL_HEADERS, ".h"):
        text = checkout.text(path)
        for candidate in (f"{name}_forward", name):
            if f" {candidate}(" in text and re.search(rf"\b(?:inline|constexpr)?\s*[\w:<>]+ {candidate}\(", text):
                return candidate
    return None


def _standard(name: str) -> str | None:
    """Metal's own function of a name, at the precision that inductor asks for."""
    if f"metal.precise.{name}" in TABLE:
        return f"metal::precise::{name}"
    return f"metal::{name}" if f"metal.{name}" in TABLE else None
