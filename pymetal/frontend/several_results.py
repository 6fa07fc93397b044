"""Several results: a body is lowered once for each, and a `return` gives each its part of the tuple."""

from __future__ import annotations

import ast
from collections.abc import Callable

from pymetal.errors import PyMetalError, plural
from pymetal.frontend.annotations import Signature
from pymetal.frontend.context import Env, Item
from pymetal.frontend.source import Source
from pymetal.ir import Expr


def returned_value(
    source: Source, signature: Signature, node: ast.expr, env: Env, lower: Callable[[ast.expr, Env], Expr],
    tuple_values: Callable[[ast.expr, Env], tuple[Item, ...]],
) -> Expr:  # fmt: skip
    """The value of `return node`: of several results, the one of `signature`.

    Args:
        lower: lowers one value.
        tuple_values: lowers what may have several.

    Raises:
        FunctorTypeError: there are more or fewer values than results.
    """

    def wrong(place: ast.expr, found: int) -> PyMetalError:
        wanted = len(signature.results) or 1
        if signature.inferred:
            reason = f"it returns {plural(found, 'value')} here and {wanted} elsewhere"
            hint = "Return as many values on every path."
            return source.refusal("undecorated", place, name=source.node.name, reason=reason, hint=hint)
        hint = f"Annotate the function with `-> tuple[{', '.join([signature.result.text] * found)}]`."
        if wanted > 1:
            hint = f"Write `return {', '.join('abcdefgh'[:wanted])}`, with one value for each."
        return source.refusal(
            "result-count", place, found=plural(found, "value"), functor=source.node.name,
            wanted=plural(wanted, "result"), hint=hint,
        )  # fmt: skip

    if not signature.results:
        if isinstance(node, ast.Tuple) and len(node.elts) > 1 and not _unpacked(node):
            raise wrong(node, len(node.elts))
        return lower(node, env)
    index, wanted = signature.index or 0, len(signature.results)
    if isinstance(node, ast.Tuple | ast.IfExp):
        return lower(elements(node, wanted, lambda call: len(tuple_values(call, env)), wrong)[index], env)
    values = tuple_values(node, env)
    value = values[index] if len(values) == wanted else ()
    if isinstance(value, tuple):
        raise wrong(node, len(value or values))
    return value


def elements(
    node: ast.expr, wanted: int, count: Callable[[ast.Call], int], wrong: Callable[[ast.expr, int], PyMetalError]
) -> list[ast.expr]:
    """The elements of a written tuple, or of a choice between tuples, as expressions of their own.

    Args:
        count: how many values a call has.
        wrong: the error for another number of values than `wanted`.
    """
    match node:
        case ast.Tuple(elts=written) if len(written) == wanted or _unpacked(node):
            return _unpacked(node) * wanted or written  # a `*` is refused where it is lowered
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            branches = (elements(branch, wanted, count, wrong) for branch in (body, otherwise))
            return [ast.copy_location(ast.IfExp(test, a, b), node) for a, b in zip(*branches, strict=True)]
        case ast.Call() if (found := count(node)) > 1:
            if found != wanted:
                raise wrong(node, found)
            at = [ast.copy_location(ast.Constant(k), node) for k in range(wanted)]
            return [ast.copy_location(ast.Subscript(node, k, ast.Load()), node) for k in at]
        case _:
            raise wrong(node, len(node.elts) if isinstance(node, ast.Tuple) else 1)


def _unpacked(node: ast.Tuple) -> list[ast.expr]:
    """The first element with a `*`."""
    found: list[ast.expr] = [e for e in node.elts if isinstance(e, ast.Starred)]
    return found[:1]
