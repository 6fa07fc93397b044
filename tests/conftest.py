"""What all tests share: their markers, and one cache folder for compiled kernels."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import NoReturn

import hypothesis
import pytest

# The same examples in every run: a new failure is a change of the code, and can be bisected.
hypothesis.settings.register_profile("pymetal", derandomize=True, deadline=None)
hypothesis.settings.load_profile("pymetal")

TESTS = Path(__file__).parent
KINDS = ("unit", "host", "upstream", "gallery")

# What kind of tests a folder or a file holds; a row of a file wins over that of its folder. In a file of unit tests a
# test may be marked `host`.
KIND_OF = {
    ".": "unit",
    "check": "host",
    "check/test_lint.py": "unit",
    "cli/test_doctor.py": "host",
    "debug": "host",
    "frontend/test_frontend.py": "host",
    "frontend/test_operators.py": "host",
    "frontend/test_python_numbers.py": "host",
    "frontend/test_random.py": "host",
    "frontend/test_reserved_names.py": "host",
    "frontend/test_undefined.py": "host",
    "gallery": "gallery",
    "host": "host",
    "language": "host",
    "runtime": "host",
    "runtime/test_plan.py": "unit",
    "runtime/test_promotion.py": "unit",
    "runtime/test_source_lines.py": "unit",
    "test_differential.py": "host",
    "test_examples.py": "host",
    "test_extension.py": "host",
    "upstream": "upstream",
}

_folder = pytest.StashKey[str]()


def kind_of(path: Path) -> str:
    """The kind of the tests in a file, by the nearest row of the table."""
    inside = path.relative_to(TESTS)
    return next(kind for at in (inside, *inside.parents) if (kind := KIND_OF.get(at.as_posix())))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m unit`, leaves files of other kinds unread: importing them takes longer than many tests."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if is_test and config.option.markexpr == "unit" and kind_of(collection_path) != "unit" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives every test that has none the mark of its file or folder."""
    for item in items:
        own = {mark.name for mark in item.iter_markers()} & set(KINDS)
        kind = kind_of(item.path)
        if own - {kind} and (kind, own) != ("unit", {"host"}):
            raise pytest.UsageError(f"{item.nodeid} is marked {', '.join(sorted(own))} in a file of kind {kind}")
        if not own:
            item.add_marker(kind)


def _no_compiler(*_: object) -> NoReturn:
    pytest.fail("this test needs the C++ compiler: mark it `host`")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Takes the compiler away from a test marked `unit` and from its fixtures, and from the processes it starts."""
    if item.get_closest_marker("unit") is None:
        return (yield)
    from pymetal.host import toolchain

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toolchain, "_find", _no_compiler)
        patch.setenv("PYMETAL_CXX", "no-compiler-in-unit-tests")
        return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Gives the run a cache of its own, which the workers of pytest-xdist share: they inherit the environment."""
    if not hasattr(config, "workerinput"):
        config.stash[_folder] = tempfile.mkdtemp(prefix="pymetal-tests-")
        os.environ["PYMETAL_CACHE_DIR"] = str(Path(config.stash[_folder]) / "cache")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Removes the cache when the last test has run."""
    if folder := config.stash.get(_folder, None):
        shutil.rmtree(folder, ignore_errors=True)
