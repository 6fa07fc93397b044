"""From a function's text to its meaning: random bodies against two other readings of Python, and chosen corners.

Random bodies are computed by the reference (torch), by the Metal text on the host device, and by Python itself with
numpy's numbers. They must agree to the bit.
"""

from __future__ import annotations

import math
import types
from pathlib import Path
from typing import Any

import numpy as np
import programs
import pytest
import toolbox
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import pymetal
from pymetal import PyMetalError, SourceError
from pymetal.functor import Functor

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int8, torch.uint8, torch.bool)
NUMPY = {torch.float32: np.float32, torch.float16: np.float16, torch.int32: np.int32, torch.int8: np.int8}
PRELUDE = "from __future__ import annotations\n" + toolbox.PRELUDE

# One example is a module of many bodies, compiled at once; shrinking it would compile again and again. More programs,
# of a larger grammar, are in test_random.py.
many = settings(
    max_examples=1, phases=[Phase.generate], deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
seeds = st.integers(min_value=0, max_value=2**32)
PER_MODULE = 20


def inputs_of(dtype: torch.dtype) -> list[torch.Tensor]:
    a, b = toolbox.operands(dtype, 2, 40)
    chosen = torch.randperm(len(a), generator=torch.Generator().manual_seed(0))[:90]
    return [a[chosen], b[chosen]]


INPUTS = {dtype: inputs_of(dtype) for dtype in DTYPES}


def decorate(function: types.FunctionType, dtype: torch.dtype) -> Functor | None:
    """The functor at one dtype, or None if it is refused there."""
    try:
        return pymetal.binary(dtypes=dtype)(function)
    except PyMetalError as error:
        if not isinstance(error, SourceError):
            check_place(error)
        return None


def check_place(error: PyMetalError) -> None:
    assert error.span is not None, error
    assert error.span.line > 0
    assert error.span.text.strip(), error
    assert str(error).count("^") >= 1


def compare(functors: list[tuple[str, Functor, torch.dtype]]) -> None:
    """Text against reference, all in one run of the compiler."""
    for _, functor, dtype in functors:
        functor.jit_source(*INPUTS[dtype])
    for text, functor, dtype in functors:
        inputs = INPUTS[dtype]
        try:
            toolbox.assert_equal(functor(*inputs), functor.reference(*inputs), inputs)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{text}\n{functor.functor_source}") from None


@given(seeds)
@many
def test_random_bodies(tmp_path: Path, seed: int) -> None:
    bodies = [
        (programs.Writer(seed + i, floating=i % 2 == 0).body(), DTYPES[:3] if i % 2 == 0 else DTYPES[3:])
        for i in range(PER_MODULE)
    ]
    texts = [programs.function(f"f{i}", lines) for i, (lines, _) in enumerate(bodies)]
    module = toolbox.load(tmp_path, "".join(texts), PRELUDE)
    with toolbox.unoptimized(), toolbox.batch("ieee"):
        accepted = []
        for i, (text, (_, dtypes)) in enumerate(zip(texts, bodies, strict=True)):
            for dtype in dtypes:
                functor = decorate(getattr(module, f"f{i}"), dtype)
                # Conditions on bools alone, and constants, may type-check for bool; everything does for the others.
                assert functor is not None or dtype is torch.bool, f"refused at {dtype}\n{text}"
                if functor is not None:
                    accepted.append((text, functor, dtype))
        compare(accepted)
    for text, functor, dtype in accepted:
        if dtype in NUMPY:
            compare_with_python(text, functor, dtype)


def compare_with_python(text: str, functor: Functor, dtype: torch.dtype) -> None:
    """The reference against Python's own evaluation of the body, element by element, on numpy's numbers."""
    number = NUMPY[dtype]
    exact = {name: lambda x, f=name: number(getattr(np, f)(x)) for name in ("fabs", "floor", "ceil", "trunc", "rint")}
    casts = {n: lambda x, n=n: np.array(x).astype(n)[()] for n in ("int8", "int16", "int64", "uint8")}
    names: dict[str, Any] = {
        "T": lambda x: np.array(x).astype(number)[()],
        "metal": types.SimpleNamespace(**exact),
        "pymetal": types.SimpleNamespace(**casts),
    }
    exec(compile("from __future__ import annotations\n" + text, "<body>", "exec", dont_inherit=True), names)
    body = names[functor.name]
    inputs = [t[:30] for t in INPUTS[dtype]]
    with np.errstate(all="ignore"):
        values = [body(number(x), number(y)) for x, y in zip(*(t.numpy() for t in inputs), strict=True)]
    expected = torch.from_numpy(np.array(values, dtype=number))
    try:
        toolbox.assert_equal(functor.reference(*inputs), expected, inputs)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{text}") from None


@given(seeds)
@many
def test_mutants_are_refused_with_a_place_or_mean_what_they_say(tmp_path: Path, seed: int) -> None:
    """Wrong text of every sort: nothing but a PyMetalError may come of it, and what is accepted compiles."""
    texts: list[str] = []
    while len(texts) < 120:
        seed += 1
        lines = programs.Writer(seed, floating=seed % 2 == 0).body()
        for changed in programs.mutants(lines, seed, 6):
            text = programs.function(f"f{len(texts)}", changed)
            if is_python(text):
                texts.append(text)
    module = toolbox.load(tmp_path, "".join(texts), PRELUDE)
    accepted = []
    for i, text in enumerate(texts):
        for dtype in (torch.float32, torch.int8):
            try:
                functor = decorate(getattr(module, f"f{i}"), dtype)
            except Exception as error:
                raise AssertionError(f"{type(error).__name__}: {error}\n{text}") from error
            if functor is not None:
                accepted.append((text, functor, dtype))
    assert 20 < len(accepted) < 2 * len(texts) - 20, "the mutations are too tame, or too wild"
    with toolbox.unoptimized(), toolbox.batch("ieee"):
        compare([a for a in accepted if is_exact(a[0])][:60])


def is_python(text: str) -> bool:
    try:
        compile("from __future__ import annotations\n" + text, "<body>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def is_exact(text: str) -> bool:
    """Float to integer is undefined out of range, and transcendental functions are not exact."""
    return "exp" not in text and "atan2" not in text and "pymetal.int" not in text and "T(" not in text


# --- corners ---------------------------------------------------------------------------------------------------------


def run(folder: Path, body: str, *inputs: torch.Tensor, head: str = "", decorator: str = "dtypes='floating'") -> Any:
    """The values of a body of x (and y), by the text and by the reference, which agree."""
    names = "xyz"[: len(inputs)]
    arity = ("unary", "binary", "ternary")[len(inputs) - 1]
    parameters = ", ".join(f"{n}: T" for n in names)
    result = "bool" if "always_bool" in decorator else "T"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"{head}@pymetal.{arity}({decorator})\ndef f({parameters}) -> {result}:\n{lines}"
    functor = toolbox.load(folder, text).f
    values = functor(*inputs)
    toolbox.assert_equal(values, functor.reference(*inputs), inputs)
    return values.tolist()


x = torch.tensor([-2.0, 0.0, 3.0])


def test_names_are_python_s(tmp_path: Path) -> None:
    """A branch sets the function's variable, not one of its own."""
    assert run(tmp_path, "y = x\nif x > 0:\n    y = x * 10\n    z = y\nelse:\n    z = -x\nreturn y + z", x) == [
        0,
        0,
        60,
    ]


def test_a_name_may_change_its_type(tmp_path: Path) -> None:
    assert run(tmp_path, "y = x > 0\ny = 2 if y else 3\ny = y * x\nreturn y", x) == [-6, 0, 6]


def test_a_parameter_may_be_assigned(tmp_path: Path) -> None:
    body = "if x < 0:\n    x = -x\n    if x > 1:\n        x = x + 10\nreturn x"
    assert run(tmp_path, body, x) == [12, 0, 3]


def test_early_returns(tmp_path: Path) -> None:
    body = "if x < 0:\n    return T(1)\nelif x == 0:\n    return T(2)\ny = x + 1\nif y > 0:\n    return y\nreturn x"
    assert run(tmp_path, body, x) == [1, 2, 4]


def test_chained_comparisons_read_the_middle_once(tmp_path: Path) -> None:
    assert run(tmp_path, "return 1 < x + 1 < 5 and x != 0", x, decorator="promotion='always_bool'") == [
        False, False, True,
    ]  # fmt: skip


def test_annotated_variables_have_their_type(tmp_path: Path) -> None:
    """The half is rounded where it is set."""
    third = torch.tensor([1 / 3])
    rounded = third.half().float().item()
    assert run(tmp_path, "y: pymetal.float16 = x\nreturn y", third, decorator="dtypes=torch.float32") == [rounded]


def test_integers_wrap_in_the_element_type(tmp_path: Path) -> None:
    values = torch.tensor([100, -128, 127], dtype=torch.int8)
    assert run(tmp_path, "y = x + x\nreturn y if y < x else -x", values, decorator="dtypes='integral'") == [
        -56,
        -128,
        -2,
    ]


def test_python_numbers_give_way(tmp_path: Path) -> None:
    """Half stays half: 1/3 is rounded to it before it is added."""
    value = torch.tensor([1.0], dtype=torch.float16)
    third = torch.tensor(1 / 3).half()
    assert run(tmp_path, "return x + 1 / 3", value) == [(value + third).item()]


def test_constants_are_found_in_globals_and_closures(tmp_path: Path) -> None:
    module = toolbox.load(
        tmp_path,
        "import numpy as np\nfrom math import pi as PI\nN = np.float64(0.5)\n"
        "def make(k):\n    @pymetal.unary(dtypes='floating')\n    def f(x: T) -> T:\n        return x * k + N * PI\n"
        "    return f\n",
    )
    two, three = module.make(2), module.make(3.5)
    one = torch.ones(1)
    assert two(one).item() == pytest.approx(2 + 0.5 * math.pi)
    assert three(one).item() == pytest.approx(3.5 + 0.5 * math.pi)


def test_compile_time_branches_leave_one_body(tmp_path: Path) -> None:
    head = "import pymetal as pm\n"
    body = "if pm.is_floating(T):\n    y = x * 0.5\nelse:\n    y = x + 1\nreturn y"
    assert run(tmp_path, body, x, head=head, decorator="dtypes=('floating', 'integral')") == [-1, 0, 1.5]
    assert run(tmp_path, body, x.int(), head=head, decorator="dtypes=('floating', 'integral')") == [-1, 1, 4]


def test_compile_time_branch_that_returns(tmp_path: Path) -> None:
    body = "if pymetal.is_integral(T):\n    return x + 1\nreturn x * 0.5"
    assert run(tmp_path, body, x.int(), decorator="dtypes=('floating', 'integral')") == [-1, 1, 4]
    assert run(tmp_path, body, x, decorator="dtypes=('floating', 'integral')") == [-1, 0, 1.5]


def test_conditions_on_globals_are_decided(tmp_path: Path) -> None:
    text = "if FAST:\n    y = metal.fast.exp(x)\nelse:\n    y = metal.exp(x)\nreturn y"
    for fast in (True, False):
        functor = toolbox.load(
            tmp_path,
            f"FAST = {fast}\n@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n"
            + "".join(f"    {line}\n" for line in text.splitlines()),
        ).f
        assert ("fast::exp" in functor.functor_source) is fast
        assert "if" not in functor.functor_source


def test_math_functions_by_any_name(tmp_path: Path) -> None:
    assert run(
        tmp_path,
        "return wurzel(m.fabs(x))",
        torch.tensor([-4.0]),
        head="import math as m\nfrom math import sqrt as wurzel\n",
    ) == [2]


def test_opmath_is_computed_in_float(tmp_path: Path) -> None:
    """Intermediate results beyond half's range, and one rounding."""
    big = torch.tensor([60000.0], dtype=torch.float16)
    assert run(tmp_path, "return x * 4 / 8", big, decorator="dtypes='floating', opmath=True") == [30000]
    assert run(tmp_path, "return x * 4 / 8", big) == [math.inf]
    for inputs in ((big, big), (big, big, big)):
        assert run(tmp_path, "return x * 4 / 8", *inputs, decorator="dtypes='floating', opmath=True") == [30000]


@pytest.mark.parametrize("decorator", ["promotion='int_to_float'", "promotion='bool_to_long'", "promotion='no_opmath'"])
def test_promotion_kinds_give_torch_s_dtypes(decorator: str, tmp_path: Path) -> None:
    functor = toolbox.load(tmp_path, f"@pymetal.unary({decorator})\ndef f(x: T) -> T:\n    return x\n").f
    torch_s = {
        "int_to_float": torch.sin,
        "bool_to_long": lambda t: t.long() if t.dtype is torch.bool else t,
        "no_opmath": torch.clone,
    }[decorator.split("'")[1]]
    with toolbox.batch():
        values = [torch.ones(2, dtype=dtype) for dtype in toolbox.DTYPES]
        for value in values:
            functor.jit_source(value)
        for value in values:
            wanted = torch_s(value).dtype
            assert functor(value).dtype is wanted
            assert functor.reference(value).dtype is wanted
