"""The editor of MPSGraph code: removes the kernels of migrated rows, and the includes that only they used."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from pymetal.dtypes import WORDS
from pymetal.upstream import cpp
from pymetal.upstream.checkout import NATIVE, OPERATIONS, YAML, Checkout, line_of
from pymetal.upstream.native_functions import NativeFunctions, Row, operators
from pymetal.upstream.plan import Outcome, Plan, Removal

_SOURCES = (".mm", ".cpp", ".h", ".cu", ".cuh", ".metal")
_CODE = (*_SOURCES, ".py", ".pyi", ".yaml", ".cc", ".cmake")
_INCLUDE = re.compile(r"^#include <ATen/ops/(\w+?)(_native)?\.h>[ \t]*\n", re.MULTILINE)
_STATIC = re.compile(r"^static\b", re.MULTILINE)


def edit(checkout: Checkout, plan: Plan) -> Outcome:
    """The editor of MPSGraph code: removes the kernels that the shared rows had."""
    changed = plan.changed(checkout)
    removals = remove(checkout, [old for old, _ in changed.values() if old is not None])
    notes: list[str] = []
    for removal in removals:
        if removal.kept:
            notes.append(f"{removal.kernel} stays: it is used in {', '.join(removal.kept)}")
        elif not removal.removed:
            notes.append(f"{removal.kernel}: no definition was found in {OPERATIONS}")
        notes += [
            f"{orphan} is not called any more: remove it, since compilers warn about unused functions"
            for orphan in removal.orphans
        ]
    if removals and plan.functors:
        ops = operators(checkout.text(YAML), (name for name, (old, _) in changed.items() if old is not None))
        notes += [note for op in sorted(ops) if (note := _unserved(op, plan.dtypes[op]))]
    return Outcome(legacy=tuple(removals), notes=tuple(notes))


def _unserved(op: str, dtypes: Collection[str]) -> str | None:
    """A note about the dtypes that the removed kernel may have supported, and the functor does not."""
    missing = [str(d) for word in WORDS.values() for d in word if d.name.rstrip("_") not in dtypes]
    if not missing:
        return None
    return (
        f"{op} replaces MPS's own kernel but is not registered for {', '.join(missing)}: register "
        "them, unless torch does not support them on MPS"
    )


def remove(checkout: Checkout, kernels: Iterable[str]) -> list[Removal]:
    """Removes the definitions of `kernels`, which no row names any more.

    A kernel that other code calls stays, and so does one whose definition is not found.
    """
    before = NativeFunctions(checkout.original(YAML) or "")
    removable = [k for k in dict.fromkeys(kernels) if not is_named(checkout, k)]
    uses = {k: find_uses(checkout, k, removable) for k in removable}
    while any(uses[k] for k in removable):  # a kernel that stays may itself use another one
        removable = [k for k in removable if not uses[k]]
        uses.update({k: find_uses(checkout, k, removable) for k in removable})
    done = [Removal(k, (), tuple(found)) for k, found in uses.items() if found]
    for kernel in removable:
        removed: list[str] = []
        orphans: list[str] = []
        for path in checkout.files(OPERATIONS, ".mm", ".cpp"):
            text = checkout.plain(path)
            if kernel not in text:
                continue
            cut, lines = _without_definition(text, kernel)
            if not lines:
                continue
            orphans += [f"{path}:{line_of(cut, at)}: {name}" for name, at in _orphans(text, cut)]
            cut = _without_includes(cut, kernel, before)
            checkout.write_plain(path, _without_unused(text, cut))
            removed += [f"{path}:{line}" for line in lines]
        done.append(Removal(kernel, tuple(removed), (), tuple(orphans)))
    return done


def mentions(checkout: Checkout, kernels: Collection[str]) -> list[tuple[str, int, str]]:
    """Where code anywhere in the tree still names a removed kernel, as (path, line, kernel); comments do not count."""
    found = []
    for path in checkout.containing(kernels, *_CODE):
        text = checkout.text(path)
        plain = cpp.masked(text) if path.endswith(_SOURCES) else re.sub(r"(?m)#.*$", "", text)
        for kernel in kernels:
            found += [
                (path, line_of(plain, m.start()), kernel) for m in re.finditer(rf"\b(?:structured_)?{kernel}\b", plain)
            ]
    return found


def called_kernels(checkout: Checkout, kernel: str) -> list[str]:
    """The Metal kernels that a legacy kernel calls by name: some have been native before they shared a stub."""
    names: list[str] = []
    for path in checkout.files(OPERATIONS, ".mm"):
        text = checkout.text(path)
        if kernel in text:
            for start, end in definitions(text, kernel):
                names += re.findall(r'\bexec_\w+_kernel(?:_with_params)?\([^;"]*"(\w+)"', text[start:end])
    return names


def is_named(checkout: Checkout, kernel: str) -> bool:
    """True if a row of the yaml leads to the kernel."""
    return any(
        line.kernel == kernel for row in NativeFunctions(checkout.text(YAML)).rows.values() for line in row.dispatch
    )


def find_uses(checkout: Checkout, kernel: str, removable: Iterable[str]) -> list[str]:
    """Where the tree's native code uses a kernel, as `path:line`.

    Definitions and declarations do not count, and neither does what stands inside the kernels that are `removable` too.
    """
    word = re.compile(rf"\b(?:structured_)?{kernel}\b")
    found = []
    for path in checkout.files(NATIVE, *_SOURCES):
        text = checkout.text(path)
        if kernel not in text:
            continue
        plain = cpp.masked(text)
        spans = [span for name in {kernel, *removable} if name in text for span in definitions(text, name)]
        for match in word.finditer(plain):
            inside = any(start <= match.start() < end for start, end in spans)
            if not inside and not _declares(plain, match.start()):
                found.append(f"{path}:{line_of(text, match.start())}")
    return found


def definitions(text: str, kernel: str) -> list[tuple[int, int]]:
    """Where the kernel is defined: functions, `TORCH_IMPL_FUNC`s, and macro calls that stand for either."""
    found = [(f.start, f.end) for f in cpp.functions(text) if f.name == kernel]
    known = cpp.macros(text)
    for call in cpp.invocations(text):
        macro = known.get(call.name)
        if macro is not None and kernel in call.arguments[:1]:
            found.append((call.start, call.end))
    return sorted(found)


def _declares(plain: str, position: int) -> bool:
    """True for a declaration: the name, brackets, a semicolon, and a type before it."""
    start = plain.rfind("\n", 0, position) + 1
    if not re.fullmatch(r"(?:[A-Za-z_][\w:<>,*& \t]*)?[\w>&*][ \t&*]+", plain[start:position]):
        return False
    opening = re.compile(r"\w+\s*\(").match(plain, position)
    if opening is None or re.match(r"\s*return\b", plain[start:position]):
        return False
    close = cpp.closing(plain, opening.end() - 1)
    return plain[close + 1 :].lstrip().startswith(";")


def _without_definition(text: str, kernel: str) -> tuple[str, list[int]]:
    """`text` without the definitions, the comments directly above them and one of the blank lines around."""
    spans = definitions(text, kernel)
    lines = [line_of(text, start) for start, _ in spans]
    for start, end in reversed(spans):
        while True:
            above = text.rfind("\n", 0, max(start - 1, 0)) + 1
            if above >= start or not text[above:start].startswith("//"):
                break
            start = above
        newline = text.find("\n", end)
        end = len(text) if newline < 0 else newline + 1
        blank_before = text[:start].endswith("\n\n")
        if blank_before and text[end:].startswith("\n"):
            end += 1
        text = text[:start] + text[end:]
    return text, lines


def _without_includes(text: str, kernel: str, rows: NativeFunctions) -> str:
    """`text` without `ATen/ops/OP_native.h` of the kernel's operator, unless other kernels of it are here."""
    owners = {row.name.split(".")[0] for row in rows.rows.values() if any(x.kernel == kernel for x in row.dispatch)}
    words = _words(text)
    for match in reversed(list(_INCLUDE.finditer(text))):
        op = match[1]
        if match[2] is None or not owners & {op, f"{op}_"}:
            continue
        declared = {w for row in rows.of_operator(op) for w in _declared_by(row)}
        if not words & declared:
            text = text[: match.start()] + text[match.end() :]
    return text


