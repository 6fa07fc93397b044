"""The numerics modes of the host device: which subnormals are flushed, what fuses, and how a mode is chosen."""

from __future__ import annotations

import threading

import pytest
import torch
from host_helper import compile_expression, evaluate

from pymetal import host
from pymetal.errors import CallError
from pymetal.host import float_mode


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYMETAL_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "host-cache"))
    monkeypatch.delenv("PYMETAL_HOST_NUMERICS", raising=False)


TINY = torch.finfo(torch.float32).smallest_normal


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_apple_flushes_float_and_bfloat_subnormals(dtype: torch.dtype) -> None:
    normal = torch.tensor([TINY, -TINY, 2 * TINY], dtype=dtype)
    small = normal / 4
    one = torch.ones(3, dtype=dtype)
    assert evaluate("a * b", normal, one * 0.25, output=dtype, numerics="apple").tolist() == [0, 0, 0]
    assert evaluate("a + b", small, small * 0, output=dtype, numerics="apple").tolist() == [0, 0, 0]
    assert evaluate("a * b", small, one * 8, output=dtype, numerics="apple").tolist() == [0, 0, 0]
    zero = evaluate("a * b", normal, one * 0.25, output=dtype, numerics="apple")
    assert torch.signbit(zero).tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_ieee_keeps_float_and_bfloat_subnormals(dtype: torch.dtype) -> None:
    normal = torch.tensor([TINY, -TINY, 2 * TINY], dtype=dtype)
    quarter = torch.full((3,), 0.25, dtype=dtype)
    assert torch.equal(evaluate("a * b", normal, quarter, output=dtype, numerics="ieee"), normal * quarter)


@pytest.mark.parametrize("numerics", ["apple", "ieee"])
def test_half_subnormals_are_never_flushed(numerics: str) -> None:
    small = torch.arange(1, 1024, dtype=torch.int16).view(torch.float16)
    one = torch.ones_like(small)
    assert torch.equal(evaluate("a * b", small, one, output=torch.float16, numerics=numerics), small)
    assert torch.equal(evaluate("a + a", small, output=torch.float16, numerics=numerics), small + small)
    assert torch.equal(evaluate("float(a)", small, output=torch.float32, numerics=numerics), small.float())


@pytest.mark.parametrize("numerics", ["apple", "ieee"])
def test_loads_and_stores_do_not_flush(numerics: str) -> None:
    small = torch.tensor([TINY / 2, -TINY / 8, 1e-45])
    assert torch.equal(evaluate("a", small, output=torch.float32, numerics=numerics), small)
    assert torch.equal(
        evaluate("as_type<float>(as_type<int>(a))", small, output=torch.float32, numerics=numerics), small
    )


def test_the_caller_keeps_its_own_mode() -> None:
    small = torch.tensor([TINY / 2])
    evaluate("a * a", small, output=torch.float32, numerics="apple")
    assert (small * 1.0).item() == TINY / 2


def test_ieee_flushes_nothing_even_when_the_caller_does() -> None:
    normal, quarter = torch.tensor([TINY] * 3), torch.tensor([0.25] * 3)
    if not torch.set_flush_denormal(True):
        pytest.skip("torch cannot flush on this processor")
    try:
        got = evaluate("a * b", normal, quarter, output=torch.float32, numerics="ieee")
    finally:
        torch.set_flush_denormal(False)
    assert got.view(torch.int32).tolist() == [1 << 21] * 3


def test_contraction_is_on_for_apple_only() -> None:
    # (1 + e)(1 - e) - 1 is -e**2 when fused, and 0 when the product is rounded first.
    a, b = torch.tensor([1 + 2.0**-13] * 8), torch.tensor([1 - 2.0**-13] * 8)
    assert evaluate("a * b - 1", a, b, output=torch.float32, numerics="apple").tolist() == [-(2.0**-26)] * 8
    assert evaluate("a * b - 1", a, b, output=torch.float32, numerics="ieee").tolist() == [0.0] * 8
    assert evaluate("fma(a, b, -1.0)", a, b, output=torch.float32, numerics="ieee").tolist() == [-(2.0**-26)] * 8


def test_a_product_that_comes_from_a_function_does_not_fuse() -> None:
    a, b = torch.tensor([1 + 2.0**-13] * 8), torch.tensor([1 - 2.0**-13] * 8)
    preamble = "float product(float x, float y) { return x * y; }"
    got = evaluate("product(a, b) - 1", a, b, output=torch.float32, preamble=preamble, numerics="apple")
    assert got.tolist() == [0.0] * 8


def test_mode_is_chosen_by_argument_then_context_then_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def mode(numerics: str | None = None) -> str:
        return compile_expression("a + 1", [torch.float32], torch.float32, numerics=numerics).numerics

    assert mode() == "apple"
    monkeypatch.setenv("PYMETAL_HOST_NUMERICS", "ieee")
    assert mode() == "ieee"
    with host.numerics("apple"):
        assert mode() == "apple"
        assert mode("ieee") == "ieee"
        with host.numerics("ieee"):
            assert mode() == "ieee"
        assert mode() == "apple"
    assert mode() == "ieee"


def test_a_context_belongs_to_its_thread() -> None:
    seen: list[str] = []
    with host.numerics("ieee"):
        other = threading.Thread(target=lambda: seen.append(float_mode.current()))
        other.start()
        other.join()
        assert float_mode.current() == "ieee"
    assert seen == ["apple"]


def test_unknown_modes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CallError, match=r"numerics is 'aple'.*\n.*did you mean 'apple'"):
        host.compile_shader("", numerics="aple")
    monkeypatch.setenv("PYMETAL_HOST_NUMERICS", "fast")
    with pytest.raises(CallError, match="numerics is 'fast'"):
        host.compile_shader("")
