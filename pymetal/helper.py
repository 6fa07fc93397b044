"""`Helper`: what the decorator `func` returns, a function that functors call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic

from typing_extensions import ParamSpec, TypeVar

from pymetal import ir
from pymetal.codegen.names import identifier
from pymetal.errors import plural, public
from pymetal.frontend.annotations import Definition, Signature, default_values, parse_helper_signature
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
        signature = self._bodies[0].signature
        if not signature.results:
            self.__pymetal_definition__ = self._define(signature)
        else:
            results = tuple(self._define(part) for part in signature.parts())
            self.__pymetal_definition__ = replace(results[0], signature=signature, results=results)
        self.name = identifier(self._bodies[0].source.node.name)

    def _define(self, signature: Signature) -> Definition:
        """The definition of the only result, or of the one of several that `signature` is for."""
        bodies, index = self._bodies, signature.index
        if index is not None:
            bodies = [replace(b, signature=b.signature.parts()[index]) for b in bodies]
        checked, failures = check_helper(bodies)
        name = identifier(checked.name if index is None else f"{checked.name}_{index}")
        named = ir.CheckedFunction(name, checked.doc, checked.overloads, helper=True)
        return Definition(signature, named, failures)

    @public
    def overload(self, function: Callable[..., Any]) -> Helper[P, R]:
        """Adds a body for a narrower annotation; used as a decorator, ``@f.overload``.

        Raises:
            PyMetalError: the function cannot become Metal, or overlaps another body.
        """
        body = self._body(function)
        found, wanted = (len(b.signature.results) or 1 for b in (body, self._bodies[0]))
        if found != wanted:
            raise body.source.refusal(
                "overload-signature", body.source.node, functor=self.name,
                found=f"arguments for {plural(found, 'result')}", wanted=f"arguments for {plural(wanted, 'result')}",
            )  # fmt: skip
        self._bodies.append(body)
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


@public
def func(function: Callable[P, R]) -> Helper[P, R]:
    """Makes a helper function that functors and other helpers call.

    Args:
        function: typed as a functor is; its parameters may have different types, generic in one type variable.

    Raises:
        PyMetalError: the function cannot become Metal; the message shows the place and what to write instead.
    """
    return Helper(function)
