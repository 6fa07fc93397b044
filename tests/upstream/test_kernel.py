"""Where a functor and its registrations go in a Metal file: its macros, its guards, its order of things."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
import trees

import pymetal
from pymetal import T, metal
from pymetal.upstream import planner as kernels
from pymetal.upstream.checkout import KERNELS
from pymetal.upstream.placement import Placement

UNARY = f"{KERNELS}/UnaryKernel.metal"
BINARY = f"{KERNELS}/BinaryKernel.metal"
GUARD = "#if __METAL_VERSION__ >= 310\n"
HARDTANH = """\

struct hardtanh_functor {
  template <typename T>
  inline T operator()(const T x) {
    return x;
  }
};

REGISTER_UNARY_OP(hardtanh, float, float);
REGISTER_UNARY_OP(hardtanh, half, half);
#if __METAL_VERSION__ >= 310
REGISTER_UNARY_OP(hardtanh, bfloat, bfloat);
#endif
"""


def with_text(tree: Path, path: str, old: str, new: str) -> None:
    """Changes a file of a tree."""
    before = (tree / path).read_text()
    assert old in before
    (tree / path).write_text(before.replace(old, new))


def place(tree: Path, functors: ModuleType, name: str, **options: bool) -> tuple[Placement, str]:
    """A functor placed, and the text of its Metal file; a second run changes nothing."""
    placement = getattr(functors, name).patch(tree, **options)
    assert placement.check().findings == []
    path = next(p for p in placement.patch.paths if p.endswith(".metal"))
    text = placement.checkout.text(path)
    placement.apply()
    assert not getattr(functors, name).patch(tree, **options)
    return placement, text


def test_bfloat_goes_into_the_guard_of_the_file(tree: Path, functors: ModuleType) -> None:
    _, text = place(tree, functors, "sgn")
    lines = text[text.index("REGISTER_UNARY_OP2(exp, float)") :]
    assert lines == (
        "REGISTER_UNARY_OP2(exp, float);\nREGISTER_UNARY_OP2(exp, half);\n"
        f"{GUARD}REGISTER_UNARY_OP2(exp, bfloat);\nREGISTER_UNARY_OP2(sgn, bfloat);\n#endif\n"
        "REGISTER_UNARY_OP2(sgn, float);\nREGISTER_UNARY_OP2(sgn, half);\n"
    )


def test_each_functor_has_its_guard_where_the_others_have(tree: Path, functors: ModuleType) -> None:
    (tree / KERNELS / "ActivationKernel.metal").write_text(trees.ACTIVATION_METAL + HARDTANH)
    _, text = place(tree, functors, "hardshrink")
    assert text.endswith(
        "#endif\n\n// Zero near zero.\n" + text[text.index("struct hardshrink_functor") :]
    )  # fmt: skip
    assert text.endswith(
        "REGISTER_UNARY_ALPHA_OP(hardshrink, float, float, float);\n"
        "REGISTER_UNARY_ALPHA_OP(hardshrink, half, half, half);\n"
        f"{GUARD}REGISTER_UNARY_ALPHA_OP(hardshrink, bfloat, bfloat, bfloat);\n#endif\n"
    )


def test_no_guard_where_the_file_has_none(tree: Path, functors: ModuleType) -> None:
    with_text(tree, UNARY, f"{GUARD}REGISTER_UNARY_OP2(exp, bfloat);\n#endif\n", "REGISTER_UNARY_OP2(exp, bfloat);\n")
    _, text = place(tree, functors, "sgn")
    assert text.endswith("OP2(sgn, float);\nREGISTER_UNARY_OP2(sgn, half);\nREGISTER_UNARY_OP2(sgn, bfloat);\n")
    assert "__METAL_VERSION__" not in text


def test_a_functor_above_its_registrations_stays_there(tree: Path, functors: ModuleType) -> None:
    """Upstream's newer files have each functor above its registrations, and kernels of other kinds at the end."""
    end = """
template <typename T>
kernel void pair(device T* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  out[i] = 0;
}

#define REGISTER_PAIR_OP(T)                                   \\
  template [[host_name("pair_" #T)]] kernel void pair<T>(     \\
      device T*, uint)

REGISTER_PAIR_OP(float);
"""
    (tree / UNARY).write_text(trees.UNARY_METAL + HARDTANH + end)
    _, text = place(tree, functors, "frac")
    assert text.startswith(trees.UNARY_METAL + HARDTANH)
    assert text.endswith(end)
    mine = text[len(trees.UNARY_METAL + HARDTANH) : -len(end)]
    assert mine.startswith("\n// The part before the point.\n")
    assert mine.endswith(
        "};\n\nREGISTER_UNARY_OP(frac, float, float);\nREGISTER_UNARY_OP(frac, half, half);\n"
        f"{GUARD}REGISTER_UNARY_OP(frac, bfloat, bfloat);\n#endif\n"
    )


def test_registrations_are_replaced_where_they_were(tree: Path, functors: ModuleType) -> None:
    old = HARDTANH.replace("hardtanh", "sgn").replace("OP(sgn, half, half)", "OP(sgn, int, int)")
    (tree / UNARY).write_text(trees.UNARY_METAL + old + HARDTANH)
    _, text = place(tree, functors, "sgn", replace=True)
    assert text.endswith(HARDTANH)
    mine = text[text.index("struct sgn_functor") : -len(HARDTANH)]
    assert mine.endswith(
        "};\n\nREGISTER_UNARY_OP(sgn, float, float);\nREGISTER_UNARY_OP(sgn, half, half);\n"
        f"{GUARD}REGISTER_UNARY_OP(sgn, bfloat, bfloat);\n#endif\n"
    )


