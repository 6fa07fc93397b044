# ruff: noqa: E501 - a body is one line of the table
"""`match` and `:=` mean what Python means by them, and conditions are truth values of any numbers."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import bodies
import differential
import pytest
import scalars
import toolbox
import torch

import pymetal
from pymetal import PyMetalError, T
from pymetal.frontend.desugar import desugar
from pymetal.frontend.source import Source

BODIES = {
    "match": "match a:\n    case 0 | 1:\n        r = b\n    case -2:\n        r = b * 2\n    case 2.0:\n        r = b * 3\n    case _:\n        r = a\nreturn r",
    "match without a default": "r = 1\nmatch a % 4:\n    case 0:\n        r = b\n    case 3:\n        r = b + 1\nreturn r + a",
    "match on an expression that a case changes": "match a + b:\n    case 3:\n        a = b = 7\n    case 7:\n        a = 1\nreturn a * 10 + b",
    "match with captures": "match a * 2:\n    case 0:\n        n = b\n    case 2 | 4 as n:\n        n = n + 1\n    case n:\n        pass\nreturn n",
    "match with guards": "match a:\n    case 1 if b > 2:\n        return b\n    case n if n > 3 and b > n:\n        return n * 10\n    case n if b:\n        return n + b\n    case _ if a:\n        return a\nreturn T(-1)",
    "a capture that a guard rejects": "n = 9\nmatch a:\n    case n if n > 3:\n        b += n\n    case 1:\n        b -= n\nreturn b * 10 + n",
    "match of the name that it captures": "match a:\n    case a if a > 2:\n        b += 1\n    case 2 as a:\n        a = 5\n    case 1:\n        b = a\nreturn a * 10 + b",
    "match of names with dots": "match a:\n    case Level.LOW:\n        return b\n    case Level.HIGH:\n        return b * 2\nreturn a",
    "match in a loop": "t = T(0)\nfor i in range(4):\n    match (a + i) % 3:\n        case 0:\n            continue\n        case 1:\n            t += b\n        case m:\n            t += m\n            if t > 9:\n                break\nreturn t",
    "match of a constant": "match LIMIT:\n    case 4:\n        return a\n    case 5:\n        return b\n    case n:\n        return T(n)",
    "match in match": "match a:\n    case 1:\n        match b:\n            case 2:\n                return a + b\n            case m:\n                return m\n    case n:\n        return n * 2",
    "match whose guard assigns": "match a:\n    case n if (y := n + b) > 3:\n        return y\n    case 1:\n        return y * 2\nreturn y",
    "match whose guard assigns its subject": "match a:\n    case n if (a := n + b) > 3:\n        return a\n    case 1:\n        return a * 2\nreturn a",
    "walrus in if": "if (y := a * b) > 4:\n    return y\nreturn y - 1",
    "walrus in elif": "if a > 3:\n    y = b\nelif (y := a + b) > 3:\n    b = y\nelif (z := y * 2) < 2:\n    b += z\nreturn b + y",
    "walrus in while": "n = 0\nwhile (y := a - n) > 0:\n    n += 1\n    if y == 3:\n        continue\n    b += y\nreturn b * 10 + y",
    "walrus in while, with break": "while (a := a - 1) > b:\n    if a == 2:\n        break\nreturn a",
    "walrus in while, first of and": "n = 0\nwhile (y := a - n) > 0 and n < 3:\n    n += 1\nreturn y * 10 + n",
    "walrus in while over a table": "n = 0\nwhile (n := n + 1) < 3:\n    a += b * WEIGHTS[2]\nreturn a",
    "walrus in while in a loop": "t = T(0)\nfor i in range(3):\n    while (y := a - i - t) > 0:\n        t += y\nreturn t + y",
    "walrus in return": "return (y := a + 1) * y + (z := y) - z * (w := b) + w",
    "walrus of walrus": "return (y := (z := a) + 1) * z + y",
    "walrus onto a read name": "return (a := a + b) * a",
    "walrus twice, in statements": "y = (n := a) + 1\ny += (n := b)\nx: T = (n := n + y)\nreturn y * 10 + n + x",
    "walrus as a statement": "(y := a)\n(y := y + b)\nreturn y",
    "walrus in a call": "return max(y := a, b) + y + abs(k := b - 3) * k",
    "walrus in the first comparison": "return a if 0 < (y := a + b) < 5 else y",
    "walrus in a test of a conditional": "return y if (y := a - b) > 0 else -y",
    "walrus in range": "for i in range(n := N(a)):\n    b += i\nreturn b + n",
    "numbers as conditions": "if a:\n    b += 1\nelif b:\n    b += 2\nreturn b if not a else (a if b else T(3))",
    "numbers in and and or": "if a and b or not a:\n    return T(1)\nreturn T(2) if (a or b) and a - b else T(3)",
    "a number in while": "n = 4\nwhile n:\n    n -= 1\n    a += b\nwhile N(a) - n:\n    n += 1\nreturn a + n",
    "constants as conditions": "if LIMIT and not 0.0:\n    a += 1\nreturn a if 0 or b else b + 1",
    "the bits of an integer": "m = N(a)\ncount = 0\nwhile m:\n    if m & 1:\n        count += 1\n    m >>= 1\nreturn T(count)",
}  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, differential.Program]:
    return bodies.load(tmp_path_factory.mktemp("desugar"), BODIES)


@pytest.mark.host
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_rewritten_statements(programs: dict[str, differential.Program], dtype: torch.dtype) -> None:
    bodies.check(programs, dtype)


def run(tree: ast.Module) -> list[object]:
    """What Python computes of `f`, for all pairs of small integers."""
    names = scalars.names("int32") | {"T": int, "N": lambda x: abs(x % 5)}
    exec(bodies.CONSTANTS, names)
    exec(compile(tree, "<body>", "exec"), names)
    return [names["f"](a, b) for a in range(-3, 8) for b in range(-3, 8)]


@pytest.mark.parametrize("title", BODIES)
def test_python_executes_the_rewritten_tree(title: str) -> None:
    """Every node has a place, none is left that is rewritten, and the values are those of the body as written."""
    text = "def f(a, b):\n" + "".join(f"    {line}\n" for line in BODIES[title].splitlines())
    written, rewritten = ast.parse(text), ast.parse(text)
    definition = rewritten.body[0]
    assert isinstance(definition, ast.FunctionDef)
    before = ast.dump(definition, include_attributes=True)
    new = desugar(
        Source(definition, "functor.py", 1, tuple(text.splitlines()), vars(pymetal).__getitem__, list), definition.body
    )
    assert ast.dump(definition, include_attributes=True) == before, "the tree of the source is not changed"
    definition.body = new
    assert not any(isinstance(node, ast.Match | ast.NamedExpr) for node in ast.walk(definition))
    assert run(rewritten) == run(written)


# --- truth values in every dtype -------------------------------------------------------------------------------------


@pymetal.binary(dtypes=("floating", "integral", "bool", "complex"))
def truths(a: T, b: T) -> pymetal.int32:
    r = 0
    if a:
        r += 1
    if not b and (a or b == 0):
        r += 2
    return pymetal.int32(r + (4 if a and b else (8 if b else 16)))


@pymetal.ternary(dtypes=("floating", "integral", "bool"))
def reduced(a: T, b: T, c: T) -> pymetal.int32:
    return (1 if any((a, b, c)) else 0) + (2 if all([a, b, c]) else 0)


@pytest.mark.host
def test_truth_values_in_every_dtype() -> None:
    """NaN is true, both zeros are false; complex numbers are false where both parts are zero."""
    parts = torch.tensor([0.0, -0.0, 1.0, float("nan")])
    values = {d: toolbox.edges(d) for d in truths.dtypes if not d.is_complex}
    values |= {
        d: torch.complex(parts.repeat_interleave(4), parts.repeat(4)).to(d) for d in truths.dtypes if d.is_complex
    }
    with toolbox.batch("ieee"):
        for edges in values.values():
            truths.jit_source(edges, edges)
        for edges in values.values():
            a, b = edges.repeat_interleave(len(edges)), edges.repeat(len(edges))
            rows = zip(scalars.numbers(a), scalars.numbers(b), strict=True)
            pairs = [(bool(x.value), bool(y.value)) for x, y in rows]
            wanted = [x + (not y) * 2 + (4 if x and y else 8 if y else 16) for x, y in pairs]
            for result in (truths(a, b), truths.reference(a, b)):
                assert result.tolist() == wanted
    for dtype in reduced.dtypes:
        edges = toolbox.edges(dtype)
        a, b, c = edges, edges.flip(0), edges.roll(1)
        wanted = [any(v) + 2 * all(v) for v in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)]
        assert reduced.reference(a, b, c).tolist() == wanted


def test_match_of_true_is_of_truth_values_alone(tmp_path: Path) -> None:
    """`case True` tests identity: a number never is True, in Python as here."""
    text = (
        "def f(x: T) -> T:\n    match x > 2:\n        case True: return x\n        case _: pass\n"
        "    match x:\n        case True: return T(7)\n        case False: return T(8)\n    return T(9)\n"
    )
    functor = toolbox.load(tmp_path, f"@pymetal.unary(dtypes=(torch.int32, torch.bool))\n{text}").f
    names = scalars.names("int32") | {"T": int}
    exec(compile("from __future__ import annotations\n" + text, "<body>", "exec"), names)
    x = torch.arange(-2, 5, dtype=torch.int32)
    assert functor.reference(x).tolist() == [names["f"](v) for v in x.tolist()]
    assert functor.reference(torch.tensor([False, True])).tolist() == [True, True]
    assert "== true" not in functor.functor_source


# --- what is refused -------------------------------------------------------------------------------------------------

REFUSED = {
    "walrus in the second of and": ("return a if b > 0 and (y := a) > 0 else b", "PM032: `:=` where it may not", "(y := a)"),
    "walrus in the second of or, in while": ("while a > 0 or (a := b) > 0:\n    a -= 1\nreturn a", "PM032: `:=` where it may not", "(a := b)"),
    "walrus in a branch": ("return (y := a) if a > b else b", "PM032: `:=` where it may not", "(y := a)"),
    "walrus in a later comparison": ("return a if a < b < (y := a) else b", "PM032: `:=` where it may not", "(y := a)"),
    "walrus in a comprehension": ("return sum((y := c) for c in WEIGHTS)", "PM032: `:=` where it may not", "(y := c)"),
    "walrus after a read": ("return a + (a := b)", "PM032: `:=` of 'a', which is read before", "(a := b)"),
    "walrus of an augmented name": ("a += (a := b)\nreturn a", "PM032: `:=` of 'a', which is read before", "(a := b)"),
    "walrus twice": ("return (y := a) + (y := b)", "PM032: `:=` of 'y', which is read before", "(y := b)"),
    "walrus in a guard": ("match a:\n    case 1 if (y := b) > 0:\n        return y\nreturn a", "PM032: `:=` where it may not", "(y := b)"),
    "a pattern of words": ("match a:\n    case 'x':\n        return a\nreturn b", "PM033: 'x'", "'x'"),
    "a match that may not return": ("match a > b:\n    case True:\n        return a\n    case False:\n        return b", "PM027", "def"),
    "a name of one case": ("match a:\n    case 1 as n:\n        pass\nreturn n", "PM014: 'n'", "return n"),
    "and as a value": ("return a and b", "PM023: the value of `and`", "a and b"),
    "or as a value, of a comparison": ("x = a > b or a\nreturn T(x)", "PM023: the value of `or`", "a > b or a"),
    "an assertion of values": ("assert a > 0\nreturn a", "PM031: `assert` of values", "assert a > 0"),
}  # fmt: skip


@pytest.mark.parametrize("title", REFUSED)
def test_refused(title: str, tmp_path: Path) -> None:
    body, message, place = REFUSED[title]
    with pytest.raises(PyMetalError, match=message) as caught:
        toolbox.load(tmp_path, bodies.CONSTANTS + bodies.text(0, body))
    span = caught.value.span
    assert span is not None
    assert re.search(re.escape(place), span.text)
    assert caught.value.hint
