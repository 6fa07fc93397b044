"""The results of a run for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pymetal.check.measurement import Measurement
from pymetal.check.run import CheckResult


def print_results(results: Sequence[CheckResult], console: Console) -> None:
    """Prints a table of all functors and dtypes, then the findings, then one line that sums up."""
    rows = [m for r in results for m in r.measurements]
    if rows:
        table = Table(
            "functor", "dtype", "elements", "max ulp", "mean", "at", "against", "max", "torch's own max", "wrong"
        )
        for row in rows:
            table.add_row(row.functor, *(cell or "-" for cell in accuracy_cells(row)))
        console.print(table)
    lines = []
    for result in results:
        form = result.registered
        if form is not None and not form.findings:
            lines.append(
                f"{result.functor.name}: {form.kernels} registered kernels give the same bits as a call; "
                f"all {form.names} kernels that host code can launch exist"
            )
    lines += [note for result in results for note in result.notes]
    found = [finding for result in results for finding in result.findings]
    lines += [f"\n{finding}" for finding in found]
    silenced = sum(len(result.silenced) for result in results)
    lines.append("\n" * bool(found) + f"{counted(len(results), 'functor')}, {counted(len(found), 'finding')}")
    console.print(Text("\n".join(lines) + (f", {silenced} allowed by comments" if silenced else "")), soft_wrap=True)


def counted(number: int, noun: str) -> str:
    """`1 finding`, `2 findings`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def accuracy_cells(row: Measurement) -> list[str]:
    """A measurement as text: dtype, elements, max and mean ulp, where, the other reference, its max, torch's own."""
    own, other = row.meaning, row.against
    operands = own.at.operands if own.at is not None else ()
    return [
        row.dtype, f"{row.samples:,}{' (all)' if row.exhaustive else ''}", f"{own.max_ulp:.3g}", f"{own.mean_ulp:.3g}",
        ", ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in operands),
        "" if other is None else other.reference.removesuffix(" in float64"),
        "" if other is None else f"{other.max_ulp:.3g}",
        "" if row.torch_max is None else f"{row.torch_max:.3g}", _faults(row),
    ]  # fmt: skip


def _faults(row: Measurement) -> str:
    """How many elements are wrong, by the kind of fault."""
    counts: dict[str, int] = {}
    for comparison in (row.meaning, row.against):
        if comparison is not None:
            for mismatch in comparison.mismatches:
                counts[mismatch.kind] = max(counts.get(mismatch.kind, 0), mismatch.count)
            if comparison.beyond:
                counts["beyond limit"] = max(counts.get("beyond limit", 0), comparison.beyond)
    if row.early is not None:
        counts["early overflow"] = row.early.count
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())
