"""What a placed operator still needs from its author: inductor's list of functions, the shims of AOT inductor."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass

from pymetal.arity import Arity
from pymetal.codegen.upstream.checkout import (
    COMMON_MPS,
    DERIVATIVES,
    FALLBACK_OPS,
    INDUCTOR_MPS,
    METAL_HEADERS,
    SHIMS,
    Checkout,
    line_of,
)
from pymetal.errors import PyMetalError

_FALLBACK = re.compile(r'^[ \t]*"aten\.(\w+)\.(\w+)"[ \t]*:', re.MULTILINE)
_UPDATE = "python torchgen/gen.py --update-aoti-c-shim"


@dataclass(frozen=True)
class Step:
    """One thing left to do by hand."""

    path: str
    line: int
    message: str
    add: str | None = None  # the line to add there

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" + (f"\n    {self.add}" if self.add else "")


def aoti_steps(checkout: Checkout, ops: Collection[str]) -> list[Step]:
    """The shims that `c_shim_mps.h` lacks for operators that AOT inductor falls back to."""
    if not checkout.exists(FALLBACK_OPS):
        return []
    text = checkout.text(FALLBACK_OPS)
    shim = f"{SHIMS}/c_shim_mps.h"
    there = checkout.text(shim) if checkout.exists(shim) else ""
    steps = []
    for match in _FALLBACK.finditer(text):
        if match[1] not in ops:
            continue
        function = match[1] if match[2] == "default" else f"{match[1]}_{match[2]}"
        if re.search(rf"\baoti_torch_mps_{function}\(", there):
            continue
        declaration = _declaration(checkout, function)
        if declaration is None or not there:
            message = f"aten.{match[1]}.{match[2]} is an AOTI fallback, so c_shim_mps.h gains it: run `{_UPDATE}`"
            steps.append(Step(FALLBACK_OPS, line_of(text, match.start()), message))
        else:
            message = f"AOT inductor falls back to aten.{match[1]}.{match[2]}: `{_UPDATE}` adds"
            steps.append(Step(shim, _shim_line(there, declaration), message, declaration))
    return steps


def _declaration(checkout: Checkout, function: str) -> str | None:
    """The shim's declaration for MPS, as the CPU's one has it."""
    path = f"{SHIMS}/c_shim_cpu.h"
    if not checkout.exists(path):
        return None
    match = re.search(rf"^AOTI_TORCH_EXPORT[^;]*\baoti_torch_cpu_{function}\([^;]*;", checkout.text(path), re.MULTILINE)
    return None if match is None else match.group().replace(f"aoti_torch_cpu_{function}", f"aoti_torch_mps_{function}")


def _shim_line(text: str, declaration: str) -> int:
    """The line before which a declaration belongs: they are sorted."""
    for match in re.finditer(r"^AOTI_TORCH_EXPORT[^;]*;", text, re.MULTILINE):
        if match.group() > declaration:
            return line_of(text, match.start())
    return text.count("\n") + 1


def gradient_steps(checkout: Checkout, infos: Collection[tuple[str, str]]) -> list[Step]:
    """Operators without a derivative, whose gradient tests fail as soon as they run: each as (operator, OpInfo key)."""
    if not checkout.exists(DERIVATIVES) or not checkout.exists(COMMON_MPS):
        return []
    formulas, tests = checkout.text(DERIVATIVES), checkout.text(COMMON_MPS)
    grad = re.search(r"^[ \t]*XFAILLIST_GRAD\b", tests, re.MULTILINE)
    steps = []
    for op, key in infos:
        block = re.search(rf"^- name: {op}\(.*?(?=^- name:|\Z)", formulas, re.MULTILINE | re.DOTALL)
        if (block is None or "not_implemented" in block.group()) and grad is not None:
            message = f"{op} has no derivative for some input; if its gradient test fails, add to XFAILLIST_GRAD"
            steps.append(Step(COMMON_MPS, line_of(tests, grad.start()), message, f'"{key}": None,'))
    return steps


def inductor_steps(checkout: Checkout, ops: Collection[str], arity: Arity) -> list[Step]:
    """What inductor's MPS back end lacks for operators that it could compile itself."""
    if not checkout.exists(INDUCTOR_MPS):
        return []
    text = checkout.text(INDUCTOR_MPS)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise PyMetalError(f"{INDUCTOR_MPS}:{error.lineno}: Python cannot read this file: {error.msg}") from error
    overrides = next((n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == "MetalOverrides"), None)
    if overrides is None:
        return []
    known = {n.name for n in ast.walk(overrides) if isinstance(n, ast.FunctionDef)}
    known |= {n.attr for n in ast.walk(overrides) if isinstance(n, ast.Attribute)}
    known |= {str(n.value) for n in ast.walk(overrides) if isinstance(n, ast.Constant)}
    lists = _special_lists(overrides)
    steps = []
    for op in ops:
        short = op.removeprefix("special_")
        if op.endswith("_backward") or short in known or op in known:
            continue
        function = _c10_function(checkout, short)
        place = lists.get((arity.name, function == f"{short}_forward"))
        if function is not None and place is not None:
            message = f"inductor has no {short}; c10::metal::{function} computes it. Add to this list:"
            steps.append(Step(INDUCTOR_MPS, place, message, f'"{short}",'))
        elif op.startswith("special_"):
            message = f"inductor has no {short}, and {METAL_HEADERS} no function of that name: torch.compile falls back"
            steps.append(Step(INDUCTOR_MPS, overrides.lineno, message))
    return steps


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
            if re.search(rf"\b(?:inline|constexpr)?\s*[\w:<>]+ {candidate}\(", text):
                return candidate
    return None
