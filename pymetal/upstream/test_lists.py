"""The entries of an operator leave the xfail and skip lists of `common_mps.py`; decorators elsewhere are reported.

The lists are dicts, sets and lists assigned inside functions to names with XFAIL or SKIP in them. Which those are
changes between releases, so they are found by name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pymetal.errors import PyMetalError
from pymetal.upstream.checkout import COMMON_MPS, OPINFO_FILES, Checkout, with_endings_of

_LIST = re.compile(r"XFAIL|SKIP")
_COMPLEX = "UNSUPPORTED_COMPLEX_OPS"
_COMPLEX_BEFORE_2_15 = "SUPPORTED_COMPLEX_OPS"
_DECORATOR = re.compile(r"expectedFailureMPS\w*|skipMPS\w*|skipIfMPS\w*")
_INFO = re.compile(r"(?:OpInfo|\w*UfuncInfo|\w*ShapeFuncInfo)")


@dataclass(frozen=True)
class Removed:
    """An entry that left a list."""

    list: str
    key: str
    line: int  # in the file before the edit
    kept: tuple[str, ...] = ()  # dtypes that the kernel has not, for which the entry stays


@dataclass(frozen=True)
class Added:
    """An operator that joined a list: of those that take complex numbers, before torch 2.15."""

    list: str
    key: str
    line: int  # in the file before the edit, the one after which it is


@dataclass(frozen=True)
class Decorator:
    """An expected failure or a skip on MPS in an operator's OpInfo."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class OpInfo:
    """Where an operator is described for testing."""

    op: str
    key: str  # name and variant, as `common_mps.py` writes them
    path: str
    line: int
    end: int
    autograd: bool = True  # whether its gradients are tested


def clear_entries(checkout: Checkout, keys: Collection[str], dtypes: Collection[str] | None) -> list[Removed]:
    """Takes the entries `keys` out of the lists of `common_mps.py`.

    Args:
        dtypes: the torch dtypes that the kernel has, such as `float32`; an entry that lists others keeps those. None
            if they are not known: the whole entry leaves.
    """
    if not checkout.exists(COMMON_MPS):
        return []
    text = checkout.text(COMMON_MPS)
    plain = text.replace("\r\n", "\n")
    edited, removed = clear_text(plain, keys, dtypes)
    if edited != plain:
        checkout.write(COMMON_MPS, with_endings_of(text, edited))
    return removed


def join_complex(checkout: Checkout, infos: Collection[OpInfo]) -> list[Added]:
    """Puts operators into the list of those that take complex numbers on MPS, where the release has that list."""
    if not checkout.exists(COMMON_MPS):
        return []
    text = checkout.text(COMMON_MPS)
    edited, added = join_complex_text(text.replace("\r\n", "\n"), [info.key for info in infos])
    if added:
        checkout.write(COMMON_MPS, with_endings_of(text, edited))
    return added


def join_complex_text(text: str, keys: Collection[str]) -> tuple[str, list[Added]]:
    """The same, for a text with line feeds."""
    source = _Source(text)
    for name, value in _lists(source.tree, _COMPLEX_BEFORE_2_15):
        there = {e.value for e in getattr(value, "elts", ()) if isinstance(e, ast.Constant)}
        missing = [key for key in dict.fromkeys(keys) if key not in there]
        if not missing or not isinstance(value, (ast.Set, ast.List)) or not value.elts:
            continue
        last = value.elts[-1]
        start, end = source.start(last), source.end(last)
        indent = text[text.rfind("\n", 0, start) + 1 : start]
        gap = f"\n{indent}" if not indent.strip() else " "
        new = "".join(f',{gap}"{key}"' for key in missing)
        return text[:end] + new + text[end:], [Added(name, key, last.lineno) for key in missing]
    return text, []


