"""The decorators that make functors: `unary`, `binary`, `ternary`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from pymetal.arity import BINARY, TERNARY, UNARY, Arity
from pymetal.errors import CallError, nearest, public
from pymetal.functor import Functor
from pymetal.promotion import PromotionName

P = ParamSpec("P")
R = TypeVar("R")


class Make(Protocol):
    """A decorator that keeps the parameters of what it decorates."""

    def __call__(self, function: Callable[P, R], /) -> Functor[P, R]: ...


_KEYWORDS = ("promotion", "dtypes", "opmath", "max_ulp")


class Decorator:
    """Makes a functor of a function with one annotated parameter for each tensor, bare or with keywords.

    ::

        @pymetal.binary(promotion="int_to_float")
        def atan2(a: T, b: T) -> T:
            return metal.precise.atan2(a, b)
    """

    def __init__(self, arity: Arity) -> None:
        self._arity = arity
        self.__name__ = arity.name

    @overload
    def __call__(self, function: Callable[P, R], /) -> Functor[P, R]: ...

    @overload
    def __call__(
        self, /, *, promotion: PromotionName = ..., dtypes: object = ..., opmath: bool = ..., max_ulp: object = ...
    ) -> Make: ...

    @public
    def __call__(
        self, function: Callable[..., Any] | None = None, /, *, promotion: PromotionName | None = None,
        dtypes: object = None, opmath: bool = False, max_ulp: object = None, **unknown: object,
    ) -> Functor[..., Any] | Make:  # fmt: skip
        """Makes a functor of `function`; without one, returns a decorator that does.

        Args:
            promotion: torch's promotion kind: "default", "int_to_float", "always_bool", "complex_to_float",
                "bool_to_long", "no_opmath". Without it, "always_bool" where the result is annotated `bool`.
            dtypes: the registered element types: dtypes or their names, or "floating", "integral", "bool", "complex",
                or several of these.
            opmath: compute half and bfloat in float, and round the result once.
            max_ulp: the largest error that `pymetal check` accepts, in units in the last place: a number, or a dict
                from what `dtypes=` takes to numbers.

        Raises:
            PyMetalError: the function cannot become Metal; the message shows the place and what to write instead.
            CallError: there is no such keyword.
        """
        for name in unknown:
            near = nearest(name, _KEYWORDS)
            raise CallError(
                f"@pymetal.{self._arity.name} has no keyword {name!r}" + (f"; did you mean {near!r}?" if near else ""),
                hint=f"Keywords: {', '.join(_KEYWORDS)}.",
            )

        @public
        def make(f: Callable[P, R], /) -> Functor[P, R]:
            return Functor(f, self._arity, promotion, dtypes, opmath, max_ulp)

        return make if function is None else make(function)

    def __repr__(self) -> str:
        return f"<pymetal.{self._arity.name}>"


unary = Decorator(UNARY)
binary = Decorator(BINARY)
ternary = Decorator(TERNARY)
