"""The kernels that host code asks for by name must be registered: for the arity, the scalar and the output it uses."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pymetal import dtypes
from pymetal.arity import ARITIES, Arity
from pymetal.upstream import cpp
from pymetal.upstream.checkout import OPERATIONS, Checkout, line_of
from pymetal.upstream.registration_macros import Registered, library_macros

_CALL = re.compile(rf"\blib\.({'|'.join(a.exec_call for a in ARITIES)})(_with_params)?\s*\(")
# `scalar_arg_type` as upstream writes it.
_FIXED = {
    f"{prefix}{dtype.aten}": dtype.metal
    for dtype in dtypes.ALL
    for prefix in ("k", "at::k", "c10::k", "ScalarType::", "at::ScalarType::", "c10::ScalarType::")
}


@dataclass(frozen=True)
class HostCall:
    """A call of an `exec_*_kernel` with a literal name."""

    kernel: str
    arity: Arity
    alpha: bool
    alpha_type: str | None  # the expression for `scalar_arg_type`; None if it is left to the host
    params: bool
    natural_bool: bool
    path: str
    line: int


def host_calls(checkout: Checkout) -> Iterator[HostCall]:
    """The calls in the MPS folder, macros of the same file expanded."""
    by_call = {a.exec_call: a for a in ARITIES}
    for path in checkout.files(OPERATIONS, ".mm"):
        text = checkout.text(path)
        if "exec_" not in text:
            continue
        literal = re.compile(r'^"(\w+)"$')
        for source in (text, cpp.expanded(text)):
            plain = cpp.masked(source, strings=False)
            for match in _CALL.finditer(plain):
                arguments = cpp.split_arguments(plain[match.end() : cpp.closing(plain, match.end() - 1)])
                named = literal.match(arguments[1]) if len(arguments) > 1 else None
                if named is None:
                    continue
                rest = [*arguments[2:], "", "", ""]
                given = rest[0] not in ("", "std::nullopt", "c10::nullopt")
                # The expanded text has other line numbers: there the call is found by its macro's argument.
                at = text.find(f'"{named[1]}"')
                at = at if at >= 0 else max(0, (m.start() if (m := re.search(rf"\({named[1]}\)", text)) else 0))
                line = line_of(text, match.start()) if source is text else line_of(text, at)
                chosen = rest[1] if given and rest[1] not in ("", "std::nullopt") else None
                natural = rest[2] in ("kBool", "at::kBool", "ScalarType::Bool")
                params = match[2] is not None
                yield HostCall(named[1], by_call[match[1]], given, chosen, params, natural, path, line)


def check_host_calls(checkout: Checkout, registered: Iterable[Registered]) -> list[tuple[str, int, str]]:
    """The calls whose kernels no Metal file registers, as (path, line, message)."""
    by_name: dict[str, list[Registered]] = defaultdict(list)
    for r in registered:
        by_name[r.name].append(r)
    castouts = "REGISTER_BINARY_CASTOUT_OP" in library_macros(checkout)
    found: dict[tuple[str, str, str], tuple[str, int, str]] = {}
    for call in host_calls(checkout):
        candidates = [r for r in by_name[call.kernel] if r.arity == call.arity and (r.alpha is not None) == call.alpha]
        message = _problem(call, candidates, castouts)
        if message is not None:
            found.setdefault((call.path, call.kernel, message), (call.path, call.line, message))
    return list(found.values())


def _problem(call: HostCall, candidates: list[Registered], castouts: bool) -> str | None:
    plain = [r for r in candidates if not r.castout]
    if not plain:
        scalar = " with a scalar" if call.alpha else ""
        return f'no Metal file registers the {call.arity.name} kernel "{call.kernel}"{scalar}'
    if call.natural_bool and castouts:
        missing = {r.input for r in plain} - {r.input for r in candidates if r.castout}
        if missing:
            return f'"{call.kernel}" has no {call.arity.name} castout kernel for {", ".join(sorted(missing))}'
    if call.alpha and not call.params:
        wrong = []
        for r in plain:
            built = _alpha_type(call, r)
            if built is not None and not any(o.input == r.input and o.alpha == built for o in plain):
                wrong.append(f"{call.kernel}_dense_{r.output}_{r.input}_{built}")
        if wrong:
            return f"the host builds kernel names that no Metal file registers: {', '.join(sorted(set(wrong)))}"
    return None


def _alpha_type(call: HostCall, r: Registered) -> str | None:
    """The scalar's type in the name that the host builds for the dtypes of `r`; None if that cannot be told."""
    known = dtypes.BY_METAL.get(r.input)
    if known is None or r.output not in dtypes.BY_METAL:
        return None
    integral = known.kind in dtypes.INTEGRAL
    floats = dtypes.BY_METAL[r.output].kind is dtypes.Kind.FLOATING
    common = r.output if integral and floats else r.input
    if call.alpha_type is None or call.alpha_type == "iter.common_dtype()":
        return common
    if "toOpMathType" in call.alpha_type:
        return dtypes.at_opmath(dtypes.BY_METAL[common]).metal
    return _FIXED.get(call.alpha_type)