def clear_text(text: str, keys: Collection[str], dtypes: Collection[str] | None) -> tuple[str, list[Removed]]:
    """The same, for a text with line feeds."""
    source = _Source(text)
    cuts: list[tuple[int, int, str]] = []
    removed: list[Removed] = []
    for name, value in _lists(source.tree):
        if name == _COMPLEX and (dtypes is None or not {"complex64", "chalf", "complex32"} & set(dtypes)):
            continue
        elements = _elements(value)
        gone = 0
        for key, node in elements:
            if not (isinstance(key, ast.Constant) and key.value in keys):
                continue
            listed = node.elts if isinstance(node, (ast.List, ast.Tuple)) else None
            stays = [e for e in listed or [] if dtypes is not None and _dtype(e) not in dtypes]
            removed.append(Removed(name, str(key.value), key.lineno, tuple(_dtype(e) for e in stays)))
            if listed is not None and stays:
                cuts += [source.element(e) for e in listed if e not in stays]
                if len(stays) == len(listed):
                    removed.pop()
                continue
            gone += 1
            cuts.append(source.element(key, node))
        if isinstance(value, ast.Set) and gone == len(elements) > 0:
            # An empty pair of braces is a dict.
            cuts = [c for c in cuts if not source.start(value) <= c[0] < source.end(value)]
            cuts.append((source.start(value), source.end(value), "set()"))
    for start, end, instead in reversed(_merged(cuts)):
        text = text[:start] + instead + text[end:]
    return text, removed


def difference(before: str, after: str) -> tuple[list[Removed], list[Added]]:
    """The entries that `after` has no more, or with fewer dtypes, and those that joined a list of complex operators."""
    old, new = _entries(before), _entries(after)
    removed = []
    for (name, key), (dtypes, line) in old.items():
        kept = new.get((name, key))
        joins = name == _COMPLEX_BEFORE_2_15
        if not joins and (kept is None or (dtypes and kept[0] and not set(dtypes) <= set(kept[0]))):
            removed.append(Removed(name, key, line, kept[0] if kept else ()))
    added = [Added(n, key, line) for (n, key), (_, line) in new.items() if n == _COMPLEX_BEFORE_2_15]
    return removed, [entry for entry in added if (entry.list, entry.key) not in old]


def _entries(text: str) -> dict[tuple[str, str], tuple[tuple[str, ...], int]]:
    """The entries of every list, with their dtypes, none for all, and their lines."""
    tree = _parse(COMMON_MPS, text)
    found: dict[tuple[str, str], tuple[tuple[str, ...], int]] = {}
    for name, value in [*_lists(tree), *_lists(tree, _COMPLEX_BEFORE_2_15)]:
        for key, node in _elements(value):
            if isinstance(key, ast.Constant):
                listed = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
                found[name, str(key.value)] = tuple(_dtype(e) for e in listed), key.lineno
    return found


