"""Rows that move to a stub without a functor, and the checks that look at the result."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from pymetal.errors import PyMetalError
from pymetal.upstream.checkout import KERNELS, OPERATIONS, YAML, Checkout
from pymetal.upstream.checks import Finding, check_tree
from pymetal.upstream.native_functions import NativeFunctions
from pymetal.upstream.planner import migrate
from pymetal.upstream.rows import read_kernels, rows_of_stub, select

STUBS = [
    "sgn_stub", "frac_stub", "exp_stub", "round_stub", "special_airy_ai_stub", "hypot_stub", "atan2_stub", "gcd_stub",
    "gt_stub", "div_true_stub", "div_trunc_stub", "div_floor_stub", "hardshrink_stub", "softplus_stub",
    "hardswish_stub",
]  # fmt: skip


def test_rows_are_found_through_macros_helpers_and_calls(tree: Path) -> None:
    checkout = Checkout.open(tree)
    kernels = read_kernels(checkout, STUBS)
    file = NativeFunctions(checkout.text(YAML))
    found = {stub: [row.name for row in rows_of_stub(file, kernels, stub)] for stub in STUBS}
    assert found == {
        "sgn_stub": ["sgn.out"],
        "frac_stub": ["frac.out"],
        "exp_stub": ["exp.out"],
        "round_stub": ["round.out"],
        "special_airy_ai_stub": ["special_airy_ai.out"],
        "hypot_stub": ["hypot.out"],
        "atan2_stub": ["atan2.out"],
        "gcd_stub": ["gcd.out"],
        "gt_stub": ["gt.Scalar_out", "gt.Tensor_out"],
        "div_true_stub": ["div.out", "div.out_mode"],
        "div_trunc_stub": ["div.out_mode"],
        "div_floor_stub": ["div.out_mode", "floor_divide", "floor_divide_.Tensor", "floor_divide.out"],
        "hardshrink_stub": ["hardshrink.out"],
        "softplus_stub": ["softplus.out"],
        "hardswish_stub": ["hardswish.out", "hardswish", "hardswish_"],
    }


def test_names_select_rows(tree: Path) -> None:
    checkout = Checkout.open(tree)
    kernels = read_kernels(checkout, STUBS)
    assert select(checkout, kernels, "gt").rows == ("gt.Scalar_out", "gt.Tensor_out")
    assert select(checkout, kernels, "gt.Tensor_out").rows == ("gt.Tensor_out",)
    assert select(checkout, kernels, "hardswish.default").rows == ("hardswish",)
    assert select(checkout, kernels, "hardswish").rows == ("hardswish.out", "hardswish", "hardswish_")
    # div goes through three stubs, of which floor_divide uses one.
    assert "floor_divide_.Tensor" in select(checkout, kernels, "div").rows
    with pytest.raises(PyMetalError, match="cannot tell through which stub addr goes"):
        select(checkout, kernels, "addr")
    with pytest.raises(PyMetalError, match=r"no row 'hardswich'; did you mean 'hardswish'"):
        select(checkout, kernels, "hardswich")


def test_an_operator_with_two_stubs_is_ambiguous(tree: Path) -> None:
    cpp = tree / "aten/src/ATen/native/BinaryOps.cpp"
    text = cpp.read_text().replace("CREATE_COMPARISON_SCALAR_TENSOR_IMPL_FUNC(gt)", "")
    for overload, stub in (("Tensor", "gt_stub"), ("Scalar", "hypot_stub")):
        body = f"{{\n  {stub}(device_type(), *this);\n}}"
        text += f"TORCH_IMPL_FUNC(gt_{overload}_out)(const Tensor& a, const {overload}& b, const Tensor& c) {body}\n"
    cpp.write_text(text)
    checkout = Checkout.open(tree)
    with pytest.raises(
        PyMetalError, match=r"the rows of gt go through different stubs:\n    gt\.Scalar_out: hypot_stub"
    ):
        select(checkout, read_kernels(checkout, STUBS), "gt")


def test_a_native_kernel_gets_its_stub(tree: Path) -> None:
    placement = migrate(["hardswish"], tree)
    assert placement.rows == {
        "hardswish.out": ("hardswish_out_mps", "hardswish_out"),
        "hardswish": ("hardswish_mps", "hardswish"),
        "hardswish_": ("hardswish_mps_", "hardswish_"),
    }
    host = placement.checkout.text(f"{OPERATIONS}/ActivationKernel.mm")
    assert (
        'static void hardswish_mps_kernel(TensorIterator& iter) {\n  lib.exec_unary_kernel(iter, "hardswish");' in host
    )
    assert "REGISTER_DISPATCH(hardswish_stub, hardswish_mps_kernel);" in host


def test_kernels_that_call_each_other_go_together(tree: Path) -> None:
    placement = migrate(["hardswish"], tree)
    host = placement.checkout.text(f"{OPERATIONS}/ActivationKernel.mm")
    assert "hardswish_out_mps" not in host
    assert "Tensor hardswish_mps(" not in host
    assert placement.check().findings == []
    placement.apply()
    assert not migrate(["hardswish"], tree)


def test_a_row_without_a_kernel_is_found_out(tree: Path) -> None:
    placement = migrate(["round"], tree)
    assert "round_stub has no MPS kernel, and no Metal file registers a functor for it" in placement.notes
    messages = [f.message for f in placement.check().findings]
    assert messages == ["round.out: MPS shares round_out, and round_stub has no MPS kernel (REGISTER_DISPATCH)"]


def test_one_row_leaves_the_others_behind(tree: Path, functors: ModuleType) -> None:
    functors.gt.patch(tree).apply()
    yaml = tree / YAML
    text = yaml.read_text().replace("CPU, CUDA, MPS,MTIA: gt_Scalar_out", "CPU, CUDA,MTIA: gt_Scalar_out")
    yaml.write_text(text)
    checkout = Checkout.open(tree)
    line = text[: text.index("CPU, CUDA,MTIA: gt_Scalar_out")].count("\n") + 1
    findings = check_tree(checkout, {}, compile_metal=False).findings
    expected = "gt.Scalar_out has no MPS, and gt.Tensor_out shares gt_stub with MPS: this row was left behind"
    assert Finding(YAML, line, expected) in findings
    placement = migrate(["gt.Scalar_out"], tree)
    assert list(placement.rows) == ["gt.Scalar_out"]
    placement.apply()
    assert Finding(YAML, line, expected) not in check_tree(Checkout.open(tree), {}, compile_metal=False).findings


def test_refused_rows_say_why(tree: Path) -> None:
    with pytest.raises(PyMetalError, match="CPU has the kernel addr_cpu, CUDA has addr_cuda"):
        migrate(["addr.default"], tree)
    with pytest.raises(PyMetalError, match=r"delegates to sgn\.out"):
        migrate(["sgn_.default"], tree)


def test_a_line_of_its_own(tree: Path) -> None:
    placement = migrate(["gcd.out"], tree, own_kernel="gcd_out_mps")
    assert placement.rows == {"gcd.out": (None, "gcd_out_mps")}
    assert placement.patch.paths == (YAML,)
    messages = [f.message for f in placement.check().findings]
    assert messages == ["gcd.out leads MPS to gcd_out_mps, which nothing in aten/src/ATen/native defines"]


# --- checks ----------------------------------------------------------------------------------------------------------


def test_a_sound_tree_has_no_findings(tree: Path) -> None:
    checkout = Checkout.open(tree)
    changed = dict.fromkeys(checkout.files(KERNELS, ".metal"))
    report = check_tree(checkout, changed)
    assert report.findings == []


Plant = Callable[[str], str]

DEFECTS: dict[str, tuple[str, Plant, str]] = {
    "a row that leads nowhere": (
        YAML, lambda t: t.replace("MPS: addr_mps", "MPS: addr_mpss"),
        r"native_functions\.yaml:\d+: addr leads MPS to addr_mpss, which nothing in",
    ),
    "a legacy function that was left": (
        YAML, lambda t: t.replace("    MPS: sgn_out_mps\n", ""),
        r"UnaryOps\.mm:\d+: TORCH_IMPL_FUNC\(sgn_out_mps\): no row of native_functions\.yaml leads here",
    ),
    "a shared row without a kernel": (
        YAML, lambda t: t.replace("CPU, CUDA: gcd_out", "CPU, CUDA, MPS: gcd_out"),
        r"native_functions\.yaml:\d+: gcd\.out: MPS shares gcd_out, and gcd_stub has no MPS kernel",
    ),
    "a functor registered twice": (
        f"{KERNELS}/BinaryKernel.metal", lambda t: t + "REGISTER_BINARY_OP(hypot, half, half);\n",
        r"BinaryKernel\.metal:\d+: hypot is registered for half twice, first in .*BinaryKernel\.metal:\d+",
    ),
    "the same name for two arities": (
        f"{KERNELS}/UnaryKernel.metal", lambda t: t + "REGISTER_UNARY_OP(hypot, float, float);\n",
        r"UnaryKernel\.metal:\d+: hypot is registered for float twice, first in .*BinaryKernel",
    ),
    "a kernel that nobody registers": (
        f"{OPERATIONS}/BinaryKernel.mm", lambda t: t.replace('iter, "hypot"', 'iter, "hypotenuse"'),
        r'BinaryKernel\.mm:15: no Metal file registers the binary kernel "hypotenuse"',
    ),
    "a kernel of another arity": (
        f"{OPERATIONS}/BinaryKernel.mm", lambda t: t.replace('binary_kernel(iter, "hyp', 'unary_kernel(iter, "hyp'),
        r'BinaryKernel\.mm:15: no Metal file registers the unary kernel "hypot"',
    ),
    "a kernel through a macro": (
        f"{OPERATIONS}/UnaryKernel.mm", lambda t: t.replace("} //", "REGISTER_UNARY_TI_DISPATCH(expp);\n} //"),
        r'UnaryKernel\.mm:22: no Metal file registers the unary kernel "expp"',
    ),
    "a scalar that is not registered": (
        f"{OPERATIONS}/BinaryKernel.mm", lambda t: t.replace('iter, "hypot"', 'iter, "hypot", alpha'),
        r'no Metal file registers the binary kernel "hypot" with a scalar',
    ),
}  # fmt: skip


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_of_hand_written_migrations_are_found(tree: Path, defect: str) -> None:
    path, plant, message = DEFECTS[defect]
    text = (tree / path).read_text()
    assert plant(text) != text
    (tree / path).write_text(plant(text))
    findings = [str(f) for f in check_tree(Checkout.open(tree), {}, compile_metal=False).findings]
    assert len(findings) == 1, findings
    assert re.search(message, findings[0]), findings


def test_the_scalars_type_must_be_the_one_in_the_name(tree: Path, functors: ModuleType) -> None:
    functors.hardshrink.patch(tree).apply()
    host = tree / OPERATIONS / "ActivationKernel.mm"
    wrong = host.read_text().replace(
        'iter, "hardshrink", lambd', 'iter, "hardshrink", lambd, at::toOpMathType(iter.common_dtype())'
    )
    host.write_text(wrong)
    findings = [f.message for f in check_tree(Checkout.open(tree), {}, compile_metal=False).findings]
    assert findings == [
        "the host builds kernel names that no Metal file registers: "
        "hardshrink_dense_bfloat_bfloat_float, hardshrink_dense_half_half_float"
    ]


def test_castout_kernels_must_be_there(new_tree: Path, functors: ModuleType) -> None:
    functors.gt.patch(new_tree).apply()
    metal = new_tree / KERNELS / "BinaryKernel.metal"
    metal.write_text(metal.read_text().replace("REGISTER_BINARY_CASTOUT_OP(gt, half, bool);\n", ""))
    findings = [f.message for f in check_tree(Checkout.open(new_tree), {}, compile_metal=False).findings]
    assert findings == ['"gt" has no binary castout kernel for half']


def test_metal_that_does_not_compile_is_found(tree: Path) -> None:
    path = f"{KERNELS}/BinaryKernel.metal"
    before = (tree / path).read_text()
    after = before.replace("float(b) * b", "float(c) * b")
    (tree / path).write_text(after)
    report = check_tree(Checkout.open(tree), {path: before})
    line = after[: after.index("float(c)")].count("\n") + 1
    assert [(f.path, f.line) for f in report.findings] == [(path, line)]
    assert "does not compile: use of undeclared identifier 'c'" in report.findings[0].message


def test_the_checkouts_own_headers_count(tree: Path, functors: ModuleType) -> None:
    # A functor that uses a c10 function which this checkout has not.
    utils = tree / "c10/metal/utils.h"
    placement = functors.atan2.patch(tree)
    assert placement.check().findings == []
    utils.write_text(utils.read_text() + "\n#error this checkout is broken\n")
    broken = functors.atan2.patch(tree).check()
    assert any("this checkout is broken" in note for note in broken.notes), "not even the old file compiles"


def test_layout_is_checked(tree: Path) -> None:
    path = f"{KERNELS}/BinaryKernel.metal"
    before = (tree / path).read_text()
    after = before.replace("REGISTER_FLOAT_BINARY_OP(hypot);", "REGISTER_FLOAT_BINARY_OP( hypot );")
    (tree / path).write_text(after)
    report = check_tree(Checkout.open(tree), {path: before}, compile_metal=False)
    line = after[: after.index("( hypot )")].count("\n") + 1
    assert report.findings == [Finding(path, line, "clang-format would lay this line out differently")]
    # Lines that nobody touched are nobody's business.
    assert check_tree(Checkout.open(tree), {path: after}, compile_metal=False).findings == []
    (tree / ".clang-format").unlink()
    report = check_tree(Checkout.open(tree), {path: before}, compile_metal=False)
    assert report.findings == []
    assert report.notes == ["the layout was not checked: the checkout has no .clang-format"]
