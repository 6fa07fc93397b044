"""The text of a pull request for a placement: what moved, numerics, how to time it, which tests to run."""

from __future__ import annotations

from collections.abc import Sequence

from pymetal.upstream.migrated import Moved
from pymetal.upstream.numerics import Accuracy, table
from pymetal.upstream.placement import Placement


def pr_text(
    placement: Placement, moved: Moved, accuracy: Sequence[tuple[str, Sequence[Accuracy] | str]], command: str
) -> str:
    """A pull request's description in Markdown, with places to fill in what only a Mac can measure.

    Args:
        placement: what was asked for, and what is left to do.
        moved: what differs in the tree, with the checks that ran on it.
        accuracy: for each functor its errors, from `numerics.measure`, or why they could not be measured.
        command: what times the operators, such as `pymetal bench FILE.py`.
    """
    names = ", ".join(placement.functors or sorted(placement.rows) or placement.stubs)
    new = moved.rows and all(before is None for before, _ in moved.rows.values())
    parts = [
        f"[MPS] Add {names}\n" if new else f"[MPS] Run {names} through the shared dispatch stub\n",
        "## What moved\n\n" + "".join(f"- {line}\n" for line in _moved(placement, moved)),
        "## Numerics\n\n" + _numerics(accuracy),
        "## Performance\n\n" + _performance(command),
        "## Tests\n\n" + "".join(f"- {line}\n" for line in _tests(placement, moved)),
    ]
    if placement.steps:
        parts.append("## Left to do\n\n" + "".join(f"- {step}\n" for step in placement.steps))
    return "\n".join(parts)


def _moved(placement: Placement, moved: Moved) -> list[str]:
    lines = []
    for name, (before, after) in moved.rows.items():
        was = f"MPS leaves `{before}` and" if before else "MPS"
        lines.append(f"`{name}`: {was} joins the line of `{after}`" if after else f"`{name}`: MPS leaves `{before}`")
    lines += [f"`{stub}` runs `{function}` on MPS" for stub, function in moved.stubs.items()]
    lines += [f"the Metal kernel `{name}` is new in {path.rsplit('/', 1)[1]}" for name, path in moved.functors.items()]
    lines += [f"`{removal.kernel}` is removed ({', '.join(removal.removed)})" for removal in moved.removed]
    for entry in moved.tests:
        rest = f", which keeps {', '.join(entry.kept)}" if entry.kept else ""
        lines.append(f"`{entry.key}` leaves `{entry.list}` of common_mps.py{rest}")
    lines += [f"`{entry.key}` joins `{entry.list}` of common_mps.py" for entry in moved.complex]
    if not lines:
        lines.append(f"nothing differs from {moved.since}; pass --since COMMIT to describe what is committed")
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


def _tests(placement: Placement, moved: Moved) -> list[str]:
    rows = moved.rows or placement.selected
    ops = sorted({name.split(".")[0].rstrip("_").removeprefix("special_") for name in rows})
    lines = ["to run on a Mac:"]
    for op in ops or placement.functors:
        lines += [
            f'  - [ ] `python test/test_mps.py -k "TestConsistency and {op}"`',
            f'  - [ ] `python test/test_ops.py -k "mps and {op}"`',
        ]
    lines = ["\n".join(lines)]
    if not moved:
        return [*lines, f"no checks ran: nothing differs from {moved.since}"]
    report = moved.report
    verdict = "found:" if report.findings else "found nothing"
    lines.append(f"checks that ran, against {moved.since} ({'; '.join(report.ran)}): {verdict}")
    lines[-1] += "".join(f"\n    {finding}" for finding in report.findings)
    return lines + [f"{note}" for note in report.notes]
