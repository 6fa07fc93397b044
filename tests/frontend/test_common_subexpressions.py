"""What the text needs more often than the body says is computed once; what is known in a condition is not printed."""

from __future__ import annotations

import itertools
import re
import time
from pathlib import Path

import bodies
import pytest
import toolbox
import torch
from differential import Program

from pymetal import PyMetalError

HELPERS = """
C = (1.0, 2.0, 3.0, 4.0, 5.0)
FLAG = False
ON = True


@pymetal.func
def halved(x: T) -> T:
    y = x
    while y > 3:
        y = y - 2
    return y


@pymetal.func
def base(x: T) -> T:
    return max(x, T(1)) ** 2 + 1


"""
DIVIDED = r"\? base \* base|\? (?:static_cast<T>\(\s*uint\()?c10::metal::floor_divide\(a, b\)\)? \*"
HEAD = "@pymetal.binary(dtypes=(torch.int32, torch.float32))\ndef f{}(a: T, b: T) -> T:\n"
# Functors of int32 and float32: how often each text has what is computed once.
BODIES = {
    "power": ("return abs(a) ** 2 + abs(b) ** 3", {"abs": 2}),
    "the same one twice": ("return abs(a) ** 2 + abs(a) ** 3", {"abs": 1}),
    "chained comparison": ("return a if -2 < abs(a) + b < 3 else b", {"abs": 1}),
    "a longer chain": ("return a if -2 < abs(b) < max(a, b) <= abs(a) < 9 else b", {"abs": 2, "max": 1}),
    "polevl": ("return metal.polevl(abs(a) - 1, WEIGHTS) + b", {"abs": 1}),
    "conditional": ("return (abs(a) if 1 < a else b) ** 2", {"abs": 1}),
    "divmod": ("q, r = divmod(abs(a) + 1, abs(b) + 2)\nreturn q * 10 + r", {"abs": 2}),
    "augmented": ("y = a\ny += abs(a) ** 2\ny -= abs(b) ** 2\nreturn y", {"abs": 2}),
    "loop": ("y = a\nfor i in range(3):\n    y = abs(y - i) ** 2 - b\n    b = y % 5\nreturn y % 100", {"abs": 1}),
    "unrolled": ("y = a\nfor i in pymetal.static_range(2):\n    y = abs(y - i) ** 2 - b\nreturn y % 100", {"abs": 2}),
    "early return": ("if abs(a) ** 2 > 4:\n    return abs(b) ** 2\nreturn abs(a - b) ** 2", {"abs": 3}),
    "elif": ("if 0 < max(a, b) < 2:\n    a = b\nelif 0 < abs(a) < 3:\n    a = b * 2\nreturn a", {"max": 1, "abs": 1}),
    "while": ("n = 0\nwhile 0 < abs(a) + n < 4:\n    n += 1\nreturn a + n", {"abs": 2}),
    "while, in its body": ("n = 0\nwhile n < 3:\n    n += 1\n    a = abs(a - b) ** 2 % 7\nreturn a", {"abs": 1}),
    "a loop that is not always run": ("return halved(a) ** 2 if a < 9 else b", {r"halved\(a": 2}),
    "a division that is not always computed": (
        "return (a // b) ** 2 if b != 0 else a",
        {DIVIDED: 1},
    ),
    "a division by a number": ("return (abs(a) // 3) ** 2 if b != 0 else a", {"abs": 1}),
    "behind and": ("return a if b > 0 and 1 < abs(a) < 3 else b", {"abs": 1}),
    "names of the body": ("base_value = a + 1\nbase_1 = abs(a) ** 2\nreturn base_1 + base(b) ** 2 + base_value", {}),
    "swap": ("a, b = abs(b) ** 2, abs(a) ** 2\nreturn a * 10 + b", {"abs": 2}),
    "a fact and a test": ("if pymetal.is_integral(T) and a > b:\n    return a\nreturn b + 1", {"true": 0, "false": 0}),
    "a test and a fact": ("return a + 1 if abs(a) ** 2 > b and FLAG else b", {"abs": 0, "false": 0}),
    "a flag or a test": ("return a + 1 if FLAG or a > b or FLAG else b", {"false": 0, r"\|\|": 0}),
    "a flag that decides": ("return a + 1 if a > b or ON else b", {"true": 0, ">": 0}),
    "a chain with a known link": ("return a if -2 <= a <= 5 != 7 else b", {"true": 0, "&&": 1}),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    constants = HELPERS + "WEIGHTS = (1, -2, 3, 1)\n\n\n"
    texts = [
        HEAD.format(n) + "".join(f"    {line}\n" for line in body.splitlines())
        for n, (body, _) in enumerate(BODIES.values())
    ]
    module = toolbox.load(tmp_path_factory.mktemp("sharing"), constants + "\n\n".join(texts))
    named = zip(BODIES, texts, itertools.count(), strict=False)
    return {title: Program(constants + text, "int32", getattr(module, f"f{n}")) for title, text, n in named}


def grid(dtype: torch.dtype) -> list[torch.Tensor]:
    values = torch.tensor([-3, -2, -1, 1, 2, 3, 4, 5, 6, 7])
    return [values.repeat_interleave(10).to(dtype), values.repeat(10).to(dtype)]


@pytest.mark.host
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_values(programs: dict[str, Program], dtype: torch.dtype) -> None:
    bodies.check(programs, dtype, grid(dtype), before="")


@pytest.mark.parametrize("title", BODIES)
def test_texts(programs: dict[str, Program], title: str) -> None:
    source = programs[title].functor.functor_source
    for overload in source.split("struct ")[-1].split("operator()")[1:]:
        text = re.sub(r"\s+", " ", overload).partition("template <")[0]
        for pattern, count in BODIES[title][1].items():
            assert len(re.findall(pattern, text)) == count, source


def test_the_name_has_the_type_of_the_value(tmp_path: Path) -> None:
    module = toolbox.load(
        tmp_path,
        "@pymetal.unary(dtypes=('floating', 'complex'))\ndef f(x: T) -> T:\n    return (x * x + 1) ** 2\n\n"
        "@pymetal.unary(dtypes='integral', promotion='int_to_float')\n"
        "def g(x: T) -> T:\n    return metal.exp(x) ** 2\n",
    )
    assert "const T base = x * x + T(1);" in module.f.functor_source
    assert "const T base = c10::metal::mul(x, x) + T(1.0f, 0.0f);" in module.f.functor_source
    assert "const float base = metal::exp(float(x));" in module.g.functor_source


def test_cheap_operands_stay(tmp_path: Path) -> None:
    body = "@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return (x + 1) ** 2 + (-x) ** 2 + float(x) ** 2\n"
    assert "const T base" not in toolbox.load(tmp_path, body).f.functor_source


def nested(pattern: str, count: int, inner: str = "x") -> str:
    for _ in range(count):
        inner = pattern.replace("_", inner)
    return inner


# Text that would double with every level, and whether it is accepted.
NESTS = {
    "powers": (f"return {nested('(_)**2', 30)}", True),
    "cubes": (f"return {nested('(_ + y)**3', 30)}", True),
    "chains": (f"return {nested('(x if 0 < _ < 3 else y)', 30)}", True),
    "chains of numbers": (f"return {nested('T(0 < _ < 3)', 30)}", True),
    "polynomials": (f"return {nested('metal.polevl(_, C)', 30)}", True),
    "conditionals": (f"return {nested('(_ if x > 1 else y)**2', 30)}", True),
    "extremes": (f"return {nested('min(max(_, y), x)', 30)}", True),
    "functions": (f"return {nested('metal.exp(_)', 30)}", True),
    "divmod": ("q, r = divmod(x, y)\n" + "q, r = divmod(q * q + 1, r * r)\n" * 30 + "return q + r", True),
    "quotients": (f"q, r = divmod({nested('(_ // y)**2', 30)}, y)\nreturn q + r", True),
    "small in a while": (f"a = x\nwhile {nested('(_ + y)**2', 4)} < 3:\n    a += 1\nreturn a", True),
    "powers in a while": (f"a = x\nwhile {nested('(_ + y)**2', 30)} < 3:\n    a += 1\nreturn a", False),
    "chains in a while": (f"a = x\nwhile {nested('(x if 0 < _ < 3 else y)', 30)} < 3:\n    a += 1\nreturn a", False),
    "a loop that is not always run": (f"return {nested('(_)**2', 30, 'halved(x)')} if x > 3 else y", False),
    "very many operands": (f"return {nested('(_ + _)', 14)}", False),
}


@pytest.mark.parametrize("title", NESTS)
def test_nests_end(title: str, tmp_path: Path) -> None:
    body, accepted = NESTS[title]
    text = HELPERS + "@pymetal.binary(dtypes='floating')\ndef f(x: T, y: T) -> T:\n"
    text += "".join(f"    {line}\n" for line in body.splitlines())
    start = time.process_time()
    if accepted:
        assert toolbox.load(tmp_path, text).f.functor_source
    else:
        with pytest.raises(PyMetalError, match="PM056: an expression of f is too large"):
            toolbox.load(tmp_path, text)
    assert time.process_time() - start < 30


def test_a_branch_behind_a_fact_need_not_type_check(tmp_path: Path) -> None:
    """As the branch of `if pymetal.is_integral(T):` itself."""
    functor = toolbox.load(
        tmp_path,
        "@pymetal.unary(dtypes=('floating', 'integral'))\ndef f(x: T) -> T:\n"
        "    if pymetal.is_integral(T) and (x & 3) == 2:\n        return x | 1\n    return x\n",
    ).f
    floats, integers = functor.functor_source.split("operator()")[1:]
    assert "x & T(3)" not in floats
    assert "x | T(1)" not in floats
    assert "if ((x & T(3)) == T(2)) {" in integers
