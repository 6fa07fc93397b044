"""Every case collected from public bug reports, each with the value that is right, through functors written for it.

The cases are data: inputs, layout, and the expected value, which comes from exact mathematics or torch on the CPU.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bug_functors as f
import pytest
import toolbox
import torch

from pymetal import CallError
from pymetal.functor import Functor

Case = dict[str, Any]
CASES: list[Case] = json.loads((Path(__file__).parents[1] / "gallery" / "data" / "bug_cases.json").read_text("utf-8"))

OPERATORS: dict[str, Functor] = {
    "torch.abs": f.absolute, "torch.add": f.add, "torch.addcdiv": f.addcdiv, "torch.addcmul": f.addcmul,
    "torch.atan2": f.atan2, "torch.bitwise_right_shift": f.right_shift, "torch.bitwise_xor": f.bitwise_xor,
    "torch.ceil": f.ceil, "torch.copysign": f.copysign, "torch.digamma": f.digamma, "torch.eq": f.eq,
    "torch.expm1": f.expm1, "torch.floor_divide": f.floor_divide, "torch.fmax": f.fmax, "torch.fmin": f.fmin,
    "torch.fmod": f.fmod, "torch.frac": f.frac, "torch.gt": f.gt, "torch.heaviside": f.heaviside,
    "torch.hypot": f.hypot, "torch.isfinite": f.isfinite, "torch.isnan": f.isnan, "torch.isneginf": f.isneginf,
    "torch.lcm": f.lcm, "torch.le": f.le, "torch.logaddexp": f.logaddexp, "torch.logical_not": f.logical_not,
    "torch.maximum": f.maximum, "torch.mul": f.mul, "torch.nan_to_num": f.nan_to_num, "torch.neg": f.neg,
    "torch.nextafter": f.nextafter, "torch.pow": f.power, "torch.remainder": f.remainder, "torch.round": f.rounded,
    "torch.sigmoid": f.sigmoid, "torch.sign": f.sign, "torch.sqrt": f.sqrt, "torch.sub": f.sub, "torch.tanh": f.tanh,
    "torch.where": f.where, "torch.xlogy": f.xlogy, "Tensor.add_": f.add, "Tensor.bitwise_xor_": f.bitwise_xor,
    "Tensor.float": f.to_float, "op.rshift": f.right_shift, "op.sub": f.sub, "index.expr": f.index_expression,
    "torch.nn.functional.elu": f.elu, "torch.nn.functional.hardshrink": f.hardshrink,
    "torch.nn.functional.hardtanh": f.hardtanh, "torch.nn.functional.leaky_relu": f.leaky_relu,
    "torch.nn.functional.softplus": f.softplus, "torch.nn.functional.softshrink": f.softshrink,
}  # fmt: skip


def clamp(x: Any, *bounds: Any, min: Any = None, max: Any = None, out: Any = None) -> Any:
    """Bounds are operands, numbers too: they take part in promotion."""
    if bounds:
        return f.clamp(x, *bounds, out=out)
    return f.clamp_min(x, min, out=out) if max is None else f.clamp(x, min, max, out=out)


def div(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    return {None: f.true_divide, "floor": f.floor_divide, "trunc": f.trunc_divide}[rounding_mode](a, b)


# Operators whose overloads are functors of their own.
CALLS: dict[str, Callable[..., Any]] = {
    **OPERATORS,
    "torch.clamp": clamp,
    "torch.div": div,
    "torch.lerp": lambda a, b, *w, weight=None: f.lerp3(a, b, *w) if w else f.lerp(a, b, weight=weight),
    "torch.logit": lambda x, eps=None: f.logit(x) if eps is None else f.logit_eps(x, eps=eps),
    "torch.polygamma": lambda n, x: f.polygamma(x, n=n),
    "index.offset": lambda x, strides: f.offset(x[:, 0], x[:, 1], row=strides[0], column=strides[1]),
}

# What torch refuses while it looks at values, or by a rule of one operator, a kernel defines.
DEFINED = {
    "int64-pow-negative-scalar-exponent-raises": torch.tensor([0, 1]),  # as torch.pow of two tensors
    "int-floor-divide-by-zero-raises": torch.tensor([0, 2]),  # c10::metal::floor_divide on the host device
    "lerp-half-float32-1d-weight-raises": torch.tensor([0.1, 1.2]),  # promoted to float32
}


def number(value: Any) -> Any:
    """A value of the file: NaN, infinities and -0 are words, complex numbers have parts."""
    if isinstance(value, dict):
        return complex(number(value["re"]), number(value["im"]))
    return float(value) if isinstance(value, str) else value


def nested(value: Any) -> Any:
    return [nested(v) for v in value] if isinstance(value, list) else number(value)


def operand(value: Any, dtype: str, layout: str) -> Any:
    """An operand in the layout that the case names, with other values around it."""
    if dtype == "python_scalar":
        return number(value)
    wanted = getattr(torch, dtype)
    plain = torch.tensor(nested(value), dtype=wanted)
    kind, _, place = layout.partition(":")
    match kind:
        case "transposed":
            return plain.t().contiguous().t()
        case "permuted":
            return plain.permute(2, 0, 1).contiguous().permute(1, 2, 0)
        case "offset":
            memory = torch.full((plain.numel() + 8,), 97).to(wanted)
            memory[int(place) : int(place) + plain.numel()] = plain
            return memory[int(place) : int(place) + plain.numel()]
        case "column":
            return columns(plain)[:, int(place)]
        case "columns":
            memory = torch.full((plain.shape[0], plain.shape[1] + 3), 97).to(wanted)
            memory[:, int(place) : int(place) + plain.shape[1]] = plain
            return memory[:, int(place) : int(place) + plain.shape[1]]
        case "cpu_scalar0d" | "scalar0d":
            memory = torch.full((8,), 97).to(wanted)
            memory[int(place)] = plain
            return memory[int(place)]
        case "conj":
            return plain.conj().resolve_conj().conj()
        case "expanded":
            return plain[:1].expand(plain.shape)
        case "contiguous":
            return plain
    raise AssertionError(layout)


def columns(plain: torch.Tensor) -> torch.Tensor:
    """A matrix of four columns whose first is `plain`; the file's bases hold 97 beside int16, 777 beside float32."""
    memory = torch.full((plain.numel(), 4), 97 if plain.dtype is torch.int16 else 777).to(plain.dtype)
    memory[:, 0] = plain
    return memory


