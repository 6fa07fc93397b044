"""A placement as text for a terminal, and as data for a program."""

from __future__ import annotations

from typing import Any

from pymetal.upstream.checks import Report
from pymetal.upstream.placement import Placement


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
