# ruff: noqa: E501 - a body is one line of the table
"""Unrolled loops: their variable is Python's, wherever the loop stands and whatever is done with the name."""

from __future__ import annotations

import re
from pathlib import Path

import bodies
import differential
import pytest
import toolbox
import torch

from pymetal import PyMetalError

BODIES = {
    "in a branch": "q = 0\nif a > 0:\n    for q in pymetal.static_range(3):\n        a = a + 1\nreturn a + q",
    "in a branch of two, first set there": (
        "if a > 0:\n    for q in pymetal.static_range(3):\n        a = a + 1\nelse:\n    q = 5\nreturn a + q"
    ),
    "in both branches": (
        "if a > 0:\n    for q in pymetal.static_range(3):\n        a = a + q\nelse:\n"
        "    for q in WEIGHTS:\n        a = a - q\nreturn a * 10 + q"
    ),
    "in a loop": "q = 0\nfor i in range(2):\n    for q in pymetal.static_range(3):\n        a = a + 1\nreturn a + q",
    "in a loop that sets it first": "for i in range(2):\n    for q in pymetal.static_range(3):\n        a = a + 1\nreturn a + q",
    "in a while loop": (
        "q = n = 0\nwhile n < N(b):\n    n += 1\n    a = a + q\n    for q in pymetal.static_range(3):\n        a = a + 1\nreturn a + q"
    ),
    "read in the next round": (
        "q = 9\nfor i in range(3):\n    a = a * 2 + q\n    for q in pymetal.static_range(4):\n        a = a + 1\nreturn a"
    ),
    "changed after the loop, in a branch": (
        "q = 0\nif a > 0:\n    for q in pymetal.static_range(3):\n        a = a + 1\n    q = q + 1\nreturn a + q"
    ),
    "set after the loop, in a branch": (
        "q = 0\nif a > 0:\n    for q in pymetal.static_range(3):\n        a = a + 1\n    q = a\nreturn a + q"
    ),
    "over a table, in a branch": "q = 0\nif a > 0:\n    for q in WEIGHTS:\n        a = a + 1\nreturn a + q",
    "over a table of both types, in a branch": (
        "q = 0\nif a > 0:\n    for q in MIXED:\n        b = b + 1\nreturn a + b if q < 1 else a - b"
    ),
    "over a table of both types, in a loop": (
        "q = 7\nfor i in range(3):\n    if a > i:\n        for q in MIXED:\n            if b > 2:\n                q = q * 2\nreturn a + b if q < 1 else a - b"
    ),
    "without rounds, in a branch": "q = 4\nif a > 0:\n    for q in pymetal.static_range(0):\n        a = a + 1\nreturn a + q",
    "assigned in a nested branch": (
        "for d in pymetal.static_range(4):\n    if a > 0:\n        d = d + 1\n    a = a + d\nreturn a * 10 + d"
    ),
    "assigned in a nested branch, read after the loop only": (
        "for d in pymetal.static_range(4):\n    if a > b:\n        d = d + 1\nreturn a * 10 + d"
    ),
    "assigned in a nested for loop": (
        "for d in pymetal.static_range(4):\n    for i in range(N(a)):\n        d = d + i\n    a = a + d\nreturn a * 10 + d"
    ),
    "assigned in a nested while loop": (
        "for d in pymetal.static_range(4):\n    while d < 2:\n        d = d + 1\n        a = a + 1\nreturn a * 10 + d"
    ),
    "assigned in a branch after the loop": (
        "for d in pymetal.static_range(4):\n    a = a + d\nif a > b:\n    d = d + 1\nreturn a * 10 + d"
    ),
    "assigned in a loop after the loop": (
        "for d in WEIGHTS:\n    a = a + d\nfor i in range(3):\n    a = a + d\n    d = d + i\nreturn a * 10 + d"
    ),
    "a table's variable assigned in a branch": "for c in WEIGHTS:\n    if a > b:\n        c = c * 2\n    a = a + c\nreturn a + c",
    "assigned another type in a branch": (
        "for d in pymetal.static_range(3):\n    if a > b:\n        d = d * b\n    a = a + d\nreturn a + d"
    ),
    "all of it, in a branch in a loop": (
        "d = 8\nfor i in range(3):\n    if a > i:\n        for d in pymetal.static_range(3):\n            if b > d:\n                d = d + i\n"
        "            a = a + d\n        d = d + 1\n    a = a - d\nreturn a * 10 + d"
    ),
    "assigned in every round": "for d in pymetal.static_range(3):\n    d = d * 2\n    a = a + d\nreturn a * 10 + d",
    "assigned in every round, in a branch": (
        "d = 0\nif a > 0:\n    for d in pymetal.static_range(3):\n        d = d * 2\n        a = a + d\nreturn a * 10 + d"
    ),
    "nested, with one name": (
        "q = 6\nif a > 0:\n    for q in pymetal.static_range(2):\n        a = a + q\n        for q in WEIGHTS:\n            b = b + q\n        a = a * q\n"
        "return a + b + q"
    ),
    "nested loops, both read afterwards": (
        "if a > 0:\n    for q in pymetal.static_range(2):\n        for r in pymetal.static_range(3):\n            a = a + q * r\n"
        "else:\n    q, r = 7, 8\nreturn a * 100 + q * 10 + r"
    ),
    "one variable, a counted loop after an unrolled one": (
        "for q in pymetal.static_range(3):\n    a = a + q\nfor q in range(N(b)):\n    a = a + q\nreturn a * 10 + q"
    ),
    "a parameter is the variable": "for a in pymetal.static_range(3):\n    if b > 1:\n        a = a + 1\n    b = b + a\nreturn b * 10 + a",
    "a parameter is the variable, in a branch": "if b > 1:\n    for a in WEIGHTS:\n        b = b + a\nreturn b * 10 + a",
    "a return in a round, in a branch": (
        "q = 5\nif a > 0:\n    for q in pymetal.static_range(3):\n        if b > q:\n            return T(q)\nreturn a + q"
    ),
    "swapped with another name": (
        "r = 5\nfor q in pymetal.static_range(3):\n    if a > b:\n        q, r = r, q\n    a = a + q * 10 + r\nreturn a + q"
    ),
    "a table read at it before it changes": (
        "for q in pymetal.static_range(3):\n    a = a + WEIGHTS[q]\n    if a > b:\n        q = q * 2\n    a = a + q\nreturn a + q"
    ),
    "another type before the loop": (
        "q = a > b\nif q:\n    a = a + 1\nfor q in pymetal.static_range(3):\n    if a > 1:\n        q = q + 1\n    a = a + q\nreturn a + q"
    ),
    "in a loop's first round it is a constant": (
        "q = 3\nfor q in pymetal.static_range(1, 3):\n    a = a + q\nfor i in range(3):\n    b = b + 12 // q\n    if a > i:\n        q = q + 1\nreturn a + b"
    ),
    "without a reader in a loop": "for i in range(3):\n    for q in pymetal.static_range(3):\n        a = a + q\nreturn a",
    "over numbers written there": "for q in (5, -7, LIMIT):\n    a = a * 2 + q\nreturn a + q",
    "over a list written there, in a branch": "q = 0\nif a > b:\n    for q in [1, 2]:\n        b = b + q\nreturn a * b + q",
    "over no numbers": "q = 2\nfor q in ():\n    a = a + q\nreturn a + q",
    "set in a constant loop": "for i in range(4, -1, -2):\n    y = a + i\nreturn y",
    "set in nested constant loops": (
        "for i in range(3):\n    for j in range(2):\n        y = a + i * j\n        z = y\nreturn y * 10 + z + i + j"
    ),
    "set before each way out of a round": (
        "for i in range(3):\n    if a > i:\n        y = b\n        continue\n    if b > i:\n        y = a\n        break\n    y = i\nreturn y + i"
    ),
    "set in an unrolled loop in a constant one": (
        "for i in range(3):\n    for q in WEIGHTS:\n        y = a + q\n    if a > b:\n        q = q + i\nreturn y * 10 + q"
    ),
    "what is read after a constant loop that always returns": (
        "if a > b:\n    y = a\n    z = b\nelse:\n    y = z = b + 1\nfor i in range(3):\n    z = 2\n    return a + i\nreturn y + z"
    ),
    "what is read after a constant loop that may return": (
        "if a > b:\n    y = a\n    z = b\nelse:\n    y = z = b + 1\nfor i in range(3):\n    if a > i:\n        return z\n    z = i + b\nreturn y + z"
    ),
    "what is read after a constant loop that sets it and always returns": (
        "if a > b:\n    for k in WEIGHTS:\n        a = a + k\nelse:\n    k = 0\nfor i in range(3):\n    for k in WEIGHTS:\n"
        "        return b + k\nreturn a + k"
    ),
    "a constant loop that always returns": "for i in range(3):\n    return a + i\nreturn b",
}  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, differential.Program]:
    return bodies.load(tmp_path_factory.mktemp("unrolled"), BODIES)


