"""`native_functions.yaml` is edited line by line, and torchgen reads exactly the intended change."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import pytest
import torchgen
import trees
from hypothesis import given, settings
from hypothesis import strategies as st

from pymetal.errors import PyMetalError
from pymetal.upstream import dispatch_table
from pymetal.upstream.native_functions import NativeFunctions, changed_rows, set_mps_kernel, share_cpu_kernel

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/migrations.json").read_text())
PACKAGED = Path(torchgen.__file__).parent / "packaged/ATen/native"


@functools.cache
def packaged() -> tuple[str, str]:
    """The yaml and the tags of the installed torch."""
    yaml = (PACKAGED / "native_functions.yaml").read_bytes().decode()
    return yaml, (PACKAGED / "tags.yaml").read_text()


def entry(case: dict[str, Any], side: str = "before") -> str:
    """A case as a row of the yaml."""
    lines = "".join(f"    {keys}: {kernel}\n" for keys, kernel in case[side])
    return f"- func: {case['func']}\n  variants: function\n  dispatch:\n{lines}  tags: pointwise\n"


def mps_kernel(dispatch: list[list[str]]) -> str | None:
    """Where MPS points in a case: the rule by which upstream's migrations are compared."""
    return next((kernel for keys, kernel in dispatch if "MPS" in keys.split(", ")), None)


def migrate(text: str, case: dict[str, Any]) -> str:
    """The edit that a case describes."""
    if case["target"] == "own":
        kernel = mps_kernel(case["after"])
        assert kernel is not None
        return set_mps_kernel(text, case["row"], kernel)
    return share_cpu_kernel(text, [case["row"]])


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["row"])
def test_each_migration_reproduces(case: dict[str, Any]) -> None:
    before = entry(case)
    after = migrate(before, case)
    row = NativeFunctions(after)[case["row"]]
    assert row.kernel("MPS") == mps_kernel(case["after"])
    # The other keys lead where they led, MPS aside, and no line is added but one of MPS's own.
    was = NativeFunctions(before).table()[case["row"]]
    now = NativeFunctions(after).table()[case["row"]]
    assert {k: v for k, v in now.items() if k != "MPS"} == {k: v for k, v in was.items() if k != "MPS"}
    assert migrate(after, case) == after


@functools.cache
def unmigrated() -> str:
    """The packaged yaml with every row of the cases as it was before its migration."""
    text = packaged()[0]
    for case in CASES:
        start = text.index(f"- func: {case['row']}(")
        end = text.index("\n- func: ", start + 1)
        lines = "".join(f"    {keys}: {kernel}\n" for keys, kernel in case["before"])
        row, count = re.subn(r"(?m)^  dispatch:\n(?:    [^\n]*\n)+", f"  dispatch:\n{lines}", text[start : end + 1])
        assert count == 1, case["row"]
        text = text[:start] + row + text[end + 1 :]
    return text


def test_all_migrations_reproduce_on_the_packaged_file() -> None:
    before, tags = unmigrated(), packaged()[1]
    after = before
    for case in CASES:
        after = migrate(after, case)
    read = dispatch_table.dispatch_table(after, tags)
    was = dispatch_table.dispatch_table(before, tags)
    rows = {case["row"]: case for case in CASES}
    for name, table in read.items():
        expected: dict[str, str | None] = dict(was[name])
        if name in rows:
            expected["MPS"] = mps_kernel(rows[name]["after"])
        assert table == expected, name
    assert set(changed_rows(before, after)) == set(rows)
    # Every line that is not in a dispatch map of these rows is where and what it was.
    touched = {kernel for case in CASES for side in ("before", "after") for _, kernel in case[side]}
    kept = [line for line in before.split("\n") if line.split(": ")[-1] not in touched]
    assert kept == [line for line in after.split("\n") if line.split(": ")[-1] not in touched]


def test_the_reader_agrees_with_torchgen_on_every_row() -> None:
    yaml, tags = packaged()
    mine = NativeFunctions(yaml).table()
    read = dispatch_table.dispatch_table(yaml, tags)
    assert len(mine) > 2000
    for name, table in mine.items():
        theirs = read.get(name, {})
        if "ufunc_inner_loop" in NativeFunctions(yaml)[name].keys if name == "add.out" else False:
            theirs = {k: v for k, v in theirs.items() if not v.startswith("ufunc_")}
        if table:
            assert table == theirs, name


