"""Signatures: the annotated parameters and result of a functor or helper, as types."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, get_origin

import torch

from pymetal import dtypes, ir
from pymetal.arity import ARITIES, Arity
from pymetal.dtypes import DType, TypeApplication, TypeFunction, TypeVariable, python_number
from pymetal.errors import PyMetalError, nearest, plural
from pymetal.frontend.names import is_dotted, static_value
from pymetal.frontend.source import Source
from pymetal.ir import CheckedFunction

_FUNCTIONS: dict[str, Any] = {"ComplexOf": ir.ComplexOf, "RealOf": ir.RealOf, "OpMath": ir.OpMath}
_VARIABLES = ("T", "Real", "Floating", "Integral", "Signed", "Unsigned", "Complex")
MAX_RESULTS = 8
_KNOWN = (*_VARIABLES, "bool", "float", *dtypes.BY_NAME, *_FUNCTIONS)
_NUMBER_TYPES = (bool, int, float)  # after the tensors, annotations of scalars


@dataclass(frozen=True)
class Annotation:
    """A type as the user wrote it, before the promotion kind says what the element type means in the body."""

    type: ir.Type
    variable: TypeVariable | None
    text: str


# What a scalar parameter without an annotation is, by its default.
_BY_DEFAULT = {
    bool: Annotation(ir.BOOL, None, "bool"),
    int: Annotation(ir.WEAK_LONG, None, "int"),
    float: Annotation(ir.FLOAT, None, "float"),
}


@dataclass(frozen=True)
class Scalar:
    """A scalar parameter; without a default if that is None."""

    name: str
    annotation: Annotation
    default: bool | int | float | complex | None
    node: ast.arg
    keyword_only: bool

    @property
    def type(self) -> ir.Type:
        """What travels: of an `int`, which is a Python integer in the body, 64 bits."""
        type_ = self.annotation.type
        return ir.Concrete(ir.resolved(type_, dtypes.int64)) if isinstance(type_, ir.Weak) else type_


@dataclass(frozen=True)
class Signature:
    """The parameters and the result of a functor or a helper, as written; tensors come before scalars.

    Attributes:
        results: the types of several results, `-> tuple[T, T]`, with their places; empty for one result.
        index: which of them is `result`, where a body is lowered for one of them; None for the whole signature.
        positional_only: the number of parameters before `/`.
        constants: parameters of a plain function that a call gives a number, which is part of the text.
        inferred: the result has the type of what is returned.
    """

    tensors: tuple[tuple[str, Annotation], ...]
    element: Annotation  # the type that the body is generic in
    scalars: tuple[Scalar, ...]
    result: Annotation
    result_node: ast.expr
    results: tuple[tuple[Annotation, ast.expr], ...] = ()
    index: int | None = None
    positional_only: int = 0
    constants: tuple[tuple[str, bool | int | float | complex], ...] = ()
    inferred: bool = False

    def parts(self) -> tuple[Signature, ...]:
        """A signature for each of several results; none for one."""
        if self.index is not None:
            return ()
        return tuple(replace(self, result=r, result_node=n, index=k) for k, (r, n) in enumerate(self.results))


@dataclass(frozen=True)
class Definition:
    """A functor or a helper function, for its callers.

    Attributes:
        signature: the parameters of its first body.
        checked: its bodies, for the dtypes at which they type-check.
        failures: why a helper does not type-check at the other dtypes that its annotations admit.
        results: a definition for each of several results; then `checked` is the first of them.
    """

    signature: Signature
    checked: CheckedFunction
    failures: dict[DType, PyMetalError] = field(default_factory=dict)
    results: tuple[Definition, ...] = ()


def definition_of(value: object) -> Definition | None:
    """The definition of a decorated function, or None if `value` is something else."""
    found = getattr(value, "__pymetal_definition__", None)
    return found if isinstance(found, Definition) else None


def parse_type(source: Source, node: ast.expr, *, scalar: bool = False) -> Annotation:
    """The type that an annotation names; `int` only for scalar parameters."""
    node = _unquoted(source, node)
    text = ast.unparse(node)
    match node:
        case ast.Subscript(value=base, slice=argument) if is_dotted(base):
            function = static_value(source, base)
            if isinstance(function, TypeFunction):
                inner_type = parse_type(source, argument)
                return Annotation(_FUNCTIONS[function.name](inner_type.type), inner_type.variable, text)
        case ast.Name() | ast.Attribute() if is_dotted(node):
            value = static_value(source, node)
            found = type_of_object(value)
            if found is not None:
                return Annotation(found, value if isinstance(value, TypeVariable) else None, text)
            if value is int and scalar:
                return Annotation(ir.WEAK_LONG, None, text)
            if value is int:
                raise source.refusal("int-cast", node)
        case _:
            pass
    raise _unknown(source, node, text)


def _unquoted(source: Source, node: ast.expr) -> ast.expr:
    """The annotation inside a string."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return node
    try:
        inner = ast.parse(node.value, mode="eval").body
    except SyntaxError:
        raise _unknown(source, node, repr(node.value)) from None
    for part in ast.walk(inner):
        ast.copy_location(part, node)
    return _unquoted(source, inner)


