"""Imports go one way: down the list of rooms in `tools/rooms.py`, and around in no circle."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
import rooms

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def graph() -> rooms.Graph:
    return rooms.read_graph()


def test_every_import_goes_down(graph: rooms.Graph) -> None:
    assert rooms.upward(graph) == []


def test_no_cycle(graph: rooms.Graph) -> None:
    assert rooms.cycle(graph) is None


def test_every_module_has_a_room(graph: rooms.Graph) -> None:
    assert len(graph) > 40
    for module in graph:
        rooms.rank(module)


def test_the_checks_see_what_they_are_for(graph: rooms.Graph) -> None:
    bad = {**graph, "ir": {**graph["ir"], "ops": True}, "frontend.source": {"frontend.lower": False}}
    assert rooms.upward(bad) == ["ir imports ops inside a function"]
    found = rooms.cycle(bad)
    assert found is not None
    assert found[0] == found[-1]
    with pytest.raises(LookupError, match="in no room"):
        rooms.rank("somewhere_else")


def test_the_command_prints_every_room() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "rooms.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    listed = [line.split()[0] for line in done.stdout.splitlines()]
    assert [name or "pymetal" for row in rooms.ROOMS for name in row] == listed[1:-2]


def test_importing_pymetal_leaves_the_rest_alone() -> None:
    """The host device, the command line and torch's own reference implementations load when they are used."""
    late = ["pymetal.host", "pymetal.debug", "pymetal.upstream", "pymetal.cli", "torch._prims_common", "rich"]
    code = f"""
import sys, torch
before = set(sys.modules)
import pymetal
print([m for m in {late} if m in sys.modules and m not in before])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
