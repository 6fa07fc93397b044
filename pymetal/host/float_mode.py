"""How float arithmetic behaves on the host device.

``apple``: subnormal float and bfloat operands and results count as zero, as on Apple's GPUs (half ones are kept), and a
product and a sum of one expression may fuse, as Metal's compiler allows. ``ieee``: subnormals are kept and nothing
fuses, for comparison with torch on the CPU. The mode of a library is fixed when it is compiled.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Iterator

from pymetal.errors import CallError, nearest

MODES = ("apple", "ieee")
VARIABLE = "PYMETAL_HOST_NUMERICS"
_chosen: contextvars.ContextVar[str | None] = contextvars.ContextVar("pymetal_host_numerics", default=None)


def check(mode: str) -> str:
    if mode not in MODES:
        close = nearest(mode, MODES)
        hint = f"did you mean {close!r}?" if close else None
        raise CallError(f"numerics is {mode!r}; it must be one of {', '.join(MODES)}", hint=hint)
    return mode


def current() -> str:
    """The mode for a library compiled now: the innermost `numerics`, else PYMETAL_HOST_NUMERICS, else ``apple``."""
    chosen = _chosen.get() or os.environ.get(VARIABLE)
    return check(chosen) if chosen else "apple"


@contextlib.contextmanager
def numerics(mode: str) -> Iterator[None]:
    """Libraries that this thread or task compiles inside have this mode."""
    token = _chosen.set(check(mode))
    try:
        yield
    finally:
        _chosen.reset(token)
