"""An elementwise operation: checked bodies with all that prints, evaluates and runs them, as other rooms need it."""

from __future__ import annotations

import ast
import functools
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from pymetal import ir
from pymetal.arity import Arity
from pymetal.codegen.format import format_metal
from pymetal.codegen.functor_text import FunctorText, functor_text
from pymetal.codegen.metal_file import Entry, metal_file
from pymetal.codegen.names import functor_name, helper_name
from pymetal.dtypes import DOUBLES, INTEGRAL, DType, listed, wrap
from pymetal.errors import CallError, PyMetalError, public
from pymetal.frontend.annotations import Definition
from pymetal.frontend.overloads import Body, check_functor
from pymetal.frontend.ways_out import decorated
from pymetal.ir import CheckedFunction
from pymetal.promotion import Promotion
from pymetal.runtime.device import device_of
from pymetal.runtime.dispatch import Caller
from pymetal.runtime.plan import Number, broadcast, describe
from pymetal.semantics.interpreter import convert, evaluate

_log = logging.getLogger(__name__)


class Operation:
    """One functor, typed for every dtype that it is registered for.

    A functor with several results is an operation whose `results` are operations of one result each; it runs them in
    one launch.

    Attributes:
        name: the operator's name, which its kernels carry.
        arity: what upstream calls things for this number of tensors.
        bodies: the decorated function, then its overloads.
        checked: its bodies as IR, which `ir` gives; None for several results.
        doc: the docstring.
        promotion: how operands are converted before the body.
        opmath: half and bfloat are computed at float precision.
        max_ulp: the error that `pymetal check` accepts; by dtype; None for its own limits.
        max_ulp_spec: the same as the decorator was given it.
        failures: why the body has no meaning at the dtypes that are left out.
    """

    def __init__(
        self, body: Body, arity: Arity, promotion: Promotion, wanted: tuple[DType, ...] | None = None,
        opmath: bool = False, max_ulp: Mapping[DType, float] | None = None, max_ulp_spec: object = None,
    ) -> None:  # fmt: skip
        self.arity = arity
        self.promotion = promotion
        self.opmath = opmath
        self.max_ulp = max_ulp
        self.max_ulp_spec = max_ulp_spec
        self._wanted = wanted
        self.bodies: tuple[Body, ...] = ()
        self.checked: CheckedFunction | None = None
        self._results: tuple[Operation, ...] = ()
        self.set_bodies((body,))

    def set_bodies(self, bodies: tuple[Body, ...]) -> None:
        """Type-checks all bodies, and discards what was derived from the earlier ones.

        Raises:
            PyMetalError: they cannot become Metal; then the operation stays as it was.
        """
        signature = bodies[0].signature
        if signature.parts():
            self._set_results(bodies)
            return
        widens = self.opmath and self.arity.widens(bool(signature.scalars))
        checked, failures = check_functor(bodies, self.promotion, self._wanted, self.opmath and not widens)
        name, doc = functor_name(checked.name), checked.doc
        if signature.index is not None:
            name, doc = functor_name(f"{name}_{signature.index}"), f"{doc}\nResult {signature.index} of {name}.".strip()
        named = ir.CheckedFunction(name, doc, checked.overloads)
        self.bodies, self.signature, self._widens = bodies, signature, widens
        self.unrestricted = named
        (self.checked,) = ir.restrict_callees(ir.unique_names((named,), helper_name))
        self.failures = failures
        self.__pymetal_definition__ = Definition(signature, named, failures)
        self.name, self.doc = self.ir.name, doc
        self._forget()
        if _log.isEnabledFor(logging.DEBUG):
            lines = "\n".join(line for body in bodies for line in body.source.lines)
            _log.debug(lines, extra={"stage": "py", "subject": self.name})
            _log.debug(self.ir, extra={"stage": "ir", "subject": self.name})

    def _set_results(self, bodies: tuple[Body, ...]) -> None:
        """As `set_bodies`, for several results: a dtype is served if all of them have a meaning there."""
        results = self._results_for(bodies, self._wanted)
        failures = {d: error for r in reversed(results) for d, error in r.failures.items()}
        common = tuple(d for d in results[0].ir.domain if d not in failures)
        if not common:
            raise next(iter(failures.values()))
        if any(r.ir.domain != common for r in results):
            results = self._results_for(tuple(b for b in bodies if b.domain(common)), common)
        node, signature = bodies[0].source.node, bodies[0].signature
        widens = self.opmath and self.arity.widens(bool(signature.scalars))
        self.bodies, self.signature, self._widens = bodies, signature, widens
        self.checked, self._results, self.failures = None, results, failures
        self.__pymetal_definition__ = Definition(
            signature, results[0].ir, failures, tuple(r.__pymetal_definition__ for r in results)
        )
        self.name, self.doc = functor_name(node.name), ast.get_docstring(node) or ""
        unique = ir.unique_names(tuple(r.unrestricted for r in results), helper_name)
        for result, named in zip(results, ir.restrict_callees(unique), strict=True):
            result.checked, result.failures = named, failures
        self._forget()

    def _results_for(self, bodies: tuple[Body, ...], wanted: tuple[DType, ...] | None) -> tuple[Operation, ...]:
        """An operation for each of several results."""
        results = []
        for parts in zip(*(b.signature.parts() for b in bodies), strict=True):
            first, *rest = (replace(b, signature=part) for b, part in zip(bodies, parts, strict=True))
            result = Operation(
                first, self.arity, self.promotion, wanted, self.opmath, self.max_ulp, self.max_ulp_spec
            )  # fmt: skip
            if rest:
                result.set_bodies((first, *rest))
            results.append(result)
        return tuple(results)

    def _forget(self) -> None:
        """Discards what was derived from earlier bodies."""
        for cached in ("text", "caller"):
            self.__dict__.pop(cached, None)

    @property
    def ir(self) -> CheckedFunction:
        """The checked intermediate representation; of several results, each has its own.

        Raises:
            CallError: there are several.
        """
        if self.checked is None:
            raise CallError(
                f"{self.name} has {len(self.results)} results, which have an ir, an entry and a text each",
                hint=f"Write {self.name}.results[0].ir.",
            )
        return self.checked

    @property
    def results(self) -> tuple[Operation, ...]:
        """An operation for each result: of several, the functors that are emitted; of one, this one."""
        return self._results or (self,)

    @property
    def dtypes(self) -> tuple[torch.dtype, ...]:
        """The dtypes that the functor is registered for."""
        return tuple(d.torch for d in self.results[0].ir.domain)

    @property
    def left_out(self) -> dict[torch.dtype, str]:
        """The dtypes of the annotations for which the body has no meaning, and why, with the place in the source."""
        return {d.torch: f"{error.span}: {error.message}" for d, error in self.failures.items()}

    def left_out_note(self) -> str:
        """One line about the dtypes that are left out, or nothing: which, and why."""
        reasons: dict[str, list[str]] = {}
        for dtype, reason in self.left_out.items():
            reasons.setdefault(reason, []).append(str(dtype))
        parts = (f"{', '.join(names)} ({reason})" for reason, names in reasons.items())
        return f"{self.name} is not defined for {'; '.join(parts)}" if reasons else ""

    # --- text ---

    @functools.cached_property
    def text(self) -> FunctorText:
        """The functor's Metal text, definition by definition, not formatted.

        Raises:
            FunctorTypeError: no body serves one of the dtypes of `dtypes=`. All overloads have been added by now.
        """
        if missing := [d for d in self._wanted or () if not any(b.admits(d) for b in self.bodies)]:
            source = self.bodies[0].source
            names = listed(missing)
            raise source.refusal("missing-overload", source.node, dtypes=names, functor=source.node.name)
        return functor_text(*(result.ir for result in self.results))

    @property
    def entry(self) -> Entry:
        """What a `.metal` file needs to know of the functor."""
        return Entry(self.ir, self.arity, self.opmath, self.text, self.unrestricted)

    @property
    @public
    def functor_source(self) -> str:
        """The Metal text of `struct NAME_functor`, formatted; several results have one such struct each."""
        return format_metal(self.text.source)

    @property
    @public
    def metal_source(self) -> str:
        """A whole `.metal` file, formatted: includes, functor, registrations."""
        return metal_file([result.entry for result in self.results])

    # --- meaning ---

    @public
    def reference(self, /, *args: Any, **scalars: Any) -> torch.Tensor:
        """Evaluates the functor with torch operators.

        Args:
            args: tensors or numbers whose shapes broadcast, of any dtype that the functor is registered for, or of
                float64 or complex128, which evaluate it at double precision.
            scalars: the scalar parameters.

        Returns:
            A new tensor of the broadcast shape and the promoted dtype; a tuple of them for several results.

        Raises:
            CallError: the arguments do not fit the functor.
        """
        if "out" in scalars and "out" not in self.caller.scalars:
            raise CallError(f"{self._written}.reference takes no out=", hint="Write out.copy_(f.reference(...)).")
        if self._results:
            self.caller.arguments(args, scalars)  # a misfit is told by the functor's own name
            return tuple(r.reference(*args, **scalars) for r in self._results)  # type: ignore[return-value]
        caller = self.caller
        operands, numbers = caller.arguments(args, scalars)
        device = device_of(self.name, [o for o in operands if isinstance(o, torch.Tensor)] or [torch.empty(0)])
        described = [describe(o, device) for o in operands]
        element, function, result = caller.reference(described)
        shape, compute = broadcast(self.name, [o.shape for o in described]), caller.compute(element)
        caller.bind(numbers, [ir.resolved(p.type, compute) for p in function.scalars])  # refuses what does not fit
        loaded = (_loaded(o, element, device) for o in operands)
        # Only what has dimensions takes the common dtype first.
        met = (convert(t, element.torch) if t.dim() else t for t in loaded)
        converted = [convert(t, compute.torch).expand(shape) for t in met]
        return evaluate(function, compute, converted, numbers).to(result.torch)

    # --- running ---

    @property
    def _written(self) -> str:
        """The functor's name in Python, which Metal may have to spell otherwise."""
        return self.bodies[0].source.node.name

    def _decorated(self, **keywords: str) -> str:
        """The functor's decorator with other keywords, for messages."""
        written = ", ".join(f"{name}={value}" for name, value in keywords.items())
        return decorated(self.bodies[0].source, **keywords) or f"@pymetal.{self.arity.name}({written})"

    @functools.cached_property
    def caller(self) -> Caller:
        """What runs the functor's text."""
        floats = bool(self.promotion.floats)
        first, *others = self.results
        return Caller(
            self._written, self.signature, first.ir, self._widens, floats, self.failures, self._decorated, self.text,
            tuple(other.caller for other in others),
        )  # fmt: skip

    def __call__(
        self, /, *args: Any, out: torch.Tensor | tuple[torch.Tensor, ...] | None = None, **scalars: Any
    ) -> torch.Tensor:
        """Runs the functor's Metal text on the device of the tensors.

        Args:
            args: tensors, on cpu or mps, of registered dtypes, or numbers; their shapes broadcast.
            out: the tensor for the result, of the broadcast shape and of a dtype that the result can be cast to; a
                tuple of them for several results.
            scalars: the scalar parameters.

        Returns:
            `out`, or a new tensor of the broadcast shape, with the dtype that torch's promotion gives; a tuple of
            tensors for several results.

        Raises:
            CallError: the arguments do not fit the functor.
            DeviceError: no device runs such tensors, or the host device has no compiler.
        """
        try:
            return self.caller(args, out, scalars)  # type: ignore[no-any-return]
        except PyMetalError as error:  # as `public` does, without its cost
            trimmed = error.trimmed()
        __tracebackhide__ = True
        raise trimmed

    def __repr__(self) -> str:
        left_out = ", ".join(map(str, self.left_out))
        return f"<pymetal.{self.arity.name} {self._written}{f'; not for {left_out}' if left_out else ''}>"


