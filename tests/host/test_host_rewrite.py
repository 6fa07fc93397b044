"""The token rules that turn Metal into C++, on text alone; and constructs of the language that have to survive them."""

from __future__ import annotations

import pytest
import torch
from host_helper import evaluate

from pymetal.errors import MetalSyntaxError
from pymetal.host.rewrite import float_literal, match_bracket, place, rewrite
from pymetal.host.signature import parse_parameters, split_list
from pymetal.host.translate import translate


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYMETAL_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "host-cache"))


@pytest.mark.parametrize(
    ("metal", "cpp"),
    [
        ("1.0", "1.0f"), ("1.", "1.f"), (".5", ".5f"), ("1e3", "1e3f"), ("1e-3", "1e-3f"), ("1.5E+2", "1.5E+2f"),
        ("1.0f", "1.0f"), ("1.F", "1.F"), ("2.5h", "half(2.5)"), ("2.5bf", "bfloat(2.5f)"), ("0x1.8p3", "0x1.8p3f"),
        ("0x1p-126f", "0x1p-126f"), ("0xFF", "0xFF"), ("0xBE5", "0xBE5"), ("10", "10"), ("10ul", "10ul"),
    ],
)  # fmt: skip
def test_literals(metal: str, cpp: str) -> None:
    assert float_literal(metal) == cpp
    assert rewrite(f"x = {metal};") == f"x = {cpp};"


@pytest.mark.parametrize(
    ("metal", "cpp"),
    [
        ("a / b", "a * pymetal_div /  b"),
        ("a % b", "a * pymetal_div %  b"),
        ("a /= b;", "a ->* pymetal_assign /=  b;"),
        ("a << b", "a << pymetal_shift <<  b"),
        ("a >> b;", "a >> pymetal_shift >>  b;"),
        ("a / 2", "a / 2"),
        ("a / 2.5", "a / 2.5f"),
        ("a % 10u)", "a % 10u)"),
        ("a /= 4;", "a /= 4;"),
        ("a << 3;", "a << 3;"),
        ("a << 40;", "a << pymetal_shift <<  40;"),
        ("a / 0", "a * pymetal_div /  0"),
        ("vec<vec<int>> x;", "vec<vec<int>> x;"),
        ("f<g<h<int>>>(x)", "f<g<h<int>>>(x)"),
        ("enable_if_t<is_same_v<T, int>>* = nullptr", "enable_if_t<is_same_v<T, int>>* = nullptr"),
        ("T operator/(T a, T b)", "T operator/(T a, T b)"),
        ("T operator >> (T a)", "T operator >> (T a)"),
        ('f("a / b 1.0")', 'f("a / b 1.0")'),
        ("c = '/';", "c = '/';"),
        ('# 12 "a/b 1.0.h" 1', '# 12 "a/b 1.0.h" 1'),
        ("v.xy", "v.template swizzle<0, 1>()"),
        ("v.xy = w", "v.template swizzle_ref<0, 1>() = w"),
        ("v.xy == w", "v.template swizzle<0, 1>() == w"),
        ("p->rgb *= w", "p->template swizzle_ref<0, 1, 2>() *= w"),
        ("v.x + v.w", "v.x + v.w"),
        ("v.xyzq", "v.xyzq"),
        ("v.xy()", "v.xy()"),
        ("struct s { float xy; }; p.xy", "struct s { float xy; }; p.xy"),
        ("float2 xy = v.xy;", "float2 xy = v.template swizzle<0, 1>();"),
        ("x1.5f", "x1.5f"),
    ],
)
def test_tokens(metal: str, cpp: str) -> None:
    assert rewrite(metal) == cpp


def test_no_line_is_added_or_lost() -> None:
    text = 'a = 1.0;\nb /\n c;\n# 5 "f"\nv.xy\n  = w;\n'
    assert rewrite(text).count("\n") == text.count("\n")


def test_lists_and_brackets() -> None:
    assert split_list("a<b, c> d, e(f, g), h[i, j]") == ["a<b, c> d", "e(f, g)", "h[i, j]"]
    assert split_list("  ") == []
    text = 'f(a, "x)", (b), g<c>)rest'
    assert text[match_bracket(text, 1) :] == "rest"
    assert place('# 7 "f.metal" 2\nline\nhere', 23) == "f.metal:8"
    with pytest.raises(MetalSyntaxError, match="program_source:2: error: unbalanced"):
        match_bracket("\n(a", 1)


def test_parameters() -> None:
    first, second, third = parse_parameters(
        "device float* out [[buffer(3)]], constant vec<T, 4> & v, uint2 at [[ thread_position_in_grid ]]", "k"
    )
    assert (first.name, first.source, first.declaration) == ("out", 3, "device float* out")
    assert (second.name, second.source) == ("v", None)
    assert (third.name, third.source) == ("at", -1)


