"""What a checkout with its edits has that it had not before: rows, kernels, test entries, whoever wrote them."""

from __future__ import annotations

from dataclasses import dataclass, field

from pymetal.errors import PyMetalError
from pymetal.upstream import checks, legacy, test_lists
from pymetal.upstream.checkout import COMMON_MPS, KERNELS, OPERATIONS, YAML, Checkout, line_of
from pymetal.upstream.history import at_commit
from pymetal.upstream.host_stub import dispatches
from pymetal.upstream.native_functions import changed_rows
from pymetal.upstream.placement import Placement
from pymetal.upstream.plan import ListEntry, Removal
from pymetal.upstream.registered_kernels import tree_registrations


@dataclass
class Moved:
    """The difference between two states of a tree, as a reviewer would tell it."""

    since: str  # what it is the difference to
    rows: dict[str, tuple[str | None, str | None]]  # MPS kernel before and after
    stubs: dict[str, str]  # with the function that each runs on MPS
    functors: dict[str, str]  # registered for the first time, with their files
    removed: list[Removal]
    tests: list[ListEntry]
    complex: list[ListEntry]
    report: checks.Report = field(default_factory=checks.Report)

    def __bool__(self) -> bool:
        return bool(self.rows or self.stubs or self.functors or self.removed or self.tests or self.complex)


def moved(placement: Placement, commit: str | None, *, compile_metal: bool = True) -> Moved:
    """The difference to a commit, by default HEAD, of the tree with the edits of `placement`.

    Where git cannot tell, the difference to the tree as it is on the disk.

    Raises:
        PyMetalError: a commit was named, and git cannot tell the difference to it.
    """
    now = placement.checkout
    try:
        before, since = at_commit(now, commit or "HEAD"), commit or "HEAD"
    except PyMetalError:
        if commit is not None:
            raise
        before, since = Checkout(now.root), "the tree on the disk, which git does not know"
    found = between(before, now, since)
    metal_or_mm = [p for folder in (KERNELS, OPERATIONS) for p in now.files(folder, ".metal", ".mm")]
    changed = {p: before.text(p) if before.exists(p) else None for p in metal_or_mm}
    changed = {p: text for p, text in changed.items() if text != now.text(p)}
    first = checks.check_tree(before, {}, compile_metal=False)
    after = checks.check_tree(now, changed, compile_metal=compile_metal)
    found.report = checks.news(first, after)
    gone = [removal.kernel for removal in found.removed]
    named = legacy.mentions(now, gone) if gone else []
    found.report.findings += [checks.Finding(p, n, f"{k} is named here, and is removed") for p, n, k in named]
    return found


def between(before: Checkout, now: Checkout, since: str) -> Moved:
    """The difference between two states."""
    rows = changed_rows(before.text(YAML), now.text(YAML))
    old_stubs = {d.stub for d in dispatches(before)}
    old_functors = {r.name for r in tree_registrations(before)}
    tests, added = _tests(before, now)
    return Moved(
        since,
        rows,
        {d.stub: d.function for d in dispatches(now) if d.stub not in old_stubs},
        {r.name: r.path for r in tree_registrations(now) if r.name not in old_functors},
        _removed(before, now, [old for old, _ in rows.values() if old is not None]),
        tests,
        added,
    )


def _removed(before: Checkout, now: Checkout, kernels: list[str]) -> list[Removal]:
    found = []
    for kernel in dict.fromkeys(kernels):
        places = []
        for path in before.files(OPERATIONS, ".mm", ".cpp"):
            text = before.text(path)
            if kernel in text and not (now.exists(path) and legacy.definitions(now.text(path), kernel)):
                places += [f"{path}:{line_of(text, start)}" for start, _ in legacy.definitions(text, kernel)]
        if places:
            found.append(Removal(kernel, tuple(places), ()))
    return found


def _tests(before: Checkout, now: Checkout) -> tuple[list[ListEntry], list[ListEntry]]:
    if not (before.exists(COMMON_MPS) and now.exists(COMMON_MPS)):
        return [], []
    return test_lists.difference(before.text(COMMON_MPS), now.text(COMMON_MPS))
