"""The Metal text of chosen functors, for readers; each text is then compiled, and its registered kernels are run.

python tests/test_golden.py     # writes the files anew; read the difference before you keep it
"""

from __future__ import annotations

from pathlib import Path

import functors
import pytest
import toolbox
import torch
from clang_format import assert_formatted_text

import pymetal
from examples.addcmul import addcmul
from examples.atan2 import atan2
from examples.gelu_tanh import gelu_tanh
from examples.logaddexp import logaddexp
from examples.smooth_l1 import smooth_l1
from pymetal.arity import BINARY, installed_release
from pymetal.codegen.metal_file import required_release
from pymetal.runtime.operation import metal_text

GOLDEN = Path(__file__).parent / "golden"
FUNCTORS = {f.name: f for f in (*functors.ALL, addcmul, atan2, gelu_tanh, logaddexp, smooth_l1)}
FORMS = ("dense_scalar", "dense")
INSTALLED = installed_release()

# What headers older than a macro lack. The static_assert is what the real macros begin with.
TERNARY_ALPHA = """
#ifndef REGISTER_TERNARY_ALPHA_OP
#define REGISTER_TERNARY_ALPHA_OP(NAME, I, A, O) \\
  static_assert(::metal::is_same_v<O, ::c10::metal::result_of<NAME##_functor, I, I, I, A>>, "result")
#endif
"""


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.metal").read_text(encoding="ascii")


def newest_macros(text: str) -> str:
    """`text` with the macros that the installed torch may be too old for."""
    return text.replace("using namespace metal;\n", f"using namespace metal;\n{TERNARY_ALPHA}", 1)


@pytest.mark.parametrize("name", FUNCTORS)
def test_text(name: str) -> None:
    assert_formatted_text(FUNCTORS[name].metal_source, golden(name))


def test_no_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.metal")} == set(FUNCTORS)


@pytest.mark.host
@pytest.mark.parametrize("name", FUNCTORS)
def test_registered_form_compiles(name: str) -> None:
    """Over the installed `c10/metal/indexing.h`, every registration: its macros assert the functor's result types."""
    functor = FUNCTORS[name]
    library = pymetal.host.compile_shader(newest_macros(golden(name)))
    names = set(dir(library))
    if required_release([functor.entry])[0] > INSTALLED:
        assert names == set()
        return
    for element in functor.ir.domain:
        assert any(n.startswith(f"{name}_dense") and element.metal in n.split("_") for n in names), element


@pytest.mark.host
def test_all_in_one_file() -> None:
    """Beside each other, and under the other set of `using namespace` lines that upstream's files have."""
    text = newest_macros("".join(golden(name) for name in FUNCTORS))
    lines = "using namespace metal;\nusing namespace c10::metal;\n"
    library = pymetal.host.compile_shader(text.replace("using namespace metal;\n", lines))
    assert "atan2_dense_float_long" in dir(library)


@pytest.mark.host
def test_emitted_together() -> None:
    """One file with all functors is the same text, its helper macros defined once."""
    text = metal_text(FUNCTORS.values())
    for name, functor in FUNCTORS.items():
        assert functor.functor_source in text
        assert golden(name).splitlines()[-1] in text
    assert text.count("#define REGISTER_FLOAT_BINARY_OP(") == 1
    library = pymetal.host.compile_shader(newest_macros(text))
    assert "smooth_l1_dense_half_half_float" in dir(library)


