"""Functions of one name that Python tells apart by scope: helpers and functors that a functor calls."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
import toolbox
import torch

import pymetal

OTHER = """
TAB = (1.0, 2.0, 3.0)

@pymetal.unary(dtypes="floating")
def g(x: T) -> T:
    return x + 1

@pymetal.unary(dtypes="floating")
def calls_g(x: T) -> T:
    return g(x) * 3

@pymetal.func
def sq(x: T) -> T:
    y = x
    for i in range(3):
        y = y + TAB[i]
    return y

@pymetal.func
def zero(x: T) -> T:
    return T(-0.0)

def make(k):
    @pymetal.func
    def scale(x: T) -> T:
        return x * k
    return scale
"""
HERE = """
@pymetal.func
def sq(x: T) -> T:
    return x * x

@pymetal.func
def zero(x: T) -> T:
    return T(0.0)

twice, thrice, again = other.make(2), other.make(3), other.make(2)

@pymetal.unary(dtypes="floating")
def closures(x: T) -> T:
    return twice(x) + 10 * thrice(x) + 100 * again(x)

@pymetal.unary(dtypes="floating")
def modules(x: T) -> T:
    return sq(x) + other.sq(x) * 1000

@pymetal.unary(dtypes="floating")
def zeros(x: T) -> T:
    return metal.copysign(T(1), zero(x)) + metal.copysign(T(5), other.zero(x))

@pymetal.func
def calls(x: T) -> T:
    return other.sq(x) - sq(x)

@pymetal.unary(dtypes="floating")
def inner(x: T) -> T:
    return calls(x) + twice(sq(x))

@pymetal.unary(dtypes="floating")
def g(x: T) -> T:
    return other.g(x) * 2 + other.calls_g(x)
"""


SPELLED = """
@pymetal.func
def exp(x: T) -> T:
    return x + 1

@pymetal.func
def exp_(x: T) -> T:
    return x + 20

@pymetal.unary(dtypes="floating")
def f(x: T) -> T:
    return exp(x) * exp_(x)
"""


@pytest.mark.host
def test_names_that_are_spelled_alike(tmp_path: Path) -> None:
    """Metal's functions keep their names: a helper `exp` is `exp_` in the text."""
    functor = toolbox.load(tmp_path, SPELLED).f
    assert functor(torch.tensor([1.0])).item() == functor.reference(torch.tensor([1.0])).item() == 42


ARRAYS = """
b_c, c = (1.0, 2.0), (3.0, 4.0)

@pymetal.func
def a(x: T) -> T:
    for i in range(2):
        x = x + b_c[i]
    return x

@pymetal.func
def a_b(x: T) -> T:
    for i in range(2):
        x = x + c[i]
    return x

@pymetal.unary(dtypes="floating")
def f(x: T) -> T:
    return a(x) * a_b(x)
"""


def test_arrays_whose_names_meet_are_refused(tmp_path: Path) -> None:
    functor = toolbox.load(tmp_path, ARRAYS).f
    with pytest.raises(pymetal.PyMetalError, match="two arrays of f are called a_b_c"):
        functor(torch.ones(1))


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("names")
    other = toolbox.load(folder, OTHER)
    here = tmp_path_factory.mktemp("here")
    return toolbox.load(here, HERE, f"{toolbox.PRELUDE}import sys\nother = sys.modules[{other.__name__!r}]\n")


WANTED = {
    "closures": lambda x: 2 * x + 30 * x + 200 * x,
    "modules": lambda x: x * x + (x + 6) * 1000,
    "zeros": lambda x: -4.0,
    "inner": lambda x: x + 6 - x * x + 2 * x * x,
    "g": lambda x: (x + 1) * 2 + (x + 1) * 3,
}


@pytest.mark.host
@pytest.mark.parametrize("name", WANTED)
def test_each_call_reaches_its_own_function(name: str, module: ModuleType) -> None:
    functor = getattr(module, name)
    x = torch.tensor([1.0, -2.0, 5.0])
    wanted = [WANTED[name](v) for v in x.tolist()]
    assert functor.reference(x).tolist() == wanted
    assert functor(x).tolist() == wanted


def test_equal_functions_are_one(module: ModuleType) -> None:
    text = module.closures.functor_source
    assert text.count(" scale(const") == text.count(" scale_1(const") > 0
    assert "scale_2" not in text
