"""A Python file becomes the functors it defines."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from pymetal.cli import UsageError
from pymetal.errors import PyMetalError, nearest
from pymetal.functor import Functor


def load_functors(path: str, only: Sequence[str] | None = None) -> list[Functor]:
    """The functors of a file, in the order in which it defines them.

    Args:
        only: the names to keep; None for all.

    Raises:
        UsageError: the file is missing, is not Python, fails when it runs, or has no functor of a name in `only`.
        PyMetalError: a functor in it is wrong.
    """
    file = Path(path)
    try:
        exists = file.is_file()
    except OSError as error:  # the name is too long
        raise UsageError(f"{path[:200]}: {error.strerror}") from error
    if not exists:
        raise UsageError(f"{path}: no such file")
    name = f"pymetal_file_{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
        raise UsageError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickling and `inspect` look modules up by name
    sys.path.insert(0, str(file.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except PyMetalError:
        raise
    except (Exception, SystemExit) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{last.filename}:{last.lineno}" if last.filename == str(file) else path
        if isinstance(error, SyntaxError) and error.lineno:
            place = f"{error.filename}:{error.lineno}"
        raise UsageError(f"{place}: {type(error).__name__}: {_message(error)}") from error
    finally:
        sys.path.pop(0)
    found = {f.name: f for f in vars(module).values() if isinstance(f, Functor) and f.__module__ == name}
    if not found:
        raise UsageError(f"{path}: no functor is defined there; decorate a function with @pymetal.binary")
    if only is None:
        return list(found.values())
    for wanted in only:
        if wanted not in found:
            near = nearest(wanted, found)
            raise UsageError(
                f"{path}: no functor is called {wanted!r}"
                + (f"; did you mean {near!r}?" if near else ".")
                + f" It has {', '.join(found)}."
            )
    return [found[n] for n in dict.fromkeys(only)]


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(it cannot be printed)"


def print_notes(functors: Sequence[Functor]) -> None:
    """Says on standard error which dtypes the functors leave out."""
    for note in filter(None, (functor.left_out_note() for functor in functors)):
        print(f"note: {note}", file=sys.stderr)
