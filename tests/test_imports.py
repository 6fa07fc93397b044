"""Imports go one way: down the list of rooms in `tools/rooms.py`, and around in no circle."""

from __future__ import annotations

import ast
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


def private_reads(path: Path) -> list[str]:
    """Attributes that a module reads of another module's objects although their names say that they are private."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = ast.unparse(node.value)
            if owner.partition(".")[0] not in OWN_OR_LIBRARY and node.attr not in TORCH:
                found.append(f"{path.relative_to(rooms.PACKAGE)}:{node.lineno}: {owner}.{node.attr}")
    return found


# torch has no public way to these.
TORCH = {"_is_zerotensor"}
OWN_OR_LIBRARY = {"self", "cls", "other", "super()", "torch", "forward_ad", "argparse", "os", "sys"}


def test_no_private_attribute_is_read_from_elsewhere() -> None:
    assert [read for path in sorted(rooms.PACKAGE.rglob("*.py")) for read in private_reads(path)] == []


def test_a_private_attribute_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "PACKAGE", tmp_path)
    path = tmp_path / "check.py"
    path.write_text("functor._caller\nself._own\ntorch._C\n", encoding="utf-8")
    assert private_reads(path) == ["check.py:1: functor._caller"]


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
