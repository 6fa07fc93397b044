"""A checked functor becomes its Metal text: `struct NAME_functor` with one call operator for each overload.

The text stands in a file of its own or among upstream's functors, under either set of `using namespace` lines: names of
c10 are written in full.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

from pymetal import ir
from pymetal.codegen.constants import table_text, tables
from pymetal.codegen.constraints import is_template, template_head
from pymetal.codegen.expressions import Printer, params_argument, params_type
from pymetal.codegen.format import format_metal
from pymetal.codegen.names import helper_name, identifier, rename, to_ascii
from pymetal.codegen.statements import INDENT, Line, block
from pymetal.codegen.wrapping import wrapping
from pymetal.dtypes import DType
from pymetal.errors import CallError, Span
from pymetal.ir import Call, CheckedFunction, For, Let, Member, Op, Overload


@dataclass(frozen=True)
class FunctorText:
    """The text of a functor, each statement on a line of its own.

    Attributes:
        definitions: by name, in the order in which Metal needs them: tables, helper functions, called functors, the
            parameter struct, and last the functor's own struct.
        spans: for each line of `source`, the place in the user's file that it comes from.
        scalar_types: what the alpha macros call the scalar argument at each dtype; empty if there is none.
    """

    definitions: dict[str, str]
    scalar_types: dict[DType, str]
    spans: tuple[Span | None, ...] = ()

    @property
    def source(self) -> str:
        """All definitions."""
        return "\n".join(self.definitions.values())

    def formatted(self) -> FunctorText:
        """The same text as it is sent: with line breaks as clang-format has them."""
        return replace(
            self, definitions={name: format_metal(text) for name, text in self.definitions.items()}, spans=()
        )


def functor_text(checked: CheckedFunction, *more: CheckedFunction, called: Container[str] = ()) -> FunctorText:
    """The functor's struct, with its docstring as a comment, and what it needs before it.

    Args:
        more: functors whose text follows.
        called: names of functors that others of the same file call.

    Raises:
        CallError: two definitions have one name.
    """
    definitions: dict[str, list[Line]] = {}
    everything = dict.fromkeys(c for each in (checked, *more) for c in (*ir.callees(each), each))
    inner = {c for each in everything for c in ir.callees(each)}
    for callee in (wrapping(c, returned=c in inner or c.name in called) for c in everything):
        for name, table in tables(callee).items():
            lines = [Line(table_text(name, table))]
            if definitions.setdefault(name, lines) != lines:
                raise CallError(
                    f"two arrays of {checked.name} are called {name}", hint="Rename a tuple or its function."
                )
        if callee.helper:
            name, lines = helper_name(callee.name), _helper(callee)
            if definitions.setdefault(name, lines) != lines:
                raise CallError(f"two functions of {checked.name} are called {name}", hint="Rename one of them.")
        else:
            params = params_struct(callee)
            definitions.update({f"{callee.name}_params": params} if params else {})
            definitions[f"{callee.name}_functor"] = _struct(callee)
    scalars = {d: scalar_type(checked, d) for d in checked.domain}
    return FunctorText(
        {name: "".join(f"{line.text}\n" for line in lines) for name, lines in definitions.items()},
        {d: t for d, t in scalars.items() if t is not None},
        tuple(line.span for lines in definitions.values() for line in (*lines, Line(""))),
    )


def _comment(checked: CheckedFunction) -> list[Line]:
    # A backslash at the end would make the next line a part of the comment.
    return [Line(f"// {line}".rstrip(" \\")) for line in to_ascii(checked.doc).splitlines()]


def members(checked: CheckedFunction) -> dict[str, str]:
    """The static functions that rows of the operator table bring, by name."""
    bodies = [overload.function.body for overload in checked.overloads]
    used: dict[Op, None] = {e.op: None for body in bodies for e in ir.expressions(body) if isinstance(e, Call)}
    return {op.text.function: op.text.definition for op in used if isinstance(op.text, Member)}


def _struct(checked: CheckedFunction) -> list[Line]:
    parts = [[Line(line) for line in text.splitlines()] for text in members(checked).values()]
    parts += [_function(checked, overload, "operator()") for overload in checked.overloads]
    lines = [*_comment(checked), Line(f"struct {checked.name}_functor {{")]
    for index, part in enumerate(parts):
        lines += [Line("")] if index else []
        lines += [line.indented() if line.text else line for line in part]
    return [*lines, Line("};")]


def _helper(checked: CheckedFunction) -> list[Line]:
    """A helper function. It has no struct: functions that its operators bring stand before it under its name."""
    lines: list[Line] = []
    for name, text in members(checked).items():
        own = text.replace("static inline", "inline").replace(f" {name}(", f" {identifier(checked.name)}_{name}(")
        lines += [*(Line(line) for line in own.splitlines()), Line("")]
    for index, overload in enumerate(checked.overloads):
        lines += [Line("")] if index else _comment(checked)
        lines += _function(checked, overload, helper_name(checked.name))
    return lines


def _function(checked: CheckedFunction, overload: Overload, name: str) -> list[Line]:
    """One overload: its head, its body, its end."""
    function = overload.function
    template = is_template(checked, overload)
    params = [*function.params, *function.scalars]
    declared = [s.name for s in ir.statements(function.body) if isinstance(s, Let | For)]
    reserved = {*tables(checked), *(helper_name(c.name) for c in ir.callees(checked)), *members(checked)}
    names = rename([*(p.name for p in params), *declared], reserved)
    element = "T" if template else overload.domain[0].metal
    printer = Printer(overload.domain, names, checked.name, checked.helper, element)
    in_struct = not checked.helper and len(function.scalars) > 1
    arguments = [f"const {printer.type(p.type)} {names[p.name]}" for p in (function.params if in_struct else params)]
    if in_struct:
        arguments.append(f"const {checked.name}_params<{printer.type(params_type(overload))}> params")
        names.update({p.name: f"params.{names[p.name]}" for p in function.scalars})
    head = template_head(checked, overload) if template else []
    return [
        *(Line(line) for line in head),
        Line(f"inline {printer.type(function.result)} {name}({', '.join(arguments)}) {{"),
        *(line.indented() for line in block(function.body, printer)),
        Line("}"),
    ]


# --- several scalars -------------------------------------------------------------------------------------------------


def scalar_type(checked: CheckedFunction, element: DType) -> str | None:
    """The Metal type of the scalar argument at `element`: a dtype's name, or the name of a parameter struct."""
    overload = checked.overload(element)
    assert overload is not None
    scalars = overload.function.scalars
    if not scalars:
        return None
    if len(scalars) == 1:
        return ir.resolved(scalars[0].type, element).metal
    return f"{checked.name}_params_{params_argument(checked, element)}"


def params_struct(checked: CheckedFunction) -> list[Line]:
    """The struct in which several scalars travel, as upstream's `ELUParams` do; empty for one scalar or none."""
    scalars = checked.overloads[0].function.scalars
    if len(scalars) < 2:
        return []
    names = rename(p.name for p in scalars)
    # A scalar that is symbolic in some overload is symbolic in the struct; under int_to_float it is float for integers.
    symbolic = {p.name for o in checked.overloads for p in o.function.scalars if not isinstance(p.type, ir.Concrete)}
    members = []
    for param in scalars:
        resolved = ir.resolved(param.type, checked.overloads[0].domain[0])
        members.append(f"{INDENT}{'T' if param.name in symbolic else resolved.metal} {names[param.name]};")
    arguments = dict.fromkeys(params_argument(checked, d) for d in checked.domain)
    aliases = [f"using {checked.name}_params_{a} = {checked.name}_params<{a}>;" for a in arguments]
    head = ["template <typename T>", f"struct {checked.name}_params {{"]
    return [Line(text) for text in (*head, *members, "};", "", *aliases)]
