"""Writing the Metal text of functors to a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pymetal import atomic
from pymetal.errors import public
from pymetal.functor import Functor
from pymetal.runtime.operation import metal_text


@public
def emit(functors: Iterable[Functor] | Functor, path: str | os.PathLike[str]) -> str:
    """Writes one `.metal` file with all of `functors` and returns its text.

    The file is replaced atomically, and not written if it has the same text; a pipe is written to.

    Args:
        functors: one functor, or several with different names.
        path: where the file is written; its folder exists.

    Raises:
        CallError: there is no functor, or two have the same name.
        OSError: the file cannot be written.
    """
    text = metal_text([functors] if isinstance(functors, Functor) else functors)
    atomic.write_text(Path(path), text)
    return text
