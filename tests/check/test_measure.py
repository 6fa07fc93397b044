"""What is measured: distances worked out by hand, operands that leave nothing out, budgets, early rounding."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch
import written

import pymetal
from examples.logaddexp import logaddexp
from pymetal import T, dtypes
from pymetal.accuracy.budget import parse_budget
from pymetal.accuracy.compare import best, compare
from pymetal.accuracy.samples import as_float_holds_it, every_value, samples
from pymetal.check.operands import scalars_for
from pymetal.check.run import Options, check
from pymetal.check.torch_operators import AgainstError, Unusable, call, check_elementwise, find_operator
from pymetal.semantics import exact_interpreter

inf, nan = math.inf, math.nan


def test_kinds_of_values() -> None:
    actual = torch.tensor([1.0, nan, 1.0, inf, 1.0, 0.0, -0.0, inf, -inf, 0.0])
    exact = torch.tensor([1 + 2.0**-24, nan, nan, 1.0, inf, -0.0, -0.0, inf, inf, 1e-50], dtype=torch.float64)
    outcome = compare(actual, exact)
    assert outcome.errors[0] == 0.5
    assert outcome.nan.tolist() == [False, False, True, *[False] * 7]
    assert outcome.infinite.nonzero().flatten().tolist() == [3, 4, 8]
    assert outcome.zero.nonzero().flatten().tolist() == [5]
    assert outcome.counted.nonzero().flatten().tolist() == [0, 6, 7, 9]


def test_flushing_is_allowed_and_the_best_answer_counts() -> None:
    zero, tiny = torch.tensor([0.0]), torch.tensor([1e-39], dtype=torch.float64)
    assert compare(zero, tiny).errors[0] > 1e5
    assert compare(zero, tiny, flushes=True).errors[0] == 0
    one = torch.tensor([1.0])
    wrong, right = (compare(one, torch.tensor([v], dtype=torch.float64)) for v in (3.0, 1.0))
    assert best([wrong, right]).errors[0] == best([right, wrong]).errors[0] == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int16])
def test_all_values_of_two_bytes(dtype: torch.dtype) -> None:
    values = every_value(dtype)
    assert len(set(values.view(torch.int16).tolist())) == 65_536
    drawn = samples(dtype, 1)
    assert drawn.exhaustive
    assert len(drawn.tensors[0]) == 65_536


def test_all_pairs_of_one_byte_and_of_the_grid() -> None:
    a, b = samples(torch.int8, 2).tensors
    assert len({*zip(a.tolist(), b.tolist(), strict=True)}) == 65_536
    x, y = samples(torch.float32, 2, (0.044715,)).tensors
    pairs = {*zip(x.tolist()[:20_000], y.tolist()[:20_000], strict=True)}
    edge = [0.0, 1.0, -1.0, inf, -inf, torch.finfo(torch.float32).max, float(torch.tensor(0.044715))]
    assert all((p, q) in pairs for p in edge for q in edge)
    bits = set(x.view(torch.int32).tolist())
    assert {0x7F800001, 0x7FFFFFFF, -0x7FFFFF, -1} <= bits  # NaNs next to infinity, and of all bits


def test_every_binade_has_samples() -> None:
    (x,) = samples(torch.float32, 1).tensors
    exponents = torch.frexp(x[x.isfinite() & (x != 0)].abs()).exponent
    assert set(range(-125, 129)) <= set(exponents.tolist())


def test_integers_that_float_holds() -> None:
    x = torch.tensor([2**63 - 1, -(2**63), 2**24 + 1, 12345678901, -12345678901, 5, 0])
    kept = as_float_holds_it(x)
    assert [int(float(torch.tensor(float(v), dtype=torch.float32))) for v in kept.tolist()] == kept.tolist()
    assert kept[-2:].tolist() == [5, 0]
    assert kept[1] == -(2**63)


ANY = [torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int64, torch.bool]


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("dtype", [*ANY, torch.complex64, torch.complex32, torch.bfloat16])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_dtype_has_samples(dtype: torch.dtype, count: int) -> None:
    """Also of uint64: both halves, and the neighbours of the text's own numbers; floats hold those that they should."""
    number = 2**63 + 1025
    drawn = samples(dtype, count, [3, number])
    assert {t.dtype for t in drawn.tensors} == {dtype}
    if dtype is torch.uint64:
        values = drawn.tensors[0].tolist()
        assert {number - 1, number, number + 1, 2**64 - 1, 2**63, 0} <= set(values)
        assert 0.2 < sum(v >= 2**63 for v in values) / len(values) < 0.6
        for v in samples(dtype, count, exact_in_float=True).tensors[0].tolist()[-500:]:
            assert v == 0 or (v & -v) << 24 > v, v


@pymetal.unary(dtypes=(torch.uint64, torch.uint32, torch.uint16))
def mixed_bits(a: T, k: T = 1) -> T:
    return (a ^ 12345) * 3 if a < 54321 else a // 7 + k


@pymetal.unary(dtypes=torch.uint64)
def far(a: T, k: T = 9223372036854775809) -> float:
    return float((a ^ k) & 9223372036854775808)


@pytest.mark.host
@pytest.mark.parametrize("functor", [mixed_bits, far])
def test_check_takes_the_wide_unsigned_dtypes(functor: pymetal.Functor) -> None:
    result = check(functor, Options())
    assert [m.dtype for m in result.measurements] == [d.name for d in functor.ir.domain]
    assert not result.findings


def test_early_rounding_is_told_apart_and_opmath_is_proposed() -> None:
    result = check(written.early, Options(parts=("accuracy",)))
    (found,) = [f for f in result.findings if f.slug == "overflow"]
    assert "opmath=True" in found.hint
    early = result.measurements[0].early
    assert early is not None
    a, b = early.first.operands
    assert abs(a * a) > 65504 >= abs(a * a / b)


