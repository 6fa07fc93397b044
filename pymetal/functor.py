"""`Functor`: a decorated function as users touch it, and the decorators that make one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

import torch

from pymetal import dtypes, ir
from pymetal.arity import BINARY, TERNARY, UNARY, Arity
from pymetal.codegen.launch import LaunchKey, bound_as
from pymetal.codegen.library import Entry, metal_file
from pymetal.codegen.metal import FunctorText, functor_text
from pymetal.codegen.names import identifier
from pymetal.dtypes import DType, Kind
from pymetal.errors import CallError, nearest
from pymetal.frontend.annotations import Signature, parse_signature
from pymetal.frontend.definition import Definition
from pymetal.frontend.refusals import refusal
from pymetal.frontend.source import read_source
from pymetal.frontend.verify import Body, check_functor
from pymetal.meaning.evaluate import evaluate
from pymetal.promotion import Promotion, find_promotion
from pymetal.runtime import plan
from pymetal.runtime.device import device_of, find_device
from pymetal.runtime.jit import Program, Programs

Scalar = bool | int | float | complex


class Functor:
    """An elementwise operator written as a typed Python function.

    Attributes:
        name: the operator's name, which its kernels carry.
        arity: what upstream calls things for this number of tensors.
        ir: the checked intermediate representation.
        doc: the docstring.
    """

    def __init__(
        self, function: Callable[..., Any], arity: Arity, promotion: str = "default", dtypes: object = None,
        opmath: bool = False,
    ) -> None:  # fmt: skip
        self._promotion: Promotion = find_promotion(promotion)
        self._wanted = None if dtypes is None else _dtypes.parse_dtypes(dtypes)
        self.arity = arity
        self.opmath = opmath
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
        checked = check_functor(self._bodies, self._promotion, self._wanted, self.opmath and not self._widens)
        self.ir = ir.Checked(identifier(checked.name), checked.doc, checked.overloads)
        self.__pymetal_definition__ = Definition(self._signature, self.ir, promotes=True)
        self.name = self.ir.name
        self.doc = checked.doc
        for cached in ("_text", "_programs"):
            self.__dict__.pop(cached, None)

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
        return functor_text(self.ir)

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

    def jit_source(self, *args: Any, **keywords: Any) -> str:
        """The Metal text that a call with these arguments compiles and runs."""
        return self._prepare(args, keywords)[0].source

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
        operands, numbers = self._operands(args), self._numbers(scalars)
        promoted = plan.promote(operands)
        element = dtypes.from_torch(promoted)
        wide = {dtypes.float64: dtypes.float32, dtypes.complex128: dtypes.complex64}
        registered = wide.get(element, element) if element else element
        found = next((o for o in self.ir.overloads if _serves(o, registered)), None) if registered else None
        if element is None or found is None:
            plan.element_type(self.name, promoted, self.ir.domain)
            raise AssertionError("a registered dtype has an overload")
        tensors = [torch.as_tensor(o) for o in operands]
        shape = plan.broadcast(self.name, tensors)
        device = device_of(self.name, tensors)
        compute = self._compute(element)
        ready = [t.to(device=device, dtype=promoted).to(compute.torch).expand(shape) for t in tensors]
        return evaluate(found.function, compute, ready, numbers).to(_result(found.function, element, compute).torch)

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
        program, result, tensors, numbers = self._prepare(args, {**scalars, "out": out})
        program.launch(result, tensors, numbers)
        return result

    def _prepare(
        self, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[Program, torch.Tensor, list[torch.Tensor], list[int | float | list[float]]]:
        out = keywords.pop("out", None)
        operands, numbers = self._operands(args), self._numbers(keywords)
        tensors = [o for o in operands if isinstance(o, torch.Tensor)]
        if not tensors:
            raise CallError(f"{self.name} was called with numbers only", hint="Pass at least one tensor.")
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
            raise CallError(
                f"{self.name} has no autograd formula, and an input requires grad",
                hint="Call it under torch.no_grad(), or pass x.detach().",
            )
        device = device_of(self.name, tensors)
        promoted = plan.promote(operands)
        element = plan.element_type(self.name, promoted, self.ir.domain)
        ready = [self._ready(o, promoted, device) for o in operands]
        shape = plan.broadcast(self.name, ready)
        dtype = _result(_known_overload(self.ir, element).function, element, self._compute(element)).torch
        if out is None:
            result = plan.new_output(ready, shape, dtype, device)
        else:
            result = plan.check_output(self.name, out, tensors, shape, dtype, device)
        key = self._launch_key(element, ready, result)
        program = self._programs.get(find_device(device), key)
        values = [_bound(numbers[name], bound) for name, bound in zip(self._scalars, key.bound_scalars, strict=True)]
        return program, result, ready, values

    @functools.cached_property
    def _programs(self) -> Programs:
        return Programs(self.ir, self._text.source)

    def _launch_key(self, element: DType, tensors: Sequence[torch.Tensor], out: torch.Tensor) -> LaunchKey:
        function = _known_overload(self.ir, element).function
        compute = self._compute(element)
        inputs = tuple(_known(dtypes.from_torch(t.dtype)) for t in tensors)
        scalars = tuple(_known(ir.resolve(p.type, compute)) for p in function.scalars)
        returned = _known(ir.resolve(function.result, compute))
        params = self._text.scalar_types.get(element) if len(scalars) > 1 else None
        output = dtypes.from_torch(out.dtype)
        if output is None or not output.metal:
            raise CallError(f"{self.name}: Metal has no {out.dtype} for out=", hint=f"Pass out= of {returned}.")
        return LaunchKey(inputs, compute, returned, output, scalars, params)

    def _compute(self, element: DType) -> DType:
        """What the functor is called with: float for half where a registration macro widens."""
        return dtypes.opmath(element) if self._widens and element.kind in _WIDENED else element

    def _ready(self, operand: plan.Operand, element: torch.dtype, device: torch.device) -> torch.Tensor:
        """An operand as the kernel reads it: on the device, of a dtype that Metal has, with nothing pending."""
        if not isinstance(operand, torch.Tensor):
            return torch.tensor(operand).to(device=device, dtype=element)
        known = dtypes.from_torch(operand.dtype)
        if known is None or not known.metal:
            operand = operand.to(element)
        return operand.to(device).resolve_conj().resolve_neg()

    def _operands(self, args: tuple[Any, ...]) -> list[plan.Operand]:
        if len(args) != self.arity.inputs:
            names = ", ".join(name for name, _ in self._signature.tensors)
            raise CallError(
                f"{self.name}({names}) takes {self.arity.inputs} tensor(s), and {len(args)} came",
                hint="Scalar parameters are passed by keyword." if len(args) > self.arity.inputs else None,
            )
        names_of = [name for name, _ in self._signature.tensors]
        for name, value in zip(names_of, args, strict=True):
            if not plan.is_operand(value):
                raise CallError(
                    f"{self.name}: {name} is {type(value).__name__}",
                    hint="Pass a tensor or a number; torch.as_tensor(x) makes a tensor of a list or an array.",
                )
        return list(args)

    def _numbers(self, given: dict[str, Any]) -> dict[str, Scalar]:
        for name in given:
            if name not in self._scalars:
                near = nearest(name, [*self._scalars, "out"])
                raise CallError(
                    f"{self.name} has no parameter {name!r}" + (f"; did you mean {near!r}?" if near else ""),
                    hint=f"Keywords: {', '.join([*self._scalars, 'out'])}.",
                )
        numbers: dict[str, Scalar] = {}
        for name, default in self._scalars.items():
            value = given.get(name, default)
            if value is None:
                raise CallError(f"{self.name} needs the scalar {name!r}", hint=f"Call it with {name}=...")
            if isinstance(value, torch.Tensor) and value.dim() == 0:
                value = value.item()
            if not isinstance(value, (bool, int, float, complex)):
                raise CallError(f"{self.name}: {name} is {type(value).__name__}", hint="Pass a Python number.")
            numbers[name] = value
        return numbers

    # --- as an object ---

    def __repr__(self) -> str:
        return f"<pymetal.{self.arity.name} {self.name}>"

    def __reduce__(self) -> str:
        # Pickled as functions are: by the name under which the module has it.
        return str(self.__qualname__)  # type: ignore[attr-defined]


_dtypes = dtypes  # the constructor has a parameter of that name
_WIDENED = frozenset({Kind.FLOATING, Kind.COMPLEX})


def _parameters(signature: Signature) -> str:
    scalars = ", ".join(s[0] for s in signature.scalars)
    return f"{len(signature.tensors)} tensor(s)" + (f" and the scalar(s) {scalars}" if scalars else "")


def _known_overload(checked: ir.Checked, element: DType) -> ir.Overload:
    found = checked.overload(element)
    assert found is not None
    return found


def _result(function: ir.Function, element: DType, compute: DType) -> DType:
    """The dtype of a functor's result. Where half was widened for it, the element type comes back narrow."""
    wide = compute in (dtypes.float64, dtypes.complex128)
    resolved = _known(ir.resolve(function.result, element if function.result == ir.Var() else compute))
    return _DOUBLE.get(resolved, resolved) if wide else resolved


