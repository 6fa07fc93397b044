"""The host device: ``compile_shader`` for CPU tensors, with the call protocol of ``torch.mps.compile_shader``.

The Metal text, with torch's own ``c10/metal`` headers, is compiled as C++ by clang (`build`) and launched through
ctypes. It never interprets: what runs is the text.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from pymetal.errors import CallError, DeviceError, MetalSyntaxError, nearest, public
from pymetal.host import grid
from pymetal.host.binding import FLOATING, INTEGER, KIND_POINTER, NOT_ON_DEVICE, Slot, bind
from pymetal.host.build import Build, KernelInfo, Source, default_include_dirs
from pymetal.host.float_mode import check, current

_FLOAT = struct.Struct("<f").pack
_INT = struct.Struct("<q").pack


class Kernel:
    """A kernel of a library. Its code is generated when it is first needed."""

    max_threads_per_threadgroup = grid.MAX_THREADS_PER_GROUP
    thread_execution_width = 32
    static_thread_group_memory_length = 0

    def __init__(self, library: ShaderLibrary, info: KernelInfo) -> None:
        self.name = info.name
        self._library = library
        self._info = info
        self._lock = threading.Lock()
        self._run: Callable[..., None]
        self._direct: Callable[..., None]
        self._slots: tuple[Slot, ...] = ()
        self._checks: tuple[tuple[bool, bool, int, int], ...] | None = None  # of each slot; None before `prepare`

    def prepare(self) -> Kernel:
        """Make sure that the kernel's code is loaded; the kernel itself."""
        if self._checks is None:
            with self._lock:
                if self._checks is None:
                    self._load()
        return self

    def _load(self) -> None:
        code = self._library._code(self.name)
        n = self._info.number
        table = getattr(code, f"pymetal_info_{n}")
        table.restype = ctypes.POINTER(ctypes.c_long)
        rows = table()
        slots = []
        for at, (name, source) in enumerate(self._info.parameters):
            kind, number, writable, size = rows[4 * at : 4 * at + 4]
            if source >= 0:
                slots.append(Slot(source, name, kind, bool(writable), size, number))
        slots.sort(key=lambda slot: slot.index)
        if [slot.index for slot in slots] != list(range(len(slots))):
            used = ", ".join(str(slot.index) for slot in slots)
            raise MetalSyntaxError(
                f"kernel {self.name}: its buffers are {used}; positional arguments need 0, 1, 2, ..."
            )
        self._slots = tuple(slots)
        run, direct = getattr(code, f"pymetal_run_{n}"), getattr(code, f"pymetal_direct_{n}")
        run.restype = direct.restype = None
        run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong]
        direct.argtypes = [ctypes.c_ulong] + [ctypes.c_void_p] * len(slots)
        self._run, self._direct = run, direct
        self._checks = tuple((not s.is_writable, s.kind == KIND_POINTER, s.size, s.number) for s in slots)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The kernel's buffers in order: name, kind, writability and element size of each."""
        self.prepare()
        return self._slots

    def __call__(
        self,
        *args: Any,
        threads: int | Sequence[int] | None = None,
        group_size: int | Sequence[int] | None = None,
        arg_casts: str | Mapping[int, str] | None = None,
    ) -> None:
        """Bind argument i to buffer i and run the grid, as a kernel of ``torch.mps.compile_shader`` does."""
        if self._checks is None:
            self.prepare()
        if group_size is None and arg_casts is None:
            count = args[0].numel() if threads is None and args and type(args[0]) is torch.Tensor else threads
            if type(count) is int and 0 < count < 2 * grid.GRAIN:
                values = self._quick(args)
                if values is not None:
                    self._direct(count, *values)
                    return
        self._call(args, threads, group_size, arg_casts)

    def _quick(self, args: tuple[Any, ...]) -> list[int | bytes] | None:
        """What ctypes passes for each argument of a plain call; None if `bind` has to look, or to complain.

        A bytes object passes as the address of its contents, which are aligned as malloc's.
        """
        checks = self._checks
        if checks is None or len(args) != len(checks):
            return None
        values: list[int | bytes] = []
        try:
            for value, (only_read, is_pointer, size, number) in zip(args, checks, strict=False):
                kind = type(value)
                if kind is torch.Tensor:
                    if not is_pointer or not value.is_cpu or value.dtype in NOT_ON_DEVICE:
                        return None
                    address = value.data_ptr()
                    if not address and value.numel():
                        return None  # to be refused
                    values.append(address)
                    continue
                if (number == INTEGER and kind is float) or (number == FLOATING and kind is int):
                    return None  # to be refused
                if kind is float:
                    data = _FLOAT(value)
                elif kind is int:
                    data = _INT(value)
                elif kind is list and value:
                    data = struct.pack(f"<{len(value)}{'f' if type(value[0]) is float else 'q'}", *value)
                else:
                    return None
                if not only_read or len(data) < size:
                    return None
                if 0 < size < len(data) and not is_pointer and (kind is list or number == FLOATING):
                    return None  # to be refused
                values.append(data)
        except (struct.error, OverflowError, TypeError, RuntimeError):
            return None
        return values

    def _call(self, args: tuple[Any, ...], threads: Any, group_size: Any, arg_casts: Any) -> None:
        if arg_casts is not None and not isinstance(arg_casts, str | Mapping):
            raise DeviceError(f"Unsupported cast instruction {arg_casts!r}: arg_casts is a string or a dict of strings")
        addresses, owners = bind(args, self._slots, self.name, arg_casts)
        if threads is None:
            first = next((value for value in args if isinstance(value, torch.Tensor)), None)
            if first is None:
                raise DeviceError("Number of threads is undefined or has wrong dimension: no tensor to take it from")
            threads = first.numel()
        group = None if group_size is None else grid.extents(group_size, "group_size")
        grid.run(self._run, addresses, grid.shape(grid.extents(threads, "threads"), group))
        del owners

    def __repr__(self) -> str:
        wanted = ", ".join(name for name, source in self._info.parameters if source >= 0)
        return f"<host kernel {self.name}({wanted})>"