def _loaded(operand: torch.Tensor | Number, element: DType, device: torch.device) -> torch.Tensor:
    """An operand of a reference as a kernel loads it: no double, unless the element type is one."""
    if isinstance(operand, torch.Tensor):
        # A byte of bool memory may have any value.
        tensor = operand.view(torch.uint8) != 0 if operand.dtype == torch.bool else operand
    elif element.kind in INTEGRAL:
        assert isinstance(operand, int)
        tensor = torch.tensor(wrap(operand, element.torch), dtype=element.torch, device=device)
    else:
        dtype = torch.complex128 if isinstance(operand, complex) else torch.float64
        tensor = torch.tensor(operand, dtype=dtype, device=device)
    if element in DOUBLES or tensor.dtype not in _SINGLE:
        return tensor
    return tensor.to(_SINGLE[tensor.dtype])


_SINGLE = {torch.float64: torch.float32, torch.complex128: torch.complex64}


def metal_text(operations: Iterable[Operation]) -> str:
    """One `.metal` file with all of `operations`.

    Raises:
        CallError: two functors have the same name, or there is none.
    """
    functors: Sequence[Operation] = list(operations)
    seen: set[str] = set()
    for functor in functors:
        if not isinstance(functor, Operation):
            raise CallError(
                f"{functor!r} is not a functor", hint="Pass what @pymetal.unary, binary or ternary returns."
            )
        for result in functor.results:
            if result.name in seen:
                raise CallError(f"two functors are called {result.name}", hint="Kernel names are global: rename one.")
            seen.add(result.name)
    if not functors:
        raise CallError("there is no functor to emit")
    return metal_file([result.entry for functor in functors for result in functor.results])