def joinable(text: str) -> list[str]:
    """The rows whose CPU and CUDA kernels are one, and MPS not yet."""
    file = NativeFunctions(text)
    return [
        name
        for name, row in file.rows.items()
        if (line := row.line("CPU")) and "MPS" not in line.keys and row.kernel("CUDA") in (None, line.kernel)
    ]


def test_every_row_that_can_join_joins() -> None:
    yaml, tags = packaged()
    names = joinable(yaml)
    assert len(names) > 100
    after = share_cpu_kernel(yaml, names)
    file = NativeFunctions(yaml)
    intended = {name: file[name].kernel("CPU") or "" for name in names}
    assert dispatch_table.check_edit(yaml, after, tags, intended) is None
    assert share_cpu_kernel(after, names) == after


def test_torchgen_refuses_an_edit_that_changes_more() -> None:
    before = trees.YAML
    after = share_cpu_kernel(before, ["sgn.out", "atan2.out"])
    with pytest.raises(PyMetalError, match=r"row atan2\.out reads .*'MPS': 'atan2_out'.*not .*'atan2_out_mps'"):
        dispatch_table.check_edit(before, after, trees.TAGS, {"sgn.out": "sgn_out"})
    with pytest.raises(PyMetalError, match="torchgen cannot read the edited"):
        dispatch_table.check_edit(before, after.replace("  dispatch:", "  dispatchh:", 1), trees.TAGS, {})
    with pytest.raises(PyMetalError, match=r"row relu6 is gone"):
        dispatch_table.check_edit(before, before[: before.index("- func: relu6")], trees.TAGS, {})


def test_an_unreadable_file_is_reported_not_refused() -> None:
    future = trees.YAML.replace("SparseCPU, SparseCUDA", "SparseCPU, SparseFuture")
    after = share_cpu_kernel(future, ["sgn.out"])
    warning = dispatch_table.check_edit(future, after, trees.TAGS, {"sgn.out": "sgn_out"})
    assert warning is not None
    assert "SparseFuture" in warning


# --- what upstream writes in odd ways --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ("gt.Scalar_out", "    CPU, CUDA, MPS,MTIA: gt_Scalar_out"),
        ("frac.out", "    CPU, CUDA, MPS: frac_out   # rounds towards zero"),
        ("round.out", "    CPU, MPS: round_out"),
        ("floor_divide", "    CPU, CUDA, MPS, MTIA: floor_divide"),
        ("special_airy_ai.out", "    CPU, CUDA, MPS: special_airy_ai_out"),
    ],
)
def test_odd_lines_survive(row: str, line: str) -> None:
    after = share_cpu_kernel(trees.YAML, [row])
    assert line in after.split("\n")
    removed = set(trees.YAML.split("\n")) - set(after.split("\n"))
    added = set(after.split("\n")) - set(trees.YAML.split("\n"))
    assert added == {line}
    assert all("MPS" in gone or "CPU" in gone for gone in removed)
    assert len(removed) <= 2


@pytest.mark.parametrize(
    ("line", "joined"),
    [
        ('    "CPU, CUDA": frac_out', '    "CPU, CUDA, MPS": frac_out'),
        ("    'CPU, CUDA' : frac_out  # both", "    'CPU, CUDA, MPS' : frac_out  # both"),
        ('    CPU, CUDA: "frac_out"', '    CPU, CUDA, MPS: "frac_out"'),
    ],
)
@pytest.mark.parametrize("own_line", ["    MPS: frac_out_mps\n", '    "MPS": frac_out_mps\n'])
def test_quoted_keys_are_keys(line: str, joined: str, own_line: str) -> None:
    plain = "    CPU, CUDA: frac_out   # rounds towards zero\n"
    text = trees.YAML.replace(plain, line + "\n").replace("    MPS: frac_out_mps\n", own_line)
    after = share_cpu_kernel(text, ["frac.out"])
    assert joined + "\n" in after
    assert "frac_out_mps" not in after
    assert dispatch_table.check_edit(text, after, trees.TAGS, {"frac.out": "frac_out"}) is None
    assert NativeFunctions(text.replace("  dispatch:\n", '  "dispatch":\n')).table() == NativeFunctions(text).table()


