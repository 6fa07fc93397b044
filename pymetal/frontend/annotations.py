"""A signature becomes parameters: which tensors and scalars a functor takes, of what types, for which dtypes."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from pymetal import dtypes, ir
from pymetal.arity import ARITIES, Arity
from pymetal.dtypes import DType, TypeFunction, TypeVariable
from pymetal.errors import nearest
from pymetal.frontend.names import is_dotted, static_value
from pymetal.frontend.refusals import refusal
from pymetal.frontend.source import Source

_FUNCTIONS: dict[str, Any] = {"ComplexOf": ir.ComplexOf, "RealOf": ir.RealOf, "OpMath": ir.OpMath}
_KNOWN = ("T", "Floating", "Integral", "Signed", "Unsigned", "Complex", "bool", "float", *dtypes.BY_NAME, *_FUNCTIONS)


@dataclass(frozen=True)
class Annotation:
    """A type as the user wrote it, before the promotion kind says what the element type means in the body."""

    type: ir.Type
    variable: TypeVariable | None
    text: str


@dataclass(frozen=True)
class Signature:
    """A functor's parameters and result, as written."""

    tensors: tuple[str, ...]
    element: Annotation
    scalars: tuple[tuple[str, Annotation, bool | int | float | complex | None, ast.arg], ...]
    result: Annotation
    result_node: ast.expr


def parse_type(source: Source, node: ast.expr) -> Annotation:
    """The type that an annotation names."""
    text = ast.unparse(node)
    match node:
        case ast.Constant(value=str() as quoted):
            try:
                inner = ast.parse(quoted, mode="eval").body
            except SyntaxError:
                raise _unknown(source, node, repr(quoted)) from None
            for part in ast.walk(inner):
                ast.copy_location(part, node)
            return parse_type(source, inner)
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
            if value is int:
                raise refusal("int-cast", source.span(node))
        case _:
            pass
    raise _unknown(source, node, text)


def type_of_object(value: object) -> ir.Type | None:
    """The type that a Python object stands for in an annotation or a cast."""
    if isinstance(value, TypeVariable):
        return ir.Var()
    if isinstance(value, DType):
        return ir.Concrete(value)
    if value is float:
        return ir.FLOAT
    return ir.BOOL if value is bool else None


def _unknown(source: Source, node: ast.expr, text: str) -> Exception:
    near = nearest(text, _KNOWN)
    return refusal("annotation", source.span(node), found=text, near=f"; did you mean {near!r}?" if near else "")


def parse_signature(source: Source, arity: Arity, keyword_defaults: dict[str, Any]) -> Signature:
    """The signature of a functor of `arity`.

    Raises:
        FunctorSyntaxError: an annotation is missing or unknown, or there is `*args`, `**kwargs` or a tensor's default.
        FunctorTypeError: another number of tensors than `arity` takes, or tensors of different annotations.
    """
    node, args = source.node, source.node.args
    for extra, what in ((args.vararg, "*args"), (args.kwarg, "**kwargs")):
        if extra is not None:
            raise refusal("variadic", source.span(extra), functor=node.name, what=f"`{what}`")
    tensors = [*args.posonlyargs, *args.args]
    if args.defaults:
        raise refusal("tensor-default", source.span(args.defaults[0]), name=tensors[-len(args.defaults)].arg)
    if len(tensors) != arity.inputs:
        others = " or ".join(f"@pymetal.{a.name}" for a in ARITIES if a is not arity)
        where = source.span(tensors[arity.inputs] if len(tensors) > arity.inputs else node)
        raise refusal(
            "parameter-count", where, arity=arity.name, wanted=arity.inputs, found=len(tensors), functor=node.name,
            others=others,
        )  # fmt: skip
    annotations = [_annotation(source, arg) for arg in tensors]
    for arg, annotation in zip(tensors, annotations, strict=True):
        if annotation.type != annotations[0].type or annotation.variable is not annotations[0].variable:
            raise refusal(
                "mixed-elements", source.span(arg), name=arg.arg, found=annotation.text, first=tensors[0].arg,
                wanted=annotations[0].text,
            )  # fmt: skip
    scalars = []
    for arg in args.kwonlyargs:
        default = keyword_defaults.get(arg.arg)
        if default is not None and not isinstance(default, (bool, int, float, complex)):
            raise refusal("scalar-default", source.span(arg), name=arg.arg, value=default)
        scalars.append((arg.arg, _annotation(source, arg), default, arg))
    if node.returns is None:
        raise refusal("missing-result", source.span(node), functor=node.name)
    result = parse_type(source, node.returns)
    names = tuple(arg.arg for arg in tensors)
    return Signature(names, annotations[0], tuple(scalars), result, node.returns)


def _annotation(source: Source, arg: ast.arg) -> Annotation:
    if arg.annotation is None:
        raise refusal("missing-annotation", source.span(arg), name=arg.arg, functor=source.node.name)
    return parse_type(source, arg.annotation)
