"""Sequences whose length is known when a functor is decorated: tuples, constant ranges, `zip`, comprehensions, ...

Their items are lowered one by one. An item is a typed expression, or a tuple of items.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pymetal import dtypes, ir
from pymetal.errors import plural, were_given
from pymetal.frontend.arithmetic import number, weak
from pymetal.frontend.context import Binding, Env, ExpressionContext, Item
from pymetal.frontend.names import builtin_name, frozen_number, is_dotted, root, static_value
from pymetal.frontend.refusals import construct
from pymetal.frontend.source import Source
from pymetal.ir import Const, Expr
from pymetal.ops import python as ops

MAX_UNROLL = 1024
ITERABLES = "Loop over range(...), pymetal.static_range(...), a tuple, or zip, enumerate or reversed of these."
Lower = Callable[[ast.expr, Env], Expr]


def evaluate(ctx: ExpressionContext, node: ast.expr, env: Env, lower: Lower | None = None) -> Item:
    """The value of an expression, or the items of a sequence; `lower` lowers what is no sequence."""
    items = lazy_items(ctx, node, env, lower)
    return tuple(items) if items is not None else (lower or ctx.lower)(node, env)


def items_of(ctx: ExpressionContext, node: ast.expr, env: Env) -> tuple[Item, ...]:
    """The items of `node`, which is iterated over.

    Raises:
        PyMetalError: it is not a sequence whose length is known.
    """
    items = lazy_items(ctx, node, env)
    if items is None:
        raise ctx.source.refusal("loop", node, what=f"a loop over {ast.unparse(node)}", hint=ITERABLES)
    return tuple(items)


def lazy_items(ctx: ExpressionContext, node: ast.expr, env: Env, lower: Lower | None = None) -> Iterable[Item] | None:
    """The items of a sequence, each lowered when it is asked for; None if `node` is not a sequence."""
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return _display(ctx, elements, env, lower)
        case ast.GeneratorExp() | ast.ListComp():
            return _comprehension(ctx, node.generators, node.elt, env, lower, 1)
        case ast.Subscript():
            element = subscript(ctx, node, env)
            return element if isinstance(element, tuple) else None
        case ast.Call():
            called = callee(ctx, node, env)
            function = next((f for known, f in _FUNCTIONS if known is called), None)
            if builtin_name(called) == "static_range":
                function = _range
            return ctx.lower_results(node, env) if function is None else function(ctx, node, env)
        case ast.Name(id=name) if name in env:
            return env[name].items
        case ast.Name() | ast.Attribute():
            values = _python_sequence(ctx, node, env)
            return None if values is None else (_item(ctx, node, value) for value in values)
        case _:
            return None


def subscript(ctx: ExpressionContext, node: ast.Subscript, env: Env) -> Item | None:
    """An item of a sequence, or the items of a slice; None if it is not a sequence, or the index not a constant."""
    base, index = node.value, node.slice
    python = _python_sequence(ctx, base, env)
    values: Sequence[Any] | None = python
    if values is None:
        found = lazy_items(ctx, base, env)
        values = None if found is None else tuple(found)
    if values is None:
        return None
    if isinstance(index, ast.Slice):
        parts = (index.lower, index.upper, index.step)
        bounds = [None if p is None else _integer(ctx, p, env, "a slice bound that is not constant") for p in parts]
        if bounds[2] == 0:
            raise ctx.source.refusal("loop", index, what="a step of zero", hint="Count up or down.")
        return tuple(_item(ctx, base, v) for v in values[slice(*bounds)])
    position = number(ctx.lower(index, env))
    if not isinstance(position, int):
        return None
    if not -len(values) <= position < len(values):
        name, what = ast.unparse(base), f"{position} is outside"
        raise ctx.source.refusal("table-index", node, name=name, size=len(values), what=what)
    return _item(ctx, base, values[position])


def callee(ctx: ExpressionContext, node: ast.expr, env: Env) -> object:
    """The Python object that a call calls by a name from outside the body; None if `node` is something else."""
    if not isinstance(node, ast.Call) or not _is_outside(ctx, node.func, env):
        return None
    recursive = root(node.func) == ctx.source.node.name  # not defined yet
    return None if recursive else static_value(ctx.source, node.func)


def bind_target(source: Source, target: ast.expr, item: Item) -> Iterator[tuple[str, Item]]:
    """The names of an assignment target, with what each of them is assigned.

    Raises:
        PyMetalError: the target has another form than the item.
    """
    match target:
        case ast.Name(id=name):
            yield name, item
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            if not isinstance(item, tuple) or len(targets) != len(item):
                found, wanted = len(item) if isinstance(item, tuple) else 1, plural(len(targets), "name")
                raise source.refusal("unpack", target, wanted=wanted, found=plural(found, "value"))
            for part, value in zip(targets, item, strict=True):
                yield from bind_target(source, part, value)
        case _:
            raise source.refusal("target", target, what=construct(target)[0])


def range_bounds(ctx: ExpressionContext, node: ast.Call, env: Env) -> tuple[Expr, Expr, Expr]:
    """The start, stop and step of a call of `range` or `static_range`."""
    _arguments(ctx, node, 1, 3, "start, stop, step")
    args = [ctx.lower(a, env) for a in node.args]
    for arg, argument in zip(args, node.args, strict=True):
        if not ctx.typing.kinds(arg.type) <= {dtypes.Kind.SIGNED, dtypes.Kind.UNSIGNED}:
            raise ctx.source.refusal("range-type", argument, type=ctx.typing.describe(arg.type))
    span = ctx.source.span(node)
    start, stop = (weak(0, span), args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) == 3 else weak(1, span)
    if number(step) == 0:
        raise ctx.source.refusal("loop", node.args[2], what="a step of zero", hint="Count up or down.")
    return start, stop, step


def constant_range(bounds: tuple[Expr, Expr, Expr]) -> range | None:
    """The values of a range whose bounds are constants."""
    values = [value for bound in bounds if isinstance(value := number(bound), int)]
    return range(*values) if len(values) == 3 else None


def check_unrolled(source: Source, node: ast.expr, count: int, around: int = 1) -> None:
    """Limits the iterations to unroll, multiplied by those of the iterations around them."""
    if count * around > MAX_UNROLL:
        times = f" {around} times" if around > 1 else ""
        what = f"unrolling {count} iterations{times}"
        raise source.refusal("loop", node, what=what, hint=f"Unroll {MAX_UNROLL} at most.")


# --- the kinds of sequences ------------------------------------------------------------------------------------------


def _is_outside(ctx: ExpressionContext, node: ast.expr, env: Env) -> bool:
    return is_dotted(node) and root(node) not in env and root(node) not in ctx.local_names


def _python_sequence(ctx: ExpressionContext, node: ast.expr, env: Env) -> Sequence[Any] | None:
    """The tuple, list or range that a name outside the body stands for."""
    if not _is_outside(ctx, node, env):
        return None
    value = static_value(ctx.source, node)
    return value if isinstance(value, (tuple, list, range)) else None


def _item(ctx: ExpressionContext, node: ast.expr, value: Any) -> Item:
    """An element of a Python sequence, which `node` names, or an item."""
    if isinstance(value, (tuple, list, range)):
        return tuple(_item(ctx, node, v) for v in value)
    if isinstance(value, Expr):
        return value
    constant = frozen_number(value)
    if constant is not None:
        return weak(constant, ctx.source.span(node))
    raise ctx.source.refusal("table", node, name=ast.unparse(node), what="numbers")


def _display(ctx: ExpressionContext, elements: list[ast.expr], env: Env, lower: Lower | None) -> Iterator[Item]:
    for element in elements:
        if isinstance(element, ast.Starred):
            yield from items_of(ctx, element.value, env)
        else:
            yield evaluate(ctx, element, env, lower)


def _comprehension(
    ctx: ExpressionContext, generators: list[ast.comprehension], element: ast.expr, env: Env, lower: Lower | None,
    around: int,
) -> Iterator[Item]:  # fmt: skip
    """The items of a comprehension: its names are bound for its element alone."""
    if not generators:
        yield evaluate(ctx, element, env, lower)
        return
    generator, *inner = generators
    items = items_of(ctx, generator.iter, env)
    check_unrolled(ctx.source, generator.iter, len(items), around)
    names = [n.id for n in ast.walk(element) if isinstance(n, ast.Name)]
    for item in items:
        inside = dict(env)
        for name, value in bind_target(ctx.source, generator.target, item):
            if not isinstance(value, tuple):
                span = ctx.source.span(generator.target)
                inside[name] = Binding(ctx.subexpressions.share(value, name, names.count(name), span))
            else:
                inside[name] = tuple_binding(name, value)
        if all(_constant_test(ctx, test, element, inside) for test in generator.ifs):
            yield from _comprehension(ctx, inner, element, inside, lower, around * len(items))


def _constant_test(ctx: ExpressionContext, node: ast.expr, element: ast.expr, env: Env) -> bool:
    test = ctx.lower_condition(node, env)
    if not isinstance(test, Const):
        value, condition = ast.unparse(element), ast.unparse(node)
        hint = f"Write `{value} if {condition} else 0` in sum(), `{condition} and {value}` in any()."
        raise ctx.source.refusal("loop", node, what="an `if` of a comprehension that is not constant", hint=hint)
    return bool(test.value)


def tuple_binding(name: str, items: tuple[Item, ...]) -> Binding:
    """The binding of a name that stands for a tuple; its table, if it is indexed, is called `name`."""
    return Binding(ir.Name(name, ir.WEAK_INT), items=items)


def _integer(ctx: ExpressionContext, node: ast.expr, env: Env, what: str) -> int:
    value = number(ctx.lower(node, env))
    if not isinstance(value, int):
        raise ctx.source.refusal("loop", node, what=what, hint="Write a number, or the name of one.")
    return value


# --- functions of sequences ------------------------------------------------------------------------------------------


def _arguments(
    ctx: ExpressionContext, node: ast.Call, least: int, most: int, form: str, *keywords: str
) -> tuple[list[ast.expr], dict[str | None, ast.expr]]:
    """The arguments by position and by keyword; `form` is how they are written."""
    name, count = ast.unparse(node.func), len(node.args)
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise ctx.source.refusal("starred", argument)
    for keyword in node.keywords:
        if keyword.arg not in keywords:
            raise ctx.source.refusal("keyword-argument", keyword, name=name, hint=f"Call it as {name}({form}).")
    if not least <= count <= most:
        wanted = plural(least, "argument") if least == most else f"{least} to {most} arguments"
        hint = f"Call it as {name}({form})."
        found = were_given(count)
        raise ctx.source.refusal("argument-count", node, name=name, wanted=wanted, found=found, hint=hint)
    return node.args, {k.arg: k.value for k in node.keywords}


def _range(ctx: ExpressionContext, node: ast.Call, env: Env) -> Iterable[Item]:
    values = constant_range(range_bounds(ctx, node, env))
    name = ast.unparse(node.func).rpartition(".")[2]
    if values is None:
        hint = "Use range()." if name == "static_range" else "Write `for i in range(...)`, or constant bounds."
        raise ctx.source.refusal("loop", node, what=f"{name} with bounds that are not constants", hint=hint)
    start, stop, step = values.start, values.stop, values.step
    check_unrolled(ctx.source, node, max(0, -((start - stop) // step)))  # len() of a range fails where it is too large
    return tuple(weak(i, ctx.source.span(node)) for i in values)


def _reversed(ctx: ExpressionContext, node: ast.Call, env: Env) -> Iterable[Item]:
    (sequence,), _ = _arguments(ctx, node, 1, 1, "TABLE")
    return items_of(ctx, sequence, env)[::-1]


def _enumerate(ctx: ExpressionContext, node: ast.Call, env: Env) -> Iterable[Item]:
    (sequence, *rest), keywords = _arguments(ctx, node, 1, 1 if node.keywords else 2, "TABLE, start", "start")
    start = [_integer(ctx, a, env, "a start that is not constant") for a in (*rest, *keywords.values())] or [0]
    span = ctx.source.span(node)
    return tuple((weak(i, span), item) for i, item in enumerate(items_of(ctx, sequence, env), start[0]))


def _zip(ctx: ExpressionContext, node: ast.Call, env: Env) -> Iterable[Item]:
    arguments, keywords = _arguments(ctx, node, 0, MAX_UNROLL, "ONE, OTHER", "strict")
    sequences = [items_of(ctx, a, env) for a in arguments]
    if any(number(ctx.lower(strict, env)) for strict in keywords.values()) and len({len(s) for s in sequences}) > 1:
        raise ctx.source.refusal("python-error", node, op="zip", error="its arguments have different lengths")
    return tuple(zip(*sequences, strict=False))


def _tuple(ctx: ExpressionContext, node: ast.Call, env: Env) -> Iterable[Item]:
    arguments, _ = _arguments(ctx, node, 0, 1, "TABLE")
    return items_of(ctx, arguments[0], env) if arguments else ()


def _divmod(ctx: ExpressionContext, node: ast.Call, env: Env) -> Iterable[Item]:
    arguments, _ = _arguments(ctx, node, 2, 2, "a, b")
    span, share = ctx.source.span(node), ctx.subexpressions.share
    left, right = (ctx.lower(a, env) for a in arguments)
    a, b = share(left, "dividend", 2, span), share(right, "divisor", 2, span)
    return [ctx.arithmetic.apply(op, [a, b], span) for op in (ops.FLOORDIV, ops.MOD)]


_FUNCTIONS: tuple[tuple[object, Callable[[ExpressionContext, ast.Call, Env], Iterable[Item]]], ...] = (
    (range, _range), (reversed, _reversed), (enumerate, _enumerate), (zip, _zip), (tuple, _tuple), (list, _tuple),
    (divmod, _divmod),
)  # fmt: skip
