"""Several results: a body is lowered once for each, and a `return` gives each its part of the tuple."""

from __future__ import annotations

import ast
from collections.abc import Callable

from pymetal.errors import PyMetalError, plural
from pymetal.frontend.annotations import Signature
from pymetal.frontend.context import Env
from pymetal.frontend.source import Source
from pymetal.ir import Expr


def returned_value(
    source: Source, signature: Signature, node: ast.expr, env: Env, lower: Callable[[ast.expr, Env], Expr],
    tuple_values: Callable[[ast.expr, Env], list[Expr]],
) -> Expr:  # fmt: skip
    """The value of `return node`: of several results, the one of `signature`.

    Args:
        lower: lowers one value.
        tuple_values: lowers what may have several.

    Raises:
        FunctorTypeError: there are more or fewer values than results.
    """
    if not signature.results:
        if isinstance(node, ast.Tuple) and len(node.elts) > 1 and not _is_unpacked(node):
            raise _wrong_count(source, signature, node, len(node.elts))
        return lower(node, env)
    if isinstance(node, ast.Tuple | ast.IfExp):
        return lower(_part(source, signature, node, lambda call: len(tuple_values(call, env))), env)
    values = tuple_values(node, env)
    if len(values) != len(signature.results):
        raise _wrong_count(source, signature, node, len(values))
    return values[signature.index or 0]


def _part(source: Source, signature: Signature, node: ast.expr, count: Callable[[ast.Call], int]) -> ast.expr:
    """The part of a written tuple, or of a choice between two, that belongs to the result of `signature`.

    Args:
        count: how many values a call has.
    """
    index = signature.index or 0
    match node:
        case ast.Tuple(elts=elements) if len(elements) == len(signature.results) or _is_unpacked(node):
            unpacked = next((e for e in elements if isinstance(e, ast.Starred)), None)
            return unpacked or elements[index]
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            parts = (_part(source, signature, branch, count) for branch in (body, otherwise))
            return ast.copy_location(ast.IfExp(test, *parts), node)
        case ast.Call() if (found := count(node)) > 1:
            if found != len(signature.results):
                raise _wrong_count(source, signature, node, found)
            at = ast.copy_location(ast.Constant(index), node)
            return ast.copy_location(ast.Subscript(node, at, ast.Load()), node)
        case _:
            raise _wrong_count(source, signature, node, len(node.elts) if isinstance(node, ast.Tuple) else 1)


def _is_unpacked(node: ast.Tuple) -> bool:
    """True if it has a `*`, which is refused where it is lowered."""
    return any(isinstance(e, ast.Starred) for e in node.elts)


def _wrong_count(source: Source, signature: Signature, node: ast.expr, found: int) -> PyMetalError:
    wanted = len(signature.results) or 1
    hint = f"Annotate the function with `-> tuple[{', '.join([signature.result.text] * found)}]`."
    if wanted > 1:
        names = ", ".join("abcdefgh"[:wanted])
        hint = f"Write `return {names}`, with one value for each."
    return source.refusal(
        "result-count", node, found=plural(found, "value"), functor=source.node.name, wanted=plural(wanted, "result"),
        hint=hint,
    )  # fmt: skip
