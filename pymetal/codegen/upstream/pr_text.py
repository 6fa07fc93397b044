"""The text of a pull request for a placement: what moved, numerics, how to time it, which tests to run."""

from __future__ import annotations

from collections.abc import Sequence

from pymetal.codegen.upstream.checkout import KERNELS, YAML
from pymetal.codegen.upstream.numerics import Accuracy, table
from pymetal.codegen.upstream.placed import Placement


def pr_text(
    placement: Placement,
    accuracy: Sequence[tuple[str, Sequence[Accuracy] | str]],
    command: str,
    findings: Sequence[str],
) -> str:
    """A pull request's description in Markdown, with places to fill in what only a Mac can measure.

    Args:
        accuracy: for each functor its errors, from `numerics.measure`, or why they could not be measured.
        command: what times the operators, such as `pymetal bench FILE.py`.
        findings: what the checks found.
    """
    names = ", ".join(placement.functors or sorted(placement.rows) or placement.stubs)
    parts = [
        f"[MPS] Run {names} through the shared dispatch stub\n",
        "## What moved\n\n" + "".join(f"- {line}\n" for line in _moved(placement)),
        "## Numerics\n\n" + _numerics(accuracy),
        "## Performance\n\n" + _performance(command),
        "## Tests\n\n" + "".join(f"- {line}\n" for line in _tests(placement, findings)),
    ]
    if placement.steps:
        parts.append("## Left to do\n\n" + "".join(f"- {step}\n" for step in placement.steps))
    return "\n".join(parts)


def _moved(placement: Placement) -> list[str]:
    lines = []
    for name, (before, after) in placement.rows.items():
        was = f"MPS leaves `{before}` and" if before else "MPS"
        lines.append(f"`{name}`: {was} joins the line of `{after}`")
    changed = placement.checkout.changed
    for functor, stub in zip(placement.functors, placement.stubs, strict=False):
        places = ", ".join(p.rsplit("/", 1)[1] for p in changed if p.startswith(KERNELS))
        lines.append(f"`{stub}` runs the Metal kernel `{functor}`" + (f" ({places})" if places else ""))
    for removal in placement.legacy:
        if removal.removed:
            lines.append(f"`{removal.kernel}` is removed ({', '.join(removal.removed)})")
    for entry in placement.tests:
        rest = f", which keeps {', '.join(entry.kept)}" if entry.kept else ""
        lines.append(f"`{entry.key}` leaves `{entry.list}` of common_mps.py{rest}")
    return lines or [f"nothing: the tree has everything already ({YAML})"]


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
        "host device, whose elementary functions may differ from Metal's in the last place.\n"
    )
    return "\n".join([note, *sections])


def _performance(command: str) -> str:
    return (
        f"Run `{command}` on a build before and a build after this change:\n\n"
        "| size | layout | dtype | before | after |\n|---|---|---|---|---|\n"
        "| 1,024 | contiguous | float32 |  |  |\n| 16,777,216 | contiguous | float32 |  |  |\n"
        "| 16,777,216 | contiguous | float16 |  |  |\n| 16,777,216 | transposed | float32 |  |  |\n"
    )


def _tests(placement: Placement, findings: Sequence[str]) -> list[str]:
    ops = sorted({name.split(".")[0].rstrip("_").removeprefix("special_") for name in placement.rows})
    lines = []
    for op in ops or placement.functors:
        lines += [
            f'`python test/test_mps.py -k "TestConsistency and {op}"`',
            f'`python test/test_ops.py -k "mps and {op}"`',
        ]
    checked = "rows, stubs, registrations, kernel names, compilation, layout"
    if findings:
        lines.append(f"`pymetal upstream --check` ({checked}) finds:")
        lines += [f"    {finding}" for finding in findings]
    else:
        lines.append(f"`pymetal upstream --check` ({checked}) finds nothing")
    return lines
