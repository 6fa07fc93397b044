"""The gallery has every functor that upstream has, registered for the same types; what differs is listed and explained.

`data/upstream_functors.json` was read from the kernels of torch 2.15.0's macOS library.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples import unimplemented
from examples.aten import by_file, load
from examples.aten.bounds import BOUNDS, EXACT
from examples.aten.catalogue import CATALOGUE
from examples.aten.registrations import DIFFERENCES, PARAMETERS, instantiations

UPSTREAM: dict[str, Any] = {
    row["op"]: row
    for row in json.loads((Path(__file__).parent / "data" / "upstream_functors.json").read_text(encoding="utf-8"))
}
FUNCTORS = load()
ALL = {**FUNCTORS, **unimplemented.load()}


def test_all_functors_are_there() -> None:
    assert len(UPSTREAM) == 129
    assert set(FUNCTORS) == set(UPSTREAM)


def test_functors_are_in_upstream_files() -> None:
    found = {name: file for file, functors in by_file().items() for name in functors}
    assert found == {name: row["file"] for name, row in UPSTREAM.items()}


@pytest.mark.parametrize("name", UPSTREAM)
def test_instantiations(name: str) -> None:
    upstream = {tuple(i) for i in UPSTREAM[name]["instantiations"]}
    ours = instantiations(FUNCTORS[name])
    difference = DIFFERENCES.get(name)
    missing, extra = (difference.missing, difference.extra) if difference else (frozenset(), frozenset())
    assert upstream - ours == missing
    assert ours - upstream == extra


def test_no_reason_is_stale() -> None:
    assert set(DIFFERENCES) <= set(UPSTREAM)
    for name, difference in DIFFERENCES.items():
        assert difference.why
        assert difference.missing | difference.extra, name
    assert set(PARAMETERS) == {name for name, f in FUNCTORS.items() if len(f.ir.overloads[0].function.scalars) > 1}


def test_every_functor_has_a_row_and_says_what_it_is() -> None:
    assert set(CATALOGUE) == set(ALL)
    assert set(BOUNDS) | EXACT <= set(ALL)
    assert not set(BOUNDS) & EXACT
    for functor in ALL.values():
        assert functor.doc, functor.name


def test_bounds_above_four_have_a_reason() -> None:
    for name, bound in BOUNDS.items():
        assert bound.why or max(bound.real, bound.complex) <= 4, name


def test_table_of_the_docs_is_complete() -> None:
    tool = Path(__file__).parents[2] / "tools" / "gallery_table.py"
    done = subprocess.run(
        [sys.executable, str(tool), "--check"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_polynomials_are_those_that_are_derived() -> None:
    tool = Path(__file__).parents[2] / "tools" / "fit_gallery.py"
    assert subprocess.run([sys.executable, str(tool), "--check"], timeout=120, check=False).returncode == 0


def test_operators_without_a_kernel() -> None:
    wanted = {
        "heaviside", "ndtri", "log_ndtr", "airy_ai", "laguerre_polynomial_l", "legendre_polynomial_p", "sign", "sgn",
        "signbit", "frac", "logit", "hardtanh_backward",
    }  # fmt: skip
    assert set(unimplemented.load()) == wanted
    for name in wanted:
        assert name not in BOUNDS or BOUNDS[name].real <= 4