_DOUBLE = {dtypes.float32: dtypes.float64, dtypes.complex64: dtypes.complex128}


def _serves(overload: ir.Overload, element: DType) -> bool:
    """True for the overload of `element`, or, for a double, of any dtype of its kind."""
    return element in overload.domain or any(d.kind is element.kind for d in overload.domain)


def _known(dtype: DType | None) -> DType:
    assert dtype is not None
    return dtype


def _bound(value: Scalar, dtype: DType) -> int | float | list[float]:
    """A scalar as `compile_shader` binds it: complex numbers travel as pairs."""
    match bound_as(dtype).kind:
        case Kind.COMPLEX:
            number = complex(value)
            return [number.real, number.imag]
        case Kind.FLOATING:
            if isinstance(value, complex):
                raise CallError("a complex scalar cannot be used with real tensors", hint="Pass a real number.")
            return float(value)
        case _:
            if isinstance(value, complex) or int(value) != value:
                raise CallError(
                    f"scalar {value!r} cannot be used with integer tensors",
                    hint="Pass an integer, or convert the tensors to a floating dtype.",
                )
            return int(value)


Decorated = Callable[..., Any]


def _decorator(arity: Arity) -> Any:
    @overload
    def decorate(function: Decorated, /) -> Functor: ...
    @overload
    def decorate(
        *, promotion: str = ..., dtypes: object = ..., opmath: bool = ...
    ) -> Callable[[Decorated], Functor]: ...

    def decorate(
        function: Decorated | None = None, /, *, promotion: str = "default", dtypes: object = None, opmath: bool = False
    ) -> Functor | Callable[[Decorated], Functor]:
        def make(f: Decorated) -> Functor:
            return Functor(f, arity, promotion, dtypes, opmath)

        return make if function is None else make(function)

    decorate.__name__ = decorate.__qualname__ = arity.name
    decorate.__doc__ = f"""Makes a {arity.name} functor of a function with {arity.inputs} annotated tensor parameter(s).

    Used bare, or with keywords:

    Args:
        promotion: torch's promotion kind: "default", "int_to_float", "always_bool", "complex_to_float", "bool_to_long",
            "no_opmath".
        dtypes: the registered element types: torch dtypes, or "floating", "integral", "bool", "complex", or several.
        opmath: compute half and bfloat at float precision, rounding once.

    Raises:
        PyMetalError: the function cannot become Metal; the message shows the place and the way out.
    """
    return decorate


unary = _decorator(UNARY)
binary = _decorator(BINARY)
ternary = _decorator(TERNARY)


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
