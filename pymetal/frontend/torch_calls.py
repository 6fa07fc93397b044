"""Lowering of functions by their names in torch, numpy and math: `torch.exp(x)`, `torch.where(c, a, b)`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from pymetal import dtypes, ops
from pymetal.dtypes import Kind
from pymetal.errors import PyMetalError, Span, plural, were_given
from pymetal.frontend.arithmetic import weak
from pymetal.frontend.builtin_calls import (
    Handler,
    MethodCall,
    cast,
    check_count,
    lower_arguments,
    lower_complex,
    lower_part,
    lower_pow,
    lower_round,
)
from pymetal.frontend.context import Env, ExpressionContext
from pymetal.frontend.suggestions import keyword_hint, written_as
from pymetal.ir import Const, Expr, Op, Select
from pymetal.ops import TABLE
from pymetal.ops import python as rows


def lower_function(ctx: ExpressionContext, node: ast.Call, env: Env, names: list[str]) -> Expr | None:
    """A call of a function by one of its names in math, torch or numpy; None if none of them has Metal text."""
    for name in names:
        if name in ops.FORMS:
            return _FORMS[ops.FORMS[name]](ctx, node, env)
        op = ops.find(name)
        if op is not None:
            _check_form(ctx, node, name, op.arity)
            check_keywords(ctx, node, arity=op.arity)
            arguments = lower_arguments(ctx, node, env, op.arity)
            return ctx.arithmetic.apply(op, arguments, ctx.source.span(node), ast.unparse(node.func))
    return None


def _check_form(ctx: ExpressionContext, node: ast.Call, name: str, wanted: int) -> None:
    """Checks the arguments of a function whose other forms, as `softplus(x, beta=2)`, are written as formulas."""
    given, own = len(node.args) + len(node.keywords), isinstance(node, MethodCall)
    if given != wanted and (hint := written_as(name, node)) is not None:
        called, wanted = ast.unparse(node.func), wanted - own
        raise ctx.source.refusal(
            "argument-count",
            node,
            name=called,
            wanted=plural(wanted, "argument"),
            found=were_given(given - own),
            hint=hint,
        )


def check_keywords(ctx: ExpressionContext, node: ast.Call, callee: object = None, arity: int | None = None) -> None:
    """Checks that there are no keyword arguments; `arity` is the number of arguments that are all there are."""
    for keyword in node.keywords:
        raise _wrong_keyword(ctx, node, keyword, callee, arity)


def _wrong_keyword(
    ctx: ExpressionContext, node: ast.Call, keyword: ast.keyword, callee: object = None, arity: int | None = None
) -> PyMetalError:
    if keyword.arg is None:
        return ctx.source.refusal("starred", keyword)
    name = ast.unparse(node.func)
    given = len(node.args) if arity is not None and len(node.args) >= arity else None
    hint = keyword_hint(callee, name, keyword.arg, None if given is None else given - isinstance(node, MethodCall))
    return ctx.source.refusal("keyword-argument", keyword, name=name, hint=hint)


def bind(ctx: ExpressionContext, node: ast.Call, required: int, *parameters: str) -> list[ast.expr | None]:
    """The arguments in the order of `parameters`, by position or by name; None for those left out, or given as None."""
    bound: dict[str, ast.expr] = dict(zip(parameters, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg not in parameters or keyword.arg in bound:
            raise _wrong_keyword(ctx, node, keyword)
        bound[keyword.arg] = keyword.value
    if len(node.args) > len(parameters) or not bound.keys() >= set(parameters[:required]):
        raise _wrong_count(ctx, node, required, parameters)
    optional = parameters[required:]
    nothing = [n for n in optional if isinstance(value := bound.get(n), ast.Constant) and value.value is None]
    return [None if name in nothing else bound.get(name) for name in parameters]


def _wrong_count(ctx: ExpressionContext, node: ast.Call, required: int, parameters: tuple[str, ...]) -> PyMetalError:
    name, own = ast.unparse(node.func), isinstance(node, MethodCall)
    wanted = plural(len(parameters) - own, "argument")
    if required < len(parameters):
        wanted = f"{required - own} to {wanted}"
    return ctx.source.refusal(
        "argument-count", node, name=name, wanted=wanted, found=were_given(len(node.args) + len(node.keywords) - own),
        hint=f"Call it as {name}({', '.join(parameters[own:])}).",
    )  # fmt: skip


# --- functions of two results ----------------------------------------------------------------------------------------


def lower_pair(ctx: ExpressionContext, node: ast.Call, env: Env, names: list[str]) -> list[Expr] | None:
    """The results of `torch.frexp`, `math.modf` and the like; None for a function of one result."""
    lower = next((PAIRS[n] for n in names if n in PAIRS), None)
    if lower is None:
        return None
    check_keywords(ctx, node, arity=1)
    (value,), span = lower_arguments(ctx, node, env, 1), ctx.source.span(node)
    floating = ctx.typing.floating(value.type)
    return lower(ctx, value if floating is None else ctx.arithmetic.convert(value, floating), span)


def _frexp(ctx: ExpressionContext, value: Expr, span: Span) -> list[Expr]:
    """A mantissa of a magnitude in [0.5, 1) and an exponent; of zero, infinities and NaN the value and 0."""
    apply, share = ctx.arithmetic.apply, ctx.subexpressions.share
    x = share(value, "value", 4, span)
    finite, nonzero = apply(TABLE["metal.isfinite"], [x], span), apply(rows.NE, [x, weak(0, span)], span)
    found = apply(rows.ADD, [apply(TABLE["metal.ilogb"], [x], span), weak(1, span)], span)
    exponent = Select(apply(rows.AND, [finite, nonzero], span), found, Const(0, found.type, span), found.type)
    shared = share(exponent, "exponent", 2, span)
    return [apply(TABLE["metal.ldexp"], [x, apply(rows.NEG, [shared], span)], span), shared]


def _modf(ctx: ExpressionContext, value: Expr, span: Span) -> list[Expr]:
    """The fractional and the whole part, both with the sign of the value."""
    apply, share = ctx.arithmetic.apply, ctx.subexpressions.share
    x = share(value, "value", 4, span)
    whole = share(apply(TABLE["metal.trunc"], [x], span), "whole", 2, span)
    rest = apply(rows.SUB, [x, whole], span)
    zero = ctx.arithmetic.convert(weak(0, span), rest.type)
    rest = Select(apply(TABLE["metal.isinf"], [x], span), zero, rest, rest.type)
    return [apply(TABLE["metal.copysign"], [rest, x], span), whole]


PAIRS: dict[str, Callable[[ExpressionContext, Expr, Span], list[Expr]]] = {
    "math.frexp": _frexp, "torch.frexp": _frexp, "numpy.frexp": _frexp, "math.modf": _modf, "numpy.modf": _modf,
}  # fmt: skip


# --- functions of several rows ---------------------------------------------------------------------------------------


def _where(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """`torch.where(c, a, b)` is `a if c else b`; so is `a.where(c, b)`."""
    check_keywords(ctx, node)
    check_count(ctx, node, 3, "c, y" if isinstance(node, MethodCall) else "c, x, y")
    first, second, otherwise = node.args
    test, then = (second, first) if isinstance(node, MethodCall) else (first, second)
    return ctx.lower(ast.copy_location(ast.IfExp(test, then, otherwise), node), env)


def _limited(low: str | int | None, high: str | int | None) -> Handler:
    """The larger of the value and a lower limit, the smaller of that and an upper one: parameters by name, or numbers.

    Both are NaN where an operand is.
    """
    parameters = [p for p in (low, high) if isinstance(p, str)]

    def lower(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
        span = ctx.source.span(node)
        value, *given = bind(ctx, node, 1, "input", *parameters)
        named = dict(zip(parameters, given, strict=True))
        if parameters and not any(given):
            raise _wrong_count(ctx, node, 2, ("input", *parameters))
        assert value is not None
        result = ctx.lower(value, env)
        for op, limit in ((rows.MAX, low), (rows.MIN, high)):
            bound = named[limit] if isinstance(limit, str) else limit
            if bound is not None:
                other = ctx.lower(bound, env) if isinstance(bound, ast.expr) else weak(bound, span)
                result = ctx.arithmetic.apply(op, [result, other], span)
        return result

    return lower


def _leaky_relu(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    value, slope = bind(ctx, node, 1, "input", "negative_slope")
    assert value is not None
    span = ctx.source.span(node)
    factor = weak(0.01, span) if slope is None else ctx.lower(slope, env)
    return ctx.arithmetic.apply(TABLE["leaky_relu"], [ctx.lower(value, env), factor], span)


def _hardtanh(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    limits = _limited("min_val", "max_val") if len(node.args) > 1 or node.keywords else _limited(-1, 1)
    return limits(ctx, node, env)


def _divide(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """`torch.div(x, y, rounding_mode="floor")` is `x // y`; rounding to zero is known of integers."""
    a, b, mode = bind(ctx, node, 2, "input", "other", "rounding_mode")
    assert a is not None
    assert b is not None
    span, operands = ctx.source.span(node), [ctx.lower(a, env), ctx.lower(b, env)]
    if mode is None:
        return ctx.arithmetic.apply(rows.TRUEDIV, operands, span)
    if isinstance(mode, ast.Constant) and mode.value == "floor":
        return ctx.arithmetic.apply(rows.FLOORDIV, operands, span)
    joined = ctx.arithmetic.join_all(operands, span)
    if isinstance(mode, ast.Constant) and mode.value == "trunc" and ctx.typing.kinds(joined) <= dtypes.INTEGRAL:
        return ctx.arithmetic.apply(TABLE["metal.c10.div"], operands, span)
    hint = f"Write torch.trunc({ast.unparse(a)} / {ast.unparse(b)})."
    raise ctx.source.refusal("keyword-argument", mode, name=ast.unparse(node.func), hint=hint)


def _log(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """`math.log(x)`, and `math.log(x, base)` as Python computes it."""
    check_keywords(ctx, node)
    if len(node.args) != 2:
        check_count(ctx, node, 1)
    span, log = ctx.source.span(node), ops.BY_ALIAS["math.log"]
    logs = [ctx.arithmetic.apply(log, [ctx.lower(a, env)], span, ast.unparse(node.func)) for a in node.args]
    return logs[0] if len(logs) == 1 else ctx.arithmetic.apply(rows.TRUEDIV, logs, span)


def _plain(count: int, lower: Handler) -> Handler:
    """`lower` for a call of `count` arguments, all by position."""

    def checked(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
        check_keywords(ctx, node)
        check_count(ctx, node, count)
        return lower(ctx, node, env)

    return checked


def _square(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    span = ctx.source.span(node)
    return ctx.arithmetic.power(ctx.lower(node.args[0], env), weak(2, span), span)


def _full_like(value: int | None) -> Handler:
    """A constant of the type of the first argument: `value`, or the second argument."""

    def lower(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
        span = ctx.source.span(node)
        like, *given = (ctx.lower(a, env) for a in node.args)
        return cast(ctx, given[0] if given else weak(value or 0, span), like.type, span)

    return _plain(1 if value is not None else 2, lower)


def _reciprocal(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    span = ctx.source.span(node)
    return ctx.arithmetic.apply(rows.TRUEDIV, [weak(1, span), ctx.lower(node.args[0], env)], span)


def _shift(op: Op, constant_op: Op) -> Handler:
    def lower(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
        value, count = (ctx.lower(a, env) for a in node.args)
        return ctx.arithmetic.shift(op, constant_op, value, count, ctx.source.span(node))

    return _plain(2, lower)


def _logical(op: Op) -> Handler:
    """Of bools; numbers are tested against zero first."""

    def lower(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
        span = ctx.source.span(node)
        operands = [ctx.lower(a, env) for a in node.args]
        truths = [
            v if ctx.typing.kinds(v.type) == {Kind.BOOL} else ctx.arithmetic.apply(rows.NE, [v, weak(0, span)], span)
            for v in operands
        ]
        return ctx.arithmetic.apply(op, truths, span)

    return _plain(op.arity, lower)


def _part(name: str) -> Handler:
    return _plain(1, lambda ctx, node, env: lower_part(ctx, ctx.lower(node.args[0], env), name, ctx.source.span(node)))


_FORMS: dict[str, Handler] = {
    "where": _where,
    "clamp": _limited("min", "max"),
    "clamp_min": _limited("min", None),
    "clamp_max": _limited(None, "max"),
    "relu": _limited(0, None),
    "relu6": _limited(0, 6),
    "hardtanh": _hardtanh,
    "leaky_relu": _leaky_relu,
    "power": _plain(2, lower_pow),
    "square": _plain(1, _square),
    "log": _log,
    "round": _plain(1, lower_round),
    "divide": _divide,
    "reciprocal": _plain(1, _reciprocal),
    "left_shift": _shift(rows.SHL, rows.SHL_CONSTANT),
    "right_shift": _shift(rows.SHR, rows.SHR_CONSTANT),
    "logical_and": _logical(rows.AND),
    "logical_or": _logical(rows.OR),
    "logical_xor": _logical(rows.NE),
    "logical_not": _logical(rows.NOT),
    "unchanged": _plain(1, lambda ctx, node, env: ctx.lower(node.args[0], env)),
    "zeros_like": _full_like(0),
    "ones_like": _full_like(1),
    "full_like": _full_like(None),
    "real": _part("real"),
    "imag": _part("imag"),
    "complex": _plain(2, lower_complex),
}
