"""The editor of `native_functions.yaml`: MPS joins rows, and nothing else changes in the table that torchgen reads."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pymetal.errors import PyMetalError
from pymetal.upstream.checkout import TAGS, YAML, Checkout
from pymetal.upstream.native_functions import NativeFunctions, changed_rows, set_mps_kernel, share_cpu_kernel
from pymetal.upstream.plan import Outcome, Plan

Table = dict[str, dict[str, str]]


def edit(checkout: Checkout, plan: Plan) -> Outcome:
    """The editor of `native_functions.yaml`: MPS shares the CPU kernel, or gets a kernel of its own.

    The edit is taken over once torchgen has read the intended table from it.
    """
    before = checkout.text(YAML)
    file = NativeFunctions(before)
    after = share_cpu_kernel(before, plan.shared)
    for name, kernel in plan.own.items():
        after = set_mps_kernel(after, name, kernel)
    warning = None
    if after != before:
        intended = {name: file[name].kernel("CPU") or "" for name in plan.shared} | dict(plan.own)
        warning = check_edit(before, after, checkout.text(TAGS), intended)
        checkout.write(YAML, after)
    return Outcome(rows=changed_rows(before, after), notes=(warning,) if warning else ())


def check_edit(before: str, after: str, tags: str, intended: Mapping[str, str]) -> str | None:
    """Compares what torchgen reads in both texts.

    Args:
        before: the file as it was.
        after: the file as edited.
        tags: the text of `tags.yaml`.
        intended: the rows that shall change, each with the kernel that MPS shall lead to.

    Returns:
        None, or why torchgen could not read the file even before the edit; the checkout is then newer than the
        installed torch, and only the line reader of `native_functions` has looked at it.

    Raises:
        PyMetalError: the edit changed something else, or not what it should, or broke the file.
    """
    try:
        old = dispatch_table(before, tags)
    except PyMetalError:
        raise
    except Exception as error:  # torchgen raises assertions and more
        if type(error).__module__.startswith("yaml."):
            raise PyMetalError(
                f"native_functions.yaml is not YAML before any edit: {_brief(error)}", hint="Repair the file first."
            ) from error
        _compare(NativeFunctions(before).table(), NativeFunctions(after).table(), intended)
        return f"the installed torchgen cannot read this checkout's native_functions.yaml ({_brief(error)})"
    try:
        new = dispatch_table(after, tags)
    except Exception as error:
        raise PyMetalError(f"torchgen cannot read the edited native_functions.yaml: {_brief(error)}") from error
    _compare(old, new, intended)
    return None


def _compare(old: Table, new: Table, intended: Mapping[str, str]) -> None:
    problems = [f"row {name} is gone" for name in old if name not in new]
    problems += [f"row {name} is new" for name in new if name not in old]
    for name in sorted(old.keys() & new.keys()):
        wanted = dict(old[name])
        if name in intended:
            wanted["MPS"] = intended[name]
        if new[name] != wanted:
            problems.append(f"row {name} reads {new[name]}, not {wanted}")
    if problems:
        raise PyMetalError("the edited native_functions.yaml is not as intended:\n    " + "\n    ".join(problems))


def dispatch_table(text: str, tags: str) -> Table:
    """What torchgen reads: for each row the kernel of each dispatch key, CompositeImplicitAutograd included.

    Raises:
        PyMetalError: PyYAML, which torchgen needs, is not installed.
    """
    parse, key_type = _torchgen()
    with tempfile.TemporaryDirectory() as folder:
        path, tags_path = Path(folder) / "native_functions.yaml", Path(folder) / "tags.yaml"
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        tags_path.write_bytes(tags.encode("utf-8", "surrogateescape"))
        parsed = parse(str(path), str(tags_path))
    table: Table = {str(f.func.name): {} for f in parsed.native_functions}
    for key in key_type:
        for name, metadata in parsed.backend_indices[key].index.items():
            if str(name) in table:
                table[str(name)][str(key).removeprefix("DispatchKey.")] = metadata.kernel
    return table


def _torchgen() -> tuple[Any, Any]:
    try:
        from torchgen.gen import parse_native_yaml
        from torchgen.model import DispatchKey
    except ModuleNotFoundError as error:
        raise PyMetalError(
            f"editing native_functions.yaml needs torchgen, which needs {error.name}",
            hint="pip install pyyaml",
        ) from error
    return parse_native_yaml, DispatchKey


def _brief(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]
