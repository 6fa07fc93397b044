"""A functor's call: arguments checked, a plan made or found, the output allocated, the kernel launched.

Plans are kept by the operands' dtypes, shapes and strides: a call like an earlier one goes from a look-up to a launch.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch.autograd import forward_ad

from pymetal import dtypes, ir
from pymetal.codegen.functor_text import FunctorText
from pymetal.codegen.launch_kernels import PER_THREAD, Form, LaunchKey, Role, bound_as
from pymetal.dtypes import DType, Kind
from pymetal.errors import CallError, nearest
from pymetal.ir import CheckedFunction
from pymetal.runtime.device import Device, Kernel, device_of, find_device
from pymetal.runtime.jit import Programs
from pymetal.runtime.overlap import check_memory, check_output, resize_output
from pymetal.runtime.plan import MAX_THREADS, Number, Operand, Plan, describe, is_stored, make_plan

Bound: TypeAlias = int | float | list[float]  # a number as it is bound
_log = logging.getLogger(__name__)
_MAX_PLANS = 4096  # of one functor
_WIDENED = frozenset({Kind.FLOATING, Kind.COMPLEX})


@dataclass(frozen=True)
class Launch:
    """A plan with its kernel: all that is needed to run a call of its signature."""

    plan: Plan
    key: LaunchKey
    kernel: Kernel
    dtype: torch.dtype  # of a new output
    device: torch.device
    threads: int | list[int]
    extra: tuple[Any, ...]  # bound after the scalars
    in_memory: tuple[bool, ...]  # which operands are bound as tensors
    is_complex: bool  # an operand may have a conjugation pending
    has_numbers: bool  # an operand is bound by value
    takes_floats: bool  # every scalar parameter is bound as a float

    def allocate(self) -> torch.Tensor:
        """A new output."""
        plan = self.plan
        if plan.strides is None:
            return torch.empty(plan.shape, dtype=self.dtype, device=self.device)
        return torch.empty_strided(plan.shape, plan.strides, dtype=self.dtype, device=self.device)


@dataclass(frozen=True)
class Planned:
    """The plan of one call, and what it was made from."""

    name: str  # the functor's
    operands: tuple[Operand, ...]
    plan: Plan
    key: LaunchKey
    device: torch.device


@dataclass
class Caller:
    """Runs one functor."""

    name: str
    tensors: tuple[str, ...]  # the names of the tensor parameters
    scalars: dict[str, Number | None]  # the scalar parameters and their defaults
    checked: CheckedFunction
    text: FunctorText
    widens: bool  # half and bfloat are widened before the functor is called
    to_float: bool  # integers are converted to float before anything else
    programs: Programs = field(init=False)
    _launches: dict[Any, Launch] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.programs = Programs(self.checked, self.text)

    def __call__(self, args: tuple[Any, ...], out: Any, scalars: dict[str, Any]) -> torch.Tensor:
        """The result of a call; see :meth:`pymetal.Functor.__call__`."""
        if _is_transformed():
            raise CallError(
                f"{self.name} was called where tensors have no memory: under vmap, functionalize, jit.trace or a mode",
                hint="Call it outside, or register it as an operator of torch.library first.",
            )
        if forward_ad._current_level >= 0:
            self._refuse_tangents((*args, out))
        if out is None:
            described, device = _signature(args)
            if device is not None:
                launch = self._launches.get((find_device(device).variant(), *described))
                if launch is not None and not (launch.is_complex and _is_conjugated(args)):
                    return self._again(launch, args, scalars, launch.allocate())
        else:
            described, device = _signature((*args, out))
            if device is not None:
                launch = self._launches.get((find_device(device).variant(), out.dim(), *described))
                if (
                    launch is not None
                    and not out.is_inference()
                    and not (launch.is_complex and _is_conjugated((*args, out)))
                    and check_memory(self.name, out, [a for a in args if isinstance(a, torch.Tensor)])
                ):
                    return _written(self._again(launch, args, scalars, out))
        return self._slowly(args, out, scalars)

    def _refuse_tangents(self, values: tuple[Any, ...]) -> None:
        """Forward-mode derivatives are not computed, so they must not be lost in silence."""
        for value in values:
            if isinstance(value, torch.Tensor) and forward_ad.unpack_dual(value).tangent is not None:  # type: ignore[no-untyped-call]
                raise CallError(
                    f"{self.name} has no autograd formula, and a tensor has a tangent of forward-mode differentiation",
                    hint="Call it with torch.autograd.forward_ad.unpack_dual(x).primal.",
                )

    def _again(
        self, launch: Launch, args: tuple[Any, ...], scalars: dict[str, Any], result: torch.Tensor
    ) -> torch.Tensor:
        """A call of a known signature."""
        numbers: list[Bound] = []
        if self.scalars or scalars:
            for name, default in self.scalars.items():
                value = scalars.get(name, default)
                if type(value) is not float:
                    break
                numbers.append(value)
            if not launch.takes_floats or len(numbers) < len(self.scalars) or not scalars.keys() <= self.scalars.keys():
                numbers = self._bind_scalars(self._values(scalars), launch.key.scalars)
        if launch.has_numbers:
            triples = zip(args, launch.in_memory, launch.key.inputs, strict=True)
            args = tuple([a if in_memory else bind_number(a, dtype) for a, in_memory, dtype in triples])
        if launch.plan.grid:
            launch.kernel(result, *args, *numbers, *launch.extra, threads=launch.threads)
        return result

    # --- the whole way ---

    def _slowly(self, args: tuple[Any, ...], out: Any, scalars: dict[str, Any]) -> torch.Tensor:
        """As `__call__`, for arguments of any sort; keeps the plan for calls like it."""
        given = self.operands(args)
        values = self._values(self.numbers(scalars))
        tensors = [o for o in given if isinstance(o, torch.Tensor)]
        if not tensors:
            raise CallError(f"{self.name} was called with numbers only", hint="Pass at least one tensor.")
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
            raise CallError(
                f"{self.name} has no autograd formula, and an input requires grad",
                hint="Call it under torch.no_grad(), or pass x.detach().",
            )
        device = device_of(self.name, tensors)
        ready = [self._ready(o) for o in given]
        described = [describe(o, device) for o in ready]
        plan = make_plan(self.name, described, None, self.checked.domain, self.to_float)
        dtype = self.result(plan.element).torch
        temporary = False
        if out is None:
            launch = self._launch(plan, described, dtype, device)
            self._keep(args, launch)
            result = launch.allocate()
        else:
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
                    hint="An out= that is an input has the shape of the result already; pass another one.",
                )
            resize_output(self.name, result, plan.shape, plan.strides)
            temporary = not check_memory(self.name, result, [t for t in ready if isinstance(t, torch.Tensor)])
            temporary |= result.is_neg() or result.is_conj() or not is_stored(result.dtype)
            target = torch.empty_like(result, dtype=dtype) if temporary else result
            plan = make_plan(self.name, described, describe(target, device), self.checked.domain, self.to_float)
            launch = self._launch(plan, described, target.dtype, device)
            if fits and not temporary:
                self._keep(args, launch, result)
            result, out = target, result
        self._run(launch, result, ready, values)
        if out is None:
            return result
        written: torch.Tensor = out
        return written.copy_(result) if temporary else _written(written)

    def _run(self, launch: Launch, out: torch.Tensor, operands: Sequence[Any], values: Sequence[Number]) -> None:
        plan = launch.plan
        if not plan.grid:
            return
        if out.numel() > MAX_THREADS:
            self._split(out, operands, values)
            return
        bound: list[Any] = []
        for operand, in_memory, dtype in zip(operands, launch.in_memory, launch.key.inputs, strict=True):
            if in_memory:
                bound.append(operand)
            else:
                value = operand.item() if isinstance(operand, torch.Tensor) else operand
                bound.append(bind_number(value, dtype))
        numbers = self._bind_scalars(values, launch.key.scalars)
        launch.kernel(out, *bound, *numbers, *launch.extra, threads=launch.threads)

    def _split(self, out: torch.Tensor, operands: Sequence[Any], values: Sequence[Number]) -> None:
        """Two launches of half the elements each."""
        dim = max(range(out.dim()), key=lambda d: out.shape[d])
        half = out.shape[dim] // 2
        for start, length in ((0, half), (half, out.shape[dim] - half)):
            parts = [
                o.expand(out.shape).narrow(dim, start, length) if isinstance(o, torch.Tensor) and o.dim() else o
                for o in operands
            ]
            part = out.narrow(dim, start, length)
            described = [describe(o, out.device) for o in parts]
            plan = make_plan(self.name, described, describe(part, out.device), self.checked.domain, self.to_float)
            self._run(self._launch(plan, described, part.dtype, out.device), part, parts, values)

    # --- plans and kernels ---

    def _launch(self, plan: Plan, operands: Sequence[Operand], output: torch.dtype, device: torch.device) -> Launch:
        runner: Device = find_device(device)
        form = plan.form
        threads: int | list[int] = list(plan.grid) if len(plan.grid) > 1 else (plan.grid or (0,))[0]
        extra: tuple[Any, ...] = ()
        if form.rank:  # in memory of the device: a list would be packed anew in every launch
            extra = (torch.tensor(plan.steps, device=device),)
            extra += (torch.tensor(plan.sizes, device=device), len(plan.sizes)) if form.rank > 3 else ()
        if form.rank == 0 and plan.grid and plan.grid[0] >= runner.several_from:
            form = Form(0, form.roles, PER_THREAD)
            extra = (plan.grid[0],)
            threads = -(-plan.grid[0] // PER_THREAD)
        key = self._key(plan.element, form, operands, output)
        if _log.isEnabledFor(logging.DEBUG):
            planned = Planned(self.name, tuple(operands), plan, key, device)
            _log.debug(planned, extra={"stage": "plan", "subject": self.name})
        kernel = self.programs.get(runner, key)
        in_memory = tuple(role is not Role.NUMBER for role in form.roles)
        is_complex = any(d.kind is Kind.COMPLEX for d in key.inputs)
        floats = all(bound_as(d) == dtypes.float32 for d in key.scalars)
        return Launch(
            plan, key, kernel, output, device, threads, extra, in_memory, is_complex, not all(in_memory), floats
        )  # fmt: skip

    def _key(self, element: DType, form: Form, operands: Sequence[Operand], output: torch.dtype) -> LaunchKey:
        overload = self.checked.overload(element)
        assert overload is not None
        function, compute = overload.function, self.compute(element)
        inputs = tuple(
            bound_as(element) if role is Role.NUMBER else _known(dtypes.from_torch(_dtype(o)))
            for o, role in zip(operands, form.roles, strict=True)
        )
        scalars = tuple(_known(ir.resolve(p.type, compute)) for p in function.scalars)
        returned = _known(ir.resolve(function.result, compute))
        params = self.text.scalar_types.get(element) if len(scalars) > 1 else None
        return LaunchKey(form, inputs, compute, returned, _known(dtypes.from_torch(output)), scalars, params)

    def _keep(self, args: tuple[Any, ...], launch: Launch, out: torch.Tensor | None = None) -> None:
        """Keeps a launch for calls with the same signature, if it is one that the quick way takes."""
        number = () if out is None else (out.dim(),)  # no dtype, so that it is not taken for one of the operands
        args = args if out is None else (*args, out)
        described, device = _signature(args)
        if device is None or launch.plan.shape.numel() > MAX_THREADS:
            return
        for arg in args:
            if isinstance(arg, torch.Tensor) and (arg.is_neg() or arg._is_zerotensor() or arg.requires_grad):
                return
            if isinstance(arg, torch.Tensor) and not is_stored(arg.dtype):
                return
        if len(self._launches) >= _MAX_PLANS:
            self._launches.clear()
        signature = (find_device(device).variant(), *number, *described)
        self._launches[signature] = launch

    def compute(self, element: DType) -> DType:
        """What the functor is called with: float for half where a registration macro widens."""
        return dtypes.opmath(element) if self.widens and element.kind in _WIDENED else element

    def result(self, element: DType) -> DType:
        """The dtype of the result. Where half was widened for the functor, it comes back narrow."""
        overload = self.checked.overload(element)
        assert overload is not None
        type_ = overload.function.result
        return _known(ir.resolve(type_, element if type_ == ir.Var() else self.compute(element)))

    def source(self, args: tuple[Any, ...], scalars: dict[str, Any]) -> str:
        """The Metal text that a call with these arguments compiles and runs."""
        return self.programs.source(self.planned(args, scalars).key)

    def planned(self, args: tuple[Any, ...], scalars: dict[str, Any], out: Any = None) -> Planned:
        """What a call with these arguments would launch; nothing is compiled or run."""
        operands = self.operands(args)
        self.numbers(scalars)
        device = device_of(self.name, [o for o in operands if isinstance(o, torch.Tensor)])
        described = [describe(self._ready(o), device) for o in operands]
        plan = make_plan(self.name, described, None, self.checked.domain, self.to_float)
        stored = self.result(plan.element).torch
        if out is not None:
            out = check_output(self.name, out, stored, device)
            if out.shape == plan.shape and is_stored(out.dtype):  # else it is resized, or copied to
                plan = make_plan(self.name, described, describe(out, device), self.checked.domain, self.to_float)
                stored = out.dtype
        key = self._key(plan.element, plan.form, described, stored)
        return Planned(self.name, tuple(described), plan, key, device)

    # --- arguments ---

    def operands(self, args: tuple[Any, ...]) -> list[torch.Tensor | Number]:
        """The operands, checked for number and kind.

        Raises:
            CallError: there are more or fewer than the functor takes, or one is neither tensor nor number.
        """
        if len(args) != len(self.tensors):
            raise CallError(
                f"{self.name}({', '.join(self.tensors)}) takes {len(self.tensors)} tensor(s), and {len(args)} came",
                hint="Scalar parameters are passed by keyword." if len(args) > len(self.tensors) else None,
            )
        for name, value in zip(self.tensors, args, strict=True):
            if not isinstance(value, (torch.Tensor, bool, int, float, complex)):
                raise CallError(
                    f"{self.name}: {name} is {type(value).__name__}",
                    hint="Pass a tensor or a number; torch.as_tensor(x) makes a tensor of a list or an array.",
                )
            if isinstance(value, torch.Tensor) and value.layout != torch.strided:
                raise CallError(f"{self.name}: {name} has layout {value.layout}", hint="Pass x.to_dense().")
        return list(args)

    def numbers(self, given: dict[str, Any]) -> dict[str, Number]:
        """The scalar parameters, defaults filled in.

        Raises:
            CallError: there is no such parameter, one is missing, or one is not a number.
        """
        for name in given:
            if name not in self.scalars:
                near = nearest(name, [*self.scalars, "out"])
                raise CallError(
                    f"{self.name} has no parameter {name!r}" + (f"; did you mean {near!r}?" if near else ""),
                    hint=f"Keywords: {', '.join([*self.scalars, 'out'])}.",
                )
        numbers: dict[str, Number] = {}
        for name, default in self.scalars.items():
            value = given.get(name, default)
            if value is None:
                raise CallError(f"{self.name} needs the scalar {name!r}", hint=f"Call it with {name}=...")
            if isinstance(value, torch.Tensor) and value.dim() == 0:
                value = value.item()
            if not isinstance(value, (bool, int, float, complex)):
                raise CallError(f"{self.name}: {name} is {type(value).__name__}", hint="Pass a Python number.")
            numbers[name] = value
        return numbers

    def _values(self, given: dict[str, Any]) -> list[Number]:
        return list(self.numbers(given).values()) if self.scalars or given else []

    def _bind_scalars(self, values: Sequence[Number], types: Sequence[DType]) -> list[Bound]:
        for name, value, dtype in zip(self.scalars, values, types, strict=True):
            check_scalar(self.name, name, value, dtype)
        return [bind_number(value, dtype) for value, dtype in zip(values, types, strict=True)]

    def _ready(self, operand: torch.Tensor | Number) -> torch.Tensor | Number:
        """An operand as a kernel can read it: of a dtype that Metal has, with no conjugation or negation pending."""
        if not isinstance(operand, torch.Tensor):
            return operand
        if operand._is_zerotensor():  # zeros without memory
            return torch.zeros(operand.shape, dtype=operand.dtype, device=operand.device)
        return operand.resolve_conj().resolve_neg()


def _is_transformed() -> bool:
    """True where torch hands out tensors that stand for others: functorch's transforms, tracing, dispatch modes."""
    transformed = (
        torch._C._functorch.peek_interpreter_stack() is not None
        or torch._C._len_torch_dispatch_stack()
        or torch._C._get_tracing_state() is not None
    )
    # Dynamo leaves the call out of its graph by itself.
    return bool(transformed) and not torch.compiler.is_compiling()


