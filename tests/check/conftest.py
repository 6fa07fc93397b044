"""Functors with a fault planted in their text."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pymetal

GALLERY = Path(__file__).parents[2] / "examples" / "aten"
_count = itertools.count()
Plant = Callable[[str, str, str, str], dict[str, pymetal.Functor]]


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[Plant]:
    """A function that gives the functors of one file of the gallery, with some text of any of its files replaced.

    The gallery is copied as a package of another name, so that nobody else meets the fault.
    """

    def planted(file: str, old: str, new: str, wanted: str) -> dict[str, pymetal.Functor]:
        package = f"planted_{next(_count)}"
        (tmp_path / package).mkdir()
        for path in GALLERY.glob("*.py"):
            text = path.read_text(encoding="utf-8")
            if path.stem == file:
                assert old in text, f"{path.name} no longer has {old!r}: plant the fault elsewhere"
                text = text.replace(old, new, 1)
            text = "" if path.stem == "__init__" else text.replace("examples.aten", package)
            (tmp_path / package / path.name).write_text(text, encoding="utf-8")
        module = importlib.import_module(f"{package}.{wanted}")
        return {f.name: f for f in vars(module).values() if isinstance(f, pymetal.Functor)}

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        yield planted
    for name in [n for n in sys.modules if n.startswith("planted_")]:
        del sys.modules[name]
