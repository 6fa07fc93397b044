"""A debug build of a functor: its instrumented text run on the host device, and the events that its probes record.

The log has a byte for each site and element, so that threads do not meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from pymetal import dtypes, ir
from pymetal.codegen.functor_text import functor_text
from pymetal.codegen.launch_kernels import KERNEL, Form, LaunchKey, Role, launch_kernel
from pymetal.codegen.metal_file import headers, preamble
from pymetal.debug.instrument import DEFINITIONS, Site, instrument
from pymetal.dtypes import DType
from pymetal.errors import CallError, Span
from pymetal.host.library import compile_shader
from pymetal.runtime.arguments import bind_number
from pymetal.runtime.dispatch import Caller
from pymetal.runtime.plan import Number


@dataclass(frozen=True)
class Event:
    """Something that happened: what, in which operator, on which line of Python, at which elements.

    Attributes:
        what: "NaN is born", "integer overflow" or "division by zero".
        count: at how many elements.
        index: the first of them.
        operands: the functor's operands there.
        where: a mask of all of them, in the shape of the result.
    """

    what: str
    operator: str
    span: Span | None
    count: int
    index: tuple[int, ...]
    operands: tuple[Any, ...]
    where: torch.Tensor = field(repr=False, compare=False)

    def __str__(self) -> str:
        where = f"{self.span}: " if self.span else ""
        count = "1 element" if self.count == 1 else f"{self.count} elements"
        at = f"{self.index}, operands ({', '.join(map(str, self.operands))})"
        line = f"\n{self.span.caret()}" if self.span else ""
        return f"{where}{self.what} in `{self.operator}` at {count}, first at {at}{line}"


def trace(caller: Caller, given: tuple[Any, ...], scalars: dict[str, Any]) -> list[Event]:
    """Runs the debug build of a functor on CPU tensors; returns what happened, in the order of the text.

    Raises:
        CallError: the tensors are of several dtypes, or of one that is not registered, or not on the CPU.
    """
    numbers_and_tensors, values = caller.arguments(given, scalars)
    tensors = _tensors(caller, numbers_and_tensors)
    element = _element(caller, tensors)
    operands = torch.broadcast_tensors(*tensors)  # type: ignore[no-untyped-call]
    instrumented, sites = instrument(caller.checked, element, caller.compute(element))
    if not sites or not operands[0].numel():
        return []
    source, kinds = _source(caller, instrumented, element, len(sites))
    kernel = getattr(compile_shader(source), KERNEL)
    out = torch.empty(operands[0].shape, dtype=caller.result(element).torch)
    log = torch.zeros(operands[0].numel(), len(sites), dtype=torch.uint8)
    bound = [bind_number(v, d) for v, d in zip([*values.values(), log.data_ptr()], kinds, strict=True)]
    kernel(out, *(o.contiguous() for o in operands), *bound, threads=out.numel())
    return list(_events(sites, log, operands))


def _tensors(caller: Caller, given: Sequence[torch.Tensor | Number]) -> tuple[torch.Tensor, ...]:
    """The operands, numbers as tensors of the dtype of the others."""
    dtype = next((v.dtype for v in given if isinstance(v, torch.Tensor)), None)
    if dtype is None:
        raise CallError(f"{caller.name} was called with numbers only", hint="Pass at least one tensor.")
    for value in given:
        if not isinstance(value, torch.Tensor) and torch.result_type(torch.empty(1, dtype=dtype), value) != dtype:
            raise CallError(
                f"{caller.name}: the debug build computes in {dtype}, which does not hold {value!r}",
                hint="Convert the tensors with .to() first.",
            )
    return tuple(v if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=dtype) for v in given)


def _element(caller: Caller, tensors: tuple[torch.Tensor, ...]) -> DType:
    first = tensors[0].dtype
    element = dtypes.from_torch(first)
    known = element is not None and element in caller.checked.domain
    if not known or not all(t.is_cpu and t.dtype == first for t in tensors):
        raise CallError(
            f"{caller.name}: the debug build takes CPU tensors of one registered dtype",
            hint="Convert them with .to() first.",
        )
    assert element is not None
    return element


def _source(caller: Caller, instrumented: ir.CheckedFunction, element: DType, sites: int) -> tuple[str, list[DType]]:
    compute = caller.compute(element)
    overload = instrumented.overload(element)
    assert overload is not None
    text = functor_text(instrumented)
    scalars = [ir.resolved(param.type, compute) for param in overload.function.scalars]
    returned = ir.resolved(overload.function.result, compute)
    count = len(overload.function.params)
    params = (text.scalar_types[element],) if len(scalars) > 1 else ()
    form = Form(0, (Role.ELEMENT,) * count)
    output = caller.result(element)
    key = LaunchKey(form, (element,) * count, compute, (returned,), (output,), tuple(scalars), params)
    address = f"s{len(scalars) - 1}"
    # Each element has bytes of its own.
    kernel = launch_kernel([caller.checked.name], key).replace(
        f"ulong({address})", f"(ulong({address}) + ulong(i) * {sites})"
    )
    return f"{preamble(headers(instrumented))}{DEFINITIONS}\n{text.source}\n{kernel}", scalars


def _events(sites: list[Site], log: torch.Tensor, operands: tuple[torch.Tensor, ...]) -> Iterator[Event]:
    shape = operands[0].shape
    for number, site in enumerate(sites):
        where = log[:, number].bool()
        if bool(where.any()):
            hit = where.nonzero().flatten()
            index = tuple(int(i) for i in torch.unravel_index(hit[0], shape))
            at = tuple(o[index].item() for o in operands)
            yield Event(site.event, site.operator, site.span, len(hit), index, at, where.view(shape))
