"""Values, distances and compilation in batches, for tests of functors."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import torch
from float_distance import distance

from pymetal import host
from pymetal.functor import Functor
from pymetal.host import build, float_mode
from pymetal.host.device import HostDevice

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8)
DTYPES = (*FLOATS, *INTEGERS, torch.bool)

# --- values ----------------------------------------------------------------------------------------------------------

inf, nan = float("inf"), float("nan")


def edges(dtype: torch.dtype) -> torch.Tensor:
    """The values at which implementations differ: extremes, zeros, subnormals, NaN, infinities, small integers."""
    if dtype is torch.bool:
        return torch.tensor([False, True])
    if not dtype.is_floating_point:
        whole = torch.iinfo(dtype)
        wanted = {0, 1, 2, 3, 7, 100, whole.max, whole.max - 1, whole.max // 2}
        wanted |= {whole.min, whole.min + 1, whole.min // 2}
        wanted |= {-1, -2, -3, -100} if whole.min < 0 else {128, 200}
        return torch.tensor(sorted(wanted), dtype=dtype)
    info = torch.finfo(dtype)
    one = [0.0, info.smallest_normal, info.smallest_normal / 2, info.eps, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 10.0]
    one += [1 + info.eps, 1 - info.eps / 2, info.max, info.max / 2, inf]
    least = info.smallest_normal * info.eps  # the smallest subnormal
    return torch.tensor([*one, least, *(-x for x in one), -least, nan], dtype=torch.float64).to(dtype)


def random(dtype: torch.dtype, count: int, seed: int = 0) -> torch.Tensor:
    """Random values: integers over the whole range, floats evenly over the exponents and, by half, around one."""
    generator = torch.Generator().manual_seed(seed)
    if dtype is torch.bool:
        return torch.randint(0, 2, (count,), generator=generator).bool()
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        if dtype is torch.int64:
            return torch.randint(info.min, info.max, (count,), generator=generator, dtype=dtype)
        return torch.randint(info.min, info.max + 1, (count,), generator=generator).to(dtype)
    bits = {2: torch.int16, 4: torch.int32}.get(dtype.itemsize, torch.int64)
    wide = random(bits, count // 2, seed).view(dtype)
    return torch.cat([wide, torch.randn(count - count // 2, generator=generator, dtype=torch.float64).to(dtype) * 3])


def operands(dtype: torch.dtype, arity: int, count: int = 400) -> list[torch.Tensor]:
    """`arity` vectors: every combination of edge values (of a part of them for three operands), then random values."""
    some = edges(dtype)
    if arity == 3:
        some = some[:: 2 if dtype.is_floating_point else 1]
    combined = [list(column) for column in zip(*itertools.product(range(len(some)), repeat=arity), strict=True)]
    return [torch.cat([some[c], random(dtype, count, seed)]) for seed, c in enumerate(combined)]


# --- comparison ------------------------------------------------------------------------------------------------------


def assert_equal(actual: torch.Tensor, expected: torch.Tensor, inputs: Sequence[Any] = (), ulp: int = 0) -> None:
    """Equal in dtype, shape and value: floats within `ulp` units in the last place of their dtype (any NaN equals any,
    and so do the zeros), everything else exactly."""
    assert actual.dtype == expected.dtype, (actual.dtype, expected.dtype)
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    wrong = distance(actual, expected) > ulp if actual.is_floating_point() else actual != expected
    if wrong.any():
        at = int(wrong.flatten().nonzero()[0].item())
        flat = [t.expand(actual.shape).flatten()[at].item() for t in inputs if isinstance(t, torch.Tensor)]
        raise AssertionError(
            f"{int(wrong.sum())} of {wrong.numel()} elements differ by more than {ulp} ulp ({actual.dtype}); "
            f"at {flat}: {actual.flatten()[at].item()!r} came, {expected.flatten()[at].item()!r} was expected"
        )


# --- modules ---------------------------------------------------------------------------------------------------------

PRELUDE = "import math\nimport torch\nimport pymetal\nfrom pymetal import Floating, Integral, T, metal\n\n"
_count = itertools.count()


def load(folder: Path, text: str, prelude: str = PRELUDE) -> ModuleType:
    """A module made of `text`, written to a file of its own so that its functions have a source."""
    name = f"written_{next(_count)}"
    path = folder / f"{name}.py"
    path.write_text(prelude + text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# --- compilation in batches ------------------------------------------------------------------------------------------


@dataclass
class _Pending:
    """One source that waits for the compiler, and the library it went into."""

    source: str
    number: int
    mode: str
    library: Any = None


class _Kernel:
    """A kernel that makes the whole batch compile when it is first used."""

    def __init__(self, batch: Batch, pending: _Pending, name: str) -> None:
        self._get: Callable[[], Any] = lambda: batch.kernel(pending, name)

        self._batch = batch

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return None if self._batch.collecting else self._get()(*args, **keywords)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._get(), name)


_HEAD = re.compile(r"^(#include[^\n]*|using namespace[^\n]*|\s*)$")
_KERNEL = re.compile(r"(?<=^kernel void )(\w+)(?=\()", re.MULTILINE)


class Batch:
    """Collects the sources that the host device is asked for, and compiles them in one run.

    Each stands in a namespace of its own, to the letter but for the names of its kernels.
    """

    def __init__(self) -> None:
        self.waiting: list[_Pending] = []
        self.collecting = False
        self.count = 0
        self.lock = threading.Lock()

    def compile(self, source: str) -> Callable[[str], Any]:
        """What `Device.compile` does, later."""
        pending = _Pending(source, self.count, float_mode.current())
        self.count += 1
        self.waiting.append(pending)
        return lambda name: _Kernel(self, pending, name)

    def kernel(self, pending: _Pending, name: str) -> Any:
        """The compiled kernel `name` of a source."""
        with self.lock:
            if pending.library is None:
                self._run([p for p in self.waiting if p.mode == pending.mode])
        return getattr(pending.library, f"{name}_{pending.number}")

    def _run(self, group: list[_Pending]) -> None:
        heads: dict[str, None] = {}
        bodies = []
        for p in group:
            lines = p.source.splitlines()
            split = next(i for i, line in enumerate(lines) if not _HEAD.match(line))
            heads.update(dict.fromkeys(line for line in lines[:split] if line))
            text = _KERNEL.sub(rf"\g<1>_{p.number}", "\n".join(lines[split:]))
            bodies.append(f"namespace batch_{p.number} {{\n{text}\n}}")
        # Nearly all kernels are launched: they are one library, and not checked first and compiled one by one.
        with mock.patch.object(build, "FEW", sys.maxsize):
            library = host.compile_shader("\n".join([*heads, *bodies]) + "\n", numerics=group[0].mode)
        for p in group:
            p.library = library
        self.waiting = [p for p in self.waiting if p not in group]


@contextlib.contextmanager
def unoptimized() -> Iterator[None]:
    """Inside, the host device compiles without optimization, in a quarter of the time.

    For many programs whose text is compared; keep some of their kind optimized, which shows undefined behaviour.
    """
    flags = build._code_flags
    with mock.patch.object(build, "_code_flags", lambda numerics: (*flags(numerics), "-O0")):
        yield


@contextlib.contextmanager
def batch(mode: str = "apple") -> Iterator[None]:
    """Calls announced inside by `functor.jit_source(...)` share one run of the compiler, at the first launch.

    With `ieee` numerics subnormals are kept and nothing is fused, so that results can be compared to the bit.
    """
    collected = Batch()
    plain = Functor.jit_source

    def announce(functor: Functor, *args: Any, **scalars: Any) -> str:
        collected.collecting = True
        try:
            functor(*args, **scalars)
        finally:
            collected.collecting = False
        return plain(functor, *args, **scalars)

    compile_ = mock.patch.object(HostDevice, "compile", lambda self, source: collected.compile(source))
    with float_mode.numerics(mode), compile_, mock.patch.object(Functor, "jit_source", announce):
        yield
