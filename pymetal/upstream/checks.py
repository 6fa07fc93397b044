"""Checks of a checkout that has MPS migrations in it, whoever wrote them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pymetal.errors import MetalSyntaxError, ToolchainError
from pymetal.upstream import cpp
from pymetal.upstream.checkout import INDEXING, NATIVE, OPERATIONS, YAML, Checkout, line_of
from pymetal.upstream.formatting import check_format
from pymetal.upstream.host_calls import check_host_calls
from pymetal.upstream.host_stub import dispatches
from pymetal.upstream.native_functions import NativeFunctions
from pymetal.upstream.registration_macros import Registered, tree_registrations
from pymetal.upstream.rows import Kernels, read_kernels
from pymetal.upstream.stubs import all_stubs

_IMPL = re.compile(r"\bTORCH_IMPL_FUNC\s*\(\s*(\w+)\s*\)")


@dataclass(frozen=True)
class Finding:
    """Something wrong at one place."""

    path: str
    line: int
    message: str
    tool: bool = field(default=False, compare=False)  # the compiler's or clang-format's

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass
class Report:
    """What the checks found, and which of them could not run."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)  # the checks that ran, for people


def check_tree(checkout: Checkout, changed: Mapping[str, str | None], *, compile_metal: bool = True) -> Report:
    """Runs every check.

    Args:
        changed: the files that a migration touched, each with its text before, None for a new file. They are compiled,
            and what it added to them is compared with clang-format's layout. The other checks look at the whole tree.
        compile_metal: also compile the changed Metal files on the host device.
    """
    report = Report()
    file = NativeFunctions(checkout.text(YAML))
    kernels = read_kernels(checkout, (s.name for s in all_stubs(checkout).values() if s.elementwise))
    registered = tree_registrations(checkout)
    report.findings += check_defined(checkout, file)
    report.findings += check_dead(checkout, file)
    report.findings += check_rows(checkout, file, kernels)
    report.findings += check_duplicates(checkout, registered)
    report.findings += [Finding(*f) for f in check_host_calls(checkout, registered)]
    report.ran.append("rows, stubs, registrations and kernel names of the whole tree")
    if compile_metal:
        add_compiled(report, checkout, changed)
    problems, notes = check_format(checkout, changed)
    if changed and not notes:
        report.ran.append(f"layout of {_names(changed)}")
    report.findings += [Finding(*p, tool=True) for p in problems]
    report.notes += notes
    report.findings = sorted(set(report.findings), key=lambda f: (f.path, f.line, f.message))
    return report


def add_compiled(report: Report, checkout: Checkout, changed: Mapping[str, str | None]) -> None:
    """Compiles the Metal files among `changed` on the host device, and adds what the compiler says to a report."""
    done = []
    for path, before in changed.items():
        if not path.endswith(".metal"):
            continue
        try:
            error = _compile_error(checkout, checkout.text(path))
            broken_before = error is not None and before is not None and _compile_error(checkout, before) is not None
        except ToolchainError as missing:
            report.notes.append(f"{path} was not compiled: {missing.message}")
            break
        if error is not None and broken_before:
            report.notes.append(
                f"{path} was not compiled: the host device cannot, not even before the change ({error[1]})"
            )
            continue
        done.append(path)
        if error is not None:
            report.findings.append(Finding(path, error[0], f"does not compile: {error[1]}", tool=True))
    if done:
        report.ran.append(f"compilation of {_names(done)} on the host device")


def _compile_error(checkout: Checkout, source: str) -> tuple[int, str] | None:
    """Where and why Metal text does not compile against the checkout's headers; None if it does.

    Raises:
        ToolchainError: there is no C++ compiler.
    """
    from pymetal.host.library import compile_shader

    try:
        compile_shader(source, include_dirs=[str(checkout.root), str(checkout.root / "aten/src")])
    except MetalSyntaxError as error:
        text = str(error)
        first = next((line for line in text.splitlines() if "error:" in line), text.splitlines()[0])
        place = re.search(r":(\d+)(?::\d+)?: ", first)
        return (int(place[1]) if place else 1), first.split("error:", 1)[-1].strip()
    return None


def news(before: Report, after: Report) -> Report:
    """What `after` has found that `before` had not, whatever the lines."""
    old = {(f.path, f.message) for f in before.findings}
    return Report([f for f in after.findings if (f.path, f.message) not in old], after.notes, after.ran)


def _names(paths: Iterable[str]) -> str:
    return ", ".join(path.rsplit("/", 1)[1] for path in paths)


