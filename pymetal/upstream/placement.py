"""What a run does to a checkout, as one value: shown, judged, and written to all files or to none."""

from __future__ import annotations

from dataclasses import dataclass, field

from pymetal.errors import PyMetalError
from pymetal.upstream import checks, legacy, next_steps, test_lists
from pymetal.upstream.checkout import Checkout
from pymetal.upstream.edit import Patch
from pymetal.upstream.history import changed_since
from pymetal.upstream.registered_kernels import tree_registrations


@dataclass
class Placement:
    """The edits of one run, and what they do. Shown with `diff`, judged with `check`, written with `apply`."""

    checkout: Checkout
    functors: list[str] = field(default_factory=list)
    stubs: list[str] = field(default_factory=list)
    selected: list[str] = field(default_factory=list)  # the rows that were asked for, moved now or before
    rows: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)  # MPS kernel before and after
    legacy: list[legacy.Removal] = field(default_factory=list)
    tests: list[test_lists.Removed] = field(default_factory=list)
    complex: list[test_lists.Added] = field(default_factory=list)
    steps: list[next_steps.Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

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
