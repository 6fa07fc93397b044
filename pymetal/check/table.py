"""What was measured and found, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pymetal.check.measure import Measurement
from pymetal.check.outcomes import Comparison
from pymetal.check.run import Checked


def print_results(results: Sequence[Checked], console: Console) -> None:
    """A table of all functors and dtypes, then the findings, then one line that sums up."""
    rows = [m for r in results for m in r.measurements]
    if rows:
        console.print(accuracy_table(rows))
    for result in results:
        if result.form is not None and not result.form.findings:
            form = result.form
            text = f"{result.functor.name}: {form.kernels} registered kernels run, bit for bit as the call; "
            console.print(Text(f"{text}{form.names} names that host code can ask for are there"))
    for note in (n for r in results for n in r.notes):
        console.print(Text(note), soft_wrap=True)
    found = [f for r in results for f in r.findings]
    for each in found:
        console.print()
        console.print(Text(str(each)), soft_wrap=True)
    if found:
        console.print()
    silenced = sum(len(r.silenced) for r in results)
    said = f", {silenced} allowed by comments" if silenced else ""
    console.print(Text(f"{count(len(results), 'functor')}, {count(len(found), 'finding')}{said}"))


def count(number: int, noun: str) -> str:
    """`1 finding`, `2 findings`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def accuracy_table(rows: Sequence[Measurement]) -> Table:
    """One row for each functor and dtype."""
    table = Table("functor", "dtype", "elements", "max ulp", "mean", "at", "against", "max", "torch's own max", "wrong")
    for row in rows:
        mine, theirs = row.meaning, row.against
        table.add_row(
            row.functor, row.dtype, f"{row.samples:,}{' (all)' if row.exhaustive else ''}", *_errors(mine),
            operands(mine), "-" if theirs is None else theirs.witness.removesuffix(" in float64"),
            "-" if theirs is None else _number(theirs.max_ulp),
            "-" if row.torch_max is None else _number(row.torch_max), wrong(row),
        )  # fmt: skip
    return table


def _errors(comparison: Comparison) -> tuple[str, str]:
    return _number(comparison.max_ulp), _number(comparison.mean_ulp)


def _number(value: float) -> str:
    return f"{value:.3g}"


def operands(comparison: Comparison) -> str:
    """Where the largest error is."""
    place = comparison.at
    if place is None:
        return ""
    return ", ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in place.operands)


def wrong(row: Measurement) -> str:
    """What is wrong of a row, in a few words."""
    words: dict[str, int] = {}
    for comparison in (row.meaning, row.against):
        if comparison is not None:
            for mismatch in comparison.mismatches:
                words[mismatch.kind] = max(words.get(mismatch.kind, 0), mismatch.count)
            if comparison.beyond:
                words["beyond limit"] = max(words.get("beyond limit", 0), comparison.beyond)
    if row.early is not None:
        words["early overflow"] = row.early.count
    return ", ".join(f"{n} {kind}" for kind, n in words.items())
