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

from examples.aten import load
from pymetal.codegen.layout import RELEASE, layout
from pymetal.ir import Member
from pymetal.ops import TABLE

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.metal"))
MEMBERS = {op.name: op.text.definition for op in TABLE.values() if isinstance(op.text, Member)}
JUDGED = pytest.mark.skipif(not clang_format.available(), reason="there is no clang-format")
SEPARATOR = "#pragma piece"


def judged(pieces: list[str]) -> list[str]:
    """The pieces as clang-format lays them out; it runs once for all."""
    text = clang_format.clang_format(f"\n{SEPARATOR}\n\n".join(pieces))
    return [part.strip("\n") for part in text.split(SEPARATOR)]


def laid_out(text: str) -> str:
    return layout(text, clang_format.release())


def tokens(text: str) -> list[str]:
    """All that layout may not change: tokens, and the words of comments."""
    return re.findall(r"\w+|[^\w\s]", re.sub(r"^ *// ?", "", text, flags=re.MULTILINE))


# Emitted text has the layout of one release.
SAME_RELEASE = pytest.mark.skipif(
    not clang_format.available() or clang_format.release() < RELEASE, reason="needs the clang-format of the layout"
)


@SAME_RELEASE
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_texts(path: Path) -> None:
    text = layout(path.read_text(encoding="ascii"))
    assert text == clang_format.clang_format(text)


@SAME_RELEASE
def test_gallery() -> None:
    texts = {name: layout(functor.metal_source) for name, functor in load().items()}
    for text, wanted in zip(texts.values(), judged(list(texts.values())), strict=True):
        assert text.strip("\n") == wanted


@JUDGED
def test_functions_of_rows() -> None:
    free = [text.replace("static inline", "inline") for text in MEMBERS.values()]
    for text, wanted in zip(free, judged(free), strict=True):
        assert laid_out(text).strip("\n") == wanted


# By size, how many pieces of what is printed.
@JUDGED
@pytest.mark.parametrize(("size", "count"), [(2, 100), (4, 150), (6, 100), (10, 40)])
def test_random_texts(size: int, count: int) -> None:
    random = Random(size)
    pieces = [piece(random, size) for _ in range(count)]
    for text, wanted in zip(pieces, judged(pieces), strict=True):
        assert laid_out(text).strip("\n") == wanted


@pytest.mark.parametrize("release", [19, 20, 21, 22, 23])
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 30), st.integers(1, 9))
def test_tokens_stay_and_layout_is_stable(release: int, seed: int, size: int) -> None:
    text = piece(Random(seed), size)
    out = layout(text, release)
    assert tokens(out) == tokens(text)
    assert layout(out, release) == out


def test_text_that_fits_stays() -> None:
    text = "struct f_functor {\n  inline float operator()(const float x) {\n    return x;\n  }\n};\n"
    assert layout(text) is text


def statement(text: str, release: int = 23) -> str:
    """A statement of a function's body, laid out."""
    head, end = "inline float f(const float x) {\n", "}\n"
    out = layout(f"{head}  {text}\n{end}", release)
    assert out.startswith(head)
    assert out.endswith(end)
    return out[len(head) : -len(end)]


def test_operands() -> None:
    """Without clang-format at hand: sums and products are broken after operators."""
    text = "const float rest = first_of_many_products * second_of_many + third_of_many_products * fourth;"
    assert statement(text) == (
        "  const float rest =\n      first_of_many_products * second_of_many + third_of_many_products * fourth;\n"
    )


def test_arguments() -> None:
    """All arguments on the next line, else each on its own."""
    call = "value = some_function(first_argument_of_many, second_argument_of_many, third_argument{});"
    assert statement(call) == (
        "  value = some_function(\n"
        "      first_argument_of_many, second_argument_of_many, third_argument{});\n"
    )  # fmt: skip
    call = "value = some_function(first_argument_of_many, second_argument_of_many, third_argument{}, fourth_of_all);"
    assert statement(call) == (
        "  value = some_function(\n"
        "      first_argument_of_many,\n"
        "      second_argument_of_many,\n"
        "      third_argument{},\n"
        "      fourth_of_all);\n"
    )  # fmt: skip


def test_conditionals() -> None:
    text = "return metal::isnan(x) ? first_of_many_values : x < 0.0f ? second_of_many_values : third_of_many;"
    assert statement(text) == (
        "  return metal::isnan(x) ? first_of_many_values\n"
        "      : x < 0.0f         ? second_of_many_values\n"
        "                         : third_of_many;\n"
    )  # fmt: skip


def test_releases() -> None:
    """clang-format 19, which PyTorch's linter ran in 2025, breaks later in nested calls than 23."""
    call = (
        "value = metal::fabs(logistic(metal::clamp(first_argument_of_many, second_argument_of_many, third_of_many)));"
    )
    assert statement(call, 19) == (
        "  value = metal::fabs(logistic(metal::clamp(\n"
        "      first_argument_of_many, second_argument_of_many, third_of_many)));\n"
    )  # fmt: skip
    assert statement(call, 23) == (
        "  value = metal::fabs(logistic(\n"
        "      metal::clamp(\n"
        "          first_argument_of_many, second_argument_of_many, third_of_many)));\n"
    )  # fmt: skip


def test_comments() -> None:
    words = "a comment whose words do not all fit into one line of eighty columns, so that some of them"
    assert layout(f"// {words}\n// go below.\n") == (
        "// a comment whose words do not all fit into one line of eighty columns, so that\n// some of them go below.\n"
    )
