"""Functors placed, or rows migrated, in one checkout: all edits in order, and what became of everything."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from pymetal.codegen.metal_file import Entry
from pymetal.dtypes import BY_METAL, WORDS, DType
from pymetal.errors import PyMetalError
from pymetal.upstream import host_stub, kernel, legacy, next_steps, test_lists, torchgen_check
from pymetal.upstream.checkout import COMMON_MPS, KERNELS, NATIVE, OPERATIONS, TAGS, YAML, Checkout
from pymetal.upstream.formatting import format_edits
from pymetal.upstream.host_function import function_text
from pymetal.upstream.inductor import inductor_steps
from pymetal.upstream.native_functions import NativeFunctions, changed_rows, join, own
from pymetal.upstream.placement import Placement
from pymetal.upstream.registered_kernels import Registered, tree_registrations
from pymetal.upstream.rows import Kernels, read_kernels, rows_of_stub, select
from pymetal.upstream.stubs import Stub, all_stubs, find_stub, stub_of_functor

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
    placement = Placement(Checkout.open(root))
    checkout = placement.checkout
    known = all_stubs(checkout)
    chosen = [(e, find_stub(checkout, stub or stub_of_functor(e.checked.name, known))) for e in entries]
    kernels = read_kernels(checkout, (s.name for s in known.values() if s.elementwise))
    for entry, target in chosen:
        function_text(checkout, entry, target)  # refuses scalars that do not fit before anything else is looked at
        path = kernel_file(checkout, entry, target, file)
        placement.notes += kernel.place_functor(checkout, entry.formatted(), path, replace=replace)
        host = f"{OPERATIONS}/{Path(path).stem}.mm"
        host_stub.place_stub(checkout, entry, target, host, replace=replace)
        placement.functors.append(entry.checked.name)
        placement.stubs.append(target.name)
    ready = {d.stub for d in host_stub.dispatches(checkout)}
    names: list[str] = []
    dtypes: dict[str, set[str]] = {}  # by operator: a row may go through the stubs of two functors
    for entry, target in chosen:
        moved = _rows_to_move(checkout, kernels, target.name, ready, placement)
        ops = _operators(checkout, moved) or {entry.checked.name}
        placement.steps += inductor_steps(checkout, sorted(ops), entry.arity)
        names += moved
        for op in ops:
            dtypes.setdefault(op, set()).update(_torch_name(d) for d in entry.checked.domain)
    _move(placement, names, dtypes)
    if placement.legacy:
        replaced = {n for n, (old, _) in placement.rows.items() if old is not None}
        for op in sorted(_operators(checkout, replaced)):
            placement.notes += _unserved(op, dtypes[op])
    _finish(placement)
    return placement


def _unserved(op: str, dtypes: set[str]) -> list[str]:
    """The dtypes that a kernel of MPS's own may have served, and the functor in its place does not."""
    missing = [str(d) for word in WORDS.values() for d in word if _torch_name(d) not in dtypes]
    if not missing:
        return []
    return [
        f"{op} replaces a kernel of MPS's own and is not registered for {', '.join(missing)}: register "
        "them, unless torch never took them on MPS"
    ]


def migrate(names: Sequence[str], root: str | os.PathLike[str], *, own_kernel: str | None = None) -> Placement:
    """Moves rows from a kernel of MPS's own to the shared stub: `op` means all rows of its stub, `op.overload` one row.

    The stub runs the functor that a Metal file of the checkout registers already, if there is one.

    Args:
        own_kernel: give MPS a line of its own with this kernel instead.

    Raises:
        PyMetalError: the checkout is of an unknown shape, or a row cannot be moved; the message says why.
    """
    placement = Placement(Checkout.open(root))
    checkout = placement.checkout
    if own_kernel is not None:
        return _own(placement, names, own_kernel)
    known = all_stubs(checkout)
    kernels = read_kernels(checkout, (s.name for s in known.values() if s.elementwise))
    selections = [select(checkout, kernels, name) for name in names]
    rows = list(dict.fromkeys(row for s in selections for row in s.rows))
    file = NativeFunctions(checkout.text(YAML))
    ready = {d.stub for d in host_stub.dispatches(checkout)}
    registered = tree_registrations(checkout)
    dtypes: dict[str, set[str]] = {}
    unknown: set[str] = set()
    for name in sorted(frozenset().union(*(s.stubs for s in selections))):
        placement.stubs.append(name)
        found = _registered_for(checkout, known[name], kernels, rows, registered)
        for op in _operators(checkout, (r for r in rows if name in kernels.of(file[r]))):
            if found:
                dtypes.setdefault(op, set()).update(_torch_names(found))
            else:
                unknown.add(op)
        if name in ready:
            continue
        if not found:
            placement.notes.append(f"{name} has no MPS kernel, and no Metal file registers a functor for it")
            continue
        host_stub.place_existing(checkout, known[name], found)
        placement.functors.append(found[0].name)
    for row in rows:
        if not kernels.of(file[row]):
            placement.notes.append(f"{row}: no kernel in the checkout says through which stub it goes")
    _move(placement, rows, {op: names for op, names in dtypes.items() if op not in unknown})
    if registered:
        for name in placement.functors:
            arity = next(r.arity for r in registered if r.name == name)
            placement.steps += inductor_steps(checkout, sorted(_operators(checkout, rows)), arity)
    _finish(placement)
    return placement


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


