"""A functor placed in a checkout of either generation: every file that a reviewer expects, and nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import trees

import pymetal
from pymetal import T
from pymetal.codegen.format import same_text
from pymetal.errors import PyMetalError
from pymetal.upstream import planner, transaction
from pymetal.upstream.checkout import KERNELS, OPERATIONS, YAML, Checkout
from pymetal.upstream.placement import Placement
from pymetal.upstream.plan import Outcome, Plan
from pymetal.upstream.planner import migrate, place

BINARY_METAL = f"{KERNELS}/BinaryKernel.metal"
BINARY_MM = f"{OPERATIONS}/BinaryKernel.mm"
COMMON_MPS = "torch/testing/_internal/common_mps.py"


def added(placement: Placement, path: str) -> list[str]:
    """The lines that a placement adds to a file."""
    edit = next(e for e in placement.patch.edits if e.path == path)
    return [line[1:] for line in edit.diff().split("\n") if line.startswith("+") and not line.startswith("+++")]


def removed(placement: Placement, path: str) -> list[str]:
    """The lines that it takes away."""
    edit = next(e for e in placement.patch.edits if e.path == path)
    return [line[1:] for line in edit.diff().split("\n") if line.startswith("-") and not line.startswith("---")]


def test_atan2_touches_what_a_migration_touches(tree: Path, functors: ModuleType) -> None:
    placement = functors.atan2.patch(tree)
    assert placement.patch.paths == (
        BINARY_METAL, BINARY_MM, f"{OPERATIONS}/BinaryOps.mm", YAML, COMMON_MPS,
    )  # fmt: skip
    assert placement.rows == {"atan2.out": ("atan2_out_mps", "atan2_out")}
    assert added(placement, YAML) == ["    CPU, CUDA, MPS: atan2_out"]
    assert removed(placement, YAML) == ["    CPU, CUDA: atan2_out", "    MPS: atan2_out_mps"]
    assert [line for line in added(placement, BINARY_MM) if line] == [
        "static void atan2_mps_kernel(TensorIteratorBase& iter) {",
        '  lib.exec_binary_kernel(iter, "atan2");',
        "}",
        "REGISTER_DISPATCH(atan2_stub, &atan2_mps_kernel)",
    ]
    gone = removed(placement, f"{OPERATIONS}/BinaryOps.mm")
    assert [line for line in gone if line] == [
        "#include <ATen/ops/atan2_native.h>",
        "TORCH_IMPL_FUNC(atan2_out_mps)(const Tensor& self, const Tensor& other, const Tensor& output) {",
        '  mps::binaryOpTensor(self, other, output, "atan2");',
        "}",
    ]
    assert placement.check().findings == []


def test_a_functor_has_its_patch(tree: Path, functors: ModuleType) -> None:
    placement = functors.gcd.patch(tree, file="Gcd.metal")
    assert placement.diff() == functors.gcd.patch(tree, file="Gcd.metal").diff()
    assert f"+++ b/{KERNELS}/Gcd.metal\n" in placement.diff()
    assert placement.apply() == placement.patch.paths
    assert functors.gcd.patch(tree, file="Gcd.metal").apply() == ()


def test_the_functor_text_is_the_one_that_runs(tree: Path, functors: ModuleType) -> None:
    placement = functors.atan2.patch(tree)
    text = placement.checkout.text(BINARY_METAL)
    block = text[text.index("// Angle of") : text.index("#define REGISTER_FLOAT")]
    assert same_text(block, functors.atan2.functor_source)
    # After the last functor, and the registrations beside their kin.
    assert text.index("struct div_true_functor") < text.index("struct atan2_functor") < text.index("#define REGISTER_")
    kin = (
        "REGISTER_FLOAT_BINARY_OP(div_true);\nREGISTER_FLOAT_BINARY_OP(atan2);\nREGISTER_INT2FLOAT_BINARY_OP(atan2);\n"
    )
    assert kin in text
    assert text.endswith("\n\n// Complex comes last.\n")
    assert text.count("#define REGISTER_INT2FLOAT_BINARY_OP") == 1


def test_a_second_run_changes_nothing(tree: Path, functors: ModuleType) -> None:
    for name in ("atan2", "gt", "sgn", "hardshrink", "softplus", "special_airy_ai", "gcd", "frac"):
        placement = getattr(functors, name).patch(tree)
        assert placement.apply()
        after = trees.snapshot(tree)
        again = getattr(functors, name).patch(tree)
        assert not again
        assert again.diff() == ""
        assert again.apply() == ()
        assert trees.snapshot(tree) == after


def test_all_functors_at_once(tree: Path, functors: ModuleType) -> None:
    names = ("atan2", "gt", "sgn", "hardshrink", "softplus", "special_airy_ai", "gcd", "frac")
    entries = [getattr(functors, name).entry for name in names]
    placement = place(entries, tree)
    assert placement.check().findings == []
    placement.apply()
    assert not place(entries, tree)


def test_git_applies_the_diff(repository: Path, tmp_path: Path, functors: ModuleType) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", repository, clone], check=True)
    placement = functors.atan2.patch(repository)
    subprocess.run(["git", "apply", "--check", "-"], input=placement.diff().encode(), cwd=clone, check=True)
    subprocess.run(["git", "apply", "-"], input=placement.diff().encode(), cwd=clone, check=True)
    placement.apply()
    contents = {p: c for p, (c, _) in trees.snapshot(repository).items()}
    assert {p: c for p, (c, _) in trees.snapshot(clone).items()} == contents


# --- kernels ---------------------------------------------------------------------------------------------------------


def test_comparisons_cast_on_store_where_the_headers_can(tree: Path, generation: str, functors: ModuleType) -> None:
    placement = functors.gt.patch(tree)
    lines = added(placement, BINARY_METAL)
    call = " ".join(placement.checkout.text(BINARY_MM).split())
    if generation == trees.OLD:
        assert not any("CASTOUT" in line for line in lines)
        assert 'lib.exec_binary_kernel(iter, "gt");' in call
    else:
        assert "REGISTER_BINARY_CASTOUT_OP(gt, bfloat, bool);" in lines
        assert (
            'lib.exec_binary_kernel(iter, "gt", /*alpha=*/std::nullopt, /*scalar_arg_type=*/std::nullopt, '
            "/*natural_output_dtype=*/kBool, /*ilp_threshold=*/1 << 18);" in call
        )
    assert placement.rows == {
        "gt.Scalar_out": ("gt_scalar_out_mps", "gt_Scalar_out"),
        "gt.Tensor_out": ("gt_tensor_out_mps", "gt_Tensor_out"),
    }
    assert len(placement.legacy) == 2


def test_a_helper_of_another_meaning_is_not_used(tree: Path, functors: ModuleType) -> None:
    metal = tree / BINARY_METAL
    metal.write_text(metal.read_text().replace("REGISTER_BINARY_OP(NAME, char, float);   \\\n  ", ""))
    text = functors.atan2.patch(tree).checkout.text(BINARY_METAL)
    assert "REGISTER_FLOAT_BINARY_OP(atan2);" in text
    assert "REGISTER_INT2FLOAT_BINARY_OP(atan2);" not in text
    assert "REGISTER_BINARY_OP(atan2, char, float);" in text


def test_unary_functors_use_the_files_macro(tree: Path, functors: ModuleType) -> None:
    placement = functors.sgn.patch(tree)
    assert added(placement, f"{OPERATIONS}/UnaryKernel.mm") == ["REGISTER_UNARY_TI_DISPATCH(sgn);"]
    # The comment of the legacy function goes with it, the unbalanced braces in strings do not matter.
    legacy = placement.checkout.text(f"{OPERATIONS}/UnaryOps.mm")
    assert "sgn" not in legacy
    assert "Simulated" not in legacy
    assert "TORCH_IMPL_FUNC(frac_out_mps)" in legacy
    assert "\n\n\n" not in legacy


def test_a_new_file(tree: Path, functors: ModuleType) -> None:
    placement = functors.atan2.patch(tree, file="Angles.metal")
    metal = placement.checkout.text(f"{KERNELS}/Angles.metal")
    assert metal.startswith("#include <c10/metal/indexing.h>\n")
    assert "REGISTER_BINARY_OP(atan2, bool, float);" in metal
    assert "#define" not in metal
    host = placement.checkout.text(f"{OPERATIONS}/Angles.mm")
    assert "#include <ATen/native/mps/Angles_metallib.h>" in host
    assert "static auto& lib = mps::MetalShaderLibrary::getBundledLibrary();" in host
    assert "#include <ATen/native/BinaryOps.h>" in host
    assert "REGISTER_DISPATCH(atan2_stub, atan2_mps_kernel);" in host
    assert host.startswith("#define TORCH_ASSERT_ONLY_METHOD_OPERATORS\n")
    assert host.endswith("} // namespace at::native\n")
    assert placement.check().findings == []
    placement.apply()
    assert not functors.atan2.patch(tree, file="Angles.metal")
    assert not functors.atan2.patch(tree)  # it is found where it is


def test_helpers_are_written_once(tree: Path, functors: ModuleType) -> None:
    path = f"{KERNELS}/UnaryKernel.metal"
    placement = functors.frac.patch(tree)
    text = placement.checkout.text(path)
    assert text.count(" whole(const T x)") >= 1
    assert text.index("// The part before") < text.index("// The part behind") < text.index("struct frac_functor")
    assert placement.check().findings == []
    placement.apply()
    assert not functors.frac.patch(tree)
    # The second functor finds the helper, and the first functor that it calls.
    second = functors.round.patch(tree)
    lines = added(second, path)
    assert "struct round_functor {" in lines
    assert not any("frac_functor {" in line or "T whole(" in line for line in lines)
    assert second.check().findings == []
    second.apply()
    assert not functors.round.patch(tree)
    assert not functors.frac.patch(tree)


def test_another_helper_of_the_name_is_replaced_on_demand(tree: Path, functors: ModuleType) -> None:
    path = tree / KERNELS / "UnaryKernel.metal"
    helper = "template <typename T>\ninline T whole(const T x) {\n  return x;\n}\n\n"
    path.write_text(path.read_text().replace("struct exp_functor", f"{helper}struct exp_functor"))
    with pytest.raises(PyMetalError, match=r"UnaryKernel\.metal:8: whole has another definition here\n"):
        functors.frac.patch(tree)
    placement = functors.frac.patch(tree, replace=True)
    text = placement.checkout.text(f"{KERNELS}/UnaryKernel.metal")
    assert helper not in text
    assert text.index("T whole(") < text.index("struct exp_functor")
    assert placement.check().findings == []


def test_code_that_names_a_removed_kernel_is_found(tree: Path, functors: ModuleType) -> None:
    (tree / "tools").mkdir()
    (tree / "tools/list.py").write_text("# atan2_out_mps was here\nNAMES = ['atan2_out_mps']\n")
    findings = [str(f) for f in functors.atan2.patch(tree).check().findings]
    assert findings == ["tools/list.py:2: atan2_out_mps is removed but still named here"]


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("angles", "not the name of a .metal file"),
        ("../x.metal", "Metal files are in"),
        ("my-file.metal", "not the name of a .metal file"),
    ],
)
def test_file_names_are_checked(tree: Path, functors: ModuleType, file: str, message: str) -> None:
    with pytest.raises(PyMetalError, match=message):
        functors.atan2.patch(tree, file=file)


def test_another_functor_of_the_name_is_replaced_on_demand(tree: Path, functors: ModuleType) -> None:
    metal = tree / BINARY_METAL
    text = metal.read_text()
    mine = "// Mine.\nstruct atan2_functor {\n  template <typename T>\n  inline T operator()(const T a, const T b) {\n"
    mine += "    return a;\n  }\n};\n\n"
    text = text.replace("// The quotient,", mine + "// The quotient,")
    hypot = "REGISTER_FLOAT_BINARY_OP(hypot);\n"
    text = text.replace(hypot, hypot + hypot.replace("hypot", "atan2"))
    metal.write_text(text)
    line = text[: text.index("struct atan2_functor")].count("\n") + 1
    with pytest.raises(PyMetalError, match=rf"BinaryKernel\.metal:{line}: atan2_functor has another definition here"):
        functors.atan2.patch(tree)
    with pytest.raises(PyMetalError, match="is already defined here, and kernel names are global"):
        functors.atan2.patch(tree, file="Angles.metal")
    placement = functors.atan2.patch(tree, replace=True)
    new = placement.checkout.text(BINARY_METAL)
    assert new.count("struct atan2_functor") == 1
    assert "Mine." not in new
    assert new.index("struct atan2_functor") < new.index("struct div_true_functor")
    assert new.count("REGISTER_FLOAT_BINARY_OP(atan2);") == 1
    assert "-// Mine." in placement.diff()
    assert placement.check().findings == []


def test_a_stub_that_runs_something_else_is_replaced_on_demand(tree: Path, functors: ModuleType) -> None:
    host = tree / BINARY_MM
    mine = "static void my_atan2(TensorIteratorBase& iter) {\n  graph(iter);\n}\n\n"
    mine += "REGISTER_DISPATCH(atan2_stub, &my_atan2)\n"
    text = host.read_text().replace("REGISTER_DISPATCH(hypot_stub", f"{mine}REGISTER_DISPATCH(hypot_stub")
    host.write_text(text)
    with pytest.raises(PyMetalError, match=r"atan2_stub runs my_atan2, which does not call the kernel"):
        functors.atan2.patch(tree)
    new = functors.atan2.patch(tree, replace=True).checkout.text(BINARY_MM)
    assert 'static void my_atan2(TensorIteratorBase& iter) {\n  lib.exec_binary_kernel(iter, "atan2");\n}\n' in new
    assert new.count("atan2_stub") == 1


# --- stubs -----------------------------------------------------------------------------------------------------------


def test_one_scalar_goes_as_alpha(tree: Path, functors: ModuleType) -> None:
    placement = functors.hardshrink.patch(tree)
    host = placement.checkout.text(f"{OPERATIONS}/ActivationKernel.mm")
    assert "static void hardshrink_mps_kernel(TensorIteratorBase& iter, const Scalar& lambd) {\n" in host
    assert '  lib.exec_unary_kernel(iter, "hardshrink", lambd);\n' in host
    assert f"{KERNELS}/ActivationKernel.metal" in placement.patch.paths


def test_several_scalars_go_as_a_struct(tree: Path, functors: ModuleType) -> None:
    placement = functors.softplus.patch(tree)
    host = " ".join(placement.checkout.text(f"{OPERATIONS}/ActivationKernel.mm").split())
    assert "template <typename T> struct softplus_params { T beta; T threshold; };" in host
    assert (
        "static void softplus_mps_kernel(TensorIteratorBase& iter, const Scalar& beta, const Scalar& threshold)" in host
    )
    assert "softplus_params<params_t> params{beta.to<params_t>(), threshold.to<params_t>()};" in host
    assert 'fmt::format("softplus_params_{}", mps::scalarToMetalTypeString(iter.common_dtype()))' in host
    assert "#include <fmt/format.h>" in host
    # The kernel's file calls the struct by the name that the host builds.
    metal = placement.checkout.text(f"{KERNELS}/ActivationKernel.metal")
    assert "REGISTER_UNARY_ALPHA_OP(softplus, half, softplus_params_half, half);" in metal
    assert "using softplus_params_half = softplus_params<half>;" in metal


def test_scalars_must_fit_the_stub(tree: Path, functors: ModuleType) -> None:
    with pytest.raises(PyMetalError, match=r"exp_stub passes 0 scalars \(TensorIteratorBase&\) but exp takes 1"):
        functors.exp.patch(tree)
    with pytest.raises(PyMetalError, match=r"hardshrink_stub passes 1 scalar .* but sgn takes 0"):
        functors.sgn.patch(tree, stub="hardshrink_stub")


def test_the_iterator_type_is_the_stubs(tree: Path, functors: ModuleType) -> None:
    placement = functors.frac.patch(tree, stub="hardswish_stub")
    host = placement.checkout.text(f"{OPERATIONS}/ActivationKernel.mm")
    assert "static void frac_mps_kernel(TensorIterator& iter) {" in host
    assert "REGISTER_DISPATCH(hardswish_stub, frac_mps_kernel);" in host


def test_unknown_stubs_are_refused(tree: Path, functors: ModuleType) -> None:
    with pytest.raises(PyMetalError, match=r"dispatch stub atan_2_stub; did you mean atan2_stub"):
        functors.atan2.patch(tree, stub="atan_2_stub")


def test_rows_through_other_stubs_stay(tree: Path, functors: ModuleType) -> None:
    placement = functors.div_floor.patch(tree)
    assert set(placement.rows) == {"floor_divide", "floor_divide_.Tensor", "floor_divide.out"}
    assert "div.out_mode stays: it goes through div_trunc_stub too, without an MPS kernel" in placement.notes
    assert placement.checkout.text(f"{OPERATIONS}/BinaryOps.mm").count("floor_divide") == 0
    assert "TORCH_IMPL_FUNC(div_out_mode_mps)" in placement.checkout.text(f"{OPERATIONS}/BinaryOps.mm")


def test_a_missing_macro_is_told(tree: Path, functors: ModuleType) -> None:
    indexing = tree / "c10/metal/indexing.h"
    indexing.write_text(indexing.read_text().replace("REGISTER_UNARY_ALPHA_OP", "REGISTER_UNARY_BETA_OP"))
    with pytest.raises(PyMetalError, match=r"has no REGISTER_UNARY_ALPHA_OP, which hardshrink needs"):
        functors.hardshrink.patch(tree)


def test_a_legacy_kernel_that_others_call_stays(tree: Path, functors: ModuleType) -> None:
    legacy = tree / OPERATIONS / "UnaryOps.mm"
    user = "static void use(const Tensor& t) {\n  structured_sgn_out_mps op;\n  op.impl(t, t);\n}\n\n"
    legacy.write_text(legacy.read_text().replace("} // namespace at::native", f"{user}}} // namespace at::native"))
    placement = functors.sgn.patch(tree)
    assert "TORCH_IMPL_FUNC(sgn_out_mps)" in placement.checkout.text(f"{OPERATIONS}/UnaryOps.mm")
    assert any(re.match(r"sgn_out_mps stays: it is used in .*UnaryOps\.mm:\d+", note) for note in placement.notes)
    findings = placement.check().findings
    assert any("no row of native_functions.yaml leads here" in f.message for f in findings)


def test_includes_that_only_the_legacy_kernel_used_go(tree: Path, functors: ModuleType) -> None:
    path = f"{OPERATIONS}/UnaryOps.mm"
    text = (tree / path).read_text()
    text = text.replace("#include <ATen/ops/frac_native.h>\n", (
        "#include <ATen/ops/abs.h>\n#include <ATen/ops/add_mps_dispatch.h>\n#include <ATen/ops/empty.h>\n"
        "#include <ATen/ops/frac_native.h>\n#include <ATen/ops/trunc.h>\n"
    ))  # fmt: skip
    text = text.replace('  TORCH_CHECK(isFloatingType', (
        "  at::mps::add_outf(at::abs(self), self.trunc(), 1, output);\n  TORCH_CHECK(isFloatingType"
    ))  # fmt: skip
    text = text.replace(
        "#define CREATE_MPS",
        "static Tensor whole(const Tensor& x) {\n  return at::trunc(x);\n}\n\n#define CREATE_MPS",
        1,
    )
    (tree / path).write_text(text)
    after = functors.frac.patch(tree).checkout.text(path)
    # Never used here before, so nobody knows why it is there; still used.
    assert [line for line in after.split("\n") if "ATen/ops" in line and "_native" not in line] == [
        "#include <ATen/ops/empty.h>", "#include <ATen/ops/trunc.h>",
    ]  # fmt: skip
    assert "frac_native" not in after


def test_orphans_are_reported(tree: Path, functors: ModuleType) -> None:
    placement = functors.frac.patch(tree)
    assert any(re.search(r"UnaryOps\.mm:\d+: trunc_tensor is not called any more", n) for n in placement.notes)


# --- what is left to do ----------------------------------------------------------------------------------------------


def test_next_steps_have_the_line_to_add(tree: Path, functors: ModuleType) -> None:
    steps = {(s.path, s.line): s for s in functors.gcd.patch(tree).steps}
    shim = steps["torch/csrc/inductor/aoti_torch/generated/c_shim_mps.h", 4]
    assert shim.add == (
        "AOTI_TORCH_EXPORT AOTITorchError aoti_torch_mps_gcd"
        "(AtenTensorHandle self, AtenTensorHandle other, AtenTensorHandle* r);"
    )
    steps = {(s.path, s.line): s for s in functors.special_airy_ai.patch(tree).steps}
    info = trees.OPINFO.split("\n")
    line = next(i for i, text in enumerate(info, 1) if "special.airy_ai" in text)
    message = steps["torch/testing/_internal/common_methods_invocations.py", line].message
    assert "a decorator expects MPS to fail" in message
    assert any(s.path == "torch/_inductor/codegen/mps.py" and "airy_ai" in s.message for s in steps.values())


def test_inductors_list_is_found(new_tree: Path, functors: ModuleType) -> None:
    math = new_tree / "c10/metal/special_math.h"
    math.write_text(math.read_text() + "\ntemplate <typename T>\ninline T airy_ai_forward(T x) {\n  return x;\n}\n")
    steps = functors.special_airy_ai.patch(new_tree).steps
    step = next(s for s in steps if s.path == "torch/_inductor/codegen/mps.py")
    assert step.add == '"airy_ai",'
    assert trees.INDUCTOR.split("\n")[step.line - 1].strip() == '"bessel_j0",'


def test_complex_functors_join_the_complex_list(tree: Path, generation: str) -> None:
    @pymetal.unary(dtypes=("floating", "complex"))
    def sgn(x: T) -> T:
        return x * x

    placement = sgn.patch(tree)
    if generation == trees.OLD:
        assert added(placement, COMMON_MPS) == ['            "sgn",', '            "sgn": [torch.bool],']
    else:
        assert removed(placement, COMMON_MPS)[0] == '            "sgn",'
    assert placement.check().findings == []


def test_each_operator_has_its_own_dtypes(new_tree: Path, functors: ModuleType) -> None:
    @pymetal.unary(dtypes="complex")
    def sgn(x: T) -> T:
        return x * x

    placement = place([sgn.entry, functors.atan2.entry], new_tree)
    gone = removed(placement, COMMON_MPS)
    assert '            "sgn",' in gone
    assert '            "atan2",' not in gone, "it takes no complex numbers"
    assert '            "atan2": [torch.float16],' in gone
    assert added(placement, COMMON_MPS) == []
    notes = [n for n in placement.notes if "is not registered for" in n]
    assert [n.split(" replaces")[0] for n in notes] == ["atan2", "sgn"]
    assert "float32" in notes[1]
    assert "float32" not in notes[0]


def test_entries_of_an_operator_that_was_here_stay(tree: Path, functors: ModuleType) -> None:
    """An expected failure of an operator that shares its stub already is not this run's to remove."""
    functors.sgn.patch(tree).apply()
    text = (tree / COMMON_MPS).read_text()
    (tree / COMMON_MPS).write_text(text.replace('"gcd": None,', '"gcd": None,\n            "sgn": None,'))
    assert not functors.sgn.patch(tree)
    assert not migrate(["sgn"], tree)


