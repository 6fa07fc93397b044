"""The Metal text: the required one for atan2, to the token; parentheses, conversions and literals; determinism."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import functors
import numpy as np
import pytest
import toolbox
import torch
from clang_format import clang_format
from hypothesis import given, settings
from hypothesis import strategies as st

import pymetal
from examples.atan2 import atan2
from pymetal.codegen.constants import literal
from pymetal.runtime.operation import metal_text

ATAN2 = """\
struct atan2_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(precise::atan2(float(a), float(b)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T a, const T b) {
    return precise::atan2(float(a), float(b));
  }
};
"""


def without_comments(text: str) -> str:
    return re.sub(r"^\s*//[^\n]*\n", "", text, flags=re.MULTILINE)


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", without_comments(text))


class TestAtan2:
    def test_functor(self) -> None:
        assert tokens(atan2.functor_source) == tokens(ATAN2)

    def test_layout(self) -> None:
        """PyTorch's clang-format leaves it as upstream would have it."""
        assert without_comments(clang_format(atan2.functor_source)) == ATAN2
        assert without_comments(atan2.functor_source) == ATAN2

    def test_registrations(self) -> None:
        lines = [line for line in atan2.metal_source.splitlines() if line.startswith("REGISTER_")]
        assert lines == ["REGISTER_FLOAT_BINARY_OP(atan2);", "REGISTER_INT2FLOAT_BINARY_OP(atan2);"]

    def test_helpers_are_defined_under_guards(self) -> None:
        for name in ("REGISTER_FLOAT_BINARY_OP", "REGISTER_INT2FLOAT_BINARY_OP"):
            assert re.search(rf"#ifndef {name}\n#define {name}\(NAME\)[^#]*\n#endif\n", atan2.metal_source)

    def test_what_is_tested_is_what_is_sent(self) -> None:
        """The functor's text is the same, character for character, in the file and in what a call compiles."""
        x = torch.ones(2)
        assert atan2.functor_source in atan2.metal_source
        assert atan2.functor_source in atan2.jit_source(x, x)
        assert atan2.functor_source in atan2.jit_source(x, x.int())


@pytest.mark.parametrize("functor", functors.ALL, ids=lambda f: f.name)
def test_layout_needs_no_more_than_line_breaks(functor: pymetal.Functor) -> None:
    """clang-format moves tokens to other lines, and changes nothing else of a functor."""
    formatted = clang_format(functor.functor_source)
    assert tokens(formatted) == tokens(functor.functor_source)
    if all(len(line) <= 80 for line in functor.functor_source.splitlines()):
        assert formatted == functor.functor_source


def test_ascii() -> None:
    """`torch.mps.compile_shader` makes an ASCII string of its source."""
    text = metal_text([*functors.ALL, atan2])
    assert text.isascii()
    assert functors.reserved.jit_source(torch.ones(1), torch.ones(1)).isascii()
    assert functors.reserved.doc.endswith("é, ß and → are not ASCII.")


def test_deterministic() -> None:
    """The same bytes from every process, whatever the order of its sets."""
    code = """
import sys, torch, functors
from pymetal.runtime.operation import metal_text
sys.stdout.write(metal_text(functors.ALL))
for f in functors.ALL:
    scalars = {"scale": 2} if f.name == "affine" else {}
    x = torch.ones(2, dtype=f.ir.domain[0].torch)
    sys.stdout.write(f.jit_source(*[x] * f.arity.inputs, **scalars))
"""
    path = os.pathsep.join([str(Path(functors.__file__).parent), str(Path(__file__).parents[2])])
    outputs = set()
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        outputs.add(
            subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment).stdout
        )
    assert len(outputs) == 1
    assert outputs.pop().startswith(metal_text(functors.ALL).encode())


def test_includes_what_it_uses(tmp_path: Path) -> None:
    text = "@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return {}\n"
    plain = toolbox.load(tmp_path, text.format("metal.exp(x)")).f
    special = toolbox.load(tmp_path, text.format("metal.c10.erf(x)")).f
    assert "special_math" not in plain.metal_source
    assert "#include <c10/metal/special_math.h>\n" in special.metal_source
    assert "#include <c10/metal/special_math.h>\n" in special.jit_source(torch.ones(1))
    assert "#include <c10/metal/indexing.h>\n" not in special.jit_source(torch.ones(1))


# --- expressions -----------------------------------------------------------------------------------------------------