# --- macros of the file ----------------------------------------------------------------------------------------------


def test_a_macro_of_another_name_is_used(tree: Path, functors: ModuleType) -> None:
    with_text(tree, BINARY, "REGISTER_FLOAT_BINARY_OP", "REGISTER_FLOATS")
    placement, text = place(tree, functors, "atan2")
    kin = "REGISTER_FLOATS(div_true);\nREGISTER_FLOATS(atan2);\nREGISTER_INT2FLOAT_BINARY_OP(atan2);\n"
    assert kin in text
    assert not any("atan2: " in note for note in placement.notes)


def test_kin_of_a_macro_that_nobody_used_yet(tree: Path, functors: ModuleType) -> None:
    macros = """
#define REGISTER_INTEGER_BINARY_OP_NO_BOOL(NAME) \\
  REGISTER_BINARY_OP(NAME, long, long);          \\
  REGISTER_BINARY_OP(NAME, int, int);            \\
  REGISTER_BINARY_OP(NAME, short, short);        \\
  REGISTER_BINARY_OP(NAME, uchar, uchar);        \\
  REGISTER_BINARY_OP(NAME, char, char)

#define REGISTER_INTEGER_BINARY_OP(NAME)    \\
  REGISTER_INTEGER_BINARY_OP_NO_BOOL(NAME); \\
  REGISTER_BINARY_OP(NAME, bool, bool)

REGISTER_INTEGER_BINARY_OP(hypot);
REGISTER_FLOAT_BINARY_OP(hypot);
"""
    with_text(tree, BINARY, "\nREGISTER_FLOAT_BINARY_OP(hypot);\n", macros)
    _, text = place(tree, functors, "gcd")
    kin = "REGISTER_INTEGER_BINARY_OP(hypot);\nREGISTER_FLOAT_BINARY_OP(hypot);\n"
    assert f"{kin}REGISTER_INTEGER_BINARY_OP_NO_BOOL(gcd);\nREGISTER_FLOAT_BINARY_OP(div_true);\n" in text


def test_a_choice_between_macros_is_the_authors(tree: Path, functors: ModuleType) -> None:
    with_text(tree, BINARY, "REGISTER_FLOAT_BINARY_OP", "REGISTER_FLOATS")
    block = trees.BINARY_METAL[trees.BINARY_METAL.index("#define REGISTER_FLOAT_") :].split("\n\n")[0]
    again = block.replace("REGISTER_FLOAT_BINARY_OP", "REGISTER_FLOATING")
    with_text(tree, BINARY, "REGISTER_FLOATS(div_true);\n", f"\n{again}\n\nREGISTER_FLOATING(div_true);\n")
    placement, text = place(tree, functors, "atan2")
    assert (
        "atan2: REGISTER_FLOATS and REGISTER_FLOATING register the same dtypes; neither is used: choose one"
        in placement.notes
    )
    assert "REGISTER_BINARY_OP(atan2, float, float);\n" in text
    assert text.count("#define") == trees.BINARY_METAL.count("#define") + 1


def test_a_macro_that_does_more_is_not_used(tree: Path, functors: ModuleType) -> None:
    with_text(
        tree,
        BINARY,
        "REGISTER_BINARY_OP(NAME, bfloat, bfloat)\n",
        "REGISTER_BINARY_OP(NAME, bfloat, bfloat); \\\n  static_assert(true)\n",
    )
    text = functors.atan2.patch(tree).checkout.text(BINARY)
    assert "REGISTER_FLOAT_BINARY_OP(atan2)" not in text
    assert "REGISTER_BINARY_OP(atan2, bfloat, bfloat);" in text


# --- files and includes ----------------------------------------------------------------------------------------------


def test_includes_are_added_once(tree: Path) -> None:
    """`c10::metal::erf` needs a header that the file has not; it goes in its alphabetical place."""

    @pymetal.unary(dtypes="floating")
    def sgn(x: T) -> T:
        return metal.c10.erf(x)

    @pymetal.unary(dtypes="floating")
    def frac(x: T) -> T:
        return metal.c10.erf(x) + x

    placement = kernels.place([sgn.entry, frac.entry], tree)
    assert placement.check().findings == []
    after = placement.checkout.text(UNARY)
    assert after[: after.index("using")] == (
        "#include <c10/metal/indexing.h>\n#include <c10/metal/special_math.h>\n"
        "#include <c10/metal/utils.h>\n#include <metal_stdlib>\n"
    )


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("sgn", "UnaryKernel"), ("gcd", "BinaryKernel"), ("hardshrink", "ActivationKernel"),
        ("softplus", "ActivationKernel"), ("gt", "BinaryKernel"),
    ],
)  # fmt: skip
def test_the_file_is_the_one_of_arity_and_kind(tree: Path, functors: ModuleType, name: str, file: str) -> None:
    paths = getattr(functors, name).patch(tree).patch.paths
    assert [p for p in paths if p.endswith(".metal")] == [f"{KERNELS}/{file}.metal"]
