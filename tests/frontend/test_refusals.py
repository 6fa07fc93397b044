"""docs/refusals.md: every refusal is there, every example earns the message shown, every way out works."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from pymetal.frontend.refusals import CONSTRUCTS, REFUSALS

ROOT = Path(__file__).parents[2]


def _tool() -> Any:
    spec = importlib.util.spec_from_file_location("refusal_table", ROOT / "tools" / "refusal_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["refusal_table"] = module
    spec.loader.exec_module(module)
    return module


tool = _tool()
PAGE = tool.PAGE.read_text(encoding="utf-8")
SECTIONS = {s.number: s for s in tool.sections(PAGE)}


def test_every_row_has_a_section_and_every_section_a_row() -> None:
    assert sorted(SECTIONS) == sorted(row.code for row in REFUSALS.values())
    assert list(SECTIONS) == sorted(SECTIONS), "in the order of the numbers"


def test_numbers_are_given_once() -> None:
    numbers = [row.number for row in REFUSALS.values()]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("number", SECTIONS)
def test_examples(number: str, tmp_path: Path) -> None:
    """The whole message, caret included; and that each section has both a refusal and a way out."""
    refused = [e for e in SECTIONS[number].examples if e.message is not None]
    ways = [e for e in SECTIONS[number].examples if e.message is None]
    assert refused, "an example shows that the row can be reached"
    assert ways
    for example in refused:
        message = tool.message(example.code, tmp_path)
        assert message == example.message, example.code
        first, line, caret, *hint = message.splitlines()
        assert re.match(rf"functor\.py:\d+:\d+: {number}: ", first)
        assert line.strip() in example.code
        assert re.fullmatch(r"\s+\^+", caret)
        assert hint
    for example in ways:
        assert tool.message(example.code, tmp_path) is None, example.code


@pytest.mark.parametrize("slug", REFUSALS)
def test_message_is_the_row_s_template(slug: str) -> None:
    """What stands on the page is what the row says, and the words between its fields are all there."""
    row = REFUSALS[slug]
    words = [re.escape(part) for part in re.split(r"\{.*?\}", row.message)]
    shown = [e.message.splitlines()[0] for e in SECTIONS[row.code].examples if e.message is not None]
    assert any(re.search(".*".join(words), message) for message in shown)


def test_every_construct_that_is_refused_is_shown() -> None:
    shown = "".join(e.message for s in SECTIONS.values() for e in s.examples if e.message is not None)
    for class_, (what, _) in CONSTRUCTS.items():
        if class_.__name__ not in LATER:
            assert what in shown, class_.__name__


# Seen only inside another construct that is refused first, or not in every Python.
LATER = {"AsyncFor", "AsyncWith", "Await", "Slice", "Starred", "FormattedValue", "TryStar", "TypeAlias"}


def test_the_page_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["--check"]) == 0, capsys.readouterr().err
