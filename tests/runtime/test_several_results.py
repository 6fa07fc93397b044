"""Functors with several results: values, layouts, `out=`, and one launch for all, on the host device and on MPS."""

# mypy: disable-error-code="valid-type"
from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import counting
import mps_stand_in
import pytest
import toolbox
import torch
from test_threads import at_once

import pymetal
from pymetal import CallError, ComplexOf, T, metal
from pymetal.check import registered
from pymetal.functor import Functor
from pymetal.host import float_mode
from pymetal.runtime import dispatch
from pymetal.runtime.jit import Programs


@pymetal.unary(dtypes="floating")
def sincos(x: T) -> tuple[T, T]:
    """Sine and cosine."""
    return metal.precise.sin(x), metal.precise.cos(x)


@pymetal.binary
def div_rest(a: T, b: T) -> tuple[T, T]:
    return divmod(a, b)


@pymetal.binary
def sorted_pair(a: T, b: T) -> tuple[T, T]:
    return min(a, b), max(a, b)


@pymetal.unary(dtypes=torch.float32)
def frexp(x: T) -> tuple[T, pymetal.int32]:
    """torch.frexp."""
    bits = x.view(torch.int32)
    exponent = (bits >> 23) & 255
    if exponent == 255 or x == 0:
        return x, 0
    if exponent == 0:
        bits = metal.as_type(x * 2.0**25, pymetal.int32)
        exponent = ((bits >> 23) & 255) - 25
    return ((bits & ~(255 << 23)) | (126 << 23)).view(T), exponent - 126


@pymetal.unary
def parts(x: T) -> tuple[T, T, T, pymetal.int32]:
    fraction, whole = math.modf(x)
    mantissa, exponent = torch.frexp(x)
    return fraction, whole, mantissa, exponent


@pymetal.binary(dtypes=(torch.float32, torch.float16))
def polar(length: T, angle: T) -> tuple[T, ComplexOf[T], bool]:
    x = length * metal.precise.cos(angle)
    return x, complex(x, length * metal.precise.sin(angle)), length < 0


@pymetal.ternary(dtypes=("floating", "integral"))
def bounds(a: T, b: T, c: T, *, scale: T = 1, shift: T = 0) -> tuple[T, T, T, T]:
    low = high = total = a
    for i in range(2):
        other = b if i == 0 else c
        low, high, total = min(low, other), max(high, other), total + other
    return low * scale + shift, high * scale + shift, total, high - low


def fresh(functor: Functor) -> Functor:
    """The functor as if it had not been called."""
    functor.__dict__.pop("caller", None)
    return functor


def assert_all_equal(actual: Any, expected: Any, inputs: Any = (), ulp: int = 0) -> None:
    assert type(actual) is tuple
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        toolbox.assert_equal(one, other, inputs, ulp)


