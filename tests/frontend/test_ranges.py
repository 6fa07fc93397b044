"""`range` at the ends of integer types: the rounds are Python's, for any step, sign and bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
import toolbox
import torch

DTYPES = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64]
STEPS = [1, 2, 3, 7, -1, -2, -3, 2**30, -(2**30)]
LIMIT = 20

# What follows `range`; {step} is a number, and x, y are elements.
RANGES = ["(x, y, {step})", "(y, x, {step})"]


def rounds(values: range, dtype: torch.dtype) -> int:
    """What the functors return: the number of rounds and the lowest bits of the last value."""
    last = list(values[:LIMIT])
    return len(last) * 4 + (last[-1] & 3 if last else 0)


def text(dtype: torch.dtype) -> str:
    name = str(dtype).removeprefix("torch.")
    parts = []
    for index, (ranges, step) in enumerate((r, s) for s in STEPS for r in RANGES):
        parts.append(f"@pymetal.binary(dtypes='{name}')\ndef f_{index}(x: T, y: T) -> T:\n" + BODY.format(
            range=ranges.format(step=step)
        ))  # fmt: skip
    parts.append(f"@pymetal.ternary(dtypes='{name}')\ndef stepped(x: T, y: T, z: T) -> T:\n" + BODY.format(
        range="(x, y, z)"
    ))  # fmt: skip
    return "\n\n".join(parts)


BODY = """\
    n = 0
    last = 0
    for i in range{range}:
        n += 1
        last = pymetal.int32(i & 3)
        if n == 20:
            break
    return T(n * 4 + last)
"""


@pytest.mark.host
def test_rounds_are_those_of_python(tmp_path: Path) -> None:
    modules = {dtype: toolbox.load(tmp_path, text(dtype)) for dtype in DTYPES}
    cases = [(r, s) for s in STEPS for r in range(2)]
    with toolbox.batch("ieee"), toolbox.unoptimized():
        for dtype, module in modules.items():
            one = torch.ones(1, dtype=dtype)
            for index in range(len(cases)):
                getattr(module, f"f_{index}").jit_source(one, one)
            module.stepped.jit_source(one, one, one)
        for dtype, module in modules.items():
            low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
            near = sorted({low, low + 1, low + 2, low + 5, 0, 1, 2, 5, high - 5, high - 2, high - 1, high})
            x, y = [a for a in near for _ in near], [b for _ in near for b in near]
            a, b = torch.tensor(x, dtype=dtype), torch.tensor(y, dtype=dtype)
            for index, (order, step) in enumerate(cases):
                f = getattr(module, f"f_{index}")
                pairs = [(p, q) if order == 0 else (q, p) for p, q in zip(x, y, strict=True)]
                wanted = torch.tensor([rounds(range(p, q, step), dtype) for p, q in pairs], dtype=dtype)
                toolbox.assert_equal(f(a, b), wanted, (a, b))
                toolbox.assert_equal(f.reference(a, b), wanted, (a, b))
            steps = sorted({step for step in (low, -3, -1, 1, 2, high) if low <= step and step})
            for step in steps:
                z = torch.full_like(a, step)
                wanted = torch.tensor(
                    [rounds(range(p, q, step), dtype) for p, q in zip(x, y, strict=True)], dtype=dtype
                )
                toolbox.assert_equal(module.stepped(a, b, z), wanted, (a, b, z))
                toolbox.assert_equal(module.stepped.reference(a, b, z), wanted, (a, b, z))
