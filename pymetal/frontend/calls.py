"""A call in a body becomes an operator, a cast, a compile-time answer, or a call of another decorated function."""

from __future__ import annotations

import ast
import math
import types
from collections.abc import Callable
from typing import Any

from pymetal import dtypes, ir, ops
from pymetal.dtypes import Kind, TypeApplication, TypeVariable
from pymetal.errors import Span
from pymetal.frontend.annotations import Signature, apply_functions, type_of_object
from pymetal.frontend.arithmetic import number, weak
from pymetal.frontend.context import Env, ExpressionContext
from pymetal.frontend.definition import Definition, definition_of
from pymetal.frontend.names import builtin_name, describe, is_dotted, math_alias, root, static_value
from pymetal.frontend.refusals import refusal
from pymetal.frontend.suggestions import CALLABLE, instead, without_keyword
from pymetal.ir import Bits, Cast, Const, Expr, Invoke, Type, Weak
from pymetal.ops import python as rows

Handler = Callable[[ExpressionContext, ast.Call, Env], Expr]


def lower_call(x: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """The typed expression of a call.

    Raises:
        PyMetalError: what is called cannot be called in a functor, or not with these arguments.
    """
    name = ast.unparse(node.func)
    if isinstance(node.func, ast.Subscript):
        return _type_application(x, node, env)
    if not is_dotted(node.func) or root(node.func) in env or root(node.func) in x.local_names:
        raise refusal("not-callable", x.source.span(node.func), name=name, what="a value", way=CALLABLE)
    if root(node.func) == x.source.node.name:
        raise refusal("recursion", x.source.span(node), name=name)
    callee = static_value(x.source, node.func)
    definition = definition_of(callee)
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise refusal("starred", x.source.span(argument))
    if definition is not None:
        return _invoke(x, node, env, name, definition)
    if node.keywords:
        keyword = node.keywords[0]
        if keyword.arg is None:
            raise refusal("starred", x.source.span(keyword))
        way = without_keyword(callee, node, keyword.arg)
        raise refusal("keyword-argument", x.source.span(keyword), name=name, way=way)
    marked = getattr(callee, "__pymetal_op__", None)
    op = marked if isinstance(marked, ir.Op) else ops.find(math_alias(callee) or "")
    if op is not None:
        count(x, node, op.arity)
        return x.arithmetic.apply(op, [x.lower(a, env) for a in node.args], x.source.span(node), name)
    handler = _handler(callee)
    if handler is not None:
        return handler(x, node, env)
    fact = getattr(callee, "__pymetal_fact__", None)
    if fact is not None:
        return _fact(x, node, env, fact)
    target = type_of_object(callee)
    if target is not None:
        return _cast_call(x, node, env, target)
    if isinstance(callee, types.FunctionType):
        raise refusal("undecorated", x.source.span(node.func), name=name)
    raise refusal("not-callable", x.source.span(node.func), name=name, what=describe(callee), way=instead(callee))


def count(x: ExpressionContext, node: ast.Call, wanted: int, form: str = "") -> None:
    """Checks the number of arguments."""
    name = ast.unparse(node.func)
    if len(node.args) != wanted:
        raise refusal(
            "argument-count", x.source.span(node), name=name, wanted=wanted, found=len(node.args),
            way=f"Call it as {name}({form or ', '.join('xyzw'[:wanted])}).",
        )  # fmt: skip


# --- casts -----------------------------------------------------------------------------------------------------------


def _type_application(x: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """`ComplexOf[T](x)` and its kin."""
    value: Any = None
    func = node.func
    if isinstance(func, ast.Subscript) and is_dotted(func.value) and is_dotted(func.slice):
        function, argument = static_value(x.source, func.value), static_value(x.source, func.slice)
        if isinstance(function, dtypes.TypeFunction):
            value = TypeApplication(function, argument)
    if value is None:
        raise refusal("not-callable", x.source.span(func), name=ast.unparse(func), what="a value", way=CALLABLE)
    return _cast_call(x, node, env, apply_functions(x.source, func, value))


def _cast_call(x: ExpressionContext, node: ast.Call, env: Env, target: Type) -> Expr:
    count(x, node, 1)
    argument, span = node.args[0], x.source.span(node)
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and target == ir.FLOAT:
        try:
            return weak(float(argument.value), span)  # float("inf"), float("nan")
        except ValueError:
            pass
    variable = static_value(x.source, node.func) if is_dotted(node.func) else None
    if isinstance(variable, TypeVariable) and not x.typing.kinds(ir.Var()) <= variable.kinds:
        raise refusal(
            "operand-kind", span, op=f"{variable.name}()", type=x.describe(ir.Var()), at="",
            way="It stands for the element type. Use T(x), or a dtype such as pymetal.int64(x).",
        )  # fmt: skip
    return cast(x, x.lower(argument, env), x.element(target), span)


def cast(x: ExpressionContext, value: Expr, target: Type, span: Span) -> Expr:
    """A cast that the user wrote: torch's `Tensor.to`, but that a complex number is not made real by accident."""
    kinds, wanted = x.typing.kinds(value.type), x.typing.kinds(target)
    if Kind.COMPLEX in kinds and not wanted <= {Kind.COMPLEX}:
        if wanted == {Kind.BOOL}:
            return x.arithmetic.apply(rows.NE, [value, weak(0, span)], span)
        raise refusal("complex-to-real", span, type=x.describe(target))
    constant = number(value)
    if constant is not None and not isinstance(constant, complex):
        if wanted <= {Kind.FLOATING, Kind.COMPLEX}:
            return Const(constant, target, span)
        if wanted == {Kind.BOOL}:
            return Const(bool(constant), target, span)
        if math.isfinite(constant):
            return Const(int(constant), target, span)
    if constant is not None and wanted <= {Kind.COMPLEX}:
        return Const(constant, target, span)
    return value if x.typing.same(value.type, target) else Cast(target, value, implicit=False, span=span)


# --- compile-time answers --------------------------------------------------------------------------------------------


def _fact(x: ExpressionContext, node: ast.Call, env: Env, fact: Callable[[Kind], bool]) -> Expr:
    """`pymetal.is_integral(T)` and its kin: known for the group of dtypes at hand."""
    count(x, node, 1)
    argument = node.args[0]
    is_outer = is_dotted(argument) and root(argument) not in env and root(argument) not in x.local_names
    value: Any = static_value(x.source, argument) if is_outer else None
    if not isinstance(value, TypeVariable):
        raise refusal("annotation", x.source.span(argument), found=ast.unparse(argument), near="")
    answers = {fact(d.kind) for d in x.typing.domain}
    assert len(answers) == 1, "a group of dtypes has one kind"
    return Const(answers.pop(), ir.BOOL, x.source.span(node))


# --- builtins and special forms --------------------------------------------------------------------------------------


def _arguments(x: ExpressionContext, node: ast.Call, env: Env, wanted: int) -> list[Expr]:
    count(x, node, wanted)
    return [x.lower(a, env) for a in node.args]


def _abs(x: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    return x.arithmetic.apply(rows.ABS, _arguments(x, node, env, 1), x.source.span(node))


def _pow(x: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    base, exponent = _arguments(x, node, env, 2)
    return x.arithmetic.power(base, exponent, x.source.span(node))


def _round(x: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    (value,) = _arguments(x, node, env, 1)
    if number(value) is None and x.typing.kinds(value.type) <= {Kind.SIGNED, Kind.UNSIGNED}:
        return value
    return x.arithmetic.apply(rows.ROUND, [value], x.source.span(node))


def _extreme(op: ir.Op) -> Handler:
    def lower(x: ExpressionContext, node: ast.Call, env: Env) -> Expr:
        if len(node.args) < 2:
            count(x, node, 2)
        result = x.lower(node.args[0], env)
        for argument in node.args[1:]:
            result = x.arithmetic.apply(op, [result, x.lower(argument, env)], x.source.span(node))
        return result

    return lower


def _int(x: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    if len(node.args) == 1:
        constant = number(x.lower(node.args[0], env))
        if constant is not None and not isinstance(constant, complex) and math.isfinite(constant):
            return weak(int(constant), x.source.span(node))
    raise refusal("int-cast", x.source.span(node))


def _complex(x: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    """`complex(re, im)`: the complex type of what the parts meet in."""
    real, imag = _arguments(x, node, env, 2)
    span = x.source.span(node)
    parts = [number(real), number(imag)]
    if all(p is not None and not isinstance(p, complex) for p in parts):
        return weak(complex(*parts), span)  # type: ignore[arg-type]
    joined = x.typing.floating(x.arithmetic.join(real.type, imag.type, span))
    if joined is None or not x.typing.kinds(joined) <= {Kind.FLOATING}:
        raise refusal(
            "operand-kind", span, op="complex", type=x.describe(real.type), at="", way="Its parts are real numbers."
        )
    if dtypes.bfloat16 in x.typing.at(joined):
        raise refusal(
            "operand-kind", span, op="complex", type="bfloat16", at="",
            way="Metal has no complex of bfloat: write complex(float(re), float(im)), or narrow dtypes=.",
        )  # fmt: skip
    target = x.typing.map(joined, dtypes.complex_of)
    assert target is not None
    parts_ = (x.arithmetic.convert(real, joined), x.arithmetic.convert(imag, joined))
    return ir.Call(rows.MAKE_COMPLEX, parts_, target, span)


def _as_type(x: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    count(x, node, 2, "x, pymetal.int32")
    argument, span = node.args[1], x.source.span(node)
    found = type_of_object(static_value(x.source, argument)) if is_dotted(argument) else None
    if found is None:
        raise refusal("annotation", x.source.span(argument), found=ast.unparse(argument), near="")
    value, target = x.lower(node.args[0], env), x.element(found)
    if isinstance(value.type, Weak):
        value = x.arithmetic.convert(value, ir.FLOAT if value.type == ir.WEAK_FLOAT else ir.Concrete(dtypes.int32))
    for source, wanted in zip(x.typing.at(value.type), x.typing.at(target), strict=True):
        if source is None or wanted is None or source.bits != wanted.bits or Kind.BOOL in (source.kind, wanted.kind):
            raise refusal("as-type", span, source=source, target=wanted)
    return value if x.typing.same(value.type, target) else Bits(target, value, span)


def _polevl(x: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    count(x, node, 2, "x, COEFFICIENTS")
    coefficients = x.table(node.args[1], env, inline=True)
    if coefficients is None:
        raise refusal("table", x.source.span(node.args[1]), name=ast.unparse(node.args[1]), what="numbers")
    return x.arithmetic.horner(x.lower(node.args[0], env), coefficients.values, x.source.span(node))


def _len(x: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    count(x, node, 1)
    table = x.table(node.args[0], env, inline=True)
    if table is None:
        raise refusal("table", x.source.span(node.args[0]), name=ast.unparse(node.args[0]), what="numbers")
    return weak(len(table.values), x.source.span(node))


def _misplaced(x: ExpressionContext, node: ast.Call, env: Env) -> Expr:
    name = ast.unparse(node.func)
    way = "Write `q, r = divmod(a, b)`." if name == "divmod" else f"Write `for i in {name}(...)`."
    raise refusal("expression", x.source.span(node), what=f"{name}() here", way=way)


_HANDLERS: tuple[tuple[object, Handler], ...] = (
    (abs, _abs), (pow, _pow), (round, _round), (max, _extreme(rows.MAX)), (min, _extreme(rows.MIN)), (int, _int),
    (complex, _complex), (len, _len), (divmod, _misplaced), (range, _misplaced),
)  # fmt: skip
# Functions of pymetal whose arguments are read as they are written; see `pymetal.intrinsics`.
_BUILTINS: dict[str, Handler] = {"as_type": _as_type, "polevl": _polevl, "static_range": _misplaced}


def _handler(callee: object) -> Handler | None:
    if (name := builtin_name(callee)) is not None:
        return _BUILTINS[name]
    return next((handler for known, handler in _HANDLERS if known is callee), None)


# --- calls of decorated functions ------------------------------------------------------------------------------------


def _invoke(x: ExpressionContext, node: ast.Call, env: Env, name: str, callee: Definition) -> Expr:
    span = x.source.span(node)
    signature = callee.signature
    args = _match(x, node, env, name, signature)
    annotations = [a for _, a in signature.tensors] + [a for _, a, _, _ in signature.scalars]
    # Tensors decide what the element type is; a scalar parameter takes what they decide.
    deciding = [v for v, (_, a) in zip(args, signature.tensors, strict=False) if a.type == ir.Var()]
    bound = _bind(x, deciding, span)
    _check_served(x, bound, callee, name, span)
    converted = []
    for value, annotation in zip(args, annotations, strict=True):
        target = x.arithmetic.substitute(annotation.type, bound)
        joined = x.typing.join(value.type, target)
        if joined is None or not x.typing.same(joined, target):
            raise refusal(
                "argument-type", span, name=name, found=x.describe(value.type), wanted=x.describe(target),
            )  # fmt: skip
        converted.append(x.arithmetic.convert(value, target))
    result = x.typing.map(bound, lambda d: _result(callee, d))
    if result is None:
        raise refusal("no-common-type", span, a=f"the result of {name}", b=x.describe(bound), at="")
    return Invoke(callee.checked, tuple(converted), bound, result, span)


def _match(x: ExpressionContext, node: ast.Call, env: Env, name: str, signature: Signature) -> list[Expr]:
    """The arguments in the order of the parameters, defaults filled in."""
    wanted = len(signature.tensors)
    if len(node.args) != wanted:
        parameters = ", ".join(n for n, _ in signature.tensors)
        raise refusal(
            "argument-count", x.source.span(node), name=name, wanted=wanted, found=len(node.args),
            way=f"It is {name}({parameters}).",
        )  # fmt: skip
    given = {}
    known = {n for n, _, _, _ in signature.scalars}
    for keyword in node.keywords:
        if keyword.arg not in known:
            way = f"Pass {keyword.arg!r} by position." if keyword.arg else "Write them one by one."
            raise refusal("keyword-argument", x.source.span(keyword), name=name, way=way)
        given[keyword.arg] = x.lower(keyword.value, env)
    args = [x.lower(a, env) for a in node.args]
    for scalar, _, default, _ in signature.scalars:
        if scalar not in given and default is None:
            raise refusal(
                "argument-count", x.source.span(node), name=name, wanted=f"the scalar {scalar!r} and {wanted}",
                found=len(node.args), way=f"Pass {scalar}=...",
            )  # fmt: skip
        args.append(given[scalar] if scalar in given else weak(default, x.source.span(node)))  # type: ignore[arg-type]
    return args


def _bind(x: ExpressionContext, deciding: list[Expr], span: Span) -> Type:
    """What the callee's element type is, by the arguments that stand for it."""
    if not deciding:
        return ir.FLOAT
    bound = x.arithmetic.join_all(deciding, span)
    if isinstance(bound, Weak):
        resolved = ir.resolved(bound, x.typing.domain[0])
        return ir.Concrete(resolved)
    return bound


def _check_served(x: ExpressionContext, bound: Type, callee: Definition, name: str, span: Span) -> None:
    for dtype in x.typing.at(bound):
        assert dtype is not None
        if callee.checked.overload(dtype) is None:
            failure = callee.failures.get(dtype)
            served = ", ".join(str(d) for d in callee.checked.domain)
            raise refusal(
                "callee-dtype", span, name=name, dtype=dtype, reason=f": {failure.message}" if failure else "",
                served=served,
            )  # fmt: skip


def _result(callee: Definition, dtype: dtypes.DType) -> dtypes.DType | None:
    overload = callee.checked.overload(dtype)
    return None if overload is None else ir.resolve(overload.function.result, dtype)