# As in upstream's BinaryKernel.metal: the same helpers without guards, and other functors that use them.
UPSTREAM = """
#include <c10/metal/indexing.h>
#include <c10/metal/special_math.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct copysign_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(::metal::copysign(a, b));
  }
  template <typename T, enable_if_t<!is_floating_point_v<T>, bool> = true>
  inline float operator()(const T a, const T b) {
    return ::metal::copysign(static_cast<float>(a), static_cast<float>(b));
  }
};

struct fmax_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(::metal::fmax(float(a), float(b)));
  }
};

#define REGISTER_INTEGER_BINARY_OP(NAME)  \\
  REGISTER_BINARY_OP(NAME, long, long);   \\
  REGISTER_BINARY_OP(NAME, int, int);     \\
  REGISTER_BINARY_OP(NAME, short, short); \\
  REGISTER_BINARY_OP(NAME, uchar, uchar); \\
  REGISTER_BINARY_OP(NAME, char, char);   \\
  REGISTER_BINARY_OP(NAME, bool, bool)

#define REGISTER_INT2FLOAT_BINARY_OP(NAME) \\
  REGISTER_BINARY_OP(NAME, uchar, float);  \\
  REGISTER_BINARY_OP(NAME, char, float);   \\
  REGISTER_BINARY_OP(NAME, short, float);  \\
  REGISTER_BINARY_OP(NAME, int, float);    \\
  REGISTER_BINARY_OP(NAME, long, float);   \\
  REGISTER_BINARY_OP(NAME, bool, float)

#define REGISTER_FLOAT_BINARY_OP(NAME)    \\
  REGISTER_BINARY_OP(NAME, bfloat, bfloat); \\
  REGISTER_BINARY_OP(NAME, float, float); \\
  REGISTER_BINARY_OP(NAME, half, half)

REGISTER_FLOAT_BINARY_OP(copysign);
REGISTER_INT2FLOAT_BINARY_OP(copysign);
REGISTER_FLOAT_BINARY_OP(fmax);
"""


@pytest.mark.host
def test_inside_an_upstream_file() -> None:
    """Functors and registrations stand beside upstream's, whose own helper macros are then used."""
    text = UPSTREAM + "".join(golden(n) for n, f in FUNCTORS.items() if f.arity is BINARY)
    names = dir(pymetal.host.compile_shader(text))
    assert {"copysign_dense_float_int", "atan2_dense_float_int", "reserved_dense_bfloat_bfloat"} <= set(names)


@pytest.mark.host
def test_registered_kernels_compute_what_the_functor_computes() -> None:
    """Kernels of `indexing.h`, found by their upstream names, against the JIT's kernels."""
    chosen = [atan2, logaddexp, *(functors.__dict__[n] for n in ("less", "narrow", "kinds", "log_normal", "clamp"))]
    library = pymetal.host.compile_shader(metal_text(chosen))
    runs = []
    with toolbox.batch():
        for functor in chosen:
            for element in functor.ir.domain[:: 2 if functor is not logaddexp else 1]:
                inputs = toolbox.operands(element.torch, functor.arity.inputs, 50)
                result = {torch.bool: "bool", torch.float32: "float"}.get(functor.reference(*inputs).dtype)
                names = [f"{functor.name}_{form}_{result or element.metal}_{element.metal}" for form in FORMS]
                # A unary `dense` takes four elements a thread from torch 2.13 on, and there is a `dense_scalar` then.
                name = next(n for n in (names if functor.arity.inputs == 1 else names[1:]) if n in dir(library))
                functor.jit_source(*inputs)
                runs.append((functor, name, inputs))
        library.prepare(name for _, name, _ in runs)
        for functor, name, inputs in runs:
            expected = functor(*inputs)
            out = torch.empty_like(expected)
            getattr(library, name)(out, *inputs)
            toolbox.assert_equal(out, expected, inputs)


@pytest.mark.host
def test_registered_scalars_arrive() -> None:
    """Binary alpha kernels take the scalar at buffer 3, in the type that the registration names."""
    x, y = torch.randn(2, 100)
    library = pymetal.host.compile_shader(metal_text([smooth_l1, functors.add_alpha]))
    library.prepare(["smooth_l1_dense_float_float_float", "add_alpha_dense_int_int_int"])
    out, integers = torch.empty_like(x), torch.arange(100, dtype=torch.int32)
    library.smooth_l1_dense_float_float_float(out, x, y, 0.5)
    toolbox.assert_equal(out, smooth_l1(x, y, beta=0.5))
    result = torch.empty_like(integers)
    library.add_alpha_dense_int_int_int(result, integers, integers, -3, arg_casts={3: "int32"})
    toolbox.assert_equal(result, integers * -2)


def main() -> None:
    """Writes the files."""
    for name, functor in FUNCTORS.items():
        (GOLDEN / f"{name}.metal").write_text(functor.metal_source, encoding="ascii")


if __name__ == "__main__":
    main()