# An expression of floats a, b, c, and its text.
EXPRESSIONS = {
    "a - (b - c)": "a - (b - c)",
    "(a - b) - c": "a - b - c",
    "a * (b * c)": "a * (b * c)",
    "(a + b) * c": "(a + b) * c",
    "a + (b * c)": "a + b * c",
    "a / (b * c)": "a / (b * c)",
    "-(-a)": "-(-a)",
    "-(a + b)": "-(a + b)",
    "(-a) * b": "-a * b",
    "a - -b": "a - -b",
    "a - -1.5": "a - -1.5f",
    "+a": "a",
    "a + 1": "a + 1.0f",
    "1 / a": "1.0f / a",
    "a * True": "a * 1.0f",
    "2 * 3 + a": "6.0f + a",
    "7 / 2 + a": "3.5f + a",
    "a if a < b else b": "a < b ? a : b",
    "a if a < b else b if b < c else c": "a < b ? a : b < c ? b : c",
    "(a if a < b else b) + c": "(a < b ? a : b) + c",
    "(a if a < b else b) if b < c else c": "b < c ? (a < b ? a : b) : c",
    "a if a < b < c else b": "a < b && b < c ? a : b",
    "a if a < b or b < c and c < a else b": "a < b || (b < c && c < a) ? a : b",
    "a if (a < b or b < c) and c < a else b": "(a < b || b < c) && c < a ? a : b",
    "a if not a < b else b": "!(a < b) ? a : b",
    "a if not (a < b or b < c) else b": "!(a < b || b < c) ? a : b",
    "a if (a < b) == (b < c) else b": "(a < b) == (b < c) ? a : b",
    "metal.precise.exp(a + b)": "precise::exp(a + b)",
    "metal.fast.exp(a)": "fast::exp(a)",
    "math.exp(a)": "precise::exp(a)",
    "metal.fma(a, b, c)": "metal::fma(a, b, c)",
    "float(a)": "a",
    "pymetal.float16(a) + b": "float(half(a)) + b",
    "pymetal.bfloat16(pymetal.float16(a)) + b": "float(bfloat(float(half(a)))) + b",
    "pymetal.int64(a) + b": "float(long(a)) + b",
    "a * math.inf": "a * INFINITY",
    "a * -math.inf": "a * -INFINITY",
    "a * math.nan": "a * NAN",
    "a + 1e-10": "a + 1e-10f",
    "a + 123456789": "a + 123456790.0f",
    "a + 1e300": "a + INFINITY",
    "a + 1e-300": "a + 0.0f",
}


def test_expressions(tmp_path: Path) -> None:
    body = (  # integers, so that the floats are no template parameter
        "@pymetal.ternary(promotion='int_to_float', dtypes=torch.int32)\ndef f{}(x: T, y: T, z: T) -> T:\n"
        "    a = float(x)\n    b = float(y)\n    c = float(z)\n    return {}\n\n"
    )
    module = toolbox.load(tmp_path, "".join(body.format(i, e) for i, e in enumerate(EXPRESSIONS)))
    texts = [getattr(module, f"f{i}").functor_source for i in range(len(EXPRESSIONS))]
    printed = [found[1] for text in texts if (found := re.search(r"return (.*);", text))]
    assert dict(zip(EXPRESSIONS, printed, strict=True)) == EXPRESSIONS


@pytest.mark.host
def test_halves_meet_through_float(tmp_path: Path) -> None:
    """Metal converts neither half to bfloat nor back."""
    module = toolbox.load(
        tmp_path,
        "@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return T(pymetal.bfloat16(x) * 2)\n"
        "@pymetal.unary(dtypes='floating')\ndef g(x: T) -> T:\n    return T(pymetal.float16(x) * 2)\n",
    )
    with toolbox.batch("ieee"):
        runs = [(f, toolbox.operands(d, 1)) for f in (module.f, module.g) for d in toolbox.FLOATS]
        for f, inputs in runs:
            f.jit_source(*inputs)
        for f, inputs in runs:
            through = torch.bfloat16 if f is module.f else torch.float16
            expected = (inputs[0].float().to(through) * 2).float().to(inputs[0].dtype)
            toolbox.assert_equal(f(*inputs), expected, inputs)


# --- literals --------------------------------------------------------------------------------------------------------


@given(st.floats(allow_nan=False, width=32))
@settings(max_examples=500, deadline=None)
def test_float_literals_read_back(value: float) -> None:
    text = literal(value)
    if math.isinf(value):
        assert text == ("INFINITY" if value > 0 else "-INFINITY")
        return
    assert re.fullmatch(r"-?\d+(\.\d+)?(e[+-]\d+)?f", text), text
    assert "." in text or "e" in text, text  # `1f` is no number in C++
    assert np.float32(text[:-1]).tobytes() == np.float32(value).tobytes()


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=300, deadline=None)
def test_doubles_round_once(value: float) -> None:
    text = literal(value)
    with np.errstate(over="ignore"):
        expected = np.float32(value)
    assert text.endswith("INFINITY") if np.isinf(expected) else np.float32(text[:-1]) == expected


@pytest.mark.host
def test_literals_compile_to_their_values() -> None:
    """Through the compiler: floats to the bit, and integers, whose lowest has no literal of its own."""
    floats = [x for x in toolbox.edges(torch.float32).tolist() if not math.isnan(x)]
    floats += toolbox.random(torch.float32, 300).nan_to_num(1.0).tolist()
    integers = [0, 1, -1, 2**31 - 1, -(2**31), 2**31, -(2**31) - 1, 2**63 - 1, -(2**63), -(2**63) + 1, 10**15]
    source = "#include <metal_stdlib>\nusing namespace metal;\nkernel void floats(device float* out [[buffer(0)]]) {\n"
    source += "".join(f"  out[{i}] = {literal(x)};\n" for i, x in enumerate(floats))
    source += "}\nkernel void integers(device long* out [[buffer(0)]]) {\n"
    source += "".join(f"  out[{i}] = {literal(x)};\n" for i, x in enumerate(integers)) + "}\n"
    library = pymetal.host.compile_shader(source, numerics="ieee")
    result = torch.empty(len(floats))
    library.floats(result, threads=1)
    expected = torch.tensor(floats)
    assert torch.equal(result.view(torch.int32), expected.view(torch.int32))
    whole = torch.empty(len(integers), dtype=torch.int64)
    library.integers(whole, threads=1)
    assert whole.tolist() == integers
