"""Plain Python functions that a body calls: typed by their arguments, and printed as helper functions.

A function is specialised for the types of its arguments and for the numbers among them, which stay Python numbers in
its body. Its annotations are ignored, as Python ignores them. What it reads is frozen when the functor is decorated.
"""

from __future__ import annotations

import ast
import inspect
import re
import types
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from pymetal import dtypes, ir
from pymetal.errors import PyMetalError
from pymetal.frontend.annotations import Annotation, Definition, Scalar, Signature, definition_of
from pymetal.frontend.arithmetic import number, weak
from pymetal.frontend.builtin_calls import find_handler
from pymetal.frontend.context import Env, ExpressionContext
from pymetal.frontend.names import describe, frozen_number, is_dotted, public_names, static_value
from pymetal.frontend.source import Source, read_source
from pymetal.frontend.torch_calls import PAIRS
from pymetal.frontend.typing import Typing
from pymetal.ir import Expr, Type, Weak

_ELEMENT = Annotation(ir.Var(), dtypes.T, "T")
_CANDIDATES = (ir.OpMath(ir.Var()), ir.RealOf(ir.Var()), ir.ComplexOf(ir.Var()))
_MAX_SUFFIX = 24
# The names of a function's specialisations, in the order of their first use: functors of one file agree on them.
_names: weakref.WeakKeyDictionary[types.FunctionType, dict[object, str]] = weakref.WeakKeyDictionary()


@dataclass
class _Specializations:
    """Those of one decoration: a second call with the same types and numbers finds the same object.

    So bodies of several kinds that call it become one text.
    """

    known: dict[object, Definition | PyMetalError] = field(default_factory=dict)
    sources: dict[types.FunctionType, Source] = field(default_factory=dict)
    counts: dict[types.FunctionType, int] = field(default_factory=dict)  # of their results
    running: list[types.FunctionType] = field(default_factory=list)  # a call of one of them is recursion


_specializations: ContextVar[_Specializations | None] = ContextVar("specializations", default=None)


@contextmanager
def specializations() -> Iterator[None]:
    """Inside, plain functions are specialised once for the same types and numbers."""
    if _specializations.get() is not None:  # a function of the one that is decorated
        yield
        return
    token = _specializations.set(_Specializations())
    try:
        yield
    finally:
        _specializations.reset(token)


def is_plain(callee: object) -> TypeGuard[types.FunctionType]:
    """True for a Python function that is neither pymetal's nor one of math, torch and numpy."""
    return isinstance(callee, types.FunctionType) and not public_names(callee) and find_handler(callee) is None


def result_count(function: types.FunctionType) -> int:
    """How many values a plain function returns."""
    counts = _current().counts
    if function not in counts:
        counts[function] = 1  # of one that calls itself, which is refused later
        try:
            source = _source(function)
        except PyMetalError:
            return 1  # `specialize` raises it
        returns = (n.value for n in ast.walk(source.node) if isinstance(n, ast.Return))
        counts[function] = max((_count(source, value) for value in returns), default=1)
    return counts[function]


def _count(source: Source, node: ast.expr | None) -> int:
    match node:
        case ast.Tuple(elts=elements) if not any(isinstance(e, ast.Starred) for e in elements):
            return len(elements)
        case ast.IfExp(body=body):
            return _count(source, body)
        case ast.Call(func=function) if is_dotted(function):
            try:
                callee = static_value(source, function)
            except PyMetalError:
                return 1  # the body's own name, or an error of the line that calls it
            if (definition := definition_of(callee)) is not None:
                return len(definition.results) or 1
            if callee is divmod or PAIRS.keys() & public_names(callee):
                return 2
            return result_count(callee) if is_plain(callee) else 1
    return 1


def _source(function: types.FunctionType) -> Source:
    sources = _current().sources
    if function not in sources:
        sources[function] = read_source(function)
    return sources[function]


def _current() -> _Specializations:
    current = _specializations.get()
    assert current is not None, "a body is lowered inside `specializations`"
    return current


def specialize(
    ctx: ExpressionContext, node: ast.Call, env: Env, function: types.FunctionType
) -> tuple[Definition, list[Expr]] | list[Expr]:
    """A plain function for the arguments of a call, and those it takes; its values, if all of them are numbers.

    Raises:
        PyMetalError: it cannot be called so, calls itself, or cannot become Metal.
    """
    name, signature = ast.unparse(node.func), inspect.signature(function)
    arguments = _bind(ctx, node, env, signature)
    numbers = {n: found for n, value in arguments.items() if (found := number(value)) is not None}
    values = {n: value for n, value in arguments.items() if n not in numbers}
    if not values:
        return _constant(ctx, node, function, inspect.BoundArguments(signature, numbers))
    bound = _element([v.type for v in values.values()])
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
    definition = _definition(ctx, node, function, tuple(parameters), numbers)
    return definition, [values[parameter] for parameter, _ in parameters]


def _bind(ctx: ExpressionContext, node: ast.Call, env: Env, signature: inspect.Signature) -> dict[str, Expr]:
    """The value of each parameter, by Python's own rules."""
    name = ast.unparse(node.func)
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
        default = None if isinstance(given, ast.expr) else frozen_number(given)
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


