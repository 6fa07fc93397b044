"""docs/language.md: every block of Python runs, and prints what stands under it."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))


def _tool() -> Any:
    spec = importlib.util.spec_from_file_location("refusal_table", ROOT / "tools" / "refusal_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["refusal_table"] = module
    spec.loader.exec_module(module)
    return module


tool = _tool()
EXAMPLES = [(title, *block) for title, text in SECTIONS.items() for block in BLOCK.findall(text)]


@pytest.mark.host
@pytest.mark.parametrize(("title", "code", "output"), EXAMPLES, ids=[title for title, _, _ in EXAMPLES])
def test_example(title: str, code: str, output: str, tmp_path: Path) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        tool.run(code, tmp_path)
    assert printed.getvalue() == output


def test_every_section_has_an_example() -> None:
    assert set(SECTIONS) - {title for title, _, _ in EXAMPLES} <= {"What is refused"}


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([\w./-]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
