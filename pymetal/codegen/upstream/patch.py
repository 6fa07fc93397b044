"""`Functor.patch` and its kin: a functor's entry and a checkout become a placement with `diff()` and `apply()`."""

from __future__ import annotations

import os

from pymetal.codegen.library import Entry
from pymetal.codegen.upstream.placed import Placement
from pymetal.codegen.upstream.placement import place


def patch_for(
    entry: Entry, root: str | os.PathLike[str], *, stub: str | None = None, file: str | None = None,
    replace: bool = False,
) -> Placement:  # fmt: skip
    """The edits that place one functor in the PyTorch checkout at `root`; nothing is written before `apply`.

    Args:
        entry: the functor.
        stub: the dispatch stub, where the functor's name does not tell it.
        file: the name of the `.metal` file, existing or new; by default upstream's file for the arity and kind.
        replace: put the functor in the place of another one of the same name.

    Raises:
        PyMetalError: the checkout is of an unknown shape, or the functor does not fit into it.
    """
    return place([entry], root, stub=stub, file=file, replace=replace)
