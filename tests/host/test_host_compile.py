"""Metal source to libraries: what is refused and how it reads, names, laziness, caching, concurrency."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
import torch

from pymetal import host
from pymetal.errors import DeviceError, MetalSyntaxError
from pymetal.host import build
from pymetal.host.cache import default_cache


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYMETAL_CACHE_DIR", str(tmp_path / "cache"))
    host.clear_memory()
    return tmp_path / "cache"


HEAD = "#include <metal_stdlib>\n#include <c10/metal/utils.h>\nusing namespace metal;\n"


def kernel(body: str) -> str:
    return (
        HEAD + "kernel void f(device float* o [[buffer(0)]], constant float* a [[buffer(1)]],\n"
        f"    uint i [[thread_position_in_grid]]) {{\n  {body}\n}}\n"
    )


REFUSED = {
    "constant to device": ("device float* p = a;", "cannot initialize a variable of type 'device float *'"),
    "thread reference to device": ("c10::metal::pair<float> p; auto g = p.first; g = 1; bad(o[i]);", "undeclared"),
    "write to constant": ("a[i] = 1.0;", "read-only variable is not assignable"),
    "float to bfloat": ("bfloat x = a[i]; o[i] = x;", "no viable conversion from"),
    "std": ("o[i] = std::exp(a[i]);", "std: the C++ standard library is not available"),
    "unknown function": ("o[i] = erff(a[i]);", "use of undeclared identifier 'erff'"),
    "no such metal function": ("o[i] = metal::lgamma(a[i]);", "no member named 'lgamma' in namespace 'metal'"),
    "throw": ("throw 1;", "throw: Metal has no exceptions"),
    "double": ("double x = 1; o[i] = x;", "double: Metal has no double; use float"),
    "double in a cast": ("o[i] = float((double)a[i]);", "double: Metal has no double"),
    "if constexpr": ("if constexpr (true) { o[i] = 1; }", "if constexpr: not before Metal 4"),
    "lambda": ("auto g = [](float x) { return x; }; o[i] = g(a[i]);", "lambda expression: not before Metal 3.2"),
    "capturing lambda": ("auto g = [&] { return 1.0f; }; o[i] = g();", "lambda expression"),
    "barrier": ("threadgroup_barrier(mem_flags::mem_device);", "threadgroup_barrier: the host device has no barriers"),
    "threadgroup memory": ("threadgroup float s[32]; o[i] = s[0];", "s: the host device has no threadgroup memory"),
    "simdgroup": ("o[i] = simd_sum(a[i]);", "simd_sum: the host device has no simdgroup operations"),
    "new": ("int n = *new int;", "new: Metal has no heap"),
    "goto": ("goto end; end: o[i] = 1;", "goto: Metal does not have it"),
    "long long": ("long long x = 1; o[i] = x;", "long long: Metal has no long long"),
    "pointer without a space": ("float* p = (float*)o;", "its type needs an address space"),
    "static variable": ("static int n = 0; o[i] = n++;", "it must be in the constant address space"),
    "ambiguous": ("int n = 1; o[i] = metal::max(n, 2u);", "call to 'max' is ambiguous"),
    "math of int": ("int n = 1; o[i] = metal::exp(n);", "call to 'exp' is ambiguous"),
    "syntax": ("o[i] = ;", "expected expression"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_metal_or_the_host_cannot_take_is_refused_at_its_line(name: str) -> None:
    body, message = REFUSED[name]
    with pytest.raises(SyntaxError) as caught:
        host.compile_shader(kernel(body))
    assert isinstance(caught.value, MetalSyntaxError)
    first = str(caught.value).splitlines()[0]
    assert first.startswith("program_source:6")
    assert message in str(caught.value)


WHOLE_SOURCES = {
    "device to a thread reference": (
        HEAD + "void g(thread float& x) { x = 1; }\nkernel void f(device float* o [[buffer(0)]],\n"
        "    uint i [[thread_position_in_grid]]) {\n  g(o[i]); }",
        ["program_source:7", "no matching function for call to 'g'", "candidate function not viable"],
    ),
    "kernel pointer without a space": (
        HEAD + "kernel void f(float* o [[buffer(0)]], uint i [[thread_position_in_grid]]) { }",
        ["program_source:4", "needs an address space"],
    ),
    "template pointer without a space": (
        HEAD + "template <typename T> kernel void f(T* o [[buffer(0)]], uint i [[thread_position_in_grid]]) { }",
        ["program_source:4", "'o'", "without an address space"],
    ),
    "recursion": (
        HEAD + "int fact(int n) {\n  return n < 2 ? 1 : n * fact(n - 1);\n}\n",
        ["program_source:5", "fact: Metal has no recursion"],
    ),
    "global variable": (HEAD + "float g = 1;\n", ["program_source:4", "'g' must be in the constant address space"]),
    "texture": (
        HEAD + "kernel void f(texture2d<float> t [[texture(0)]], uint i [[thread_position_in_grid]]) { }",
        ["texture2d: the host device has no textures"],
    ),
    "standard header": ("#include <cmath>\n" + HEAD, ["program_source:1", "'cmath' file not found"]),
    "kernel with a result": (HEAD + "kernel float f(device float* o) { return 1; }", ["a kernel must return void"]),
    "unclosed": (HEAD + "kernel void f(device float* o, uint i [[thread_position_in_grid]]) {", ["unbalanced '{'"]),
    "registered dtype": (
        HEAD + "#include <c10/metal/indexing.h>\nstruct f_functor { template <typename T> float operator()(T a) "
        "{ return a; } };\nREGISTER_UNARY_OP(f, int, int);",
        ["program_source:6", "Output dtype mismatch for unary op f and input int"],
    ),
    "misspelt attribute": (
        HEAD + "kernel void f(device float* o [[buffer(0)]], uint i [[thread_position_in_gird]]) { }",
        ["program_source:4", "[[thread_position_in_gird]]", "did you mean [[thread_position_in_grid]]?"],
    ),
    "missing attribute": (
        HEAD + "kernel void f(device float* o [[buffer(0)]], uint i) { }",
        ["program_source:4", "parameter 'i' (uint i) is neither a buffer"],
    ),
    "buffer twice": (
        HEAD + "kernel void f(device float* o [[buffer(0)]], constant float* p [[buffer(0)]]) { }",
        ["two parameters have the same [[buffer(n)]]"],
    ),
    "threadgroup parameter": (
        HEAD + "kernel void f(device float* o [[buffer(0)]], threadgroup float* s [[threadgroup(0)]]) { }",
        ["no threadgroup memory"],
    ),
    "not ASCII": ("// caf\u00e9\n" + HEAD, ["program_source:1", "is not ASCII"]),
    "signature unlike its template": (
        HEAD
        + "template <typename T> kernel void k(device T* o [[buffer(0)]], uint i [[thread_position_in_grid]]) { }\n"
        'template [[host_name("k")]] kernel void k<float>(device int* o, uint i);',
        ["program_source:5", "explicit instantiation of 'k' does not match"],
    ),
    "instantiation of nothing": (
        HEAD + 'template [[host_name("k")]] kernel void k<float>(device int* o [[buffer(0)]]);',
        ["program_source:4", "undeclared identifier 'k'"],
    ),
    "one host name twice": (
        HEAD
        + "template <typename T> kernel void k(device T* o [[buffer(0)]]) { }\n"
        + 'template [[host_name("k")]] kernel void k<int>(device int* o);\n' * 2,
        ["two kernels have the host name 'k'"],
    ),
}


@pytest.mark.parametrize("name", WHOLE_SOURCES)
def test_wrong_sources(name: str) -> None:
    source, messages = WHOLE_SOURCES[name]
    with pytest.raises(MetalSyntaxError) as caught:
        host.compile_shader(source)
    for message in messages:
        assert message in str(caught.value)


def test_a_header_may_have_what_the_host_cannot_run_until_a_kernel_calls_it(tmp_path: Path) -> None:
    folder = tmp_path / "include" / "c10" / "metal"
    folder.mkdir(parents=True)
    (folder / "sums.h").write_text("inline float total(float x) { return ::metal::simd_sum(x); }\n")
    source = "#include <c10/metal/sums.h>\n" + kernel("o[i] = a[i];")
    folders = [str(tmp_path / "include"), *build.default_include_dirs()]
    assert dir(host.compile_shader(source, include_dirs=folders)) == ["f"]
    with pytest.raises(MetalSyntaxError, match="simd_sum does not run on the host device: its threads do not exchange"):
        host.compile_shader(source.replace("= a[i]", "= total(a[i])"), include_dirs=folders)


def test_a_message_shows_the_line_and_none_of_the_machinery() -> None:
    with pytest.raises(MetalSyntaxError) as caught:
        host.compile_shader(kernel("o[i] = metal::nosuch(a[i] / 2.0);"))
    assert str(caught.value) == (
        "program_source:6:17: error: no member named 'nosuch' in namespace 'metal'\n"
        "    o[i] = metal::nosuch(a[i] / 2.0);"
    )


def test_types_are_spelt_as_in_metal() -> None:
    with pytest.raises(MetalSyntaxError, match="no viable conversion from 'half4' to 'uint4'"):
        host.compile_shader(kernel("half4 h = 1; uint4 u = h; o[i] = u.x;"))
    with pytest.raises(MetalSyntaxError, match="no viable conversion from 'bfloat' to 'half'"):
        host.compile_shader(kernel("half h = bfloat(1); o[i] = h;"))


def test_at_most_a_few_errors() -> None:
    with pytest.raises(MetalSyntaxError) as caught:
        host.compile_shader(kernel("\n".join(f"o[i] = missing_{n};" for n in range(50))))
    assert 1 <= str(caught.value).count("error:") <= 5


def test_line_directives_lead_to_the_users_file() -> None:
    source = HEAD + '#line 70 "my_functor.py"\nfloat g(float x) {\n  return nosuch(x);\n}\n'
    with pytest.raises(MetalSyntaxError, match=r"^my_functor\.py:71: error: use of undeclared identifier 'nosuch'"):
        host.compile_shader(source)
    with pytest.raises(MetalSyntaxError, match=r"^my_functor\.py:71: error: double"):
        host.compile_shader(source.replace("nosuch(x)", "double(x)"))


def test_an_error_of_a_template_points_at_the_template() -> None:
    source = (
        HEAD
        + """struct g_functor { template <typename T> T operator()(T x) { return x.nosuch; } };
