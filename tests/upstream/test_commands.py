"""`pymetal upstream` and `pymetal migrate`, as a shell would call them."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
import trees

from pymetal.cli import UsageError, migrate, upstream
from pymetal.errors import PyMetalError
from pymetal.upstream.checkout import COMMON_MPS, KERNELS, OPERATIONS, YAML
from pymetal.upstream.numerics import measure, ulps

FUNCTORS = str(Path(trees.__file__).parent / "upstream_functors.py")


def call(module: ModuleType, *argv: object) -> int:
    """Runs a subcommand; the exit code, as the command line maps errors to it."""
    parser = argparse.ArgumentParser(prog="pymetal")
    module.configure(parser)
    try:
        code = module.run(parser.parse_args([str(a) for a in argv]))
    except PyMetalError as error:
        print(error, file=sys.stderr)
        return 1
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    except SystemExit as stop:
        return int(stop.code or 0)
    assert isinstance(code, int)
    return code


def test_a_summary_is_the_default(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = trees.snapshot(repository)
    assert call(upstream, FUNCTORS, "--only", "atan2", "--pytorch", repository) == 0
    out = capsys.readouterr().out
    assert f"edit      {KERNELS}/BinaryKernel.metal\n" in out
    assert "row       atan2.out: atan2_out_mps -> atan2_out\n" in out
    assert "tests     atan2 leaves SKIPLIST\n" in out
    assert f"removed   {OPERATIONS}/BinaryOps.mm:23: atan2_out_mps\n" in out
    assert trees.snapshot(repository) == before


def test_the_diff_is_for_git(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(upstream, FUNCTORS, "--only", "atan2", "--pytorch", repository, "--diff") == 0
    out, err = capsys.readouterr()
    subprocess.run(["git", "apply", "-"], input=out.encode(), cwd=repository, check=True)
    assert "row       atan2.out" in err
    assert call(upstream, FUNCTORS, "--only", "atan2", "--pytorch", repository, "--diff") == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "nothing to change: the tree has everything already" in err


def test_apply_writes_once(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (FUNCTORS, "--only", "atan2", "--only", "gt", "--pytorch", repository, "--apply")
    assert call(upstream, *arguments) == 0
    after = trees.snapshot(repository)
    assert call(upstream, *arguments) == 0
    assert "nothing to change: the tree has everything already\n" in capsys.readouterr().out
    assert trees.snapshot(repository) == after


def test_files_that_it_made_are_listed(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (FUNCTORS, "--only", "gcd", "--pytorch", repository, "--file", "Gcd.metal")
    for action in ((), ("--apply",)):
        assert call(upstream, *arguments, *action) == 0
        out = capsys.readouterr().out
        for path in (f"{KERNELS}/Gcd.metal", f"{OPERATIONS}/Gcd.mm"):
            assert f"create    {path}\n" in out
        assert f"edit      {YAML}\n" in out


def test_a_missing_test_file_is_told(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / COMMON_MPS).unlink()
    assert call(upstream, FUNCTORS, "--only", "gcd", "--pytorch", repository) == 0
    assert f"note      {COMMON_MPS} is not in this checkout: look for" in capsys.readouterr().out


def test_a_second_run_still_says_what_is_wrong(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("round", "--pytorch", repository, "--apply", "--no-check")
    wrong = "round.out: MPS shares round_out, and round_stub has no MPS kernel"
    assert call(migrate, *arguments) == 1
    assert wrong in capsys.readouterr().out
    after = trees.snapshot(repository)
    for committed in (False, True):
        if committed:
            trees.commit(repository, "broken")
        assert call(migrate, *arguments) == 1
        out = capsys.readouterr().out
        assert out.startswith("nothing to change: the tree has everything already, and this is wrong with it\n")
        assert wrong in out
        assert trees.snapshot(repository) == after


def test_a_second_run_compiles_again(new_tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (FUNCTORS, "--only", "gcd", "--pytorch", new_tree, "--apply")
    assert call(upstream, *arguments) == 0
    metal = new_tree / KERNELS / "BinaryKernel.metal"
    metal.write_text(metal.read_text() + "nonsense;\n")
    capsys.readouterr()
    assert call(upstream, *arguments) == 1
    assert "BinaryKernel.metal:" in (out := capsys.readouterr().out)
    assert "does not compile" in out


def test_findings_stop_an_apply(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = trees.snapshot(repository)
    assert call(migrate, "round", "--pytorch", repository, "--apply") == 1
    out, err = capsys.readouterr()
    assert "round.out: MPS shares round_out, and round_stub has no MPS kernel" in out
    assert "nothing was written" in err
    assert trees.snapshot(repository) == before
    assert call(migrate, "round", "--pytorch", repository, "--apply", "--no-check") == 1
    assert "    CPU, MPS: round_out\n    CUDA: round_out\n" in (repository / YAML).read_text()


def test_migrate_as_json(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(migrate, "hardswish", "--pytorch", repository, "--apply", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["applied"] is True
    assert result["stubs"] == ["hardswish_stub"]
    assert result["rows"]["hardswish_"] == {"before": "hardswish_mps_", "after": "hardswish_"}
    assert result["findings"] == []
    assert set(result["files"]) == {YAML, f"{OPERATIONS}/ActivationKernel.mm"}
    assert call(migrate, "hardswish", "--pytorch", repository, "--apply", "--json") == 0
    assert json.loads(capsys.readouterr().out)["applied"] is False


def test_check_prints_places(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(upstream, "--check", "--pytorch", repository) == 0
    assert capsys.readouterr().out == ""
    # A migration by hand: the row, but no stub; a kernel twice, and laid out by hand.
    yaml = repository / YAML
    yaml.write_text(yaml.read_text().replace("    CPU, CUDA: gcd_out", "    CPU, CUDA, MPS: gcd_out"))
    metal = repository / KERNELS / "BinaryKernel.metal"
    metal.write_text(metal.read_text() + "REGISTER_BINARY_OP( hypot,half, half);\n")
    (repository / KERNELS / "New.metal").write_text("#include <c10/metal/indexing.h>\nnonsense;\n")
    assert call(upstream, "--check", "--pytorch", repository) == 1
    lines = capsys.readouterr().out.splitlines()
    number = metal.read_text().count("\n")
    twice = f"{KERNELS}/BinaryKernel.metal:{number}: hypot is registered for half twice"
    assert any(line.startswith(twice) for line in lines)
    assert f"{KERNELS}/BinaryKernel.metal:{number}: clang-format would lay this line out differently" in lines
    assert any(line.startswith(f"{KERNELS}/New.metal:2: does not compile") for line in lines)
    assert any("gcd.out: MPS shares gcd_out, and gcd_stub has no MPS kernel" in line for line in lines)
    trees.commit(repository, "by hand")
    assert call(upstream, "--check", "--pytorch", repository, "--json") == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert not any("clang-format" in f["message"] for f in found), "committed layout is not judged"
    assert call(upstream, "--check", "--pytorch", repository, "--since", "HEAD~1", "--json") == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert any("clang-format" in f["message"] for f in found)
    assert call(upstream, "--check", "--pytorch", repository, "--since", "nowhere") == 1
    assert "git diff failed" in capsys.readouterr().err


def test_check_without_git(new_tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(upstream, "--check", "--pytorch", new_tree) == 0
    assert "note: nothing was compiled or laid out: git diff failed" in capsys.readouterr().err


def test_the_text_of_a_pull_request(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(upstream, FUNCTORS, "--only", "atan2", "--pytorch", repository, "--pr-text") == 0
    text = capsys.readouterr().out
    assert text.startswith("[MPS] Run atan2 through the shared dispatch stub\n")
    for part in ("## What moved", "## Numerics", "## Performance", "## Tests", "## Left to do"):
        assert part in text
    assert "- `atan2.out`: MPS leaves `atan2_out_mps` and joins the line of `atan2_out`\n" in text
    assert "| float32 |" in text
    assert "| float16 |" in text
    assert "`pymetal bench upstream_functors.py --only atan2`" in text
    assert '`python test/test_mps.py -k "TestConsistency and atan2"`' in text
    assert "- `atan2_stub` runs `atan2_mps_kernel` on MPS\n" in text
    assert "- the Metal kernel `atan2` is new in BinaryKernel.metal\n" in text
    assert "compilation of BinaryKernel.metal on the host device" in text
    assert "layout of BinaryKernel.metal, BinaryKernel.mm, BinaryOps.mm): found nothing\n" in text
    assert "(not written yet: `--apply` writes it)" in text


def pr_text_of(repository: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    call(upstream, FUNCTORS, "--only", "atan2", "--pytorch", repository, "--pr-text", *options)
    out = capsys.readouterr()
    return out.out + out.err


def test_the_text_after_the_edits_says_the_same(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = pr_text_of(repository, capsys)
    assert call(upstream, FUNCTORS, "--only", "atan2", "--pytorch", repository, "--apply") == 0
    after = pr_text_of(repository, capsys)
    moved = "- (not written yet: `--apply` writes it)\n"
    assert moved in before
    # A step may be told at the line that it has after the edits.
    assert after.split("## Left to do")[0] == before.replace(moved, "").split("## Left to do")[0]
    trees.commit(repository, "atan2")
    text = pr_text_of(repository, capsys)
    assert "- nothing differs from HEAD; pass --since COMMIT to describe what is committed\n" in text
    assert "- no checks ran: nothing differs from HEAD\n" in text
    assert "found nothing" not in text
    assert pr_text_of(repository, capsys, "--since", "HEAD~1") == after.replace("HEAD", "HEAD~1")
    assert "git diff failed" in pr_text_of(repository, capsys, "--since", "nowhere")


def test_the_text_claims_only_checks_that_ran(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = pr_text_of(repository, capsys, "--no-compile")
    assert "compilation" not in text
    assert "layout of" in text
    monkeypatch.setattr("pymetal.upstream.formatting.find_clang_format", lambda: None)
    text = pr_text_of(repository, capsys)
    assert "layout of" not in text
    assert "- the layout was not checked: there is no clang-format from 19.1 on" in text


def test_the_text_without_git(new_tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = pr_text_of(new_tree, capsys)
    assert "against the tree on the disk, which git does not know" in before
    assert "- `atan2.out`: MPS leaves `atan2_out_mps`" in before
    assert call(upstream, FUNCTORS, "--only", "atan2", "--pytorch", new_tree, "--apply") == 0
    assert "- nothing differs from the tree on the disk, which git does not know; pass" in pr_text_of(new_tree, capsys)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "pass the FILE.py with the functors, or --check"),
        ([FUNCTORS, "--check"], "leave FILE.py out"),
        ([FUNCTORS, "--only", "atan"], "no functor is called 'atan'; did you mean 'atan2'"),
        ([FUNCTORS, "--stub", "gt_stub"], "--stub is for one functor"),
        ([FUNCTORS, "--diff", "--apply"], "not allowed with argument"),
    ],
)
def test_wrong_use(
    repository: Path, capsys: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:  # fmt: skip
    assert call(upstream, *argv, "--pytorch", repository) == 2
    assert message in capsys.readouterr().err


def test_a_folder_that_is_no_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(upstream, "--check", "--pytorch", tmp_path) == 2
    assert f"missing {YAML}" in capsys.readouterr().err
    assert call(migrate, "sgn", "--pytorch", tmp_path) == 2
    assert call(migrate, "a.b", "c.d", "--own", "k", "--pytorch", tmp_path) == 2


# --- numerics --------------------------------------------------------------------------------------------------------


def test_ulps_count_neighbours() -> None:
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        exact = torch.tensor([1.0, 1.5, 100.0, 1e-3], dtype=dtype)
        one_up = torch.nextafter(exact.float(), torch.tensor(torch.inf)) if dtype is torch.float32 else None
        if one_up is None:
            bits = exact.view(torch.int16) + 1
            one_up = bits.view(dtype)
        assert ulps(one_up, exact.double()).tolist() == [1.0] * 4
        assert ulps(exact, exact.double()).tolist() == [0.0] * 4
    special = torch.tensor([torch.nan, torch.inf, 1.0])
    tiny = torch.tensor([2e-39, 1e-6], dtype=torch.float64)
    assert ulps(torch.zeros(2), tiny)[0] == 0, "Metal may flush it"
    assert ulps(torch.zeros(2), tiny)[1] > 1e6
    assert ulps(special, torch.tensor([1.0, 1.0, torch.inf], dtype=torch.float64)).tolist() == [0.0] * 3


def test_measured_errors_are_small(functors: ModuleType) -> None:
    rows = measure(functors.atan2, functors.atan2.reference, 2, functors.atan2.ir.domain)
    assert [r.dtype.name for r in rows] == ["float32", "float16", "bfloat16"]
    for row in rows:
        assert 0 < row.kernel < (4 if row.dtype.name == "float32" else 0.52)
        assert len(row.at) == 2
    assert measure(functors.gt, functors.gt.reference, 2, functors.gt.ir.domain) == []


def test_several_results_have_no_stub(repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "several.py"
    text = "import pymetal\nfrom pymetal import T\n\n@pymetal.unary\ndef both(x: T) -> tuple[T, T]:\n    return x, x\n"
    path.write_text(text, encoding="utf-8")
    assert call(upstream, path, "--pytorch", repository) == 1
    err = capsys.readouterr().err
    assert err.startswith(
        "both has 2 results, and a dispatch stub of PyTorch has one functor\nWrite the Metal file with"
    )
    assert "call exec_unary_kernel for each of both_0, both_1" in err