@pytest.mark.host
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_unrolled_loops(programs: dict[str, differential.Program], dtype: torch.dtype) -> None:
    bodies.check(programs, dtype)


def test_a_variable_that_nothing_reads_leaves_no_text(programs: dict[str, differential.Program]) -> None:
    text = programs["without a reader in a loop"].functor.functor_source
    assert not re.search(r"\bq\b", text), text


def test_what_nothing_reads_leaves_no_text(tmp_path: Path) -> None:
    body = "q, _ = divmod(a, LIMIT)\nd = q\nd = d\nfor i in range(3):\n    i = b\n    d += 1\nt = d * 2\nreturn d"
    text = toolbox.load(tmp_path, bodies.CONSTANTS + bodies.text(0, body)).f0.functor_source
    assert not re.search(r"\b(_|t|i) =|d = d;|%", text), text


NESTED = "for i in pymetal.static_range(1024):\n    for j in {}:\n        a = a + j\nreturn a"
LARGE = {
    "nested": (NESTED.format("pymetal.static_range(1024)"), "PM045: unrolling 1024 iterations 1024 times"),
    "nested, in a loop": (
        "for i in pymetal.static_range(40):\n    for k in range(3):\n        for j in pymetal.static_range(40):\n            a = a + j\nreturn a",
        "PM045: unrolling 40 iterations 40 times",
    ),
    "a tuple, nested": (NESTED.format("WEIGHTS"), "PM045: unrolling 3 iterations 1024 times"),
    "a large tuple": ("for c in LARGE:\n    a = a + c\nreturn a", "PM045: unrolling 100000 iterations"),
    "a huge range": (
        "for i in pymetal.static_range(10**30):\n    a = a + i\nreturn a",
        f"PM045: unrolling {10**30} iterations",
    ),
    "an array": ("for i in range(100000):\n    a = a + LARGE[i]\nreturn a", "PM057: LARGE has 100000 numbers"),
}


