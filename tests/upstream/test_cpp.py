"""Reading C++ as text: strings and comments do not confuse braces, macros expand as a preprocessor expands them."""

from __future__ import annotations

import shutil
import subprocess

import pytest
import trees
from hypothesis import given
from hypothesis import strategies as st

from pymetal.errors import PyMetalError
from pymetal.upstream import cpp
from pymetal.upstream.registration_macros import registrations

SOURCE = r"""
// void commented(int a) {
static void first(const Tensor& self) {
  auto s = "}"; // }
  auto c = '{';
  auto raw = R"METAL(
kernel void k() { unbalanced(
)METAL";
  if (x) {
    call();
  }
}

Tensor& declared(const Tensor& self);

TORCH_IMPL_FUNC(second_out_mps)
(const Tensor& self, const Tensor& out) {
  mps::unary_op(self, out, ^MPSGraphTensor*(MPSGraph* g) { return [g signWithTensor:self name:@"}"]; });
}

std::tuple<Tensor, Tensor> third(
    const Tensor& a,
    std::optional<int64_t> b) {
  return {a, a};
}
"""


def test_functions_end_where_their_braces_do() -> None:
    found = cpp.functions(SOURCE)
    assert [f.name for f in found] == ["first", "second_out_mps", "third"]
    for function in found:
        body = SOURCE[function.body : function.end]
        assert body.startswith("{")
        assert body.endswith("}")
        assert SOURCE[function.end :].startswith("\n")
    assert "return {a, a};" in SOURCE[found[2].start : found[2].end]


def test_brackets_that_are_never_closed() -> None:
    with pytest.raises(PyMetalError, match=r"the '\(' in 'f\(a' is never closed"):
        cpp.closing("f(a", 1)


@given(st.text(st.sampled_from("ab\"'/*\\\n {}()R"), max_size=40))
def test_masking_keeps_every_position(text: str) -> None:
    plain = cpp.masked(text)
    assert len(plain) == len(text)
    assert [i for i, c in enumerate(plain) if c == "\n"] == [i for i, c in enumerate(text) if c == "\n"]
    assert all(a in (b, " ") for a, b in zip(plain, text, strict=True))


def test_arguments_split_outside_of_brackets() -> None:
    assert cpp.split_arguments("a, f(b, c), std::map<int, int>{d, e}, p->q") == [
        "a", "f(b, c)", "std::map<int, int>{d, e}", "p->q",
    ]  # fmt: skip
    assert cpp.split_arguments("") == []


@pytest.mark.skipif(shutil.which("cpp") is None, reason="no C preprocessor")
def test_macros_expand_as_by_a_preprocessor() -> None:
    for text in (trees.BINARY_CPP, trees.UNARY_CPP, trees.UNARY_OPS_MM.replace("^", ""), trees.UNARY_MM):
        source = "\n".join(line for line in text.split("\n") if not line.startswith("#include"))
        done = subprocess.run(
            ["cpp", "-P", "-undef", "-w", "-"], input=source, capture_output=True, text=True, check=True
        )  # fmt: skip
        theirs = "".join(done.stdout.split())
        without_directives = "\n".join(
            line for line in cpp.masked(cpp.expanded(source), strings=False).split("\n") if not line.startswith("#")
        )
        if "#ifndef" in source:  # both branches are read
            continue
        assert "".join(without_directives.split()) == theirs


def test_registrations_expand_through_helpers() -> None:
    text = trees.BINARY_METAL + "REGISTER_INT2FLOAT_BINARY_OP(atan2); REGISTER_BINARY_OP(eq, half2, bool);\n"
    found = {(r.name, r.input, r.output) for r in registrations("x.metal", text)}
    assert found == {
        *((op, t, t) for op in ("hypot", "div_true") for t in ("float", "half", "bfloat")),
        *(("atan2", t, "float") for t in ("long", "int", "short", "uchar", "char", "bool")),
        ("eq", "half2", "bool"),
    }
    line = text.split("\n").index("REGISTER_FLOAT_BINARY_OP(div_true);") + 1
    assert {r.line for r in registrations("x.metal", text) if r.name == "div_true"} == {line}
