# ruff: noqa: E501 - a body is one line of the table
"""Sequences known at decoration mean what Python means by them: unrolled loops, reductions, local tuples."""

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
    "reversed table": "r = T(0)\nfor c in reversed(WEIGHTS):\n    r = r * b + c\nreturn r + c",
    "reversed range, which may be left": "for i in reversed(range(1, 6, 2)):\n    a = a * 2 + i\n    if a > b:\n        break\nreturn a + i",
    "reversed range without rounds": "for i in reversed(range(0)):\n    a = b\nreturn a",
    "enumerate": "for i, c in enumerate(WEIGHTS):\n    a = a * 2 + c * i\nreturn a + i * c",
    "enumerate from a number": "for i, c in enumerate(WEIGHTS, LIMIT):\n    a += c * i\nfor i, c in enumerate(WEIGHTS, start=1):\n    a -= c * i\nreturn a",
    "zip": "for c, d, e in zip(WEIGHTS, range(5), STEPS):\n    a = a * c + d - e\nreturn a + c * 100 + d * 10 + e",
    "zip of equal lengths": "for c, d in zip(WEIGHTS, PAIRS, strict=True):\n    a = a * c + sum(d)\nreturn a",
    "nested functions": "for i, (c, (d, e)) in enumerate(zip(reversed(WEIGHTS), PAIRS)):\n    a += i * c + d * b - e\nreturn a",
    "pairs": "for lo, hi in PAIRS:\n    if a > lo:\n        b += hi\nreturn b * 10 + lo - hi",
    "a target as a list": "for [lo, hi] in PAIRS:\n    b += lo * hi\nreturn b",
    "a pair with one name": "for pair in PAIRS:\n    a += pair[0] * b + pair[1] + sum(pair)\nreturn a",
    "a range with a name": "for i in STEPS:\n    a += i * b\nreturn a + len(STEPS)",
    "flags": "for flag in FLAGS:\n    a += b if flag else 1\nreturn a",
    "a slice": "r = WEIGHTS[0]\nfor c in WEIGHTS[1:]:\n    r = r * b + c\nfor c in WEIGHTS[::-1]:\n    a = a * 2 + c\nreturn r + a + WEIGHTS[-1]",
    "an element of an element": "return a * PAIRS[1][0] + b * PAIRS[-1][1] + len(PAIRS[0]) + len(PAIRS)",
    "values": "for v in (a, b, a + b):\n    a = a * 2 + v\nreturn a + v",
    "values onto their own names": "for a, b in ((b, a), (a, b + 1), (a * b, 2)):\n    a += b\nreturn a * 10 + b",
    "values and numbers": "for v in (1, a, 2, b):\n    if v > 1:\n        b += v\nreturn a * b + v",
    "values in a branch": "v = 0\nif a > 0:\n    for v in (a, 3, b):\n        b = b * 2 + v\nreturn b + v",
    "values in a loop": "for i in range(3):\n    for j, v in enumerate((a, b)):\n        a += v * i + j\nreturn a + v + j",
    "names of a target, read elsewhere": "lo = hi = 7\nif a > 0:\n    for lo, hi in PAIRS:\n        a += lo\nfor i in range(2):\n    a += hi\n    lo += i\nreturn a + lo * 10 + hi",
    "names of a target, assigned inside": "for lo, hi in PAIRS:\n    if a > lo:\n        hi = hi + 1\n    a += hi\nreturn a * 10 + hi + lo",
    "an unpacked star": "for c in (*WEIGHTS, 7, *STEPS):\n    a += c * b\nreturn a",
    "sum of products": "return sum(c * a for c in WEIGHTS) + sum([c - b for c in WEIGHTS], 5)",
    "sum of nothing": "return a + sum(NOTHING) + sum([]) + sum((), LIMIT)",
    "sum of numbers": "return a + sum(WEIGHTS) + sum(range(10)) + sum(range(4, -1, -2)) + sum(MIXED[:1])",
    "sum of values": "return sum((a, b, 1)) + sum([a, b], b)",
    "a filter": "return sum(a * c for c in WEIGHTS if c % 2) + sum(i * j for i in range(3) for j in range(i) if i + j > 1)",
    "of a scope of its own": "c = b\nreturn sum(c * a for c in WEIGHTS) + c",
    "over what its name hides": "return a + sum(a * b for a in (a, a + 1))",
    "a value used twice": "return sum(v * v for v in (a - b, a * 2, b))",
    "min and max": "return min(WEIGHTS) * a + max(c * b for c in WEIGHTS) + min((a, b)) * 10 + max([a, b, 2]) + min((a,)) + max(LIMIT, 7)",
    "any": "return T(1) if any(a == c for c in WEIGHTS) else b",
    "all": "return T(1) if all(a > c for c in WEIGHTS) else b",
    "any and all of numbers": "return T(any((a, b)) + 0) * 4 + T(all([a, b]) + 0) * 2 + T(any(c & 1 for c in WEIGHTS) + 0)",
    "any and all of nothing": "return a if all(NOTHING) and not any(NOTHING) else b",
    "all of a condition": "return a if all(a > c and b for c in WEIGHTS) or not any(c < a for c in WEIGHTS if c > 1) else b",
    "a local tuple": "pair = (a + b, b)\na = a * 2\nlo, hi = pair\nb = 9\nreturn pair[0] * 3 + pair[1] + lo - hi + a + len(pair) + b",
    "a local tuple, iterated": "pair = a, b\nt = T(0)\nfor p in pair:\n    t = t * 3 + p\n    a += 1\nreturn t + sum(pair) + max(pair) + a",
    "a local table": "weights = (5, 2)\nfor i in range(2):\n    a += weights[i] * b\nweights = (7, 1)\nfor i in range(2):\n    a += weights[i] * b\nreturn a + weights[0]",
    "a local list": "terms = [c * a for c in WEIGHTS if c > 1]\nreturn sum(terms) + terms[0] * b + len(terms)",
    "a local name of a table": "rows = PAIRS\nfirst = rows[0]\nreturn a * first[1] + sum(x * b for x, _ in rows)",
    "a tuple in a loop": "n = 0\nwhile n < 3:\n    pair = (a + n, b)\n    n += 1\n    a = pair[1]\n    b = pair[0]\nreturn a * 10 + b",
    "a tuple from divmod": "qr = divmod(a, 3)\nreturn qr[0] * 10 + qr[1] + divmod(b, 2)[1]",
    "nested targets": "x, (y, [z, w]) = a, (b, (a + 1, WEIGHTS[0]))\nreturn x + y * 2 + z * 3 + w",
    "nested local tuples": "t = ((a, b), 3)\n(a, b), c = t\na, t = b, (a, t[1])\nreturn a + b * 10 + c + t[0] * 100",
    "polevl": "weights = (2, 1)\nreturn metal.polevl(a, WEIGHTS[::-1]) + metal.polevl(b, [c + 1 for c in WEIGHTS]) + metal.polevl(a, weights)",
    "a table indexed backwards": "for i in reversed(range(len(WEIGHTS))):\n    a = a * 2 + WEIGHTS[i] * b\nreturn a",
    "powers": "return sum(c * a ** i for i, c in enumerate(WEIGHTS))",
    "in": "return a if a + b in WEIGHTS or b not in (2, 4, LIMIT) else a - b",
    "in nothing": "return a if a in NOTHING or 3 not in WEIGHTS else b",
    "in, at the end of a chain": "return a if b < a - 1 in range(3) else b",
    "tuple and list": "return sum(tuple(reversed(WEIGHTS))) * a + len(list(range(4)))",
}  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, differential.Program]:
    return bodies.load(tmp_path_factory.mktemp("sequences"), BODIES)


