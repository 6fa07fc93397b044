"""A checked functor becomes its Metal text: `struct NAME_functor` with one call operator for each overload."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import assert_never

from pymetal import ir
from pymetal.codegen.names import rename, to_ascii
from pymetal.codegen.text import Printer
from pymetal.dtypes import INTEGRAL, DType, Kind
from pymetal.ir import Assign, Checked, If, Let, Overload, Return, Stmt

INDENT = "  "
_SIGNED = "is_integral_v<T> && is_signed_v<T>"
_UNSIGNED = "is_integral_v<T> && !is_signed_v<T>"


@dataclass(frozen=True)
class FunctorText:
    """The text of a functor, and the type of its scalar argument at each dtype."""

    source: str
    scalar_types: dict[DType, str]  # what the alpha macros call the scalar; empty if there is none


def functor_text(checked: Checked) -> FunctorText:
    """The functor's struct, preceded by its docstring as a comment and its parameter struct, if it has one.

    The text stands in a file of its own or among upstream's functors, under either set of `using namespace` lines:
    names of c10 are written in full.
    """
    kinds = frozenset(d.kind for d in checked.domain)
    operators = [_operator(checked.name, overload, kinds, len(checked.overloads)) for overload in checked.overloads]
    comment = "".join(f"// {line}".rstrip() + "\n" for line in to_ascii(checked.doc).splitlines())
    body = "\n".join(operators)
    struct = f"{comment}struct {checked.name}_functor {{\n{body}}};\n"
    scalars = {d: scalar_type(checked, d) for d in checked.domain}
    return FunctorText(_params_struct(checked) + struct, {d: t for d, t in scalars.items() if t is not None})


def scalar_type(checked: Checked, element: DType) -> str | None:
    """The Metal type of the scalar argument at `element`: a dtype's name, or the name of a parameter struct."""
    overload = checked.overload(element)
    assert overload is not None
    scalars = overload.function.scalars
    if not scalars:
        return None
    if len(scalars) == 1:
        resolved = ir.resolve(scalars[0].type, element)
        assert resolved is not None
        return resolved.metal
    return f"{checked.name}_params_{_params_argument(overload, element)}"


def _params_argument(overload: Overload, element: DType) -> str:
    """What the parameter struct is instantiated with: the type of its symbolic scalars."""
    symbolic = [p for p in overload.function.scalars if not _fixed(p)]
    resolved = ir.resolve((symbolic or overload.function.scalars)[0].type, element)
    assert resolved is not None
    return resolved.metal


def _fixed(param: ir.Param) -> bool:
    return isinstance(param.type, ir.Concrete)


def _params_struct(checked: Checked) -> str:
    """Several scalars travel as one struct, as upstream's `ELUParams` do."""
    scalars = checked.overloads[0].function.scalars
    if len(scalars) < 2:
        return ""
    names = rename(p.name for p in scalars)
    # A scalar that is symbolic in some overload is symbolic in the struct; under int_to_float it is float for integers.
    symbolic = {p.name for o in checked.overloads for p in o.function.scalars if not _fixed(p)}
    lines = []
    for param in scalars:
        resolved = ir.resolve(param.type, checked.overloads[0].domain[0])
        assert resolved is not None
        lines.append(f"{INDENT}{'T' if param.name in symbolic else resolved.metal} {names[param.name]};\n")
    arguments = dict.fromkeys(_params_argument(o, d) for o in checked.overloads for d in o.domain)
    aliases = "".join(f"using {checked.name}_params_{a} = {checked.name}_params<{a}>;\n" for a in arguments)
    return f"template <typename T>\nstruct {checked.name}_params {{\n{''.join(lines)}}};\n{aliases}\n"


