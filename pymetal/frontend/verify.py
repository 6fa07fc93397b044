"""Bodies become a `CheckedFunction`: lowered for each group of dtypes, merged where the groups agree, verified."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pymetal import dtypes, ir
from pymetal.dtypes import DType, Kind
from pymetal.errors import PyMetalError, Span
from pymetal.frontend.annotations import Signature
from pymetal.frontend.arithmetic import is_finite_integer
from pymetal.frontend.expressions import Expressions
from pymetal.frontend.lower import lower
from pymetal.frontend.refusals import refusal
from pymetal.frontend.source import Source
from pymetal.frontend.typing import Typing, body_type, result_type
from pymetal.ir import Bits, Call, Cast, CheckedFunction, Const, Element, Function, Invoke, Name, Overload, Select
from pymetal.promotion import Promotion

# What a type variable stands for when `dtypes=` is not given. Complex types are asked for by name: `Complex`, or
# `dtypes="complex"`; the wide unsigned ones too.
_DEFAULT = tuple(d for words in ("floating", "integral", "bool") for d in dtypes.WORDS[words])


@dataclass(frozen=True)
class Body:
    """One definition of a functor or helper: the decorated function, or one of its overloads."""

    source: Source
    signature: Signature

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds that the annotation admits."""
        element = self.signature.element
        if element.variable is not None:
            return element.variable.kinds
        assert isinstance(element.type, ir.Concrete)
        return frozenset({element.type.dtype.kind})

    def admits(self, dtype: DType) -> bool:
        """True if the annotation admits `dtype`."""
        element = self.signature.element
        return dtype.kind in self.kinds if element.variable is not None else element.type == ir.Concrete(dtype)

    def domain(self, wanted: tuple[DType, ...] | None) -> tuple[DType, ...]:
        """The dtypes that this body stands for: those of `dtypes=` that it admits, or else the usual ones."""
        if wanted is not None:
            return tuple(d for d in wanted if self.admits(d))
        element = self.signature.element
        if element.variable is None:
            return tuple(d for d in dtypes.ALL if self.admits(d))
        usual = (*_DEFAULT, *(dtypes.WORDS["complex"] if self.kinds == {Kind.COMPLEX} else ()))
        return tuple(d for d in dtypes.ordered(usual) if self.admits(d))


def check_functor(
    bodies: Sequence[Body], promotion: Promotion, wanted: tuple[DType, ...] | None, widen: bool
) -> CheckedFunction:
    """A functor, typed and verified at every dtype.

    Args:
        bodies: the decorated function, then its overloads.
        wanted: the dtypes of `dtypes=`; None for those that the annotations admit.
        widen: half and bfloat are computed in float inside the functor.

    Raises:
        PyMetalError: the text cannot become Metal, or does not type-check; the message has the place.
    """
    domain = dtypes.ordered(d for b in bodies for d in b.domain(wanted))
    first = bodies[0]
    for body in bodies:
        if not body.domain(wanted):
            names = ", ".join(d.name for d in wanted or ())
            annotation = body.signature.element.text
            raise refusal("no-dtypes", body.source.span(body.source.node), annotation=annotation, dtypes=names)
    overloads: list[Overload] = []
    for body, kind, group in _groups(bodies, domain):
        # A dtype that is named is meant as it is; a type variable is read as the promotion kind has it.
        inside = body_type(promotion, kind) if body.signature.element.variable is not None else ir.Var()
        result = _result(body, promotion, kind, group, inside)
        if widen and inside == ir.Var() and kind in (Kind.FLOATING, Kind.COMPLEX):
            inside = ir.OpMath(ir.Var())
        function = lower(body.source, body.signature, group, inside, result)
        for dtype in group:
            verify(body.source, function, dtype)
        _merge(overloads, group, function)
    return CheckedFunction(first.source.node.name, docstring(first.source), tuple(overloads))


def check_helper(bodies: Sequence[Body]) -> tuple[CheckedFunction, dict[DType, PyMetalError]]:
    """A helper function, for all dtypes at which it type-checks, and why it does not at the others.

    Raises:
        PyMetalError: it type-checks nowhere.
    """
    overloads: list[Overload] = []
    failures: dict[DType, PyMetalError] = {}
    domain = dtypes.ordered(d for b in bodies for d in dtypes.ALL if b.admits(d))
    for body, _, group in _groups(bodies, domain):
        function = _helper(body, group, failures)
        if function is None:  # perhaps at some of them
            group = tuple(d for d in group if _helper(body, (d,), failures) is not None)
            function = _helper(body, group, failures) if group else None
        if function is not None:
            _merge(overloads, group, function)
    if not overloads:
        raise next(iter(failures.values()))
    name = bodies[0].source.node.name
    return CheckedFunction(name, docstring(bodies[0].source), tuple(overloads), helper=True), failures


