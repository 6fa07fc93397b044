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
from pymetal.dtypes import DType, Kind
from pymetal.errors import CallError
from pymetal.runtime.arguments import Bound, Parameters, is_transformed, readable, refuse_tangents
from pymetal.runtime.device import device_of, find_device
from pymetal.runtime.jit import Programs
from pymetal.runtime.overlap import check_memory, check_output, resize_output
from pymetal.runtime.plan import MAX_THREADS, Number, Operand, Plan, describe, is_stored, make_plan
from pymetal.runtime.plan_cache import Launch, PlanCache, dispatch_key
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
    programs: Programs = field(init=False)
    plans: PlanCache = field(default_factory=PlanCache)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.programs = Programs(self.checked, self.text)
        self._operands_only = -1 if self.scalars else len(self.tensors)

    def __call__(self, args: tuple[Any, ...], out: Any, named: dict[str, Any]) -> torch.Tensor:
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
            refuse_tangents(self.name, (*args, out, *scalars))
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
        return self._slow_path(args, out, scalars)

    def _bound(self, launch: Launch, scalars: tuple[Any, ...]) -> Sequence[Bound]:
        """The scalar parameters as they are bound; floats for float parameters need no check."""
        if launch.takes_floats and set(map(type, scalars)) == {float}:
            return scalars
        return self.bind(self.numbers(scalars), launch.key.scalars)

    def _slow_path(self, args: tuple[Any, ...], out: Any, scalars: tuple[Any, ...]) -> torch.Tensor:
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
        plan, dtype = make_plan(self.name, element, described), self.result(element).torch
        if out is None:
            launch = self._launch(plan, described, dtype, device)
            if plan.shape.numel() <= MAX_THREADS:
                self.plans.keep(args, None, launch)
            return self._run(launch, launch.allocate(), operands, numbers)
        result = check_output(self.name, out, dtype, device)
        if result.requires_grad and torch.is_grad_enabled():
            raise CallError(
                f"{self.name}: out= requires grad", hint="Pass out.detach(), or call under torch.no_grad()."
            )
        fits = result.shape == plan.shape
        if not fits and any(t is result for t in tensors):
            raise CallError(
                f"{self.name}: output with shape {list(result.shape)} doesn't match the broadcast shape "
                f"{list(plan.shape)}",
                hint="An out= that is an input must have the shape of the result already; pass another one.",
            )
        resize_output(self.name, result, plan.shape, plan.strides)
        temporary = not check_memory(self.name, result, [o for o in operands if isinstance(o, torch.Tensor)])
        temporary |= result.is_neg() or result.is_conj() or not is_stored(result.dtype)
        target = torch.empty_like(result, dtype=dtype) if temporary else result
        plan = make_plan(self.name, element, described, describe(target, device))
        launch = self._launch(plan, described, target.dtype, device)
        if fits and not temporary and plan.shape.numel() <= MAX_THREADS:
            self.plans.keep(args, result, launch)
        self._run(launch, target, operands, numbers)
        return result.copy_(target) if temporary else _written(result)

    def _run(
        self, launch: Launch, out: torch.Tensor, operands: Sequence[Any], numbers: dict[str, Number]
    ) -> torch.Tensor:
        if out.numel() <= MAX_THREADS:
            pairs = zip(operands, launch.in_memory, strict=True)
            values = [o if in_memory or not isinstance(o, torch.Tensor) else o.item() for o, in_memory in pairs]
            return launch.run(out, values, self.bind(numbers, launch.key.scalars))
        # Two launches of half the elements each.
        dim = max(range(out.dim()), key=lambda d: out.shape[d])
        half = out.shape[dim] // 2
        for start, length in ((0, half), (half, out.shape[dim] - half)):
            parts = [
                o.expand(out.shape).narrow(dim, start, length) if isinstance(o, torch.Tensor) and o.dim() else o
                for o in operands
            ]
            part = out.narrow(dim, start, length)
            described = [describe(o, out.device) for o in parts]
            plan = make_plan(self.name, launch.plan.element, described, describe(part, out.device))
            self._run(self._launch(plan, described, part.dtype, out.device), part, parts, numbers)
        return out

    def _launch(self, plan: Plan, operands: Sequence[Operand], output: torch.dtype, device: torch.device) -> Launch:
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
        key = self._launch_key(plan.element, form, operands, output)
        if _log.isEnabledFor(logging.DEBUG):
            planned = Planned(self.name, tuple(operands), plan, key, device)
            _log.debug(planned, extra={"stage": "plan", "subject": self.name})
        in_memory = tuple(role is not Role.NUMBER for role in form.roles)
        return Launch(
            plan, key, self.programs.get(runner, key), output, device, threads, extra, in_memory,
            has_numbers=not all(in_memory), is_complex=any(d.kind is Kind.COMPLEX for d in key.inputs),
            takes_floats=all(d == dtypes.float32 for d in key.bound_scalars),
        )  # fmt: skip

    def _launch_key(self, element: DType, form: Form, operands: Sequence[Operand], output: torch.dtype) -> LaunchKey:
        function, compute = self.function(element), self.compute(element)
        inputs = tuple(
            bound_as(element) if role is Role.NUMBER else _stored(operand.dtype)
            for operand, role in zip(operands, form.roles, strict=True)
        )
        scalars = tuple(ir.resolved(p.type, compute) for p in function.scalars)
        params = self.text.scalar_types.get(element) if len(scalars) > 1 else None
        return LaunchKey(form, inputs, compute, ir.resolved(function.result, compute), _stored(output), scalars, params)

    def source(self, args: tuple[Any, ...], named: dict[str, Any]) -> str:
        """The Metal text that a call with these arguments compiles and runs."""
        return self.programs.source(self.planned(args, named).key)

    def planned(self, args: tuple[Any, ...], named: dict[str, Any], out: Any = None) -> Planned:
        """What a call with these arguments would launch; nothing is compiled or run."""
        operands, _ = self.arguments(args, named)
        device = device_of(self.name, [o for o in operands if isinstance(o, torch.Tensor)])
        described = [describe(readable(o), device) for o in operands]
        element = self.element(described)
        plan, stored = make_plan(self.name, element, described), self.result(element).torch
        if out is not None:
            out = check_output(self.name, out, stored, device)
            if out.shape == plan.shape and is_stored(out.dtype):  # else it is resized, or copied to
                plan, stored = make_plan(self.name, element, described, describe(out, device)), out.dtype
        key = self._launch_key(element, plan.form, described, stored)
        return Planned(self.name, tuple(described), plan, key, device)


def _written(out: torch.Tensor) -> torch.Tensor:
    """`out`, with a new version for those who saved it for a backward pass."""
    if not out.is_inference():
        torch.autograd.graph.increment_version(out)
    return out


def _is_conjugated(args: tuple[Any, ...]) -> bool:
    """True if an operand has a conjugation pending."""
    return any(isinstance(a, torch.Tensor) and a.is_conj() for a in args)


def _stored(dtype: torch.dtype | None) -> DType:
    found = None if dtype is None else dtypes.from_torch(dtype)
    assert found is not None
    return found
