"""Builds loops over the functions of ``elementary.h`` into a shared library, with a double reference for each.

Shared by the tests and the benchmark; not part of the package.
"""

from __future__ import annotations

import ctypes
import platform
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymetal.errors import ToolchainError
from pymetal.host.toolchain import find_compiler

SHIM = Path(__file__).parents[1] / "pymetal" / "host" / "shim"
FLAGS = [
    *("-std=c++23", "-O3", "-fwrapv", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden"),
    *("-mllvm", "-inline-threshold=2000", "-Wall", "-Wextra", "-Werror"),
]
NATIVE = "-mcpu=native" if platform.machine() in ("arm64", "aarch64") else "-march=native"

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


def _erf(x: Doubles) -> Doubles:
    import torch

    return torch.special.erf(torch.from_numpy(x)).numpy()


def _sinpi(x: Doubles) -> Doubles:
    rest = x - 2 * np.rint(x / 2)
    rest = np.where(np.abs(rest) > 0.5, np.copysign(1, rest) - rest, rest)
    return np.where(np.isfinite(x) & (np.rint(x) == x), np.copysign(0, x), np.sin(np.pi * rest))


def _cospi(x: Doubles) -> Doubles:
    rest = 0.5 - np.abs(x - 2 * np.rint(x / 2))
    return np.where(rest == 0, 0.0, np.sin(np.pi * rest))


def _tanpi(x: Doubles) -> Doubles:
    a = np.abs(x)
    rest, odd = a - np.rint(a), np.floor(a) % 2 == 1
    steep = np.abs(rest) > 0.25
    tangent = np.tan(np.pi * np.where(steep, np.copysign(0.5, rest) - rest, rest))
    v = np.where(steep, 1 / tangent, tangent)
    v = np.where(rest == 0, np.where(odd, -0.0, 0.0), v)
    v = np.where(np.abs(rest) == 0.5, np.where(odd, -np.inf, np.inf), v)
    return np.where(np.signbit(x), -v, v)


def _powr(x: Doubles, y: Doubles) -> Doubles:
    undefined = (x < 0) | (x != x) | (y != y) | ((y == 0) & ((x == 0) | np.isinf(x))) | ((x == 1) & np.isinf(y))
    return np.where(undefined, np.nan, np.power(np.where(x == 0, 0.0, x), y))


@dataclass(frozen=True)
class Function:
    """A function of the header: `libm` is the C function a scalar loop calls, if there is one everywhere."""

    reference: Callable[..., Any]
    arity: int = 1
    libm: str | None = None
    domain: tuple[float, float] = (-4, 4)  # of benchmark arguments


FUNCTIONS = {
    "exp": Function(np.exp, libm="expf"),
    "exp2": Function(np.exp2, libm="exp2f"),
    "exp10": Function(lambda x: np.power(10.0, x)),
    "expm1": Function(np.expm1, libm="expm1f"),
    "log": Function(np.log, libm="logf", domain=(0, 9)),
    "log2": Function(np.log2, libm="log2f", domain=(0, 9)),
    "log10": Function(np.log10, libm="log10f", domain=(0, 9)),
    "log1p": Function(np.log1p, libm="log1pf", domain=(-1, 9)),
    "sin": Function(np.sin, libm="sinf"),
    "cos": Function(np.cos, libm="cosf"),
    "tan": Function(np.tan, libm="tanf"),
    "sinpi": Function(_sinpi),
    "cospi": Function(_cospi),
    "tanpi": Function(_tanpi),
    "asin": Function(np.arcsin, libm="asinf", domain=(-1, 1)),
    "acos": Function(np.arccos, libm="acosf", domain=(-1, 1)),
    "atan": Function(np.arctan, libm="atanf"),
    "sinh": Function(np.sinh, libm="sinhf"),
    "cosh": Function(np.cosh, libm="coshf"),
    "tanh": Function(np.tanh, libm="tanhf"),
    "asinh": Function(np.arcsinh, libm="asinhf"),
    "acosh": Function(np.arccosh, libm="acoshf", domain=(1, 9)),
    "atanh": Function(np.arctanh, libm="atanhf", domain=(-1, 1)),
    "rsqrt": Function(lambda x: 1 / np.sqrt(x), domain=(0, 9)),
    "cbrt": Function(np.cbrt, libm="cbrtf"),
    "erf": Function(_erf, libm="erff"),
    "atan2": Function(np.arctan2, 2, "atan2f"),
    "pow": Function(np.power, 2, "powf", domain=(0, 4)),
    "powr": Function(_powr, 2, domain=(0, 4)),
    "hypot": Function(np.hypot, 2, "hypotf"),
    "fmod": Function(np.fmod, 2, "fmodf"),
}

_LOOP = """\
extern "C" __attribute__((visibility("default")))
void {name}({parameters}, float* out, long n) {{
#pragma clang loop vectorize({mode})
  for (long i = 0; i < n; i++) out[i] = {call};
}}
"""

# Sets flushing of subnormals, results and arguments.
_FLUSH = """\
extern "C" __attribute__((visibility("default"))) void flush_subnormals(int on) {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~0x8040u) | (on ? 0x8040u : 0));
#else
  unsigned long long fpcr = __builtin_arm_rsr64("fpcr");
  __builtin_arm_wsr64("fpcr", on ? fpcr | 1ull << 24 : fpcr & ~(1ull << 24));
#endif
}
"""


def source(*, libm: bool = False) -> str:
    """C++ with a loop for each function; with `libm` also scalar loops of the C functions."""
    text = '#include "elementary.h"\n' + _FLUSH
    for name, function in FUNCTIONS.items():
        letters = "ab"[: function.arity]
        parameters = ", ".join(f"const float* {c}" for c in letters)
        arguments = ", ".join(f"{c}[i]" for c in letters)
        call = f"pymetal_host::{name}_({arguments})"
        text += _LOOP.format(name=f"vector_{name}", parameters=parameters, call=call, mode="assume_safety")
        if libm and function.libm:
            call = f"__builtin_{function.libm}({arguments})"
            text += _LOOP.format(name=f"scalar_{name}", parameters=parameters, call=call, mode="disable")
    return text


def compiler() -> list[str] | None:
    """The compiler of the host device, as a command that also links; None if there is none."""
    try:
        found = find_compiler()
    except ToolchainError:
        return None
    command = (found.command[0], "cc") if found.family == "zig-clang" else found.command
    return [*command, "-x", "c++"]


class Library:
    """The compiled functions, as functions on arrays."""

    def __init__(self, folder: Path, *flags: str, libm: bool = False) -> None:
        command = compiler()
        if command is None:
            raise FileNotFoundError("no clang 18 or newer, and no ziglang package")
        folder.mkdir(parents=True, exist_ok=True)
        text, binary = folder / "elementary.cpp", folder / "elementary.so"
        text.write_text(source(libm=libm), encoding="utf-8")
        command = [*command, *FLAGS, NATIVE, *flags, f"-I{SHIM}", "-shared", "-fPIC", "-Rpass=loop-vectorize"]
        command += [str(text), "-o", str(binary), *(["-lm"] if libm else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        self.remarks = done.stderr
        self._functions = ctypes.CDLL(str(binary))

    def __call__(self, name: str, *arguments: Floats, variant: str = "vector", out: Floats | None = None) -> Floats:
        """The function called `name` on arrays of one shape."""
        values = [np.ascontiguousarray(a, dtype=np.float32) for a in arguments]
        out = np.empty_like(values[0]) if out is None else out
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*values, out)]
        getattr(self._functions, f"{variant}_{name}")(*pointers, ctypes.c_long(out.size))
        return out

    def flushed(self, name: str, *arguments: Floats) -> Floats:
        """The same with subnormal numbers flushed to zero."""
        self._functions.flush_subnormals(1)
        try:
            return self(name, *arguments)
        finally:
            self._functions.flush_subnormals(0)


def reference(name: str, *arguments: Floats) -> Doubles:
    """The value in double."""
    with np.errstate(all="ignore"):
        return np.asarray(FUNCTIONS[name].reference(*(a.astype(np.float64) for a in arguments)))


def ulps(value: Floats, exact: Doubles) -> Doubles:
    """The distance in units of the last place of the exact value as a float; inf where one is NaN, or the signs differ.

    An overflow counts as 2**128, the next number after the largest.
    """
    with np.errstate(all="ignore"):
        v = np.clip(value.astype(np.float64), -(2.0**128), 2.0**128)
        e = np.clip(exact, -(2.0**128), 2.0**128)
        exponent = np.clip(np.frexp(e)[1], -125, 128)
        distance = np.abs(v - e) / np.ldexp(1.0, exponent - 24)
        both_nan = np.isnan(value) & np.isnan(exact)
        wrong = (np.isnan(value) != np.isnan(exact)) | (np.signbit(value) != np.signbit(exact))
        return np.where(both_nan, 0.0, np.where(wrong, np.inf, distance))