def _helper(body: Body, group: tuple[DType, ...], failures: dict[DType, PyMetalError]) -> Function | None:
    """A helper's body for `group`, or None, and in `failures` why it does not type-check."""
    try:
        function = lower(body.source, body.signature, group, ir.Var(), body.signature.result.type)
        for dtype in group:
            verify(body.source, function, dtype)
    except PyMetalError as error:
        failures.update(dict.fromkeys(group, error))
        return None
    for dtype in group:
        failures.pop(dtype, None)
    return function


def _groups(bodies: Sequence[Body], domain: tuple[DType, ...]) -> Iterator[tuple[Body, Kind, tuple[DType, ...]]]:
    """The dtypes of each kind and body: within a group, every compile-time fact is the same."""
    chosen = {d: _choose(bodies, d) for d in domain}
    for kind in dict.fromkeys(d.kind for d in domain):
        of_kind = [d for d in domain if d.kind is kind]
        for body in dict.fromkeys(chosen[d] for d in of_kind):
            yield body, kind, tuple(d for d in of_kind if chosen[d] is body)


def _choose(bodies: Sequence[Body], dtype: DType) -> Body:
    """The body that serves `dtype`: of those that admit it, the one that admits least."""
    able = [b for b in bodies if b.admits(dtype)]
    sets = {id(b): frozenset(d for d in dtypes.ALL if b.admits(d)) for b in able}
    best = min(able, key=lambda b: len(sets[id(b)]))
    for other in able:
        if other is not best and not sets[id(best)] < sets[id(other)]:
            late, early = sorted((best, other), key=bodies.index, reverse=True)
            place = str(early.source.span(early.source.node))
            raise refusal("overlap", late.source.span(late.source.node), dtype=dtype, other=place)
    return best


def _merge(overloads: list[Overload], group: tuple[DType, ...], function: Function) -> None:
    function = ir.remove_dead_code(function)  # after it is verified: dead code is checked too
    for index, overload in enumerate(overloads):
        if overload.function == function and _prints_alike(function, (*overload.domain, *group)):
            overloads[index] = Overload(dtypes.ordered((*overload.domain, *group)), function)
            return
    overloads.append(Overload(group, function))


def _prints_alike(function: Function, domain: tuple[DType, ...]) -> bool:
    """False where one text cannot serve all: a number is `T(3)` for a real type, and `T(3, 0)` for a complex one."""
    if len({d.kind is Kind.COMPLEX for d in domain}) == 1:
        return True
    constants = (e for e in ir.expressions(function.body) if isinstance(e, Const))
    return not any(ir.resolve(c.type, d) != ir.resolve(c.type, domain[0]) for c in constants for d in domain)


def _result(body: Body, promotion: Promotion, kind: Kind, group: tuple[DType, ...], inside: ir.Type) -> ir.Type:
    """The type that a functor returns: what its promotion kind says, which the annotation must agree with.

    Under the default kinds the annotation decides: `-> ComplexOf[T]` makes a complex number of two real ones.
    """
    typing = Typing(group)
    declared = Expressions(body.source, typing, inside).element(body.signature.result.type)
    wanted = result_type(promotion, kind)
    if typing.same(declared, wanted):
        return wanted
    node = body.signature.result_node
    if None in typing.at(declared):
        raise refusal(
            "result-type", body.source.span(node), promotion=promotion.name, wanted=_names(typing, wanted),
            found=f"{body.signature.result.text}, which does not exist", at=f" for {_list(group)}",
            way="narrow dtypes=",
        )  # fmt: skip
    if promotion.annotated and declared != ir.BOOL:
        return declared
    if declared == ir.BOOL:
        way = 'promotion="always_bool"'
    else:
        way = "`-> bool`" if wanted == ir.BOOL else "`-> RealOf[T]`" if isinstance(wanted, ir.RealOf) else "`-> T`"
    raise refusal(
        "result-type", body.source.span(node), promotion=promotion.name, wanted=_names(typing, wanted),
        found=f"{body.signature.result.text} ({_names(typing, declared)})", at=f" for {_list(group)}", way=way,
    )  # fmt: skip


