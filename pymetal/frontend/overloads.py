"""Overloads: the bodies of a functor or helper, lowered for each group of dtypes, merged where the groups agree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pymetal import dtypes, ir
from pymetal.dtypes import DType, Kind
from pymetal.errors import PyMetalError
from pymetal.frontend.annotations import Definition, Signature
from pymetal.frontend.lower import lower
from pymetal.frontend.plain_functions import specializations
from pymetal.frontend.source import Source
from pymetal.frontend.typing import SplitGroup, Typing, body_type, result_type
from pymetal.frontend.verify import check_scalars, verify
from pymetal.frontend.ways_out import decorated, spelled
from pymetal.ir import CheckedFunction, Const, Function, Overload
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

    @property
    def is_predicate(self) -> bool:
        """True if the result is bool whatever the operands are."""
        return self.signature.result.type == ir.BOOL != self.signature.element.type and not self.signature.results

    def admits(self, dtype: DType) -> bool:
        """True if the annotation admits `dtype`."""
        element = self.signature.element
        return dtype.kind in self.kinds if element.variable is not None else element.type == ir.Concrete(dtype)

    def domain(self, wanted: tuple[DType, ...] | None) -> tuple[DType, ...]:
        """The dtypes that this body serves: those of `dtypes=` that it admits, or the default ones."""
        if wanted is not None:
            return tuple(d for d in wanted if self.admits(d))
        element = self.signature.element
        if element.variable is None:
            return tuple(d for d in dtypes.ALL if self.admits(d))
        default = (*_DEFAULT, *(dtypes.WORDS["complex"] if self.kinds == {Kind.COMPLEX} else ()))
        return tuple(d for d in dtypes.ordered(default) if self.admits(d))


Failures = dict[DType, PyMetalError]


def check_functor(
    bodies: Sequence[Body], promotion: Promotion, wanted: tuple[DType, ...] | None, opmath: bool
) -> tuple[CheckedFunction, Failures]:
    """A functor, typed and verified at every dtype for which it has a meaning, and why it has none at the others.

    Args:
        bodies: the decorated function, then its overloads.
        wanted: the dtypes of `dtypes=`, all of which it must serve; None for those that the annotations admit.
        opmath: half and bfloat are computed in float inside the functor.

    Raises:
        PyMetalError: the text cannot become Metal, or type-checks at no dtype; the message has the place.
    """
    domain = dtypes.ordered(d for b in bodies for d in b.domain(wanted))
    for body in bodies:
        if not body.domain(wanted):
            names, annotation = dtypes.listed(wanted or ()), body.signature.element.text
            raise body.source.refusal("no-dtypes", body.source.node, annotation=annotation, dtypes=names)

    def lower_group(body: Body, group: tuple[DType, ...]) -> Function:
        kind = group[0].kind
        # A dtype as annotation is meant as it is; a type variable is promoted by the promotion kind.
        inside = body_type(promotion, kind) if body.signature.element.variable is not None else ir.Var()
        result = _result_type(body, promotion, kind, group, inside)
        if opmath and inside == ir.Var() and kind in (Kind.FLOATING, Kind.COMPLEX):
            inside = ir.OpMath(ir.Var())
        return _lower_verified(body, group, inside, result)

    overloads, failures = _lower_all(bodies, domain, lower_group)
    if wanted is not None and failures:
        error, served = next(iter(failures.values())), [d for d in domain if d not in failures]
        line = decorated(bodies[0].source, dtypes=spelled(served))
        if line and f"`{line}`" not in (error.hint or ""):
            error.hint = f"{error.hint} Or leave {dtypes.listed(failures)} out: `{line}`."
        raise error
    for body in bodies:
        check_scalars(body.source, body.signature, body.domain(wanted))
    return _checked_function(bodies, overloads), failures


def check_helper(bodies: Sequence[Body]) -> tuple[CheckedFunction, Failures]:
    """A helper function, for all dtypes at which it type-checks, and why it does not at the others.

    Raises:
        PyMetalError: it type-checks nowhere.
    """
    domain = dtypes.ordered(d for b in bodies for d in dtypes.ALL if b.admits(d))
    overloads, failures = _lower_all(
        bodies, domain, lambda body, group: _lower_verified(body, group, ir.Var(), body.signature.result.type)
    )
    return _checked_function(bodies, overloads, helper=True), failures


Lower = Callable[[Body, tuple[DType, ...]], Function]


def _lower_all(
    bodies: Sequence[Body], domain: tuple[DType, ...], lower_group: Lower
) -> tuple[list[Overload], Failures]:
    """The overloads of `bodies`, and the dtypes of `domain` that they leave out.

    Raises:
        PyMetalError: a body is refused whatever the dtype, or at all of its dtypes.
    """
    overloads: list[Overload] = []
    failures: Failures = {}
    served: set[Body] = set()
    with _limited_depth(bodies), specializations():
        for body, group in _groups(bodies, domain):
            for part, function in _lower_parts(body, group, lower_group, failures):
                _merge(overloads, part, function)
                served.add(body)
    for body in bodies:
        errors = [e for d, e in failures.items() if body not in served and _choose(bodies, d) is body]
        if errors:
            raise errors[0]
    return overloads, {d: failures[d] for d in domain if d in failures}


def _lower_parts(
    body: Body, group: tuple[DType, ...], lower_group: Lower, failures: Failures
) -> Iterator[tuple[tuple[DType, ...], Function]]:
    """The body for `group`, or for the parts of it that need bodies of their own.

    `failures` gets the dtypes that are left out.
    """
    try:
        yield group, lower_group(body, group)
    except SplitGroup as split:
        for part in split.parts:
            yield from _lower_parts(body, part, lower_group, failures)
    except PyMetalError as error:
        if not error.by_dtype:
            raise
        if len(group) == 1:
            failures[group[0]] = error
            return
        rest = [d for d in group for _ in _lower_parts(body, (d,), lower_group, failures)]
        if rest and len(rest) < len(group):
            yield from _lower_parts(body, tuple(rest), lower_group, failures)
        elif not rest:  # the refusal that names all of them
            failures.update(dict.fromkeys(group, error))
        else:  # each has a meaning, but they have no common text
            for dtype in group:
                yield from _lower_parts(body, (dtype,), lower_group, failures)


def _checked_function(bodies: Sequence[Body], overloads: list[Overload], helper: bool = False) -> CheckedFunction:
    node = bodies[0].source.node
    return CheckedFunction(node.name, ast.get_docstring(node) or "", tuple(overloads), helper)


@contextmanager
def _limited_depth(bodies: Sequence[Body]) -> Iterator[None]:
    """Refuses a body whose expressions are nested deeper than Python's recursion limit allows."""
    try:
        yield
    except RecursionError:
        source = bodies[-1].source
        what = "nested too deeply"
        raise source.refusal("too-deep", source.node, functor=source.node.name, what=what) from None


