"""Metal source -> shared libraries, through the compiler and the disk cache.

A source's manifest (its kernels, the headers it read) is cached under the source's text, the compiler, the flags and
the shim; a hit needs no compiler. A source with few kernels is one library. One with many is checked whole, and each
kernel becomes a library of its own when it is first launched.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from pymetal.errors import MetalSyntaxError, ToolchainError
from pymetal.host.cache import Cache, default_cache, unwritable
from pymetal.host.diagnostics import SHIM, SOURCE_NAME, compile_error
from pymetal.host.function_constants import Value, bind_function_constants
from pymetal.host.toolchain import Compiler, file_stamp, find_compiler

# A build that is in the cache is neither checked nor translated: what does that, a third of the cost of a first call in
# a new process, is imported where it is needed.
if TYPE_CHECKING:
    from pymetal.host.translate import Program

_log = logging.getLogger(__name__)  # records with a `stage` are what PYMETAL_DEBUG=1 shows

FEW = 4
METAL_VERSION = 310  # what torch's bundled kernels are compiled as; text for it is right for every later version
ROOM = Path(__file__).parent
SUFFIX = "dylib" if sys.platform == "darwin" else "so"
_MARKER = re.compile(r'^# \d+ "((?:[^"\\]|\\.)*)" 1', re.MULTILINE)


@functools.cache
def default_include_dirs() -> tuple[str, ...]:
    """Where the installed torch keeps c10/metal."""
    return (str(Path(torch.__file__).parent / "include"),)


def room_files(room: Path) -> list[Path]:
    """The headers and modules of this room."""
    return sorted(path for pattern in ("*.py", "shim/*") for path in room.glob(pattern) if path.is_file())


@functools.cache
def _version() -> str:
    """The hash of this room: of its headers and of its modules, any of which may decide what a text becomes."""
    digest = hashlib.sha256()
    for path in room_files(ROOM):
        digest.update(f"{path.name} {path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()


# What code for x86-64 may use. Not ``-march=native``: so a text gives the same bits and one cache folder serves on all
# machines; and with AVX-512, clang 22 crashes on some code for half, and converts half NaN to integers wrong.
X86 = ("avx2", "fma", "f16c")


@functools.cache
def machine_flags() -> tuple[str, ...]:
    """The flags that say what the processor can do."""
    if platform.machine() in ("arm64", "aarch64"):
        return ("-mcpu=native",)
    missing = [feature for feature in X86 if feature not in (_processor_features() or X86)]
    if missing:
        raise ToolchainError(
            f"the host device needs a processor with {', '.join(X86).upper()}; this one has no {missing[0].upper()}"
        )
    return (*(f"-m{feature}" for feature in X86), "-fexcess-precision=16")


@functools.cache
def _cpuinfo() -> dict[str, str]:
    """What Linux says of the first processor; empty on other systems."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read(8192).split("\n\n", 1)[0]
    except OSError:
        return {}
    rows = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in rows}


def _processor_features() -> frozenset[str]:
    """As Linux lists them; empty where the system has no such list."""
    return frozenset(_cpuinfo().get("flags", "").split())


@functools.cache
def _processor() -> str:
    """What ``-mcpu=native`` depends on: a cache folder may be shared by different machines."""
    text = f"{platform.machine()} {sys.platform}"
    if platform.machine() not in ("arm64", "aarch64"):
        return text
    kept = [_cpuinfo().get(name, "") for name in ("model name", "Features", "CPU part")]
    return " ".join([text, *kept] if _cpuinfo() else [text, platform.processor()])


def _language_flags(numerics: str) -> tuple[str, ...]:
    return (
        "-x", "c++", "-std=c++23", "-nostdinc", "-Wno-everything",
        "-Werror=missing-variable-declarations", "-fno-elide-type", "-fno-color-diagnostics", "-fno-caret-diagnostics",
        "-ferror-limit=5", "-ftemplate-backtrace-limit=0", "-fno-exceptions", "-fno-rtti", "-fsigned-char",
        "-D__METAL__=1", f"-D__METAL_VERSION__={METAL_VERSION}", "-D__METAL_MACOS__=1", "-D__HAVE_BFLOAT__=1",
        f"-DPYMETAL_HOST_FLUSH={int(numerics == 'apple')}",
    )  # fmt: skip


def _code_flags(numerics: str) -> tuple[str, ...]:
    """Half is rounded after each operation, conversions saturate, LLVM knows of the flushing."""
    flush = ("-Xclang", "-fdenormal-fp-math-f32=preserve-sign,preserve-sign") if numerics == "apple" else ()
    return (
        *machine_flags(), *flush, "-O3", "-fPIC", "-fvisibility=hidden", "-fno-math-errno",
        "-fno-trapping-math", "-fno-strict-float-cast-overflow", "-fno-strict-aliasing",
        "-fno-asynchronous-unwind-tables", "-fno-stack-protector", "-mllvm", "-inline-threshold=2000",
        "-ffp-contract=on" if numerics == "apple" else "-ffp-contract=off",
    )  # fmt: skip


_FULL = ("No space left on device", "NoSpaceLeft")  # as clang and zig say it


