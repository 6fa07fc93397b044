"""Inputs of public bug reports, through the gallery.

`data/bug_cases.json` has the inputs, the layout of each operand and the right result; the family of a report is the
first part of its test's name. A few functors that the gallery does not have are written below.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import toolbox
import torch
from float_distance import distance
from torch import Tensor

import pymetal
from examples import unimplemented
from examples.aten import load
from pymetal import T, float32, int64

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "bug_cases.json").read_text(encoding="utf-8")
)
ALL = {**load(), **unimplemented.load()}
FAMILIES = {
    "nan-inf-signed-zero", "int-through-float", "rounding-and-precision", "scalar-operand", "layout",
    "narrow-ints-bools-shifts", "index-arithmetic",
}  # fmt: skip

# --- functors that the gallery has no kernel for ---------------------------------------------------------------------


@pymetal.ternary
def clamp(x: T, low: T, high: T) -> T:
    """torch.clamp with tensor bounds."""
    return min(max(x, low), high)


@pymetal.unary(dtypes=("floating", "integral"))
def clamp_scalars(x: T, *, low: T, high: T) -> T:
    return min(max(x, low), high)


@pymetal.unary(promotion="always_bool")
def isnan(x: T) -> bool:
    return x != x


@pymetal.unary(promotion="always_bool")
def isfinite(x: T) -> bool:
    return math.isfinite(x)


@pymetal.unary(promotion="always_bool")
def isneginf(x: T) -> bool:
    return math.isinf(x) and x < 0


@pymetal.ternary
def where(condition: T, a: T, b: T) -> T:
    return a if condition != 0 else b


@pymetal.unary
def to_float(x: pymetal.uint8) -> float32:
    return float(x)


@pymetal.binary
def offset(row: int64, column: int64) -> int64:
    return row * 65537 + column


@pymetal.unary
def index_expression(i: int64) -> int64:
    return (i // 65536) % 6


# --- what differs from the report ------------------------------------------------------------------------------------

# Where the report has an error and a kernel cannot raise one, or promotes: the reason and the value it gives.
DEFINED: dict[str, tuple[str, list[Any]]] = {
    "int64-pow-negative-scalar-exponent-raises": ("a kernel cannot raise: 1 / x rounded to zero", [0, 1]),
    "int-floor-divide-by-zero-raises": ("a kernel cannot raise: x // 0 is 0, and -1 for negative x", [0, 2]),
    "lerp-half-float32-1d-weight-raises": ("operands promote to a common dtype", [0.1, 1.2]),
}
# torch copies integers before its kernel; the functor is registered for floats only, and says so.
REFUSED = {"int64-ceil-is-noop": "ceil takes floats: an integer never goes through one"}

# --- a case as a call ------------------------------------------------------------------------------------------------


def _number(value: Any) -> Any:
    if isinstance(value, dict):
        return complex(_number(value["re"]), _number(value["im"]))
    return float(value) if isinstance(value, str) else value


def _tree(value: Any) -> Any:
    return [_tree(v) for v in value] if isinstance(value, list) else _number(value)


def _dtype(name: str) -> torch.dtype:
    found: torch.dtype = getattr(torch, name)
    return found


def _tensor(value: Any, dtype: torch.dtype) -> Tensor:
    return torch.tensor(_tree(value), dtype=dtype)


def _laid_out(x: Tensor, layout: str) -> Tensor:
    """The same values in storage of another layout, with other numbers around them."""
    kind, _, at = layout.partition(":")
    filler = torch.full((1,), 97 if x.dtype is not torch.bool else 1).to(x.dtype).item()
    match kind:
        case "transposed":
            return x.transpose(-1, -2).contiguous().transpose(-1, -2)
        case "permuted":
            return x.permute(2, 0, 1).contiguous().permute(1, 2, 0)
        case "column" | "columns":
            base = torch.full(
                (*x.shape, 4) if kind == "column" else (x.shape[0], x.shape[1] + 2), filler, dtype=x.dtype
            )
            view = base[..., int(at)] if kind == "column" else base[:, int(at) : int(at) + x.shape[1]]
            return view.copy_(x)
        case "offset" | "scalar0d" | "cpu_scalar0d":
            base = torch.full((x.numel() + int(at) + 1,), filler, dtype=x.dtype)
            return base[int(at) : int(at) + x.numel()].view(x.shape).copy_(x)
        case "expanded":
            return x[:1].expand(x.shape)
        case "conj":
            return x.conj().resolve_conj().conj()
        case _:
            return x


def _operands(case: dict[str, Any]) -> list[Any]:
    found: list[Any] = []
    for value, dtype, layout in zip(case["inputs"], case["dtypes"], case["operand_layout"], strict=True):
        found.append(_number(value) if dtype == "python_scalar" else _laid_out(_tensor(value, _dtype(dtype)), layout))
    return found


_NAMES = {
    "torch.floor_divide": "div_floor", "op.rshift": "bitwise_right_shift", "op.sub": "sub", "Tensor.add_": "add",
    "Tensor.bitwise_xor_": "bitwise_xor", "Tensor.float": "to_float", "index.offset": "offset",
    "index.expr": "index_expression",
}  # fmt: skip
_LOCAL: dict[str, pymetal.Functor] = {
    f.name: f for f in (clamp, clamp_scalars, isnan, isfinite, isneginf, where, to_float, offset, index_expression)
}


def _call(case: dict[str, Any]) -> tuple[pymetal.Functor, list[Any], dict[str, Any]]:
    """The functor of a case, its operands and scalars."""
    operands, scalars = _operands(case), dict(case["extra_scalars"])
    name = _NAMES.get(case["op"], case["op"].rpartition(".")[2])
    match name:
        case "add" | "sub" if case["alpha"] is not None:
            scalars = {"alpha": case["alpha"] if name == "add" else -case["alpha"]}
            name = "add_alpha"
        case "div":
            mode = scalars.pop("rounding_mode", "true")
            name = f"div_{mode}"
        case "clamp" if case["arity"] == "unary":
            return _clamp(operands[0], scalars)
        case "lerp" if "weight" in scalars:
            name = "lerp_alpha"
        case "hardtanh":
            return _clamp(operands[0], {"min": -1.0, "max": 1.0})
        case "polygamma":
            scalars = {"n": operands.pop(0)}
        case "offset":
            rows = operands[0]
            return offset, [rows[:, 0], rows[:, 1]], {}
        case "index_expression" | "where" | "to_float":
            scalars = {}
        case "nan_to_num":
            top = torch.finfo(operands[0].dtype).max
            scalars = {"posinf": top, "neginf": -top, **scalars}
        case "pow" if isinstance(operands[1], int) and case["id"].startswith("int64"):
            scalars, name = {"exponent": operands.pop()}, "pow_scalar"
    return _LOCAL.get(name) or ALL[name], operands, scalars


def _clamp(x: Tensor, bounds: dict[str, Any]) -> tuple[pymetal.Functor, list[Any], dict[str, Any]]:
    # A float bound makes integers floats, as torch's promotion of the bounds does.
    if not x.is_floating_point() and any(isinstance(b, float) for b in bounds.values()):
        x = x.float()
    ends = torch.finfo(x.dtype) if x.is_floating_point() else torch.iinfo(x.dtype)
    return clamp_scalars, [x], {"low": bounds.get("min", ends.min), "high": bounds.get("max", ends.max)}


def _compare(case: dict[str, Any], result: Tensor, wanted: Tensor) -> None:
    if "expected_shape" in case:
        assert list(result.shape) == case["expected_shape"]
    assert result.dtype == wanted.dtype
    assert result.shape == wanted.shape
    mode = case["compare"]
    if mode.startswith("ulp:"):
        assert distance(result, wanted).max() <= int(mode[4:])
        return
    torch.testing.assert_close(result, wanted, rtol=0, atol=0, equal_nan=True)
    if mode == "exact" and wanted.is_floating_point():
        zero = wanted == 0
        assert torch.equal(result[zero].signbit(), wanted[zero].signbit())


# --- the tests -------------------------------------------------------------------------------------------------------


def test_every_family_is_here() -> None:
    assert {c["family"] for c in CASES} == FAMILIES
    assert set(DEFINED) | set(REFUSED) <= {c["id"] for c in CASES}


@pytest.fixture(scope="module", autouse=True)
def _compiled_together() -> Iterator[None]:
    """All kernels in one run of the compiler."""
    with toolbox.batch("ieee"):
        for case in CASES:
            functor, operands, scalars = _call(case)
            with contextlib.suppress(pymetal.PyMetalError, RuntimeError):
                functor.jit_source(*operands, **scalars)
        yield


@pytest.mark.parametrize("case", CASES, ids=[f"{c['family']}/{c['id']}" for c in CASES])
def test_case(case: dict[str, Any]) -> None:
    functor, operands, scalars = _call(case)
    if case["id"] in REFUSED:
        with pytest.raises(pymetal.CallError):
            functor(*operands, **scalars)
        return
    if case["id"] in DEFINED:
        wanted = torch.tensor(DEFINED[case["id"]][1])
        torch.testing.assert_close(functor(*operands, **scalars).to(wanted.dtype), wanted)
        return
    inplace = case["op"].endswith("_")
    if "expected_error" in case:
        if "build" in case:
            operands[0] = torch.zeros(1).expand(3)
        with pytest.raises((pymetal.PyMetalError, RuntimeError)):
            functor(*operands, **scalars, **({"out": operands[0]} if inplace else {}))
        return
    wanted = _tensor(case["expected"], _dtype(case["expected_dtype"]))
    if inplace:
        assert functor(*operands, **scalars, out=operands[0]) is operands[0]
        _compare(case, operands[0], wanted)
        _check_base(case, operands[0])
    elif "out" in case:
        out = _out(case["out"])
        resized = out.shape != wanted.shape
        with pytest.warns(UserWarning, match="was resized") if resized else contextlib.nullcontext():
            assert functor(*operands, **scalars, out=out) is out
        _compare(case, out, wanted)
    else:
        _compare(case, functor(*operands, **scalars), wanted)


def _out(spec: dict[str, Any]) -> Tensor:
    shape = spec["shape"]
    if spec["layout"] == "transposed":
        return torch.empty(shape[::-1], dtype=_dtype(spec["dtype"])).t()
    return torch.empty(shape, dtype=_dtype(spec["dtype"]))


def _check_base(case: dict[str, Any], view: Tensor) -> None:
    """What is around the elements that were written is as it was."""
    assert view._base is not None
    around = view._base.clone().flatten()
    step = view.stride(0)
    around[::step] = around[1]
    assert (around == around[1]).all()


GALLERY = load()


def test_lcm_takes_the_absolute_value_before_it_narrows() -> None:
    lcm = GALLERY["lcm"]
    for dtype, a, b, wanted in (
        (torch.int8, -126, -127, -126), (torch.int16, 32767, 2, -2), (torch.uint8, 200, 7, 1400 % 256),
        (torch.int32, 65536, 65537, 65536), (torch.int8, 0, 0, 0),
    ):  # fmt: skip
        operands = torch.tensor([a], dtype=dtype), torch.tensor([b], dtype=dtype)
        assert lcm(*operands).item() == lcm.reference(*operands).item() == torch.lcm(*operands).item() == wanted


def test_gates_keep_small_results() -> None:
    """x / (1 + e^-x) where e^x is subnormal; by mpmath."""
    with pymetal.host.numerics("ieee"):
        glu = GALLERY["glu"](torch.tensor([10.0]), torch.tensor([-88.5])).item()
        silu = GALLERY["silu"](torch.tensor([-88.5])).item()
    assert math.isclose(glu, 3.672302e-38, rel_tol=1e-6)
    assert math.isclose(silu, -3.249987e-37, rel_tol=1e-6)


# Where the iterator of a stub has its operands in another order than gradient, input.
INPUT_FIRST = {"leaky_relu_backward", "log_sigmoid_backward"}


def test_operands_stand_in_the_order_of_the_stub() -> None:
    gradients = {name: f for name, f in GALLERY.items() if name.endswith("_backward")}
    assert len(gradients) > 12
    for name, functor in gradients.items():
        order = [parameter for parameter, _ in functor.signature.tensors]
        assert order[1 if name in INPUT_FIRST else 0] == "grad", name