@pytest.mark.host
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_sequences(programs: dict[str, differential.Program], dtype: torch.dtype) -> None:
    bodies.check(programs, dtype)


def test_constant_reductions_leave_no_text(programs: dict[str, differential.Program]) -> None:
    text = programs["sum of numbers"].functor.functor_source
    assert "a + T(6) + T(45) + T(6) + T(5)" in text


def test_the_sign_of_a_zero_is_that_of_python(tmp_path: Path) -> None:
    """`sum` starts at 0, and 0 + -0.0 is 0.0."""
    functor = toolbox.load(tmp_path, "@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return sum((x, x))\n").f
    assert str(functor.reference(torch.tensor([-0.0])).item()) == "0.0"


def test_a_local_tuple_is_several_results(tmp_path: Path) -> None:
    text = (
        "@pymetal.binary(dtypes='floating')\ndef f(a: T, b: T) -> tuple[T, T]:\n    pair = (a + b, a)\n"
        "    if (q := a - b) > 0:\n        return tuple(c * q for c in reversed(pair))\n    return pair\n"
    )
    a, b = torch.tensor([1.0, 3.0]), torch.tensor([2.0, 1.0])
    results = toolbox.load(tmp_path, text).f.reference(a, b)
    assert [r.tolist() for r in results] == [[3.0, 6.0], [1.0, 8.0]]