def test_a_map_on_one_line_is_refused() -> None:
    text = trees.YAML.replace(
        "  dispatch:\n    CPU, CUDA, MPS: exp_out\n", '  dispatch: {"CPU, CUDA": exp_out}\n'
    )  # fmt: skip
    with pytest.raises(PyMetalError, match="its dispatch map is on one line"):
        share_cpu_kernel(text, ["exp.out"])


def test_comments_in_a_dispatch_map_survive() -> None:
    after = share_cpu_kernel(trees.YAML, ["frac.out", "floor_divide.out"])
    assert "    # the next line is MPSGraph's\n  tags: pointwise\n" in after
    assert "    # CPU and CUDA share a kernel\n    CPU, CUDA, MPS: floor_divide_out\n" in after
    assert "    #MPS: cat_mps\n" in after


def test_mps_leaves_a_line_that_it_shares_with_others() -> None:
    text = trees.YAML.replace("    MPS: sgn_out_mps", "    XPU, MPS, HPU: sgn_out_other")
    after = share_cpu_kernel(text, ["sgn.out"])
    assert "    XPU, HPU: sgn_out_other\n" in after
    text = trees.YAML.replace("    MPS: sgn_out_mps", "    MPS,  XPU: sgn_out_other")
    assert "    XPU: sgn_out_other\n" in share_cpu_kernel(text, ["sgn.out"])
    text = trees.YAML.replace("    MPS: sgn_out_mps", "    XPU, MPS: sgn_out_other")
    assert "    XPU: sgn_out_other\n" in share_cpu_kernel(text, ["sgn.out"])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("sgn", r"sgn has no CPU kernel .*delegates to sgn\.out, which is the row to migrate"),
        ("add.out", "come from ufunc code generation"),
        ("addr", "CPU has the kernel addr_cpu, CUDA has addr_cuda"),
        ("relu6", "it has no dispatch map, so it is composed"),
        ("sgm.out", r"no row 'sgm\.out'; did you mean 'sgn\.out'"),
        ("atan2.outt", r"no row 'atan2\.outt'\n.*Its overloads: atan2\.out, atan2"),
    ],
)
def test_rows_that_cannot_join_are_refused(row: str, message: str) -> None:
    with pytest.raises(PyMetalError, match=message):
        share_cpu_kernel(trees.YAML, [row])


def test_a_line_of_its_own() -> None:
    after = set_mps_kernel(trees.YAML, "gcd.out", "gcd_out_mps")
    assert "    CPU, CUDA: gcd_out\n    MPS: gcd_out_mps\n  tags: pointwise\n" in after
    assert set_mps_kernel(after, "gcd.out", "gcd_out_mps") == after
    assert "    MPS: gcd_out_other\n" in set_mps_kernel(after, "gcd.out", "gcd_out_other")
    with pytest.raises(PyMetalError, match=r"hypot\.out: MPS shares hypot_out with CPU, CUDA"):
        set_mps_kernel(trees.YAML, "hypot.out", "hypot_out_mps")
    with pytest.raises(PyMetalError, match="relu6 has no dispatch map"):
        set_mps_kernel(trees.YAML, "relu6", "relu6_mps")


def test_the_operator_of_a_row() -> None:
    file = NativeFunctions(packaged()[0])
    assert file["gt.Scalar_out"].op == "gt"
    assert file["hardswish_"].op == "hardswish"
    assert file["__lshift__.Tensor"].op == "__lshift__"
    assert file["_prelu_kernel"].op == "_prelu_kernel"
    assert {r.name for r in file.of_operator("hardswish")} == {"hardswish.out", "hardswish", "hardswish_"}


# --- properties ------------------------------------------------------------------------------------------------------