def test_program_is_rendered_for_some_or_all_kernels() -> None:
    # In time, whatever the brackets: each pair once was read in two ways.
    translate(f"kernel void f(constant {'<a> ' * 40}* o) {{ }}")
    program = translate("kernel void f(device int* o) { }\nkernel void g(device int* o) { }\nint tail;\n")
    assert [k.name for k in program.kernels] == ["f", "g"]
    assert "pymetal_run_1" in program.render()
    only = program.render(["f"])
    assert "pymetal_run_0" in only
    assert "pymetal_run_1" not in only
    assert only.endswith("int tail;\n")


@pytest.mark.parametrize(
    ("parameters", "dense"),
    [
        ("device float* o, constant float* a, uint i [[thread_position_in_grid]]", True),
        ("device void* o, uint i [[thread_position_in_grid]]", False),
        ("device float* o, constant long* strides, uint i [[thread_position_in_grid]]", False),
        ("device float* o, constant long* values, uint i [[thread_position_in_grid]]", True),
        ("device float* o, constant long& size, uint i [[thread_position_in_grid]]", True),
    ],
)
def test_which_loops_are_vectorised(parameters: str, dense: bool) -> None:
    assert translate(f"kernel void f({parameters}) {{ }}").kernels[0].is_dense is dense


CONSTRUCTS = {
    "constant template variable": (
        "template <typename T> constexpr constant T third = T(1) / T(3);",
        "third<float> * a",
    ),
    "enum class and switch": (
        "enum class mode : int { one = 1, two = 2 };\n"
        "float g(mode m, float x) { switch (m) { case mode::one: return x; case mode::two: return 2 * x; } return 0; }",
        "g(static_cast<mode>(2), a) / 6",
    ),
    "struct with methods and static constants": (
        "struct box { static constexpr constant float scale = 0.5; float v; float get() const { return v * scale; }\n"
        "  thread box& add(float x) thread { v += x; return *this; } };",
        "box{a}.get() * 2.0 / 3.0",
    ),
    "function template with array reference": (
        "template <typename T, int N> T sum(constant T (&c)[N]) {\n"
        "  T s = 0; for (int k = 0; k < N; ++k) { s += c[k]; } return s; }\n"
        "constant float parts[2] = {0.25, 0.75};",
        "sum(parts) * a / 3",
    ),
    "pointers to thread memory": (
        "void fill(thread float* p, uint n) { for (uint k = 0; k < n; ++k) { p[k] = 1.0 / 6; } }\n"
        "float g(float x) { float p[2]; fill(p, 2); return (p[0] + p[1]) * x; }",
        "g(a)",
    ),
    "out parameter": (
        "void split(float x, thread float& out) { out = x / 3; }\nfloat g(float x) { float r; split(x, r); return r; }",
        "g(a)",
    ),
    "functor passed as a type": (
        "struct third_op { template <typename T> T operator()(T x) { return x / T(3); } };\n"
        "template <typename F> float apply(float x) { F f; return f(x); }",
        "apply<third_op>(a)",
    ),
    "macro with nested templates": ("#define AS(T, x) static_cast<vec<T, 2>>(x)", "AS(half, float2(a)).x * 0 + a / 3"),
    "loops, ternaries and compound assignment": (
        "float g(float x) { float s = 0;\n"
        "  for (int k = 8; k > 0; k >>= 1) { s += x * (k & 1 ? 1 : 0); } s *= 2; s /= 6; return s; }",
        "g(a)",
    ),
    "using and typedef": ("using scalar = float; typedef vec<scalar, 2> pair2;", "pair2(a, 3).x / pair2(a, 3).y"),
    "metal::array": ("float g(float x) { array<float, 3> v = {x, x, x}; return v[1] / v.size(); }", "g(a)"),
    "default template argument": ("template <typename T, typename U = float> U g(T x) { return U(x) / 3; }", "g(a)"),
    "as_type": ("", "as_type<float>(as_type<uint>(a)) / 3"),
    "comma and address of": (
        "float g(thread const float* p) { return *p / 3; }\nfloat h(float x) { float y = x; return g(&y); }",
        "h(a)",
    ),
    "pragma unroll": (
        "float g(float x) { float s = 0;\n#pragma unroll\n for (int k = 0; k < 3; ++k) { s += x / 9; } return s; }",
        "g(a)",
    ),
    "names that only look like forbidden words": (
        "struct normal { float mean; float std; float deleted; };\n"
        "float g(float std, device\n  float* unused) { normal n = {0, std, 1}; return n.std / 3; }",
        "g(a, nullptr)",
    ),
    "fallthrough and attributes": ("[[maybe_unused]] inline float g(float x) { return x / 3; }", "g(a)"),
}


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_constructs_of_the_language(name: str) -> None:
    preamble, expression = CONSTRUCTS[name]
    a = torch.tensor([3.0, -6.0, 0.5])
    got = evaluate(expression, a, output=torch.float32, preamble=preamble)
    torch.testing.assert_close(got, a / 3)


def test_attributes_before_a_kernel_without_parameters() -> None:
    """The scan goes on behind the keyword, not at the attribute again."""
    assert translate('# 1 "program_source"\n[[some::attribute]] kernel void f;\n').kernels == ()
