"""Finds the C++ compiler of the host device, and says what it is.

Only clang understands address spaces in plain C++ and vectorises half, so only clang is used: the one that
``PYMETAL_CXX`` names, else a system clang of version 18 or newer (explicit object parameters), else the clang
inside the ``ziglang`` package, called directly and not through ``zig cc``, which would build runtime libraries first.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pymetal.errors import ToolchainError
from pymetal.host.cache import Cache, default_cache

MINIMUM_CLANG = 18
MINIMUM_APPLE_CLANG = 17  # Xcode 16.3: the first Apple clang with explicit object parameters
WAY_OUT = "install one with: pip install 'torch-pymetal[host]'"
_UNSET = f"unset PYMETAL_CXX for the compilers that pymetal finds by itself; or {WAY_OUT}"


@dataclass(frozen=True)
class Compiler:
    """A compiler that works: how to call it, how to link, and its identity for cache keys."""

    command: tuple[str, ...]
    linker: tuple[str, ...]  # turns one object into a shared library; empty: the compiler's own driver does
    family: str  # "clang", "apple-clang" or "zig-clang"
    version: str
    identity: str  # path, modification time and size of the executable


def file_stamp(path: str) -> str:
    """What changes when the file at `path` is replaced."""
    info = os.stat(path)
    return f"{os.path.realpath(path)}:{info.st_mtime_ns}:{info.st_size}"


def parse_version(text: str) -> tuple[str, str] | None:
    """The family and version in the first lines of ``--version``, or None if it is not a clang."""
    match = re.search(r"(Apple )?(?:\w+ )?clang version (\d+)([\w.+-]*)", text)
    if match is None:
        return None
    return ("apple-clang" if match[1] else "clang"), match[2] + match[3]


def is_new_enough(family: str, version: str) -> bool:
    """Whether a clang of this family and version understands what the shim is written in."""
    major = int(version.split(".")[0])
    return major >= (MINIMUM_APPLE_CLANG if family == "apple-clang" else MINIMUM_CLANG)


def _ask(command: tuple[str, ...]) -> str:
    """What the command prints for ``--version``; empty if it does not run."""
    try:
        done = subprocess.run((*command, "--version"), capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _identify(command: tuple[str, ...], linker: tuple[str, ...], family: str | None, cache: Cache) -> Compiler | None:
    """The compiler behind `command`; the answer is kept on disk until the executable changes."""
    try:
        identity = file_stamp(command[0])
    except OSError:
        return None
    key = cache.key("toolchain", *command, *linker, identity)
    known = cache.get_json(key)
    if known is None:
        found = parse_version(_ask(command))
        known = {"family": found[0] if found else "", "version": found[1] if found else ""}
        cache.put_json(key, known)
    if not known.get("family"):
        return None
    return Compiler(command, linker, family or str(known["family"]), str(known["version"]), identity)


def _system_names() -> Iterator[str]:
    yield "clang++"
    for major in range(30, MINIMUM_CLANG - 1, -1):
        yield f"clang++-{major}"


def _zig() -> str | None:
    """The executable inside the ziglang package; the package itself is not imported."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).with_name("zig.exe" if os.name == "nt" else "zig")
    return str(path) if path.is_file() else None


def _requested(text: str, cache: Cache) -> Compiler:
    """The compiler that PYMETAL_CXX names: a path or a command with arguments."""
    words = shlex.split(text)
    path = shutil.which(words[0]) if words else None
    if path is None:
        raise ToolchainError(f"PYMETAL_CXX is {text!r}, which is not an executable", hint=_UNSET)
    command = (path, *words[1:])
    if Path(path).stem == "zig" and len(command) == 1:
        command = (path, "clang")
    is_zig = Path(path).stem == "zig"
    compiler = _identify(command, _zig_linker(path) if is_zig else (), "zig-clang" if is_zig else None, cache)
    if compiler is None:
        raise ToolchainError(f"PYMETAL_CXX is {text!r}, which is not a clang; g++ is not supported", hint=_UNSET)
    if not is_new_enough(compiler.family, compiler.version):
        raise ToolchainError(
            f"PYMETAL_CXX is {text!r}, {compiler.family} {compiler.version}; clang {MINIMUM_CLANG} or newer is needed",
            hint=_UNSET,
        )
    return compiler


def _zig_linker(zig: str) -> tuple[str, ...]:
    """zig carries lld for ELF only; elsewhere its driver links."""
    return (zig, "ld.lld") if sys.platform.startswith("linux") else (zig, "cc")


@functools.lru_cache(maxsize=8)
def _find(requested: str | None, path: str, cache_root: str) -> Compiler:
    cache = default_cache()
    if requested:
        return _requested(requested, cache)
    seen: list[str] = []
    for name in _system_names():
        executable = shutil.which(name, path=path)
        if executable is None:
            continue
        compiler = _identify((executable,), (), None, cache)
        if compiler is not None and is_new_enough(compiler.family, compiler.version):
            return compiler
        seen.append(f"{executable} ({compiler.family} {compiler.version}, too old)" if compiler else executable)
    zig = _zig()
    if zig is not None:
        compiler = _identify((zig, "clang"), _zig_linker(zig), "zig-clang", cache)
        if compiler is not None:
            return compiler
        seen.append(f"{zig} (does not run)")
    if gxx := shutil.which("g++", path=path):
        seen.append(f"{gxx} (g++ is not supported: it cannot check Metal's address spaces)")
    found = f"; found only {', '.join(seen)}" if seen else ""
    raise ToolchainError(
        f"the host device needs clang {MINIMUM_CLANG} or newer. Looked for: PYMETAL_CXX, clang++ and clang++-NN "
        f"on PATH, the ziglang package{found}",
        hint=WAY_OUT,
    )


def find_compiler() -> Compiler:
    """The compiler to use, by the order in this module's docstring; ToolchainError if there is none."""
    return _find(os.environ.get("PYMETAL_CXX"), os.environ.get("PATH", ""), str(default_cache().root))
