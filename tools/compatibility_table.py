"""Writes docs/compatibility.md: every functor of the gallery beside every torch release.

    python tools/fetch_torch_headers.py DIR && python tools/compatibility_table.py DIR

Each cell is a compilation of the registered form against the Metal headers of that release, on the host device, and a
look for every kernel name that the release's host code can ask for.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from examples.aten import by_file  # noqa: E402
from pymetal.check.releases import Fit, Headers, against_headers, open_headers  # noqa: E402

HEAD = """# Functors by torch release

The registered form of every functor of the gallery ([gallery.md](gallery.md)), compiled on the host device against the
Metal headers of each release, and searched for every kernel name that the release's host code can launch. A number is
how many kernels that makes. Nothing here was run on a GPU.

Made by `python tools/compatibility_table.py DIR`, with the headers that `python tools/fetch_torch_headers.py DIR`
unpacks from the wheels. For your own functors: `pymetal check FILE.py --torch-headers DIR/2.10`.

"""


def main() -> int:
    """Compiles, and writes the table."""
    parser = argparse.ArgumentParser(description="Write docs/compatibility.md.")
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs" / "compatibility.md")
    args = parser.parse_args()
    folders = sorted(args.folder.glob("*/torch"), key=lambda p: [int(n) for n in p.parent.name.split(".")])
    releases = [open_headers(path.parent) for path in folders]
    rows: dict[str, list[Fit]] = {}
    for headers in releases:
        for functors in by_file().values():
            for fit in against_headers(list(functors.values()), headers):
                rows.setdefault(fit.functor, []).append(fit)
        print(f"torch {headers.release}: {sum(r[-1].ok for r in rows.values())} of {len(rows)}", flush=True)
    args.output.write_text(HEAD + table(rows, releases), encoding="utf-8")
    return 0


def table(rows: dict[str, list[Fit]], releases: list[Headers]) -> str:
    """A Markdown table, with what is missing as notes below it."""
    names = [h.release for h in releases]
    lines = [f"| functor | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    notes: dict[str, int] = {}
    for functor in sorted(rows):
        cells = []
        for fit in rows[functor]:
            if fit.ok:
                cells.append(fit.why.split()[0])
            else:
                number = notes.setdefault(fit.why, len(notes) + 1)
                cells.append(f"- [{number}]")
        lines.append(f"| {functor} | {' | '.join(cells)} |")
    fine = " | ".join(str(sum(r[i].ok for r in rows.values())) for i in range(len(names)))
    lines.append(f"| **of {len(rows)}** | {fine} |")
    listed = "".join(f"{number}. {why}\n" for why, number in notes.items())
    return "\n".join(lines) + "\n" + (f"\n{listed}" if listed else "")


if __name__ == "__main__":
    raise SystemExit(main())