def test_a_missing_derivative_is_a_next_step(tree: Path, functors: ModuleType) -> None:
    (tree / "tools/autograd").mkdir(parents=True)
    formulas = (
        "- name: special_airy_ai(Tensor x) -> Tensor\n  x: non_differentiable\n\n- name: sgn(Tensor self) -> Tensor\n"
    )
    (tree / "tools/autograd/derivatives.yaml").write_text(formulas)
    assert not any("XFAILLIST_GRAD" in s.message for s in functors.special_airy_ai.patch(tree).steps)
    (tree / "tools/autograd/derivatives.yaml").write_text(formulas.replace("non_differentiable", "not_implemented"))
    steps = [s for s in functors.special_airy_ai.patch(tree).steps if "XFAILLIST_GRAD" in s.message]
    assert [(s.path, s.add) for s in steps] == [(COMMON_MPS, '"special.airy_ai": None,')]


def test_an_undone_run_is_mentioned(tree: Path, functors: ModuleType) -> None:
    placement = functors.atan2.patch(tree)
    journal = tree / transaction.JOURNAL
    edit = placement.patch.edits[0]
    journal.write_bytes(transaction._record({edit.path: (edit.old, edit.new)}, []))
    (tree / edit.path).write_bytes(edit.new)
    again = functors.atan2.patch(tree)
    assert f"{edit.path} was put back: an earlier run was interrupted" in again.notes
    assert again.diff() == placement.diff()
    assert not journal.exists()


