"""Wrong input of every kind ends in pymetal's own errors: functors' text, Metal text, the yaml, cache files, kernel
arguments.

Each property runs the number of examples that stands beside it, times PYMETAL_FUZZ (default 1).
"""

from __future__ import annotations

import ast
import contextlib
import os
import random
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import toolbox
import torch
import trees
from hypothesis import strategies as st

import pymetal
from pymetal import host
from pymetal.errors import PyMetalError
from pymetal.host.cache import Cache
from pymetal.host.restrictions import lint
from pymetal.host.rewrite import rewrite
from pymetal.host.translate import translate
from pymetal.upstream import native_functions

TIMES = int(os.environ.get("PYMETAL_FUZZ", "1"))
ROOT = Path(__file__).parents[2]


def examples(count: int) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=count * TIMES, suppress_health_check=list(hypothesis.HealthCheck), database=None
    )


# --- the parser and the checker --------------------------------------------------------------------------------------

EXPRESSIONS = """\
a; x; 1; -1; 2.5; True; None; 'text'; f'{x}'; 1j; 10 ** 400; 1e999; [1]; (a, b); {1: 2}; x[0]; x.real;
x.imag.real; lambda y: y; metal; metal.exp; metal.exp(x, x); metal.fast.exp(x); math.isnan(x); math.nan; abs;
abs(x); max(x, 1, 2.5); int(x); float(x); T(x); pymetal.int64(x); metal.as_type(x, pymetal.int32);
x if x else 1; not x; ~x; x << 1; x @ x; x in x; x is None; a < x < b; x and 1; x // 0; x % 0.0; 0 ** -1;
(y := x); metal.nothing(x); nothing; x(1); print(x); range(3); *x; await_; metal.c10.igamma(x, x);
complex(x, x); x.conjugate(); metal.polevl(x, (1.0, 2)); sum(x); 1 // 0"""
STATEMENTS = """\
x = 1; x, y = 1, 2; x += 1.5; x: int = 1; return x; return; pass; assert x > 0; del x; import os; global x;
while x: x = 0; for i in range(3): x = x + i; for i in x: pass; break; continue; raise ValueError;
f = lambda: 0; x.y = 1; x[0] = 1; x = y = 2; for i in range(10, 0, -2): return i; while True: break;
for _ in pymetal.static_range(3): x = x * x; x = None; a = T; T = 1"""


def _pool(text: str, mode: str) -> list[str]:
    found = []
    for part in (p.strip() for p in text.replace("\n", " ").split(";")):
        try:
            compile(part, "pool", mode)
        except SyntaxError:
            if part not in ("return x", "return", "break", "continue", "for i in range(10, 0, -2): return i"):
                continue
        found.append(part)
    return found


POOL, STATEMENT_POOL = _pool(EXPRESSIONS, "eval"), _pool(STATEMENTS, "exec")
SEEDS = [p.read_text(encoding="utf-8") for p in sorted((ROOT / "examples").glob("*.py")) if p.stem != "__init__"]


class _Mutation(ast.NodeTransformer):
    """Replaces some expressions, puts in some statements."""

    def __init__(self, generator: random.Random, rate: float) -> None:
        self.generator = generator
        self.rate = rate

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        is_value = isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if is_value and self.generator.random() < self.rate:
            return ast.parse(self.generator.choice(POOL), mode="eval").body
        body = getattr(node, "body", None)
        if isinstance(node, ast.stmt) and isinstance(body, list) and self.generator.random() < 4 * self.rate:
            new = ast.parse(self.generator.choice(STATEMENT_POOL)).body
            body[(at := self.generator.randrange(len(body) + 1)) : at] = new
        return node


