"""What a run does to a checkout, as one value: shown, judged, and written to all files or to none."""

from __future__ import annotations

from dataclasses import dataclass

from pymetal.errors import PyMetalError
from pymetal.upstream import checks, legacy
from pymetal.upstream.checkout import Checkout
from pymetal.upstream.edit import Patch
from pymetal.upstream.history import changed_since
from pymetal.upstream.plan import Outcome, Plan
from pymetal.upstream.registered_kernels import tree_registrations


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

    def diff(self) -> str:
        """The unified diff of all files, as `git apply` takes it; empty if the tree has everything already."""
        return self.patch.diff()

    def check(self, *, compile_metal: bool = True) -> checks.Report:
        """What is wrong in the tree with the edits that was not wrong without them.

        Where nothing is left to change: what is wrong about these rows, stubs and functors in the tree as it is.
        """
        if not self:
            return self._check_as_it_is(compile_metal=compile_metal)
        changed = {path: self.checkout.original(path) for path in self.checkout.changed}
        before = checks.check_tree(Checkout(self.checkout.root), {}, compile_metal=False)
        after = checks.check_tree(self.checkout, changed, compile_metal=compile_metal)
        gone = [removal.kernel for removal in self.legacy if removal.removed]
        named = legacy.mentions(self.checkout, gone) if gone else []
        after.findings += [
            checks.Finding(p, n, f"{k} is named here, and this migration removes it") for p, n, k in named
        ]
        return checks.news(before, after)

    def _check_as_it_is(self, *, compile_metal: bool) -> checks.Report:
        try:
            changed = changed_since(self.checkout, "HEAD")
        except PyMetalError:  # no git to ask: nothing is known to be new
            changed = {}
        report = checks.check_tree(self.checkout, changed, compile_metal=compile_metal)
        if not changed and compile_metal:
            paths = {r.path for r in tree_registrations(self.checkout) if r.name in self.functors}
            checks.add_compiled(report, self.checkout, dict.fromkeys(sorted(paths)))
        return checks.about(report, self.selected, [*self.stubs, *self.functors])

    def apply(self, *, force: bool = False) -> tuple[str, ...]:
        """Writes all files or none, and returns their paths; none if the tree has everything already.

        Args:
            force: also write on top of uncommitted changes.

        Raises:
            PyMetalError: see `Patch.apply`.
        """
        return self.patch.apply(force=force)
