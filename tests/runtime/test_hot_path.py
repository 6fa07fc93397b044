"""How much Python a warm call runs, counted in calls, not in time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import mps_stand_in
import pytest
import torch
from test_layouts import fresh, scaled, summed

from pymetal.errors import CallError
from pymetal.runtime import dispatch, plan_cache

X, Y, ROW = torch.ones(4, 4), torch.ones(4, 4), torch.ones(4)
OUT = torch.empty(4, 4)
MATRIX = torch.ones(4, 4, dtype=torch.complex64)


def python_calls(work: Callable[[], object]) -> tuple[int, int]:
    """Python functions and C functions that one run of `work` calls, itself left out."""
    counts = {"call": 0, "c_call": 0}

    def count(frame: FrameType, event: str, arg: Any) -> None:
        if event in counts:
            counts[event] += 1

    work()
    work()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counts["call"] - 1, counts["c_call"] - 1  # setprofile(None) is one, too


# The call, and how many Python functions it may enter: Functor.__call__, Caller.__call__, whether torch transforms the
# call (3), the signature, the device, its variant with the numerics mode (5), the launch, the allocation, the kernel
# and its binding; then those for each bound number, and for a grid of more dimensions the general binding.
WARM: dict[str, tuple[Callable[[], object], int]] = {
    "same shape": (lambda: summed(X, Y), 17),
    "broadcast": (lambda: summed(X, ROW), 26),
    "transposed": (lambda: summed(X.t(), Y), 26),
    "number": (lambda: summed(X, 2.0), 20),
    "scalar": (lambda: scaled(X, Y, alpha=2.0), 17),
    "scalar of an int": (lambda: scaled(X, Y, alpha=2), 25),
    "default scalar": (lambda: scaled(X, Y), 25),
    "complex": (lambda: summed(MATRIX, MATRIX), 22),
    "out": (lambda: summed(X, Y, out=OUT), 33),
}


@pytest.mark.parametrize("name", WARM)
def test_python_calls_of_a_warm_call(name: str) -> None:
    work, most = WARM[name]
    entered, c_calls = python_calls(work)
    assert 3 <= entered <= most, entered
    assert c_calls <= 60, c_calls


def test_the_counter_counts() -> None:
    assert python_calls(lambda: None) == (0, 0)
    assert python_calls(lambda: (lambda: len(""))()) == (1, 1)


def test_a_warm_call_plans_and_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it look at the layouts: the plan is found by the signature."""
    from pymetal.runtime.jit import Programs

    add = fresh(summed)
    out, other = torch.empty(4, 4), torch.empty(4, 4, dtype=torch.float64)
    for args in ((X, Y), (X, ROW), (X, 2.5), (X.t(), Y)):
        add(*args)
    add(X, Y, out=out)
    add(X, Y, out=torch.empty(0))  # resized: not a plan to keep

    def fail(*args: object) -> None:
        raise AssertionError("planned again")

    monkeypatch.setattr(dispatch, "make_plan", fail)
    monkeypatch.setattr(Programs, "get", fail)
    for args in ((Y, X), (Y, ROW + 1), (X, 3.5), (Y.t(), X)):
        assert torch.equal(add(*args), torch.add(*args))
    version = out._version
    assert add(Y, X, out=out) is out
    assert out._version == version + 1
    assert torch.equal(out, X + Y)
    whole = torch.ones(20)
    assert torch.equal(add(whole[:16].view(4, 4), Y, out=whole[:16].view(4, 4)), Y + 1)  # in place
    with pytest.raises(CallError, match="refer to a single memory location"):
        add(whole[:16].view(4, 4), Y, out=whole[4:].view(4, 4))
    for unplanned in (other, torch.empty(4, 4).t(), torch.empty(2, 4), torch.empty(16).requires_grad_()):
        with pytest.raises(AssertionError, match="planned again"):
            add(X, Y, out=unplanned)
    with pytest.raises(AssertionError, match="planned again"):
        add(X[:2], Y[:2])


def test_plans_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(plan_cache, "MAX_PLANS", 5)
    add = fresh(summed)
    for size in range(1, 20):
        x = torch.ones(size)
        assert torch.equal(add(x, x), x + x)
        assert len(add.caller.plans) <= 5


def test_a_warm_call_on_mps_runs_as_little() -> None:
    """Up to the call of the kernel, which is C++ there and Python in the stand-in."""
    add = fresh(summed)
    with mps_stand_in.installed() as stand_in:
        x = stand_in.put(X)
        add(x, x)
        (launch,) = add.caller.plans.values()
        object.__setattr__(launch, "kernel", lambda *args, threads: None)
        entered, _ = python_calls(lambda: add(x, x))
        assert 3 <= entered <= 12, entered
