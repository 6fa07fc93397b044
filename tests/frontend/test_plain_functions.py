"""Plain Python functions in a body: typed by their arguments, with Python's meaning."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import toolbox
import torch

import pymetal
from pymetal import PyMetalError
from pymetal.dtypes import wrap
from pymetal.runtime.operation import metal_text
from pymetal.semantics.differentiate import differentiate
from pymetal.semantics.interpreter import evaluate

HELPERS = """\
def silu(x):
    return x / (1 + metal.exp(-x))


def clip(x, lo=0, hi=1):
    if x < lo:
        return lo
    elif x > hi:
        return hi
    return x


def sign(x):
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


def triangle(n):
    total = 0
    for i in range(5):
        total += i * n
    return total


def both(x, y, *, scale=1):
    return clip(x, hi=20) + clip(y, -1, 3) * sign(x) * scale


def gain(level):
    return 10 ** (level / 20)


def average(x, y):
    return (x + y) / 2


def größe(x):
    return abs(x) % 3
"""
# A unary or binary body, of which dtypes, and what it means: Python's own arithmetic unless given.
BODIES: list[tuple[str, str, tuple[torch.dtype, ...], Callable[..., Any] | None]] = [
    ("a, b", "silu(a) * b", toolbox.FLOATS, lambda a, b: torch.nn.functional.silu(a) * b),
    ("a, b", "both(a, b)", toolbox.INTEGERS, None),
    ("a, b", "both(a, b, scale=2) + triangle(a)", toolbox.INTEGERS, None),
    ("a", "clip(a) + clip(a, 2, 5)", toolbox.INTEGERS, None),
    ("a", "clip(a) + clip(a, -2, 5)", toolbox.FLOATS, lambda a: a.clamp(0, 1) + a.clamp(-2, 5)),
    ("a", "a * gain(6.0)", toolbox.FLOATS, lambda a: a * torch.tensor(10 ** (6.0 / 20)).to(a.dtype)),
    ("a, b", "average(x=b, y=a)", toolbox.FLOATS, lambda a, b: ((b + a) / 2)),
    ("a", "größe(a)", (torch.int32, torch.int64), None),
    ("a", "triangle(sign(a)) + a", toolbox.INTEGERS, None),
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize(("parameters", "body", "dtypes", "expected"), BODIES, ids=[b for _, b, _, _ in BODIES])
def test_values(
    parameters: str, body: str, dtypes: tuple[torch.dtype, ...], expected: Callable[..., Any] | None, tmp_path: Path
) -> None:
    arity = ("unary", "binary")[parameters.count(",")]
    typed = ", ".join(f"{p}: T" for p in parameters.split(", "))
    module = toolbox.load(tmp_path, f"{HELPERS}\n\n@pymetal.{arity}\ndef f({typed}) -> T:\n    return {body}\n")
    python = eval(f"lambda {parameters}: {body}", vars(module))
    for dtype in dtypes:
        assert dtype in module.f.dtypes
        count = parameters.count(",") + 1
        operands = [toolbox.random(dtype, 60, seed) for seed in range(count)]
        if dtype.is_floating_point:
            operands = [torch.randn(60).to(dtype) for _ in operands]
        for found in (module.f(*operands), module.f.reference(*operands)):
            assert found.dtype is dtype
            if expected is not None:
                limit = 4 * torch.finfo(dtype).eps
                torch.testing.assert_close(found, expected(*operands), rtol=limit, atol=limit)
            else:
                rows = zip(*(o.tolist() for o in operands), strict=True)
                assert found.tolist() == [wrap(python(*row), dtype) for row in rows]


def test_the_text_is_an_inline_function(tmp_path: Path) -> None:
    text = f"{HELPERS}\n\n@pymetal.unary\ndef f(x: T) -> T:\n    return clip(x) + clip(clip(x), 2, 5)\n"
    functor = toolbox.load(tmp_path, text).f
    source = functor.functor_source
    assert source.count("inline T clip(const T x)") == 1, "one specialisation for the same arguments"
    assert source.count("inline T clip_lo_2_hi_5(const T x)") == 1, "another for other numbers"
    assert "return clip(x) + clip_lo_2_hi_5(clip(x));" in source


def test_kinds_share_one_text(tmp_path: Path) -> None:
    text = f"{HELPERS}\n\n@pymetal.unary\ndef f(x: T) -> T:\n    return clip(x)\n"
    text += "\n\n@pymetal.unary\ndef g(x: T) -> T:\n    return clip(x) * 2\n"
    module = toolbox.load(tmp_path, text)
    assert len(module.f.ir.overloads) == 1
    assert module.f.text.definitions["clip"] == module.g.text.definitions["clip"]


def test_a_dtype_without_meaning_is_left_out_with_the_line_of_the_function(tmp_path: Path) -> None:
    text = f"{HELPERS}\n\n@pymetal.unary\ndef f(x: T) -> T:\n    return silu(x) & 1\n"
    with pytest.raises(PyMetalError, match="PM021"):
        toolbox.load(tmp_path, text)
    functor = toolbox.load(tmp_path, f"{HELPERS}\n\n@pymetal.unary\ndef f(x: T) -> T:\n    return silu(x)\n").f
    assert set(functor.dtypes) == set(toolbox.FLOATS)


REFUSED = {
    "itself": ("def h(x):\n    return h(x) + 1\n", "h(x)", "PM038: 'h' calls itself"),
    "each other": (
        "def g(x):\n    return h(x)\n\n\ndef h(x):\n    return g(x)\n", "h(x)", "PM038: 'h' calls itself",
    ),
    "variadic": ("def h(*xs):\n    return sum(xs)\n", "h(x, x)", "PM016: 'h' cannot be called here: it takes `*xs`"),
    "too few": ("def h(x, y):\n    return x\n", "h(x)", "cannot be called here: missing a required argument: 'y'"),
    "a keyword": ("def h(x):\n    return x\n", "h(z=x)", "cannot be called here: missing a required argument: 'x'"),
    "a default": ("def h(x, y=None):\n    return x\n", "h(x)", "PM016: 'h' cannot be called here: the default of 'y'"),
    "a lambda": ("h = lambda x: x\n", "h(x)", "PM016: 'h' cannot be called here: it is a lambda"),
    "an unknown name": ("def h(x):\n    return x + nowhere\n", "h(x)", "PM011: 'nowhere' is not defined"),
    "an exception": ("def h(x):\n    return 1 / x\n", "x + h(0)", "PM039: h of these numbers fails: ZeroDivisionError"),
    "several results in an expression": ("def h(x):\n    return x, x\n", "h(x) + 1", "Write `a, b = h(...)`."),
    "different numbers of results": (
        "def h(x):\n    if x > 0:\n        return x\n    return x, x\n", "h(x)[0]",
        "PM016: 'h' cannot be called here: it returns 1 value here and 2 elsewhere",
    ),
    "a decorator": (
        "import functools\n\n\ndef wrapping(f):\n    @functools.wraps(f)\n    def inner(x):\n        return f(x)\n\n"
        "    return inner\n\n\n@wrapping\ndef h(x):\n    return x\n", "h(x)", "Call a `def` without its decorator.",
    ),
    "a cache": (
        "import functools\n\n\n@functools.cache\ndef h(x):\n    return x\n", "h(x)",
        "Call a `def` without its decorator.",
    ),
    "a partial": (
        "import functools\n\n\ndef g(x, k):\n    return x * k\n\n\nh = functools.partial(g, k=2)\n", "h(x)",
        "Write a `def` that calls g.",
    ),
    "a method": (
        "class C:\n    def h(self, x):\n        return x\n\n\nh = C().h\n", "h(x)",
        "Write it as a `def` without 'self'.",
    ),
    "a generator": ("def h(x):\n    yield x\n", "h(x)", "PM032: `yield` cannot become Metal"),
    "async": ("async def h(x):\n    return x\n", "h(x)", "an `async def` cannot become Metal"),
    "the line of a dtype": (
        "def h(x):\n    return x & 1\n", "h(x)", "PM021: `&` is not defined for torch.float32 operands (line 7 of ",
    ),
    "no number": ("def h(x):\n    return 'text'\n", "x + h(0)", "PM013"),
}  # fmt: skip


@pytest.mark.parametrize(("helper", "body", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(helper: str, body: str, message: str, tmp_path: Path) -> None:
    text = f"{helper}\n\n@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return {body}\n"
    with pytest.raises(PyMetalError) as caught:
        toolbox.load(tmp_path, text)
    assert message in str(caught.value)


MANY = """\
WEIGHTS = (1, 3, 9)


