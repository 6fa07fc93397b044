"""What a run is to do to a checkout, decided before anything is edited, and what the editors report of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pymetal.arity import Arity
from pymetal.codegen.metal_file import Entry
from pymetal.upstream.checkout import YAML, Checkout
from pymetal.upstream.native_functions import changed_rows, operators
from pymetal.upstream.registration_macros import Registered
from pymetal.upstream.stubs import Stub


@dataclass(frozen=True)
class Target:
    """A functor to write into the checkout, with its dispatch stub and its `.metal` file."""

    entry: Entry
    stub: Stub
    file: str
    replace: bool = False  # another functor of the same name


@dataclass(frozen=True)
class Plan:
    """What a run is to do; the same for every editor."""

    stubs: tuple[str, ...] = ()  # the dispatch stubs that were asked for
    functors: tuple[Target, ...] = ()  # to write
    registered: tuple[tuple[Stub, tuple[Registered, ...]], ...] = ()  # functors of the checkout that stubs shall run
    shared: tuple[str, ...] = ()  # rows whose CPU kernel MPS shall share
    own: Mapping[str, str] = field(default_factory=dict)  # rows that get an MPS kernel of their own
    dtypes: Mapping[str, Collection[str]] = field(default_factory=dict)  # torch dtypes by operator, where known
    compiled: tuple[tuple[tuple[str, ...], Arity], ...] = ()  # operators that inductor could compile itself

    def operators(self, checkout: Checkout) -> list[str]:
        """The operators of the shared rows, sorted."""
        return sorted(operators(checkout.text(YAML), self.shared))

    def changed(self, checkout: Checkout) -> dict[str, tuple[str | None, str | None]]:
        """The shared rows that the edits so far have changed, with the MPS kernel before and after."""
        rows = changed_rows(checkout.original(YAML) or "", checkout.text(YAML))
        return {name: kernels for name, kernels in rows.items() if name in self.shared}


@dataclass(frozen=True)
class Removal:
    """What became of one legacy kernel."""

    kernel: str
    removed: tuple[str, ...]  # "path:line" of each definition that was removed
    kept: tuple[str, ...]  # "path:line" of the uses because of which it stays
    orphans: tuple[str, ...] = ()  # "path:line: name" of static functions that nothing calls any more


@dataclass(frozen=True)
class ListEntry:
    """An entry that was removed from a list of `common_mps.py`, or added to one."""

    list: str
    key: str
    line: int  # in the file before the edit; of an added entry, the line above it
    kept: tuple[str, ...] = ()  # dtypes that the kernel does not have, for which a removed entry stays


@dataclass(frozen=True)
class Step:
    """One thing left to do by hand."""

    path: str
    line: int
    message: str
    add: str | None = None  # the line to add there

    def __str__(self) -> str:
        added = "".join(f"\n    {line}" for line in self.add.split("\n")) if self.add else ""
        return f"{self.path}:{self.line}: {self.message}{added}"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What an editor did, and what it leaves to the author."""

    rows: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)  # MPS kernel before and after
    legacy: tuple[Removal, ...] = ()
    tests: tuple[ListEntry, ...] = ()  # removed from lists of expected failures
    complex: tuple[ListEntry, ...] = ()  # added to the list of operators that take complex numbers
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()


class Editor(Protocol):
    """Edits one kind of file of a checkout: with `Checkout.write`, so that nothing reaches the disk."""

    def __call__(self, checkout: Checkout, plan: Plan) -> Outcome:
        """Makes the edits that the plan asks for in files of its kind.

        Args:
            checkout: the files, with the edits of the editors before this one.
            plan: what to do.

        Returns:
            What was done.

        Raises:
            PyMetalError: the plan cannot be carried out in this checkout. Nothing is written then.
        """