@pytest.mark.parametrize("title", LARGE)
def test_what_is_too_large_is_refused(title: str, tmp_path: Path) -> None:
    body, message = LARGE[title]
    with pytest.raises(PyMetalError, match=message) as caught:
        toolbox.load(tmp_path, bodies.CONSTANTS + "LARGE = tuple(range(100000))\n" + bodies.text(0, body))
    assert caught.value.span is not None
    assert caught.value.span.text.strip() in body


def test_as_many_rounds_as_may_be(tmp_path: Path) -> None:
    body = "y = 0\nfor i in pymetal.static_range(32):\n    for j in pymetal.static_range(32):\n        y = i + j\nreturn a + y"
    assert toolbox.load(tmp_path, bodies.text(0, body)).f0.functor_source.count("y = ") == 1025


@pytest.mark.parametrize(
    "values", ["a", "(1, 'x')", "range(3) if a else (1, 2)", "zip(a, WEIGHTS)", "enumerate(range(N(a)))"]
)
def test_a_loop_over_what_is_no_sequence_is_refused(values: str, tmp_path: Path) -> None:
    with pytest.raises(
        PyMetalError, match=r"PM045: .*(a loop over|bounds that are not constants)|PM033|PM032"
    ) as caught:
        toolbox.load(
            tmp_path, bodies.CONSTANTS + bodies.ROUNDS + bodies.text(0, f"for q in {values}:\n    a = a + q\nreturn a")
        )
    assert caught.value.span is not None


@pytest.mark.parametrize("way", ["break", "continue"])
@pytest.mark.parametrize(
    ("values", "over"),
    [("WEIGHTS", "over a tuple"), ("(3, 1)", "over a tuple"), ("pymetal.static_range(3)", "static_range")],
)
def test_leaving_an_unrolled_loop_names_what_it_runs_over(way: str, values: str, over: str, tmp_path: Path) -> None:
    with pytest.raises(PyMetalError, match=f"PM052: `{way}` in a loop .*{over}") as caught:
        toolbox.load(
            tmp_path, bodies.CONSTANTS + bodies.text(0, f"for q in {values}:\n    if a > q:\n        {way}\nreturn a")
        )
    assert ("static_range" in str(caught.value).replace(values, "")) == (over == "static_range")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = y + a\nreturn y", "used before it is assigned"),
        ("return y", "PM011"),
        ("y += a\nreturn y", "used before it is assigned"),
        ("if a > b:\n    y = a\nreturn y", "assigned on some paths only"),
        ("for i in range(3):\n    if a > i:\n        continue\n    y = a\nreturn y", "assigned on some paths only"),
    ],
)
def test_why_a_variable_is_not_set(body: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PyMetalError, match=message):
        toolbox.load(tmp_path, bodies.text(0, body))