def test_budget_of_the_decorator() -> None:
    result = check(written.strict, Options(parts=("accuracy",)))
    assert [f.slug for f in result.findings] == ["budget"]
    assert "max_ulp is 0.1" in result.findings[0].message
    generous = check(written.strict, Options(parts=("accuracy",), max_ulp=3.0))
    assert generous.findings == ()


def test_budgets() -> None:
    assert parse_budget(None) is None
    everywhere = parse_budget(2)
    assert everywhere is not None
    assert everywhere[dtypes.bfloat16] == 2
    some = parse_budget({torch.float32: 3, "floating": 1.5})
    assert some is not None
    assert (some[dtypes.float32], some[dtypes.float16]) == (3, 1.5)
    assert dtypes.int32 not in some
    for wrong in ("2", -1, {torch.float32: nan}, True):
        with pytest.raises(pymetal.PyMetalError, match="max_ulp= does not take"):
            parse_budget(wrong)


def test_budgets_for_dtypes_that_are_not_there_are_named() -> None:
    result = check(written.elsewhere, Options(parts=("accuracy",)))
    assert result.notes[0] == "elsewhere is not registered for torch.float16, integral, which its max_ulp= names"
    assert not any("max_ulp" in note for note in check(written.strict, Options(parts=("accuracy",))).notes)


def test_the_maximum_is_where_it_is_said_to_be() -> None:
    """float32 exp beside mpmath's at the place of the maximum."""
    result = check(written.strict, Options(parts=("accuracy",), max_ulp=9.0))
    mine = result.measurements[0].meaning
    assert mine.at is not None
    (x,) = mine.at.operands
    exact = mpmath.exp(mpmath.mpf(x))
    _, exponent = mpmath.frexp(exact)
    unit = mpmath.ldexp(1, int(exponent) - 24)
    assert float(abs(mpmath.mpf(mine.at.got) - exact) / unit) == pytest.approx(mine.max_ulp, rel=1e-3)
    assert 0.1 < mine.mean_ulp < mine.max_ulp


def test_mpmath_judges_where_float64_cancels() -> None:
    overload = logaddexp.ir.overload(dtypes.float32)
    assert overload is not None
    a, b = torch.tensor([3.0, -40.0, 0.5]), torch.tensor([2.0, -1.0, 0.5])
    found = exact_interpreter.evaluate(overload.function, dtypes.float32, (a, b), {})
    exact = [float(mpmath.log(mpmath.exp(x) + mpmath.exp(y))) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert found is not None
    assert found.tolist() == exact


def test_operators_by_name() -> None:
    names = {n: find_operator(n) for n in ("hypot", "erfcx", "silu", "div_true", "silu_backward", "nothing_like_it")}
    shown = {n: None if o is None else o.name for n, o in names.items()}
    assert shown == {
        "hypot": "torch.hypot", "erfcx": "torch.special.erfcx", "silu": "torch.nn.functional.silu",
        "div_true": "torch.true_divide", "silu_backward": "aten.silu_backward", "nothing_like_it": None,
    }  # fmt: skip
    named = find_operator("x", "torch.special.i0e")
    assert named is not None
    assert named.function is torch.special.i0e
    gelu = find_operator("gelu")
    assert gelu is not None
    assert gelu.function is torch.nn.functional.gelu
    for wrong, words in (
        ("torch.hypott", "did you mean 'hypot'"),
        ("nowhere:f", "No module"),
        ("torch", "not a function"),
    ):
        with pytest.raises(AgainstError, match=words):
            find_operator("x", wrong)


def test_an_operator_of_another_meaning_is_told() -> None:
    result = check(written.product, Options(parts=("accuracy",), dtypes=("float32",), against="torch.add"))
    assert "inaccurate" in {f.slug for f in result.findings}
    assert result.measurements[0].against is not None
    assert result.measurements[0].against.reference == "torch.add in float64"


def test_integers_are_compared_with_an_operator_of_floats() -> None:
    """torch.hypot takes no integers; the functor takes them to float, and so does the comparison."""
    result = check(written.length, Options(parts=("accuracy",), dtypes=("int8",), against="torch.hypot"))
    against = result.measurements[0].against
    assert against is not None
    assert (against.compared, result.findings) == (65_536, ())
    assert 0 < against.max_ulp < 2  # c10 scales by the larger one, which rounds


def test_every_operator_that_is_found_for_the_gallery_can_be_asked() -> None:
    """Arguments in the operator's order, scalars by its names: else nothing would be compared with the functor."""
    from examples.aten import load

    mute = []
    for name, functor in load().items():
        operator, element = find_operator(name), functor.ir.domain[0]
        if operator is not None:
            operands = (torch.linspace(0.25, 3, 70).to(element.torch),) * functor.arity.inputs
            try:
                check_elementwise(operator, operands, scalars_for(functor, element, {}))
            except Unusable:
                mute.append(name)
    assert mute == []


@pytest.mark.parametrize("count", [1, 7, 60_047])
def test_an_operator_is_asked_for_whole_blocks(count: int) -> None:
    """torch.softshrink has -0 in the elements that are left over when it goes through a tensor in vectors, else 0."""
    operator = find_operator("softshrink")
    assert operator is not None
    x = torch.full((count,), -0.1)
    found = call(operator, (x,), {"lambd": 0.5})
    assert found.shape == x.shape
    assert len(set(found.signbit().tolist())) == 1


def test_reductions_are_not_compared() -> None:
    options = Options(parts=("accuracy",), dtypes=("float32",), against="torch.nn.functional.softmax")
    with pytest.raises(AgainstError, match="depends on other elements"):
        check(written.never, options)