def _run(command: Sequence[str], text: str | None, source: str, cache: Cache | None = None) -> str:
    """Run the compiler on text; its standard output. A failure is the user's source's.

    `cache` is where zig may keep what it builds for linking.
    """
    environment = dict(os.environ)
    if cache is not None:
        environment |= {name: str(cache.root / "zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, encoding="utf-8", errors="replace", check=False, env=environment
        )
    except OSError as error:
        raise ToolchainError(f"{command[0]} cannot be run: {error}") from error
    if done.returncode != 0:
        if any(phrase in done.stderr for phrase in _FULL):
            raise unwritable((cache or default_cache()).root, "No space left on device")
        raise compile_error(done.stderr, source)
    return done.stdout


@dataclass(frozen=True)
class Source:
    """A Metal source with all that decides how it is built."""

    text: str
    numerics: str
    include_dirs: tuple[str, ...]
    constants: tuple[tuple[int, Value], ...] = ()  # values of function constants, by index

    def preprocess(self, compiler: Compiler) -> str:
        if not self.text.isascii():
            bad = next(i for i, c in enumerate(self.text) if not c.isascii())
            line = self.text.count("\n", 0, bad) + 1
            raise MetalSyntaxError(f"{SOURCE_NAME}:{line}: error: {self.text[bad]!r} is not ASCII; Metal text must be")
        search = [flag for folder in (str(SHIM), *self.include_dirs) for flag in ("-I", folder)]
        command = (*compiler.command, *_language_flags(self.numerics), *search, "-E", "-")
        return _run(command, f'#line 1 "{SOURCE_NAME}"\n{self.text}', self.text)


def _dependencies(preprocessed: str) -> dict[str, str]:
    """The headers that were read, with their stamps; the shim's own apart."""
    paths = sorted(set(_MARKER.findall(preprocessed)))
    return {p: file_stamp(p) for p in paths if not p.startswith(("<", str(SHIM))) and os.path.isfile(p)}


def _unchanged(dependencies: Mapping[str, str]) -> bool:
    try:
        return all(file_stamp(path) == stamp for path, stamp in dependencies.items())
    except OSError:
        return False


@dataclass(frozen=True)
class KernelInfo:
    """What a manifest says of one kernel."""

    name: str
    number: int
    parameters: tuple[tuple[str, int], ...]  # name and source of each, as in the signature


class Build:
    """One source: its kernels, and the libraries that hold their code."""

    def __init__(self, source: Source, cache: Cache | None = None) -> None:
        self.source = source
        self.cache = cache or default_cache()
        self.compiler = find_compiler()
        self.key = self.cache.key(
            source.text, source.numerics, repr(source.constants), *source.include_dirs,
            repr(self.compiler), _version(),
            _processor(), *_language_flags(source.numerics), *_code_flags(source.numerics),
        )  # fmt: skip
        self._program: Program | None = None
        manifest = self.cache.get_json(self.key)
        if manifest is None or not _unchanged(manifest["dependencies"]):
            manifest = self._make()
        self.stamp = str(manifest["stamp"])
        self.kernels = {
            name: KernelInfo(name, number, tuple((p, s) for p, s in parameters))
            for name, number, parameters in manifest["kernels"]
        }
        self.is_whole = len(self.kernels) <= FEW

    def _translated(self) -> Program:
        if self._program is None:
            self._program = self._read()[0]
        return self._program

    def _read(self) -> tuple[Program, str, dict[str, str]]:
        """The source, checked and translated; its preprocessed text; the headers that it read."""
        from pymetal.host.restrictions import lint
        from pymetal.host.translate import translate

        preprocessed = self.source.preprocess(self.compiler)
        preprocessed = bind_function_constants(preprocessed, dict(self.source.constants))
        lint(preprocessed)
        return translate(preprocessed), preprocessed, _dependencies(preprocessed)

    def _make(self) -> dict[str, Any]:
        """Check the source, compile it if it is small, and write its manifest."""
        program, preprocessed, dependencies = self._read()
        self._program = program
        stamp = self.cache.key(self.key, preprocessed)
        if len(program.kernels) <= FEW:
            self._compile(program.render(), self.cache.key(stamp))
        else:
            flags = (*_language_flags(self.source.numerics), *_code_flags(self.source.numerics))
            command = (*self.compiler.command, *flags, "-include", str(SHIM / "prelude.h"), "-fsyntax-only", "-")
            _run(command, program.render(), self.source.text)
        manifest = {
            "stamp": stamp,
            "dependencies": dependencies,
            "kernels": [
                [k.name, k.number, [[p.name, s] for p, s in zip(k.parameters, k.sources, strict=True)]]
                for k in program.kernels
            ],
        }
        self.cache.put_json(self.key, manifest)
        return manifest

    def library(self, names: Collection[str]) -> Path:
        """A shared library with the entry points of these kernels (of all, if the source has few)."""
        chosen = None if self.is_whole else sorted(names)
        key = self.cache.key(self.stamp, *(chosen or ()))
        return self.cache.get(key, SUFFIX) or self._compile(self._translated().render(chosen), key)

    def _compile(self, text: str, key: str) -> Path:
        compiler = self.compiler
        flags = (*_language_flags(self.source.numerics), *_code_flags(self.source.numerics))
        with self.cache.scratch() as folder:
            product = folder / f"kernel.{SUFFIX}"
            target = folder / "kernel.o"
            command = (*compiler.command, *flags, "-include", str(SHIM / "prelude.h"), "-c", "-o", str(target), "-")
            if _log.isEnabledFor(logging.DEBUG):
                commands = f"{shlex.join(command)}\n{shlex.join(_link_command(compiler))}"
                _log.debug(commands, extra={"stage": "command", "subject": "compiler"})
            _run(command, text, self.source.text)
            _run((*_link_command(compiler), "-o", str(product), str(target)), None, self.source.text, self.cache)
            return self.cache.put(key, SUFFIX, product.read_bytes())


def _link_command(compiler: Compiler) -> tuple[str, ...]:
    """Links one object; its only undefined names are libm's, which the process has loaded."""
    if compiler.linker and compiler.linker[-1] == "ld.lld":
        return (*compiler.linker, "-shared")
    driver = compiler.linker or compiler.command
    # Apple's linker refuses a library without libSystem, which holds libm.
    return (*driver, "-shared") if sys.platform == "darwin" else (*driver, "-shared", "-nostdlib")
