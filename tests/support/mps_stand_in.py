"""A strict stand-in for the MPS device of torch: its binding rules enforced, its kernels run on the host device.

MPS tensors are stood for by meta tensors, which every torch build can make and which behave as tensors of a device that
is not the CPU; the stand-in keeps memory for their storages. `torch.mps.compile_shader` is replaced by an
implementation of what is documented of it: what torch refuses is refused with the same exception, and what Metal's
validation layer would abort on raises `Abort`.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import torch
from host_helper import METAL

from pymetal import host
from pymetal.runtime import device
from pymetal.runtime.mps import MpsDevice

STAND_IN = torch.device("meta")  # where the stand-in's tensors are, for torch
CASTS = {"fp16": "e", "bf16": "", "int32": "i", "int16": "h", "int8": "b", "uint8": "B"}
MAX_THREADS_PER_GROUP = 1024
MAX_BYTES = 4096  # of one setBytes
MAX_BUFFERS = 31

_SIZES = {name: dtype.itemsize for dtype, name in METAL.items()} | {"uint2": 8, "uint3": 16, "uint4": 16, "void": 1}
_PARAMETER = re.compile(
    r"(?P<space>device|constant)\s+(?P<const>const\s+)?(?P<type>\w+)\s*(?P<kind>[*&])\s*\w+\s*\[\[buffer\((?P<at>\d+)\)\]\]"
)
_POSITION = re.compile(r"\buint(?P<dims>[23]?)\s+\w+\s*\[\[thread_position_in_grid\]\]")


class Abort(BaseException):
    """What would end the process under Metal's validation layer; no handler of the code under test catches it."""


@dataclass(frozen=True)
class Parameter:
    """A buffer as the kernel declares it."""

    space: str
    type: str
    is_pointer: bool
    is_writable: bool

    @property
    def size(self) -> int:
        return _SIZES[self.type]


@dataclass(frozen=True)
class Call:
    """A launch as the stand-in got it."""

    args: tuple[Any, ...]
    threads: tuple[int, ...]
    source: str