def _without_unused(before: str, after: str) -> str:
    """`after` without the includes of operators that only the removed code called: `at::op`, `at::mps::op_outf`."""
    used, left = _words(before), _words(after)
    for match in reversed(list(_INCLUDE.finditer(after))):
        op = re.sub(r"_(?:mps|cpu|cuda)_dispatch$", "", match[1])
        forms = {op, f"{op}_", f"{op}_out", f"{op}_outf"}
        if match[2] is None and forms & used and not forms & left:
            after = after[: match.start()] + after[match.end() :]
    return after


def _words(text: str) -> set[str]:
    """The names in a file's code, those in its includes left out."""
    return set(re.findall(r"\w+", re.sub(r"^#include[^\n]*", "", cpp.masked(text), flags=re.MULTILINE)))


def _declared_by(row: Row) -> list[str]:
    """The functions that a row puts into its operator's native header."""
    names = [line.kernel for line in row.dispatch]
    if not names and "structured_delegate" not in row.keys:
        names = [row.name.split(".")[0]]
    return names + [f"structured_{name}" for name in names]


def _orphans(before: str, after: str) -> list[tuple[str, int]]:
    """The static functions of `after` that were called before and are not now."""
    plain_before, plain_after = cpp.masked(before), cpp.masked(after)
    found = []
    for function in cpp.functions(after):
        if not _STATIC.match(plain_after, function.start):
            continue
        word = re.compile(rf"\b{function.name}\b")
        if len(word.findall(plain_after)) == 1 < len(word.findall(plain_before)):
            found.append((function.name, function.start))
    return found
