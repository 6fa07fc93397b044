"""`PYMETAL_DEBUG=1`: each stage of a functor's way to a launch is printed and kept in a folder.

The rooms log their stages under the name `pymetal`, as records with a `stage` ("py", "ir", "plan", "metal", "command")
and a `subject` (the functor); this handler writes them. The folder is PYMETAL_DEBUG_DIR, or one for each process among
the temporary files.
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
import tempfile
from pathlib import Path

from pymetal import atomic, ir
from pymetal.debug.explain import explain
from pymetal.ir.print import show
from pymetal.runtime.dispatch import Planned


def folder() -> Path:
    """Where stages are kept."""
    named = os.environ.get("PYMETAL_DEBUG_DIR")
    path = Path(named) if named else Path(tempfile.gettempdir()) / f"pymetal-debug-{os.getpid()}"
    path.mkdir(parents=True, exist_ok=True)
    return path


class StageHandler(logging.Handler):
    """Prints a stage to standard error and keeps it as NUMBER-SUBJECT.STAGE."""

    def __init__(self) -> None:
        super().__init__()
        self._count = itertools.count(1)

    def emit(self, record: logging.LogRecord) -> None:
        """Writes the record of a stage; other records are not this handler's."""
        stage, subject = getattr(record, "stage", None), getattr(record, "subject", "")
        if stage is None:
            return
        match record.msg:
            case Planned() as planned:
                text = explain(planned)
            case ir.CheckedFunction() as checked:
                text = show(checked)
            case message:
                text = str(message)
        name = f"{next(self._count):03d}-{subject}.{stage}"
        try:
            path = folder() / name
            atomic.write_text(path, text)
            kept = str(path)
        except OSError as error:
            kept = f"not kept: {error}; set PYMETAL_DEBUG_DIR to a folder that can be written"
        print(f"--- pymetal {stage}: {subject} ({kept})\n{text.rstrip()}", file=sys.stderr)


def install() -> None:
    """Writes all stages from now on."""
    logger = logging.getLogger("pymetal")
    logger.addHandler(StageHandler())
    logger.setLevel(logging.DEBUG)
