# ruff: noqa: E501 - a body is one line of the table
"""Statements mean what Python means by them: Python itself executes each body, on one pair of numbers at a time."""

from __future__ import annotations

import re
from pathlib import Path

import bodies
import differential
import pytest
import toolbox
import torch

import pymetal
from pymetal import FunctorTypeError, PyMetalError, T

BODIES: dict[str, str] = {
    "assigned in both branches": "if a > b:\n    y = a\nelse:\n    y = b + 1\nreturn y * 2",
    "joined types": "if a > b:\n    y = 1\nelse:\n    y = a\nreturn y + b",
    "assigned in every branch of a chain": "if a > 2:\n    y = a\nelif a > 0:\n    y = b\nelse:\n    y = a + b\nreturn y",
    "assigned in nested branches": (
        "if a > 0:\n    if b > 0:\n        y = a\n    else:\n        y = -a\nelse:\n    y = b\nreturn y"
    ),
    "set before, changed in a branch": "y = a\nif b > 1:\n    y = y + b\n    z = y\n    y = z * 2\nreturn y",
    "set on every path that goes on": "if a > 0:\n    y = a\nelse:\n    return b\nreturn y + 1",
    "early return": "if a > 2:\n    return a\nif b > 2:\n    return b\nreturn a + b",
    "early return in a loop": "for i in range(6):\n    if a + i > b:\n        return T(i)\nreturn b",
    "early return in nested loops": (
        "for i in range(4):\n    for j in range(4):\n        if a + i == b + j:\n            return T(i * 4 + j)\nreturn a"
    ),
    "a name that changes its type": "y = a > b\ny = 2 if y else 3\ny = y * a\nreturn y",
    "an annotated variable": "y: T = a + 1\ny += b\nreturn y",
    "augmented assignment": "y = a\ny += b\ny -= 2\ny *= 3\ny //= 2\ny %= 7\nreturn y",
    "two targets": "x = y = a + b\nx += 1\nreturn x * y",
    "a swap": "a, b = b, a\nreturn a * 2 + b",
    "a rotation": "c = a + b\na, b, c = b, c, a\nreturn a * 4 + b * 2 + c",
    "a swap in a loop": "for i in range(3):\n    a, b = b, a + b\nreturn a",
    "a swap in a while loop": "n = 0\nwhile n < 4:\n    a, b = b + n, a\n    n += 1\nreturn a - b",
    "the left side reads the old value": "y = a\ny, z = y + 1, y\nreturn y * 3 + z",
    "divmod": "q, r = divmod(a, b if b != 0 else T(1))\nreturn q * 5 + r",
    "divmod onto its operands": "a, b = divmod(a, b if b != 0 else T(1))\nreturn a * 5 + b",
    "unpacking a table": "p, q, r = WEIGHTS\nreturn a * p + b * q + r",
    "a for loop": "y = a\nfor i in range(5):\n    y = y + i * b\nreturn y",
    "a sum that starts at a number": "total = 0\nfor i in range(4):\n    total = total + a\nreturn total + b",
    "from and to": "y = T(0)\nfor i in range(2, 6):\n    y += a * i\nreturn y",
    "by steps": "y = T(0)\nfor i in range(1, 10, 3):\n    y = y * 2 + i\nreturn y + a",
    "counted down": "y = a\nfor i in range(5, 0, -1):\n    y = y * 2 - i\nreturn y",
    "counted down by steps": "y = a\nfor i in range(7, -2, -3):\n    y = y + i * b\nreturn y",
    "no rounds": "y = a\nfor i in range(3, 3):\n    y = b\nfor i in range(3, 0):\n    y = b\nreturn y",
    "a bound that an operand decides": "y = T(0)\nfor i in range(N(a)):\n    y += b\nreturn y",
    "two bounds that operands decide": "y = T(0)\nfor i in range(N(a), N(b)):\n    y += i\nreturn y",
    "a step that an operand decides": "y = T(0)\nfor i in range(0, 6, N(a) + 1):\n    y = y * 2 + i\nreturn y",
    "a bound is read once": "n = N(a)\ny = T(0)\nfor i in range(n):\n    n = 0\n    y += 1\nreturn y + n",
    "a loop variable after the loop": "for i in range(2, 9, 3):\n    a += 1\nreturn a * 10 + i",
    "a loop variable after a break": "for i in range(9):\n    if a + i > b:\n        break\nreturn a * 10 + i",
    "a loop variable set before the loop": "i = 7\nfor i in range(N(a)):\n    b += i\nreturn b * 10 + i",
    "a loop variable that the body changes": "y = T(0)\nfor i in range(4):\n    i = i * 2\n    y += i\nreturn y + i + a",
    "one variable, two loops": "y = a\nfor i in range(3):\n    y += i\nfor i in range(5, 7):\n    y *= i\nreturn y",
    "nested loops": "y = T(0)\nfor i in range(3):\n    for j in range(i, 3):\n        y += a * i + b * j\nreturn y",
    "a loop that reads the outer variable": (
        "y = a\nfor i in range(3):\n    z = y + i\n    y = z * 2\n    if z > b:\n        y = z\nreturn y"
    ),
    "while": "n = 0\ny = a\nwhile y < 50 and n < 9:\n    y = y * 2 + 1\n    n += 1\nreturn y + n",
    "while True": "n = 0\nwhile True:\n    n += 1\n    a += 2\n    if a > b or n > 6:\n        break\nreturn a * 10 + n",
    "while that never starts": "while a != a + 0:\n    a = b\nreturn a",
    "a counter of the element type": "n = T(0)\nwhile n < 3:\n    n += 1\n    a += n\nreturn a",
    "break": "y = a\nfor i in range(9):\n    if y > 20:\n        break\n    y = y + b + i\nreturn y",
    "continue": "y = a\nfor i in range(6):\n    if y % 2 == 0:\n        y += 3\n        continue\n    y += i\nreturn y",
    "continue in while": "n = 0\nwhile n < 6:\n    n += 1\n    if n == 3:\n        continue\n    a += n\nreturn a",
    "break of the inner loop only": (
        "y = T(0)\nfor i in range(3):\n    for j in range(5):\n        if j > i:\n            break\n        y += a + j\n"
        "    y += b\nreturn y"
    ),
    "break on one path": (
        "y = a\nfor i in range(4):\n    if a > b:\n        z = y + 1\n    else:\n        break\n    y = z + i\nreturn y"
    ),
    "static_range": "y = a\nfor i in pymetal.static_range(4):\n    y = y * 2 + i\nreturn y",
    "static_range by steps": "y = a\nfor i in pymetal.static_range(7, 0, -2):\n    y = y + i * b\nreturn y + i",
    "static_range in a loop": (
        "y = a\nfor i in range(3):\n    for j in pymetal.static_range(2):\n        y = y + i * 10 + j\nreturn y"
    ),
    "static_range that returns": "for i in pymetal.static_range(3):\n    if a > i:\n        return T(i)\nreturn b",
    "over a table": "y = a\nfor w in WEIGHTS:\n    y = y * 2 + w\nreturn y",
    "an element of a table": "y = T(0)\nfor i in range(3):\n    y = y * a + WEIGHTS[i]\nreturn y",
    "an element of a table, backwards": "y = T(0)\nfor i in range(2, -1, -1):\n    y += WEIGHTS[i] * (i + 1)\nreturn y + a",
    "an element, and the index afterwards": "for i in range(len(WEIGHTS)):\n    a += WEIGHTS[i]\nreturn a * 10 + i",
    "a fact": "if pymetal.is_integral(T):\n    y = a\nelse:\n    y = b\nreturn y",
    "a fact that returns": "if pymetal.is_integral(T):\n    return a\nreturn b",
    "a fact that returns, in a branch": (
        "if a > b:\n    if pymetal.is_integral(T):\n        return a + 1\nelse:\n    return b\nreturn a - b"
    ),
    "a fact that leaves a loop": (
        "for i in range(4):\n    if a > i:\n        if pymetal.is_floating(T):\n            break\n    else:\n        break\n"
        "    a += 1\nreturn a"
    ),
    "a fact in an expression": "return a if pymetal.is_signed(T) and pymetal.is_integral(T) else b",
    "an assertion of a fact": "assert not pymetal.is_bool(T), 'numbers'\nreturn a",
    "pass": "if a > b:\n    pass\nelse:\n    pass\n    a = b\nreturn a",
    "a docstring and nothing else of note": "'''Returns a.'''\nreturn a",
    "a parameter is assigned": "a = a + b\nb = a\nif a > 3:\n    a = b - 1\nreturn a * 2 + b",
    "a truth value is kept": "p = a > b\nq = not p and a != 0\nif q:\n    p = b > 2\nreturn T(p) + T(q) * 2",
    "a dead store": "y = a\ny = b\nz = y\nreturn y",
}  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, differential.Program]:
    return bodies.load(tmp_path_factory.mktemp("statements"), BODIES)


