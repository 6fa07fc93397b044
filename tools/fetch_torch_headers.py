"""Fetches the Metal headers of torch releases, for `pymetal check --torch-headers` and the table of compatibility.

    python tools/fetch_torch_headers.py DIR [--first 2.8] [--last 2.15]

For each minor release the newest macOS wheel is downloaded with pip, `torch/include/c10/metal` is unpacked to
DIR/RELEASE/torch/include, and the names that kernels have in the release's metallib are written to
DIR/RELEASE/kernels.txt; the wheel itself is removed. A release that is there already is left alone. Without `--last`
it goes on until there is no newer release.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

PLATFORMS = [f"macosx_{major}_0_arm64" for major in (11, 12, 13, 14, 15)]
HEADERS = re.compile(r"torch/include/(c10/metal/.+\.h|c10/(util|macros|core)/[\w/]+\.h)")
# A kernel's name in a metallib follows its tag, size and no other mark.
NAME = re.compile(rb"NAME(..)([A-Za-z_]\w*)\0", re.DOTALL)


def main() -> int:
    """Downloads; returns 1 if not even the first release is to be had."""
    parser = argparse.ArgumentParser(description="Fetch the Metal headers of torch releases.")
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--first", default="2.8", metavar="X.Y")
    parser.add_argument("--last", metavar="X.Y")
    args = parser.parse_args()
    count = 0
    for release in _releases(args.first, args.last):
        target = args.folder / release
        if not (target / "kernels.txt").is_file() and not fetch(release, target):
            break
        count += 1
        print(f"{release}: {target}")
    return 0 if count else 1


def _releases(first: str, last: str | None) -> Iterator[str]:
    major, minor = map(int, first.split("."))
    while True:
        yield f"{major}.{minor}"
        if last == f"{major}.{minor}":
            return
        minor += 1


def fetch(release: str, target: Path) -> bool:
    """Unpacks what is wanted of one release; False if pip does not find it."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", scratch]
        command += [part for tag in PLATFORMS for part in ("--platform", tag)]
        command += ["--python-version", "3.11", f"torch=={release}.*"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(Path(scratch).glob("*.whl"))
        if not wheels:
            last = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
            print(f"{release}: {last}", file=sys.stderr)
            return False
        unpack(wheels[0], target)
    return True


def unpack(wheel: Path, target: Path) -> None:
    """The Metal headers of a wheel, the names of its kernels, its version."""
    names: set[str] = set()
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if HEADERS.fullmatch(member):
                path = target / member
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(member))
            elif member.endswith(".metallib") or member.endswith("libtorch_cpu.dylib"):
                names |= {match[2].decode("ascii") for match in NAME.finditer(archive.read(member))}
    (target / "version.txt").write_text(wheel.name.split("-")[1] + "\n", encoding="ascii")
    (target / "kernels.txt").write_text("".join(f"{n}\n" for n in sorted(names)), encoding="ascii")


if __name__ == "__main__":
    sys.exit(main())
