"""Entries leave the lists of `common_mps.py`; everything else in the file stays."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch
import trees
from hypothesis import given, settings
from hypothesis import strategies as st

from pymetal.upstream.checkout import COMMON_MPS, Checkout
from pymetal.upstream.opinfos import decorators, opinfo_keys
from pymetal.upstream.test_lists import clear_text, default_keys, join_complex_text

INSTALLED = Path(torch.__file__).parent.parent
FLOATS = {"float32", "float16", "bfloat16"}


def lists(text: str) -> dict[str, object]:
    """The lists of a file, read by Python: an independent reading of what an edit left."""
    found: dict[str, object] = {}
    for node in ast.walk(ast.parse(text)):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and isinstance(node, (ast.Assign, ast.AnnAssign)) and "LIST" in target.id:
            value = node.value
            if isinstance(value, ast.Dict):
                pairs = zip(value.keys, value.values, strict=True)
                found[target.id] = {ast.literal_eval(k): ast.unparse(v) for k, v in pairs if k}
            elif isinstance(value, (ast.Set, ast.List)):
                found[target.id] = [ast.literal_eval(e) for e in value.elts]
            else:
                found[target.id] = ast.unparse(value) if value is not None else None
    return found


def test_entries_of_the_operator_leave_every_list() -> None:
    text, removed = clear_text(trees.COMMON_MPS[trees.OLD], {"atan2"}, None)
    assert [(r.list, r.key) for r in removed] == [
        ("UNDEFINED_XFAILLIST", "atan2"), ("SKIPLIST", "atan2"), ("XFAILLIST_GRAD", "atan2"),
    ]  # fmt: skip
    before, after = lists(trees.COMMON_MPS[trees.OLD]), lists(text)
    assert after["UNDEFINED_XFAILLIST"] == {"put": "None"}
    assert after["SKIPLIST"] == "set()"
    assert after["UNIMPLEMENTED_XFAILLIST"] == before["UNIMPLEMENTED_XFAILLIST"]
    assert '"atan2",\n        }\n\n        # Those' in text  # SUPPORTED_COMPLEX_OPS is no list of failures


def test_entries_keep_the_dtypes_that_the_kernel_has_not() -> None:
    text, removed = clear_text(trees.COMMON_MPS[trees.OLD], {"sgn", "frac"}, FLOATS)
    assert [(r.key, r.kept) for r in removed] == [("sgn", ("bool",)), ("frac", ("int64",))]
    assert '            "sgn": [torch.bool],\n' in text
    assert '            # "sgn": None,\n' in text
    assert '            "frac": [\n                torch.int64,  # never\n            ],\n' in text
    again, removed = clear_text(text, {"sgn", "frac"}, FLOATS)
    assert (again, removed) == (text, [])


def test_complex_operators_leave_the_inverted_list() -> None:
    new = trees.COMMON_MPS[trees.NEW]
    assert '            "sgn",\n' in clear_text(new, {"sgn"}, FLOATS)[0]
    text, removed = clear_text(new, {"sgn"}, {*FLOATS, "bool", "complex64"})
    assert [r.list for r in removed] == ["UNSUPPORTED_COMPLEX_OPS", "UNIMPLEMENTED_XFAILLIST"]
    assert '"sgn"' not in text


def test_complex_operators_join_the_list_of_older_releases() -> None:
    old = trees.COMMON_MPS[trees.OLD]
    text, added = join_complex_text(old, ["sgn", "atan2"])
    assert [(a.list, a.key) for a in added] == [("SUPPORTED_COMPLEX_OPS", "sgn")]
    assert '            "atan2",\n            "sgn",\n        }\n' in text
    assert join_complex_text(text, ["sgn", "atan2"]) == (text, [])
    new = trees.COMMON_MPS[trees.NEW]
    assert join_complex_text(new, ["sgn"]) == (new, [])


def test_the_installed_list_of_complex_operators() -> None:
    text = (INSTALLED / COMMON_MPS).read_text()
    edited, added = join_complex_text(text, ["heaviside"])
    if "UNSUPPORTED_COMPLEX_OPS" in text:
        assert not added
        return
    assert len(edited.split("\n")) == len(text.split("\n")) + 1
    sets = [n.value for n in ast.walk(ast.parse(edited)) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Set)]
    assert sum("heaviside" in {e.value for e in s.elts if isinstance(e, ast.Constant)} for s in sets) == 1


@pytest.mark.parametrize("generation", trees.GENERATIONS)
def test_an_operator_without_entries_changes_nothing(generation: str) -> None:
    text = trees.COMMON_MPS[generation]
    assert clear_text(text, {"sin", "special.erf"}, None) == (text, [])


def test_the_installed_file() -> None:
    text = (INSTALLED / COMMON_MPS).read_text()
    before = lists(text)
    named = {k for v in before.values() if isinstance(v, (dict, list)) for k in v}
    assert len(named) > 100
    for key in sorted(named)[::7]:
        edited, removed = clear_text(text, {key}, None)
        assert removed
        after = lists(edited)
        for name, entries in before.items():
            if isinstance(entries, dict):
                assert after[name] == {k: v for k, v in entries.items() if k != key}
            elif isinstance(entries, list):
                assert after[name] in ([k for k in entries if k != key], "set()")


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_layout_of_a_list(data: st.DataObject) -> None:
    names = st.sampled_from(["a", "b", "cé", "d.e", "f"])
    keys = data.draw(st.lists(names, unique=True, min_size=1))
    gap = st.sampled_from([" ", "\n        ", "  # note\n        ", "\n\n        # about\n        "])
    value = st.sampled_from(["None", "[torch.half]", "[\n            torch.half,\n            torch.bool,\n        ]"])
    text = "def modifier():\n    X_XFAILLIST = {"
    for i, key in enumerate(keys):
        last = i == len(keys) - 1
        comma = data.draw(st.sampled_from([",", ""])) if last else ","
        text += f'{data.draw(gap)}"{key}": {data.draw(value)}{comma}'
    text += data.draw(st.sampled_from(["}", "\n    }"])) + "\n    return 1\n"
    gone = set(data.draw(st.lists(st.sampled_from(keys), unique=True)))
    edited, removed = clear_text(text, gone, None)
    assert {r.key for r in removed} == gone
    before, after = lists(text)["X_XFAILLIST"], lists(edited)["X_XFAILLIST"]
    assert isinstance(before, dict)
    assert after == {k: v for k, v in before.items() if k not in gone}
    kept = [line for line in text.split("\n") if line.strip().startswith("# about")]
    assert [line for line in edited.split("\n") if line.strip().startswith("# about")] == kept


def test_opinfos_say_how_an_operator_is_called() -> None:
    checkout = Checkout(INSTALLED)
    keys = {info.key for info in opinfo_keys(checkout, {"div", "special_erfcx", "silu", "heaviside"})}
    assert keys == {
        "divno_rounding_mode", "divtrunc_rounding", "divfloor_rounding", "special.erfcx", "nn.functional.silu",
        "nn.functional.silucomplex", "heaviside",
    }  # fmt: skip


def test_installed_decorators_are_found() -> None:
    checkout = Checkout(INSTALLED)
    found = decorators(checkout, opinfo_keys(checkout, {"heaviside"}))
    lines = (INSTALLED / "torch/testing/_internal/common_methods_invocations.py").read_text().split("\n")
    assert found
    for decorator in found:
        assert "mps" in lines[decorator.line - 1].lower()


def test_default_keys() -> None:
    assert default_keys({"special_erfcx"}) >= {"special.erfcx", "special_erfcx"}
    assert default_keys({"silu"}) == {"silu", "nn.functional.silu"}
