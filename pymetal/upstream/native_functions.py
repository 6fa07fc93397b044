"""`native_functions.yaml` as lines: MPS shares the dispatch line of the CPU kernel, and every other byte stays.

Nothing is parsed and printed again, so comments, spacing, key order and split lines survive. `table` reads what a file
says; `dispatch_table` compares that with torchgen's own reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pymetal.errors import PyMetalError, nearest
from pymetal.upstream.checkout import newline_of

_FUNC = re.compile(r"- ['\"]?func['\"]?: *['\"]?(?P<name>\w+(?:\.\w+)?)\(")
_KEY = re.compile(r"  (?P<q>['\"]?)(?P<key>\w+)(?P=q)\s*:\s*(?P<value>.*?)\s*$")
_DISPATCH = re.compile(
    r"\s+(?P<q>['\"]?)(?P<keys>\w+(?:\s*,\s*\w+)*)\s*(?P=q)\s*:"
    r"\s*(?P<r>['\"]?)(?P<kernel>[\w:]+)(?P=r)\s*(?:#.*)?$"
)


@dataclass(frozen=True)
class Line:
    """One line of a dispatch map."""

    number: int  # from 0
    keys: tuple[str, ...]
    kernel: str


@dataclass(frozen=True)
class Row:
    """One operator of the file."""

    name: str  # with the overload: `eq.Scalar_out`
    number: int  # of its first line, from 0
    dispatch: tuple[Line, ...]
    keys: dict[str, str] = field(hash=False)  # the other keys at the first level

    @property
    def op(self) -> str:
        """The operator's name, without overload and without the underscore of in-place variants."""
        base = self.name.split(".")[0]
        return base if base.startswith("_") or base.endswith("__") else base.rstrip("_")

    def line(self, key: str) -> Line | None:
        """The line on which a dispatch key stands."""
        return next((line for line in self.dispatch if key in line.keys), None)

    def kernel(self, key: str) -> str | None:
        """The kernel that a dispatch key leads to."""
        line = self.line(key)
        return line.kernel if line else None


class NativeFunctions:
    """The rows of one file, by name."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.rows = {row.name: row for row in _rows(self.lines)}
        if not self.rows:
            hint = "Restore it: git checkout -- aten/src/ATen/native/native_functions.yaml"
            raise PyMetalError("native_functions.yaml has no row `- func: ...`", hint=hint)

    def __getitem__(self, name: str) -> Row:
        if name not in self.rows:
            near = nearest(name, self.rows)
            overloads = [r for r in self.rows if r.split(".")[0] == name.split(".")[0]]
            hint = f"Its overloads: {', '.join(overloads)}." if overloads else None
            guess = f"; did you mean {near!r}?" if near and not overloads else ""
            raise PyMetalError(f"native_functions.yaml has no row {name!r}{guess}", hint=hint)
        return self.rows[name]

    def of_operator(self, op: str) -> list[Row]:
        """The rows of an operator: functional, in-place, out, all overloads."""
        return [row for row in self.rows.values() if row.op == op or row.name.split(".")[0] == op]

    def table(self) -> dict[str, dict[str, str]]:
        """What each row's dispatch keys lead to."""
        return {r.name: {k: line.kernel for line in r.dispatch for k in line.keys} for r in self.rows.values()}


def share_cpu_kernel(text: str, names: Iterable[str]) -> str:
    """`text` in which MPS shares the CPU kernel's line in the rows `names`, instead of having a line of its own.

    Rows where it shares that line already stay as they are.

    Raises:
        PyMetalError: there is no such row, or it has no line to join; the message says why.
    """
    file = NativeFunctions(text)
    for name in dict.fromkeys(names):
        row = file[name]
        target = row.line("CPU")
        if target is None:
            raise PyMetalError(f"{name} has no CPU kernel that MPS could share{_reason(row)}")
        if "MPS" in target.keys:
            continue
        cuda = row.kernel("CUDA")
        if cuda is not None and cuda != target.kernel:
            raise PyMetalError(
                f"{name}: CPU has the kernel {target.kernel}, CUDA has {cuda}: no stub is shared",
                hint="A kernel of MPS's own is needed: `pymetal migrate --own KERNEL` writes its line.",
            )
        _without_mps(file.lines, row)
        file.lines[target.number] = _with_mps(file.lines[target.number])
    return "\n".join(line for line in file.lines if line is not _REMOVED)


