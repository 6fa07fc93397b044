"""A call of a functor: the fast path finds a launch in the plan cache, the slow path checks, plans and compiles one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.autograd import forward_ad

from pymetal import dtypes, ir
from pymetal.codegen.functor_text import FunctorText
from pymetal.codegen.launch_kernels import PER_THREAD, Form, LaunchKey, Role, bound_as
from pymetal.dtypes import INTEGRAL, DType, Kind
from pymetal.errors import CallError, plural
from pymetal.runtime.arguments import Bound, Parameters, is_transformed, readable, refuse_tangents
from pymetal.runtime.device import device_of, find_device
from pymetal.runtime.jit import Programs
from pymetal.runtime.overlap import check_apart, check_memory, check_output, resize_output
from pymetal.runtime.plan import MAX_THREADS, Number, Operand, Plan, describe, is_stored, make_plan
from pymetal.runtime.plan_cache import Launch, PlanCache, SeveralLaunch, dispatch_key, unpacked
from pymetal.runtime.strides import contiguous_strides
from pymetal.runtime.type_promotion import CallTypes

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Planned:
    """The plan of one call, and what it was made from."""

    name: str  # the functor's
    operands: tuple[Operand, ...]
    plan: Plan
    key: LaunchKey
    device: torch.device


@dataclass
class Caller(CallTypes, Parameters):
    """Runs one functor."""

    text: FunctorText
    others: tuple[Caller, ...] = ()  # of several results, those of the others than the first
    programs: Programs = field(init=False)
    plans: PlanCache = field(default_factory=PlanCache)

    def __post_init__(self) -> None:
        super().__post_init__()
        results = (self.checked, *(other.checked for other in self.others))
        self.programs = Programs(self.name, results, self.text)
        self._operands_only = -1 if self.scalars else len(self.tensors)

    def __call__(self, args: tuple[Any, ...], out: Any, named: dict[str, Any]) -> Any:
        """The result of a call; see :meth:`pymetal.Functor.__call__`."""
        if is_transformed():
            raise CallError(
                f"{self.name} cannot be called under vmap, functionalize, jit.trace or a dispatch mode: there tensors "
                "have no memory",
                hint="Call it outside, or register it as an operator of torch.library first.",
            )
        scalars: tuple[Any, ...] = ()
        if named or len(args) != self._operands_only:
            try:
                args, scalars = self.takes(*args, **named)
            except TypeError as error:
                raise self.misfit(named, error) from None
        if forward_ad._current_level >= 0:
            refuse_tangents(self.name, (*args, *(out if isinstance(out, tuple | list) else (out,)), *scalars))
        values = args if out is None else (*args, out)
        key, device = dispatch_key(values)
        if device is not None and (out is None or isinstance(out, torch.Tensor)):
            rank = () if out is None else (out.dim(),)
            launch = self.plans.get((find_device(device).variant(), *rank, *key))
            if launch is not None and not (launch.is_complex and _is_conjugated(values)):
                if out is None:
                    bound = self._bound(launch, scalars) if scalars else ()
                    return launch.run(launch.allocate(), args, bound)
                inputs = [a for a in args if isinstance(a, torch.Tensor)]
                if not out.is_inference() and check_memory(self.name, out, inputs):
                    return _written(launch.run(out, args, self._bound(launch, scalars)))
        if self.others and isinstance(out, tuple | list):
            kept = self._kept(args, out, scalars)
            if kept is not None:
                return kept
        return self._slow_path(args, out, scalars)

    def _kept(self, args: tuple[Any, ...], outs: Any, scalars: tuple[Any, ...]) -> Any:
        """The results of a call with `out=` whose launch has been kept; None if none has."""
        values = (*args, *outs)
        key, device = dispatch_key(values)
        if device is None or not all(type(o) is torch.Tensor and not o.is_inference() for o in outs):
            return None
        launch = self.plans.get((find_device(device).variant(), *(o.dim() for o in outs), *key))
        inputs = [a for a in args if isinstance(a, torch.Tensor)]
        if launch is None or (launch.is_complex and _is_conjugated(values)):
            return None
        if not all(check_memory(self.name, o, inputs) for o in outs):
            return None
        check_apart(self.name, outs)
        return tuple(map(_written, launch.run(outs, args, self._bound(launch, scalars))))

    def _bound(self, launch: Launch, scalars: tuple[Any, ...]) -> Sequence[Bound]:
        """The scalar parameters as they are bound; floats for float parameters need no check."""
        if launch.takes_floats and set(map(type, scalars)) == {float}:
            return scalars
        return self.bind(self.numbers(scalars), launch.key.scalars)

    def _slow_path(self, args: tuple[Any, ...], out: Any, scalars: tuple[Any, ...]) -> Any:
        """As `__call__`, for arguments of any sort; keeps the launch for calls of the same dispatch key."""
        given, numbers = self.operands(args), self.numbers(scalars)
        tensors = [o for o in given if isinstance(o, torch.Tensor)]
        if not tensors:
            raise CallError(f"{self.name} was called with numbers only", hint="Pass at least one tensor.")
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
            raise CallError(
                f"{self.name} has no autograd formula, and an input requires grad",
                hint="Call it under torch.no_grad(), or pass x.detach().",
            )
        device = device_of(self.name, tensors)
        operands = [readable(o) for o in given]
        described = [describe(o, device) for o in operands]
        element = self.element(described)
        plan, stored = make_plan(self.name, element, described), self.results(element)
        if out is None:
            launch = self._launch(plan, described, stored, device)
            if plan.shape.numel() <= MAX_THREADS:
                self.plans.keep(args, (), launch)
            return self._run(launch, launch.allocate(), operands, numbers)
        outs = self._outs(out, stored, device, plan.shape, tensors)
        fits = all(result.shape == plan.shape for result in outs)
        for result in outs:
            resize_output(self.name, result, plan.shape, plan.strides)
        readers = [o for o in operands if isinstance(o, torch.Tensor)]
        unclear = [result for result in outs if not check_memory(self.name, result, readers)]
        temporary = bool(unclear) or not all(map(_is_plain, outs))
        if self.others:
            check_apart(self.name, outs)
            strides = plan.strides or contiguous_strides(plan.shape)
            if temporary or any(result.stride() != strides for result in outs):
                launch = self._launch(plan, described, stored, device)
                results = self._run(launch, launch.allocate(), operands, numbers)
                return tuple(result.copy_(new) for result, new in zip(outs, results, strict=True))
            launch = self._launch(plan, described, tuple(_stored(result.dtype) for result in outs), device)
            if fits and plan.shape.numel() <= MAX_THREADS:
                self.plans.keep(args, outs, launch)
            return tuple(map(_written, self._run(launch, outs, operands, numbers)))
        (result,) = outs
        target = torch.empty_like(result, dtype=stored[0].torch) if temporary else result
        plan = make_plan(self.name, element, described, describe(target, device))
        launch = self._launch(plan, described, (_stored(target.dtype),), device)
        if fits and not temporary and plan.shape.numel() <= MAX_THREADS:
            self.plans.keep(args, outs, launch)
        self._run(launch, target, operands, numbers)
        return result.copy_(target) if temporary else _written(result)

    def results(self, element: DType) -> tuple[DType, ...]:
        """The dtype of each result."""
        return (self.result(element), *(other.result(element) for other in self.others))

    def _outs(
        self, out: Any, stored: Sequence[DType], device: torch.device, shape: torch.Size, tensors: list[torch.Tensor]
    ) -> tuple[torch.Tensor, ...]:
        """The tensors of `out=`, if results of these dtypes and this shape can be written to them."""
        given = out if self.others else (out,)
        if not isinstance(given, tuple | list) or len(given) != len(stored):
            found = plural(len(given), "value") if isinstance(given, tuple | list) else type(out).__name__
            names = ", ".join("abcdefgh"[: len(stored)])
            raise CallError(
                f"{self.name}: out= must be a tuple of {len(stored)} tensors, not {found}", hint=f"Pass out=({names})."
            )
        outs = tuple(check_output(self.name, o, d.torch, device) for o, d in zip(given, stored, strict=True))
        for result in outs:
            if result.requires_grad and torch.is_grad_enabled():
                raise CallError(
                    f"{self.name}: out= requires grad", hint="Pass out.detach(), or call under torch.no_grad()."
                )
            if result.shape != shape and any(t is result for t in tensors):
                raise CallError(
                    f"{self.name}: output with shape {list(result.shape)} doesn't match the broadcast shape "
                    f"{list(shape)}",
                    hint="An out= that is an input must have the shape of the result already; pass another one.",
                )
        return outs

    def _run(self, launch: Launch, outs: Any, operands: Sequence[Any], numbers: dict[str, Number]) -> Any:
        out = outs[0] if self.others else outs
        if out.numel() <= MAX_THREADS:
            pairs = zip(operands, launch.in_memory, strict=True)
            values = [o if in_memory or not isinstance(o, torch.Tensor) else o.item() for o, in_memory in pairs]
            return launch.run(outs, values, self.bind(numbers, launch.key.scalars))
        # Two launches of half the elements each.
        dim = max(range(out.dim()), key=lambda d: out.shape[d])
        half = out.shape[dim] // 2
        for start, length in ((0, half), (half, out.shape[dim] - half)):
            parts = [
                o.expand(out.shape).narrow(dim, start, length) if isinstance(o, torch.Tensor) and o.dim() else o
                for o in operands
            ]
            halves = tuple(o.narrow(dim, start, length) for o in (outs if self.others else (outs,)))
            described = [describe(o, out.device) for o in parts]
            plan = make_plan(self.name, launch.plan.element, described, describe(halves[0], out.device))
            half_launch = self._launch(plan, described, launch.key.outputs, out.device)
            self._run(half_launch, halves if self.others else halves[0], parts, numbers)
        return outs

    def _launch(
        self, plan: Plan, operands: Sequence[Operand], outputs: tuple[DType, ...], device: torch.device
    ) -> Launch:
        """The plan with its kernel, compiled if it is the first of its kind."""
        runner, form = find_device(device), plan.form
        threads: int | list[int] = list(plan.grid) if len(plan.grid) > 1 else sum(plan.grid)
        extra: tuple[Any, ...] = ()
        if form.rank:  # in memory of the device: a list would be packed anew in every launch
            extra = (torch.tensor(plan.steps, device=device),)
            extra += (torch.tensor(plan.sizes, device=device), len(plan.sizes)) if form.rank > 3 else ()
        elif plan.grid and plan.grid[0] >= runner.several_from:
            form = Form(0, form.roles, PER_THREAD)
            extra = (plan.grid[0],)
            threads = -(-plan.grid[0] // PER_THREAD)
        key = self._launch_key(plan.element, form, operands, outputs)
        if _log.isEnabledFor(logging.DEBUG):
            planned = Planned(self.name, tuple(operands), plan, key, device)
            _log.debug(planned, extra={"stage": "plan", "subject": self.name})
        in_memory = tuple(role is not Role.NUMBER for role in form.roles)
        kernel, make = self.programs.get(runner, key), Launch
        if self.others:
            kernel, make = unpacked(kernel), SeveralLaunch
        return make(
            plan, key, kernel, outputs[0].torch, device, threads, extra, in_memory,
            has_numbers=not all(in_memory),
            is_complex=any(d.kind is Kind.COMPLEX for d in (*key.inputs, *key.outputs)),
            takes_floats=all(d == dtypes.float32 for d in key.bound_scalars),
        )  # fmt: skip

    def _launch_key(
        self, element: DType, form: Form, operands: Sequence[Operand], outputs: tuple[DType, ...]
    ) -> LaunchKey:
        compute, callers = self.compute(element), (self, *self.others)
        functions = [caller.function(element) for caller in callers]
        inputs = tuple(
            bound_as(element) if role is Role.NUMBER else _stored(operand.dtype)
            for operand, role in zip(operands, form.roles, strict=True)
        )
        scalars = tuple(ir.resolved(p.type, compute) for p in functions[0].scalars)
        params = tuple(caller.text.scalar_types[element] for caller in callers) if len(scalars) > 1 else ()
        returned = tuple(ir.resolved(function.result, compute) for function in functions)
        # As in torch, a tensor with dimensions takes the common dtype first: integers next to half are rounded.
        met = zip(operands, inputs, strict=True)
        via = tuple(element if o.shape and d.kind in INTEGRAL else d for o, d in met) if compute != element else ()
        return LaunchKey(form, inputs, compute, returned, outputs, scalars, params, () if via == inputs else via)

    def source(self, args: tuple[Any, ...], named: dict[str, Any]) -> str:
        """The Metal text that a call with these arguments compiles and runs."""
        return self.programs.source(self.planned(args, named).key)

    def planned(self, args: tuple[Any, ...], named: dict[str, Any], out: Any = None) -> Planned:
        """What a call with these arguments would launch; nothing is compiled or run."""
        operands, _ = self.arguments(args, named)
        device = device_of(self.name, [o for o in operands if isinstance(o, torch.Tensor)])
        described = [describe(readable(o), device) for o in operands]
        element = self.element(described)
        plan, stored = make_plan(self.name, element, described), self.results(element)
        if out is not None:
            outs = self._outs(out, stored, device, plan.shape, [])
            # Else it is resized, or copied to.
            if not self.others and outs[0].shape == plan.shape and is_stored(outs[0].dtype):
                plan = make_plan(self.name, element, described, describe(outs[0], device))
                stored = (_stored(outs[0].dtype),)
        key = self._launch_key(element, plan.form, described, stored)
        return Planned(self.name, tuple(described), plan, key, device)


def _written(out: torch.Tensor) -> torch.Tensor:
    """`out`, with a new version for those who saved it for a backward pass."""
    if not out.is_inference():
        torch.autograd.graph.increment_version(out)
    return out


def _is_plain(out: torch.Tensor) -> bool:
    """True if a kernel can write to `out` itself."""
    return not out.is_neg() and not out.is_conj() and is_stored(out.dtype)


def _is_conjugated(args: tuple[Any, ...]) -> bool:
    """True if an operand has a conjugation pending."""
    return any(isinstance(a, torch.Tensor) and a.is_conj() for a in args)


def _stored(dtype: torch.dtype | None) -> DType:
    found = None if dtype is None else dtypes.from_torch(dtype)
    assert found is not None
    return found
