"""Each rule finds what it is for, at its place, and nothing in the examples that it should not."""

from __future__ import annotations

from pathlib import Path

import near
import pytest
import written

import pymetal
from examples.atan2 import atan2
from examples.logaddexp import logaddexp
from examples.smooth_l1 import smooth_l1
from pymetal.check.findings import KINDS, Finding, allowed, merged
from pymetal.check.lint import lint
from pymetal.check.run import Options, check


def found(functor: pymetal.Functor) -> dict[str, Finding]:
    return {f.slug: f for f in merged(lint(functor))}


def line_of(text: str) -> int:
    lines = Path(written.__file__).read_text(encoding="utf-8").splitlines()
    return 1 + next(i for i, line in enumerate(lines) if text in line)


CASES = {
    "int-through-float": (written.halved, "Integral(float(x) * 0.5)", ("int64", "int32")),
    "float-equality": (written.halved, "if x == x", ("float32", "float16", "bfloat16")),
    "fast": (written.halved, "metal.fast.exp", ("float32", "float16", "bfloat16")),
    "half-arithmetic": (written.halved, "x * x + x", ("float16", "bfloat16")),
    "integer-division": (written.rest, "a % b", ("int64", "int32", "int16", "uint8", "int8")),
    "dead-branch": (written.never, "return 1", ()),
    "reimplementation": (written.entropy, "if math.isnan(x)", ()),
}


@pytest.mark.host
@pytest.mark.parametrize("slug", CASES)
def test_rule(slug: str) -> None:
    functor, text, dtypes = CASES[slug]
    result = found(functor)[slug]
    assert result.span is not None
    assert result.span.line == line_of(text)
    assert result.dtypes == dtypes
    assert f"PC{KINDS[slug].number:03d}: {functor.name}" in str(result)
    assert "^" in str(result)
    assert result.hint


def test_the_whole_message() -> None:
    message = str(found(written.rest)["integer-division"])
    assert message.split("written.py:", 1)[1] == (
        f"{line_of('a % b')}:12: PC024: rest (int64, int32, int16, uint8, int8): the divisor can be zero, and "
        "Metal does not define integer division by zero\n"
        "        return a % b\n"
        "               ^^^^^\n"
        "    Test it: `a // b if b != 0 else 0`."
    )


def test_a_comment_allows_a_finding() -> None:
    (only,) = [f for f in lint(written.share) if f.slug == "integer-division"]
    assert allowed(written.share, only)
    (other,) = [f for f in lint(written.rest) if f.slug == "integer-division"]
    assert not allowed(written.rest, other)


def test_equality_of_a_number_with_itself_is_in_the_message() -> None:
    assert "`==`" in found(written.same)["float-equality"].message


@pytest.mark.parametrize("functor", [atan2, smooth_l1, written.product], ids=lambda f: f.name)
def test_sound_text(functor: pymetal.Functor) -> None:
    assert found(functor) == {}


NEAR = [f for f in vars(near).values() if isinstance(f, pymetal.Functor) and f.name != "compared_with_another"]


@pytest.mark.parametrize("functor", NEAR, ids=lambda f: f.name)
def test_near_misses_are_none(functor: pymetal.Functor) -> None:
    assert found(functor) == {}


def test_a_divisor_is_compared_with_a_number() -> None:
    assert set(found(near.compared_with_another)) == {"integer-division"}


def test_roundings_are_counted_on_the_longest_path() -> None:
    assert "2 roundings" in found(written.forked)["half-arithmetic"].message
    widened = found(written.forked_wide)["half-arithmetic"]
    assert "2 roundings to float16 in one" in widened.message
    assert "Write opmath=True" not in widened.hint


@pytest.mark.host
def test_a_dropped_nan_needs_an_operator_that_keeps_it() -> None:
    """The one rule that runs the functor: torch.relu keeps NaN, and so has a functor of that name to."""
    kept = check(near.relu, Options(parts=("accuracy",), dtypes=("float16",)))
    assert kept.findings == ()
    dropped = check(written.dropped, Options(parts=("accuracy",), dtypes=("float16",), against="torch.relu"))
    (only,) = [f for f in dropped.findings if f.slug == "nan-dropped"]
    assert only.span is not None
    assert only.span.line == line_of("def dropped")
    assert "(nan): 0, not nan; 2046 elements" in only.message
    assert "math.isnan" in only.hint


@pytest.mark.host
def test_logaddexp_is_c10s() -> None:
    assert set(found(logaddexp)) == {"reimplementation"}


@pytest.mark.host
def test_a_c10_function_is_proposed_only_where_it_is_no_worse() -> None:
    """exp(x) - 1 loses all digits near zero, which is said; the hypotenuse of infinity and NaN is c10's fault."""
    message = found(written.grown)["reimplementation"].message
    assert message.startswith("grown is a reimplementation of metal.c10.expm1f, which gives ")
    assert message.endswith("e-21); this gives 0")
    assert "inf" in found(written.unscaled)["reimplementation"].message
    assert "reimplementation" not in found(written.hypotenuse)


@pytest.mark.host
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_a_c10_function_with_larger_errors_is_not_proposed() -> None:
    """c10's digamma is 7e5 ulp off where the gallery's is 1e2; c10's sinc is no worse than the gallery's."""
    from examples.aten import load

    assert "reimplementation" not in found(load()["digamma"])
    assert "reimplementation" in found(load()["sinc"])


def test_numbers_are_kept() -> None:
    numbers = {kind.number: slug for slug, kind in KINDS.items()}
    assert len(numbers) == len(KINDS)
    assert numbers == {
        1: "budget", 2: "inaccurate", 3: "nan", 4: "infinity", 5: "zero", 6: "integer", 7: "overflow",
        10: "form-compile", 11: "form-missing", 12: "form-differs", 13: "clash", 14: "release",
        20: "int-through-float", 21: "float-equality", 22: "fast", 23: "half-arithmetic", 24: "integer-division",
        25: "dead-branch", 26: "nan-dropped", 27: "reimplementation",
    }  # fmt: skip
