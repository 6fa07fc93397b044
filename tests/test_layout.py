"""The layout of emitted text, against clang-format itself."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import clang_format
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout_texts import piece

from pymetal.codegen.layout import layout

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.metal"))
JUDGED = pytest.mark.skipif(not clang_format.available(), reason="there is no clang-format")
SEPARATOR = "#pragma piece"


def judged(pieces: list[str]) -> list[str]:
    """The pieces as clang-format lays them out; it runs once for all."""
    text = clang_format.clang_format(f"\n{SEPARATOR}\n\n".join(pieces))
    return [part.strip("\n") for part in text.split(SEPARATOR)]


def tokens(text: str) -> list[str]:
    """All that layout may not change: tokens, and the words of comments."""
    return re.findall(r"\w+|[^\w\s]", re.sub(r"^ *// ?", "", text, flags=re.MULTILINE))


@JUDGED
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_texts(path: Path) -> None:
    text = path.read_text(encoding="ascii")
    assert layout(text) == clang_format.clang_format(text)


@JUDGED
@pytest.mark.parametrize("size", [2, 4, 6, 10])
def test_random_texts(size: int) -> None:
    random = Random(size)
    pieces = [piece(random, size) for _ in range(100)]
    for text, wanted in zip(pieces, judged(pieces), strict=True):
        assert layout(text).strip("\n") == wanted


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 30), st.integers(1, 12))
def test_tokens_stay_and_lines_fit(seed: int, size: int) -> None:
    text = piece(Random(seed), size)
    out = layout(text)
    assert tokens(out) == tokens(text)
    assert layout(out) == out
    for line in out.splitlines():
        assert len(line) <= 80 or " " not in line.strip()


def test_text_that_fits_stays() -> None:
    text = "struct f_functor {\n  inline float operator()(const float x) {\n    return x;\n  }\n};\n"
    assert layout(text) is text
