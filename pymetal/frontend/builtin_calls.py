"""Lowering of calls of Python's builtins and of pymetal's own functions: `max`, `complex`, `metal.as_type`, ..."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Sequence

from pymetal import dtypes, ir
from pymetal.dtypes import Kind, TypeVariable
from pymetal.errors import Span, plural, were_given
from pymetal.frontend import static_iteration
from pymetal.frontend.annotations import type_of_object
from pymetal.frontend.arithmetic import number, weak
from pymetal.frontend.context import Env, ExpressionContext
from pymetal.frontend.names import builtin_name, is_dotted, static_value
from pymetal.frontend.refusals import refusal
from pymetal.ir import Bits, Cast, Const, Expr, Table, Type, Weak
from pymetal.ops import python as rows

Handler = Callable[[ExpressionContext, ast.Call, Env], Expr]
PARTS = {"real": rows.REAL_PART, "imag": rows.IMAG_PART}


class MethodCall(ast.Call):
    """A call of a method, `x.exp()`: the value is the first of the arguments, and not counted with them."""


def check_count(ctx: ExpressionContext, node: ast.Call, wanted: int, form: str = "") -> None:
    """Checks the number of arguments; `form` is how they are written."""
    name, own = ast.unparse(node.func), isinstance(node, MethodCall)
    wanted, found = wanted - own, len(node.args) - own
    if found != wanted:
        raise ctx.source.refusal(
            "argument-count", node, name=name, wanted=plural(wanted, "argument"), found=were_given(found),
            hint=f"Call it as {name}({form or ', '.join('xyzw'[:wanted])}).",
        )  # fmt: skip


def lower_arguments(ctx: ExpressionContext, node: ast.Call, env: Env, wanted: int) -> list[Expr]:
    """The positional arguments, of which there must be `wanted`."""
    check_count(ctx, node, wanted)
    return [ctx.lower(a, env) for a in node.args]


def lower_pow(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """`pow(x, y)`, as `x ** y`."""
    base, exponent = lower_arguments(ctx, node, env, 2)
    return ctx.arithmetic.power(base, exponent, ctx.source.span(node))


def lower_round(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """`round(x)`: half to even; integers are their own value."""
    (value,) = lower_arguments(ctx, node, env, 1)
    if number(value) is None and ctx.typing.kinds(value.type) <= {Kind.SIGNED, Kind.UNSIGNED}:
        return value
    return ctx.arithmetic.apply(rows.ROUND, [value], ctx.source.span(node))


def _min_or_max(op: ir.Op) -> Handler:
    def lower(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
        if len(node.args) == 1:
            return _reduce(ctx, node, op, _values(ctx, node.args[0], env))
        if not node.args:
            check_count(ctx, node, 2)
        return _reduce(ctx, node, op, [ctx.lower(a, env) for a in node.args])

    return lower


def _values(ctx: ExpressionContext, node: ast.expr, env: Env) -> list[Expr]:
    """The items of a sequence, which are numbers."""
    items = static_iteration.items_of(ctx, node, env)
    if any(isinstance(item, tuple) for item in items):
        raise ctx.source.refusal("table", node, name=ast.unparse(node), what="numbers")
    return [item for item in items if not isinstance(item, tuple)]


def _reduce(ctx: ExpressionContext, node: ast.Call, op: ir.Op, values: Sequence[Expr]) -> Expr:
    """`op` of the values, from left to right."""
    span = ctx.source.span(node)
    if not values:
        name = ast.unparse(node.func)
        raise ctx.source.refusal("python-error", node, op=name, error=f"{name}() arg is an empty sequence")
    return functools.reduce(lambda a, b: ctx.arithmetic.apply(op, [a, b], span), values)


def _sum(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    if len(node.args) != 2:
        check_count(ctx, node, 1, "VALUES, start")
    start = ctx.lower(node.args[1], env) if len(node.args) == 2 else weak(0, ctx.source.span(node))
    values = _values(ctx, node.args[0], env)
    first = number(start)
    if (
        values
        and isinstance(first, int)
        and first == 0
        and ctx.typing.kinds(values[0].type) <= {Kind.SIGNED, Kind.UNSIGNED}
    ):
        return _reduce(ctx, node, rows.ADD, values)  # of floats, 0 + -0.0 is 0.0
    return _reduce(ctx, node, rows.ADD, [start, *values])


def _any_or_all(op: ir.Op) -> Handler:
    def lower(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
        check_count(ctx, node, 1)
        (argument,), span = node.args, ctx.source.span(node)
        items = static_iteration.lazy_items(ctx, argument, env, ctx.lower_condition)
        if items is None:
            items = static_iteration.items_of(ctx, argument, env)
        # A tuple that has items is true.
        conditions = (weak(bool(i), span) if isinstance(i, tuple) else ctx.truth(i, span) for i in items)
        return ctx.short_circuit(op, conditions, span)

    return lower


def _int(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    if len(node.args) == 1:
        constant = number(ctx.lower(node.args[0], env))
        if constant is not None and not isinstance(constant, complex) and math.isfinite(constant):
            return weak(int(constant), ctx.source.span(node))
    raise ctx.source.refusal("int-cast", node)


def lower_complex(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """`complex(re, im)`: the complex type of the parts' common type."""
    real, imag = lower_arguments(ctx, node, env, 2)
    span = ctx.source.span(node)
    a, b = number(real), number(imag)
    if a is not None and b is not None and not isinstance(a, complex) and not isinstance(b, complex):
        return weak(complex(a, b), span)
    joined = ctx.typing.floating(ctx.arithmetic.join(real.type, imag.type, span))
    if joined is None or not ctx.typing.kinds(joined) <= {Kind.FLOATING}:
        type_, hint = ctx.typing.describe(real.type), "Its parts are real numbers."
        raise ctx.source.refusal("operand-kind", node, op="complex", type=type_, hint=hint)
    target = ctx.typing.map(joined, dtypes.complex_of)
    if dtypes.bfloat16 in ctx.typing.at(joined) or target is None:
        hint = "Metal has no complex of bfloat: write complex(float(re), float(im)), or narrow dtypes=."
        raise ctx.source.refusal("operand-kind", node, op="complex", type=dtypes.bfloat16, hint=hint)
    args = (ctx.arithmetic.convert(real, joined), ctx.arithmetic.convert(imag, joined))
    return ir.Call(rows.MAKE_COMPLEX, args, target, span)