def type_of_object(value: object) -> ir.Type | None:
    """The type that a Python object stands for in an annotation or a cast."""
    if isinstance(value, TypeVariable):
        return ir.Var()
    if isinstance(value, DType):
        return ir.Concrete(value)
    if value is float:
        return ir.FLOAT
    if isinstance(value, torch.dtype):
        found = dtypes.from_torch(value)
        return None if found not in dtypes.ALL else ir.Concrete(found)
    if isinstance(value, type) and value.__module__ == "numpy":  # numpy.float32, not imported for this
        found = dtypes.BY_NAME.get(value.__name__, dtypes.bool_ if value.__name__ == "bool" else None)
        return None if found is None else ir.Concrete(found)
    return ir.BOOL if value is bool else None


def _unknown(source: Source, node: ast.expr, text: str) -> PyMetalError:
    near = nearest(text, _KNOWN)
    return source.refusal("annotation", node, found=text, near=f"; did you mean {near!r}?" if near else "")


def resolve_application(source: Source, node: ast.expr, value: Any) -> ir.Type:
    """The type of `ComplexOf[T]`, `RealOf[T]` or `OpMath[T]`, from the object that Python makes of it."""
    if isinstance(value, TypeApplication):
        argument = resolve_application(source, node, value.argument)
        return _FUNCTIONS[value.function.name](argument)  # type: ignore[no-any-return]
    found = type_of_object(value)
    if found is None:
        raise _unknown(source, node, ast.unparse(node))
    return found


