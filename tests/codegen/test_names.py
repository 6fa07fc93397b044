"""Names that Metal would misread are spelled otherwise, and every name that Python allows compiles."""

from __future__ import annotations

import keyword
from pathlib import Path

import pytest
import toolbox
import torch
from hypothesis import given
from hypothesis import strategies as st

import pymetal
from pymetal.codegen.names import FUNCTIONS, RESERVED, identifier, rename, to_ascii
from pymetal.runtime.operation import metal_text

# Words that Metal and its library use, or that belong to the implementation of C++; all of them are names in Python.
AWKWARD = """
    kernel device constant thread threadgroup half bfloat uint ushort ulong uchar char short long double float2 half4
    bool4 float4x4 double2 quad simd vec matrix packed_float3 as_type array tensor access level sampler buffer metal
    precise fast c10 T params opmath_t log1p exp abs min max fabs isnan signbit pow NAN INFINITY M_PI_F I NULL EOF errno
    main linux unix i386 asm typeof auto register static extern inline mutable namespace new delete operator private
    public template this throw typename union using virtual volatile switch case default do enum goto struct signed
    unsigned sizeof const explicit export friend catch typedef typeid wchar_t nullptr static_cast static_assert
    in0 out i sizes strides ndim dense strided at0 rest size position s0 __x x__y __METAL__ _ __ a__ true false
""".split()  # noqa: SIM905 - a list of words reads better as words
KEYWORDS_OF_C20 = ["requires", "concept", "co_await", "co_return", "co_yield", "char8_t", "constinit", "consteval"]
RESERVED_FOR_C = [
    "_Float16",
    "_Complex",
    "_Imaginary",
    "_Atomic",
    "_Static_assert",
    "_Generic",
    "_Noreturn",
    "_Alignas",
    "_Nonnull",
]


def compiles(folder: Path, names: list[str]) -> None:
    """A functor with each name as a parameter, and one with all as variables, compute what they say."""
    parameters = "".join(
        f"@pymetal.unary(dtypes=torch.float32)\ndef f{i}({name}: T) -> T:\n    return {name} + {i}\n\n"
        for i, name in enumerate(names)
    )
    chain = "".join(f"    {b} = {a} + 1\n" for a, b in zip(["x", *names], names, strict=False))
    variables = (
        f"@pymetal.unary(dtypes=torch.float32)\ndef g(x: T) -> T:\n{chain}    return {names[-1]} + math.exp(x)\n"
    )
    module = toolbox.load(folder, parameters + variables)
    x = torch.zeros(2)
    with toolbox.unoptimized(), toolbox.batch():
        for i in range(len(names)):
            getattr(module, f"f{i}").jit_source(x)
        module.g.jit_source(x)
        for i in range(len(names)):
            assert getattr(module, f"f{i}")(x).tolist() == [i, i]
        assert module.g(x).tolist() == [len(names) + 1] * 2


@pytest.mark.host
def test_awkward_names_compile(tmp_path: Path) -> None:
    assert not any(keyword.iskeyword(name) for name in AWKWARD)
    compiles(tmp_path, AWKWARD)


@pytest.mark.host
def test_newer_keywords_compile(tmp_path: Path) -> None:
    compiles(tmp_path, KEYWORDS_OF_C20)


@pytest.mark.host
def test_names_of_the_implementation_compile(tmp_path: Path) -> None:
    compiles(tmp_path, RESERVED_FOR_C)


@pytest.mark.host
def test_names_differ_by_more_than_the_underscore(tmp_path: Path) -> None:
    """`half` is spelled `half_`, which must not meet a variable that already has that name."""
    module = toolbox.load(
        tmp_path,
        "@pymetal.binary(dtypes='floating')\ndef f(half: T, half_: T) -> T:\n    half__ = half_ * 2\n"
        "    return half - half_ + half__\n",
    )
    assert module.f(torch.tensor([1.0]), torch.tensor([10.0])).item() == 11