def set_mps_kernel(text: str, name: str, kernel: str) -> str:
    """`text` in which MPS has a line of its own in row `name`, after the last line of the dispatch map.

    Raises:
        PyMetalError: there is no such row, it has no dispatch map, or MPS shares a line there.
    """
    file = NativeFunctions(text)
    row = file[name]
    if not row.dispatch:
        raise PyMetalError(f"{name} has no dispatch map to add a line to{_reason(row)}")
    line = row.line("MPS")
    if line is not None and line.kernel == kernel:
        return text
    if line is not None and len(line.keys) > 1:
        raise PyMetalError(f"{name}: MPS shares {line.kernel} with {', '.join(k for k in line.keys if k != 'MPS')}")
    if line is not None:
        before = file.lines[line.number]
        start = before.index(line.kernel, before.index(":"))
        file.lines[line.number] = before[:start] + kernel + before[start + len(line.kernel) :]
        return "\n".join(file.lines)
    last = row.dispatch[-1].number
    indent = re.match(r"\s*", file.lines[last])
    assert indent is not None
    end = newline_of(text)[:-1]
    file.lines[last] += f"\n{indent.group()}MPS: {kernel}{end}"
    return "\n".join(file.lines)


def operators(text: str, names: Iterable[str]) -> set[str]:
    """The operators of the rows `names`."""
    file = NativeFunctions(text)
    return {file[name].op for name in names}


def changed_rows(before: str, after: str) -> dict[str, tuple[str | None, str | None]]:
    """The rows whose MPS kernel differs, each with the kernel before and after."""
    old, new = NativeFunctions(before), NativeFunctions(after)
    found = {}
    for name, row in new.rows.items():
        was = old.rows[name].kernel("MPS") if name in old.rows else None
        if was != row.kernel("MPS"):
            found[name] = (was, row.kernel("MPS"))
    return found


# --- reading ---------------------------------------------------------------------------------------------------------


def _rows(lines: Sequence[str]) -> list[Row]:
    starts = [i for i, line in enumerate(lines) if line.startswith("- ")]
    rows = []
    for start, end in zip(starts, [*starts, len(lines)][1:], strict=True):
        match = _FUNC.match(lines[start])
        if match is not None:
            rows.append(_row(match["name"], lines, start, end))
    return rows


def _row(name: str, lines: Sequence[str], start: int, end: int) -> Row:
    keys: dict[str, str] = {}
    dispatch: list[Line] = []
    inside = False
    for number in range(start + 1, end):
        line = lines[number].rstrip("\r")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key = _KEY.match(line)
        if key is not None:
            keys[key["key"]] = key["value"]
            inside = key["key"] == "dispatch"
            continue
        if not line.startswith(" "):
            break
        found = _DISPATCH.match(line) if inside else None
        if found is not None:
            dispatch.append(Line(number, tuple(k.strip() for k in found["keys"].split(",")), found["kernel"]))
    return Row(name, start, tuple(dispatch), keys)


def _reason(row: Row) -> str:
    delegate = row.keys.get("structured_delegate")
    if delegate:
        return f": it delegates to {delegate}, which is the row to migrate"
    flow = row.keys.get("dispatch", "")
    if not row.dispatch and flow.startswith("{"):
        return f": its dispatch map is on one line, {flow}: write one key on a line first"
    if "ufunc_inner_loop" in row.keys:
        return ": its CPU and CUDA kernels come from ufunc code generation, so there is no stub"
    if row.dispatch:
        return f": its dispatch map has {', '.join(k for line in row.dispatch for k in line.keys)}"
    return ": it has no dispatch map, so it is composed of other operators"


# --- editing ---------------------------------------------------------------------------------------------------------


def _without_mps(lines: list[str], row: Row) -> None:
    """Removes MPS from its line; a line for MPS alone is marked as removed, so that line numbers stay valid."""
    line = row.line("MPS")
    if line is None:
        return
    if len(line.keys) == 1:
        lines[line.number] = _REMOVED
        return
    text = lines[line.number]
    colon = text.index(":")
    if line.keys[0] == "MPS":
        head = re.sub(r"\bMPS\s*,\s*", "", text[:colon], count=1)
    else:
        head = re.sub(r"\s*,\s*MPS\b", "", text[:colon], count=1)
    lines[line.number] = head + text[colon:]


def _with_mps(line: str) -> str:
    """The line with MPS after CUDA, or after CPU where CUDA stands elsewhere."""
    colon = line.index(":")
    anchor = re.search(r"\bCUDA\b", line[:colon]) or re.search(r"\bCPU\b", line[:colon])
    assert anchor is not None
    return f"{line[: anchor.end()]}, MPS{line[anchor.end() :]}"


_REMOVED = "\0"  # stands for a line to remove; no file has it
