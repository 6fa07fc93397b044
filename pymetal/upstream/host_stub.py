"""The editor of `.mm` files: the function that a dispatch stub calls on MPS, and its registration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pymetal.codegen.format import same_text
from pymetal.codegen.metal_file import Entry
from pymetal.errors import PyMetalError
from pymetal.upstream import cpp
from pymetal.upstream.checkout import OPERATIONS, Checkout, line_of
from pymetal.upstream.host_function import extra_headers, function_name, function_text, plain_call
from pymetal.upstream.plan import Outcome, Plan
from pymetal.upstream.registration_macros import Registered
from pymetal.upstream.stubs import Stub

_REGISTER = re.compile(r"\bREGISTER_(?:MPS_)?DISPATCH\s*\(\s*(\w+)\s*,\s*&?\s*([\w:]+)\s*\)")
_REGISTER_LINE = re.compile(r"^REGISTER_(?:MPS_)?DISPATCH\s*\([^\n]*\)[ \t]*;?[ \t]*\n", re.MULTILINE)
_CLOSE = re.compile(r"^\}[ \t]*//[ \t]*namespace at::native\b", re.MULTILINE)
_TI_DISPATCH = "REGISTER_UNARY_TI_DISPATCH"
_LIBRARY = """\
#ifndef PYTORCH_JIT_COMPILE_SHADERS
static auto& lib = mps::MetalShaderLibrary::getBundledLibrary();
#else
#include <ATen/native/mps/{stem}_metallib.h>
#endif
"""


@dataclass(frozen=True)
class Dispatch:
    """A stub's MPS function, as the tree registers it."""

    stub: str
    function: str
    path: str
    line: int


def dispatches(checkout: Checkout) -> Iterator[Dispatch]:
    """Every registration of a stub for MPS."""
    for path in checkout.files(OPERATIONS, ".mm", ".cpp"):
        text = checkout.text(path)
        if "_DISPATCH" not in text:
            continue
        plain = cpp.masked(text)
        for match in _REGISTER.finditer(plain):
            if "##" not in plain[match.start() : match.end() + 40].split("\n")[0]:
                yield Dispatch(match[1], match[2], path, line_of(text, match.start()))
        known = cpp.macros(text)
        for call in cpp.invocations(text):
            macro = known.get(call.name)
            for match in _REGISTER.finditer(macro.expanded(call.arguments)) if macro else ():
                yield Dispatch(match[1], match[2], path, line_of(text, call.start))


def edit(checkout: Checkout, plan: Plan) -> Outcome:
    """The editor of `.mm` files: makes each dispatch stub of the plan call its kernel on MPS."""
    for target in plan.functors:
        path = f"{OPERATIONS}/{Path(target.file).stem}.mm"
        write_stub(checkout, target.entry, target.stub, path, replace=target.replace)
    for stub, registered in plan.registered:
        write_registered_stub(checkout, stub, registered)
    return Outcome()


def write_stub(checkout: Checkout, entry: Entry, stub: Stub, path: str, *, replace: bool = False) -> None:
    """Edits the `.mm` file `path` so that `stub` runs the functor's kernel; a missing file is made.

    A registration that runs this kernel already is left as it is.

    Raises:
        PyMetalError: the stub has another kernel, or its type does not fit the functor's scalars.
    """
    name = entry.checked.name
    function = function_text(checkout, entry, stub)
    existing = next((d for d in dispatches(checkout) if d.stub == stub.name), None)
    if existing is not None:
        _update(checkout, existing, entry, function, replace=replace)
        return
    like = stub.scalars == () and stub.iterator == "TensorIteratorBase&" and stub.name == f"{name}_stub"
    simple = like and plain_call(entry) in function
    _write(checkout, path, stub, function, name, extra_headers(entry), simple=simple)


def write_registered_stub(checkout: Checkout, stub: Stub, registered: Sequence[Registered]) -> None:
    """Makes `stub` run a functor that the tree registers already, in the `.mm` file beside its Metal file.

    Raises:
        PyMetalError: the stub passes several scalars, for which the functor's parameter struct would be needed.
    """
    first = registered[0]
    if len(stub.scalars) > 1:
        raise PyMetalError(
            f"{stub.name} passes {len(stub.scalars)} scalars, which a registration does not describe",
            hint="Write the functor for pymetal and place it with `pymetal upstream`.",
        )
    alpha = ", alpha" if stub.scalars else ""
    parameter = f", {stub.scalars[0]} alpha" if stub.scalars else ""
    function = (
        f"static void {function_name(first.name)}({stub.iterator} iter{parameter}) {{\n"
        f'  lib.{first.arity.exec_call}(iter, "{first.name}"{alpha});\n}}\n'
    )
    path = f"{OPERATIONS}/{first.path.rsplit('/', 1)[1].removesuffix('.metal')}.mm"
    _write(checkout, path, stub, function, first.name, [])