def _signature(args: tuple[Any, ...]) -> tuple[list[Any], torch.device | None]:
    """What a plan depends on, and the device; no device if the arguments are not ones that the quick way takes.

    Tensors that hold a negation, have no memory or want a gradient have signatures of their own, which no plan is kept
    for.
    """
    described: list[Any] = []
    device: torch.device | None = None
    for arg in args:
        kind = type(arg)
        if kind is torch.Tensor:
            if device is not None and arg.device != device:
                return described, None
            device = arg.device
            is_plain = not arg.is_neg() and not arg._is_zerotensor()
            described += (arg.dtype, arg.shape, arg.stride(), device, is_plain, arg.requires_grad)
        elif kind is int:
            described.append(kind)
        elif kind is float:
            described += (kind, torch.get_default_dtype())  # which it is, next to integers
        else:
            return described, None
    return described, device


def _written(out: torch.Tensor) -> torch.Tensor:
    """`out`, with a new version for those who saved it for a backward pass."""
    if not out.is_inference():
        torch.autograd.graph.increment_version(out)
    return out


def _is_conjugated(args: tuple[Any, ...]) -> bool:
    """True if an operand has a conjugation pending."""
    return any(isinstance(a, torch.Tensor) and a.is_conj() for a in args)


def _dtype(operand: Operand) -> torch.dtype:
    assert operand.dtype is not None
    return operand.dtype


