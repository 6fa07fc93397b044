"""Plain Python functions that a body calls: typed by their arguments, and printed as helper functions.

A function is specialised for the types of its arguments and for the numbers among them, which stay Python numbers in
its body. Its annotations are ignored, as Python ignores them.
"""

from __future__ import annotations

import ast
import inspect
import types
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from pymetal import dtypes, ir
from pymetal.dtypes import Kind, TypeVariable, python_number
from pymetal.errors import PyMetalError
from pymetal.frontend.annotations import Annotation, Definition, Scalar, Signature
from pymetal.frontend.arithmetic import number, weak
from pymetal.frontend.context import Env, ExpressionContext
from pymetal.frontend.names import describe
from pymetal.frontend.source import read_source
from pymetal.frontend.typing import Typing
from pymetal.ir import Expr, Type, Weak

# The dtypes of a specialisation: without bool and complex, for which few bodies are one text with the others.
_NUMBERS = TypeVariable("T", frozenset({Kind.FLOATING, Kind.SIGNED, Kind.UNSIGNED}))
_CANDIDATES = (ir.Var(), ir.OpMath(ir.Var()), ir.RealOf(ir.Var()), ir.ComplexOf(ir.Var()))
_definitions: weakref.WeakKeyDictionary[types.FunctionType, dict[object, Definition]] = weakref.WeakKeyDictionary()
_current: list[types.FunctionType] = []  # those being specialised: a call of one of them is recursion


def specialize(
    ctx: ExpressionContext, node: ast.Call, env: Env, function: types.FunctionType
) -> tuple[Definition, list[Expr]] | Expr:
    """A plain function for the arguments of a call, and those it takes; its value, if all of them are numbers.

    Raises:
        PyMetalError: it cannot be called so, calls itself, or cannot become Metal.
    """
    name = ast.unparse(node.func)
    arguments = _bind(ctx, node, env, function)
    numbers = {n: found for n, value in arguments.items() if (found := number(value)) is not None}
    values = {n: value for n, value in arguments.items() if n not in numbers}
    if not values:
        return _constant(ctx, node, function, numbers)
    if function in _current:
        raise ctx.source.refusal("recursion", node, name=name)
    bound = _element(ctx.typing, [v.type for v in values.values()])
    parameters: list[tuple[str, Type]] = []
    for parameter, value in values.items():
        type_ = _in_terms_of(ctx.typing, value.type, bound)
        if type_ is None:
            reason = f"{parameter!r} is {ctx.typing.describe(value.type)}, which T does not determine"
            hint = "Decorate it with @pymetal.func and annotate its parameters."
            raise ctx.source.refusal("undecorated", node.func, name=name, reason=reason, hint=hint)
        parameters.append((parameter, type_))
    # Tensors come first in a signature.
    parameters.sort(key=lambda p: isinstance(p[1], Weak))
    kinds = ctx.typing.kinds(bound)
    with _specializing(function):
        definition = _definition(ctx, node, function, tuple(parameters), tuple(numbers.items()), kinds)
    return definition, [values[parameter] for parameter, _ in parameters]


def _bind(ctx: ExpressionContext, node: ast.Call, env: Env, function: types.FunctionType) -> dict[str, Expr]:
    """The value of each parameter, by Python's own rules."""
    name, signature = ast.unparse(node.func), inspect.signature(function)
    for argument in (*node.args, *node.keywords):
        if isinstance(argument, ast.Starred) or (isinstance(argument, ast.keyword) and argument.arg is None):
            raise ctx.source.refusal("starred", argument)
    try:
        bound = signature.bind(*node.args, **{k.arg: k.value for k in node.keywords if k.arg is not None})
    except TypeError as error:
        reason, hint = str(error), f"It is {name}{signature}."
        raise ctx.source.refusal("undecorated", node, name=name, reason=reason, hint=hint) from None
    arguments: dict[str, Expr] = {}
    for parameter in signature.parameters.values():
        given = bound.arguments.get(parameter.name, parameter.default)
        default = None if isinstance(given, ast.expr) else python_number(given)
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            reason, hint = f"it takes `{parameter}`", "Name each parameter."
        elif not isinstance(given, ast.expr) and default is None:
            reason, hint = f"the default of {parameter.name!r} is not a number", "Pass it, or give it a number."
        else:
            value = weak(default, ctx.source.span(node)) if default is not None else ctx.lower(given, env)
            arguments[parameter.name] = value
            continue
        raise ctx.source.refusal("undecorated", node.func, name=name, reason=reason, hint=hint)
    return arguments


