"""Verification of a lowered function at one dtype: its operators take the operands, and its constants fit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pymetal import dtypes, ir
from pymetal.dtypes import DType, Kind
from pymetal.frontend.annotations import Signature
from pymetal.frontend.arithmetic import PythonNumber, is_finite_integer
from pymetal.frontend.refusals import refusal
from pymetal.frontend.source import Source
from pymetal.frontend.ways_out import for_number, for_operand
from pymetal.ir import Assign, Bits, Call, Cast, Const, Element, Function, Invoke, Let, Name, Select

# Arithmetic in which a Python number that its dtype cannot hold wraps. Not counts of shifts and exponents.
_WRAPPING = frozenset({"+", "-", "*", "//", "%", "&", "|", "^"})
_MAX_DEPTH = 200  # of nested expressions: later stages recurse into them
_BEYOND_DOUBLES = 1 << 1024  # an integer of this size does not fit a Python float


def verify(source: Source, function: Function, element: DType, admitted: frozenset[Kind]) -> None:
    """Checks every operator and constant of `function` at one dtype; its annotation admits the kinds of `admitted`.

    Raises:
        FunctorTypeError: an operator does not take operands of that dtype, or a constant does not fit it.
    """
    whole = source.span(source.node)  # the place of what has none of its own
    for stmt in ir.statements(function.body):
        if any(ir.depth(expr) > _MAX_DEPTH for expr in ir.own_expressions(stmt)):
            place = getattr(stmt, "span", None) or whole
            raise refusal("too-deep", place, functor=source.node.name, what="nested too deeply")
    # Numbers that wrap, and whether they are divisors: operands, and what variables of the element type start with.
    wrapping = {
        id(a): e.op.divides for e in ir.expressions(function.body) if isinstance(e, Call) and e.op.symbol in _WRAPPING
        for a in e.args
    }  # fmt: skip
    for stmt in ir.statements(function.body):
        if isinstance(stmt, Let | Assign) and isinstance(stmt.value, Const) and stmt.value.type == ir.Var():
            wrapping[id(stmt.value)] = False
    for expr in ir.expressions(function.body):
        match expr:
            case Call(op, args, _, span):
                first = next(a for a, p in zip(args, op.params or (None,) * len(args), strict=True) if p is None)
                operand = ir.resolve(first.type, element)
                if operand is None or operand.kind not in op.kinds:
                    at = "" if operand is element else f" (at element type {element.torch})"
                    hint = for_operand(source, op, operand, operand is element, admitted)
                    raise refusal("operand-kind", span, op=op.display, type=operand, at=at, hint=hint)
            case Const(value, type_, span):
                dtype = ir.resolve(type_, element)
                if dtype is not None and not fits(value, dtype) and not _wraps(value, dtype, wrapping.get(id(expr))):
                    hint = _fit_hint(source, value, type_)
                    raise refusal("does-not-fit", span or whole, value=format_number(value), dtype=dtype, hint=hint)
            case Cast(type_, Const(float() as value), span=span) if not math.isfinite(value):
                dtype = ir.resolve(type_, element)
                if dtype is not None and dtype.kind in (Kind.SIGNED, Kind.UNSIGNED):
                    hint = _fit_hint(source, value, type_)
                    raise refusal("does-not-fit", span or whole, value=value, dtype=dtype, hint=hint)
            case Name() | Cast() | Select() | Bits() | Element() | Invoke():
                pass


def check_scalars(source: Source, signature: Signature, domain: Sequence[DType]) -> None:
    """Checks the scalar parameters of a body that serves `domain`.

    Raises:
        FunctorTypeError: a default fits its type at no dtype, or a type variable does not admit the element type.
    """
    first, element = signature.tensors[0]
    for scalar in signature.scalars:
        annotation, default = scalar.annotation, scalar.default
        if annotation.variable is not None and not {d.kind for d in domain} <= annotation.variable.kinds:
            raise source.refusal(
                "mixed-elements", scalar.node, name=scalar.name, found=annotation.text, first=first,
                wanted=element.text,
            )  # fmt: skip
        types = [t for d in domain if (t := ir.resolve(annotation.type, d)) is not None]
        if default is not None and types and not any(_takes_scalar(t, default) for t in types):
            value, hint = format_number(default), "Give it a default of its type, or none."
            raise source.refusal("does-not-fit", scalar.node, value=value, dtype=types[0], hint=hint)


def _takes_scalar(dtype: DType, value: PythonNumber) -> bool:
    return fits(value, dtype) and (not isinstance(value, complex) or dtype.kind is Kind.COMPLEX)


def fits(value: PythonNumber, dtype: DType) -> bool:
    """True if a constant can be written as `dtype`: integers exactly, floats by rounding."""
    if dtype.kind not in (Kind.SIGNED, Kind.UNSIGNED):
        return not isinstance(value, int) or abs(value) < _BEYOND_DOUBLES
    if not is_finite_integer(value):
        return False
    assert not isinstance(value, complex)
    low, high = dtype.limits
    return low <= int(value) <= high


def _wraps(value: PythonNumber, dtype: DType, divides: bool | None) -> bool:
    """True for a number that is taken modulo 2**bits where it does not fit, as torch does; None: nothing wraps here."""
    if divides is None or not isinstance(value, int) or not -(1 << 63) <= value < 1 << 64:
        return False
    return not divides or dtypes.wrap(value, dtype.torch) != 0


def format_number(value: PythonNumber) -> str:
    """A number for a message: Python does not print integers of thousands of digits."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length():,} bits"
    return repr(value)


def _fit_hint(source: Source, value: PythonNumber, type_: ir.Type) -> str:
    """What to write in place of a constant that does not fit the dtype of `type_`."""
    wide = (dtypes.int32, dtypes.int64, dtypes.uint64)
    return for_number(source, value, type_, [d for d in wide if isinstance(value, int) and fits(value, d)])