def test_expected_failures_are_listed(tree: Path, functors: ModuleType) -> None:
    steps = [s for s in functors.atan2.patch(tree).steps if "decorator" in s.message]
    lines = trees.OPINFO.split("\n")
    assert [lines[s.line - 1].strip()[:24] for s in steps] == ["decorators=(DecorateInfo", "DecorateInfo(unittest.ex"]


# --- safety ----------------------------------------------------------------------------------------------------------


def test_a_dirty_target_is_refused(repository: Path, functors: ModuleType) -> None:
    placement = functors.atan2.patch(repository)
    with (repository / BINARY_METAL).open("a") as file:
        file.write("// mine\n")
    before = trees.snapshot(repository)
    placement = functors.atan2.patch(repository)
    with pytest.raises(PyMetalError, match="uncommitted changes in 1 of the files"):
        placement.apply()
    assert trees.snapshot(repository) == before
    placement.apply(force=True)
    assert "// mine\n" in (repository / BINARY_METAL).read_text()


def test_carriage_returns_and_modes_survive(tree: Path, functors: ModuleType) -> None:
    paths = [BINARY_METAL, BINARY_MM, f"{OPERATIONS}/BinaryOps.mm", YAML, COMMON_MPS]
    for path in paths:
        (tree / path).write_bytes((tree / path).read_bytes().replace(b"\n", b"\r\n"))
        (tree / path).chmod(0o640)
    placement = functors.atan2.patch(tree)
    assert set(placement.apply()) == set(paths)
    plain = trees.make(tree.parent / "plain", trees.NEW if "ilp_threshold" in _library(tree) else trees.OLD)
    functors.atan2.patch(plain).apply()
    for path in paths:
        assert (tree / path).read_bytes() == (plain / path).read_bytes().replace(b"\n", b"\r\n"), path
        assert (tree / path).stat().st_mode & 0o777 == 0o640
    assert not functors.atan2.patch(tree)


