"""`Functor`: what the decorators `unary`, `binary` and `ternary` return."""

from __future__ import annotations

import functools
import os
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic

import torch
from typing_extensions import ParamSpec, TypeVar

from pymetal.accuracy.budget import parse_budget
from pymetal.arity import Arity
from pymetal.dtypes import parse_dtypes
from pymetal.errors import CallError, plural, public
from pymetal.frontend.annotations import Signature, default_values, parse_signature
from pymetal.frontend.overloads import Body
from pymetal.frontend.source import read_source
from pymetal.promotion import PromotionName, find_promotion
from pymetal.runtime.operation import Operation

# Tools that a functor is not made or called with: loaded when they are used.
if TYPE_CHECKING:
    from pymetal.debug.trace import Event
    from pymetal.upstream.placement import Placement

Scalar = bool | int | float | complex


P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)
_Out = TypeVar("_Out", torch.Tensor, tuple[torch.Tensor, ...])


class Functor(Operation, Generic[P, R]):
    """An elementwise operator written as a typed Python function.

    To type checkers it has the parameters `P` of that function, whose result is annotated `R`; it returns a tensor, or
    a tuple of as many as the annotation has.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[P, R]

    def __init__(
        self, function: Callable[P, R], arity: Arity, promotion: PromotionName | None = None, dtypes: object = None,
        opmath: bool = False, max_ulp: object = None,
    ) -> None:  # fmt: skip
        given, budget = None if promotion is None else find_promotion(promotion), parse_budget(max_ulp)
        wanted = None if dtypes is None else parse_dtypes(dtypes)
        body = _body(function, arity)
        row = given or find_promotion("always_bool" if body.is_predicate else "default")
        super().__init__(body, arity, row, wanted, opmath, budget, max_ulp)
        functools.update_wrapper(self, function)

    if TYPE_CHECKING:
        # T and dtypes are Any, so `-> T` is the first of these, and `-> bool` the third. Python's type system has no
        # parameter between P.args and P.kwargs: with out= the other arguments are not checked.
        @typing.overload  # type: ignore[override]
        def __call__(  # type: ignore[overload-overlap]
            self: Functor[P, torch.Tensor], /, *args: P.args, **scalars: P.kwargs
        ) -> torch.Tensor: ...

        @typing.overload
        def __call__(  # type: ignore[overload-overlap]
            self: Functor[P, tuple[Any, ...]], /, *args: P.args, **scalars: P.kwargs
        ) -> tuple[torch.Tensor, ...]: ...

        @typing.overload
        def __call__(self, /, *args: P.args, **scalars: P.kwargs) -> torch.Tensor: ...

        @typing.overload
        def __call__(self, /, *args: Any, out: _Out, **scalars: Any) -> _Out: ...

        def __call__(self, /, *args: Any, **scalars: Any) -> Any: ...

    @public
    def overload(self, function: Callable[..., Any]) -> Functor[P, R]:
        """Adds a body for a narrower annotation; used as a decorator, ``@f.overload``.

        A dtype is served by the body with the narrowest annotation that admits it. Without `dtypes=` the functor is
        also registered for the dtypes of the new annotation.

        Returns:
            This functor, so that the body may have its name.

        Raises:
            PyMetalError: the function cannot become Metal, takes other parameters, or overlaps another body.
        """
        body = _body(function, self.arity)
        found, wanted = _parameters(body.signature), _parameters(self.signature)
        if found != wanted:
            source = body.source
            raise source.refusal("overload-signature", source.node, functor=self.name, found=found, wanted=wanted)
        self.set_bodies((*self.bodies, body))
        return self

    @public
    def jit_source(self, /, *args: P.args, **scalars: P.kwargs) -> str:
        """Returns the Metal text that a call with these arguments compiles and runs.

        Args:
            args: what the functor is called with: tensors of any registered dtype, or numbers, that broadcast.
            scalars: the scalar parameters.

        Raises:
            CallError: the arguments do not fit the functor.
        """
        return self.caller.source(args, scalars)

    @public
    def explain(
        self, /, *args: Any, out: torch.Tensor | tuple[torch.Tensor, ...] | None = None, **scalars: Any
    ) -> str:  # fmt: skip
        """Describes how a call with these arguments runs: dtypes, kernel, grid. Nothing is compiled or run.

        Args:
            args: what the functor is called with: tensors of any registered dtype, or numbers, that broadcast.
            out: the tensor for the result, of the broadcast shape; a tuple of them for several results.
            scalars: the scalar parameters.

        Raises:
            CallError: the arguments do not fit the functor.
        """
        from pymetal.debug.explain import explain

        text, note = explain(self.caller.planned(args, scalars, out)), self.left_out_note()
        return f"{text}\n  note: {note}" if note else text

    @public
    def trace(self, /, *tensors: torch.Tensor | Scalar, **scalars: Any) -> list[Event]:
        """Finds where a NaN first appears, an integer overflows, or is divided by zero, with a debug build on the CPU.

        Args:
            tensors: CPU tensors of one registered dtype, or numbers that fit it; their shapes broadcast.
            scalars: the scalar parameters.

        Returns:
            One event for each operator of the text where something happened, in the text's order: the line of Python,
            how many elements, the index of the first one and its operands. ``print(*f.trace(x))`` shows them.

        Raises:
            CallError: the tensors are of several dtypes, or not on the CPU.
        """
        from pymetal.debug.trace import trace

        found: list[Event] = []
        for result in self.results:
            told = {(e.what, e.operator, e.span, e.index) for e in found}  # what results have in common is told once
            events = trace(result.caller, tensors, scalars)
            found += [e for e in events if (e.what, e.operator, e.span, e.index) not in told]
        return found

    @public
    def patch(
        self, root: str | os.PathLike[str], *, stub: str | None = None, file: str | None = None, replace: bool = False
    ) -> Placement:
        """Plans the change that adds this functor to a PyTorch checkout: kernel, host stub, yaml rows, test lists.

        Args:
            root: the folder of the checkout.
            stub: the dispatch stub to register, if it is not the one of the functor's name.
            file: the name of the `.metal` file, existing or new, if it is not the default for the arity and kind.
            replace: replace an existing functor of this name.

        Returns:
            The change as a value: `.diff()` shows it, `.apply()` writes all of it or nothing.

        Raises:
            PyMetalError: the folder is not a PyTorch checkout of a known layout, or the functor does not fit there.
            CallError: the functor has several results.
        """
        from pymetal.upstream.planner import place

        self.check_one_result()
        return place([self.entry], root, stub=stub, file=file, replace=replace)

    def check_one_result(self) -> None:
        """Refuses what upstream has no place for.

        Raises:
            CallError: the functor has several results.
        """
        if len(self.results) > 1:
            names = ", ".join(result.name for result in self.results)
            raise CallError(
                f"{self.name} has {len(self.results)} results, and a dispatch stub of PyTorch has one functor",
                hint=f"Write the Metal file with pymetal.emit, and call {self.arity.exec_call} for each of {names} "
                "in a host function of your own.",
            )

    def __reduce__(self) -> str:
        # Pickled as functions are: by the name under which the module has it.
        return self.__qualname__


def _body(function: Callable[..., Any], arity: Arity) -> Body:
    source = read_source(function)
    return Body(source, parse_signature(source, arity, default_values(function)))


def _parameters(signature: Signature) -> str:
    tensors, scalars = plural(len(signature.tensors), "tensor"), ", ".join(s.name for s in signature.scalars)
    results = f" for {plural(len(signature.results), 'result')}" if signature.results else ""
    if not scalars:
        return f"{tensors}{results}"
    return f"{tensors} and the {'scalars' if len(signature.scalars) > 1 else 'scalar'} {scalars}{results}"