def _constant(
    ctx: ExpressionContext, node: ast.Call, function: types.FunctionType, numbers: inspect.BoundArguments
) -> list[Expr]:
    """The values of a function of numbers, which Python computes."""
    name = ast.unparse(node.func)
    try:
        computed = function(*numbers.args, **numbers.kwargs)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ctx.source.refusal("python-error", node, op=name, error=reason) from error
    values: list[Expr] = []
    for result in computed if isinstance(computed, tuple) else (computed,):
        value = frozen_number(result)
        if value is None:
            raise ctx.source.refusal("not-a-value", node, name=ast.unparse(node), what=describe(result))
        values.append(weak(value, ctx.source.span(node)))
    return values


def _element(found: Sequence[Type]) -> Type:
    """What the function's element type is: the caller's, if an argument has it."""
    strong = [t for t in found if not isinstance(t, Weak)]
    if ir.Var() in strong:
        return ir.Var()
    return next((t for t in strong if not isinstance(t, ir.Concrete)), strong[0] if strong else ir.FLOAT)


def _in_terms_of(typing: Typing, type_: Type, bound: Type) -> Type | None:
    """A type of the caller as a function of `bound`, from which Metal deduces T."""
    if type_ == bound:
        return ir.Var()
    if bound == ir.Var() or isinstance(type_, Weak | ir.Concrete):
        return type_
    wanted = list(zip(typing.at(bound), typing.at(type_), strict=True))
    return next((c for c in _CANDIDATES if all(e and ir.resolve(c, e) == w for e, w in wanted)), None)


def _definition(
    ctx: ExpressionContext, node: ast.Call, function: types.FunctionType, parameters: tuple[tuple[str, Type], ...],
    numbers: Mapping[str, Any],
) -> Definition:  # fmt: skip
    """The specialisation for these types and numbers."""
    current = _current()
    key = (function, parameters, *((name, repr(value)) for name, value in numbers.items()))
    if key not in current.known:
        if function in current.running:
            raise ctx.source.refusal("recursion", node, name=ast.unparse(node.func))
        current.running.append(function)
        try:
            current.known[key] = _specialized(ctx, node, function, parameters, numbers)
        except PyMetalError as error:
            current.known[key] = error
        finally:
            current.running.pop()
    found = current.known[key]
    if isinstance(found, PyMetalError):
        raise found
    return found


def _specialized(
    ctx: ExpressionContext, node: ast.Call, function: types.FunctionType, parameters: tuple[tuple[str, Type], ...],
    numbers: Mapping[str, Any],
) -> Definition:  # fmt: skip
    name = ast.unparse(node.func)
    if hasattr(function, "__wrapped__"):
        reason, hint = "another decorator wraps it", "Call a `def` without its decorator."
        raise ctx.source.refusal("undecorated", node.func, name=name, reason=reason, hint=hint)
    if function.__name__ == "<lambda>":
        hint = f"Write `def {name.replace('.', '_')}({', '.join(inspect.signature(function).parameters)}): return ...`."
        raise ctx.source.refusal("undecorated", node.func, name=name, reason="it is a lambda", hint=hint)
    try:
        source = _source(function)
    except PyMetalError as error:
        hint = error.hint or "Write it as a `def` in a file."
        raise ctx.source.refusal("undecorated", node.func, name=name, reason=error.message, hint=hint) from error
    annotations = {n: Annotation(t, dtypes.T if t == ir.Var() else None, str(t)) for n, t in parameters}
    tensors = tuple((n, a) for n, a in annotations.items() if not isinstance(a.type, Weak))
    # Variables of Python integers give way in the function, too.
    scalars = tuple(Scalar(n, a, None, ast.arg(n), False) for n, a in annotations.items() if isinstance(a.type, Weak))
    if not tensors and (found := _type_variable(source)) is not None:
        reason, hint = f"no argument tells what {found} is in it", "Pass it an element, such as x."
        raise ctx.source.refusal("undecorated", node.func, name=name, reason=reason, hint=hint)
    place = ast.copy_location(ast.Name("T", ast.Load()), source.node)
    count = result_count(function)
    signature = Signature(
        tensors, _ELEMENT, scalars, _ELEMENT, place, ((_ELEMENT, place),) * count if count > 1 else (),
        constants=tuple(numbers.items()), inferred=True,
    )  # fmt: skip
    name = _name(function, parameters, numbers)
    results = []
    for part in signature.parts() or (signature,):
        definition = ctx.define(source, part)
        own = name if part.index is None else f"{name}_{part.index}"
        results.append(replace(definition, checked=replace(definition.checked, name=own, by_calls=True)))
    return results[0] if count == 1 else replace(results[0], signature=signature, results=tuple(results))


def _type_variable(source: Source) -> str | None:
    """A type variable that the body names."""
    for node in (n for stmt in source.node.body for n in ast.walk(stmt) if isinstance(n, ast.Name)):
        try:
            if isinstance(source.names(node.id), dtypes.TypeVariable):
                return node.id
        except KeyError:
            pass
    return None


def _name(function: types.FunctionType, parameters: tuple[tuple[str, Type], ...], numbers: Mapping[str, Any]) -> str:
    """The name of a specialisation: with the numbers that are not the defaults, or numbered."""
    defaults = {p.name: frozen_number(p.default) for p in inspect.signature(function).parameters.values()}
    given = tuple(f"_{n}_{value!r}" for n, value in numbers.items() if repr(value) != repr(defaults[n]))
    suffix = re.sub(r"\W", "", "".join(given).lower().replace(".", "p").replace("-", "m"))
    names = _names.setdefault(function, {})
    name = base = function.__name__ + (suffix if len(suffix) <= _MAX_SUFFIX else "")
    count = 0
    while name in names.values() and (parameters, given) not in names:
        count += 1
        name = f"{base}_{count}"
    return names.setdefault((parameters, given), name)