def _library(tree: Path) -> str:
    return (tree / "aten/src/ATen/native/mps/MetalShaderLibrary.h").read_text()


def test_links_are_not_followed(tree: Path, functors: ModuleType) -> None:
    outside = tree.parent / "outside.metal"
    shutil.move(tree / BINARY_METAL, outside)
    (tree / BINARY_METAL).symlink_to(outside)
    before = outside.read_bytes()
    with pytest.raises(PyMetalError, match=r"BinaryKernel\.metal is a symbolic link to .*outside\.metal, outside of"):
        functors.atan2.patch(tree)
    assert outside.read_bytes() == before


# --- editors ---------------------------------------------------------------------------------------------------------


def test_a_new_kind_of_file_is_one_editor(
    tree: Path, functors: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    def edit(checkout: Checkout, plan: Plan) -> Outcome:
        names = [target.entry.checked.name for target in plan.functors]
        assert f"struct {names[0]}_functor" in checkout.text(plan.functors[0].file), "it sees the edits before its own"
        checkout.write("docs/kernels.txt", "".join(f"{name}\n" for name in names))
        return Outcome(notes=("docs/kernels.txt lists the kernels",))

    monkeypatch.setattr(planner, "EDITORS", (*planner.EDITORS, edit))
    placement = functors.atan2.patch(tree)
    assert "docs/kernels.txt" in placement.patch.created
    assert "docs/kernels.txt lists the kernels" in placement.notes