def operands(case: Case) -> list[Any]:
    return [operand(*row) for row in zip(case["inputs"], case["dtypes"], case["operand_layout"], strict=True)]


def keywords(case: Case) -> dict[str, Any]:
    found = dict(case["extra_scalars"])
    found.pop("expr", None)
    if case["alpha"] is not None:
        found["alpha"] = case["alpha"]
    return found


def check(case: Case, actual: torch.Tensor) -> None:
    """The result is the file's, to the bit or within the units that the file allows."""
    expected = torch.tensor(nested(case["expected"]), dtype=getattr(torch, case["expected_dtype"]))
    expected = expected.reshape(case.get("expected_shape", expected.shape))
    assert actual.dtype is expected.dtype
    assert actual.shape == expected.shape
    if not actual.is_floating_point():
        assert torch.equal(actual, expected), actual
        return
    kind, _, units = case["compare"].partition(":")
    toolbox.assert_equal(actual, expected, ulp=int(units) if kind == "ulp" else 0)
    if kind == "exact":  # zeros keep their sign
        assert torch.equal(actual.signbit() | actual.isnan(), expected.signbit() | expected.isnan()), actual


def test_the_table_is_whole() -> None:
    assert len(CASES) == 115
    assert {case["op"] for case in CASES} == set(CALLS)
    assert set(DEFINED) < {case["id"] for case in CASES if case.get("expected_error")}


def named(case: Case) -> str:
    return f"{case['family']}:{case['id']}"


@pytest.mark.parametrize("case", [c for c in CASES if not c.get("expected_error")], ids=named)
def test_case(case: Case) -> None:
    call, args = CALLS[case["op"]], operands(case)
    layout = case["layout"]
    if layout == "column+inplace":
        base = args[0]._base
        check(case, call(*args, out=args[0]))
        after = torch.tensor(case["expected_base_after"], dtype=base.dtype)
        if not isinstance(args[1], torch.Tensor):
            assert torch.equal(base.flatten(), after)
        else:
            assert torch.equal(base[:, 1:], after.view(base.shape)[:, 1:])
        return
    if "out" in case:
        wanted = case["out"]
        out = torch.full(wanted["shape"], 5).to(getattr(torch, wanted["dtype"]))
        out = out.t().contiguous().t() if wanted["layout"] == "transposed" else out
        if list(out.shape) != case["expected_shape"]:
            with pytest.warns(UserWarning, match="was resized"):
                call(*args, out=out)
        else:
            call(*args, out=out)
        check(case, out)
        return
    for _ in range(2):  # planned, then from the kept plan
        check(case, call(*args, **keywords(case)))


@pytest.mark.parametrize("case", [c for c in CASES if c.get("expected_error")], ids=named)
def test_refused_case(case: Case) -> None:
    call, name = CALLS[case["op"]], case["id"]
    if name in DEFINED:
        args = operands(case)
        torch.testing.assert_close(call(*args), DEFINED[name])
        return
    args = operands(case)
    if name == "expanded-self-inplace-raises":
        x = torch.zeros(1).expand(2)
        with pytest.raises(CallError, match="more than one element of the written-to tensor"):
            call(x, 1, out=x)
        return
    with pytest.raises(CallError):
        call(*args, **keywords(case))


def test_scalars_that_follow_each_other() -> None:
    """A kernel that is kept does not keep the number it was first called with."""
    steps = [c for c in CASES if c.get("sequence") == "clamp-scalar-cache"]
    assert [c["step"] for c in steps] == [1, 2]
    for case in (*steps, *steps):
        check(case, clamp(*operands(case), **keywords(case)))


def test_a_result_between_guards() -> None:
    """isfinite of two columns: the report's fault wrote past the end of the result."""
    case = next(c for c in CASES if c["id"] == "isfinite-column-slice-guards")
    memory = torch.ones(18, dtype=torch.uint8)
    out = memory.view(torch.bool)[6:12].view(3, 2)
    check(case, f.isfinite(*operands(case), out=out))
    assert memory[:6].tolist() == memory[12:].tolist() == [1] * 6
