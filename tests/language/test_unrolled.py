# ruff: noqa: E501 - a body is one line of the table
"""Unrolled loops: their variable is Python's, wherever the loop stands and whatever is done with the name."""

from __future__ import annotations

import bodies
import differential
import pytest
import torch

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
}  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, differential.Program]:
    return bodies.load(tmp_path_factory.mktemp("unrolled"), BODIES)


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_unrolled_loops(programs: dict[str, differential.Program], dtype: torch.dtype) -> None:
    bodies.check(programs, dtype)
