"""What is to be edited in a checkout to place functors or to migrate rows, and the editors that do it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from pymetal.codegen.metal_file import Entry, joined
from pymetal.dtypes import BY_METAL
from pymetal.errors import PyMetalError
from pymetal.upstream import aoti_shims, dispatch_table, host_stub, inductor, kernel, legacy, test_lists
from pymetal.upstream.checkout import KERNELS, NATIVE, YAML, Checkout
from pymetal.upstream.formatting import format_edits
from pymetal.upstream.host_function import function_text
from pymetal.upstream.native_functions import NativeFunctions, operators
from pymetal.upstream.placement import Placement
from pymetal.upstream.plan import Editor, Plan, Target
from pymetal.upstream.registration_macros import Registered, tree_registrations
from pymetal.upstream.rows import Kernels, read_kernels, rows_of_stub, select
from pymetal.upstream.stubs import Stub, all_stubs, find_stub, stub_of_functor

# One editor for each kind of file, in the order in which they run: each sees the edits of those before it.
EDITORS: tuple[Editor, ...] = (
    kernel.edit,
    host_stub.edit,
    dispatch_table.edit,
    legacy.edit,
    inductor.edit,
    test_lists.edit,
    aoti_shims.edit,
)

# Where upstream keeps the functors of a stub's header, whatever their arity.
_FILES = {
    "Activation.h": "ActivationKernel",
    "Lerp.h": "BinaryKernel",
    "PointwiseOps.h": "PointwiseOps",
    "TensorCompare.h": "TensorCompare",
}


def place(
    entries: Iterable[Entry], root: str | os.PathLike[str], *, stub: str | None = None, file: str | None = None,
    replace: bool = False,
) -> Placement:  # fmt: skip
    """Places functors in the checkout at `root`: kernel, host stub, yaml rows, tests; nothing is written yet.

    Args:
        stub: the dispatch stub, where the functor's name does not tell it.
        file: the name of the `.metal` file, existing or new; by default upstream's file for the arity and kind.
        replace: put the functor in the place of another one of the same name.

    Raises:
        PyMetalError: the checkout is of an unknown shape, or the functor does not fit into it.
    """
    checkout = Checkout.open(root)
    known = all_stubs(checkout)
    chosen = [(e, find_stub(checkout, stub or stub_of_functor(e.checked.name, known))) for e in joined(tuple(entries))]
    targets = []
    for entry, target in chosen:
        function_text(checkout, entry, target)  # refuses scalars that do not fit
        kernel.check_macros(checkout, entry)
        targets.append(Target(entry, target, kernel_file(checkout, entry, target, file), replace))
    kernels = _kernels(checkout, known)
    ready = {d.stub for d in host_stub.dispatches(checkout)} | {t.stub.name for t in targets}
    notes: list[str] = []
    rows: list[str] = []
    dtypes: dict[str, set[str]] = {}  # by operator: a row may go through the stubs of two functors
    compiled = []
    for entry, target in chosen:
        found = _rows_of_stub(checkout, kernels, target.name, ready, notes)
        ops = operators(checkout.text(YAML), found) or {entry.checked.name}
        compiled.append((tuple(sorted(ops)), entry.arity))
        rows += found
        for op in ops:
            dtypes.setdefault(op, set()).update(d.name.rstrip("_") for d in entry.checked.domain)
    return _edited(
        checkout,
        Plan(
            stubs=tuple(s.name for _, s in chosen), functors=tuple(targets), shared=tuple(rows), dtypes=dtypes,
            compiled=tuple(compiled),
        ),
        notes,
    )  # fmt: skip


def migrate(names: Sequence[str], root: str | os.PathLike[str], *, own_kernel: str | None = None) -> Placement:
    """Moves rows from a kernel of MPS's own to the shared stub: `op` means all rows of its stub, `op.overload` one row.

    The stub runs the functor that a Metal file of the checkout registers already, if there is one.

    Args:
        own_kernel: give MPS a line of its own with this kernel instead.

    Raises:
        PyMetalError: the checkout is of an unknown shape, or a row cannot be moved; the message says why.
    """
    checkout = Checkout.open(root)
    if own_kernel is not None:
        if len(names) != 1:
            raise PyMetalError("a kernel of MPS's own belongs to one row", hint="Pass one `op.overload` with --own.")
        return _edited(checkout, Plan(own={names[0].removesuffix(".default"): own_kernel}), [])
    known = all_stubs(checkout)
    kernels = _kernels(checkout, known)
    selections = [select(checkout, kernels, name) for name in names]
    rows = tuple(dict.fromkeys(row for s in selections for row in s.rows))
    stubs = tuple(sorted(frozenset().union(*(s.stubs for s in selections))))
    file = NativeFunctions(checkout.text(YAML))
    ready = {d.stub for d in host_stub.dispatches(checkout)}
    tree = tree_registrations(checkout)
    notes: list[str] = []
    registered = []
    dtypes: dict[str, set[str]] = {}
    unknown: set[str] = set()
    for name in stubs:
        found = _registered_for(checkout, known[name], kernels, rows, tree)
        for op in {file[r].op for r in rows if name in kernels.of(file[r])}:
            if found:
                metal = (BY_METAL[r.input] for r in found if r.input in BY_METAL)
                dtypes.setdefault(op, set()).update(d.name.rstrip("_") for d in metal)
            else:
                unknown.add(op)
        if name not in ready and found:
            registered.append((known[name], found))
        elif name not in ready:
            notes.append(f"{name} has no MPS kernel, and no Metal file registers a functor for it")
    notes += [
        f"{row}: its stub is unknown, since no kernel in the checkout calls one"
        for row in rows
        if not kernels.of(file[row])
    ]
    ops = tuple(sorted({file[row].op for row in rows}))
    return _edited(
        checkout,
        Plan(
            stubs=stubs, registered=tuple(registered), shared=rows,
            dtypes={op: names for op, names in dtypes.items() if op not in unknown},
            compiled=tuple((ops, found[0].arity) for _, found in registered),
        ),
        notes,
    )  # fmt: skip


def _edited(checkout: Checkout, plan: Plan, notes: list[str]) -> Placement:
    """The placement that the editors make of a plan."""
    outcomes = [edit(checkout, plan) for edit in EDITORS]
    notes += [note for outcome in outcomes for note in outcome.notes]
    notes += [f"{path} was put back: an earlier run was interrupted" for path in checkout.recovered]
    if checkout.changed and not format_edits(checkout):
        notes.append(
            "the new lines are not formatted: no clang-format from 19.1 on works, or the checkout has no .clang-format"
        )
    return Placement(
        checkout=checkout,
        plan=plan,
        rows={name: kernels for outcome in outcomes for name, kernels in outcome.rows.items()},
        legacy=tuple(removal for outcome in outcomes for removal in outcome.legacy),
        tests=tuple(entry for outcome in outcomes for entry in outcome.tests),
        complex=tuple(entry for outcome in outcomes for entry in outcome.complex),
        steps=tuple(dict.fromkeys(step for outcome in outcomes for step in outcome.steps)),
        notes=tuple(notes),
    )


def _kernels(checkout: Checkout, known: dict[str, Stub]) -> Kernels:
    return read_kernels(checkout, (s.name for s in known.values() if s.elementwise))


def kernel_file(checkout: Checkout, entry: Entry, stub: Stub, file: str | None) -> str:
    """The `.metal` file for a functor.

    Raises:
        PyMetalError: `file` is not the name of a Metal file.
    """
    if file is not None:
        name = file.rsplit("/", 1)[-1]
        if not name.endswith(".metal") or not name.removesuffix(".metal").isidentifier():
            raise PyMetalError(f"--file {file}: not the name of a .metal file", hint=f"It goes into {KERNELS}.")
        if "/" in file and file != f"{KERNELS}/{name}":
            raise PyMetalError(f"--file {file}: Metal files are in {KERNELS}", hint=f"Pass --file {name}.")
        return f"{KERNELS}/{name}"
    there = kernel.find_functor(checkout, entry.checked.name)
    if there is not None and there[0].endswith(".metal"):
        return there[0]
    by_header = _FILES.get(stub.header.rsplit("/", 1)[-1])
    for path in (f"{KERNELS}/{by_header}.metal", f"{KERNELS}/{entry.arity.kernel_file}"):
        if checkout.exists(path):
            return path
    return f"{KERNELS}/{entry.arity.kernel_file}"


def _rows_of_stub(checkout: Checkout, kernels: Kernels, stub: str, ready: set[str], notes: list[str]) -> list[str]:
    """The rows that go through a stub, but for those that go through another one without an MPS kernel as well."""
    file = NativeFunctions(checkout.text(YAML))
    rows = rows_of_stub(file, kernels, stub)
    if not rows:
        raise PyMetalError(
            f"no row of native_functions.yaml goes through {stub}: no CPU kernel of {NATIVE}/*.cpp calls it",
            hint="Pass the stub that the operator's CPU kernel calls as --stub.",
        )
    names = []
    for row in rows:
        missing = sorted(kernels.of(row) - ready)
        if missing:
            notes.append(f"{row.name} stays: it goes through {', '.join(missing)} too, without an MPS kernel")
        else:
            names.append(row.name)
    return names


def _registered_for(
    checkout: Checkout, stub: Stub, kernels: Kernels, rows: Sequence[str], registered: Sequence[Registered]
) -> tuple[Registered, ...]:
    """The registrations of the functor that a stub should run: the one the old kernel calls, or of the stub's name."""
    file = NativeFunctions(checkout.text(YAML))
    names: list[str] = []
    for row in rows:
        old = file[row].kernel("MPS")
        if old is not None and stub.name in kernels.of(file[row]):
            names += legacy.called_kernels(checkout, old)
    short = stub.name.removesuffix("_stub")
    names += [short, short.removeprefix("special_")]
    for name in names:
        found = tuple(r for r in registered if r.name == name and (r.alpha is not None) == bool(stub.scalars))
        if found and len({r.arity for r in found}) == 1:
            return found
    return ()