def _write(
    checkout: Checkout, path: str, stub: Stub, function: str, name: str, extra: Sequence[str], *, simple: bool = False
) -> None:
    """Puts the function and its registration into the file, or one line where the file has a macro for both."""
    text = checkout.plain(path) if checkout.exists(path) else _new_file(stub, path)
    for header in (stub.header, "ATen/native/mps/OperationUtils.h", *extra):
        text = cpp.with_include(text, header)
    text = _with_library(text, path)
    if simple and _TI_DISPATCH in cpp.macros(text):
        uses = list(re.finditer(rf"^{_TI_DISPATCH}\([^\n]*\n", text, re.MULTILINE))
        if not uses:
            raise PyMetalError(f"{path} has no {_TI_DISPATCH}(NAME) below which to put another one")
        text = f"{text[: uses[-1].end()]}{_TI_DISPATCH}({name});\n{text[uses[-1].end() :]}"
    else:
        text = _insert(text, function, _register_line(text, stub.name, function_name(name)))
    checkout.write_plain(path, text)


def _update(checkout: Checkout, existing: Dispatch, entry: Entry, function: str, *, replace: bool) -> None:
    """Leaves a registration that runs the kernel, rewrites another one if that is wanted."""
    text = checkout.plain(existing.path)
    name = entry.checked.name
    defined = next((f for f in cpp.functions(text) if f.name == existing.function.rsplit("::", 1)[-1]), None)
    if defined is None:  # made by a macro
        body = cpp.expanded(text)
        if re.search(rf'\b{entry.arity.exec_call}\w*\([^;]*"{name}"', body):
            return
    else:
        body = text[defined.start : defined.end]
        if same_text(body, function.strip()) or re.search(rf'\b{entry.arity.exec_call}\w*\([^;]*"{name}"', body):
            return
    if not replace or defined is None:
        place = f"{existing.path}:{existing.line}"
        raise PyMetalError(
            f'{place}: {existing.stub} runs {existing.function}, which does not call the kernel "{name}"',
            hint="Pass --replace to rewrite that function." if defined else "Change it by hand: a macro makes it.",
        )
    renamed = function.strip().replace(f"{function_name(name)}(", f"{defined.name}(", 1)
    edited = text[: defined.start] + renamed + text[defined.end :]
    checkout.write_plain(existing.path, edited)


# --- the file --------------------------------------------------------------------------------------------------------


def _new_file(stub: Stub, path: str) -> str:
    stem = path.rsplit("/", 1)[1].removesuffix(".mm")
    headers = sorted(["ATen/TensorIterator.h", "ATen/native/DispatchStub.h", stub.header])
    includes = "".join(f"#include <{h}>\n" for h in [*headers, "ATen/native/mps/OperationUtils.h"])
    library = _LIBRARY.format(stem=stem)
    opening = f"#define TORCH_ASSERT_ONLY_METHOD_OPERATORS\n{includes}"
    return f"{opening}\nnamespace at::native {{\n\n{library}\n}} // namespace at::native\n"


def _insert(text: str, function: str, register: str) -> str:
    """Puts the function before the last block of registrations, and its registration at the end of the block."""
    found = list(_REGISTER_LINE.finditer(text))
    if not found:
        close = list(_CLOSE.finditer(text)) or list(re.finditer(r"^\}", text, re.MULTILINE))
        if not close:
            raise PyMetalError("the file has no `} // namespace at::native` before which to put a function")
        at = close[-1].start()
        return f"{text[:at].rstrip()}\n\n{function}\n{register}\n{text[at:]}"
    first = last = found[-1]
    for match in reversed(found[:-1]):
        if text[match.end() : first.start()].strip():
            break
        first = match
    return f"{text[: first.start()]}{function}\n{text[first.start() : last.end()]}{register}{text[last.end() :]}"


def _register_line(text: str, stub: str, function: str) -> str:
    """A registration in the manner of the file's last one: with or without `&` and `;`."""
    found = list(_REGISTER_LINE.finditer(text))
    if not found:
        return f"REGISTER_DISPATCH({stub}, {function});\n"
    line = found[-1].group()
    macro = line[: line.index("(")].strip()
    return f"{macro}({stub}, {'&' if '&' in line else ''}{function}){';' if ';' in line else ''}\n"


def _with_library(text: str, path: str) -> str:
    """`text` with the pair of lines that reach the Metal library, which only newer files have."""
    if re.search(r"\bauto& lib\b|_metallib\.h", text):
        return text
    match = re.search(r"^namespace at::native \{[ \t]*\n", text, re.MULTILINE)
    if match is None:
        raise PyMetalError(
            f"{path} has no `namespace at::native {{` in which the Metal library could be reached",
            hint="Pass --file NAME.metal for a pair of files of its own.",
        )
    library = _LIBRARY.format(stem=path.rsplit("/", 1)[1].removesuffix(".mm"))
    return f"{text[: match.end()]}\n{library}\n{text[match.end() :].lstrip(chr(10))}"
