"""Three answers for every functor: the reference, the Metal text on the host device, and torch's own operators.

They are compared in every registered dtype, on edge values and random ones. In `ieee` numerics the text keeps
subnormals and fuses nothing, so arithmetic agrees to the bit; functions such as exp are within a unit in the last place
of float32, since other code computes them. In `apple` numerics a product and a sum may fuse, and subnormals count as
zero: there the operands are small fractions whose products are exact, so that neither changes a result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import functors
import pytest
import toolbox
import torch
from torch.nn import functional

from examples.addcmul import addcmul
from examples.atan2 import atan2
from examples.gelu_tanh import gelu_tanh
from examples.logaddexp import logaddexp
from examples.smooth_l1 import smooth_l1
from pymetal.functor import Functor

Tensor = torch.Tensor


@dataclass(frozen=True)
class Case:
    """A functor, what torch computes for it, and how far the three answers may be apart.

    Bounds are in units in the last place of the result's dtype. `cancels` is for results that are a small difference of
    larger numbers: an absolute bound, in units of float32's epsilon times the largest operand (at least 1).
    """

    functor: Functor
    torch: Callable[..., Tensor]
    scalars: dict[str, Any] = field(default_factory=dict)
    float_ulp: int = 0  # results in float32
    half_ulp: int = 0  # results in half and bfloat
    cancels: float = 0
    finite: bool = False  # torch's own operator is odd at infinities

    def __str__(self) -> str:
        given = "_".join(f"{k}{v}" for k, v in self.scalars.items())
        return f"{self.functor.name}_{given}" if given else self.functor.name

    def check(self, actual: Tensor, expected: Tensor, inputs: Sequence[Tensor]) -> None:
        if self.cancels and actual.is_floating_point():
            scale = torch.stack([t.double().abs() for t in inputs]).amax(0).nan_to_num(0, 0).clamp(min=1)
            near = (actual.double() - expected.double()).abs() <= self.cancels * 2**-23 * scale
            actual = torch.where(near, expected, actual)
        ulp = self.float_ulp if actual.dtype is torch.float32 else self.half_ulp
        toolbox.assert_equal(actual, expected, inputs, ulp)


# What torch has no operator for is written with its operators, step by step, each rounding to the element type.


def _constant(value: float, like: Tensor) -> Tensor:
    """A float literal of the text: rounded to float, then to the element type."""
    return torch.tensor(value, dtype=torch.float32).to(like.dtype)


def _smooth_l1(x: Tensor, y: Tensor, beta: float) -> Tensor:
    # The functor widens half and bfloat to float; torch's operator computes them step by step.
    return functional.smooth_l1_loss(x.float(), y.float(), reduction="none", beta=beta).to(x.dtype)


def _affine(x: Tensor, scale: float, shift: float, limit: int) -> Tensor:
    moved = x * torch.tensor(scale, dtype=x.dtype) + torch.tensor(shift, dtype=x.dtype)
    return torch.where(moved < torch.tensor([limit], dtype=torch.int32), moved, torch.tensor(limit).to(x.dtype))


def _clamp(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    if x.dtype is torch.bool:  # torch.clamp takes no bool
        return torch.clamp(x.int(), low.int(), high.int()).bool()
    return torch.clamp(x, low, high)


def _between(x: Tensor, low: float, high: float) -> Tensor:
    a, b = (torch.tensor(v, dtype=x.dtype) for v in (low, high))
    return (x > a) & (x < b)


def _log_normal(x: Tensor) -> Tensor:
    x = x if x.is_floating_point() else x.float()
    return _constant(-0.5, x) * x * x - _constant(functors.HALF_LOG_TWO_PI, x)


def _staircase(x: Tensor) -> Tensor:
    high, middle = x > 10, x > 5
    step = torch.where(high, x - 10, torch.where(middle, 5, 0).to(x.dtype))
    kept = torch.where(high | middle, x, -x)
    return (step + torch.where(high, 2, 1).to(x.dtype)) * 2 + kept


def _narrow(a: Tensor, b: Tensor) -> Tensor:
    total = a + b
    return torch.where(a * b - 3 < total, -total, torch.where((a - b) * 2 > 100, total, a * 3 - b))


def _conversions(a: Tensor, b: Tensor) -> Tensor:
    small = torch.where(a < b, 3, 0).to(torch.int8)
    ratio = a.float() / (1 + b.float().abs())
    return torch.where((ratio < 0.5) & (small > 0), small, -small).to(a.dtype)


def _kinds(x: Tensor) -> Tensor:
    if x.dtype is torch.bool:
        return torch.full(x.shape, 0.25)
    if x.is_floating_point():
        return x.abs().sqrt()
    return x.float() / (5 if x.dtype is torch.uint8 else 3)


def _only_floats(x: Tensor) -> Tensor:
    return torch.where(x.isfinite(), x * x, torch.copysign(torch.tensor(2, dtype=x.dtype), x))


def _reserved(a: Tensor, b: Tensor) -> Tensor:
    return (a * b - b) / 2 + a


def _stairs(x: Tensor) -> Tensor:
    low, high = (torch.where(x < 0, 0, torch.where(x > top, top, x)).to(x.dtype) for top in (1, 3))
    return low + high * sum((high > i).to(x.dtype) * (i + 1) for i in range(4))


CASES = [
    Case(atan2, torch.atan2, float_ulp=1, half_ulp=1),
    Case(logaddexp, torch.logaddexp, float_ulp=2, half_ulp=1, cancels=1),
    Case(smooth_l1, _smooth_l1, {"beta": 0.5}),
    Case(smooth_l1, _smooth_l1, {"beta": 2.0}),
    Case(gelu_tanh, lambda x: functional.gelu(x, approximate="tanh"), float_ulp=2, half_ulp=1, cancels=2, finite=True),
    Case(addcmul, lambda x, a, b: x + 1 * a * b),
    Case(addcmul, lambda x, a, b, value: x + torch.tensor(value, dtype=x.dtype) * a * b, {"value": 3}),
    Case(functors.add_alpha, lambda a, b: a + b),
    Case(functors.add_alpha, lambda a, b, alpha: a + torch.tensor(alpha, dtype=a.dtype) * b, {"alpha": 3}),
    Case(functors.elu, functional.elu, float_ulp=2, half_ulp=1, cancels=1),
    Case(functors.elu, torch._C._nn.elu, {"alpha": 1.5, "scale": 0.75, "input_scale": 2.0}, 2, 1, cancels=1),
    Case(functors.affine, _affine, {"scale": 2, "shift": 1, "limit": 7}),
    Case(functors.affine, _affine, {"scale": 1, "shift": 0, "limit": 100}),
    Case(functors.clamp, _clamp),
    Case(functors.less, torch.lt),
    Case(functors.logical_xor, torch.logical_xor),
    Case(functors.between, _between, {"low": 1, "high": 7}),
    Case(functors.log_normal, _log_normal),
    Case(functors.staircase, _staircase),
    Case(functors.narrow, _narrow),
    Case(functors.conversions, _conversions),
    Case(functors.kinds, _kinds, float_ulp=1, half_ulp=1),  # torch's float32 sqrt is not always correctly rounded
    Case(functors.only_floats, _only_floats),
    Case(functors.only_integers, lambda a, b: a * b + 1),
    Case(functors.reserved, _reserved),
    Case(functors.swiglu, lambda a, b: a / (1 + torch.exp(-a)) * b, float_ulp=2, half_ulp=1),
    Case(functors.stairs, _stairs),
]  # fmt: skip


def test_every_functor_has_a_case() -> None:
    assert set(functors.ALL) <= {case.functor for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_ieee(case: Case) -> None:
    """Reference, text and torch agree at every registered dtype; NaN, infinities, subnormals, extremes included."""
    runs = [(d, toolbox.operands(d.torch, case.functor.arity.inputs)) for d in case.functor.ir.domain]
    with toolbox.batch("ieee"):
        for _, inputs in runs:
            case.functor.jit_source(*inputs, **case.scalars)
        for _, inputs in runs:
            reference = case.functor.reference(*inputs, **case.scalars)
            actual = case.functor(*inputs, **case.scalars)
            case.check(actual, reference, inputs)
            theirs = case.torch(*inputs, **case.scalars)
            if case.finite:
                kept = torch.stack([t.isfinite() for t in inputs]).all(0)
                actual, theirs, inputs = actual[kept], theirs[kept], [t[kept] for t in inputs]
            case.check(actual, theirs, inputs)


def fractions(dtype: torch.dtype, arity: int) -> list[Tensor]:
    """Operands whose sums and products of two are exact in every dtype, and NaN and infinities for floats."""
    if not dtype.is_floating_point:
        return toolbox.operands(dtype, arity)
    some = [*(k / 4 for k in range(-12, 13)), toolbox.inf, -toolbox.inf, toolbox.nan]
    grids = torch.meshgrid(*[torch.tensor(some)] * arity, indexing="ij")
    return [g.flatten().to(dtype) for g in grids]


EXACT = [case for case in CASES if case.functor not in (functors.log_normal, functors.only_floats, gelu_tanh)]


@pytest.mark.parametrize("case", EXACT, ids=str)
def test_apple(case: Case) -> None:
    """The mode that users get, with the same bounds, where fusing and flushing make no difference."""
    runs = [(d, fractions(d.torch, case.functor.arity.inputs)) for d in case.functor.ir.domain]
    with toolbox.batch("apple"):
        for _, inputs in runs:
            case.functor.jit_source(*inputs, **case.scalars)
        for _, inputs in runs:
            actual = case.functor(*inputs, **case.scalars)
            case.check(actual, case.functor.reference(*inputs, **case.scalars), inputs)


def test_apple_fuses_and_flushes_within_bounds() -> None:
    """Where it does make a difference, the error stays that of one rounding more or less, of the largest term."""
    x, y, z = (torch.randn(20_000, generator=torch.Generator().manual_seed(s)) * 4 for s in range(3))
    eps = 2.0**-23
    for functor, inputs, terms in (
        (addcmul, (x, y, z), x.abs() + (y * z).abs()),
        (functors.log_normal, (x,), x * x + 1),
        (gelu_tanh, (x,), x.abs() * 4),
        (functors.reserved, (x, y), (x * y).abs() + x.abs() + y.abs()),
    ):
        exact = functor.reference(*(t.double() for t in inputs))
        assert ((functor(*inputs).double() - exact).abs() <= 2 * eps * terms).all(), functor.name


def test_subnormals_count_as_zero_in_apple_mode_only() -> None:
    tiny = torch.tensor([1e-40, -1e-40])
    assert functors.add_alpha(tiny, tiny).tolist() == [0, 0]
    with toolbox.batch("ieee"):
        assert torch.equal(functors.add_alpha(tiny, tiny), tiny + tiny)


# --- operands of different dtypes ------------------------------------------------------------------------------------


def test_mixed_dtypes() -> None:
    """Promotion, and the conversion of each operand on load, as torch.add and torch.atan2 have them."""
    pairs = [(a, b) for a in toolbox.DTYPES for b in toolbox.DTYPES]
    with toolbox.batch("ieee"):
        runs = []
        for a, b in pairs:
            x, y = toolbox.operands(a, 2, 100)[0], toolbox.operands(b, 2, 100)[1]
            count = min(len(x), len(y))
            runs.append((x[:count], y[:count]))
            functors.add_alpha.jit_source(*runs[-1])
        for x, y in runs:
            expected = torch.add(x, y)
            toolbox.assert_equal(functors.add_alpha.reference(x, y), expected, (x, y))
            toolbox.assert_equal(functors.add_alpha(x, y), expected, (x, y))


@pytest.mark.parametrize("number", [2, -3, 2.5, True, 0.1, float("nan")])
def test_python_numbers(number: float) -> None:
    """A number is wrapped: it gives way to the tensors, unless it is of a higher kind."""
    dtypes = (torch.float32, torch.float16, torch.int32, torch.uint8, torch.bool)
    with toolbox.batch("ieee"):
        runs = [toolbox.operands(d, 1, 20)[0] for d in dtypes]
        for x in runs:
            functors.add_alpha.jit_source(x, number)
            functors.add_alpha.jit_source(number, x)
        for x in runs:
            for given, expected in (((x, number), torch.add(x, number)), ((number, x), torch.add(x, number))):
                toolbox.assert_equal(functors.add_alpha(*given), expected, (x,))
                toolbox.assert_equal(functors.add_alpha.reference(*given), expected, (x,))


def test_zero_dim_tensors_give_way() -> None:
    """As in torch, a 0-dim tensor promotes only across kinds."""
    zero_dim = [torch.tensor(2.5, dtype=torch.float64), torch.tensor(3), torch.tensor(True), torch.tensor(1.5).half()]
    tensors = [torch.arange(3, dtype=d) for d in (torch.float32, torch.float16, torch.int16)]
    with toolbox.batch():
        runs = [(t, z) for t in tensors for z in zero_dim if torch.result_type(t, z) != torch.float64]
        assert len(runs) > 8
        for t, z in runs:
            functors.add_alpha.jit_source(t, z)
        for t, z in runs:
            toolbox.assert_equal(functors.add_alpha(t, z), torch.add(t, z))
            toolbox.assert_equal(functors.add_alpha.reference(t, z), torch.add(t, z))


# --- layouts ---------------------------------------------------------------------------------------------------------


def _numbers(*shape: int) -> Tensor:
    count = 1
    for size in shape:
        count *= size
    return torch.arange(1, count + 1, dtype=torch.int32).reshape(shape)


LAYOUTS: dict[str, tuple[Tensor, Tensor]] = {
    "contiguous": (_numbers(5, 7), _numbers(5, 7)),
    "empty": (_numbers(0), _numbers(0)),
    "empty by broadcasting": (_numbers(3, 0, 1), _numbers(1, 4)),
    "zero dimensions": (_numbers()[()], _numbers()[()]),
    "zero dimensions and one": (_numbers()[()], _numbers(6)),
    "one element": (_numbers(1, 1), _numbers(1)),
    "row and column": (_numbers(1, 4), _numbers(3, 1)),
    "row added to matrix": (_numbers(6, 5), _numbers(5)),
    "leading dimension": (_numbers(5), _numbers(2, 3, 5)),
    "both transposed": (_numbers(4, 3).t(), _numbers(4, 3).t()),
    "one transposed": (_numbers(4, 3).t(), _numbers(3, 4)),
    "permuted": (_numbers(2, 3, 4).permute(2, 0, 1), _numbers(2, 3, 4).permute(2, 0, 1)),
    "permuted differently": (_numbers(2, 3, 4).permute(2, 0, 1), _numbers(4, 2, 3)),
    "every other": (_numbers(20)[::2], _numbers(20)[1::2]),
    "strided matrix": (_numbers(9, 8)[::3, 1::2], _numbers(3, 4)),
    "offset": (_numbers(12)[5:], _numbers(7)),
    "offset rows": (_numbers(6, 4)[2:], _numbers(4, 4)),
    "expanded": (_numbers(4, 1).expand(4, 6), _numbers(6).expand(4, 6)),
    "expanded scalar": (_numbers(1).expand(3, 3), _numbers(3, 3)),
    "overlapping input": (_numbers(6).as_strided((4, 3), (1, 1)), _numbers(4, 3)),
    "channels last": (
        _numbers(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
        _numbers(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
    ),
    "channels last and bias": (_numbers(2, 3, 4, 5).contiguous(memory_format=torch.channels_last), _numbers(3, 1, 1)),
    "many dimensions": (_numbers(2, 1, 2, 1, 2, 3, 2), _numbers(2, 2, 2, 1, 1)),
    "flipped sizes": (_numbers(2, 1, 3), _numbers(2, 5, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("swap", [False, True])
def test_layouts(name: str, swap: bool) -> None:
    """Values, shape and strides of a new output are those of torch.add."""
    x, y = LAYOUTS[name]
    x, y = (y, x) if swap else (x, y)
    expected = torch.add(x, y, alpha=3)
    actual = functors.add_alpha(x, y, alpha=3)
    toolbox.assert_equal(actual, expected)
    assert actual.stride() == expected.stride()
    toolbox.assert_equal(functors.add_alpha.reference(x, y, alpha=3), expected)


def test_three_operands_of_three_shapes() -> None:
    x, low, high = _numbers(2, 3, 4) - 12, _numbers(3, 1) - 8, _numbers(4) * 2
    toolbox.assert_equal(functors.clamp(x, low, high), torch.clamp(x, low, high))
    toolbox.assert_equal(
        functors.clamp(x.transpose(0, 2), low, high[:2]), torch.clamp(x.transpose(0, 2), low, high[:2])
    )


def test_lazy_views() -> None:
    """Conjugated and negated views are resolved before the kernel reads memory."""
    z = torch.tensor([1 + 2j, 3 - 4j])
    imaginary = z.conj().imag
    assert imaginary.is_neg()
    toolbox.assert_equal(functors.add_alpha(imaginary, imaginary), torch.tensor([-4.0, 8.0]))


def test_large_and_odd_counts() -> None:
    """Beyond one block of a thread, and one more or less than powers of two."""
    for count in (1, 2, 3, 31, 32, 33, 1023, 1025, 2**18 + 1, 2**20 - 1):
        x = torch.arange(count, dtype=torch.int32)
        toolbox.assert_equal(functors.add_alpha(x, x, alpha=-3), x * -2)
        toolbox.assert_equal(functors.add_alpha(x, x.flip(0)[::1], alpha=1), torch.full_like(x, count - 1))