def _constant(ctx: ExpressionContext, node: ast.Call, function: types.FunctionType, numbers: dict[str, Any]) -> Expr:
    """The value of a function of numbers, which Python computes."""
    name = ast.unparse(node.func)
    try:
        computed = function(**numbers)
        value = python_number(computed.item() if isinstance(computed, torch.Tensor) else computed)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ctx.source.refusal("python-error", node, op=name, error=reason) from error
    if value is None:
        raise ctx.source.refusal("not-a-value", node, name=ast.unparse(node), what=describe(computed))
    return weak(value, ctx.source.span(node))


def _element(typing: Typing, found: Sequence[Type]) -> Type:
    """What the function's element type is: the caller's, if an argument has it."""
    strong = [t for t in found if not isinstance(t, Weak)]
    if any(typing.same(t, ir.Var()) for t in strong):
        return ir.Var()
    return next((t for t in strong if not isinstance(t, ir.Concrete)), strong[0] if strong else ir.FLOAT)


def _in_terms_of(typing: Typing, type_: Type, bound: Type) -> Type | None:
    """A type of the caller as a function of `bound`, from which Metal deduces T."""
    if isinstance(type_, Weak):
        return type_
    elements, wanted = typing.at(bound), typing.at(type_)
    concrete = tuple(ir.Concrete(d) for d in wanted[:1] if d is not None)
    candidates: tuple[Type, ...] = (*_CANDIDATES, *concrete)
    for candidate in candidates:
        if all(e is not None and ir.resolve(candidate, e) == w for e, w in zip(elements, wanted, strict=True)):
            return candidate
    return None


@contextmanager
def _specializing(function: types.FunctionType) -> Iterator[None]:
    _current.append(function)
    try:
        yield
    finally:
        _current.pop()


def _definition(
    ctx: ExpressionContext, node: ast.Call, function: types.FunctionType,
    parameters: tuple[tuple[str, Type], ...], numbers: tuple[tuple[str, Any], ...],
    kinds: frozenset[Kind],
) -> Definition:  # fmt: skip
    """The specialisation: one object for all that call it so, by which bodies of several kinds become one text."""
    known = _definitions.setdefault(function, {})
    key = (parameters, kinds <= _NUMBERS.kinds, tuple((name, repr(value)) for name, value in numbers))
    if key in known:
        return known[key]
    try:
        source = read_source(function)
    except PyMetalError as error:
        name, hint = ast.unparse(node.func), error.hint or "Write it as a `def` in a file."
        raise ctx.source.refusal("undecorated", node.func, name=name, reason=error.message, hint=hint) from error
    variable = _NUMBERS if kinds <= _NUMBERS.kinds else dtypes.T
    annotations = {n: Annotation(t, variable if t == ir.Var() else None, str(t)) for n, t in parameters}
    tensors = tuple((n, a) for n, a in annotations.items() if not isinstance(a.type, Weak))
    # Variables of Python integers give way in the function, too.
    scalars = tuple(Scalar(n, a, None, ast.arg(n), False) for n, a in annotations.items() if isinstance(a.type, Weak))
    element = Annotation(ir.Var(), variable, "T")
    place = ast.copy_location(ast.Name("T", ast.Load()), source.node)
    signature = Signature(tensors, element, scalars, element, place, constants=numbers, inferred=True)
    known[key] = ctx.define(source, signature)
    return known[key]