def pair(a: Any, b: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.minimum(a, b), torch.maximum(a, b)


# --- values ----------------------------------------------------------------------------------------------------------


def quotient(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.floor_divide(a, b), torch.remainder(a, b)


def cases() -> list[tuple[Functor, Callable[..., Any], list[torch.Tensor], int]]:
    found: list[tuple[Functor, Callable[..., Any], list[torch.Tensor], int]] = []
    for dtype in toolbox.DTYPES:
        a, b = toolbox.operands(dtype, 2)
        found.append((sorted_pair, pair, [a, b], 0))
        if dtype is not torch.bool:
            divisor = torch.where(b == 0, 3, b) if not dtype.is_floating_point else torch.where(b.abs() < 1, 3, b)
            some = a.clamp(-100, 100) if dtype.is_floating_point else a
            found.append((div_rest, quotient, [some, divisor.to(dtype)], 0))
        if dtype.is_floating_point:
            found.append((sincos, lambda x: (torch.sin(x), torch.cos(x)), [a.clamp(-100, 100)], 2))
    found.append((frexp, lambda x: tuple(torch.frexp(x)), toolbox.operands(torch.float32, 1), 0))
    return found


def test_values_in_every_dtype() -> None:
    """The host device, the reference and torch."""
    with toolbox.batch("ieee"):
        for functor, _, operands, _ in cases():
            functor.jit_source(*operands)
        for functor, function, operands, ulp in cases():
            if functor is div_rest and operands[0].dtype.is_signed and not operands[0].dtype.is_floating_point:
                lowest = torch.iinfo(operands[0].dtype).min  # torch traps there
                operands[1] = torch.where((operands[0] == lowest) & (operands[1] == -1), 3, operands[1])
            expected, actual = function(*operands), functor(*operands)
            assert_all_equal(actual, expected, operands, ulp)
            assert_all_equal(functor.reference(*operands), expected, operands, ulp)
    assert div_rest.dtypes == tuple(d for d in sorted_pair.dtypes if d is not torch.bool)
    assert [r.dtypes for r in div_rest.results] == [div_rest.dtypes] * 2
    assert list(div_rest.left_out) == [torch.bool]


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_results_of_other_types_and_double_references() -> None:
    length, angle = torch.tensor([2.0, -1.0]), torch.tensor([0.0, 1.0])
    for dtype in (torch.float32, torch.float16):
        args = length.to(dtype), angle.to(dtype)
        x, z, negative = polar(*args)
        assert (x.dtype, z.dtype, negative.dtype) == (dtype, torch.complex(*args).dtype, torch.bool)
        torch.testing.assert_close(z.to(torch.complex64), torch.polar(length, angle), rtol=1e-2, atol=1e-3)
        torch.testing.assert_close(x.float(), z.to(torch.complex64).real)
        assert negative.tolist() == [False, True]
    exact = polar.reference(length.double(), angle.double())
    assert [r.dtype for r in exact] == [torch.float64, torch.complex128, torch.bool]
    torch.testing.assert_close(exact[1], torch.polar(length.double(), angle.double()))


def test_scalars_numbers_and_promotion() -> None:
    a, b, c = torch.tensor([1, 5, 3]), torch.tensor([4, 2, 3]), torch.tensor([0, 9, 3], dtype=torch.int8)
    three = torch.stack([a, b, c.long()])
    low, high = three.amin(0), three.amax(0)
    actual = bounds(a, b, c, scale=2, shift=-1)
    assert_all_equal(actual, (low * 2 - 1, high * 2 - 1, three.sum(0), high - low))
    assert_all_equal(bounds.reference(a, b, c, scale=2, shift=-1), actual)
    assert_all_equal(bounds(a, b, c), (low, high, three.sum(0), high - low))
    assert_all_equal(sorted_pair(a, 3), pair(a, torch.tensor(3)))
    assert_all_equal(sorted_pair(a, 2.5), pair(a.float(), torch.tensor(2.5)))
    assert_all_equal(sorted_pair(c, b), pair(c, b))


# --- layouts ---------------------------------------------------------------------------------------------------------


def layouts() -> dict[str, tuple[Any, Any]]:
    x = torch.arange(120, dtype=torch.float32).view(2, 3, 4, 5)
    y, last = (x * 7) % 31, torch.channels_last
    split = x.view(2, 3, 2, 2, 5), y.view(2, 3, 2, 2, 5)
    return {
        "dense": (x, y),
        "transposed": (x.transpose(0, 3), y.transpose(0, 3)),
        "mixed": (x.transpose(1, 2).contiguous().transpose(1, 2), y),
        "channels last": (x.contiguous(memory_format=last), y.contiguous(memory_format=last)),
        "offset": (x[1:, 1:], y[1:, :2]),
        "steps": (x[..., ::2], y[..., ::2]),
        "broadcast": (x, y[0, 0, 0]),
        "outer": (x[0, 0, :, :1], y[0, 0, :1]),
        "0-dim": (torch.tensor(3.0), torch.tensor(2.0)),
        "0-dim with others": (x, torch.tensor(60.0)),
        "0-dim double": (x, torch.tensor(60.0, dtype=torch.float64)),
        "empty": (x[:0], y[:0]),
        "many dimensions": (split[0].permute(4, 1, 0, 3, 2), split[1].permute(2, 1, 0, 3, 4)[:1, :1, ..., :2]),
    }  # fmt: skip


def test_layouts_are_those_of_torch() -> None:
    for name, (a, b) in layouts().items():
        expected = pair(a, b)
        for _ in range(2):  # the second call takes a kept plan
            actual = sorted_pair(a, b)
            assert_all_equal(actual, expected)
            assert [t.stride() for t in actual] == [t.stride() for t in expected], name
        outs = tuple(
            torch.empty(t.shape[::-1], dtype=torch.float64).permute(tuple(range(t.dim()))[::-1]) for t in expected
        )
        assert sorted_pair(a, b, out=outs)[1] is outs[1]
        assert_all_equal(outs, [t.double() for t in expected])


def test_conjugated_negated_and_zero_tensors() -> None:
    z = torch.tensor([1 + 2j, 3 - 4j])
    negative = z.conj().imag  # with a negation pending
    assert negative.is_neg()
    assert_all_equal(sorted_pair(negative, z.real), pair(negative, z.real))
    zeros = torch._efficientzerotensor((2,))
    assert_all_equal(sorted_pair(zeros, z.imag), pair(torch.zeros(2), z.imag))


# --- one launch ------------------------------------------------------------------------------------------------------


def test_one_launch_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    both, x = fresh(sincos), torch.randn(7)
    low, high = torch.empty(7), torch.empty(7)
    with counting.launches() as seen:
        first = both(x)
        assert len(seen.sources) == len(seen.threads) == 1
        both(x, out=(low, high))
        both(x[:0])
        assert len(seen.sources) == 1
        assert len(seen.threads) == 2
        monkeypatch.setattr(dispatch, "make_plan", None)
        monkeypatch.setattr(Programs, "get", None)
        assert_all_equal(both(x), first)  # neither planned nor compiled again
        version, expected = high._version, both(-x)
        assert both(-x, out=(low, high))[1] is high
        assert high._version == version + 1
        assert_all_equal((low, high), expected)
        assert len(seen.threads) == 5
        for outs in ((low, low), (low, high[:3])):  # looked at each time
            with pytest.raises((CallError, TypeError)):
                both(x, out=outs)
        same = x.clone()
        assert_all_equal(both(same, out=(high, same)), first)
        monkeypatch.undo()
    fresh(sincos)


@pytest.mark.parametrize("limit", [1, 7, 119, 120])
def test_more_elements_than_a_launch_counts(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "MAX_THREADS", limit)
    both = fresh(sorted_pair)
    with counting.launches() as seen:
        for name in ("dense", "transposed", "broadcast", "0-dim with others"):
            a, b = layouts()[name]
            assert_all_equal(both(a, b), pair(a, b))
            assert_all_equal(both(a, b, out=(torch.empty(0), torch.empty(0))), pair(a, b))
    assert len(seen.threads) == 8 * -(-120 // limit) or limit in (7, 119)
    fresh(sorted_pair)


def test_threads() -> None:
    both = fresh(sorted_pair)

    def check(number: int) -> None:
        x = torch.arange(50) + number
        for _ in range(20):
            assert_all_equal(both(x, 60), pair(x, torch.tensor(60)))

    with counting.launches() as seen:
        at_once(check)
    assert len(seen.sources) == 1


# --- out= ------------------------------------------------------------------------------------------------------------

A, B = torch.tensor([1.0, 5.0, 3.0]), torch.tensor([4.0, 2.0, 3.0])


def test_out_is_written_and_returned() -> None:
    low, high = torch.empty(3), torch.empty(3, dtype=torch.float64)
    versions = low._version, high._version
    either: list[Any] = [(low, high), [low, high]]  # torch takes a list as well
    for outs in either:
        results = sorted_pair(A, B, out=outs)
        assert results[0] is low
        assert results[1] is high
    assert_all_equal((low, high), (torch.minimum(A, B), torch.maximum(A, B).double()))
    assert low._version > versions[0]
    assert high._version > versions[1]


def test_out_may_be_the_inputs_in_any_order() -> None:
    for swapped in (False, True):
        a, b = A.clone(), B.clone()
        sorted_pair(a, b, out=(b, a) if swapped else (a, b))
        assert_all_equal((b, a) if swapped else (a, b), pair(A, B))


def test_out_is_resized_as_torch_does() -> None:
    low, high = torch.empty(0), torch.empty(0, dtype=torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sorted_pair(A, B, out=(low, high))
    assert_all_equal((low, high), (torch.minimum(A, B), torch.maximum(A, B).double()))
    small = torch.empty(2)
    with pytest.warns(UserWarning, match="was resized") as caught:
        sorted_pair(A, B, out=(small, torch.empty(3)))
    assert caught[0].filename == __file__
    assert torch.equal(small, torch.minimum(A, B))
    a, b = torch.randn(3, 4).t(), torch.randn(3, 4).t()
    assert sorted_pair(a, b, out=(torch.empty(0), torch.empty(0)))[1].stride() == (1, 4)


def test_out_of_every_storage() -> None:
    """Strided, a part of a larger one, with pending negation or conjugation, of a dtype that Metal lacks."""
    whole = torch.zeros(6)
    z = torch.zeros(3, dtype=torch.complex64)
    sorted_pair(A, B, out=(whole[::2], whole[1::2]))
    assert torch.equal(whole.view(3, 2).t(), torch.stack(pair(A, B)))
    sorted_pair(A, B, out=(z.conj().imag, z.real))
    assert torch.equal(z, torch.complex(torch.maximum(A, B), -torch.minimum(A, B)))
    sorted_pair(A, B, out=(z.conj(), torch.empty(3, dtype=torch.complex128)))
    assert torch.equal(z.real, torch.minimum(A, B))
    outs = torch.empty(3), torch.empty(3, dtype=torch.complex64), torch.empty(3, dtype=torch.bool)
    polar(A, B, out=outs)  # a launch that is kept, and not for a conjugated view
    expected = polar(A, B)
    assert torch.equal(polar(A, B, out=(outs[0], z.conj(), outs[2]))[1], expected[1])
    assert torch.equal(z, expected[1].conj())


SHARED, ONE = torch.zeros(6), torch.zeros(1)
THREE = torch.empty(3)


def out(first: Any, *more: Any) -> Callable[[], object]:
    return lambda: sorted_pair(A, B, out=(first, *more))


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a tensor": (
        lambda: sorted_pair(A, B, out=THREE),
        "sorted_pair: out= must be a tuple of 2 tensors, not Tensor\nPass out=(a, b).",
    ),
    "one": (out(THREE), "out= must be a tuple of 2 tensors, not 1 value\n"),
    "three": (out(A, A, A), "out= must be a tuple of 2 tensors, not 3 values\n"),
    "None": (out(THREE, None), "out= must be a tensor, not NoneType"),
    "dtype": (out(THREE, THREE.int()), "cannot be cast to the dtype of out=, torch.int32"),
    "dtype of the second": (
        lambda: frexp(A, out=(THREE, THREE.bool())), "result type torch.int32 cannot be cast to",
    ),
    "device": (out(THREE, THREE.to("meta")), "out= is on meta but the inputs are on cpu"),
    "gradient of out=": (out(THREE, torch.empty(3, requires_grad=True)), "out= requires grad"),
    "one tensor twice": (
        out(SHARED[:3], SHARED[:3]), "two tensors of out= share memory\nPass a tensor of its own for each result.",
    ),
    "outs that overlap": (out(SHARED[:3], SHARED[2:5]), "two tensors of out= share memory"),
    "an input that overlaps": (
        lambda: sorted_pair(SHARED[1:4], B, out=(THREE, SHARED[:3])), "some elements of the input tensor and the",
    ),
    "inner overlap": (out(THREE, torch.empty(1).expand(3)), "more than one element of the written-to tensor"),
    "an input to resize": (
        lambda: sorted_pair(ONE, B, out=(THREE, ONE)), "output with shape [1] doesn't match the broadcast shape [3]",
    ),
    "gradient": (lambda: sorted_pair(A.clone().requires_grad_(), B), "has no autograd formula, and an input requires"),
    "a dtype left out": (lambda: div_rest(A > 2, B > 2), "div_rest is not defined for torch.bool"),
    "meta": (lambda: sorted_pair(A.to("meta"), B.to("meta")), "pymetal has no device for meta tensors"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_calls(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(pymetal.PyMetalError) as caught:
        call()
    assert message in str(caught.value)


# --- MPS, the registered form, tools ---------------------------------------------------------------------------------


def test_through_the_rules_of_mps() -> None:
    """Also in the form where a thread computes several elements."""
    for functor, args in ((sorted_pair, (A.repeat(7), B.repeat(7))), (frexp, (A,)), (polar, (A, B))):
        with mps_stand_in.installed(several_from=8) as stand_in:
            moved = [stand_in.put(a) for a in args]
            expected = functor(*args)
            for _ in range(2):
                actual = tuple(stand_in.get(t) for t in functor(*moved))
                assert_all_equal(actual, expected)
            outs = tuple(stand_in.put(torch.empty_like(t)) for t in expected)
            functor(*moved, out=outs)
            assert_all_equal(tuple(stand_in.get(t) for t in outs), expected)
            assert len(stand_in.calls) == 3
        fresh(functor)


def test_the_registered_form_of_each_result() -> None:
    assert [r.name for r in polar.results] == ["polar_0", "polar_1", "polar_2"]
    for functor, args in ((polar, (A, B)), (frexp, (A,))):
        for result, expected in zip(functor.results, functor(*args), strict=True):
            toolbox.assert_equal(registered.run(result, "dense", *args), expected)
            toolbox.assert_equal(result(*args), expected)


def test_a_functor_calls_one() -> None:
    assert_all_equal(rotated(A, B), (sincos(A * B)[1] - sincos(A * B)[0], A))
    assert rotated.functor_source.count("(A * B)") == 0


@pymetal.binary(dtypes=torch.float32)
def rotated(a: T, b: T) -> tuple[T, T]:
    s, c = sincos(a * b)
    return c - s, a


def test_explain_and_trace() -> None:
    text = polar.explain(A, B, out=(torch.empty(3), torch.empty(3, dtype=torch.complex64), torch.empty(3).bool()))
    assert (
        "\n  result 0: float32 (3,), contiguous\n  result 1: complex64 (3,), contiguous\n  result 2: bool (3,)" in text
    )
    x = torch.tensor([1.0, float("inf")])
    events = sincos.trace(x)
    assert [(e.what, e.operator, e.index) for e in events] == [
        ("NaN is born", "metal.precise.sin", (1,)), ("NaN is born", "metal.precise.cos", (1,)),
    ]  # fmt: skip
    # What both results have in common is told once.
    assert [e.operator for e in rotated.trace(x, x)] == ["metal.precise.sin", "metal.precise.cos"]


def test_it_is_a_function_too() -> None:
    assert pickle.loads(pickle.dumps(sincos)) is sincos
    assert (sincos.name, sincos.doc, sincos.arity.name) == ("sincos", "Sine and cosine.", "unary")
    with float_mode.numerics("ieee"):
        assert_all_equal(sincos(A), sincos.reference(A), ulp=2)
    with pytest.raises(CallError, match="sincos has 2 results, and a dispatch stub of PyTorch has one functor"):
        sincos.patch("anywhere")
    with pytest.raises(CallError, match=r"Write sincos.results\[0\].ir."):
        print(sincos.ir)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_parts_of_a_number_are_pythons(dtype: torch.dtype) -> None:
    """But for subnormals of float32's exponent, which Metal takes for zero."""
    info = torch.finfo(dtype)
    edges = [0.0, -0.0, 1.0, -1.5, 3.75, -100.25, math.inf, -math.inf, math.nan, info.max, info.tiny]
    x = torch.tensor([*edges, 2.0**-16] if dtype is torch.float16 else edges, dtype=dtype)
    expected = [(*math.modf(v), *math.frexp(v)) for v in x.tolist()]
    for results in (parts(x), parts.reference(x)):
        for result, column in zip(results, zip(*expected, strict=True), strict=True):
            toolbox.assert_equal(result, torch.tensor(column, dtype=result.dtype), [x])
    assert parts.dtypes == (torch.float32, torch.float16, torch.bfloat16)


def test_messages_have_the_name_that_python_has() -> None:
    """`pair_` is `pair_op` in Metal; a result of several has a name of its own there."""

    @pymetal.binary
    def pair_(a: T, b: T) -> tuple[T, T]:
        return a // b, a % b

    assert repr(pair_) == "<pymetal.binary pair_; not for torch.bool>"
    with pytest.raises(CallError, match=r"`@pair_\.overload`"):
        pair_(torch.tensor([True]), True)
    with pytest.raises(CallError, match=r"pair_\(\) got an unexpected keyword argument 'c'"):
        pair_.reference(torch.ones(1), 1, c=1)