FUNCTOR_NAMES = {
    "kernel": "kernel_op", "NAN": "NAN_op", "int": "int_op", "float2": "float2_op",
    "abs_": "abs_op", "_hidden": "hidden_op",
    "__x__": "x_op", "a__b": "a_u_b", "_": "x_op", "_1": "x1_op",
    "atan2": "atan2", "floor_divide": "floor_divide",
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("name", FUNCTOR_NAMES)
def test_functor_of_a_name_that_metal_could_misread(name: str, tmp_path: Path) -> None:
    """It is renamed: in the struct, the registrations and the kernels' names. Python's name stays."""
    text = f"@pymetal.binary(dtypes='floating')\ndef {name}(x: T, y: T) -> T:\n    return x + y\n"
    functor = toolbox.load(tmp_path, text).__dict__[name]
    assert functor.__name__ == name
    wanted = FUNCTOR_NAMES[name]
    assert functor.name == wanted
    assert f"struct {wanted}_functor {{" in functor.functor_source
    assert f"REGISTER_FLOAT_BINARY_OP({wanted});" in functor.metal_source
    assert f"{wanted}_dense_float_float" in dir(pymetal.host.compile_shader(functor.metal_source))
    assert functor(torch.ones(3), torch.ones(3)).tolist() == [2, 2, 2]


@pytest.mark.host
@pytest.mark.parametrize("part", range(3))
def test_functor_of_any_reserved_name(part: int, tmp_path: Path) -> None:
    """Each compiles with its registrations, in one file, and is called by another functor."""
    names = sorted(n for n in {*RESERVED, *FUNCTIONS} if not keyword.iskeyword(n) and n not in ("T", "metal"))[part::3]
    body = "@pymetal.unary(dtypes=torch.float32)\ndef {0}(x: T) -> T:\n    return x + 2\n"
    body += "f{1} = {0}\n@pymetal.unary(dtypes=torch.float32)\ndef calls{1}(x: T) -> T:\n    return f{1}(x) * 3\n"
    module = toolbox.load(tmp_path, "".join(body.format(name, number) for number, name in enumerate(names)))
    functors = [module.__dict__[f"{kind}{number}"] for number in range(len(names)) for kind in ("f", "calls")]
    with toolbox.unoptimized():
        found = dir(pymetal.host.compile_shader(metal_text(functors)))
        assert all(f"{functor.name}_dense_float_float" in found for functor in functors)
        assert [functor(torch.ones(1)).item() for functor in functors[:4]] == [3, 9, 3, 9]


@pytest.mark.host
def test_functor_of_a_name_with_accents(tmp_path: Path) -> None:
    text = "@pymetal.unary(dtypes='floating')\ndef größe(x: T) -> T:\n    return x + 2\n"
    functor = toolbox.load(tmp_path, text).größe
    assert functor.name.isascii()
    assert functor(torch.zeros(1)).item() == 2
    assert f"{functor.name}_dense_float_float" in dir(pymetal.host.compile_shader(functor.metal_source))


identifiers = st.from_regex(r"[a-zA-Zéß_][a-zA-Z0-9éß_]{0,5}", fullmatch=True) | st.sampled_from(
    [*AWKWARD, *(f"{name}_" for name in AWKWARD)]
)


@given(
    st.lists(identifiers, max_size=8),
    st.lists(st.sampled_from(AWKWARD), max_size=3),
)
def test_rename(names: list[str], taken: list[str]) -> None:
    """Distinct names stay distinct, and none is reserved, taken or not Metal's."""
    renamed = rename(names, taken)
    assert list(renamed) == list(dict.fromkeys(names))
    spelled = list(renamed.values())
    assert len(set(spelled)) == len(spelled)
    for name in spelled:
        assert name.isascii()
        assert name.isidentifier()
        assert name not in RESERVED
        assert name not in taken
        assert "__" not in name


def test_ordinary_names_are_kept() -> None:
    names = ["a", "x_1", "alpha", "Weight", "_hidden"]
    assert rename(names) == {name: name for name in names}


def test_to_ascii() -> None:
    assert to_ascii("Größe, naïve, x → y, 😀") == "Grosse, naive, x -> y, ?"
    assert to_ascii("a — “b” ≤ 2π \u00d7 10\u22123, it\u2019s") == 'a - "b" <= 2pi x 10-3, it\'s'
    assert to_ascii("plain\ttext") == "plain\ttext"


def test_identifier() -> None:
    assert identifier("plain_1") == "plain_1"
    assert identifier("é") == "u00e9"