template <typename T, typename F> kernel void k(device T* o [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  F f; o[i] = f(o[i]);
}
template [[host_name("k")]] kernel void k<float, g_functor>(device float* o, uint i);
"""
    )
    with pytest.raises(MetalSyntaxError, match=r"program_source:4.*member reference base type 'float'"):
        host.compile_shader(source)


def test_names() -> None:
    source = (
        HEAD
        + """
#define MAKE(T) template [[host_name("copy_" #T "_x")]] kernel void copy<T>(device T* o, constant T* a, uint i)
template <typename T>
[[kernel]] void copy(device T* o [[buffer(0)]], constant T* a [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  o[i] = a[i];
}
MAKE(float);
MAKE(int);
template [[host_name("deduced")]] [[kernel]] decltype(copy<half>) copy<half>;
namespace inner { kernel void plain(device float* o [[buffer(0)]], uint i [[thread_position_in_grid]]) { o[i] = 7; } }
[[host_name("named")]] kernel void other(device float* o, uint i [[thread_position_in_grid]]) { o[i] = 8; }
"""
    )
    library = host.compile_shader(source)
    assert sorted(dir(library)) == ["copy_float_x", "copy_int_x", "deduced", "named", "plain"]
    out = torch.zeros(2)
    library.plain(out)
    assert out.tolist() == [7, 7]
    library.named(out)
    assert out.tolist() == [8, 8]
    half = torch.zeros(2, dtype=torch.float16)
    library.deduced(half, torch.ones(2, dtype=torch.float16))
    assert half.tolist() == [1, 1]


def test_missing_names_raise_runtime_error_and_suggest() -> None:
    library = host.compile_shader(kernel("o[i] = a[i];"))
    with pytest.raises(RuntimeError, match=r"Failed to create function state object for: ff\ndid you mean 'f'\?"):
        _ = library.ff
    with pytest.raises(DeviceError, match="the library has 1 kernels"):
        _ = library.something_else
    assert not hasattr(library, "__wrapped__")


def test_include_dirs_replace_torchs(tmp_path: Path) -> None:
    folder = tmp_path / "include" / "c10" / "metal"
    folder.mkdir(parents=True)
    header = folder / "mine.h"
    header.write_text("constant float value = 3;\n")
    source = (
        "#include <metal_stdlib>\n#include <c10/metal/mine.h>\n"
        + "kernel void f(device float* o, uint i [[thread_position_in_grid]]) { o[i] = value; }"
    )
    out = torch.zeros(1)
    host.compile_shader(source, include_dirs=[str(tmp_path / "include")]).f(out)
    assert out.item() == 3
    header.write_text("constant float value = 44;\n")  # a header that changes is read again
    host.clear_memory()
    host.compile_shader(source, include_dirs=[str(tmp_path / "include")]).f(out)
    assert out.item() == 44
    with pytest.raises(MetalSyntaxError, match="file not found"):
        host.compile_shader(source)


def many(count: int) -> str:
    kernels = "".join(
        f"kernel void f{n}(device float* o [[buffer(0)]], uint i [[thread_position_in_grid]]) {{ o[i] = {n}; }}\n"
        for n in range(count)
    )
    return HEAD + kernels


def libraries(folder: Path) -> int:
    return len(list(folder.glob(f"*.{build.SUFFIX}")))


def test_many_kernels_are_checked_at_once_and_generated_when_launched(own_cache: Path) -> None:
    library = host.compile_shader(many(6))
    assert libraries(own_cache) == 0
    out = torch.zeros(1)
    library.f5(out)
    library.f5(out)
    assert out.item() == 5
    assert libraries(own_cache) == 1
    library.prepare(["f1", "f2"])
    assert libraries(own_cache) == 2
    library.f2(out)
    assert out.item() == 2
    assert libraries(own_cache) == 2
    with pytest.raises(MetalSyntaxError):
        host.compile_shader(many(6) + kernel("o[i] = nosuch;"))


def test_few_kernels_are_one_library(own_cache: Path) -> None:
    library = host.compile_shader(many(3))
    assert libraries(own_cache) == 1
    out = torch.zeros(1)
    library.f2(out)
    library.f1(out)
    assert libraries(own_cache) == 1


def count_compilers(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    calls: list[object] = []
    real = subprocess.run

    def run(*args: object, **kwargs: object) -> object:
        calls.append(args)
        return real(*args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "run", run)
    return calls


def test_the_disk_cache_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    out = torch.zeros(1)
    host.compile_shader(many(2)).f1(out)
    host.compile_shader(many(7)).f6(out)
    host.clear_memory()
    calls = count_compilers(monkeypatch)
    host.compile_shader(many(2)).f1(out)
    host.compile_shader(many(7)).f6(out)
    assert out.item() == 6
    assert calls == []


def test_the_key_holds_the_numerics_and_the_text() -> None:
    keys = {
        build.Build(build.Source(text, mode, build.default_include_dirs())).key
        for text in (many(1), many(2))
        for mode in ("apple", "ieee")
    }
    assert len(keys) == 4


def test_the_key_holds_every_file_of_the_host_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte more in any header or module, and kernels are compiled anew."""
    room = tmp_path / "host"
    shutil.copytree(build.ROOM, room, ignore=shutil.ignore_patterns("__pycache__"))
    copied = sorted(path for path in room.rglob("*") if path.is_file())
    assert build.room_files(room) == copied
    assert {"rewrite.py", "function_constants.py", "elementary.h", "metal_stdlib"} <= {path.name for path in copied}
    monkeypatch.setattr(build, "ROOM", room)

    def key() -> str:
        build._version.cache_clear()
        return build.Build(build.Source(many(1), "apple", build.default_include_dirs())).key

    try:
        keys = [key()]
        for path in copied:
            whole = path.read_bytes()
            path.write_bytes(whole + b"\n")
            keys.append(key())
            path.write_bytes(whole)
        assert len(set(keys)) == len(copied) + 1
        assert key() == keys[0]
    finally:
        build._version.cache_clear()


@pytest.mark.parametrize("damage", ["library", "manifest", "both", "sums"])
def test_damaged_entries_are_built_again(own_cache: Path, damage: str) -> None:
    out = torch.zeros(1)
    host.compile_shader(many(2)).f1(out)
    host.clear_memory()
    patterns = {"library": ["*.so", "*.dylib"], "manifest": ["*.json"], "both": ["*.[sjd]*"], "sums": ["*.sum"]}
    for pattern in patterns[damage]:
        for path in own_cache.glob(pattern):
            data = path.read_bytes()
            path.unlink()  # the loaded library stays what it is
            path.write_bytes(data[: len(data) // 2] + b"\0garbage")
    out.zero_()
    host.compile_shader(many(2)).f1(out)
    assert out.item() == 1


def test_an_evicted_library_is_built_again(own_cache: Path) -> None:
    library = host.compile_shader(many(7))
    default_cache().clear()
    out = torch.zeros(1)
    library.f3(out)
    assert out.item() == 3


def test_concurrent_first_calls_compile_once(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host.compile_shader(many(1))  # finds the compiler
    calls = count_compilers(monkeypatch)
    results: list[float] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        out = torch.zeros(1)
        host.compile_shader(many(2)).f1(out)
        results.append(out.item())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1.0] * 8
    assert len(calls) == 3  # preprocess, compile, link


def test_concurrent_launches_of_one_kernel() -> None:
    library = host.compile_shader(kernel("o[i] = a[i] + 1;"))
    failures: list[int] = []

    def work(seed: int) -> None:
        a = torch.full((5000,), float(seed))
        out = torch.zeros(5000)
        for _ in range(50):
            library.f(out, a)
            if not torch.equal(out, a + 1):
                failures.append(seed)
            out.zero_()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def in_another_process(queue: multiprocessing.queues.Queue[float]) -> None:
    out = torch.zeros(200_000)
    host.compile_shader(many(3)).f2(out)
    queue.put(out.mean().item())


def test_processes_share_a_cache(own_cache: Path) -> None:
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    processes = [context.Process(target=in_another_process, args=(queue,)) for _ in range(3)]
    for process in processes:
        process.start()
    assert [queue.get(timeout=120) for _ in processes] == [2.0] * 3
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert not list(own_cache.glob("tmp-*"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_can_launch_a_large_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    library = host.compile_shader(many(1))
    big = torch.ones(1 << 18)
    library.f0(big)  # the parent's pool exists now
    big.fill_(1)
    child = os.fork()
    if child == 0:
        library.f0(big)
        os._exit(0 if not big.numpy().any() else 1)  # not by torch: OpenMP does not survive a fork
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_source_has_to_be_text() -> None:
    with pytest.raises(TypeError, match="source must be a str, not bytes"):
        host.compile_shader(b"kernel")  # type: ignore[arg-type]


def test_a_library_without_kernels_is_only_checked() -> None:
    assert dir(host.compile_shader(HEAD)) == []