@pytest.mark.host
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_statements(programs: dict[str, differential.Program], dtype: torch.dtype) -> None:
    bodies.check(programs, dtype)


# --- the text --------------------------------------------------------------------------------------------------------


def test_no_variable_is_declared_twice_in_nested_blocks(programs: dict[str, differential.Program]) -> None:
    """Shadowing cannot happen: a name is declared once in a function."""
    for title, program in programs.items():
        for overload in program.functor.functor_source.split("operator()")[1:]:
            declared = re.findall(r"^\s+(?:const )?(?:T|int|long|bool|float) (\w+)(?: =|;)", overload, re.MULTILINE)
            declared += re.findall(r"for \((?:int|long) (\w+) =", overload)
            assert len(declared) == len(set(declared)), f"{title}\n{overload}"


def test_a_variable_of_two_branches_is_declared_before_them(programs: dict[str, differential.Program]) -> None:
    text = programs["assigned in both branches"].functor.functor_source
    assert re.search(r"T y;\s+if \(a > b\)", text)
    assert "y = a;" in text


def test_a_joined_variable_has_the_joined_type(programs: dict[str, differential.Program]) -> None:
    assert "T y;" in programs["joined types"].functor.functor_source


def test_static_range_leaves_no_loop(programs: dict[str, differential.Program]) -> None:
    assert "for (" not in programs["static_range"].functor.functor_source


