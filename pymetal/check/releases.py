"""Compiles functors against the headers of another torch release: an unpacked wheel, or its include folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pymetal.check import registered
from pymetal.codegen.metal_file import required_release
from pymetal.errors import MetalSyntaxError, PyMetalError
from pymetal.host.library import compile_shader
from pymetal.runtime.operation import Operation, metal_text

_INDEXING = "c10/metal/indexing.h"


class HeadersError(PyMetalError, OSError):
    """A folder holds no Metal headers of torch."""


@dataclass(frozen=True)
class Headers:
    """The headers of one release."""

    include: Path
    release: str  # "2.9.1", or "?" where the folder does not say

    @property
    def version(self) -> tuple[int, int] | None:
        """Major and minor."""
        found = re.match(r"(\d+)\.(\d+)", self.release)
        return (int(found[1]), int(found[2])) if found else None


@dataclass(frozen=True)
class Fit:
    """Whether a functor's registered form compiles with all its kernels against a release, and why not."""

    functor: str
    ok: bool
    why: str


def open_headers(folder: Path) -> Headers:
    """The headers in a folder: site-packages or an unpacked wheel, its torch folder, or the include folder itself.

    Raises:
        HeadersError: there are none.
    """
    for include in (folder / "torch" / "include", folder / "include", folder):
        if (include / _INDEXING).is_file():
            return Headers(include.resolve(), _release(folder, include))
    raise HeadersError(f"there is no {_INDEXING} in {folder}, nor in its folders torch/include and include")


def _release(folder: Path, include: Path) -> str:
    for path in (folder / "version.txt", include.parent / "version.py", include.parent.parent / "version.txt"):
        if path.is_file():
            found = re.search(r"\d+\.\d+(\.\d+)?", path.read_text(encoding="utf-8"))
            if found:
                return found[0]
    for path in include.parent.parent.glob("torch-*.dist-info"):
        return path.name.split("-")[1].removesuffix(".dist-info")
    return "?"


def against_headers(functors: Sequence[Operation], headers: Headers) -> list[Fit]:
    """Compiles the registered forms against the headers; looks for the kernels that the release's host code launches.

    Functors for which the headers are new enough are compiled together, and one by one if that fails.
    """
    needs = [(functor, *required_release([functor.entry])) for functor in functors]
    old = [need for need in needs if headers.version is not None and need[1] > headers.version]
    fits = [Fit(f.name, False, f"needs {what}, which torch has from {since[0]}.{since[1]}") for f, since, what in old]
    return fits + _compiled([need[0] for need in needs if need not in old], headers)


def _compiled(functors: Sequence[Operation], headers: Headers) -> list[Fit]:
    if not functors:
        return []
    try:
        library = compile_shader(metal_text(functors), include_dirs=[str(headers.include)])
    except MetalSyntaxError as error:
        if len(functors) == 1:
            return [Fit(functors[0].name, False, f"does not compile: {str(error).splitlines()[0]}")]
        return [fit for functor in functors for fit in _compiled([functor], headers)]
    have = set(dir(library))
    return [_fit(functor, have, headers) for functor in functors]


def _fit(functor: Operation, have: set[str], headers: Headers) -> Fit:
    wanted = registered.kernel_names(functor, headers.version) if headers.version else []
    missing = [n for n in wanted if n not in have]
    if missing:
        return Fit(functor.name, False, f"{len(missing)} kernels are missing, the first is {missing[0]}")
    count = len(wanted) or sum(n.startswith(f"{functor.name}_") for n in have)
    return Fit(functor.name, True, f"{count} kernels, all that its host code launches")