def _known(dtype: DType | None) -> DType:
    assert dtype is not None
    return dtype


def check_scalar(functor: str, name: str, value: Number, dtype: DType) -> None:
    """Refuses a scalar parameter that its type cannot hold, as torch does.

    Raises:
        CallError: it is complex and the type is not, or not an integer of the type's range. Unsigned types take
            negative numbers, which wrap: a - b is a + (-1) * b.
    """
    label = f"{functor}: scalar {name}={value!r}"
    if isinstance(value, complex) and dtype.kind is not Kind.COMPLEX:
        raise CallError(f"{label} is complex and the tensors are real", hint="Pass a real number.")
    if dtype.kind not in (Kind.SIGNED, Kind.UNSIGNED) or isinstance(value, complex):
        return
    if value != value or value in _INFINITE or int(value) != value:
        raise CallError(
            f"{label} cannot be used with integer tensors",
            hint="Pass an integer, or convert the tensors to a floating dtype.",
        )
    high = (1 << (dtype.bits - (dtype.kind is Kind.SIGNED))) - 1
    low = -high - 1 if dtype.kind is Kind.SIGNED else -high
    if not low <= int(value) <= high:
        raise CallError(f"{label} does not fit {dtype}", hint="Pass a smaller number, or convert the tensors.")


def bind_number(value: Number, dtype: DType) -> Bound:
    """A number as `compile_shader` binds it: an int, a float, or a pair of floats for a complex one."""
    match bound_as(dtype).kind:
        case Kind.COMPLEX:
            number = complex(value)
            return [number.real, number.imag]
        case Kind.FLOATING:
            assert not isinstance(value, complex)
            return float(value)
        case _:
            assert not isinstance(value, complex)
            if dtype.kind is Kind.BOOL:
                return int(bool(value))
            # The low 64 bits: what does not fit wraps, as torch has it for a number next to a tensor.
            return ((int(value) + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


_INFINITE = (float("inf"), float("-inf"))
