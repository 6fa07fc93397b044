"""Runs functors on a host device whose code is built with AddressSanitizer and UndefinedBehaviorSanitizer.

Started by `test_sanitizers.py` with the sanitizers' runtime loaded before Python. Some functors in every dtype and
several layouts, and their registered dense kernels; exits with the sanitizer's code at the first report.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)]

from pymetal.host import build  # noqa: E402

# What is undefined in the arithmetic is tested by tests/frontend/test_undefined.py.
CHECKED = "-fsanitize=address,undefined"
MEANT = "-fno-sanitize=signed-integer-overflow,float-cast-overflow,vptr,function,alignment"
FLAGS = (CHECKED, MEANT, "-fno-sanitize-recover=undefined", "-g1")
_flags = build._code_flags
build._code_flags = lambda numerics: (*_flags(numerics), *FLAGS)


def main() -> int:
    """Runs all; prints how many launches there were."""
    import torch

    from examples.aten import load
    from pymetal.accuracy import grids
    from pymetal.check import registered

    gallery = load()
    count = 0
    for name in sys.argv[1:]:
        functor = gallery[name]
        for element in functor.ir.domain:
            dtype = element.torch
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                edge = grids.edges(dtype)
            if dtype is torch.complex32:
                continue  # torch copies none of them
            operands = [edge.repeat(200)[: 7 * 33].reshape(7, 33).roll(i, 0) for i in range(functor.arity.inputs)]
            scalars: dict[str, Any] = {p.name: 1 for p in functor.ir.overloads[0].function.scalars}
            inner = [o.t() for o in operands]
            gaps = [o[:, ::2] for o in operands]
            rows = [operands[0], *(o[:1] for o in operands[1:])]
            empty = [o[:0] for o in operands]
            for case in (operands, inner, gaps, rows, empty, [o[3, 5] for o in operands]):
                functor(*case, **scalars)
                count += 1
            for form in registered.forms(functor):
                if form in ("dense", "dense_ilp", "dense_scalar") and (
                    functor.arity.inputs == 1 or form != "dense_scalar"
                ):
                    registered.run(functor, form, *operands, **scalars)
                    count += 1
    print(f"{count} launches")
    return 0


if __name__ == "__main__":
    sys.exit(main())
