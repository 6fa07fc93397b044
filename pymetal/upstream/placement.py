"""What a run does to a checkout, as one value: shown, judged, and written to all files or to none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pymetal.errors import PyMetalError, public
from pymetal.upstream import checks, legacy, test_lists
from pymetal.upstream.checkout import COMMON_MPS, KERNELS, OPERATIONS, YAML, Checkout, line_of
from pymetal.upstream.edit import Patch
from pymetal.upstream.host_stub import dispatches
from pymetal.upstream.native_functions import changed_rows
from pymetal.upstream.plan import ListEntry, Outcome, Plan, Removal
from pymetal.upstream.registration_macros import tree_registrations


@dataclass
class Difference:
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


@dataclass(frozen=True, kw_only=True)
class Placement(Outcome):
    """The edits of one run, and what they do. Shown with `diff`, judged with `check`, written with `apply`."""

    checkout: Checkout
    plan: Plan

    @property
    def functors(self) -> list[str]:
        """The functors that the run writes, or that it makes stubs call."""
        written = [target.entry.checked.name for target in self.plan.functors]
        return written + [registered[0].name for _, registered in self.plan.registered]

    @property
    def stubs(self) -> list[str]:
        """The dispatch stubs that were asked for, changed now or before."""
        return list(self.plan.stubs)

    @property
    def selected(self) -> list[str]:
        """The rows that were asked for, changed now or before."""
        return [*self.plan.shared, *self.plan.own]

    @property
    def patch(self) -> Patch:
        """The edits as a patch."""
        return self.checkout.patch()

    def __bool__(self) -> bool:
        return bool(self.patch)

    @public
    def diff(self) -> str:
        """The unified diff of all files, as `git apply` takes it; empty if the tree has everything already."""
        return self.patch.diff()

    @public
    def check(self, *, compile_metal: bool = True) -> checks.Report:
        """What is wrong in the tree with the edits that was not wrong without them.

        Where nothing is left to change: what is wrong about these rows, stubs and functors in the tree as it is.
        """
        if not self:
            return self._check_as_it_is(compile_metal=compile_metal)
        changed = {path: self.checkout.original(path) for path in self.checkout.changed}
        gone = [removal.kernel for removal in self.legacy if removal.removed]
        before = Checkout(self.checkout.root)
        return _new_findings(before, self.checkout, changed, gone, compile_metal=compile_metal)

    def _check_as_it_is(self, *, compile_metal: bool) -> checks.Report:
        try:
            changed = self.checkout.changed_since("HEAD")
        except PyMetalError:  # no git to ask: nothing is known to be new
            changed = {}
        report = checks.check_tree(self.checkout, changed, compile_metal=compile_metal)
        if not changed and compile_metal:
            paths = {r.path for r in tree_registrations(self.checkout) if r.name in self.functors}
            checks.add_compiled(report, self.checkout, dict.fromkeys(sorted(paths)))
        return checks.about(report, self.selected, [*self.stubs, *self.functors])

    @public
    def apply(self, *, force: bool = False) -> tuple[str, ...]:
        """Writes all files or none, and returns their paths; none if the tree has everything already.

        Args:
            force: also write on top of uncommitted changes.

        Raises:
            PyMetalError: see `Patch.apply`.
        """
        return self.patch.apply(force=force)

    @public
    def since(self, commit: str | None, *, compile_metal: bool = True) -> Difference:
        """The difference to a commit, by default HEAD, of the tree with these edits.

        Where git cannot tell, the difference to the tree as it is on the disk.

        Raises:
            PyMetalError: a commit was named, and git cannot tell the difference to it.
        """
        now = self.checkout
        try:
            before, since = now.at_commit(commit or "HEAD"), commit or "HEAD"
        except PyMetalError:
            if commit is not None:
                raise
            before, since = Checkout(now.root), "the tree on the disk, which git does not know"
        found = _difference(before, now, since)
        paths = [p for folder in (KERNELS, OPERATIONS) for p in now.files(folder, ".metal", ".mm")]
        texts = {p: before.text(p) if before.exists(p) else None for p in paths}
        changed = {p: text for p, text in texts.items() if text != now.text(p)}
        gone = [removal.kernel for removal in found.removed]
        found.report = _new_findings(before, now, changed, gone, compile_metal=compile_metal)
        return found


def _new_findings(
    before: Checkout, now: Checkout, changed: Mapping[str, str | None], gone: list[str], *, compile_metal: bool
) -> checks.Report:
    """What is wrong with `now` and was not with `before`; `gone` are kernels that were removed."""
    old = checks.check_tree(before, {}, compile_metal=False)
    new = checks.check_tree(now, changed, compile_metal=compile_metal)
    for path, line, kernel in legacy.mentions(now, gone) if gone else []:
        new.findings.append(checks.Finding(path, line, f"{kernel} is removed but still named here"))
    return checks.news(old, new)


def _difference(before: Checkout, now: Checkout, since: str) -> Difference:
    """The difference between two states."""
    rows = changed_rows(before.text(YAML), now.text(YAML))
    old_stubs = {d.stub for d in dispatches(before)}
    old_functors = {r.name for r in tree_registrations(before)}
    tests, added = _tests(before, now)
    return Difference(
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