def default_values(function: Callable[..., Any]) -> dict[str, Any]:
    """The defaults of a Python function, by the names of its parameters."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    values = function.__defaults__ or ()
    return dict(zip(reversed(names), reversed(values), strict=False)) | (function.__kwdefaults__ or {})


def parse_signature(source: Source, arity: Arity, defaults: dict[str, Any]) -> Signature:
    """The signature of a functor of `arity`: its tensors share one element type.

    What follows the tensors is a scalar if it has a default, is annotated `float`, `int` or `bool`, or is keyword-only.

    Raises:
        FunctorSyntaxError: an annotation is missing or unknown, or there is `*args`, `**kwargs` or a tensor's default.
        FunctorTypeError: another number of tensors than `arity` takes, or tensors of different annotations.
    """
    node = source.node
    tensors, scalars = _split(source, arity.inputs, defaults, _NUMBER_TYPES)
    if len(tensors) != arity.inputs:
        others = " or ".join(f"@pymetal.{a.name}" for a in ARITIES if a is not arity)
        place = tensors[arity.inputs] if len(tensors) > arity.inputs else node
        raise source.refusal(
            "parameter-count", place, arity=arity.name, wanted=plural(arity.inputs, "tensor parameter"),
            found=len(tensors), functor=node.name, others=others,
        )  # fmt: skip
    signature = _parse(source, tensors, scalars, defaults)
    (first, wanted), *rest = signature.tensors
    for (name, annotation), arg in zip(rest, tensors[1:], strict=True):
        if annotation.type != wanted.type or annotation.variable is not wanted.variable:
            raise source.refusal(
                "mixed-elements", arg, name=name, found=annotation.text, first=first, wanted=wanted.text
            )
    if not isinstance(wanted.type, (ir.Var, ir.Concrete)):
        raise source.refusal("element-annotation", tensors[0], name=first, found=wanted.text)
    # An annotation with one dtype is a domain of one; in the body it is the element type too.
    generic = tuple((name, replace(annotation, type=ir.Var())) for name, annotation in signature.tensors)
    return replace(signature, tensors=generic, element=wanted)


def parse_helper_signature(source: Source, defaults: dict[str, Any]) -> Signature:
    """The signature of a helper function: its parameters may have different types, generic in one variable.

    What follows the first parameter is a scalar if it has a default, is annotated `int`, or is keyword-only.

    Raises:
        FunctorSyntaxError: as :func:`parse_signature`.
        FunctorTypeError: the parameters are generic in two variables.
    """
    args, scalars = _split(source, 1, defaults, (int,))
    signature = _parse(source, args, scalars, defaults)
    generic = [(n, a) for n, a in signature.tensors if a.variable is not None]
    for (name, annotation), arg in zip(signature.tensors, args, strict=True):
        if annotation.variable is not None and annotation.variable is not generic[0][1].variable:
            first, wanted = generic[0]
            raise source.refusal(
                "mixed-elements", arg, name=name, found=annotation.text, first=first, wanted=wanted.text
            )
    if generic and not any(a.type == ir.Var() for _, a in generic):
        first, hidden = generic[0]
        raise source.refusal("hidden-element", next(a for a in args if a.arg == first), found=hidden.text)
    element = generic[0][1] if generic else Annotation(ir.FLOAT, None, "float")
    return replace(signature, element=element)


def _split(
    source: Source, inputs: int, defaults: dict[str, Any], number_types: tuple[type, ...]
) -> tuple[list[ast.arg], list[ast.arg]]:
    """The parameters before `*`: at least `inputs` tensors, then scalars."""
    tensors = [*source.node.args.posonlyargs, *source.node.args.args]
    scalars: list[ast.arg] = []
    while len(tensors) > inputs:
        last = tensors[-1]
        if last.arg not in defaults and not _names(source, last.annotation, number_types):
            break
        scalars.insert(0, tensors.pop())
    return tensors, scalars


def _names(source: Source, annotation: ast.expr | None, types: tuple[type, ...]) -> bool:
    """True if an annotation names one of `types`."""
    if isinstance(annotation, ast.Constant):
        return annotation.value in {t.__name__ for t in types}
    return isinstance(annotation, ast.Name) and static_value(source, annotation) in types


def _parse(
    source: Source, tensor_args: list[ast.arg], scalar_args: list[ast.arg], defaults: dict[str, Any]
) -> Signature:
    node, args = source.node, source.node.args
    for extra, what in ((args.vararg, "*args"), (args.kwarg, "**kwargs")):
        if extra is not None:
            raise source.refusal("variadic", extra, functor=node.name, what=f"`{what}`")
    required = [arg for arg in tensor_args if arg.arg not in defaults]
    for arg in tensor_args:
        if arg not in required:
            scalar = (f", or use @pymetal.{a.name}, where it is a scalar" for a in ARITIES if a.inputs == len(required))
            raise source.refusal(
                "tensor-default", arg, name=arg.arg, parameter=ast.unparse(arg), scalar=next(scalar, "")
            )
    if not tensor_args:
        raise source.refusal("no-parameters", node, functor=node.name)
    tensors = tuple((arg.arg, _annotation(source, arg)) for arg in tensor_args)
    scalars = []
    for arg in (*scalar_args, *args.kwonlyargs):
        default = python_number(defaults[arg.arg]) if arg.arg in defaults else None
        if default is None and arg.arg in defaults:
            raise source.refusal("scalar-default", arg, name=arg.arg, value=defaults[arg.arg])
        annotation = _BY_DEFAULT.get(type(default)) if arg.annotation is None else None
        annotation = annotation or _annotation(source, arg, scalar=True)
        scalars.append(Scalar(arg.arg, annotation, default, arg, arg in args.kwonlyargs))
    if node.returns is None:
        raise source.refusal("missing-result", node, functor=node.name)
    results = _parse_results(source, node.returns)
    several = results if len(results) > 1 else ()
    return Signature(tensors, tensors[0][1], tuple(scalars), *results[0], several, None, len(args.posonlyargs))


def _parse_results(source: Source, node: ast.expr) -> tuple[tuple[Annotation, ast.expr], ...]:
    """The types of the results, with their places: one, or those of `tuple[T, T]`."""
    node = _unquoted(source, node)
    base = node.value if isinstance(node, ast.Subscript) else node
    value = static_value(source, base) if is_dotted(base) else None
    if value is not tuple and get_origin(value) is not tuple:  # that of typing.Tuple
        return ((parse_type(source, node), node),)
    elements = node.slice.elts if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) else []
    if not 2 <= len(elements) <= MAX_RESULTS or any(isinstance(e, ast.Constant) and e.value is ... for e in elements):
        raise source.refusal("result-tuple", node, found=ast.unparse(node), most=MAX_RESULTS)
    return tuple((parse_type(source, e), e) for e in elements)


def _annotation(source: Source, arg: ast.arg, *, scalar: bool = False) -> Annotation:
    if arg.annotation is None:
        hint = f"Write `{arg.arg}: T`."
        raise source.refusal("missing-annotation", arg, name=arg.arg, functor=source.node.name, hint=hint)
    return parse_type(source, arg.annotation, scalar=scalar)
