"""The text of the function that a dispatch stub calls on MPS, with the exact type of the stub."""

from __future__ import annotations

import re

from pymetal import dtypes, ir
from pymetal.codegen.metal_file import Entry
from pymetal.dtypes import DType, Kind
from pymetal.errors import PyMetalError
from pymetal.upstream import cpp
from pymetal.upstream.checkout import LIBRARY_HEADERS, Checkout
from pymetal.upstream.stubs import Stub

# Comparisons write one byte for each element: the dense kernel pays from this size on.
_COMPARISON_THRESHOLD = "1 << 18"


def exec_parameters(checkout: Checkout, call: str) -> list[str]:
    """The parameter names of an `exec_*_kernel` in the checkout's header; empty if it is not declared."""
    for path in LIBRARY_HEADERS:
        if not checkout.exists(path):
            continue
        plain = cpp.masked(checkout.text(path))
        match = re.search(rf"\bvoid\s+{call}\s*\(", plain)
        if match is not None:
            inside = plain[match.end() : cpp.closing(plain, match.end() - 1)]
            return [re.sub(r"\s*=.*", "", p, flags=re.DOTALL).split()[-1] for p in cpp.split_arguments(inside)]
    return []


def function_text(checkout: Checkout, entry: Entry, stub: Stub) -> str:
    """The static function that the stub calls.

    Raises:
        PyMetalError: the stub's parameters do not fit the functor's scalars.
    """
    checked = entry.checked
    scalars = checked.overloads[0].function.scalars
    if len(scalars) != len(stub.scalars):
        passed = f"{len(stub.scalars)} scalar{'' if len(stub.scalars) == 1 else 's'}"
        raise PyMetalError(
            f"{stub.name} passes {passed} ({', '.join(stub.parameters)}) but {checked.name} takes {len(scalars)}",
            hint="Give the functor as many scalar parameters, in that order, or pass another --stub.",
        )
    parameters = [f"{stub.iterator} iter"]
    parameters += [f"{t} {s.name}" for t, s in zip(stub.scalars, scalars, strict=True)]
    head = f"static void {function_name(checked.name)}({', '.join(parameters)}) {{\n"
    if len(scalars) > 1:
        return _params_struct(entry) + head + _params_body(entry, stub) + "}\n"
    arguments = [f'"{checked.name}"']
    accepted = exec_parameters(checkout, entry.arity.exec_call)
    if scalars:
        if accepted and "alpha" not in accepted:
            raise PyMetalError(
                f"{entry.arity.exec_call} of this checkout takes no scalar but {checked.name} has one",
                hint="Ternary kernels take a scalar since torch 2.15: rebase the checkout.",
            )
        arguments += _alpha(entry, stub.scalars[0], scalars[0].name)
    elif _compares(entry) and "natural_output_dtype" in accepted:
        arguments += ["/*alpha=*/std::nullopt", "/*scalar_arg_type=*/std::nullopt", "/*natural_output_dtype=*/kBool"]
        if "ilp_threshold" in accepted:
            arguments.append(f"/*ilp_threshold=*/{_COMPARISON_THRESHOLD}")
    return f"{head}  lib.{entry.arity.exec_call}(iter, {', '.join(arguments)});\n}}\n"


def function_name(name: str) -> str:
    """What the static function of a functor is called."""
    return f"{name}_mps_kernel"


def plain_call(entry: Entry) -> str:
    """The call of a kernel that needs nothing but the iterator."""
    return f'lib.{entry.arity.exec_call}(iter, "{entry.checked.name}");'


def _compares(entry: Entry) -> bool:
    """True if the functor is registered for storing its bool in another dtype."""
    return entry.arity.castout is not None and all(o.function.result == ir.BOOL for o in entry.checked.overloads)


def _common(entry: Entry, element: DType) -> DType:
    """The iterator's common dtype where the input is `element`: integers of an int-to-float operator become float."""
    overload = entry.checked.overload(element)
    assert overload is not None
    result = ir.resolved(overload.function.result, element)
    integral = element.kind in dtypes.INTEGRAL
    return result if integral and result.kind in (Kind.FLOATING, Kind.COMPLEX) else element


