"""The names of upstream's own elementwise kernels by torch release, as `pymetal check` looks for clashes with them.

    python tools/fetch_torch_headers.py DIR && python tools/host_names.py DIR

Writes `pymetal/check/data/host_names.json`: groups of functors that have dense kernels of the same types from the same
first release to the same last one (null: the newest looked at). Facts only, read from the metallib in each wheel.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

TARGET = Path(__file__).parents[1] / "pymetal" / "check" / "data" / "host_names.json"
_TYPES = {
    "float", "half", "bfloat", "long", "int", "short", "char", "uchar", "bool", "float2", "half2", "ulong", "uint",
    "ushort",
}  # fmt: skip


def main() -> int:
    """Reads DIR/RELEASE/kernels.txt of every release there."""
    parser = argparse.ArgumentParser(description="Write the names of upstream's kernels.")
    parser.add_argument("folder", type=Path, metavar="DIR")
    folder = parser.parse_args().folder
    files = sorted(folder.glob("*/kernels.txt"), key=lambda p: [int(n) for n in p.parent.name.split(".")])
    releases = [path.parent.name for path in files]
    found: dict[str, dict[str, list[str | None]]] = {}
    for path, release in zip(files, releases, strict=True):
        for name in path.read_text(encoding="ascii").split():
            functor, mark, types = name.partition("_dense_")
            if mark and set(types.split("_")[:2]) <= _TYPES:
                kept = found.setdefault(functor, {}).setdefault(types, [release, None])
                kept[1] = release
    for types_of in found.values():
        for span in types_of.values():
            if span[1] == releases[-1]:
                span[1] = None
    groups: dict[tuple[str | None, str | None, str], list[str]] = {}
    for name, types_of in sorted(found.items()):
        for first, last in sorted({(str(span[0]), span[1]) for span in types_of.values()}, key=str):
            alike = " ".join(sorted(t for t, span in types_of.items() if span == [first, last]))
            groups.setdefault((first, last, alike), []).append(name)
    lines = []
    for (since, until, types), functors in groups.items():
        head = f'"first": {json.dumps(since)}, "last": {json.dumps(until)}'
        lines.append(f'{{{head}, "functors": {json.dumps(" ".join(functors))},\n  "types": {json.dumps(types)}}}')
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(
        f'{{"releases": {json.dumps(releases)},\n"groups": [\n' + ",\n".join(lines) + "\n]}\n", encoding="ascii"
    )
    print(f"{TARGET}: {len(found)} functors of torch {releases[0]} to {releases[-1]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
