"""A `Source` becomes a `Checked` functor: lowered for each group of dtypes, merged where the groups agree, verified."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

from pymetal import dtypes, ir
from pymetal.arity import Arity
from pymetal.dtypes import DType, Kind
from pymetal.frontend.annotations import Signature, parse_signature
from pymetal.frontend.expressions import Expressions
from pymetal.frontend.lower import lower
from pymetal.frontend.refusals import refusal
from pymetal.frontend.source import Source
from pymetal.frontend.typing import Typing
from pymetal.ir import Call, Cast, Checked, Const, Function, Name, Overload, Select
from pymetal.promotion import Promotion

# What a type variable stands for when `dtypes=` is not given. Complex types are asked for by name: `Complex`, or
# `dtypes="complex"`; the wide unsigned ones too.
_DEFAULT = tuple(d for words in ("floating", "integral", "bool") for d in dtypes.WORDS[words])


def check(
    source: Source, arity: Arity, promotion: Promotion, opmath: bool, wanted: tuple[DType, ...] | None,
    keyword_defaults: dict[str, Any],
) -> tuple[Signature, Checked]:  # fmt: skip
    """The functor that `source` defines, typed and verified at every dtype.

    Args:
        wanted: the dtypes of `dtypes=`; None for those that the annotation admits.
        opmath: compute half and bfloat at float precision.

    Raises:
        PyMetalError: the text cannot become Metal, or does not type-check; the message has the place.
    """
    signature = parse_signature(source, arity, keyword_defaults)
    domain = element_domain(source, signature, wanted)
    inside = opmath and not arity.widens(bool(signature.scalars))
    overloads: list[Overload] = []
    for kind, group in _groups(domain):
        body, result = promotion.body_type(kind), promotion.result_type(kind)
        _check_result(source, signature, promotion, group, body, result)
        if inside and body == ir.Var() and kind in (Kind.FLOATING, Kind.COMPLEX):
            body = ir.OpMath(ir.Var())
        function = lower(source, signature, group, body, result)
        for dtype in group:
            verify(source, function, dtype)
        _merge(overloads, group, function)
    return signature, Checked(source.node.name, docstring(source), tuple(overloads))


def element_domain(source: Source, signature: Signature, wanted: tuple[DType, ...] | None) -> tuple[DType, ...]:
    """The dtypes a functor is registered for, in registration order."""
    element = signature.element
    if element.variable is not None:
        kinds = element.variable.kinds
        admitted = wanted if wanted is not None else dtypes.ordered((*_DEFAULT, *_only_complex(kinds)))
        domain = tuple(d for d in admitted if d.kind in kinds)
    else:
        assert isinstance(element.type, ir.Concrete)
        domain = tuple(d for d in (element.type.dtype,) if wanted is None or d in wanted)
    if not domain:
        names = ", ".join(d.name for d in wanted or ())
        raise refusal("no-dtypes", source.span(source.node), annotation=element.text, dtypes=names)
    return domain


def _only_complex(kinds: frozenset[Kind]) -> tuple[DType, ...]:
    return dtypes.WORDS["complex"] if kinds == {Kind.COMPLEX} else ()


def _groups(domain: tuple[DType, ...]) -> Iterator[tuple[Kind, tuple[DType, ...]]]:
    """The dtypes of each kind: within one, every compile-time fact is the same."""
    for kind in dict.fromkeys(d.kind for d in domain):
        yield kind, tuple(d for d in domain if d.kind is kind)


def _merge(overloads: list[Overload], group: tuple[DType, ...], function: Function) -> None:
    for index, overload in enumerate(overloads):
        if overload.function == function:
            overloads[index] = Overload(dtypes.ordered((*overload.domain, *group)), function)
            return
    overloads.append(Overload(group, function))


def _check_result(
    source: Source, signature: Signature, promotion: Promotion, group: tuple[DType, ...], body: ir.Type, result: ir.Type
) -> None:
    typing = Typing(group)
    declared = Expressions(source, typing, body).element(signature.result.type)
    if not typing.same(declared, result):
        if declared == ir.BOOL:
            way = 'promotion="always_bool"'
        else:
            way = "`-> bool`" if result == ir.BOOL else "`-> RealOf[T]`" if isinstance(result, ir.RealOf) else "`-> T`"
        raise refusal(
            "result-type", source.span(signature.result_node), promotion=promotion.name,
            wanted=_names(typing, result), found=f"{signature.result.text} ({_names(typing, declared)})",
            at=f" for {', '.join(str(d) for d in group)}", way=way,
        )  # fmt: skip


def _names(typing: Typing, type_: ir.Type) -> str:
    return ", ".join(dict.fromkeys(str(d) for d in typing.at(type_)))


def verify(source: Source, function: Function, element: DType) -> None:
    """Checks every operator and constant of `function` at one dtype.

    Raises:
        FunctorTypeError: an operator does not take operands of that dtype, or a constant does not fit it.
    """
    for expr in ir.expressions(function.body):
        match expr:
            case Call(op, args, _, span):
                operand = ir.resolve(args[0].type, element)
                if operand is None or operand.kind not in op.kinds:
                    kinds = ", ".join(sorted(k.value for k in op.kinds))
                    raise refusal(
                        "operand-kind", span, op=op.name, type=operand, at=f" (at element type {element})",
                        way=f"It takes {kinds} operands. Narrow dtypes=, or convert the operand.",
                    )  # fmt: skip
            case Const(value, type_, span):
                dtype = ir.resolve(type_, element)
                if dtype is not None and not fits(value, dtype):
                    where = f"{dtype} (at element type {element})" if dtype == element else str(dtype)
                    raise refusal("does-not-fit", span or source.span(source.node), value=value, dtype=where)
            case Name() | Cast() | Select():
                pass


def fits(value: bool | int | float | complex, dtype: DType) -> bool:
    """True if a constant can be written as `dtype`: integers exactly, floats by rounding."""
    if dtype.kind not in (Kind.SIGNED, Kind.UNSIGNED):
        return True
    if isinstance(value, complex) or (isinstance(value, float) and not (math.isfinite(value) and value.is_integer())):
        return False
    low = -(1 << (dtype.bits - 1)) if dtype.kind is Kind.SIGNED else 0
    high = (1 << (dtype.bits - (dtype.kind is Kind.SIGNED))) - 1
    return low <= int(value) <= high


def docstring(source: Source) -> str:
    """The functor's docstring, cleaned, or the empty string."""
    return ast.get_docstring(source.node) or ""