def minmax(a, b):
    return (a, b) if a < b else (b, a)


def swapped(a, b):
    return minmax(b, a)


def halved(x, /, by=2):
    if pymetal.is_integral(T):
        return x // by
    return x / by


def weight(i):
    return 2 * i + 1


def weighted(x):
    total = x
    for i in range(3):
        total += x * WEIGHTS[i] * weight(i)
    return total


def greater(a, b):
    return a > b


def pick(c, a, b):
    return a if c else b


def collatz(n):
    steps = 0
    while 1 < n < 1000 and steps < 20:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def first(x):
    if (y := x * 2) > 3:
        return y
    match x:
        case 1:
            return 5
        case _:
            return x


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def make(k):
    def scale(x):
        return x * k

    return scale


twice, thrice = make(2), make(3)


@pymetal.func
def square(x: T) -> T:
    return first(x) * first(x)


@pymetal.binary(dtypes=("floating", "integral"))
def spread(a: T, b: T) -> T:
    low, high = minmax(a, b)
    return high * 2 - low + swapped(a, b)[0] + minmax(3, 1)[1]


@pymetal.unary(dtypes=("floating", "integral"))
def half(x: T) -> T:
    return halved(x) + halved(x, by=3)


@pymetal.unary(dtypes=("floating", "integral"))
def sums(x: T) -> T:
    return weighted(x) + thrice(x) - twice(x)


