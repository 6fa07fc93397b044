"""Lowering of the methods of values: `x.exp()`, `x.clamp(0, 1)`, `x.to(torch.float32)`."""

from __future__ import annotations

import ast

import torch

from pymetal import dtypes, ir
from pymetal.frontend.annotations import type_of_object
from pymetal.frontend.builtin_calls import (
    Handler,
    MethodCall,
    cast,
    check_count,
    check_variable,
    lower_arguments,
    read_bits,
)  # fmt: skip
from pymetal.frontend.context import Env, ExpressionContext
from pymetal.frontend.names import is_dotted, root, static_value
from pymetal.frontend.suggestions import unknown_method
from pymetal.frontend.torch_calls import bind, check_keywords, lower_function
from pymetal.ir import Expr, Type


def lower_method(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """`x.exp()`, `x.clamp(0, 1)`, `x.to(torch.float32)`: what torch's tensors have under the name.

    Raises:
        PyMetalError: values have no such method, or not with these arguments.
    """
    function = node.func
    assert isinstance(function, ast.Attribute)
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise ctx.source.refusal("starred", argument)
    call = ast.copy_location(MethodCall(function, [function.value, *node.args], node.keywords), node)
    name = function.attr
    if name in _CASTS or name in _METHODS:
        return _METHODS.get(name, _cast_method)(ctx, call, env)
    if hasattr(torch.Tensor, name) and (result := lower_function(ctx, call, env, [f"torch.{name}"])) is not None:
        return result
    ctx.lower(function.value, env)
    value = ast.unparse(function.value)
    near, hint = unknown_method(call, name, value, [*_CASTS, *_METHODS])
    raise ctx.source.refusal("unknown-attribute", function, module=value, name=name, near=near, hint=hint)


_CASTS = {
    "float": dtypes.float32, "half": dtypes.float16, "bfloat16": dtypes.bfloat16, "long": dtypes.int64,
    "int": dtypes.int32, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_,
    "cfloat": dtypes.complex64, "chalf": dtypes.complex32,
}  # fmt: skip


def _cast_method(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """`x.float()`, `x.long()`."""
    check_keywords(ctx, node)
    check_count(ctx, node, 1)
    assert isinstance(node.func, ast.Attribute)
    return cast(ctx, ctx.lower(node.args[0], env), ir.Concrete(_CASTS[node.func.attr]), ctx.source.span(node))


def _to(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """`x.to(torch.float32)`, `x.to(T)`, `x.to(y.dtype)`."""
    value, wanted = bind(ctx, node, 2, "input", "dtype")
    assert value is not None
    assert wanted is not None
    return cast(ctx, ctx.lower(value, env), _written_type(ctx, wanted, env), ctx.source.span(node))


def _view(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """`x.view(torch.int32)`: the same bits, as of a tensor whose dtype has the same width."""
    value, wanted = bind(ctx, node, 2, "input", "dtype")
    assert value is not None
    assert wanted is not None
    return read_bits(ctx, node, ctx.lower(value, env), _written_type(ctx, wanted, env))


def _type_as(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    value, other = lower_arguments(ctx, node, env, 2)
    return cast(ctx, value, other.type, ctx.source.span(node))


def _written_type(ctx: ExpressionContext, node: ast.expr, env: Env) -> Type:
    """The type that an argument names: a torch or pymetal dtype, a type variable, the dtype of a value."""
    if isinstance(node, ast.Attribute) and node.attr == "dtype" and not _is_outside(ctx, node, env):
        return ctx.lower(node.value, env).type
    near = ""
    if is_dotted(node) and _is_outside(ctx, node, env):
        found = static_value(ctx.source, node)
        type_ = type_of_object(found)
        if type_ is not None:
            check_variable(ctx, found, node)
            return ctx.element_type(type_)
        if found in (torch.float64, torch.complex128):
            near = ": Metal has no double, write torch.float32"
    raise ctx.source.refusal("annotation", node, found=ast.unparse(node), near=near)


def _is_outside(ctx: ExpressionContext, node: ast.expr, env: Env) -> bool:
    return is_dotted(node) and root(node) not in env and root(node) not in ctx.local_names


def _double(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    assert isinstance(node.func, ast.Attribute)
    value = ast.unparse(node.func.value)
    raise ctx.source.refusal(
        "unknown-attribute", node.func, module=value, name="double", hint=f"Metal has no double: write {value}.float()."
    )


def _conjugate(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """Python's name of `z.conj()`."""
    result = lower_function(ctx, node, env, ["torch.conj"])
    assert result is not None
    return result


_METHODS: dict[str, Handler] = {
    "to": _to,
    "type": _to,
    "type_as": _type_as,
    "view": _view,
    "double": _double,
    "conjugate": _conjugate,
}
