"""The registered form against the JIT path: every kernel that upstream's host code launches, bit for bit, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import device_cases
import functors
import pytest
import torch

import pymetal
from examples.atan2 import atan2
from examples.logaddexp import logaddexp
from examples.smooth_l1 import smooth_l1
from pymetal import CallError, DeviceError, T
from pymetal.arity import installed_release
from pymetal.check import registered
from pymetal.check.kernel_forms import KERNEL_FORMS
from pymetal.functor import Functor

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")


@pymetal.binary(dtypes=("floating", "integral", "bool", "complex"))
def weighted(a: T, b: T, *, alpha: T = 1) -> T:
    return a + alpha * b


@pymetal.unary(dtypes=("floating", torch.int64, torch.uint8, "bool", "complex"))
def squared(a: T) -> T:
    return a * a


@pymetal.ternary(dtypes=("floating", "integral", "bool", "complex"), opmath=True)
def fused(a: T, b: T, c: T) -> T:
    return a * b + c


@pymetal.binary(dtypes=("floating", "complex", torch.int32), opmath=True)
def times_plus(a: T, b: T) -> T:
    return a * b + a


@pymetal.binary(promotion="always_bool", dtypes=("floating", torch.int64, torch.bool))
def smaller(a: T, b: T) -> bool:
    return a < b


# Every kernel: unary; a struct of scalars; binary with opmath, with castout, with a scalar; integers; ternary.
WHOLE: tuple[Functor, ...] = (
    squared, functors.elu, times_plus, smaller, weighted, functors.narrow, functors.clamp,
)  # fmt: skip
# Kernels without casts; those with casts take long to compile for functions like these.
PARTLY: tuple[Functor, ...] = (
    functors.log_normal, functors.kinds, functors.affine, atan2, logaddexp, smooth_l1, fused,
)  # fmt: skip
PLAIN_FORMS = ("dense", "dense_ilp", "strided", "dense_broadcast", "dense_scalar_lhs")
SCALARS: dict[str, dict[str, Any]] = {
    "elu": {"alpha": 1.5, "scale": 0.75, "input_scale": 2.0}, "affine": {"scale": 2, "shift": -1, "limit": 5},
    "between": {"low": 0, "high": 3}, "smooth_l1": {"beta": 0.75}, "weighted": {"alpha": 3},
}  # fmt: skip

Case = tuple[str, tuple[torch.Tensor, ...], torch.Tensor | None]  # form, operands, out


def other(dtype: torch.dtype, domain: list[torch.dtype]) -> torch.dtype | None:
    """A dtype that promotes to `dtype` with it."""
    wanted = (torch.bool, torch.uint8, torch.int16, torch.float16, torch.float32, torch.int64)
    return next((d for d in wanted if d is not dtype and torch.promote_types(d, dtype) is dtype), None)


def cases(functor: Functor) -> Iterator[Case]:
    """Each form in each dtype, with operands in the layout that it is for; 4 does not divide the counts."""
    n, domain = functor.arity.inputs, device_cases.domain(functor)
    have = registered.forms(functor)
    for dtype in domain:
        flat = device_cases.operands(functor, dtype, 5, 7)
        if dtype.is_floating_point:
            flat[0][0, :4] = torch.tensor([float("nan"), float("inf"), -0.0, 1e-30])
        turned = [t.t() if i % 2 == 0 else t.t().contiguous() for i, t in enumerate(flat)]
        gaps = [torch.cat([t, t], 1)[:, ::2] for t in flat]
        narrow = other(dtype, domain)
        mixed = [flat[0], *(t.abs().to(narrow) if narrow and dtype is not torch.bool else t for t in flat[1:])]
        swapped = [*mixed[1:], mixed[0]]
        for form in have:
            out: torch.Tensor | None = None
            if form.endswith(("castout", "castout_ilp")):
                complexes = (torch.complex64, torch.complex32) if dtype.is_complex else ()
                for wanted in (torch.float16, torch.int64, torch.uint8, torch.float32, *complexes):
                    result = functor(*flat, **shared_scalars(functor)).dtype
                    if not torch.can_cast(result, wanted):
                        continue
                    if form.startswith("strided"):
                        yield form, tuple(turned), torch.empty(5, 7, dtype=wanted).t()
                    else:
                        yield form, tuple(flat), torch.empty(5, 7, dtype=wanted)
            elif form == "strided":
                yield form, tuple(turned), out
                yield (
                    form,
                    tuple(gaps),
                    torch.empty_like(functor(*gaps, **shared_scalars(functor))).t().contiguous().t(),
                )
                if n > 1:
                    yield form, (flat[0], *(t[:1] for t in flat[1:-1]), flat[-1][:, :1]), out
                cube = [t.reshape(-1)[:24].view(2, 3, 4) for t in flat]
                yield form, tuple(t.permute(2, 0, 1) if i % 2 else t.reshape(4, 2, 3) for i, t in enumerate(cube)), out
            elif form == "strided_cast":
                yield form, tuple(t.t() for t in mixed), out
                yield form, (swapped[0], *(t[:, :1] for t in swapped[1:])), out
            elif "broadcast" in form:
                full, small = (mixed[0], mixed[1][2]) if form.endswith("_cast") else (flat[0], flat[1][2])
                yield form, (small, full) if "rhs" in form else (full, small), out
            elif "scalar" in form and n == 2:
                full, small = (mixed[0], mixed[1][2, 3]) if form.endswith("_cast") else (flat[0], flat[1][2, 3])
                small = small.reshape(())
                yield form, (small, full) if "lhs" in form else (full, small), out
            elif form == "dense_cast":
                yield form, tuple(mixed), out
                yield form, tuple(swapped), out
            else:
                yield form, tuple(flat), out
                yield form, tuple(t[:1, :1].contiguous() for t in flat), out


def shared_scalars(functor: Functor) -> dict[str, Any]:
    return SCALARS.get(functor.name, {})


@pytest.mark.parametrize("functor", [*WHOLE, *PARTLY], ids=lambda f: f.name)
def test_every_form_in_every_dtype(functor: Functor) -> None:
    scalars = shared_scalars(functor)
    functor.__dict__.pop("caller", None)
    with device_cases.batched() as (batch, _):
        batch.collecting = True
        listed = [c for c in cases(functor) if functor in WHOLE or c[0] in PLAIN_FORMS]
        wanted = {registered.kernel_name(functor, form, _element(operands)) for form, operands, _ in listed}
        registered.library(functor).prepare(wanted)
        for batch.collecting in (True, False):
            expected = [
                functor(*x, out=None if out is None else torch.empty_like(out), **scalars) for _, x, out in listed
            ]
    functor.__dict__.pop("caller", None)
    for (form, operands, out), result in zip(listed, expected, strict=True):
        actual = registered.run(functor, form, *operands, out=out, **scalars)
        assert (actual.dtype, actual.shape) == (result.dtype, result.shape), (form, operands)
        torch.testing.assert_close(actual, result, rtol=0, atol=0, equal_nan=True, msg=f"{form} {operands}")
    if functor in WHOLE:  # nothing is registered that was not run
        assert wanted == set(registered.kernel_names(functor))


def _element(operands: tuple[torch.Tensor, ...]) -> Any:
    found = operands[0].dtype
    for t in operands[1:]:
        found = torch.promote_types(found, t.dtype)
    return pymetal.dtypes.from_torch(found)


@pytest.mark.parametrize("functor", [*WHOLE, *PARTLY], ids=lambda f: f.name)
def test_the_names_are_those_that_the_macros_make(functor: Functor) -> None:
    """The table for the installed torch against its own headers, expanded by the compiler."""
    assert sorted(registered.kernel_names(functor)) == sorted(dir(registered.library(functor)))


ADDCMUL = next(f for f in device_cases.EXAMPLES if f.name == "addcmul")

# Kernels of one registration, from the table of macros by release.
RELEASES = ((2, 8), (2, 9), (2, 10), (2, 12), (2, 13), (2, 14), (2, 15))
MACROS: list[tuple[str, Functor, tuple[int, ...]]] = [
    ("REGISTER_UNARY_OP", squared, (2, 2, 2, 2, 6, 8, 8)),
    ("REGISTER_UNARY_ALPHA_OP", functors.elu, (2, 2, 2, 2, 2, 3, 4)),
    ("REGISTER_BINARY_OP", logaddexp, (4, 4, 12, 12, 13, 14, 14)),
    ("REGISTER_BINARY_ALPHA_OP", smooth_l1, (4, 4, 12, 12, 12, 12, 12)),
    ("REGISTER_TERNARY_OP", fused, (0, 0, 4, 4, 4, 4, 4)),
    ("REGISTER_TERNARY_ALPHA_OP", ADDCMUL, (0, 0, 0, 0, 0, 0, 4)),
]


@pytest.mark.parametrize(("macro", "functor", "counts"), MACROS, ids=[m[0] for m in MACROS])
def test_kernels_by_release(macro: str, functor: Functor, counts: tuple[int, ...]) -> None:
    registrations = len(functor.ir.domain)
    for version, count in zip(RELEASES, counts, strict=True):
        names = registered.kernel_names(functor, version)
        assert len(names) == len(set(names)) == count * registrations, (version, names[: count + 1])


def test_names_that_changed() -> None:
    """What the releases are known to call them."""
    names = {v: registered.kernel_names(logaddexp, v) for v in ((2, 8), (2, 10), (2, 12), (2, 13), (2, 14))}
    assert "logaddexp_dense_cast_half" in names[2, 12]
    assert "logaddexp_dense_cast_half_half" not in names[2, 12]
    assert "logaddexp_dense_cast_half_half" in names[2, 13]
    assert "logaddexp_dense_cast_half" not in names[2, 13]
    assert "logaddexp_dense_broadcast_float_float" not in names[2, 8]
    assert "logaddexp_dense_broadcast_rhs_cast_float" in names[2, 10]
    assert "logaddexp_dense_ilp4_bfloat_bfloat" in names[2, 13]
    assert "logaddexp_inner_contiguous_float_float" in names[2, 14]
    assert "less_strided_castout_bool_float" in registered.kernel_names(functors.less, (2, 13))
    assert "less_strided_castout_bool_float" not in registered.kernel_names(functors.less, (2, 12))
    assert "elu_dense_half_half_elu_params_float" in registered.kernel_names(functors.elu, (2, 10))
    assert "atan2_dense_float_int" in registered.kernel_names(atan2, (2, 8))
    assert "clamp_dense_cast_half" in registered.kernel_names(functors.clamp, (2, 13))
    assert registered.kernel_names(functors.clamp, (2, 9)) == []
    scaled = [n for n in registered.kernel_names(ADDCMUL, (2, 15)) if n.endswith("_float_float_float")]
    assert scaled == ["addcmul_dense_float_float_float", "addcmul_strided_float_float_float"]
    assert registered.kernel_names(ADDCMUL, (2, 14)) == []


X = torch.ones(2, 2)
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no such form": (lambda: registered.run(atan2, "dence", X, X), "no 'dence' kernel for float32; did you mean"),
    "not contiguous": (lambda: registered.run(atan2, "dense", X.t(), X.t()), "its operands must be contiguous"),
    "another dtype": (lambda: registered.run(atan2, "dense", X, X.half()), "its operands must have one dtype"),
    "another shape": (lambda: registered.run(atan2, "dense", X, X[0]), "its operands must have one shape"),
    "no scalar": (lambda: registered.run(atan2, "dense_scalar", X, X), "operand 1 must have one element"),
    "scalar on the left": (lambda: registered.run(atan2, "dense_scalar_lhs", X, X[0, 0]), "operand 1 must have"),
    "no row": (lambda: registered.run(atan2, "dense_broadcast", X, X[:, :1].contiguous()), "the last dimensions"),
    "out": (lambda: registered.run(atan2, "strided", X, X, out=torch.empty(4)), "out= has shape"),
    "dimensions": (lambda: registered.run(squared, "strided", X.view((2, 2) + (1,) * 15)), "at most 16 dimensions"),
    "unregistered": (lambda: registered.run(logaddexp, "dense", X.int(), X.int()), "is not registered for torch.int32"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_kernel_would_misread_is_refused(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(CallError, match=message):
        call()


def test_a_form_of_another_release() -> None:
    if installed_release() < (2, 14):
        with pytest.raises(DeviceError, match="squared has no inner_contiguous kernel with torch 2"):
            registered.run(squared, "inner_contiguous", X)
    assert ("inner_contiguous" in registered.forms(squared)) == (installed_release() >= (2, 14))
    assert "inner_contiguous" in registered.forms(squared, (2, 14))


def test_sixteen_dimensions_and_none() -> None:
    x = torch.arange(4.0)
    deep = x.view((2, *(1,) * 14, 2)).transpose(0, 15)
    assert torch.equal(registered.run(squared, "strided", deep), deep * deep)
    assert registered.run(squared, "strided", x[3]).item() == 9
    assert registered.run(squared, "dense", x[:0]).shape == (0,)


def test_rows_of_one_form_do_not_meet() -> None:
    """At every release a form is one kernel."""
    for version in ((2, minor) for minor in range(7, 16)):
        seen = [(r.arity, r.form, r.macro) for r in KERNEL_FORMS if r.holds(version)]
        assert len(seen) == len(set(seen)), version