def test_assertions_and_facts_leave_no_text(programs: dict[str, differential.Program]) -> None:
    text = programs["an assertion of a fact"].functor.functor_source
    assert "assert" not in text
    assert "if (" not in programs["a fact"].functor.functor_source


def test_a_docstring_becomes_the_comment_above(tmp_path: Path) -> None:
    text = '@pymetal.unary\ndef f(x: T) -> T:\n    """The operand itself.\n\n    In full.\n    """\n    return x\n'
    source = toolbox.load(tmp_path, text).f.functor_source
    assert source.startswith("// The operand itself.\n//\n// In full.\nstruct f_functor {")


# --- what may be unset -----------------------------------------------------------------------------------------------

UNSET = {
    "set in one branch": "if a > b:\n    y = a\nreturn y",
    "set in a branch of a chain": "if a > b:\n    y = a\nelif a > 0:\n    y = b\nreturn y",
    "set in a loop that may have no rounds": "for i in range(pymetal.int32(a)):\n    y = a\nreturn y",
    "the variable of a loop that may have no rounds": "for i in range(pymetal.int32(a)):\n    b += 1\nreturn b + i",
    "set in a while loop": "while a > b:\n    y = a\n    a -= 1\nreturn y",
    "set after a break": "for i in range(3):\n    if a > i:\n        break\n    y = b\nreturn y",
    "read before it is set": "z = y\ny = a\nreturn z + y",
    "augmented before it is set": "y += a\nreturn y",
    "read in the first round": "for i in range(3):\n    if i > 0:\n        b += y\n    y = a\nreturn b",
    "set in one branch, read in the next loop": "if a > b:\n    y = a\nfor i in range(3):\n    b += y\nreturn b",
    "a table without rounds": "for i in pymetal.static_range(0):\n    y = a\nreturn y",
}


@pytest.mark.parametrize("title", UNSET)
def test_a_variable_that_may_be_unset_is_refused_where_it_is_read(title: str, tmp_path: Path) -> None:
    with pytest.raises(PyMetalError, match=r"PM014: '[iy]' may have no value here") as caught:
        toolbox.load(tmp_path, bodies.text(0, UNSET[title]))
    assert caught.value.span is not None
    assert re.search(r"\b[iy]\b", caught.value.span.text)


def test_an_assertion_that_fails_names_the_dtypes(tmp_path: Path) -> None:
    text = (
        "@pymetal.unary(dtypes=('floating', 'integral'))\ndef f(x: T) -> T:\n"
        "    assert pymetal.is_floating(T), 'only floats'\n    return x\n"
    )
    with pytest.raises(FunctorTypeError, match=r"PM048: assertion fails for torch\.int64, .*: only floats"):
        toolbox.load(tmp_path, text)


@pytest.mark.host
def test_a_loop_of_a_wide_count_has_a_wide_counter() -> None:
    @pymetal.unary(dtypes=torch.int64)
    def f(x: T) -> T:
        total = T(0)
        for i in range(x, x + 3):
            total += i
        return total

    x = torch.tensor([1 << 40, -5])
    assert f(x).tolist() == [3 * (1 << 40) + 3, -12]
    assert f.reference(x).tolist() == [3 * (1 << 40) + 3, -12]