def mutated(source: str, seed: int) -> str:
    """A file with some parts of its first functor replaced by others; Python can parse it."""
    tree = ast.parse(source)
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.decorator_list]
    function = functions[0]
    generator = random.Random(seed)
    for part in function.body:
        _Mutation(generator, 0.08).visit(part)
    if generator.random() < 0.3:
        new = ast.parse(generator.choice(STATEMENT_POOL)).body
        function.body[(at := generator.randrange(len(function.body) + 1)) : at] = new
    head = source[: source.index("@pymetal")]
    return f"{head}{ast.unparse(ast.fix_missing_locations(function))}\n"


@examples(300)
@hypothesis.given(source=st.sampled_from(SEEDS), seed=st.integers(0, 1 << 32))
def test_functors(source: str, seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """300 examples: a file is Python's to refuse, or pymetal's with a message, or it is a functor whose text prints."""
    text = mutated(source, seed)
    try:
        module = toolbox.load(tmp_path_factory.getbasetemp(), text, prelude="")
    except PyMetalError:
        return
    except SyntaxError:
        return  # Python's own: `break` outside a loop
    for value in vars(module).values():
        if isinstance(value, pymetal.Functor):
            assert value.metal_source.isascii()


# --- the yaml editor -------------------------------------------------------------------------------------------------


@examples(400)
@hypothesis.given(
    cuts=st.lists(
        st.tuples(st.integers(0, 1 << 16), st.integers(0, 60), st.text("ab: ,#-\n\t'\"|>MPSCU", max_size=12))
    ),
    row=st.sampled_from(["eq.Tensor", "eq.out", "atan2", "mul.Tensor", "nothing"]),
)
def test_yaml(cuts: list[tuple[int, int, str]], row: str) -> None:
    """400 examples: a broken file is edited in one line or refused; twice is as once."""
    text = trees.YAML
    for at, length, new in cuts:
        place = at % max(1, len(text))
        text = text[:place] + new + text[place + length :]
    try:
        once = native_functions.share_cpu_kernel(text, [row])
    except PyMetalError:
        return
    assert native_functions.share_cpu_kernel(once, [row]) == once
    changed = [line for line in once.split("\n") if line not in set(text.split("\n"))]
    assert len(changed) <= 2


# --- the cache -------------------------------------------------------------------------------------------------------


@examples(200)
@hypothesis.given(data=st.binary(max_size=200), total=st.binary(max_size=80), keep=st.booleans())
def test_cache_entries(data: bytes, total: bytes, keep: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    """200 examples: what somebody else wrote into the folder does not exist, or is what was put there."""
    cache = Cache(tmp_path_factory.getbasetemp() / "fuzzed-cache")
    key = cache.key("entry")
    value = {"kernels": [1, 2], "name": "x"}
    cache.put_json(key, value)
    entry, checksum = cache._paths(key, "json")
    entry.write_bytes(data)
    if not keep:
        checksum.write_bytes(total)
    assert cache.get_json(key) in (None, value)
    cache.put_json(key, value)
    assert cache.get_json(key) == value


# --- Metal text that the host device reads ---------------------------------------------------------------------------

METAL = """using namespace metal;
template <typename T> struct twice { inline T operator()(const T x) { return x * T(2.0h); } };
template <typename T, typename F>
kernel void each(device T* out [[buffer(0)]], device const T* x [[buffer(1)]], constant float& s [[buffer(2)]],
                 constant array<long, 4>& n [[buffer(3)]], uint2 i [[thread_position_in_grid]]) {
  out[i.x] = F()(x[i.x]) * 1.5f + s; // one
}
template [[host_name("each_float")]] kernel void each<float, twice<float>>(
    device float* out [[buffer(0)]], device const float* x [[buffer(1)]], constant float& s [[buffer(2)]],
    constant array<long, 4>& n [[buffer(3)]], uint2 i [[thread_position_in_grid]]);
[[host_name("g")]] [[kernel]] void g(device int* o, uint i [[thread_position_in_grid]]) { o[i] = int(i); }
"""
PIECES = [
    "kernel", "void", "template", "<", ">", "(", ")", "{", "}", "[[", "]]", "[[kernel]]", "buffer(0)", "buffer(", ";",
    ",", 'host_name("f")', 'host_name("', "*", "&", "device", "constant", "uint i [[thread_position_in_grid]]", "1.5h",
    "0x1p", "::", "metal", '\n# 3 "x"\n', '"', "'", "//", "/*", "decltype(f<1>)", "operator()", "[[buffer(-1)]]",
    "struct", "return", "[[buffer(99999999999999999999)]]", "\x00", "\u00e9", "\\\n",
]  # fmt: skip


@examples(200)
@hypothesis.given(
    cuts=st.lists(
        st.tuples(st.integers(0, 1 << 16), st.integers(0, 20), st.lists(st.sampled_from(PIECES), max_size=3)),
        max_size=6,
    )
)
def test_metal_text(cuts: list[tuple[int, int, list[str]]]) -> None:
    """200 examples: a broken text is read, for the compiler to refuse, or it is refused with a message."""
    text = METAL
    for at, length, new in cuts:
        place = at % max(1, len(text))
        text = text[:place] + " ".join(new) + text[place + length :]
    preprocessed = f'# 1 "program_source"\n{text}'
    with contextlib.suppress(PyMetalError):
        lint(preprocessed)
        program = translate(rewrite(preprocessed))
        assert all(kernel.name for kernel in program.kernels)
        program.render()


# --- the arguments of a kernel ---------------------------------------------------------------------------------------

SOURCE = """#include <metal_stdlib>
kernel void f(device float* out [[buffer(0)]], device const float* x [[buffer(1)]], constant float& s [[buffer(2)]],
              constant long* n [[buffer(3)]], uint i [[thread_position_in_grid]]) {
  out[i] = x[i] * s + float(n[0]);
}
"""
_values: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-(1 << 70), 1 << 70), st.floats(), st.text(max_size=3), st.complex_numbers(),
    st.binary(max_size=4), st.lists(st.one_of(st.integers(-5, 5), st.floats(), st.text(max_size=1)), max_size=4),
    st.sampled_from([torch.float32, torch.zeros(8), torch.zeros(8).double(), torch.tensor(1.0),
                     torch.zeros(8, 8).to_sparse(), torch.zeros(8, device="meta"), {}, object()]),
)  # fmt: skip
_casts = st.one_of(
    st.none(), st.sampled_from(["fp16", "int32", "bf16", "x"]), st.dictionaries(st.integers(-2, 6), st.just("fp16"))
)
_grids = st.one_of(
    st.none(), st.integers(-2, 8), st.lists(st.integers(-1, 3), max_size=4), st.floats(), st.text(max_size=2)
)


