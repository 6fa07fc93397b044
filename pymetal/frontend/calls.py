"""Lowering of calls: a call becomes an operator, a cast, a compile-time constant, or a call of a decorated function."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from pymetal import dtypes, ir
from pymetal.dtypes import Kind, TypeApplication, TypeVariable
from pymetal.errors import plural, were_given
from pymetal.frontend.annotations import Definition, Signature, definition_of, resolve_application, type_of_object
from pymetal.frontend.arithmetic import weak
from pymetal.frontend.builtin_calls import cast, check_count, check_variable, find_handler, lower_arguments
from pymetal.frontend.context import Env, ExpressionContext
from pymetal.frontend.method_calls import lower_method
from pymetal.frontend.names import describe, is_dotted, public_names, root, static_value
from pymetal.frontend.plain_functions import is_plain, result_count, specialize
from pymetal.frontend.suggestions import CALLABLE, call_hint
from pymetal.frontend.torch_calls import PAIRS, check_keywords, lower_function, lower_pair
from pymetal.ir import Const, Expr, Invoke, Type, Weak
from pymetal.ops import python as rows


def lower_call(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """The typed expression of a call.

    Raises:
        PyMetalError: what is called cannot be called in a functor, or not with these arguments.
    """
    name = ast.unparse(node.func)
    if isinstance(node.func, ast.Subscript):
        return _lower_type_application(ctx, node, env)
    if not _is_outside_name(ctx, node.func, env):
        if isinstance(node.func, ast.Attribute):
            return lower_method(ctx, node, env)
        raise ctx.source.refusal("not-callable", node.func, name=name, what="a value", hint=CALLABLE)
    if root(node.func) == ctx.source.node.name:
        raise ctx.source.refusal("recursion", node, name=name)
    callee = static_value(ctx.source, node.func)
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise ctx.source.refusal("starred", argument)
    definition = definition_of(callee)
    if definition is not None:
        _check_one_result(ctx, node, name, len(definition.results))
        args = _match_arguments(ctx, node, env, name, definition.signature)
        return _lower_invoke(ctx, node, name, definition, args)
    names = public_names(callee)
    _check_one_result(ctx, node, name, 2 if PAIRS.keys() & names else 1)
    if (result := lower_function(ctx, node, env, names)) is not None:
        return result
    if is_plain(callee):
        _check_one_result(ctx, node, name, result_count(callee))
        specialized = specialize(ctx, node, env, callee)
        if isinstance(specialized, list):
            _check_one_result(ctx, node, name, len(specialized))
            return specialized[0]
        return _lower_invoke(ctx, node, name, *specialized)
    marked = getattr(callee, "__pymetal_op__", None)
    op = marked if isinstance(marked, ir.Op) else rows.ABS if callee is abs else None
    handler, target = find_handler(callee), type_of_object(callee) if callable(callee) else None
    fact = getattr(callee, "__pymetal_fact__", None)
    if any(known is not None for known in (op, handler, target, fact)):
        check_keywords(ctx, node, callee)
    if op is not None:
        return ctx.arithmetic.apply(op, lower_arguments(ctx, node, env, op.arity), ctx.source.span(node), name)
    if handler is not None:
        return handler(ctx, node, env)
    if fact is not None:
        return _lower_fact(ctx, node, env, fact)
    if target is not None:
        return _lower_cast(ctx, node, env, target)
    hint = call_hint(callee, names, node)
    raise ctx.source.refusal("not-callable", node.func, name=name, what=describe(callee), hint=hint)


def _check_one_result(ctx: ExpressionContext, node: ast.Call, name: str, results: int) -> None:
    if results > 1:
        hint = f"Write `{', '.join('abcdefgh'[:results])} = {name}(...)`."
        raise ctx.source.refusal("expression", node, what=f"{name}(), which has several results, here", hint=hint)


def _is_outside_name(ctx: ExpressionContext, node: ast.expr, env: Env) -> bool:
    """True for a dotted name that the body does not assign."""
    return is_dotted(node) and root(node) not in env and root(node) not in ctx.local_names


# --- casts and compile-time constants --------------------------------------------------------------------------------


def _lower_type_application(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """`ComplexOf[T](x)`, `RealOf[T](x)`, `OpMath[T](x)`."""
    func = node.func
    if isinstance(func, ast.Subscript) and is_dotted(func.value) and is_dotted(func.slice):
        function, argument = static_value(ctx.source, func.value), static_value(ctx.source, func.slice)
        if isinstance(function, dtypes.TypeFunction):
            type_ = resolve_application(ctx.source, func, TypeApplication(function, argument))
            return _lower_cast(ctx, node, env, type_)
    raise ctx.source.refusal("not-callable", func, name=ast.unparse(func), what="a value", hint=CALLABLE)


def _lower_cast(ctx: ExpressionContext, node: ast.Call, env: Env, target: Type) -> Expr:
    check_count(ctx, node, 1)
    argument, span = node.args[0], ctx.source.span(node)
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and target == ir.FLOAT:
        try:
            return weak(float(argument.value), span)  # float("inf"), float("nan")
        except ValueError:
            pass
    if is_dotted(node.func):
        check_variable(ctx, static_value(ctx.source, node.func), node)
    return cast(ctx, ctx.lower(argument, env), ctx.element_type(target), span)


def _lower_fact(ctx: ExpressionContext, node: ast.Call, env: Env, fact: Callable[[Kind], bool]) -> Expr:
    """`pymetal.is_integral(T)` and the like: a constant for one group of dtypes."""
    check_count(ctx, node, 1)
    argument = node.args[0]
    value: Any = static_value(ctx.source, argument) if _is_outside_name(ctx, argument, env) else None
    if not isinstance(value, TypeVariable):
        raise ctx.source.refusal("annotation", argument, found=ast.unparse(argument))
    answers = {fact(d.kind) for d in ctx.typing.domain}
    assert len(answers) == 1, "a group of dtypes has one kind"
    return Const(answers.pop(), ir.BOOL, ctx.source.span(node))


# --- calls of decorated functions ------------------------------------------------------------------------------------


def lower_results(ctx: ExpressionContext, node: ast.Call, env: Env) -> list[Expr] | None:
    """The values of a call of a function with several results; None for any other call."""
    if not _is_outside_name(ctx, node.func, env) or root(node.func) == ctx.source.node.name:
        return None
    name, callee = ast.unparse(node.func), static_value(ctx.source, node.func)
    if (pair := lower_pair(ctx, node, env, public_names(callee))) is not None:
        return pair
    definition = definition_of(callee)
    if definition is not None and definition.results:
        args = _match_arguments(ctx, node, env, name, definition.signature)
    elif definition is None and is_plain(callee) and result_count(callee) > 1:
        specialized = specialize(ctx, node, env, callee)
        if isinstance(specialized, list):
            return specialized
        definition, args = specialized
    else:
        return None
    share, span, signature = ctx.subexpressions.share, ctx.source.span(node), definition.signature
    names = [n for n, _ in signature.tensors] + [s.name for s in signature.scalars]
    args = [share(value, n, len(definition.results), span) for n, value in zip(names, args, strict=True)]
    return [_lower_invoke(ctx, node, name, result, args) for result in definition.results]


def _lower_invoke(ctx: ExpressionContext, node: ast.Call, name: str, callee: Definition, args: list[Expr]) -> Expr:
    span, typing = ctx.source.span(node), ctx.typing
    signature = callee.signature
    types = [a.type for _, a in signature.tensors] + [s.type for s in signature.scalars]
    # Tensors determine the element type; a scalar parameter is converted to what they determine.
    generic = [v for v, (_, a) in zip(args, signature.tensors, strict=False) if a.type == ir.Var()]
    bound = ctx.arithmetic.join_all(generic, span) if generic else ir.FLOAT
    if isinstance(bound, Weak):
        bound = ir.Concrete(ir.resolved(bound, typing.domain[0]))
    _check_served(ctx, node, bound, callee, name)
    converted = []
    for value, type_ in zip(args, types, strict=True):
        target = typing.substitute(type_, bound)
        joined = typing.join(value.type, target)
        if joined is None or not typing.same(joined, target):
            found, wanted = typing.describe(value.type), typing.describe(target)
            raise ctx.source.refusal("argument-type", node, name=name, found=found, wanted=wanted)
        same = isinstance(value.type, Weak) and typing.at(value.type) == typing.at(target)
        is_counter = same and not isinstance(value, Const)
        converted.append(value if is_counter else ctx.arithmetic.convert(value, target))
    overloads = [callee.checked.overload(d) for d in typing.at(bound) if d is not None]
    found_results = {o.function.result for o in overloads if o is not None}
    if len(found_results) == 1:
        return Invoke(callee.checked, tuple(converted), bound, typing.substitute(found_results.pop(), bound), span)
    result = typing.map(bound, lambda d: _result_dtype(callee, d))
    if result is None:
        raise ctx.source.refusal("no-common-type", node, a=f"the result of {name}", b=typing.describe(bound))
    return Invoke(callee.checked, tuple(converted), bound, result, span)


def _match_arguments(ctx: ExpressionContext, node: ast.Call, env: Env, name: str, signature: Signature) -> list[Expr]:
    """The arguments in the order of the parameters, defaults filled in, as Python binds them."""
    scalars, span = signature.scalars, ctx.source.span(node)
    defaults = {s.name: weak(s.default, span) for s in scalars if s.default is not None}
    parameters = [*(n for n, _ in signature.tensors), *(s.name for s in scalars)]
    most = len(parameters) - sum(s.keyword_only for s in scalars)
    hint = f"It is {name}({', '.join(parameters)})."
    given = dict(zip(parameters[:most], node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ctx.source.refusal("keyword-argument", keyword, name=name, hint="Write them one by one.")
        if keyword.arg in given or keyword.arg not in parameters[signature.positional_only :]:
            many, found = ("one", "two were given") if keyword.arg in given else ("no", "it was given")
            wanted = f"{many} argument {keyword.arg!r}"
            raise ctx.source.refusal("argument-count", keyword, name=name, wanted=wanted, found=found, hint=hint)
        given[keyword.arg] = keyword.value
    missing = next((n for n in parameters if n not in given and n not in defaults), None)
    if missing in {s.name for s in scalars}:
        wanted, hint = f"the scalar argument {missing!r}", f"Pass {missing}=..."
        raise ctx.source.refusal("argument-count", node, name=name, wanted=wanted, found="it was not given", hint=hint)
    if missing is not None or len(node.args) > most:
        wanted, found = plural(len(signature.tensors) if missing else most, "argument"), were_given(len(node.args))
        raise ctx.source.refusal("argument-count", node, name=name, wanted=wanted, found=found, hint=hint)
    return [ctx.lower(given[n], env) if n in given else defaults[n] for n in parameters]


def _check_served(ctx: ExpressionContext, node: ast.Call, bound: Type, callee: Definition, name: str) -> None:
    for dtype in ctx.typing.at(bound):
        assert dtype is not None
        if callee.checked.overload(dtype) is None:
            failure = callee.failures.get(dtype)
            reason = f": {failure.message}" if failure else ""
            if failure and failure.span and failure.span.line != ctx.source.span(node).line:
                reason += f" (line {failure.span.line} of {PurePath(failure.span.file).name})"
            served = dtypes.listed(callee.checked.domain)
            raise ctx.source.refusal("callee-dtype", node, name=name, dtype=dtype, reason=reason, served=served)


def _result_dtype(callee: Definition, dtype: dtypes.DType) -> dtypes.DType | None:
    overload = callee.checked.overload(dtype)
    return None if overload is None else ir.resolve(overload.function.result, dtype)