def _names(typing: Typing, type_: ir.Type) -> str:
    return ", ".join(dict.fromkeys(str(d) for d in typing.at(type_)))


def shown(value: bool | int | float | complex) -> str:
    """A number in a message: Python does not print integers of thousands of digits."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length():,} bits"
    return repr(value)


def _way(value: bool | int | float | complex, type_: ir.Type) -> str:
    if type_ in (ir.Concrete(dtypes.int32), ir.WEAK_INT) and fits(value, dtypes.int64):
        return f"A variable of Python integers alone is an int32: write pymetal.int64({value})."
    return "Narrow dtypes=, or convert the other operand first."


def _kinds(op: ir.Op) -> str:
    rows = (op, *op.overloads)
    kinds = frozenset[Kind]().union(*(r.kinds for r in rows))
    integers = frozenset({Kind.SIGNED, Kind.UNSIGNED})
    words = sorted({"integer" if k in integers and integers <= kinds else k.value for k in kinds})
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _list(group: tuple[DType, ...]) -> str:
    return ", ".join(str(d) for d in group)


def verify(source: Source, function: Function, element: DType) -> None:
    """Checks every operator and constant of `function` at one dtype.

    Raises:
        FunctorTypeError: an operator does not take operands of that dtype, or a constant does not fit it.
    """
    for stmt in ir.statements(function.body):
        if any(ir.depth(expr) > _MAX_DEPTH for expr in ir.own_expressions(stmt)):
            raise refusal("too-deep", stmt_span(source, stmt), functor=source.node.name, what="nested too deeply")
    for expr in ir.expressions(function.body):
        match expr:
            case Call(op, args, _, span):
                fixed = op.params or (None,) * len(args)
                deciding = [a for a, p in zip(args, fixed, strict=True) if p is None]
                operand = ir.resolve(deciding[0].type, element)
                if operand is None or operand.kind not in op.kinds:
                    at = "" if operand is element else f" (at element type {element})"
                    raise refusal(
                        "operand-kind", span, op=op.display, type=operand, at=at,
                        way=f"It takes {_kinds(op)} operands. Narrow dtypes=, or convert the operand.",
                    )  # fmt: skip
            case Const(value, type_, span):
                dtype = ir.resolve(type_, element)
                if dtype is not None and not fits(value, dtype):
                    place = span or source.span(source.node)
                    raise refusal("does-not-fit", place, value=shown(value), dtype=dtype, way=_way(value, type_))
            case Cast(type_, Const(float() as value), span=span) if not math.isfinite(value):
                dtype = ir.resolve(type_, element)
                if dtype is not None and dtype.kind in (Kind.SIGNED, Kind.UNSIGNED):
                    place = span or source.span(source.node)
                    raise refusal("does-not-fit", place, value=value, dtype=dtype, way=_way(value, type_))
            case Name() | Cast() | Select() | Bits() | Element() | Invoke():
                pass


_MAX_DEPTH = 200  # of expressions inside one another: walkers recurse
_BEYOND_DOUBLES = 1 << 1024  # Python cannot make a float of such an integer


def stmt_span(source: Source, stmt: ir.Stmt) -> Span:
    """The place of a statement, or of the function if it has none of its own."""
    return getattr(stmt, "span", None) or source.span(source.node)


def fits(value: bool | int | float | complex, dtype: DType) -> bool:
    """True if a constant can be written as `dtype`: integers exactly, floats by rounding."""
    if dtype.kind not in (Kind.SIGNED, Kind.UNSIGNED):
        return not isinstance(value, int) or abs(value) < _BEYOND_DOUBLES
    if not is_finite_integer(value):
        return False
    assert not isinstance(value, complex)
    low = -(1 << (dtype.bits - 1)) if dtype.kind is Kind.SIGNED else 0
    high = (1 << (dtype.bits - (dtype.kind is Kind.SIGNED))) - 1
    return low <= int(value) <= high


def docstring(source: Source) -> str:
    """The function's docstring, cleaned, or the empty string."""
    return ast.get_docstring(source.node) or ""


def too_deep(body: Body) -> PyMetalError:
    """The error for a body whose expressions nest deeper than Python's recursion goes."""
    functor = body.source.node.name
    return refusal("too-deep", body.source.span(body.source.node), functor=functor, what="nested too deeply")
