"""`Helper`: what the decorator `func` returns, a function that functors call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic

from typing_extensions import ParamSpec, TypeVar

from pymetal import ir
from pymetal.codegen.names import identifier
from pymetal.frontend.annotations import Definition, default_values, parse_helper_signature
from pymetal.frontend.overloads import Body, check_helper
from pymetal.frontend.source import read_source

P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)


class Helper(Generic[P, R]):
    """A typed Python function that functors, and other helpers, call.

    It is generic in the element type of its annotations, and serves the dtypes at which its body type-checks. In Metal
    it is an inline function; outside a functor it is the Python function, on tensors.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self._function = function
        self._bodies = [self._body(function)]
        self._check()
        functools.update_wrapper(self, function)

    def _body(self, function: Callable[..., Any]) -> Body:
        source = read_source(function)
        return Body(source, parse_helper_signature(source, default_values(function)))

    def _check(self) -> None:
        checked, failures = check_helper(self._bodies)
        self.ir = ir.CheckedFunction(identifier(checked.name), checked.doc, checked.overloads, helper=True)
        self.__pymetal_definition__ = Definition(self._bodies[0].signature, self.ir, failures)
        self.name = self.ir.name

    def overload(self, function: Callable[..., Any]) -> Helper[P, R]:
        """Adds a body for a narrower annotation; used as a decorator, ``@f.overload``.

        Raises:
            PyMetalError: the function cannot become Metal, or overlaps another body.
        """
        self._bodies.append(self._body(function))
        try:
            self._check()
        except BaseException:
            self._bodies.pop()
            raise
        return self

    def __call__(self, /, *args: P.args, **keywords: P.kwargs) -> R:
        """Calls the Python function itself, on tensors of any shape or on numbers."""
        return self._function(*args, **keywords)

    def __repr__(self) -> str:
        return f"<pymetal.func {self.name}>"


def func(function: Callable[P, R]) -> Helper[P, R]:
    """Makes a helper function that functors and other helpers call.

    Args:
        function: typed as a functor is; its parameters may have different types, generic in one type variable.

    Raises:
        PyMetalError: the function cannot become Metal; the message shows the place and what to write instead.
    """
    return Helper(function)