@pymetal.binary
def larger(a: T, b: T) -> T:
    return pick(greater(a, b), a, b)


@pymetal.unary(dtypes="integral")
def steps(n: T) -> T:
    return collatz(n)


@pymetal.unary(dtypes=("floating", "integral"))
def squares(x: T) -> T:
    return square(x) + first(x) + factorial(4)


@pymetal.unary(dtypes=("floating", "integral"))
def scaled(x: T, *, k: int = 3) -> T:
    return x * weight(k)


@pymetal.binary(dtypes=("floating", "integral"))
def both(a: T, b: T) -> tuple[T, T]:
    return minmax(a, b)
"""
FUNCTORS = ("spread", "half", "sums", "larger", "steps", "squares", "scaled", "both")


def _small(dtype: torch.dtype, arity: int) -> list[torch.Tensor]:
    """Every pair of small numbers that `dtype` has."""
    numbers = [0, 1] if dtype is torch.bool else [*range(0 if dtype is torch.uint8 else -6, 7)]
    return [t.to(dtype) for t in torch.tensor([(a, b) for a in numbers for b in numbers]).T[:arity]]


@pytest.mark.host
def test_every_dtype_on_the_device_by_the_reference_and_in_python(tmp_path: Path) -> None:
    module = toolbox.load(tmp_path, MANY)
    cases = [(name, d) for name in FUNCTORS for d in getattr(module, name).dtypes]
    assert {d for _, d in cases} == set(toolbox.DTYPES)
    # The same text without decorators is Python.
    text = re.sub(r"^@pymetal.*\n", "", MANY, flags=re.M).replace("pymetal.is_integral(T)", "isinstance(x, int)")
    python = toolbox.load(tmp_path, text)
    with toolbox.batch("ieee"):
        inputs = {}
        for name, dtype in cases:
            functor = getattr(module, name)
            arity = functor.arity.inputs
            inputs[name, dtype] = toolbox.operands(dtype, arity, 40), _small(dtype, arity)
            functor.jit_source(*inputs[name, dtype][0])
        for name, dtype in cases:
            functor, (wide, small) = getattr(module, name), inputs[name, dtype]
            for operands in (wide, small):
                found, expected = functor(*operands), functor.reference(*operands)
                for a, b in zip(_tuple(found), _tuple(expected), strict=True):
                    toolbox.assert_equal(a, b, operands)
            if not dtype.is_floating_point and dtype is not torch.bool:
                rows = list(zip(*(t.tolist() for t in small), strict=True))
                keywords = {"k": 3} if name == "scaled" else {}
                wanted = [_tuple(getattr(python, name)(*row, **keywords)) for row in rows]
                got = list(zip(*(t.tolist() for t in _tuple(functor(*small))), strict=True))
                assert got == [tuple(wrap(int(v), dtype) for v in values) for values in wanted], (name, dtype)


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.host
def test_silu_at_the_edges(tmp_path: Path) -> None:
    """NaN, infinities, zeros and extremes: what torch's operators give, each rounded to the dtype."""
    functor = toolbox.load(tmp_path, f"{HELPERS}\n\n@pymetal.unary\ndef f(x: T) -> T:\n    return silu(x)\n").f
    assert "template <typename T>\ninline T silu(const T x)" in functor.functor_source
    for dtype in toolbox.FLOATS:
        x = toolbox.edges(dtype)
        for found in (functor(x), functor.reference(x)):
            # Of infinity, x / (1 + inf) is NaN for -inf, and the device flushes subnormals.
            expected = x / (1 + torch.exp(-x))
            normal = ~((expected.abs() < torch.finfo(dtype).smallest_normal) & (expected != 0))
            toolbox.assert_equal(found[normal], expected[normal], [x[normal]], ulp=2)