KEYS = st.sampled_from(["SparseCPU", "QuantizedCPU", "MkldnnCPU", "SparseCUDA", "XPU", "MTIA", "HPU", "SparseMPS"])
NOISE = st.sampled_from(["    # MPS: commented_out\n", "  # CPU, CUDA: no\n", "\n", "    #MPS: x\n", "#    MPS: y\n"])
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def rows(draw: st.DrawFn, name: str = "op.out") -> tuple[str, bool]:
    """A row that MPS can join, in some odd layout, and whether MPS has a line of its own."""
    comma = st.sampled_from([", ", ",", " , ", ",  "])
    cpu = ["CPU", "CUDA", *draw(st.lists(st.sampled_from(["MTIA", "XPU"]), unique=True, max_size=2))]
    cpu = draw(st.permutations(cpu))
    joined = cpu[0] + "".join(draw(comma) + key for key in cpu[1:])
    own_line = draw(st.booleans())
    used = set(cpu)
    others = [k for k in draw(st.lists(KEYS, unique=True, max_size=3)) if k not in used]
    colon = draw(st.sampled_from([": ", ":  ", " : "]))
    lines = [f"    {joined}{colon}op_out\n"] + [f"    {k}: op_{k.lower()}\n" for k in others]
    lines += ["    MPS: op_out_mps\n"] if own_line else []
    lines = draw(st.permutations(lines))
    for _ in range(draw(st.integers(0, 3))):
        lines.insert(draw(st.integers(0, len(lines))), draw(NOISE))
    keys = ["  variants: function\n", "  dispatch:\n" + "".join(lines), "  tags: [core, pointwise]   # both\n"]
    body = "".join(draw(st.permutations(keys)))
    return f"- func: {name}(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n{body}", own_line


@st.composite
def yaml_files(draw: st.DrawFn) -> tuple[str, dict[str, bool]]:
    """A file of several such rows, with comments between them."""
    names = [f"op{i}.out" for i in range(draw(st.integers(1, 4)))]
    text, own_lines = "# A comment\n\n", {}
    for name in names:
        row, own_lines[name] = draw(rows(name))
        text += row + draw(st.sampled_from(["\n", "\n# between\n\n", "", "\n#- func: gone(Tensor a) -> Tensor\n"]))
    return text.replace("\n", draw(ENDS)), own_lines


@given(yaml_files(), st.data())
@settings(max_examples=300, deadline=None)
def test_nothing_but_the_rows_lines_changes(file: tuple[str, dict[str, bool]], data: st.DataObject) -> None:
    text, own_lines = file
    chosen = data.draw(st.lists(st.sampled_from(sorted(own_lines)), unique=True))
    after = share_cpu_kernel(text, chosen)
    expected = []
    row = None
    for line in text.split("\n"):
        if line.startswith("- func: "):
            row = line.split("(")[0].removeprefix("- func: ")
        if row in chosen and re.fullmatch(r"    MPS: op_out_mps\r?", line):
            continue
        keys = line.split(":")[0]
        if (
            row in chosen
            and line.startswith("    ")
            and re.search(r"\bCPU\b", keys)
            and not line.lstrip().startswith("#")
        ):
            line = re.sub(r"\bCUDA\b", "CUDA, MPS", keys, count=1) + line[len(keys) :]
        expected.append(line)
    assert after == "\n".join(expected)
    assert share_cpu_kernel(after, chosen) == after  # idempotent
    table, was = NativeFunctions(after).table(), NativeFunctions(text).table()
    for name in own_lines:
        wanted = {**was[name], "MPS": "op_out"} if name in chosen else was[name]
        assert table[name] == wanted


@given(yaml_files())
@settings(max_examples=100, deadline=None)
def test_the_reader_agrees_with_a_yaml_parser(file: tuple[str, dict[str, bool]]) -> None:
    import yaml

    text, _ = file
    loaded = {}
    for item in yaml.safe_load(text):
        dispatch = {k.strip(): v for keys, v in item["dispatch"].items() for k in keys.split(",")}
        loaded[item["func"].split("(")[0]] = dispatch
    assert NativeFunctions(text).table() == loaded


@pytest.mark.parametrize("text", ["", "a: 1\n", "\x00\x01\ufffd", "- [1, 2]\n", "- func\n"])
def test_a_file_without_rows_is_refused(text: str) -> None:
    with pytest.raises(PyMetalError, match="has no row `- func"):
        NativeFunctions(text)