def _alpha(entry: Entry, type_: str, name: str) -> list[str]:
    """The scalar as an argument, and the type in which the kernel's name has it.

    Raises:
        PyMetalError: no argument gives the type that every registration has.
    """
    value = name if type_.endswith("Scalar&") or type_ == "Scalar" else f"Scalar({name})"
    wanted = {e: entry.text.scalar_types[e] for e in entry.checked.domain}
    common = {e: _common(entry, e) for e in wanted}
    if all(common[e].metal == t for e, t in wanted.items()):
        return [value]
    if all(dtypes.at_opmath(common[e]).metal == t for e, t in wanted.items()):
        return [value, "at::toOpMathType(iter.common_dtype())"]
    if len(set(wanted.values())) == 1:
        return [value, f"k{dtypes.BY_METAL[next(iter(wanted.values()))].aten}"]
    shown = ", ".join(f"{e}: {t}" for e, t in wanted.items())
    raise PyMetalError(
        f"{entry.checked.name}: the host passes a scalar in one type for all dtypes but the functor takes {shown}",
        hint=f"Annotate {name} as T, as OpMath[T] for floating dtypes only, or with one concrete type.",
    )


# --- parameter structs -----------------------------------------------------------------------------------------------

_CPP_TYPES = {d.metal: d.cpp for d in dtypes.ALL if d.cpp}


def _params_struct(entry: Entry) -> str:
    """The host's view of the functor's parameter struct: the same members in the same order."""
    match = re.search(
        r"struct \w+_params \{\n(.*?)\};\n", entry.text.definitions[f"{entry.checked.name}_params"], re.DOTALL
    )
    assert match is not None
    members = []
    for type_, member in re.findall(r"^\s*(\w+) (\w+);$", match[1], re.MULTILINE):
        if type_ != "T" and type_ not in _CPP_TYPES:
            raise PyMetalError(f"{entry.checked.name}: a parameter struct cannot pass {type_} {member} to the kernel")
        members.append(f"  {_CPP_TYPES.get(type_, type_)} {member};\n")
    comment = f"// As in the kernel's file: {entry.checked.name}_params is bound as one argument.\n"
    return f"{comment}template <typename T>\nstruct {entry.checked.name}_params {{\n{''.join(members)}}};\n\n"


def _params_body(entry: Entry, stub: Stub) -> str:
    name = entry.checked.name
    scalars = entry.checked.overloads[0].function.scalars
    wanted = {e: entry.text.scalar_types[e].removeprefix(f"{name}_params_") for e in entry.checked.domain}
    common = {e: _common(entry, e) for e in wanted}
    if entry.arity.inputs > 2:
        raise PyMetalError(f"{name}: upstream binds parameter structs for unary and binary kernels only")
    call = f"{entry.arity.exec_call}_with_params"
    symbolic = {p.name: ir.resolve(p.type, dtypes.float16) for p in scalars}
    values = []
    for type_, param in zip(stub.scalars, scalars, strict=True):
        target = "params_t" if not isinstance(param.type, ir.Concrete) else None
        fixed = symbolic[param.name]
        assert fixed is not None
        chosen = target or _CPP_TYPES[fixed.metal]
        scalar = type_.endswith("Scalar&") or type_ == "Scalar"
        values.append(f"{param.name}.to<{chosen}>()" if scalar else f"static_cast<{chosen}>({param.name})")
    params = f"{name}_params<params_t> params{{{', '.join(values)}}};"

    def exec_line(type_name: str) -> str:
        return f'lib.{call}(iter, "{name}", params, {type_name});'

    if len(set(wanted.values())) == 1:
        only = next(iter(wanted.values()))
        call_line = exec_line(f'"{name}_params_{only}"')
        return f"  using params_t = {_CPP_TYPES[only]};\n  {params}\n  {call_line}\n"
    if any(common[e].metal != t for e, t in wanted.items()):
        shown = ", ".join(f"{e}: {t}" for e, t in wanted.items())
        raise PyMetalError(
            f"{name}: the host passes its scalars in the common dtype but the functor takes them as {shown}",
            hint="Annotate the scalars as T, or all with one concrete type.",
        )
    integral = any(c.kind in dtypes.INTEGRAL for c in common.values())
    macro = "AT_DISPATCH_ALL_TYPES_AND2" if integral else "AT_DISPATCH_FLOATING_TYPES_AND2"
    type_name = f'fmt::format("{name}_params_{{}}", mps::scalarToMetalTypeString(iter.common_dtype()))'
    return (
        f'  {macro}(kHalf, kBFloat16, iter.common_dtype(), "{name}_mps", [&]() {{\n'
        f"    using params_t = scalar_t;\n    {params}\n    {exec_line(type_name)}\n  }});\n"
    )


def extra_headers(entry: Entry) -> list[str]:
    """The headers that the function needs beyond those of every such file."""
    if len(entry.checked.overloads[0].function.scalars) > 1:
        return ["ATen/Dispatch.h", "fmt/format.h"]
    return []