@pytest.fixture(scope="module")
def kernel() -> Any:
    return host.compile_shader(SOURCE).f


@examples(500)
@hypothesis.given(data=st.data())
def test_kernel_arguments(kernel: Any, data: st.DataObject) -> None:
    """500 examples: the kernel runs, or says what it cannot take; it never writes where it may not."""
    good: list[Any] = [torch.zeros(64), torch.ones(64), 2.0, [3]]
    for at in data.draw(st.lists(st.integers(0, 3), max_size=2)):
        # Memory that is smaller than the grid is the caller's to avoid, as on a GPU.
        good[at] = data.draw(_values.filter(lambda v: not isinstance(v, torch.Tensor) or v.numel() > 7 or v.dim() == 0))
    if data.draw(st.integers(0, 9)) == 0:
        good = good[: data.draw(st.integers(0, 3))]
    threads, groups = data.draw(_grids), data.draw(st.one_of(st.none(), _grids))
    if threads is None:
        threads = 8
    if any(isinstance(v, torch.Tensor) and v.dim() == 0 for v in good[:2]):
        threads = 1
    with contextlib.suppress(PyMetalError, ValueError, RuntimeError, TypeError, SyntaxError):
        kernel(*good, threads=threads, group_size=groups, arg_casts=data.draw(_casts))
