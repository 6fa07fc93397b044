"""Many threads: first calls at once compile once, and every call gets its own result."""

from __future__ import annotations

import threading
from collections.abc import Callable

import counting
import layouts
import mps_stand_in
import torch
from test_layouts import fresh, scaled, summed

from pymetal.functor import Functor
from pymetal.host import float_mode

THREADS = 16


def at_once(work: Callable[[int], None], count: int = THREADS) -> None:
    """Runs `work` in threads that start together; raises what any of them raised."""
    barrier = threading.Barrier(count)
    failures: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def check(functor: Functor, number: int) -> None:
    x = torch.arange(50, dtype=torch.int32) + number
    assert torch.equal(functor(x, number), x + number)


def test_first_calls_at_once_compile_once() -> None:
    add = fresh(layouts.added)
    with counting.launches() as seen:
        at_once(lambda number: check(add, number))
    assert len(seen.sources) == 1
    assert len(seen.threads) == THREADS


def test_first_calls_of_several_kernels_at_once() -> None:
    """As many compilations as there are kernels, whichever thread comes first."""
    add = fresh(layouts.added)
    x = torch.arange(24, dtype=torch.int32).view(4, 6)
    calls: list[tuple[torch.Tensor, torch.Tensor | int]] = [(x, x), (x.t(), x.view(6, 4)), (x, 3), (x[:, :1], x)]
    with counting.launches() as seen:

        def work(number: int) -> None:
            a, b = calls[number % len(calls)]
            assert torch.equal(add(a, b), a + b)

        at_once(work)
    assert len(seen.sources) == len(set(seen.sources)) == len(calls)


def test_first_calls_at_once_on_mps() -> None:
    add = fresh(layouts.added)
    with mps_stand_in.installed() as stand_in:
        x = torch.arange(5, dtype=torch.int32)
        held = [stand_in.put(x + n) for n in range(THREADS)]
        results: list[torch.Tensor | None] = [None] * THREADS

        def work(number: int) -> None:
            results[number] = add(held[number], number)

        at_once(work)
        assert len(stand_in.sources) == stand_in.handles == 1
        for number, result in enumerate(results):
            assert result is not None
            assert torch.equal(stand_in.get(result), x + 2 * number)


def test_a_failed_compilation_is_tried_again() -> None:
    """One thread's failure is not kept for the others."""
    add = fresh(layouts.added)
    attempts = []

    def fail(source: str) -> object:
        attempts.append(source)
        raise RuntimeError("device busy")

    with mps_stand_in.installed() as stand_in:
        x = stand_in.put(torch.ones(3, dtype=torch.int32))
        working, torch.mps.compile_shader = torch.mps.compile_shader, fail
        for _ in range(2):
            try:
                add(x, x)
            except SyntaxError:
                continue
            raise AssertionError("a broken compiler went unnoticed")
        assert len(attempts) == 2
        torch.mps.compile_shader = working
        assert stand_in.get(add(x, x)).tolist() == [2, 2, 2]


def test_different_calls_for_a_while() -> None:
    """Shapes, dtypes, layouts, scalars and out= of different threads do not meet."""

    def work(number: int) -> None:
        generator = torch.Generator().manual_seed(number)
        for i in range(30):
            shape = (1 + (number + i) % 5, 2 + i % 3)
            x = torch.randn(shape, generator=generator)
            y = torch.randn(shape, generator=generator).half() if i % 2 else torch.randn(shape[1], generator=generator)
            assert torch.equal(summed(x, y), x + y)
            assert torch.equal(summed(x.t(), x.t()), 2 * x.t())
            # Powers of two, so that a fused multiplication does not show.
            assert torch.equal(scaled(x, x, alpha=float(2**number)), x + x * 2**number)
            out = torch.zeros(shape)
            assert summed(x, y, out=out) is out
            assert torch.equal(out, x + y)

    at_once(work, 8)


def test_numerics_of_threads_do_not_meet() -> None:
    """Each thread has its own mode, and its own kernels."""
    tiny = torch.tensor([1e-40])
    add = fresh(summed)

    def work(number: int) -> None:
        mode, expected = (("apple", 0.0), ("ieee", (tiny + tiny).item()))[number % 2]
        with float_mode.numerics(mode):
            for _ in range(20):
                assert add(tiny, tiny).item() == expected, mode

    at_once(work)