@dataclass
class StandIn:
    """The memory of the stand-in's tensors, and what was asked of it."""

    sources: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    handles: int = 0
    cpu_scalars: int = 0  # 0-dim CPU tensors that were bound, which torch up to 2.13 reads from the wrong place
    memory: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = field(default_factory=dict)
    build: Callable[[str], Callable[[str], Any]] | None = None  # compiles in place of the host device

    # --- tensors ---

    def put(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor of the stand-in with the elements, strides and storage offset of a CPU tensor."""
        given = tensor.untyped_storage()
        storage = torch.UntypedStorage(given.nbytes(), device="meta")
        self.memory[storage._cdata] = (storage, given.clone())
        moved = torch.empty(0, dtype=tensor.dtype, device=STAND_IN)
        return moved.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())

    def get(self, tensor: torch.Tensor) -> torch.Tensor:
        """The memory of a tensor of the stand-in, as a CPU tensor: a view, not a copy."""
        assert tensor.device == STAND_IN
        storage = tensor.untyped_storage()
        kept = self.memory.get(storage._cdata)
        if kept is None or kept[1].nbytes() < storage.nbytes():
            memory = torch.UntypedStorage(storage.nbytes())
            torch.empty(0, dtype=torch.uint8).set_(memory).fill_(0xA5)
            kept = self.memory[storage._cdata] = (storage, memory)
        view = torch.empty(0, dtype=tensor.dtype)
        return view.set_(kept[1], tensor.storage_offset(), tensor.shape, tensor.stride())

    # --- torch.mps.compile_shader ---

    def compile_shader(self, source: str) -> Library:
        """The library of a source."""
        if not isinstance(source, str):
            raise TypeError("compile_shader(): incompatible function arguments")
        try:
            source.encode("ascii")
        except UnicodeEncodeError as error:
            raise Abort("the source is turned into an NSString as ASCII") from error
        self.sources.append(source)
        if self.build is not None:
            return Library(self, source, self.build(source), None)
        try:
            library = host.compile_shader(source)
        except SyntaxError as error:
            raise SyntaxError(str(error)) from None
        return Library(self, source, lambda name: getattr(library, name), dir(library))


class Library:
    """`torch._C._mps_ShaderLibrary`."""

    def __init__(
        self, owner: StandIn, source: str, kernels: Callable[[str], Any], names: Sequence[str] | None
    ) -> None:  # fmt: skip
        self._owner, self._source, self._kernels = owner, source, kernels
        self._names = re.findall(r"^kernel void (\w+)\(", source, re.MULTILINE) if names is None else list(names)

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._names:
            raise RuntimeError(f"Failed to create function state object for: {name}")
        self._owner.handles += 1
        return Kernel(self._owner, self._source, name, self._kernels(name))

    def __dir__(self) -> list[str]:
        return list(self._names)


class Kernel:
    """`torch._C._mps_MetalKernel`."""

    max_threads_per_threadgroup = MAX_THREADS_PER_GROUP
    thread_execution_width = 32
    static_thread_group_memory_length = 0

    def __init__(self, owner: StandIn, source: str, name: str, run: Any) -> None:
        self._owner, self._source, self._run = owner, source, run
        text = source[source.index(f"kernel void {name}(") :]
        signature = text[: text.index("{")]
        found = {int(m["at"]): m for m in _PARAMETER.finditer(signature)}
        if sorted(found) != list(range(signature.count("[[buffer("))):
            raise Abort(f"the stand-in cannot read the parameters of {signature}")
        if len(found) > MAX_BUFFERS:
            raise Abort(f"{len(found)} buffers; Metal has {MAX_BUFFERS}")
        self._parameters = [
            Parameter(m["space"], m["type"], m["kind"] == "*", m["space"] == "device" and not m["const"])
            for _, m in sorted(found.items())
        ]
        position = _POSITION.search(signature)
        if position is None:
            raise Abort(f"the stand-in cannot read the position of {signature}")
        self._dims = int(position["dims"] or 1)

    def __call__(
        self, *args: Any, threads: Any = None, group_size: Any = None, arg_casts: Any = None, error_buf_idx: Any = None
    ) -> None:
        if threads is None:
            first = next((a for a in args if isinstance(a, torch.Tensor)), None)
            if first is None:
                raise RuntimeError("Number of threads is undefined")
            threads = first.numel()
        grid = _extents(threads, "threads")
        if group_size is not None:
            group = _extents(group_size, "group_size")
            if len(group) != len(grid):
                raise RuntimeError("group_size and threads have different numbers of dimensions")
            if torch.Size(group).numel() > MAX_THREADS_PER_GROUP:
                raise ValueError(f"Threadgroup size exceeds {MAX_THREADS_PER_GROUP} limit")
        if 0 in grid:
            raise Abort("a dispatch of no threads")
        if max(grid) > 2**32 - 1:
            raise Abort("positions have 32 bits")
        if len(grid) != self._dims:
            raise Abort(f"the kernel's position has {self._dims} dimensions, the grid {len(grid)}")
        if len(args) != len(self._parameters):
            raise Abort(f"{len(args)} arguments for {len(self._parameters)} buffers")
        bound = [self._bind(i, a, arg_casts) for i, a in enumerate(args)]
        self._owner.calls.append(Call(args, grid, self._source))
        self._run(*bound, threads=list(grid))

    def _bind(self, at: int, value: Any, casts: Any) -> torch.Tensor:
        """The memory that Metal would see at buffer `at`."""
        wanted = self._parameters[at]
        cast = casts.get(at) if isinstance(casts, Mapping) else casts
        if cast is not None and cast not in CASTS:
            raise RuntimeError("Unsupported cast instruction ")
        if isinstance(value, torch.Tensor):
            if value.device == STAND_IN:
                return self._bind_memory(at, wanted, value)
            if value.dim() > 0:
                raise RuntimeError("Passed CPU tensor to MPS op")
            self._owner.cpu_scalars += 1
            narrowed = {torch.float64: torch.float32, torch.complex128: torch.complex64}.get(value.dtype, value.dtype)
            # Up to torch 2.13 the bytes are those at the start of the storage, whatever the offset.
            start = torch.empty(0, dtype=value.dtype).set_(value.untyped_storage(), 0, (), ())
            return self._bind_bytes(at, wanted, bytes(start.to(narrowed).reshape(1).view(torch.uint8).tolist()))
        if isinstance(value, list | tuple):
            if not value:
                raise RuntimeError("Unexpected argument types: an empty list")
            kind = type(value[0])
            if kind not in (bool, int, float) or any(not isinstance(v, int | float) for v in value):
                raise RuntimeError("Unexpected argument types")
            if kind is not float and any(isinstance(v, float) for v in value):
                raise RuntimeError("Unable to cast Python instance of type float to C++ type int64_t")
            data = b"".join(_bytes(v, kind is float, cast) for v in value)
            return self._bind_bytes(at, wanted, data)
        if isinstance(value, int | float):
            return self._bind_bytes(at, wanted, _bytes(value, isinstance(value, float), cast))
        raise RuntimeError(f"Unsupported argument type {type(value).__name__}")

    def _bind_memory(self, at: int, wanted: Parameter, value: torch.Tensor) -> torch.Tensor:
        if value.is_conj() or value.is_neg():
            raise Abort(f"buffer {at}: memory does not hold what the tensor says")
        if not wanted.is_pointer and value.numel() * value.element_size() < wanted.size:
            raise Abort(f"buffer {at}: {wanted.type} is read past the end of the tensor")
        offset = value.storage_offset() * value.element_size()
        if wanted.space == "constant" and offset % 4:
            raise Abort(f"buffer {at}: offset {offset} in the constant space is not a multiple of 4")
        # torch does not check the dtype; a kernel that sees other elements than the tensor's computes nonsense.
        if METAL.get(value.dtype) != wanted.type and (value.dtype, wanted.type) != (torch.bool, "uchar"):
            raise Abort(f"buffer {at}: a {value.dtype} tensor for {wanted.type}")
        return self._owner.get(value)

    def _bind_bytes(self, at: int, wanted: Parameter, data: bytes) -> torch.Tensor:
        if wanted.is_writable:
            raise Abort(f"buffer {at}: bytes bound to a writable argument")
        if len(data) > MAX_BYTES:
            raise Abort(f"buffer {at}: {len(data)} bytes; setBytes takes {MAX_BYTES}")
        if len(data) < wanted.size:
            raise Abort(f"buffer {at}: {wanted.type} has {wanted.size} bytes, and {len(data)} are bound")
        memory = torch.empty((len(data) + 7) // 8, dtype=torch.int64)
        ctypes.memmove(memory.data_ptr(), data, len(data))
        return memory


def _bytes(value: int | float, is_float: bool, cast: str | None) -> bytes:
    if cast == "bf16":
        return bytes(torch.tensor([value], dtype=torch.bfloat16).view(torch.uint8).tolist())
    if cast == "fp16":
        return bytes(torch.tensor([value], dtype=torch.float16).view(torch.uint8).tolist())
    if cast is not None:
        code = CASTS[cast]
        bits = 8 * struct.calcsize(code)
        return (int(value) % (1 << bits)).to_bytes(bits // 8, "little")
    if is_float:
        return struct.pack("<f", float(torch.tensor(value, dtype=torch.float32)))
    if not -(2**63) <= value < 2**63:
        raise RuntimeError("Unable to cast Python instance of type int to C++ type int64_t")
    return struct.pack("<q", value)


def _extents(given: Any, what: str) -> tuple[int, ...]:
    values = (given,) if isinstance(given, int) else tuple(given)
    if not 1 <= len(values) <= 3 or not all(type(v) is int for v in values):
        raise RuntimeError(f"{what} is an int, or a list of 1 to 3")
    return values


@contextlib.contextmanager
def installed(several_from: int | None = None) -> Iterator[StandIn]:
    """Inside, this torch seems to have an MPS device, whose tensors are those of the stand-in."""
    stand_in = StandIn()
    runner = MpsDevice()
    if several_from is not None:
        runner.several_from = several_from
    plain = torch.tensor

    def tensor(data: Any, **keywords: Any) -> torch.Tensor:
        if torch.device(keywords.get("device") or "cpu") == STAND_IN:
            return stand_in.put(plain(data, **{**keywords, "device": "cpu"}))
        return plain(data, **keywords)

    with (
        mock.patch.object(torch.mps, "compile_shader", stand_in.compile_shader, create=True),
        mock.patch.object(torch.backends.mps, "is_available", return_value=True),
        mock.patch.dict(device._used, {STAND_IN.type: runner}),
        mock.patch.object(torch, "tensor", tensor),
    ):
        yield stand_in
