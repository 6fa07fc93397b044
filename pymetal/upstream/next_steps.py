"""What a placed operator still needs from its author: the shims of AOT inductor, entries for missing derivatives."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from pymetal.upstream.checkout import (
    COMMON_MPS,
    DERIVATIVES,
    FALLBACK_OPS,
    SHIMS,
    YAML,
    Checkout,
    line_of,
)
from pymetal.upstream.native_functions import NativeFunctions, Row

_FALLBACK = re.compile(r'^[ \t]*"aten\.(\w+)\.(\w+)"[ \t]*:', re.MULTILINE)
_SHIM = re.compile(r"AOTI_TORCH_EXPORT\b[^;]*\baoti_torch_mps_(\w+)\(")
_UPDATE = "python torchgen/gen.py --update-aoti-c-shim"


@dataclass(frozen=True)
class Step:
    """One thing left to do by hand."""

    path: str
    line: int
    message: str
    add: str | None = None  # the line to add there

    def __str__(self) -> str:
        added = "".join(f"\n    {line}" for line in self.add.split("\n")) if self.add else ""
        return f"{self.path}:{self.line}: {self.message}{added}"


def aoti_steps(checkout: Checkout, gained: Collection[str]) -> list[Step]:
    """The shims that `c_shim_mps.h` lacks for rows that gained MPS and to which AOT inductor falls back."""
    if not checkout.exists(FALLBACK_OPS):
        return []
    text = checkout.text(FALLBACK_OPS)
    file = NativeFunctions(checkout.text(YAML))
    shim = f"{SHIMS}/c_shim_mps.h"
    there = checkout.text(shim) if checkout.exists(shim) else ""
    steps = []
    for match in _FALLBACK.finditer(text):
        row = file.rows.get(match[1] if match[2] == "default" else f"{match[1]}.{match[2]}")
        if row is None or not {row.name, row.keys.get("structured_delegate")} & set(gained):
            continue
        function = row.name.replace(".", "_")
        if re.search(rf"\baoti_torch_mps_{function}\(", there):
            continue
        declaration = _declaration(checkout, function) or _generated(file, row)
        place = (shim, _shim_line(there, function)) if there else (FALLBACK_OPS, line_of(text, match.start(1)))
        name = f"aten.{match[1]}.{match[2]}"
        if declaration is None:
            message = f"AOT inductor falls back to {name}: run `{_UPDATE}`, which adds it to {shim}"
        else:
            message = f"AOT inductor falls back to {name}: `{_UPDATE}` adds to {shim}"
        steps.append(Step(*place, message, declaration))
    return steps


def _declaration(checkout: Checkout, function: str) -> str | None:
    """The shim's declaration for MPS, as another device's has it."""
    for device in ("cpu", "cuda"):
        path = f"{SHIMS}/c_shim_{device}.h"
        if checkout.exists(path):
            name = f"aoti_torch_{device}_{function}"
            match = re.search(rf"^AOTI_TORCH_EXPORT[^;]*\b{name}\([^;]*;", checkout.text(path), re.MULTILINE)
            if match is not None:
                return match.group().replace(name, f"aoti_torch_mps_{function}")
    return None


def _generated(file: NativeFunctions, row: Row) -> str | None:
    """The declaration as torchgen writes it; None if the installed torchgen cannot."""
    try:
        from torchgen.gen_aoti_c_shim import gen_declaration_and_definition  # type: ignore[import-untyped]
        from torchgen.model import FunctionSchema  # type: ignore[import-untyped]

        schema = FunctionSchema.parse(file.lines[row.number].split("func:", 1)[1].strip().strip("'\""))
        return str(gen_declaration_and_definition(schema, "mps", "", {})[0]).strip()
    except Exception:  # torchgen raises assertions and more
        return None


def _shim_line(text: str, function: str) -> int:
    """The line before which a declaration belongs: they are sorted by name, some in an `#if` of their own."""
    lines = text.split("\n")
    last = 0
    for number, line in enumerate(lines, 1):
        match = _SHIM.match(line)
        if match is not None and match[1] > function:
            return number - 1 if lines[number - 2].startswith("#if") else number
        if match is not None:
            last = number
    return last + (2 if lines[last : last + 1] and lines[last].startswith("#endif") else 1)


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