def _as_type(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    check_count(ctx, node, 2, "x, pymetal.int32")
    argument = node.args[1]
    named = type_of_object(static_value(ctx.source, argument)) if is_dotted(argument) else None
    if named is None:
        raise ctx.source.refusal("annotation", argument, found=ast.unparse(argument))
    return read_bits(ctx, node, ctx.lower(node.args[0], env), ctx.element_type(named))


def read_bits(ctx: ExpressionContext, node: ast.Call, value: Expr, target: Type) -> Expr:
    """The bits of `value` as those of a `target`.

    Raises:
        PyMetalError: the widths differ, or one is bool.
    """
    if isinstance(value.type, Weak):
        value = ctx.arithmetic.convert(value, ir.FLOAT if value.type == ir.WEAK_FLOAT else ir.Concrete(dtypes.int32))
    for source, wanted in zip(ctx.typing.at(value.type), ctx.typing.at(target), strict=True):
        if source is None or wanted is None or source.bits != wanted.bits or Kind.BOOL in (source.kind, wanted.kind):
            raise ctx.source.refusal("as-type", node, source=source, target=wanted)
    return value if ctx.typing.same(value.type, target) else Bits(target, value, ctx.source.span(node))


def _table(ctx: ExpressionContext, node: ast.expr, env: Env) -> Table:
    table = ctx.lower_table(node, env, inline=True)
    if table is None:
        raise ctx.source.refusal("table", node, name=ast.unparse(node), what="numbers")
    return table


def _polevl(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    check_count(ctx, node, 2, "x, COEFFICIENTS")
    coefficients = _table(ctx, node.args[1], env).values
    return ctx.arithmetic.horner(ctx.lower(node.args[0], env), coefficients, ctx.source.span(node))


def _len(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    check_count(ctx, node, 1)
    (argument,) = node.args
    items = None if isinstance(argument, ast.GeneratorExp) else static_iteration.lazy_items(ctx, argument, env)
    if items is None:
        raise ctx.source.refusal("table", argument, name=ast.unparse(argument), what="numbers")
    return weak(len(tuple(items)), ctx.source.span(node))


def _misplaced(ctx: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    name = ast.unparse(node.func)
    hint = "Write `q, r = divmod(a, b)`." if name == "divmod" else f"Write `for i in {name}(...)`."
    raise ctx.source.refusal("expression", node, what=f"{name}() here", hint=hint)


def lower_part(ctx: ExpressionContext, value: Expr, name: str, span: Span) -> Expr:
    """`z.real` or `z.imag`; real numbers have both, as in Python."""
    constant = number(value)
    if constant is not None:
        return weak(constant.real if name == "real" else constant.imag, span)
    if ctx.typing.kinds(value.type) <= dtypes.REAL:
        return value if name == "real" else Const(0, value.type, span)
    return ctx.arithmetic.apply(PARTS[name], [value], span)


def cast(ctx: ExpressionContext, value: Expr, target: Type, span: Span) -> Expr:
    """A cast that the user wrote: as torch's `Tensor.to`, but a complex number is not cast to a real one."""
    kinds, wanted = ctx.typing.kinds(value.type), ctx.typing.kinds(target)
    if Kind.COMPLEX in kinds and not wanted <= {Kind.COMPLEX}:
        if wanted == {Kind.BOOL}:
            return ctx.arithmetic.apply(rows.NE, [value, weak(0, span)], span)
        raise refusal("complex-to-real", span, type=ctx.typing.describe(target))
    constant = number(value)
    if constant is not None:
        if wanted <= {Kind.COMPLEX} or (wanted <= {Kind.FLOATING, Kind.COMPLEX} and not isinstance(constant, complex)):
            return Const(constant, target, span)
        if wanted == {Kind.BOOL}:
            return Const(bool(constant), target, span)
        if not isinstance(constant, complex) and math.isfinite(constant):
            return Const(int(constant), target, span)
    return value if ctx.typing.same(value.type, target) else Cast(target, value, implicit=False, span=span)


def check_variable(ctx: ExpressionContext, variable: object, node: ast.expr) -> None:
    """Checks that a type variable, as a cast writes it, admits the element types."""
    if isinstance(variable, TypeVariable) and not ctx.typing.kinds(ir.Var()) <= variable.kinds:
        raise ctx.source.refusal(
            "operand-kind", node, op=f"{variable.name}()", type=ctx.typing.describe(ir.Var()),
            hint="It stands for the element type. Use T(x), or a dtype such as pymetal.int64(x).",
        )  # fmt: skip


_HANDLERS: tuple[tuple[object, Handler], ...] = (
    (pow, lower_pow), (round, lower_round), (max, _min_or_max(rows.MAX)), (min, _min_or_max(rows.MIN)), (int, _int),
    (complex, lower_complex), (len, _len), (divmod, _misplaced), (range, _misplaced),
    (reversed, _misplaced), (enumerate, _misplaced), (zip, _misplaced), (sum, _sum), (any, _any_or_all(rows.OR)),
    (all, _any_or_all(rows.AND)),
)  # fmt: skip
# Functions of pymetal whose arguments are read as they are written; see `pymetal.intrinsics`.
_BUILTINS: dict[str, Handler] = {"as_type": _as_type, "polevl": _polevl, "static_range": _misplaced}


def find_handler(callee: object) -> Handler | None:
    """What lowers a call of `callee`, or None if it is not one of these functions."""
    if (name := builtin_name(callee)) is not None:
        return _BUILTINS[name]
    return next((handler for known, handler in _HANDLERS if known is callee), None)
