"""The editor of `common_mps.py`: removes operators from its lists of expected failures; reports decorators elsewhere.

The lists are dicts, sets and lists assigned inside functions to names with XFAIL or SKIP in them. Which those are
changes between releases, so they are found by name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from pymetal.upstream.checkout import COMMON_MPS, DERIVATIVES, Checkout, line_of, parse_python
from pymetal.upstream.opinfos import decorators, opinfo_keys
from pymetal.upstream.plan import ListEntry, Outcome, Plan, Step

_LIST = re.compile(r"XFAIL|SKIP")
_COMPLEX = "UNSUPPORTED_COMPLEX_OPS"
_COMPLEX_BEFORE_2_15 = "SUPPORTED_COMPLEX_OPS"


def edit(checkout: Checkout, plan: Plan) -> Outcome:
    """The editor of `common_mps.py`: the operators' entries leave the lists of expected failures and skips."""
    ops = plan.operators(checkout)
    infos = opinfo_keys(checkout, ops)
    notes: list[str] = []
    if ops and not checkout.exists(COMMON_MPS):
        notes.append(
            f"{COMMON_MPS} is not in this checkout: look for expected failures and skips of "
            f"{', '.join(ops)} by hand; before torch 2.8 they are in test/test_mps.py"
        )
    changed = bool(checkout.changed)  # entries of an operator that was here before are somebody else's
    text = before = checkout.plain(COMMON_MPS) if ops and checkout.exists(COMMON_MPS) else ""
    removed: list[ListEntry] = []
    added: list[ListEntry] = []
    for op in ops if text else ():
        keys = [info.key for info in infos if info.op == op]
        dtypes = plan.dtypes.get(op)
        if changed:
            text, entries = clear_text(text, {*keys, *default_keys([op])}, dtypes)
            removed += entries
        if "complex64" in (dtypes or ()):
            text, entries = join_complex_text(text, keys)
            added += entries
    if text != before:
        checkout.write_plain(COMMON_MPS, text)
    steps = []
    for found in decorators(checkout, infos):
        message = f"a decorator expects MPS to fail, or skips it; remove it if the tests pass: {found.text}"
        steps.append(Step(found.path, found.line, message))
    if any(before is None for before, _ in plan.changed(checkout).values()):
        steps += gradient_steps(checkout, [(info.op, info.key) for info in infos if info.autograd])
    return Outcome(tests=tuple(removed), complex=tuple(added), steps=tuple(steps), notes=tuple(notes))


def join_complex_text(text: str, keys: Collection[str]) -> tuple[str, list[ListEntry]]:
    """`text` with operators in the list of those that take complex numbers on MPS, where the release has that list."""
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
        return text[:end] + new + text[end:], [ListEntry(name, key, last.lineno) for key in missing]
    return text, []


def clear_text(text: str, keys: Collection[str], dtypes: Collection[str] | None) -> tuple[str, list[ListEntry]]:
    """`text` without the entries `keys` in the lists of expected failures and skips.

    Args:
        dtypes: the torch dtypes that the kernel has, such as `float32`; an entry that lists others keeps those. None
            if they are not known: the whole entry leaves.
    """
    source = _Source(text)
    cuts: list[tuple[int, int, str]] = []
    removed: list[ListEntry] = []
    for name, value in _lists(source.tree):
        if name == _COMPLEX and (dtypes is None or not {"complex64", "chalf", "complex32"} & set(dtypes)):
            continue
        elements = _elements(value)
        removed_count = 0
        for key, node in elements:
            if not (isinstance(key, ast.Constant) and key.value in keys):
                continue
            listed = node.elts if isinstance(node, (ast.List, ast.Tuple)) else None
            staying = [e for e in listed or [] if dtypes is not None and _dtype(e) not in dtypes]
            removed.append(ListEntry(name, str(key.value), key.lineno, tuple(_dtype(e) for e in staying)))
            if listed is not None and staying:
                cuts += [source.element(e) for e in listed if e not in staying]
                if len(staying) == len(listed):
                    removed.pop()
                continue
            removed_count += 1
            cuts.append(source.element(key, node))
        if isinstance(value, ast.Set) and removed_count == len(elements) > 0:
            # An empty pair of braces is a dict.
            cuts = [c for c in cuts if not source.start(value) <= c[0] < source.end(value)]
            cuts.append((source.start(value), source.end(value), "set()"))
    for start, end, instead in reversed(_merged(cuts)):
        text = text[:start] + instead + text[end:]
    return text, removed


def difference(before: str, after: str) -> tuple[list[ListEntry], list[ListEntry]]:
    """The entries that `after` has no more, or with fewer dtypes, and those that joined a list of complex operators."""
    old, new = _entries(before), _entries(after)
    removed = []
    for (name, key), (dtypes, line) in old.items():
        kept = new.get((name, key))
        joins = name == _COMPLEX_BEFORE_2_15
        if not joins and (kept is None or (dtypes and kept[0] and not set(dtypes) <= set(kept[0]))):
            removed.append(ListEntry(name, key, line, kept[0] if kept else ()))
    added = [ListEntry(n, key, line) for (n, key), (_, line) in new.items() if n == _COMPLEX_BEFORE_2_15]
    return removed, [entry for entry in added if (entry.list, entry.key) not in old]


def _entries(text: str) -> dict[tuple[str, str], tuple[tuple[str, ...], int]]:
    """The entries of every list, with their dtypes, none for all, and their lines."""
    tree = parse_python(COMMON_MPS, text)
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


def gradient_steps(checkout: Checkout, infos: Collection[tuple[str, str]]) -> list[Step]:
    """Operators without a derivative, whose gradient tests fail as soon as they run: each as (operator, OpInfo key)."""
    if not checkout.exists(DERIVATIVES) or not checkout.exists(COMMON_MPS):
        return []
    formulas, tests = checkout.text(DERIVATIVES), checkout.text(COMMON_MPS)
    grad = re.search(r"^[ \t]*XFAILLIST_GRAD\b", tests, re.MULTILINE)
    steps = []
    for op, key in infos:
        block = re.search(rf"^- name: {op}\(.*?(?=^- name:|\Z)", formulas, re.MULTILINE | re.DOTALL)
        if (block is None or "not_implemented" in block.group()) and grad is not None:
            message = f"{op} has no derivative for some input; if its gradient test fails, add to XFAILLIST_GRAD"
            steps.append(Step(COMMON_MPS, line_of(tests, grad.start()), message, f'"{key}": None,'))
    return steps


def default_keys(ops: Collection[str]) -> set[str]:
    """The keys that an operator has if no OpInfo says otherwise."""
    keys = set()
    for op in ops:
        keys |= {op, f"nn.functional.{op}"}
        if op.startswith("special_"):
            keys.add(f"special.{op.removeprefix('special_')}")
    return keys


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


class _Source:
    """A Python file whose nodes are found in its text; `ast` counts columns in UTF-8 bytes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = parse_python(COMMON_MPS, text)
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
