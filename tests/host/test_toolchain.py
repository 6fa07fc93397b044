"""Which compiler is found, what is remembered, and what is said when there is none."""

from __future__ import annotations

import os
import platform
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pymetal.errors import ToolchainError
from pymetal.host import build, toolchain
from pymetal.host.toolchain import Compiler, find_compiler, is_new_enough, parse_version


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYMETAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("PYMETAL_CXX", raising=False)
    toolchain._find.cache_clear()


def fake(folder: Path, name: str, answer: str, status: int = 0) -> Path:
    """An executable that prints `answer`, and counts how often it is asked."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho asked >> {folder}/{name}.log\nprintf '%s\\n' '{answer}'\nexit {status}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def asked(path: Path) -> int:
    log = path.with_name(path.name + ".log")
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("clang version 22.1.8", ("clang", "22.1.8")),
        ("Debian clang version 19.1.7 (3+b1)\nTarget: x86_64", ("clang", "19.1.7")),
        ("Ubuntu clang version 18.1.3 (1ubuntu1)", ("clang", "18.1.3")),
        ("Apple clang version 17.0.0 (clang-1700.0.13.3)", ("apple-clang", "17.0.0")),
        ("g++ (Debian 12.2.0-14) 12.2.0", None),
        ("", None),
    ],
)
def test_versions(text: str, want: tuple[str, str] | None) -> None:
    assert parse_version(text) == want


def test_which_versions_are_new_enough() -> None:
    assert is_new_enough("clang", "18.0.0")
    assert not is_new_enough("clang", "17.0.6")
    assert is_new_enough("apple-clang", "17.0.0")
    assert not is_new_enough("apple-clang", "16.0.0")


def test_the_newest_suitable_name_on_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    fake(folder, "clang++", "clang version 14.0.6")
    new = fake(folder, "clang++-19", "Debian clang version 19.1.7")
    fake(folder, "clang++-18", "Debian clang version 18.1.8")
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
    compiler = find_compiler()
    assert compiler == Compiler((str(new),), (), "clang", "19.1.7", compiler.identity)
    assert str(new) in compiler.identity


def test_the_answer_is_kept_on_disk_until_the_executable_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fake(tmp_path / "bin", "clang++", "clang version 19.1.7")
    monkeypatch.setenv("PATH", f"{path.parent}:/bin:/usr/bin")
    first = find_compiler()
    assert asked(path) == 1
    toolchain._find.cache_clear()  # as another process would begin
    assert find_compiler() == first
    assert asked(path) == 1
    fake(tmp_path / "bin", "clang++", "clang version 20.1.0 and longer")
    toolchain._find.cache_clear()
    assert find_compiler().version == "20.1.0"
    assert asked(path) == 2


def test_environment_variable_names_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fake(tmp_path / "bin", "my-clang", "clang version 21.1.0")
    monkeypatch.setenv("PYMETAL_CXX", f"{path} --some-flag")
    compiler = find_compiler()
    assert compiler.command == (str(path), "--some-flag")
    assert compiler.family == "clang"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("g++ (GCC) 12.2.0", r"which is not a clang; g\+\+ is not supported"),
        ("clang version 15.0.0", "clang 15.0.0; clang 18 or newer is needed"),
    ],
)
def test_unsuitable_requests_are_refused(
    answer: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYMETAL_CXX", str(fake(tmp_path / "bin", "cxx", answer)))
    with pytest.raises(ToolchainError, match=message):
        find_compiler()


def test_a_request_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYMETAL_CXX", "/no/such/clang")
    with pytest.raises(ToolchainError, match="'/no/such/clang', which is not an executable"):
        find_compiler()


def test_nothing_found_says_what_was_looked_for_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    fake(folder, "g++", "g++ 12")
    fake(folder, "clang++", "clang version 14.0.6")
    monkeypatch.setenv("PATH", str(folder) + os.pathsep + "/bin")
    monkeypatch.setattr(toolchain, "_zig", lambda: None)
    with pytest.raises(ToolchainError) as caught:
        find_compiler()
    text = str(caught.value)
    for part in (
        "PYMETAL_CXX",
        "clang++",
        "ziglang",
        "too old",
        "g++ is not supported",
        "pip install 'torch-pymetal[host]'",
    ):
        assert part in text
    assert isinstance(caught.value, RuntimeError)


def test_the_package_is_found_without_being_imported() -> None:
    path = toolchain._zig()
    if path is None:
        pytest.skip("ziglang is not installed")
    assert os.access(path, os.X_OK)
    answer = subprocess.run([path, "clang", "--version"], capture_output=True, text=True, check=True).stdout
    assert parse_version(answer) is not None


def test_a_broken_compiler_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    fake(folder, "clang++", "clang version 20.0.0", status=1)
    good = fake(folder, "clang++-20", "clang version 20.0.0")
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
    assert find_compiler().command == (str(good),)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="flags of x86-64")
def test_code_is_the_same_on_every_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = build.machine_flags.__wrapped__()
    assert set(flags) == {"-mavx2", "-mfma", "-mf16c", "-fexcess-precision=16"}
    monkeypatch.setattr(build, "_processor_features", lambda: frozenset({"sse2", "avx", "avx2", "fma"}))
    with pytest.raises(ToolchainError, match="needs a processor with AVX2, FMA, F16C; this one has no F16C"):
        build.machine_flags.__wrapped__()


def test_nothing_keeps_windows_out_at_import() -> None:
    """No module of the host package or the runtime imports what only Unix has."""
    text = """
import importlib, pkgutil, sys, torch
sys.modules.update(dict.fromkeys(("fcntl", "grp", "pwd", "resource", "termios")))
import pymetal.host, pymetal.runtime
for package in (pymetal.host, pymetal.runtime):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
        print(module.name)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) > 20
