"""Which of torch's OpInfos has the samples of a functor, and how a sample becomes a call of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

Call = tuple[list[Any], dict[str, Any]]  # operands, scalars
Adapter = Callable[[SampleInput, int], Call | None]

_INFOS: dict[tuple[str, str], OpInfo] = {(o.name, o.variant_test_name): o for o in op_db}


def _plain(sample: SampleInput, arity: int) -> Call | None:
    operands = [sample.input, *sample.args]
    return (operands, {}) if len(operands) == arity and not sample.kwargs else None


def _any_keywords(sample: SampleInput, arity: int) -> Call | None:
    return [sample.input, *sample.args][:arity], {}


def _scalars(**defaults: Any) -> Adapter:
    """Keywords of the sample are scalars of the functor; `defaults` are torch's own, for those that are absent."""

    def adapt(sample: SampleInput, arity: int) -> Call | None:
        operands = [sample.input, *sample.args]
        if len(operands) != arity or set(sample.kwargs) - set(defaults):
            return None
        return operands, {**defaults, **sample.kwargs}

    return adapt


def _last_is(name: str) -> Adapter:
    """The last positional argument, a number, is the scalar `name`."""

    def adapt(sample: SampleInput, arity: int) -> Call | None:
        operands = [sample.input, *sample.args]
        if len(operands) != arity + 1 or isinstance(operands[-1], Tensor):
            return None
        return operands[:-1], {name: operands[-1]}

    return adapt


def _gelu(approximate: str) -> Adapter:
    return lambda s, arity: ([s.input], {}) if s.kwargs.get("approximate", "none") == approximate else None


def _logit(sample: SampleInput, arity: int) -> Call | None:
    return [sample.input], {"eps": sample.args[0] if sample.args else -1.0}


def _nan_to_num(sample: SampleInput, arity: int) -> Call | None:
    if not (sample.input.is_floating_point() or sample.input.is_complex()):
        return None
    top = torch.finfo(sample.input.dtype).max
    return [sample.input], {"nan": 0.0, "posinf": top, "neginf": -top, **sample.kwargs}


def _tensor_weight(sample: SampleInput, arity: int) -> Call | None:
    operands = [sample.input, *sample.args]
    return (operands, {}) if all(isinstance(o, Tensor) for o in operands) else None


# Functors whose OpInfo has another name, or whose samples have keywords.
_OTHERS: dict[str, tuple[str, str, Adapter]] = {
    "add_alpha": ("add", "", _scalars(alpha=1)),
    "lerp_alpha": ("lerp", "", _last_is("weight")),
    "lerp": ("lerp", "", _tensor_weight),
    "div_true": ("div", "no_rounding_mode", _any_keywords),
    "div_floor": ("div", "floor_rounding", _any_keywords),
    "div_trunc": ("div", "trunc_rounding", _any_keywords),
    "make_complex": ("complex", "", _plain),
    "pow_scalar": ("pow", "", lambda s, arity: ([s.input], {})),
    "sqr": ("square", "", _plain),
    "trigamma": ("polygamma", "polygamma_n_1", lambda s, arity: ([s.input], {})),
    "polygamma": ("polygamma", "polygamma_n_2", _last_is("n")),
    "round_decimals": ("round", "decimals_3", _scalars(decimals=0)),
    "nan_to_num": ("nan_to_num", "", _nan_to_num),
    "gelu": ("nn.functional.gelu", "", _gelu("none")),
    "gelu_tanh": ("nn.functional.gelu", "", _gelu("tanh")),
    "hardshrink": ("nn.functional.hardshrink", "", _scalars(lambd=0.5)),
    "softshrink": ("nn.functional.softshrink", "", _scalars(lambd=0.5)),
    "leaky_relu": ("nn.functional.leaky_relu", "", _scalars(negative_slope=0.01)),
    "relu": ("nn.functional.relu", "", _plain),
    "elu": ("nn.functional.elu", "", lambda s, arity: ([s.input], {"alpha": s.kwargs.get("alpha", 1.0)})),
    "softplus": ("nn.functional.softplus", "", _scalars(beta=1.0, threshold=20.0)),
    "log_sigmoid_forward": ("nn.functional.logsigmoid", "", _plain),
    "hardsigmoid": ("nn.functional.hardsigmoid", "", _any_keywords),
    "hardswish": ("nn.functional.hardswish", "", _any_keywords),
    "silu": ("nn.functional.silu", "", _any_keywords),
    "mish": ("nn.functional.mish", "", _any_keywords),
    "addcmul": ("addcmul", "", _scalars(value=1)),
    "addcdiv": ("addcdiv", "", _scalars(value=1)),
    "logit": ("logit", "", _logit),
}

# Gradients have no OpInfo: their second operand comes from the samples of the function.
_GRADIENTS: dict[str, str] = {
    "shrink_backward": "nn.functional.hardshrink",
    "leaky_relu_backward": "nn.functional.leaky_relu",
    "logit_backward": "logit",
    "hardsigmoid_backward": "nn.functional.hardsigmoid",
    "hardswish_backward": "nn.functional.hardswish",
    "mish_backward": "nn.functional.mish",
    "gelu_backward": "nn.functional.gelu",
    "gelu_tanh_backward": "nn.functional.gelu",
    "silu_backward": "nn.functional.silu",
    "glu": "nn.functional.silu",
    "log_sigmoid_backward": "nn.functional.logsigmoid",
    "elu_backward": "nn.functional.elu",
    "sigmoid_backward": "sigmoid",
    "tanh_backward": "tanh",
    "softplus_backward": "nn.functional.softplus",
    "hardtanh_backward": "nn.functional.hardtanh",
}


def find(name: str) -> tuple[OpInfo, Adapter]:
    """The OpInfo of a functor, and what makes calls of its samples."""
    if name in _OTHERS:
        info, variant, adapter = _OTHERS[name]
        return _INFOS[info, variant], adapter
    if name in _GRADIENTS:
        return _INFOS[_GRADIENTS[name], ""], _with_gradient
    return _INFOS.get((name, "")) or _INFOS[f"special.{name}", ""], _plain


def _with_gradient(sample: SampleInput, arity: int) -> Call | None:
    x = sample.input
    generator = torch.Generator().manual_seed(x.numel())
    grad = torch.randn(x.shape, generator=generator, dtype=torch.float32).to(x.dtype)
    return [grad, x], {}


# torch has no samples of these dtypes, or none that its CPU knows: those of another dtype are converted.
_FROM = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}


def calls(name: str, dtype: torch.dtype, arity: int, limit: int = 8) -> Iterator[Call]:
    """Operands of `dtype` and scalars, from the samples of torch."""
    info, adapter = find(name)
    source = dtype if dtype in info.dtypes else _FROM.get(dtype, dtype)
    if source not in info.dtypes:
        source = next(d for d in (torch.float32, torch.int32, torch.bool) if d in info.dtypes)
    found = 0
    for sample in info.sample_inputs("cpu", source, requires_grad=False):
        call = adapter(sample, arity)
        if call is None or any(isinstance(o, Tensor) and o.numel() > 2000 for o in call[0]):
            continue
        operands, scalars = call
        yield [o.to(dtype) if isinstance(o, Tensor) else o for o in operands], scalars
        found += 1
        if found == limit:
            return
