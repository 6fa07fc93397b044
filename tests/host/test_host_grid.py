"""The grid of a launch: threads, group_size and every position attribute, against a Python model of a Metal grid."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch

from pymetal import host
from pymetal.host import grid


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYMETAL_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "host-cache"))


FIELDS = [
    "thread_position_in_grid", "threads_per_grid", "threadgroup_position_in_grid", "thread_position_in_threadgroup",
    "threads_per_threadgroup", "threadgroups_per_grid", "dispatch_threads_per_threadgroup",
]  # fmt: skip
SCALARS = ["thread_index_in_threadgroup", "thread_index_in_simdgroup", "simdgroup_index_in_threadgroup"]


def recorder(kind: str) -> host.Kernel:
    """Stores every position attribute of each thread."""
    parameters = "".join(f", uint3 v{n} [[{name}]]" for n, name in enumerate(FIELDS))
    parameters += "".join(f", {kind} s{n} [[{name}]]" for n, name in enumerate(SCALARS))
    stores = "".join(f"out[at++] = v{n}.x; out[at++] = v{n}.y; out[at++] = v{n}.z; " for n in range(len(FIELDS)))
    stores += "".join(f"out[at++] = s{n}; " for n in range(len(SCALARS)))
    count = 3 * len(FIELDS) + len(SCALARS)
    return host.compile_shader(
        f"#include <metal_stdlib>\nusing namespace metal;\nkernel void f(device int* out [[buffer(0)]]{parameters}) {{ "
        f"uint at = {count} * ((v0.z * v1.y + v0.y) * v1.x + v0.x); {stores} }}"
    ).f


def model(threads: tuple[int, ...], group: tuple[int, ...]) -> list[list[int]]:
    """What each thread of the grid sees, by the Metal Shading Language's definitions."""
    rows = []
    for z, y, x in itertools.product(*(range(n) for n in reversed(threads))):
        position = (x, y, z)
        group_at = [p // g for p, g in zip(position, group, strict=True)]
        inside = [p % g for p, g in zip(position, group, strict=True)]
        actual = [min(g, n - a * g) for a, g, n in zip(group_at, group, threads, strict=True)]
        groups = [math.ceil(n / g) for n, g in zip(threads, group, strict=True)]
        index = (inside[2] * actual[1] + inside[1]) * actual[0] + inside[0]
        rows.append([*position, *threads, *group_at, *inside, *actual, *groups, *group, index, index % 32, index // 32])
    return rows


@pytest.mark.parametrize(
    ("threads", "group"),
    [
        ((5, 1, 1), (2, 1, 1)),
        ((70, 1, 1), (40, 1, 1)),
        ((5, 3, 1), (2, 2, 1)),
        ((4, 3, 2), (3, 2, 2)),
        ((1, 7, 3), (1, 2, 2)),
        ((33, 2, 2), (16, 2, 1)),
    ],
)
@pytest.mark.parametrize("kind", ["uint", "ushort"])
def test_positions(threads: tuple[int, ...], group: tuple[int, ...], kind: str) -> None:
    want = model(threads, group)
    out = torch.full((len(want), len(want[0])), -1, dtype=torch.int32)
    recorder(kind)(out, threads=list(threads), group_size=list(group))
    assert out.tolist() == want


COUNT = """#include <metal_stdlib>
using namespace metal;
kernel void f(device int* out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] += 1; }
kernel void g(device int* out [[buffer(0)]], uint2 at [[thread_position_in_grid]], uint2 size [[threads_per_grid]]) {
  out[at.y * size.x + at.x] += 1;
}
kernel void h(device int* out [[buffer(0)]], ushort3 at [[thread_position_in_grid]],
              uint g [[threads_per_threadgroup]]) {
  out[at.x] += g;
}
"""


def test_threads_default_to_the_elements_of_the_first_tensor() -> None:
    kernel = host.compile_shader(COUNT).f
    out = torch.zeros(2, 3, dtype=torch.int32)
    kernel(out)
    assert out.sum() == 6
    kernel(out, threads=2)
    assert out.flatten().tolist() == [2, 2, 1, 1, 1, 1]
    kernel(out, threads=[1])
    assert out.flatten().tolist() == [3, 2, 1, 1, 1, 1]


@pytest.mark.parametrize("threads", [0, [0], [0, 5], [3, 0, 2]])
def test_no_thread_no_launch(threads: int | list[int]) -> None:
    out = torch.zeros(10, dtype=torch.int32)
    host.compile_shader(COUNT).g(out, threads=threads)
    assert out.sum() == 0
    host.compile_shader(COUNT).f(torch.zeros(0, dtype=torch.int32))


def test_two_dimensions() -> None:
    out = torch.zeros(7, 5, dtype=torch.int32)
    host.compile_shader(COUNT).g(out, threads=[5, 7])
    assert out.min() == out.max() == 1
    host.compile_shader(COUNT).g(out, threads=(5, 7), group_size=(2, 3))
    assert out.min() == out.max() == 2


def test_default_group_sizes() -> None:
    kernel = host.compile_shader(COUNT).h
    out = torch.zeros(2000, dtype=torch.int32)
    kernel(out)
    assert out[0] == 1024
    assert out[1999] == 2000 - 1024
    out.zero_()
    kernel(out, threads=7)
    assert out[0] == 7
    assert grid.shape((5000, 3), None) == (5000, 3, 1, 1024, 1, 1)


@pytest.mark.parametrize(("threads", "group"), [(4096, 1025), ([64, 64], [64, 17]), ([8, 8, 8], [1024, 2, 1])])
def test_groups_have_a_limit(threads: Any, group: Any) -> None:
    out = torch.zeros(4096, dtype=torch.int32)
    with pytest.raises(ValueError, match="Threadgroup size exceeds 1024 limit"):
        host.compile_shader(COUNT).g(out, threads=threads, group_size=group)


@pytest.mark.parametrize(
    ("threads", "group"),
    [
        ([], None),
        ([1, 1, 1, 1], None),
        (-1, None),
        (2.5, None),
        ([2, 2], 2),
        (4, [2, 2]),
        (4, 0),
        ("4", None),
        (1 << 32, None),
    ],
)
def test_wrong_grids(threads: Any, group: Any) -> None:
    with pytest.raises(RuntimeError):
        host.compile_shader(COUNT).f(torch.zeros(4, dtype=torch.int32), threads=threads, group_size=group)


def test_threads_are_needed_without_a_tensor() -> None:
    library = host.compile_shader(
        "kernel void f(constant float& x [[buffer(0)]], uint i [[thread_position_in_grid]]) { }"
    )
    with pytest.raises(RuntimeError, match="Number of threads is undefined"):
        library.f(1.0)
    library.f(1.0, threads=3)


def test_handle_has_the_properties_of_torchs() -> None:
    kernel = host.compile_shader(COUNT).f
    assert kernel.max_threads_per_threadgroup == 1024
    assert kernel.thread_execution_width == 32
    assert kernel.static_thread_group_memory_length == 0


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_a_large_grid_is_split_over_cpu_threads(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: workers)
    count = 8 * grid.GRAIN + 77
    out = torch.zeros(count, dtype=torch.int32)
    host.compile_shader(COUNT).f(out)
    assert out.min() == out.max() == 1
    out.zero_()
    rows = 1001
    host.compile_shader(COUNT).g(out, threads=[count // rows, rows])
    done = count // rows * rows
    assert out[:done].min() == out[:done].max() == 1
    assert out[done:].sum() == 0


def test_small_grids_stay_on_the_calling_thread() -> None:
    assert grid.workers(2 * grid.GRAIN - 1) == 1


def test_atomics_count_every_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    library = host.compile_shader("""#include <metal_stdlib>
    using namespace metal;
    kernel void f(device atomic<int>* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
      atomic_fetch_add_explicit(out, 1, memory_order_relaxed);
      atomic_fetch_max_explicit(out + 1, int(i), memory_order_relaxed);
    }""")
    out = torch.zeros(2, dtype=torch.int32)
    library.f(out, threads=4 * grid.GRAIN)
    assert out.tolist() == [4 * grid.GRAIN, 4 * grid.GRAIN - 1]


def test_c10_atomics_add_to_small_types() -> None:
    library = host.compile_shader("""#include <metal_stdlib>
    #include <c10/metal/atomic.h>
    using namespace metal;
    using namespace c10::metal;
    kernel void f(device AtomicType_t<half>* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
      AtomicType<half>::atomic_add(out, i % 4, half(1));
    }""")
    out = torch.zeros(4, dtype=torch.float16)
    library.f(out, threads=40)
    assert out.tolist() == [10] * 4
