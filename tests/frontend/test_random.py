"""Random functors over the whole grammar: three readings of each agree; wrong text is refused with a place.

`tools/fuzz_language.py` runs thousands of the same programs.
"""

from __future__ import annotations

import ast
import contextlib
from pathlib import Path

import differential
import grammar
import programs
import pytest
import scalars
import toolbox
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import pymetal
from pymetal import PyMetalError, SourceError

# One example is a batch of programs that are compiled at once; shrinking it would compile again and again.
few = settings(
    max_examples=1, phases=[Phase.generate], deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
PER_BATCH = 24

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")


@pytest.mark.parametrize("part", range(4))
@given(seed=st.integers(min_value=0, max_value=2**32))
@few
def test_reference_text_and_python_agree(tmp_path: Path, part: int, seed: int) -> None:
    """In every dtype, to the bit but for the sign of zeros; the first part as the host device optimizes it."""
    first = (4 * seed + part) * PER_BATCH
    with contextlib.nullcontext() if part == 0 else toolbox.unoptimized():
        for mismatch in differential.check(tmp_path, range(first, first + PER_BATCH)):
            raise mismatch


def test_programs_use_the_whole_grammar() -> None:
    """What the random programs are made of."""
    found: set[str] = set()
    for seed in range(200):
        text = grammar.Writer(seed, grammar.KINDS[seed % 4]).text()
        found |= {type(node).__name__ for node in ast.walk(ast.parse(text))}
        found |= {word for word in WORDS if word in text}
    assert found >= STATEMENTS | OPERATORS | WORDS


STATEMENTS = {
    "AnnAssign", "Assert", "Assign", "AugAssign", "Break", "Continue", "For", "If", "Pass", "Return", "Tuple", "While",
    "GeneratorExp", "IfExp", "Attribute", "Match", "MatchAs", "MatchOr", "MatchValue", "NamedExpr",
    "BoolOp", "Compare", "Subscript", "UnaryOp",
}  # fmt: skip
OPERATORS = {
    "Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "Pow", "LShift", "RShift", "BitAnd", "BitOr", "BitXor", "Invert",
    "USub", "UAdd", "Not", "And", "Or", "Eq", "NotEq", "Lt", "LtE", "Gt", "GtE",
}  # fmt: skip
WORDS = {
    "static_range", "range(len(", ", -1)", "divmod(", "polevl", "as_type", "@pymetal.func", "f_h0(", "is_integral",
    "while True", "min(", "max(", "abs(", "round(", "WEIGHTS[", "math.inf", "uint64", "for i", "else:",
    "elif ", "for k", "in (5, 1)", "complex(", "1j", "metal.conj(", "zip(", "enumerate(", "reversed(", "sum(", "any(",
    "all(", "match ",
}  # fmt: skip


@pytest.mark.parametrize("part", range(2))
@given(seed=st.integers(min_value=0, max_value=2**32))
@few
def test_mutants(tmp_path: Path, part: int, seed: int) -> None:
    """Wrong text of every sort: nothing but a PyMetalError with a place comes of it, and what is accepted compiles."""
    accepted = []
    refused = 0
    for number in range(20):
        kind = grammar.KINDS[number % 2]
        writer = grammar.Writer((2 * seed + part) * 20 + number, kind)
        lines = [line[4:] for line in writer.function("f", "", 12).splitlines()[2:]]
        for changed in programs.mutants(lines, seed + number, 8):
            text = programs.function("f", changed)
            if not is_python(text):
                continue
            function = toolbox.load(tmp_path, text, grammar.PRELUDE).f
            try:
                only = ("float32", "int8")[number % 2]
                functor = pymetal.binary(dtypes=getattr(torch, only))(function)
                accepted.append(differential.Program(text, only, functor))
            except PyMetalError as error:
                refused += 1
                check_place(error)
            except Exception as error:
                raise AssertionError(f"{type(error).__name__}: {error}\n{text}") from error
    assert len(accepted) > 5, "the mutations are too wild"
    assert refused > 5, "the mutations are too tame"
    with toolbox.unoptimized():
        differential.compiled(accepted[:40])  # not run: a loop that has lost a line may not end


def check_place(error: PyMetalError) -> None:
    if not isinstance(error, SourceError):
        assert error.span is not None, error
        assert error.span.text.strip(), error
        assert "^" in str(error)


def is_python(text: str) -> bool:
    try:
        compile("from __future__ import annotations\n" + text, "<body>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


# --- the third reader itself -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_rounding_of_the_oracle(dtype: str) -> None:
    """`rounded` is torch's conversion of a double, at ties and at the ends of the range."""
    generator = torch.Generator().manual_seed(0)
    values = torch.cat(
        [torch.randn(2000, generator=generator, dtype=torch.float64) * 10.0**e for e in range(-10, 11, 4)]
    )
    wanted = values.float().to(getattr(torch, dtype)).double()
    assert [scalars.rounded(v, dtype) for v in values.float().tolist()] == wanted.tolist()


def test_wrapping_of_the_oracle() -> None:
    for dtype in scalars.BITS:
        for value in (-300, -129, -1, 0, 127, 128, 255, 256, 40000, 1 << 33):
            if dtype != "uint64" or value >= 0:
                assert scalars.wrap(value, dtype) == torch.tensor(value).to(getattr(torch, dtype)).item()