def _define(source: Source, signature: Signature) -> Definition:
    """A plain function that a body calls, as a helper."""
    checked, failures = check_helper([Body(source, signature)])
    return Definition(signature, checked, failures)


def _lower_verified(body: Body, group: tuple[DType, ...], inside: ir.Type, result: ir.Type) -> Function:
    function = lower(body.source, body.signature, group, inside, result, _define)
    for dtype in group:
        verify(body.source, function, dtype, body.kinds)
    return function


def _groups(bodies: Sequence[Body], domain: tuple[DType, ...]) -> Iterator[tuple[Body, tuple[DType, ...]]]:
    """The dtypes of each kind and body: within a group, every compile-time fact is the same."""
    chosen = {d: _choose(bodies, d) for d in domain}
    for kind in dict.fromkeys(d.kind for d in domain):
        for body in dict.fromkeys(chosen[d] for d in domain if d.kind is kind):
            yield body, tuple(d for d in domain if d.kind is kind and chosen[d] is body)


def _choose(bodies: Sequence[Body], dtype: DType) -> Body:
    """The body that serves `dtype`: of those that admit it, the one that admits least."""
    admitted = [(b, frozenset(d for d in dtypes.ALL if b.admits(d))) for b in bodies if b.admits(dtype)]
    narrowest, least = min(admitted, key=lambda pair: len(pair[1]))
    for other, others in admitted:
        if other is not narrowest and not least < others:
            first, second = sorted((narrowest, other), key=bodies.index)
            place = str(first.source.span(first.source.node))
            raise second.source.refusal("overlap", second.source.node, dtype=dtype, other=place)
    return narrowest


def _merge(overloads: list[Overload], group: tuple[DType, ...], function: Function) -> None:
    function = ir.remove_dead_code(function)  # after it is verified: dead code is checked too
    for index, overload in enumerate(overloads):
        if overload.function == function and _has_same_text(function, (*overload.domain, *group)):
            overloads[index] = Overload(dtypes.ordered((*overload.domain, *group)), function)
            return
    overloads.append(Overload(group, function))


def _has_same_text(function: Function, domain: tuple[DType, ...]) -> bool:
    """False where one text cannot serve all: a number is `T(3)` for a real type, and `T(3, 0)` for a complex one."""
    if len({d.kind is Kind.COMPLEX for d in domain}) == 1:
        return True
    constants = (e for e in ir.expressions(function.body) if isinstance(e, Const))
    return not any(ir.resolve(c.type, d) != ir.resolve(c.type, domain[0]) for c in constants for d in domain)


def _result_type(body: Body, promotion: Promotion, kind: Kind, group: tuple[DType, ...], inside: ir.Type) -> ir.Type:
    """The result type of a functor: that of its promotion kind, which the annotation must agree with.

    Under the default kinds the annotation decides: `-> ComplexOf[T]` makes a complex number of two real ones.
    """
    typing, annotation = Typing(group), body.signature.result
    declared, wanted = typing.substitute(annotation.type, inside), result_type(promotion, kind)
    if typing.same(declared, wanted):
        return wanted
    if None in typing.at(declared):
        found, hint = f"{annotation.text}, which does not exist", "narrow dtypes="
    elif promotion.annotated and (declared != ir.BOOL or body.signature.results):
        return declared
    else:
        found, hint = f"{annotation.text} ({typing.dtype_names(declared)})", "`-> T`"
        if declared == ir.BOOL:
            hint = 'promotion="always_bool"'
        elif wanted == ir.BOOL:
            hint = "`-> bool`"
        elif isinstance(wanted, ir.RealOf):
            hint = "`-> RealOf[T]`"
    error = body.source.refusal(
        "result-type", body.signature.result_node, promotion=promotion.name, wanted=typing.dtype_names(wanted),
        found=found, at=f" for {dtypes.listed(group)}", hint=hint,
    )  # fmt: skip
    error.by_dtype = None in typing.at(declared)
    raise error
