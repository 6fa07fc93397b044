"""The shims of AOT inductor that an operator lacks once MPS has a kernel for it."""

from __future__ import annotations

import re
from collections.abc import Collection

from pymetal.upstream.checkout import FALLBACK_OPS, SHIMS, YAML, Checkout, line_of
from pymetal.upstream.native_functions import NativeFunctions, Row
from pymetal.upstream.plan import Outcome, Plan, Step

_FALLBACK = re.compile(r'^[ \t]*"aten\.(\w+)\.(\w+)"[ \t]*:', re.MULTILINE)
_SHIM = re.compile(r"AOTI_TORCH_EXPORT\b[^;]*\baoti_torch_mps_(\w+)\(")
_UPDATE = "python torchgen/gen.py --update-aoti-c-shim"


def edit(checkout: Checkout, plan: Plan) -> Outcome:
    """The editor of AOT inductor's shims: they are generated, so it edits nothing and says what to run."""
    gained = [name for name, (before, _) in plan.changed(checkout).items() if before is None]
    return Outcome(steps=tuple(aoti_steps(checkout, gained)) if gained else ())


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
        from torchgen.gen_aoti_c_shim import gen_declaration_and_definition
        from torchgen.model import FunctionSchema

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
