"""What is left to do has a place and the exact text to add; with that text added nothing is left."""

from __future__ import annotations

import ast
import re
import shutil
import textwrap
from pathlib import Path
from types import ModuleType

import pytest
import torch
import trees

from pymetal.arity import BINARY, TERNARY, UNARY, Arity
from pymetal.upstream.aoti_shims import aoti_steps
from pymetal.upstream.checkout import FALLBACK_OPS, INDUCTOR_MPS, SHIMS, Checkout
from pymetal.upstream.inductor import inductor_steps
from pymetal.upstream.plan import Step
from pymetal.upstream.stubs import installed_stubs

INSTALLED = Path(torch.__file__).parent
SHIM = f"{SHIMS}/c_shim_mps.h"


def with_step(text: str, step: Step) -> str:
    """A file with the text of a step added where the step says."""
    lines = text.split("\n")
    assert step.add is not None
    like = lines[step.line - 1] if step.line <= len(lines) else lines[-1]
    indent = like[: len(like) - len(like.lstrip())]
    below = "above this line" not in step.message and step.path != SHIM
    if "below this line" in step.message:
        indent = " " * (4 if step.add.startswith("@") else 8)
    at = step.line if below else step.line - 1
    lines[at:at] = textwrap.indent(step.add, indent).split("\n")
    return "\n".join(lines)


def installed(tree: Path) -> Path:
    """The tree with inductor's own files."""
    for path in ("codegen/mps.py", "codegen/common.py", "ops_handler.py"):
        (tree / "torch/_inductor" / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(INSTALLED / "_inductor" / path, tree / "torch/_inductor" / path)
    return tree


def operators() -> list[tuple[str, Arity]]:
    """The operators of every stub that is named after one."""
    found = []
    for stub in installed_stubs().values():
        if stub.name.endswith("_stub"):
            found.append((stub.name.removesuffix("_stub"), BINARY if "Binary" in stub.header else UNARY))
    return found


def test_every_operator_that_inductor_lacks_has_its_line(new_tree: Path) -> None:
    checkout = Checkout.open(installed(new_tree))
    groups = [(a, [op for op, arity in operators() if arity is a]) for a in (UNARY, BINARY)]
    steps = [step for arity, ops in groups for step in inductor_steps(checkout, ops, arity)]
    names = {re.findall(r'"(\w+)",$|def (\w+)', str(s.add))[0] for s in steps}
    lacking = {a or b for a, b in names}
    assert {"airy_ai", "ndtri", "nextafter"} <= lacking
    # Decomposed, inherited or there already.
    assert not {"gcd", "frac", "heaviside", "eq", "mul", "erfc", "sqrt", "i0e", "lgamma"} & lacking
    text = checkout.text(INDUCTOR_MPS)
    for step in sorted(steps, key=lambda s: -s.line):
        assert step.path == INDUCTOR_MPS
        text = with_step(text, step)
    checkout.write(INDUCTOR_MPS, text)
    assert [step for arity, ops in groups for step in inductor_steps(checkout, ops, arity)] == []


@pytest.mark.parametrize("arity", [UNARY, BINARY, TERNARY])
@pytest.mark.parametrize("lists", [True, False])
def test_without_a_list_there_is_a_loop_or_a_method(new_tree: Path, arity: Arity, lists: bool) -> None:
    text = trees.INDUCTOR if lists else trees.INDUCTOR[: trees.INDUCTOR.index("    @classmethod")]
    text = re.sub(r"        # Binary special ops\n.*", "", text, flags=re.DOTALL)
    (new_tree / INDUCTOR_MPS).write_text(text)
    checkout = Checkout.open(new_tree)
    (step,) = inductor_steps(checkout, ["special_airy_ai"], arity)
    after = with_step(text, step)
    ast.parse(after)
    if lists and arity is UNARY:
        assert step.add == '"airy_ai",'
    elif lists and arity is BINARY:
        assert step.add is not None
        assert step.add.startswith('for name in ["airy_ai"]:\n')
    else:
        assert "def airy_ai(" in after
        assert "c10::metal::airy_ai(" in after
    checkout.write(INDUCTOR_MPS, after)
    assert inductor_steps(checkout, ["special_airy_ai"], arity) == []


# --- shims of AOT inductor -------------------------------------------------------------------------------------------

HEADER = INSTALLED / "include/torch/csrc/inductor/aoti_torch/generated"
ROWS = """\
- func: angle(Tensor self) -> Tensor
  dispatch:
    CPU, CUDA, MPS: angle

- func: gcd.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, CUDA, MPS: gcd_out

- func: gcd(Tensor self, Tensor other) -> Tensor
  structured_delegate: gcd.out

- func: pow.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, CUDA, MPS: pow_Tensor_Tensor_out

- func: pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor
  structured_delegate: pow.Tensor_Tensor_out
"""


@pytest.mark.skipif(not (HEADER / "c_shim_mps.h").exists(), reason="the installed torch has no shims")
@pytest.mark.parametrize("device", ["c_shim_cpu.h", "c_shim_cuda.h", None])
@pytest.mark.parametrize(
    ("row", "function"), [("angle", "angle"), ("gcd.out", "gcd"), ("pow.Tensor_Tensor_out", "pow_Tensor_Tensor")]
)
def test_shims_are_where_torchgen_writes_them(
    new_tree: Path, device: str | None, row: str, function: str
) -> None:  # fmt: skip
    whole = (HEADER / "c_shim_mps.h").read_text()
    lines = whole.split("\n")
    number = next(i for i, line in enumerate(lines, 1) if f"aoti_torch_mps_{function}(" in line)
    shutil.rmtree(new_tree / SHIMS)
    (new_tree / SHIMS).mkdir()
    (new_tree / SHIM).write_text("\n".join(lines[: number - 1] + lines[number:]))
    if device is not None:  # without one, torchgen is asked
        shutil.copyfile(HEADER / device, new_tree / SHIMS / device)
    fallback = Path(torch.__file__).parent.parent / "torchgen/aoti/fallback_ops.py"
    shutil.copyfile(fallback, new_tree / FALLBACK_OPS)
    checkout = Checkout.open(new_tree)
    checkout.write("aten/src/ATen/native/native_functions.yaml", ROWS)
    (step,) = aoti_steps(checkout, [row])
    assert (step.path, step.line) == (SHIM, number)
    assert with_step(checkout.text(SHIM), step) == whole
    assert aoti_steps(checkout, ["frac.out"]) == []


def test_the_last_shim_has_a_place_too(tree: Path, functors: ModuleType) -> None:
    end = "\n#ifdef __cplusplus\n} // extern\n#endif\n"
    before = trees.text(SHIM)
    (tree / SHIM).write_text(before + end)
    (step,) = (s for s in functors.gcd.patch(tree).steps if s.path == SHIM)
    declaration = trees.text(f"{SHIMS}/c_shim_cpu.h").removeprefix(before.replace("_mps_", "_cpu_"))
    assert with_step(before + end, step) == before + declaration.replace("_cpu_", "_mps_") + end


def test_no_shims_at_all(tree: Path, functors: ModuleType) -> None:
    shutil.rmtree(tree / SHIMS)
    (step,) = (s for s in functors.gcd.patch(tree).steps if s.path == FALLBACK_OPS)
    assert trees.FALLBACK.split("\n")[step.line - 1].strip() == '"aten.gcd.default": {},'
    assert step.add == (
        "AOTI_TORCH_EXPORT AOTITorchError aoti_torch_mps_gcd"
        "(AtenTensorHandle self, AtenTensorHandle other, AtenTensorHandle* ret0);"
    )