def _operator(functor: str, overload: Overload, kinds: frozenset[Kind], count: int) -> str:
    function = overload.function
    mine = frozenset(d.kind for d in overload.domain)
    template = not (mine == {Kind.BOOL} and count > 1)
    element = "T" if template else overload.domain[0].metal
    params = [*function.params, *function.scalars]
    locals_ = [s.name for s in _lets(function.body)]
    names = rename([*(p.name for p in params), *locals_])
    printer = Printer(overload.domain, names, element)
    arguments = [f"const {printer.type(p.type)} {names[p.name]}" for p in function.params]
    if len(function.scalars) == 1:
        scalar = function.scalars[0]
        arguments.append(f"const {printer.type(scalar.type)} {names[scalar.name]}")
    elif function.scalars:
        symbolic = next((p for p in function.scalars if not _fixed(p)), function.scalars[0])
        arguments.append(f"const {functor}_params<{printer.type(symbolic.type)}> params")
        names.update({p.name: f"params.{names[p.name]}" for p in function.scalars})
    lines = []
    if template:
        condition = constraint(mine, kinds)
        extra = f", enable_if_t<{condition}, bool> = true" if condition else ""
        lines.append(f"template <typename T{extra}>")
    lines.append(f"inline {printer.type(function.result)} operator()({', '.join(arguments)}) {{")
    lines += [INDENT + line for line in _block(function.body, printer)]
    lines.append("}")
    return "".join(f"{INDENT}{line}\n" for line in lines)


def constraint(mine: frozenset[Kind], kinds: frozenset[Kind]) -> str | None:
    """The condition that tells the dtypes of one overload from those of the others; None if there are no others.

    `is_floating_point_v<float2>` is true in Metal, so next to a complex overload the scalar form is needed.
    """
    if mine != {Kind.BOOL} and Kind.BOOL not in mine:
        kinds -= {Kind.BOOL}  # an overload for bool alone is no template, and wins
    if mine == kinds:
        return None
    complex_too = Kind.COMPLEX in kinds
    floating = "c10::metal::is_scalar_floating_point_v<T>" if complex_too else "is_floating_point_v<T>"
    if mine == kinds - {Kind.COMPLEX}:
        return "!c10::metal::is_complex_v<T>"
    if mine == kinds & INTEGRAL:
        return "is_integral_v<T>"
    if mine == kinds - INTEGRAL:
        return floating if mine == {Kind.FLOATING} else "!is_integral_v<T>"
    atoms = {
        Kind.FLOATING: floating,
        Kind.COMPLEX: "c10::metal::is_complex_v<T>",
        Kind.SIGNED: _SIGNED,
        Kind.UNSIGNED: f"{_UNSIGNED} && !is_same_v<T, bool>",
        Kind.BOOL: "is_same_v<T, bool>",
    }
    chosen = [text for kind, text in atoms.items() if kind in mine]
    return chosen[0] if len(chosen) == 1 else " || ".join(f"({t})" if " " in t else t for t in chosen)


def _lets(body: tuple[Stmt, ...]) -> list[Let]:
    found: list[Let] = []
    for stmt in body:
        match stmt:
            case Let():
                found.append(stmt)
            case If(_, then, otherwise):
                found += _lets(then) + _lets(otherwise)
            case Assign() | Return():
                pass
            case _:
                assert_never(stmt)
    return found


def _block(body: tuple[Stmt, ...], printer: Printer) -> list[str]:
    lines: list[str] = []
    for stmt in body:
        match stmt:
            case Let(name, type_, value, mutable):
                declared = f"{'' if mutable else 'const '}{printer.type(type_)} {printer.names[name]}"
                lines.append(f"{declared};" if value is None else f"{declared} = {printer.expr(value).text};")
            case Assign(name, value):
                lines.append(f"{printer.names[name]} = {printer.expr(value).text};")
            case Return(value):
                lines.append(f"return {printer.expr(value).text};")
            case If():
                lines += _if(stmt, printer)
            case _:
                assert_never(stmt)
    return lines


def _if(stmt: If, printer: Printer) -> list[str]:
    lines = [f"if ({printer.expr(stmt.condition).text}) {{"]
    lines += [INDENT + line for line in _block(stmt.then, printer)]
    match stmt.otherwise:
        case ():
            return [*lines, "}"]
        case (If() as nested,):
            first, *rest = _if(nested, printer)
            return [*lines, f"}} else {first}", *rest]
        case otherwise:
            return [*lines, "} else {", *(INDENT + line for line in _block(otherwise, printer)), "}"]
