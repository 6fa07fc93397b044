"""Fixtures of the upstream writer's tests: a checkout of each generation, and functors to place in it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
import trees


@pytest.fixture(params=trees.GENERATIONS)
def generation(request: pytest.FixtureRequest) -> str:
    """The generation of the checkout."""
    return str(request.param)


@pytest.fixture
def tree(tmp_path: Path, generation: str) -> Path:
    """A checkout without git."""
    return trees.make(tmp_path / "pytorch", generation)


@pytest.fixture
def new_tree(tmp_path: Path) -> Path:
    """A checkout of the newer generation, without git."""
    return trees.make(tmp_path / "pytorch", trees.NEW)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A checkout of the newer generation, committed to git."""
    return trees.make(tmp_path / "pytorch", trees.NEW, git=True)


@pytest.fixture(scope="session")
def functors() -> ModuleType:
    """The functors to place."""
    import upstream_functors

    return upstream_functors
