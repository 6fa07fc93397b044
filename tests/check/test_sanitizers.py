"""The host device's generated code under AddressSanitizer and UndefinedBehaviorSanitizer.

Opt-in, with PYMETAL_SANITIZE=1: it needs a clang with the sanitizers' runtime, which the one in `ziglang` lacks.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FUNCTORS = ["add", "hypot", "div_floor", "gcd", "nextafter", "bitwise_left_shift", "elu", "pow", "lgamma", "nan_to_num"]
SCRIPT = Path(__file__).parent / "sanitized.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("PYMETAL_SANITIZE"), reason="opt-in: PYMETAL_SANITIZE=1"),
]


def clang() -> tuple[str, str]:
    """A compiler and the runtime to load before Python."""
    for name in (os.environ.get("PYMETAL_CXX", "clang++"), *(f"clang++-{n}" for n in range(25, 17, -1))):
        path = shutil.which(name)
        if path is None:
            continue
        folder = subprocess.run([path, "-print-runtime-dir"], capture_output=True, text=True, check=True).stdout.strip()
        near = glob.glob(f"{folder}/libclang_rt.asan*.so") + glob.glob(f"{Path(folder).parent}/*/libclang_rt.asan-*.so")
        for runtime in near:
            if "preinit" not in runtime:
                return path, runtime
    pytest.skip("no clang with the sanitizers' runtime")


def run(tmp_path: Path, code: list[str]) -> subprocess.CompletedProcess[str]:
    compiler, runtime = clang()
    environment = {
        **os.environ, "PYMETAL_CXX": compiler, "LD_PRELOAD": runtime, "PYMETAL_CACHE_DIR": str(tmp_path / "cache"),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=77",  # Python and torch keep what they have
        "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=77:halt_on_error=1",
    }  # fmt: skip
    return subprocess.run(code, env=environment, capture_output=True, text=True, check=False, timeout=1500)


def test_no_report(tmp_path: Path) -> None:
    done = run(tmp_path, [sys.executable, str(SCRIPT), *FUNCTORS])
    assert done.returncode == 0, done.stderr[-4000:]
    assert int(done.stdout.split()[0]) > 300


def test_the_sanitizers_are_awake(tmp_path: Path) -> None:
    """A kernel that writes behind its buffer is told: the run above could have failed."""
    code = f"""
import runpy, sys
sys.argv = ["x"]
runpy.run_path({str(SCRIPT)!r})
import torch
from pymetal import host
source = '''#include <metal_stdlib>
kernel void far(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {{ out[i + 100000] = 1.0; }}
'''
memory = torch.empty(64)
host.compile_shader(source).far(memory, threads=64)
"""
    done = run(tmp_path, [sys.executable, "-c", code])
    assert done.returncode != 0
    assert "AddressSanitizer" in done.stderr