def about(report: Report, rows: Collection[str], names: Collection[str]) -> Report:
    """What a report says of these rows, their kernels, and stubs or functors of these names; and what tools said."""
    ops = {row.split(".")[0].rstrip("_") for row in rows}
    words = [*map(re.escape, {*rows, *names}), *(rf"{re.escape(op)}_(?:\w+_)?mps\w*" for op in ops)]
    found = re.compile(rf"(?<![\w.])(?:{'|'.join(words)})(?![\w.])") if words else re.compile(r"(?!)")
    return Report([f for f in report.findings if f.tool or found.search(f.message)], report.notes, report.ran)


def check_defined(checkout: Checkout, file: NativeFunctions) -> Iterator[Finding]:
    """Every kernel to which a row leads MPS is defined somewhere in the native code."""
    wanted = {
        (row.kernel("MPS") or "", line.number + 1, row.name)
        for row in file.rows.values()
        if (line := row.line("MPS")) is not None and "CPU" not in line.keys
    }
    if not wanted:
        return
    words: set[str] = set()
    for path in checkout.files(NATIVE, ".mm", ".cpp", ".h", ".cu", ".cuh"):
        text = checkout.text(path)
        words.update(re.findall(r"\w+", text))
        if "##" in text:
            words.update(re.findall(r"\w+", cpp.expanded(text)))
    for kernel, number, name in sorted(wanted):
        if kernel.rsplit("::", 1)[-1] not in words:
            yield Finding(YAML, number, f"{name} leads MPS to {kernel}, which nothing in {NATIVE} defines")


def check_dead(checkout: Checkout, file: NativeFunctions) -> Iterator[Finding]:
    """Every structured kernel in the MPS folder is one to which some row leads."""
    named = {line.kernel for row in file.rows.values() for line in row.dispatch}
    for path in checkout.files(OPERATIONS, ".mm", ".cpp"):
        text = checkout.text(path)
        if "TORCH_IMPL_FUNC" not in text:
            continue
        bodies = [(m.start, m.end) for m in cpp.macros(text).values()]
        for match in _IMPL.finditer(cpp.masked(text)):
            inside = any(start <= match.start() < end for start, end in bodies)
            if not inside and match[1] not in named:
                message = f"TORCH_IMPL_FUNC({match[1]}): no row of native_functions.yaml leads here any more"
                yield Finding(path, line_of(text, match.start()), message)


def check_rows(checkout: Checkout, file: NativeFunctions, kernels: Kernels) -> Iterator[Finding]:
    """Rows that share a stub share MPS too, and a stub that MPS shares has an MPS kernel."""
    with_kernel = {d.stub for d in dispatches(checkout)}
    with_mps = ((row, row.line("MPS")) for row in file.rows.values())
    shared = {row.name: kernels.of(row) for row, line in with_mps if line is not None and "CPU" in line.keys}
    for row in file.rows.values():
        stubs = kernels.of(row)
        line = row.line("CPU")
        if not stubs or line is None:
            continue
        if row.name in shared:
            for stub in sorted(stubs - with_kernel):
                message = f"{row.name}: MPS shares {line.kernel}, and {stub} has no MPS kernel (REGISTER_DISPATCH)"
                yield Finding(YAML, line.number + 1, message)
            continue
        alike = sorted(name for name, theirs in shared.items() if theirs & stubs)
        if alike and stubs <= with_kernel:
            own = row.kernel("MPS")
            state = f"leads MPS to {own}" if own else "has no MPS"
            place = row.line("MPS") or line
            through = ", ".join(sorted(stubs))
            message = f"{row.name} {state}, and {alike[0]} shares {through} with MPS: this row was left behind"
            yield Finding(YAML, place.number + 1, message)


def check_duplicates(checkout: Checkout, registered: Iterable[Registered]) -> Iterator[Finding]:
    """No kernel is made twice: all Metal files are linked into one library, where host names are global."""
    seen: dict[tuple[str, ...], Registered] = {}
    # From 2.13 on a registration also makes kernels that are named after the input alone.
    castouts = "REGISTER_BINARY_CASTOUT_OP" in cpp.macros(checkout.text(INDEXING))
    for r in registered:
        keys: list[tuple[str, ...]] = [("castout" if r.castout else "dense", r.kernel)]
        if castouts and not r.castout and r.alpha is None:
            keys.append(("input", r.arity.name, r.name, r.input))
        for key in keys:
            first = seen.setdefault(key, r)
            if first is not r:
                where = f"{first.path}:{first.line}"
                yield Finding(r.path, r.line, f"{r.name} is registered for {r.input} twice, first in {where}")
                break
