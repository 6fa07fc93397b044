"""A placement as text for a terminal, as data for a program, and as the description of a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pymetal.upstream.checks import Report
from pymetal.upstream.numerics import Accuracy, table
from pymetal.upstream.placement import Difference, Placement


def summary(placement: Placement, report: Report | None) -> str:
    """What a placement does, what is left to do, and what the checks found; one fact on a line."""
    lines: list[str] = []
    if not placement:
        wrong = ", and this is wrong with it" if report is not None and report.findings else ""
        lines.append(f"nothing to change: the tree has everything already{wrong}")
    made = placement.patch.created
    lines += [f"{'create' if path in made else 'edit  '}    {path}" for path in placement.patch.paths]
    for name, (before, after) in placement.rows.items():
        lines.append(f"row       {name}: {before or 'no MPS'} -> {after}")
    for removal in placement.legacy:
        lines += [f"removed   {place}: {removal.kernel}" for place in removal.removed]
    for entry in placement.tests:
        rest = f", but for {', '.join(entry.kept)}" if entry.kept else ""
        lines.append(f"tests     {entry.key} leaves {entry.list}{rest}")
    lines += [f"tests     {entry.key} joins {entry.list}" for entry in placement.complex]
    lines += [f"next      {step}" for step in placement.steps]
    notes = [*placement.notes, *(report.notes if report else ())]
    lines += [f"note      {note}" for note in dict.fromkeys(notes)]
    lines += [f"{finding}" for finding in (report.findings if report else [])]
    return "".join(f"{line}\n" for line in lines)


def data(placement: Placement, report: Report | None, *, applied: bool) -> dict[str, Any]:
    """The same as values that JSON can hold."""
    return {
        "root": str(placement.checkout.root),
        "applied": applied,
        "files": list(placement.patch.paths),
        "created": list(placement.patch.created),
        "diff": placement.diff(),
        "functors": placement.functors,
        "stubs": placement.stubs,
        "rows": {n: {"before": b, "after": a} for n, (b, a) in placement.rows.items()},
        "removed": [{"kernel": r.kernel, "places": list(r.removed)} for r in placement.legacy],
        "tests": [{"list": t.list, "key": t.key, "kept": list(t.kept)} for t in placement.tests],
        "complex": [{"list": t.list, "key": t.key} for t in placement.complex],
        "next": [{"file": s.path, "line": s.line, "message": s.message, "add": s.add} for s in placement.steps],
        "notes": [*placement.notes, *(report.notes if report else ())],
        "findings": findings(report) if report else [],
    }


def findings(report: Report) -> list[dict[str, Any]]:
    """The findings as values that JSON can hold."""
    return [{"file": f.path, "line": f.line, "message": f.message} for f in report.findings]


# --- pull requests ---------------------------------------------------------------------------------------------------


def pr_text(
    placement: Placement, difference: Difference, accuracy: Sequence[tuple[str, Sequence[Accuracy] | str]], command: str
) -> str:
    """A pull request's description in Markdown, with places to fill in what only a Mac can measure.

    Args:
        placement: what was asked for, and what is left to do.
        difference: what differs in the tree, with the checks that ran on it.
        accuracy: for each functor its errors, from `numerics.measure`, or why they could not be measured.
        command: what times the operators, such as `pymetal bench FILE.py`.
    """
    names = ", ".join(placement.functors or sorted(placement.rows) or placement.stubs)
    new = difference.rows and all(before is None for before, _ in difference.rows.values())
    parts = [
        f"[MPS] Add {names}\n" if new else f"[MPS] Run {names} through the shared dispatch stub\n",
        "## What moved\n\n" + "".join(f"- {line}\n" for line in _changes(placement, difference)),
        "## Numerics\n\n" + _numerics(accuracy),
        "## Performance\n\n" + _performance(command),
        "## Tests\n\n" + "".join(f"- {line}\n" for line in _tests(placement, difference)),
    ]
    if placement.steps:
        parts.append("## Left to do\n\n" + "".join(f"- {step}\n" for step in placement.steps))
    return "\n".join(parts)


def _changes(placement: Placement, difference: Difference) -> list[str]:
    lines = []
    for name, (before, after) in difference.rows.items():
        was = f"MPS leaves `{before}` and" if before else "MPS"
        lines.append(f"`{name}`: {was} joins the line of `{after}`" if after else f"`{name}`: MPS leaves `{before}`")
    lines += [f"`{stub}` runs `{function}` on MPS" for stub, function in difference.stubs.items()]
    lines += [
        f"the Metal kernel `{name}` is new in {path.rsplit('/', 1)[1]}" for name, path in difference.functors.items()
    ]
    lines += [f"`{removal.kernel}` is removed ({', '.join(removal.removed)})" for removal in difference.removed]
    for entry in difference.tests:
        rest = f", which keeps {', '.join(entry.kept)}" if entry.kept else ""
        lines.append(f"`{entry.key}` leaves `{entry.list}` of common_mps.py{rest}")
    lines += [f"`{entry.key}` joins `{entry.list}` of common_mps.py" for entry in difference.complex]
    if not lines:
        lines.append(f"nothing differs from {difference.since}; pass --since COMMIT to describe what is committed")
    elif placement:
        lines.append("(not written yet: `--apply` writes it)")
    return lines


def _numerics(accuracy: Sequence[tuple[str, Sequence[Accuracy] | str]]) -> str:
    sections = []
    for name, rows in accuracy:
        if isinstance(rows, str):
            sections.append(f"`{name}` was not measured: {rows}\n")
        else:
            none = f"`{name}` has no floating result to measure.\n"
            sections.append(f"`{name}`:\n\n{table(rows)}" if rows else none)
    if not sections:
        return "The kernel is the one that the tree had. No behaviour changes with this pull request.\n"
    note = (
        "Largest distance from the result at double precision, measured on 4096 inputs. The third column is the same\n"
        "formula with each step rounded to the dtype, as MPSGraph operators of that dtype do. The kernel ran on the\n"
        "host device, whose elementary functions may differ from Metal's in the last place. Subnormal results, which\n"
        "Metal may flush to zero, are left out.\n"
    )
    return "\n".join([note, *sections])


def _performance(command: str) -> str:
    return (
        f"Run `{command}` on a build before and a build after this change:\n\n"
        "| size | layout | dtype | before | after |\n|---|---|---|---|---|\n"
        "| 1,024 | contiguous | float32 |  |  |\n| 16,777,216 | contiguous | float32 |  |  |\n"
        "| 16,777,216 | contiguous | float16 |  |  |\n| 16,777,216 | transposed | float32 |  |  |\n"
    )


def _tests(placement: Placement, difference: Difference) -> list[str]:
    rows = difference.rows or placement.selected
    ops = sorted({name.split(".")[0].rstrip("_").removeprefix("special_") for name in rows})
    lines = ["to run on a Mac:"]
    for op in ops or placement.functors:
        lines += [
            f'  - [ ] `python test/test_mps.py -k "TestConsistency and {op}"`',
            f'  - [ ] `python test/test_ops.py -k "mps and {op}"`',
        ]
    lines = ["\n".join(lines)]
    if not difference:
        return [*lines, f"no checks ran: nothing differs from {difference.since}"]
    report = difference.report
    verdict = "found:" if report.findings else "found nothing"
    lines.append(f"checks that ran, against {difference.since} ({'; '.join(report.ran)}): {verdict}")
    lines[-1] += "".join(f"\n    {finding}" for finding in report.findings)
    return lines + [f"{note}" for note in report.notes]
