"""Which rows of `native_functions.yaml` go through which dispatch stub, read from the kernels in `ATen/native`.

A row belongs to a stub if the function that its CPU key names mentions the stub, or calls a function of the same file
that does. Calls through the dispatcher (`at::pow_out`) do not count: they arrive at another row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pymetal.errors import PyMetalError
from pymetal.upstream import cpp
from pymetal.upstream.checkout import NATIVE, YAML, Checkout
from pymetal.upstream.native_functions import NativeFunctions, Row

_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_CALL = re.compile(r"(?P<scope>(?:\w+::)*)(?P<name>[A-Za-z_]\w*)\s*\(")


@dataclass(frozen=True)
class Kernels:
    """The stubs that each kernel function goes through."""

    stubs: dict[str, frozenset[str]]

    def of(self, row: Row) -> frozenset[str]:
        """The stubs of a row."""
        kernel = row.kernel("CPU")
        return self.stubs.get(kernel, frozenset()) if kernel else frozenset()


def read_kernels(checkout: Checkout, names: Iterable[str]) -> Kernels:
    """The kernels of `ATen/native` that go through one of the stubs `names`."""
    wanted = frozenset(names)
    stubs: dict[str, frozenset[str]] = {}
    for file in sorted((checkout.root / NATIVE).glob("*.cpp")):
        text = checkout.text(f"{NATIVE}/{file.name}")
        if not wanted.isdisjoint(_WORD.findall(text)):
            for kernel, through in _through(text, wanted).items():
                stubs[kernel] = stubs.get(kernel, frozenset()) | through
    return Kernels(stubs)


def _through(text: str, wanted: frozenset[str]) -> dict[str, frozenset[str]]:
    bodies: dict[str, str] = {}
    for function in cpp.functions(cpp.expanded(text)):
        # Overloads share a name, and a yaml row names no overload.
        bodies[function.name] = bodies.get(function.name, "") + "\n" + function.text
    reached = {name: wanted.intersection(_WORD.findall(body)) for name, body in bodies.items()}
    calls = {name: _local_calls(body, bodies.keys()) - {name} for name, body in bodies.items()}
    changed = True
    while changed:
        changed = False
        for name, called in calls.items():
            more = reached[name].union(*(reached[c] for c in called))
            changed |= more != reached[name]
            reached[name] = more
    return {name: frozenset(found) for name, found in reached.items() if found}


def _local_calls(body: str, known: Iterable[str]) -> set[str]:
    """The functions of the file that a body calls itself, not through the dispatcher and not as methods."""
    found = set()
    names = set(known)
    for match in _CALL.finditer(body):
        before = body[: match.start()].rstrip()[-2:]
        method = before.endswith(".") or before == "->"
        if match["name"] in names and match["scope"] in ("", "native::", "at::native::") and not method:
            found.add(match["name"])
    return found


@dataclass(frozen=True)
class Selection:
    """Rows to move, and the stubs that they go through."""

    rows: tuple[str, ...]
    stubs: frozenset[str]


def rows_of_stub(file: NativeFunctions, kernels: Kernels, stub: str) -> list[Row]:
    """The rows that go through `stub`, in the order of the file."""
    return [row for row in file.rows.values() if stub in kernels.of(row)]


def select(checkout: Checkout, kernels: Kernels, name: str) -> Selection:
    """What `name` of the command line means: `op.overload` that row, `op` all rows of its stub.

    `op.default` is the row without an overload name.

    Raises:
        PyMetalError: there is no such row, its stub cannot be told, or the operator has several stubs.
    """
    file = NativeFunctions(checkout.text(YAML))
    if "." in name:
        row = file[name.removesuffix(".default") if name.endswith(".default") else name]
        return Selection((row.name,), kernels.of(row))
    rows = file.of_operator(name)
    if not rows:
        file[name]  # raises with the nearest name
        raise AssertionError("an operator has rows")
    through = {row.name: kernels.of(row) for row in rows if kernels.of(row)}
    if not through:
        shown = ", ".join(f"{r.name} ({r.kernel('CPU') or 'no CPU kernel'})" for r in rows)
        raise PyMetalError(
            f"cannot tell through which stub {name} goes: no kernel of {shown} in {NATIVE}/*.cpp mentions one",
            hint="Name the row: `op.overload`, or `op.default` for the one without an overload.",
        )
    groups = _groups(through)
    if len(groups) > 1:
        listed = "".join(f"\n    {', '.join(names)}: {', '.join(sorted(stubs))}" for names, stubs in groups)
        raise PyMetalError(
            f"the rows of {name} go through different stubs:{listed}", hint="Name one row, such as " + groups[0][0][0]
        )
    stubs = groups[0][1]
    # Rows of other operators that share the stub belong to it: div.out_mode and floor_divide use div_floor_stub.
    found = [row.name for row in file.rows.values() if kernels.of(row) & stubs and row.line("CPU")]
    return Selection(tuple(found), stubs)


def _groups(through: dict[str, frozenset[str]]) -> list[tuple[list[str], frozenset[str]]]:
    """Rows that have a stub in common, directly or through other rows."""
    groups: list[tuple[list[str], frozenset[str]]] = []
    for name, stubs in through.items():
        together = [g for g in groups if g[1] & stubs]
        names = [n for g in together for n in g[0]] + [name]
        merged = stubs.union(*(g[1] for g in together))
        groups = [g for g in groups if g not in together] + [(names, merged)]
    return groups