REFUSED = {
    "min of nothing": ("return min(NOTHING)", "PM039: .*min.. arg is an empty sequence", "min(NOTHING)"),
    "max of a filter that leaves nothing": ("return max(c * a for c in WEIGHTS if c > 9)", "PM039", "max("),
    "lengths that differ": ("for c, d in zip(WEIGHTS, MIXED, strict=True):\n    a += c\nreturn a", "PM039: zip", "zip("),
    "too few names": ("for lo, hi in zip(WEIGHTS, PAIRS, STEPS):\n    a += lo\nreturn a", "PM049: .*3 values into 2 names", "lo, hi"),
    "a number for two names": ("for lo, hi in WEIGHTS:\n    a += lo\nreturn a", "PM049: .*1 value into 2 names", "lo, hi"),
    "a star in a target": ("for lo, *hi in PAIRS:\n    a += lo\nreturn a", "PM030", "hi"),
    "a condition of values": ("return sum(c for c in WEIGHTS if a > c)", "PM045: an `if` of a comprehension", "a > c"),
    "a range of values": ("return sum(range(N(a)))", "PM045: range with bounds", "range(N(a))"),
    "sum of an operand": ("return sum(a)", "PM045: a loop over a", "sum(a)"),
    "sum of pairs": ("return sum(PAIRS)", "PM040", "PAIRS"),
    "too many items": ("return sum(a for i in range(64) for j in range(64))", "PM045: unrolling 64 iterations 64 times", "range(64)"),
    "an iterator as a value": ("return zip(WEIGHTS, WEIGHTS)", r"PM032: zip\(\) here", "zip("),
    "a pair as a value": ("pair = (a, b)\nreturn pair", "PM032: a tuple", "pair"),
    "a pair of a table as a value": ("return PAIRS[0]", "PM032: a tuple", "PAIRS[0]"),
    "a tuple that a branch changes": ("pair = (a, b)\nif a > b:\n    pair = (b, a)\nreturn pair[0]", "PM030: .*`pair`", "if a > b"),
    "a tuple that a loop changes": ("pair = (a, b)\nwhile pair[0] > 0:\n    pair = (pair[1], pair[0] - 1)\nreturn pair[0]", "PM030: .*`pair`", "while"),
    "a tuple of one branch": ("if a > b:\n    pair = (b, a)\nelse:\n    pair = (a, b)\nreturn pair[0]", "PM030: .*`pair`", "pair ="),
    "an index outside": ("pair = (a, b)\nreturn pair[2]", "PM041: 2 is outside the 2 elements of pair", "pair[2]"),
    "an index that is not constant": ("pair = (a, b)\nfor i in range(2):\n    a += pair[i]\nreturn a", "PM032: subscription|PM040", "pair"),
    "a table without items": ("for c in NOTHING:\n    a += c\nreturn a", "PM040", "NOTHING"),
    "leaving a loop over pairs": ("for lo, hi in PAIRS:\n    if a > lo:\n        break\nreturn a", "PM052", "break"),
    "else of a loop": ("for lo, hi in PAIRS:\n    a += lo\nelse:\n    a = b\nreturn a", "PM045: `else` of a loop", "a = b"),
    "else of a while loop": ("while a > 0:\n    a -= 1\nelse:\n    a = b\nreturn a", "PM045: `else` of a loop", "a = b"),
    "enumerate with two starts": ("for i, c in enumerate(WEIGHTS, 1, start=2):\n    a += i\nreturn a", "PM017", "enumerate("),
    "reversed of nothing": ("for c in reversed():\n    a += c\nreturn a", "PM017: reversed takes 1 argument", "reversed()"),
    "zip with another keyword": ("for c, d in zip(WEIGHTS, STEPS, longest=1):\n    a += c\nreturn a", "PM018", "longest=1"),
    "zip of a star": ("for c, d in zip(*PAIRS):\n    a += c\nreturn a", "PM019", "*PAIRS"),
    "in of values": ("return a if a in (b, 1) else b", "PM040", "(b, 1)"),
    "in of an operand": ("return a if a in b else b", "PM034", "a in b"),
    "in, in the middle": ("return a if a in WEIGHTS == b else b", "PM034", "a in WEIGHTS"),
    "min with a default": ("return min(NOTHING, default=a)", "PM018", "default=a"),
    "words": ("return sum(w for w in ('x', 'y'))", "PM033", "'x'"),
    "a comprehension's name afterwards": ("y = sum(c * a for c in WEIGHTS)\nreturn y + c", "PM011: 'c' is not defined", "c"),
}  # fmt: skip


@pytest.mark.parametrize("title", REFUSED)
def test_refused(title: str, tmp_path: Path) -> None:
    body, message, place = REFUSED[title]
    with pytest.raises(PyMetalError, match=message) as caught:
        toolbox.load(tmp_path, bodies.CONSTANTS + bodies.ROUNDS + bodies.text(0, body))
    assert "PAIRS[i]" not in str(caught.value), "of pairs, an index has to be constant"
    span = caught.value.span
    assert span is not None
    assert re.search(re.escape(place), span.text)
    assert caught.value.hint
