"""Ways out of a refusal, as the lines to write."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from pymetal import dtypes, ir
from pymetal.arity import ARITIES
from pymetal.dtypes import DType, Kind
from pymetal.frontend.annotations import Signature
from pymetal.frontend.source import Source
from pymetal.frontend.typing import Typing
from pymetal.ir import Type

TO_FLOAT = '"int_to_float"'


def decorated(source: Source, **keywords: str) -> str:
    """The functor's decorator with these keywords, in the place of its own or after them; "" if it has another one."""
    node = source.node.decorator_list[-1] if source.node.decorator_list else None
    called = node.func if isinstance(node, ast.Call) else node
    if called is None or ast.unparse(called).rpartition(".")[2] not in [arity.name for arity in ARITIES]:
        return ""
    own = {k.arg: source.text(k.value) for k in node.keywords if k.arg} if isinstance(node, ast.Call) else {}
    return f"@{ast.unparse(called)}({', '.join(f'{name}={value}' for name, value in {**own, **keywords}.items())})"


def spelled(chosen: Iterable[DType]) -> str:
    """The value of `dtypes=` for these dtypes."""
    rest = dict.fromkeys(dtypes.ordered(chosen))
    words = [word for word, row in dtypes.WORDS.items() if rest.keys() >= set(row)]
    single = [str(d.torch) for d in rest if not any(d in dtypes.WORDS[word] for word in words)]
    entries = [*(f'"{word}"' for word in words), *single]
    return entries[0] if len(entries) == 1 else f"({', '.join(entries)})"


def for_return(source: Source, signature: Signature, node: ast.expr, wanted: Type, typing: Typing, found: Type) -> str:
    """How a body could return a value of the wanted type."""
    kinds, returned = typing.kinds(wanted), typing.kinds(found)
    value = source.text(node) if signature.index is None else "..."  # one of several
    if Kind.COMPLEX in returned and Kind.COMPLEX not in kinds:
        return f"Write `({value}).real` or `abs({value})`, or annotate the result with `ComplexOf[T]`."
    cast = f"{signature.result.text}({value})"
    hint = f"Write `return {cast}`" if signature.index is None else f"Write `{cast}`"
    if kinds == {Kind.BOOL}:
        name, parameters = source.node.name, ", ".join(f"{tensor}: bool" for tensor, _ in signature.tensors)
        lines = f"`@{name}.overload` and `def {name}({parameters}) -> bool`"
        return f"{hint}, or leave dtypes= out and give bool a body: {lines}."
    line = decorated(source, promotion=TO_FLOAT)
    promotes = signature.element.variable is not None and not isinstance(wanted, ir.Concrete)
    if Kind.FLOATING in returned and Kind.FLOATING not in kinds and promotes and line:
        return f"{hint}, or `{line}`."
    return f"{hint}."


def for_operand(source: Source, op: ir.Op, operand: DType | None, narrows: bool, admitted: frozenset[Kind]) -> str:
    """What to write where an operator does not take an operand.

    Args:
        narrows: other element types help.
        admitted: the kinds of the functor's annotation.
    """
    kinds = frozenset[Kind]().union(*(row.kinds for row in (op, *op.overloads)))
    integers = frozenset({Kind.SIGNED, Kind.UNSIGNED})
    words = sorted({"integer" if k in integers and integers <= kinds else k.value for k in kinds})
    taken = " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
    cast = "pymetal.int64(...)" if Kind.SIGNED in kinds else "float(...)"
    if operand is dtypes.bool_ and not narrows:  # comparisons: `(x > 0) - (x < 0)`
        first = next((arg.annotation for arg in (*source.node.args.posonlyargs, *source.node.args.args)), None)
        cast = f"{source.text(first) if first else 'pymetal.int32'}(...)"
    served = [d for word in ("floating", "integral") for d in dtypes.WORDS[word] if d.kind in kinds & admitted]
    line = decorated(source, dtypes=spelled(served)) if served and narrows else ""
    return f"It takes {taken} operands: convert it with `{cast}`" + (f", or write `{line}`." if line else ".")


def for_number(source: Source, value: object, type_: Type, wider: Iterable[DType]) -> str:
    """What to write for a number that does not fit `type_`.

    Args:
        wider: the dtypes that it fits.
    """
    if type_ in (ir.Concrete(dtypes.int32), ir.WEAK_INT) and dtypes.int64 in wider:
        return f"A variable of Python integers alone is an int32: write `pymetal.int64({value})`."
    first = next(arg.annotation for arg in (*source.node.args.posonlyargs, *source.node.args.args))
    for dtype in wider:
        cast = repr(type_.dtype) if isinstance(type_, ir.Concrete) else ast.unparse(first).strip("'") if first else "T"
        return f"Write `{cast}({dtype!r}({value}))` for its low bits."
    return (
        f"Without dtypes=, such dtypes are left out, and take a body of their own with `@{source.node.name}.overload`."
    )
