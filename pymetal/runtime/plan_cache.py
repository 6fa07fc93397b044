"""The plan cache: a plan with its kernel, found again by the dispatch key of a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pymetal.codegen.launch_kernels import LaunchKey
from pymetal.runtime.arguments import LOWEST, Bound, bind_number
from pymetal.runtime.device import Kernel, find_device
from pymetal.runtime.plan import Plan, is_stored

MAX_PLANS = 4096  # of one functor


@dataclass(frozen=True)
class Launch:
    """A plan with its kernel: all that is needed to run a call of its dispatch key."""

    plan: Plan
    key: LaunchKey
    kernel: Kernel
    dtype: torch.dtype  # of a new output; of several, the first
    device: torch.device
    threads: int | list[int]
    extra: tuple[Any, ...]  # bound after the scalars
    in_memory: tuple[bool, ...]  # which operands are bound as tensors
    has_numbers: bool  # an operand is bound by value
    is_complex: bool  # an operand or an output may have a conjugation pending
    takes_floats: bool  # every scalar parameter is bound as a float

    def allocate(self) -> torch.Tensor:
        """A new output."""
        plan = self.plan
        if plan.strides is None:
            return torch.empty(plan.shape, dtype=self.dtype, device=self.device)
        return torch.empty_strided(plan.shape, plan.strides, dtype=self.dtype, device=self.device)

    def run(self, out: torch.Tensor, operands: Sequence[Any], scalars: Sequence[Bound]) -> torch.Tensor:
        """Writes the result to `out`, and returns it; operands that are bound by value are given as numbers."""
        if self.has_numbers:
            triples = zip(operands, self.in_memory, self.key.inputs, strict=True)
            operands = [a if in_memory else bind_number(a, dtype) for a, in_memory, dtype in triples]
        if self.plan.grid:
            self.kernel(out, *operands, *scalars, *self.extra, threads=self.threads)
        return out


@dataclass(frozen=True)
class SeveralLaunch(Launch):
    """A launch with several outputs, all of one layout: a tuple of tensors takes the place of the tensor."""

    def allocate(self) -> Any:
        """New outputs."""
        first = super().allocate()
        return (first, *[torch.empty_like(first, dtype=d.torch) for d in self.key.outputs[1:]])


def unpacked(kernel: Kernel) -> Kernel:
    """A kernel that takes the outputs of a :class:`SeveralLaunch`."""

    def launch(*args: Any, threads: int | list[int]) -> None:
        outs, *rest = args
        kernel(*outs, *rest, threads=threads)

    return launch


def dispatch_key(args: tuple[Any, ...]) -> tuple[list[Any], torch.device | None]:
    """What a plan depends on, and the device; no device if the arguments are not ones that the fast path takes.

    Tensors that hold a negation, have no memory or want a gradient have keys of their own, which no plan is kept for.
    """
    key: list[Any] = []
    device: torch.device | None = None
    for arg in args:
        kind = type(arg)
        if kind is torch.Tensor:
            if device is not None and arg.device != device:
                return key, None
            device = arg.device
            is_plain = not arg.is_neg() and not arg._is_zerotensor()
            try:
                key += (arg.dtype, arg.shape, arg.stride(), device, is_plain, arg.requires_grad)
            except RuntimeError:  # sparse and nested ones have no strides
                return key, None
        elif kind is int and LOWEST <= arg < -LOWEST:
            key.append(kind)
        elif kind is float:
            key += (kind, torch.get_default_dtype())  # which it is, next to integers
        else:
            return key, None
    return key, device


class PlanCache(dict[tuple[Any, ...], Launch]):
    """The launches of one functor: by the device's variant, the ranks of `out=`, and the dispatch key.

    The ranks tell `out=` from more operands.
    """

    def keep(self, args: tuple[Any, ...], outs: tuple[torch.Tensor, ...], launch: Launch) -> None:
        """Keeps a launch for calls with the same dispatch key, if the fast path takes them."""
        values = (*args, *outs)
        key, device = dispatch_key(values)
        tensors = [v for v in values if isinstance(v, torch.Tensor)]
        if device is None or any(
            t.is_neg() or t._is_zerotensor() or t.requires_grad or not is_stored(t.dtype) for t in tensors
        ):
            return
        if len(self) >= MAX_PLANS:
            self.clear()
        whole = (find_device(device).variant(), *(out.dim() for out in outs), *key)
        self[whole] = launch