def _merged(cuts: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """The cuts in order, those that overlap as one: two neighbours both take the comma between them."""
    merged: list[tuple[int, int, str]] = []
    for start, end, instead in sorted(cuts):
        if merged and start < merged[-1][1]:
            first = merged.pop()
            start, end, instead = first[0], max(first[1], end), first[2] + instead
        merged.append((start, end, instead))
    return merged


def opinfo_keys(checkout: Checkout, ops: Collection[str]) -> list[OpInfo]:
    """The OpInfos of operators, by aten name: `special_erfcx` is `special.erfcx`, `silu` `nn.functional.silu`."""
    found = []
    for path in _opinfo_files(checkout):
        text = checkout.text(path)
        if not any(op.removeprefix("special_") in text for op in ops):
            continue
        for node in ast.walk(_parse(path, text)):
            if not (isinstance(node, ast.Call) and _INFO.fullmatch(_called(node)) and node.args):
                continue
            name = node.args[0]
            if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
                continue
            options = {k.arg: k.value.value for k in node.keywords if k.arg and isinstance(k.value, ast.Constant)}
            aten = options.get("aten_name") or name.value.replace("nn.functional.", "").replace(".", "_")
            if aten in ops:
                key = name.value + str(options.get("variant_test_name") or "")
                autograd = options.get("supports_autograd") is not False
                found.append(OpInfo(str(aten), key, path, node.lineno, node.end_lineno or node.lineno, autograd))
    return found


def decorators(checkout: Checkout, infos: Collection[OpInfo]) -> list[Decorator]:
    """The decorators in these OpInfos that expect a failure on MPS, or skip it."""
    found = []
    for path in {info.path for info in infos}:
        text = checkout.text(path)
        lines = text.split("\n")
        for node in ast.walk(_parse(path, text)):
            word = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            about = isinstance(node, ast.Call) and any(
                k.arg == "device_type" and isinstance(k.value, ast.Constant) and k.value.value == "mps"
                for k in node.keywords
            )
            if not (_DECORATOR.fullmatch(word) or about):
                continue
            line = getattr(node, "lineno", 0)
            if any(i.path == path and i.line <= line <= i.end for i in infos):
                end = getattr(node, "end_lineno", None) or line
                shown = " ".join(text.strip() for text in lines[line - 1 : end])
                found.append(Decorator(path, line, shown.replace("( ", "(").replace(", )", ")")))
    return sorted(set(found), key=lambda d: (d.path, d.line))


def default_keys(ops: Collection[str]) -> set[str]:
    """The keys that an operator has if no OpInfo says otherwise."""
    keys = set()
    for op in ops:
        keys |= {op, f"nn.functional.{op}"}
        if op.startswith("special_"):
            keys.add(f"special.{op.removeprefix('special_')}")
    return keys


def _opinfo_files(checkout: Checkout) -> list[str]:
    found: list[str] = []
    for path in OPINFO_FILES:
        found += [path] if path.endswith(".py") and checkout.exists(path) else checkout.files(path, ".py")
    return found


def _parse(path: str, text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise PyMetalError(f"{path}:{error.lineno}: Python cannot read this file: {error.msg}") from error


def _lists(tree: ast.Module, only: str | None = None) -> Iterator[tuple[str, ast.Dict | ast.Set | ast.List]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        value = node.value
        for target in targets:
            if not isinstance(target, ast.Name) or not isinstance(value, (ast.Dict, ast.Set, ast.List)):
                continue
            if target.id == only or (only is None and (_LIST.search(target.id) or target.id == _COMPLEX)):
                yield target.id, value


def _elements(value: ast.Dict | ast.Set | ast.List) -> list[tuple[ast.expr | None, ast.expr]]:
    if isinstance(value, ast.Dict):
        return list(zip(value.keys, value.values, strict=True))
    return [(e, e) for e in value.elts]


def _dtype(node: ast.expr) -> str:
    """`float32` for `torch.float32`."""
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


class _Source:
    """A Python file whose nodes are found in its text; `ast` counts columns in UTF-8 bytes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = _parse(COMMON_MPS, text)
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def start(self, node: ast.expr) -> int:
        """Where a node begins."""
        return self._position(node.lineno, node.col_offset)

    def end(self, node: ast.expr) -> int:
        """Where it ends."""
        return self._position(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def _position(self, line: int, column: int) -> int:
        start = self._starts[line - 1]
        content = self.text[start : self._starts[line] - 1]
        return start + len(content.encode("utf-8", "surrogateescape")[:column].decode("utf-8", "surrogateescape"))

    def element(self, first: ast.expr, last: ast.expr | None = None) -> tuple[int, int, str]:
        """An element with its comma, and with its lines if it has them to itself."""
        start, end = self.start(first), self.end(last if last is not None else first)
        comma = re.compile(r"\s*,").match(self.text, end)
        end = comma.end() if comma else end
        line_start = self.text.rfind("\n", 0, start) + 1
        rest = re.compile(r"[ \t]*(?:#[^\n]*)?(\n|$)").match(self.text, end)
        if not self.text[line_start:start].strip() and rest is not None:
            return line_start, rest.end(), ""
        if comma is None:  # the last of a line: the comma before it goes
            before = re.compile(r",[ \t]*$").search(self.text, 0, start)
            start = before.start() if before else start
        else:
            end += len(self.text[end:]) - len(self.text[end:].lstrip(" "))
        return start, end, ""
