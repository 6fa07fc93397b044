"""What all tests share: one cache folder for compiled kernels."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import hypothesis
import pytest

# The same examples in every run: a new failure is a change of the code, and can be bisected.
hypothesis.settings.register_profile("pymetal", derandomize=True, deadline=None)
hypothesis.settings.load_profile("pymetal")

_folder = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Gives the run a cache of its own, which the workers of pytest-xdist share: they inherit the environment."""
    if not hasattr(config, "workerinput"):
        config.stash[_folder] = tempfile.mkdtemp(prefix="pymetal-tests-")
        os.environ["PYMETAL_CACHE_DIR"] = str(Path(config.stash[_folder]) / "cache")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Removes the cache when the last test has run."""
    if folder := config.stash.get(_folder, None):
        shutil.rmtree(folder, ignore_errors=True)