def _rows_to_move(checkout: Checkout, kernels: Kernels, stub: str, ready: set[str], placement: Placement) -> list[str]:
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
            placement.notes.append(f"{row.name} stays: it goes through {', '.join(missing)} too, without an MPS kernel")
        else:
            names.append(row.name)
    return names


def _move(placement: Placement, names: Sequence[str], dtypes: dict[str, set[str]]) -> None:
    """Joins the rows, and clears what belonged to the kernels that they had.

    Args:
        dtypes: for each operator what its kernels are registered for, as far as that is known.
    """
    checkout = placement.checkout
    placement.selected += names
    before = checkout.text(YAML)
    file = NativeFunctions(before)
    after = join(before, names)
    intended = {n: file[n].kernel("CPU") or "" for n in names}
    _write_yaml(placement, before, after, intended)
    old = [kernel for kernel, _ in placement.rows.values() if kernel is not None]
    placement.legacy = legacy.remove(checkout, old)
    ops = _operators(checkout, names)
    infos = test_lists.opinfo_keys(checkout, ops)
    if not checkout.exists(COMMON_MPS):
        placement.notes.append(
            f"{COMMON_MPS} is not in this checkout: look for expected failures and skips of "
            f"{', '.join(sorted(ops))} by hand; before torch 2.8 they are in test/test_mps.py"
        )
    changed = bool(checkout.changed)  # entries of an operator that was here before are somebody else's
    for op in sorted(ops):
        mine = [info for info in infos if info.op == op]
        keys = {info.key for info in mine} | test_lists.default_keys([op])
        if changed:
            placement.tests += test_lists.clear_entries(checkout, keys, dtypes.get(op))
        if "complex64" in dtypes.get(op, ()):
            placement.complex += test_lists.join_complex(checkout, mine)
    for decorator in test_lists.decorators(checkout, infos):
        message = f"a decorator expects MPS to fail, or skips it; take it away if the tests pass: {decorator.text}"
        placement.steps.append(next_steps.Step(decorator.path, decorator.line, message))
    gained = [name for name, (kernel, _) in placement.rows.items() if kernel is None]
    if gained:
        placement.steps += next_steps.aoti_steps(checkout, gained)
        named = [(op, info.key) for info in infos for op in ops if info.op == op and info.autograd]
        placement.steps += next_steps.gradient_steps(checkout, named)


def _own(placement: Placement, names: Sequence[str], kernel_name: str) -> Placement:
    if len(names) != 1:
        raise PyMetalError("a kernel of MPS's own belongs to one row", hint="Pass one `op.overload` with --own.")
    name = names[0].removesuffix(".default")
    placement.selected.append(name)
    before = placement.checkout.text(YAML)
    _write_yaml(placement, before, own(before, name, kernel_name), {name: kernel_name})
    return placement


def _write_yaml(placement: Placement, before: str, after: str, intended: dict[str, str]) -> None:
    """Takes the edit over once torchgen has read the same table from it."""
    if after != before:
        warning = torchgen_check.check_edit(before, after, placement.checkout.text(TAGS), intended)
        if warning is not None:
            placement.notes.append(warning)
        placement.checkout.write(YAML, after)
    placement.rows = changed_rows(before, after)


def _finish(placement: Placement) -> None:
    placement.notes += [f"{p} was put back: an earlier run was interrupted" for p in placement.checkout.recovered]
    for removal in placement.legacy:
        if removal.kept:
            placement.notes.append(f"{removal.kernel} stays: it is used in {', '.join(removal.kept)}")
        elif not removal.removed:
            placement.notes.append(f"{removal.kernel}: no definition was found in {OPERATIONS}")
        placement.notes += [
            f"{orphan} is called by nothing any more: remove it, compilers warn of unused functions"
            for orphan in removal.orphans
        ]
    placement.steps = list(dict.fromkeys(placement.steps))
    if placement.checkout.changed and not format_edits(placement.checkout):
        placement.notes.append("the new lines are not formatted: clang-format or the checkout's style is missing")


def _operators(checkout: Checkout, names: Iterable[str]) -> set[str]:
    file = NativeFunctions(checkout.text(YAML))
    return {file[name].op for name in names}


def _registered_for(
    checkout: Checkout, stub: Stub, kernels: Kernels, rows: Sequence[str], registered: Sequence[Registered]
) -> list[Registered]:
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
        found = [r for r in registered if r.name == name and (r.alpha is not None) == bool(stub.scalars)]
        if found and len({r.arity for r in found}) == 1:
            return found
    return []


def _torch_names(registered: Iterable[Registered]) -> set[str]:
    return {_torch_name(BY_METAL[r.input]) for r in registered if r.input in BY_METAL}


def _torch_name(dtype: DType) -> str:
    return str(dtype.torch).removeprefix("torch.")