FROZEN = """
K = 1.0

def h(x):
    return x + K

@pymetal.unary(dtypes="floating")
def f(x: T) -> T:
    return h(x)

K = 2.0

@pymetal.unary(dtypes="floating")
def g(x: T) -> T:
    return h(x)
"""


def test_numbers_are_frozen_with_the_functor_that_calls(tmp_path: Path) -> None:
    module = toolbox.load(tmp_path, FROZEN)
    zero = torch.zeros(1)
    assert (module.f.reference(zero).item(), module.g.reference(zero).item()) == (1, 2)


ONE_FILE = """
def first(x):
    return x

def lerp(a, b, w):
    return a + w * (b - a)

@pymetal.binary(dtypes="floating")
def f1(a: T, b: T, w: float = 0.5) -> T:
    return T(lerp(silu(a), b, w))

@pymetal.ternary(dtypes="floating")
def f2(a: T, b: T, w: T) -> T:
    return lerp(a, b, w) + lerp(a, b, 0.25)

@pymetal.unary(promotion="always_bool", dtypes="integral")
def f3(a: T) -> bool:
    return silu(a) > 1

@pymetal.func
def cube(x: T) -> T:
    return first(x) * x

@pymetal.unary(dtypes="floating")
def f4(x: T) -> T:
    return cube(x) + first(x)
"""


UNDETERMINED = """
def h(i):
    return T(i)

@pymetal.unary
def f(x: T) -> T:
    for i in range(3):
        x += h(i)
    return x
"""


def test_t_without_an_element_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PyMetalError, match="PM016: 'h' cannot be called here: no argument tells what T is in it"):
        toolbox.load(tmp_path, UNDETERMINED)


@pytest.mark.host
def test_functors_of_one_file_call_one_function_with_several_types(tmp_path: Path) -> None:
    module = toolbox.load(tmp_path, HELPERS + ONE_FILE)
    text = metal_text([module.f1, module.f2, module.f3, module.f4])
    heads = [line for line in text.splitlines() if line.startswith("inline")]
    assert heads == [
        "inline float lerp(const T a, const T b, const float w) {",
        "inline float lerp(const T a, const T b, const float w) {",  # of integers, whose difference wraps
        "inline T silu(const T x) {",
        "inline float silu(const T x) {",
        "inline T lerp_1(const T a, const T b, const T w) {",
        "inline T lerp_1(const T a, const T b, const T w) {",
        "inline T lerp_w_0p25(const T a, const T b) {",
        "inline T first(const T x) {",
        *3 * ["inline T cube(const T x) {"],
    ]
    assert "inline float silu" not in module.f1.functor_source, "the text of one functor has what it needs"
    assert "f3_dense_bool_int" in dir(pymetal.host.compile_shader(text))


def test_the_derivative_of_a_call(tmp_path: Path) -> None:
    text = f"{HELPERS}\n\n@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return silu(x) * sign(x)\n"
    overload = toolbox.load(tmp_path, text).f.ir.overloads[0]
    derived = differentiate(overload.function, "x", overload.domain)
    x = torch.linspace(-3, 3, 12, dtype=torch.float64, requires_grad=True)
    (wanted,) = torch.autograd.grad((x / (1 + torch.exp(-x)) * torch.sign(x)).sum(), x)
    found = evaluate(derived, overload.domain[0], [x.detach()], {}, wide=True)
    torch.testing.assert_close(found, wanted)


@pytest.mark.host
def test_a_trace_tells_the_line_of_the_function(tmp_path: Path) -> None:
    text = (
        "def logarithm(x):\n    return metal.log(x)\n\n\n@pymetal.unary\ndef f(x: T) -> T:\n    return logarithm(x)\n"
    )
    (event,) = toolbox.load(tmp_path, text).f.trace(torch.tensor([1.0, -2.0]))
    assert (event.index, event.span.text) == ((1,), "    return metal.log(x)")