class ShaderLibrary:
    """The kernels of one Metal source: attributes by host name."""

    def __init__(self, build: Build) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._kernels = {name: Kernel(self, info) for name, info in build.kernels.items()}
        self._loaded: dict[str, ctypes.CDLL] = {}

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("__"):  # copy, pickle and inspect ask for these
            raise AttributeError(name)
        kernel = self._kernels.get(name)
        if kernel is None:
            close = nearest(name, self._kernels)
            hint = f"did you mean {close!r}?" if close else f"the library has {len(self._kernels)} kernels: see dir()"
            raise DeviceError(f"Failed to create function state object for: {name}", hint=hint)
        return kernel

    def __dir__(self) -> list[str]:
        return list(self._kernels)

    def __repr__(self) -> str:
        return f"<host shader library of {len(self._kernels)} kernels, {self._build.source.numerics} numerics>"

    @property
    def numerics(self) -> str:
        return self._build.source.numerics

    def prepare(self, names: Iterable[str]) -> None:
        """Generate the code of these kernels, in one run of the compiler if they are not in the cache."""
        wanted = [getattr(self, name).name for name in names]
        with self._lock:
            missing = [name for name in wanted if name not in self._loaded]
            if missing:
                self._load(missing)

    def _code(self, name: str) -> ctypes.CDLL:
        """The loaded library that holds the kernel's entry points."""
        if name not in self._loaded:
            self.prepare([name])
        return self._loaded[name]

    def _load(self, names: Sequence[str]) -> None:
        _load_libm()
        path = self._build.library(names)
        try:
            code = ctypes.CDLL(str(path))
        except OSError as error:
            hint = "set PYMETAL_CACHE_DIR to another folder"
            raise DeviceError(f"cannot load a compiled kernel: {error}", hint=hint) from error
        for name in self._kernels if self._build.is_whole else names:
            self._loaded[name] = code


@functools.cache
def _load_libm() -> None:
    """Put libm's names where a library without dependencies finds them; macOS has them in every process."""
    try:
        ctypes.CDLL("libm.so.6", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        ctypes.CDLL(None, mode=ctypes.RTLD_GLOBAL)


# Libraries in use, by build key: the same source compiled twice, or by two threads at once, is one library.
_libraries: weakref.WeakValueDictionary[str, ShaderLibrary] = weakref.WeakValueDictionary()
_building: dict[tuple[Any, ...], threading.Lock] = {}
_guard = threading.Lock()


@public
def compile_shader(
    source: str,
    *,
    numerics: str | None = None,
    include_dirs: Sequence[str] | None = None,
    function_constants: Mapping[int, bool | int | float] | None = None,
) -> ShaderLibrary:
    """Compile Metal source for CPU tensors.

    ``numerics`` is ``"apple"`` or ``"ieee"`` (see `pymetal.host.numerics`); ``include_dirs`` replaces the installed
    torch's include folder as the place of ``c10/metal``; ``function_constants`` gives values by index, which torch's
    function cannot: a constant without one is not defined. Raises MetalSyntaxError (a SyntaxError) for wrong source,
    ToolchainError without a compiler.
    """
    if not isinstance(source, str):
        raise CallError(f"source must be a str, not {type(source).__name__}")
    folders = default_include_dirs() if include_dirs is None else tuple(str(folder) for folder in include_dirs)
    mode = check(numerics) if numerics is not None else current()
    constants = tuple(sorted((function_constants or {}).items()))
    wanted = Source(source, mode, folders, constants)
    token = (wanted.text, wanted.numerics, wanted.include_dirs, repr(constants))
    with _guard:
        lock = _building.setdefault(token, threading.Lock())
    try:
        with lock:
            build = Build(wanted)
            library = _libraries.get(build.key + build.stamp)
            if library is None:
                library = _libraries[build.key + build.stamp] = ShaderLibrary(build)
            return library
    finally:
        with _guard:
            _building.pop(token, None)


def clear_memory() -> None:
    """Forget libraries kept in memory, so that the next compile_shader reads the disk cache again."""
    _libraries.clear()
