"""`Functor`: a decorated function as users touch it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch

from pymetal import dtypes, ir
from pymetal.accuracy.budget import parse_budget
from pymetal.arity import Arity
from pymetal.codegen.library import Entry, metal_file
from pymetal.codegen.metal import FunctorText, functor_text
from pymetal.codegen.names import functor_name, helper_name
from pymetal.dtypes import DType
from pymetal.errors import CallError
from pymetal.frontend.annotations import Signature, parse_signature
from pymetal.frontend.defaults import check_scalars
from pymetal.frontend.definition import Definition
from pymetal.frontend.refusals import refusal
from pymetal.frontend.source import read_source
from pymetal.frontend.verify import Body, check_functor, too_deep
from pymetal.ir.show import show
from pymetal.meaning.evaluate import evaluate
from pymetal.promotion import Promotion, find_promotion
from pymetal.runtime import debug, plan
from pymetal.runtime.call import Caller, check_scalar
from pymetal.runtime.device import device_of

if TYPE_CHECKING:
    from pymetal.codegen.upstream.placed import Placement
    from pymetal.runtime.trace import Event

Scalar = bool | int | float | complex


class Functor:
    """An elementwise operator written as a typed Python function.

    Attributes:
        name: the operator's name, which its kernels carry.
        arity: what upstream calls things for this number of tensors.
        ir: the checked intermediate representation.
        doc: the docstring.
        max_ulp: the error that `pymetal check` accepts, by dtype; None for its own limits.
    """

    def __init__(
        self, function: Callable[..., Any], arity: Arity, promotion: str = "default", dtypes: object = None,
        opmath: bool = False, max_ulp: object = None,
    ) -> None:  # fmt: skip
        self._promotion: Promotion = find_promotion(promotion)
        self._wanted = None if dtypes is None else _dtypes.parse_dtypes(dtypes)
        self.arity = arity
        self.opmath = opmath
        self.max_ulp = parse_budget(max_ulp)
        self._max_ulp = max_ulp  # as it was written
        self._bodies = [self._body(function)]
        self._check()
        functools.update_wrapper(self, function)

    def _body(self, function: Callable[..., Any]) -> Body:
        source = read_source(function)
        return Body(source, parse_signature(source, self.arity, getattr(function, "__kwdefaults__", None) or {}))

    def _check(self) -> None:
        """Types all bodies, and forgets what was made of fewer."""
        self._signature = self._bodies[0].signature
        self._scalars = {name: default for name, _, default, _ in self._signature.scalars}
        self._widens = self.opmath and self.arity.widens(bool(self._scalars))
        try:
            checked = check_functor(self._bodies, self._promotion, self._wanted, self.opmath and not self._widens)
        except RecursionError:
            raise too_deep(self._bodies[-1]) from None
        for body in self._bodies:
            check_scalars(body, body.domain(self._wanted))
        named = ir.Checked(functor_name(checked.name), checked.doc, checked.overloads)
        self.ir = ir.distinct(named, helper_name)
        self.__pymetal_definition__ = Definition(self._signature, self.ir, promotes=True)
        self.name = self.ir.name
        self.doc = checked.doc
        for cached in ("_text", "_caller"):
            self.__dict__.pop(cached, None)
        if debug.enabled():
            debug.stage(self.name, "py", "\n".join(line for body in self._bodies for line in body.source.lines))
            debug.stage(self.name, "ir", show(self.ir))

    def overload(self, function: Callable[..., Any]) -> Functor:
        """Adds a body for a narrower annotation; used as a decorator, ``@f.overload``.

        The narrowest body that admits a dtype serves it. Without `dtypes=` the functor is also registered for the
        dtypes that the new annotation stands for.

        Returns:
            This functor, so that the body may have its name.

        Raises:
            PyMetalError: the function cannot become Metal, takes other parameters, or overlaps another body.
        """
        body = self._body(function)
        mine, first = body.signature, self._signature
        found = (len(mine.tensors), [s[0] for s in mine.scalars])
        wanted = (len(first.tensors), [s[0] for s in first.scalars])
        if found != wanted:
            raise refusal(
                "overload-signature", body.source.span(body.source.node), functor=self.name,
                found=_parameters(mine), wanted=_parameters(first),
            )  # fmt: skip
        self._bodies.append(body)
        try:
            self._check()
        except BaseException:
            self._bodies.pop()
            raise
        return self

    # --- text ---

    @functools.cached_property
    def _text(self) -> FunctorText:
        self._check_complete()
        return functor_text(self.ir)

    def _check_complete(self) -> None:
        """Refuses a functor of whose `dtypes=` no body serves some; when it is used, all overloads have been added."""
        missing = [d for d in self._wanted or () if not any(b.admits(d) for b in self._bodies)]
        if missing:
            source = self._bodies[0].source
            raise refusal(
                "missing-overload", source.span(source.node), dtypes=", ".join(map(str, missing)),
                functor=source.node.name,
            )  # fmt: skip

    @property
    def functor_source(self) -> str:
        """The Metal text of `struct NAME_functor`."""
        return self._text.source

    @property
    def metal_source(self) -> str:
        """A whole `.metal` file: includes, functor, registrations."""
        return metal_file([self._entry])

    @property
    def _entry(self) -> Entry:
        return Entry(self.ir, self.arity, self.opmath, self._text)

    def jit_source(self, *args: Any, **scalars: Any) -> str:
        """The Metal text that a call with these arguments compiles and runs."""
        return self._caller.source(args, scalars)

    def explain(self, *args: Any, out: torch.Tensor | None = None, **scalars: Any) -> str:
        """The plan that a call with these arguments has, in words: dtypes, kernel, grid. Nothing is compiled or run."""
        return self._caller.explain(args, out, scalars)

    def trace(self, *tensors: torch.Tensor | Scalar, **scalars: Any) -> list[Event]:
        """Runs a debug build on the host device: where a NaN is born, an integer overflows, or is divided by zero.

        Args:
            tensors: on the CPU, of one registered dtype, or numbers that it holds; they broadcast.
            scalars: the scalar parameters.

        Returns:
            One event for each operator of the text where something happened, in the text's order: the line of Python,
            how many elements, the index of the first one and its operands. ``print(*f.trace(x))`` shows them.

        Raises:
            CallError: the tensors are of several dtypes, or not on the CPU.
        """
        from pymetal.runtime.trace import trace

        return trace(self._caller, tensors, scalars)

    def patch(
        self, root: str | os.PathLike[str], *, stub: str | None = None, file: str | None = None, replace: bool = False
    ) -> Placement:
        """The change that places this functor in a PyTorch checkout: kernel, host stub, yaml rows, test lists.

        Args:
            root: the folder of the checkout.
            stub: the dispatch stub to register, if it is not the one of the functor's name.
            file: the name of the `.metal` file, existing or new, if it is not the usual one for the arity and kind.
            replace: put this functor in place of an existing one of its name.

        Returns:
            The change as a value: `.diff()` shows it, `.apply()` writes all of it or nothing.

        Raises:
            PyMetalError: the folder is no checkout of a known shape, or the functor does not fit there.
        """
        from pymetal.codegen.upstream.patch import patch_for

        return patch_for(self._entry, root, stub=stub, file=file, replace=replace)

    # --- meaning ---

    def reference(self, *args: Any, **scalars: Any) -> torch.Tensor:
        """What the functor means, evaluated with torch operators.

        Args:
            args: tensors or numbers that broadcast, of any dtype that the functor is registered for, or float64 or
                complex128, which evaluate it at double precision.
            scalars: the scalar parameters.

        Returns:
            A new tensor of the broadcast shape and the promoted dtype.

        Raises:
            CallError: the arguments do not fit the functor.
        """
        operands, numbers = self._caller.operands(args), self._caller.numbers(scalars)
        device = device_of(self.name, [o for o in operands if isinstance(o, torch.Tensor)] or [torch.empty(0)])
        described = [plan.describe(o, device) for o in operands]
        promoted = plan.meeting_dtype(described, self.ir.domain, bool(self._promotion.floats))
        element = dtypes.from_torch(promoted)
        found = next((o for o in self.ir.overloads if _serves(o, element)), None) if element else None
        if element is None or found is None:
            plan.element_type(self.name, promoted, self.ir.domain)
            raise AssertionError("a registered dtype has an overload")
        shape = plan.broadcast(self.name, [o.shape for o in described])
        compute = self._caller.compute(element)
        for param in found.function.scalars:
            wanted = ir.resolve(param.type, compute)
            assert wanted is not None
            check_scalar(self.name, param.name, numbers[param.name], wanted)
        tensors = [torch.as_tensor(o, device=device).to(promoted).to(compute.torch).expand(shape) for o in operands]
        result = ir.resolve(found.function.result, element if found.function.result == ir.Var() else compute)
        assert result is not None
        wide = compute in (dtypes.float64, dtypes.complex128)
        return evaluate(found.function, compute, tensors, numbers).to(
            (_DOUBLE.get(result, result) if wide else result).torch
        )

    # --- running ---

    def __call__(self, *args: Any, out: torch.Tensor | None = None, **scalars: Any) -> torch.Tensor:
        """Runs the functor's Metal text on the device of the tensors.

        Args:
            args: tensors, on cpu or mps, or numbers, that broadcast.
            out: where to write the result; its dtype may be one that the result can be cast to.
            scalars: the scalar parameters.

        Returns:
            `out`, or a new tensor of the broadcast shape, with the dtype that torch's promotion gives.

        Raises:
            CallError: the arguments do not fit the functor.
            DeviceError: no device runs such tensors, or the host device has no compiler.
        """
        return self._caller(args, out, scalars)

    @functools.cached_property
    def _caller(self) -> Caller:
        tensors = tuple(name for name, _ in self._signature.tensors)
        return Caller(
            self.name, tensors, self._scalars, self.ir, self._text, self._widens, bool(self._promotion.floats)
        )

    # --- as an object ---

    def __repr__(self) -> str:
        return f"<pymetal.{self.arity.name} {self.name}>"

    def __reduce__(self) -> str:
        # Pickled as functions are: by the name under which the module has it.
        return str(self.__qualname__)  # type: ignore[attr-defined]


_dtypes = dtypes  # the constructor has a parameter of that name


def _parameters(signature: Signature) -> str:
    scalars = ", ".join(s[0] for s in signature.scalars)
    return f"{len(signature.tensors)} tensor(s)" + (f" and the scalar(s) {scalars}" if scalars else "")


_DOUBLE = {dtypes.float32: dtypes.float64, dtypes.complex64: dtypes.complex128}
_SINGLE = {wide: single for single, wide in _DOUBLE.items()}


def _serves(overload: ir.Overload, element: DType) -> bool:
    """True for the overload of `element`, or, for a double, of any dtype of its kind."""
    if element not in _SINGLE:
        return element in overload.domain
    return any(d.kind is element.kind for d in overload.domain)


def metal_text(functors: Iterable[Functor]) -> str:
    """One `.metal` file with all of `functors`.

    Raises:
        CallError: two functors have the same name, or there is none.
    """
    entries = []
    seen: set[str] = set()
    for functor in functors:
        if not isinstance(functor, Functor):
            raise CallError(f"{functor!r} is not a functor", hint="Pass what @pymetal.binary and its kin return.")
        if functor.name in seen:
            raise CallError(f"two functors are called {functor.name}", hint="Kernel names are global: rename one.")
        seen.add(functor.name)
        entries.append(functor._entry)
    if not entries:
        raise CallError("there is no functor to emit")
    return metal_file(entries)
