"""`PYMETAL_DEBUG=1`: each stage of a functor's way to a launch is printed and kept in a folder.

The folder is PYMETAL_DEBUG_DIR, or one for each process among the temporary files.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from pathlib import Path

VARIABLE = "PYMETAL_DEBUG"
FOLDER = "PYMETAL_DEBUG_DIR"
_count = itertools.count(1)


def enabled() -> bool:
    """Whether the environment asks for it."""
    return os.environ.get(VARIABLE, "0") not in ("", "0")


def folder() -> Path:
    """Where stages are kept."""
    named = os.environ.get(FOLDER)
    path = Path(named) if named else Path(tempfile.gettempdir()) / f"pymetal-debug-{os.getpid()}"
    path.mkdir(parents=True, exist_ok=True)
    return path


def stage(name: str, kind: str, text: str) -> None:
    """Prints a stage to standard error and keeps it as NUMBER-NAME.KIND.

    Args:
        name: the functor's, or what else the stage is of.
        kind: "py", "ir", "metal", "command", "plan".
    """
    path = folder() / f"{next(_count):03d}-{name}.{kind}"
    path.write_text(text, encoding="utf-8")
    print(f"--- pymetal {kind}: {name} ({path})\n{text.rstrip()}", file=sys.stderr)
