"""Names that Metal or C++ uses for something else, in every place where a body can have a name.

Each name is a parameter, a variable, the variable of a loop, a helper, a parameter of a helper, and a table: the text
compiles, and the values are right. Names that are not ASCII, too.
"""

from __future__ import annotations

import keyword
import re
from pathlib import Path

import differential
import pytest
import toolbox
import torch

from pymetal import host
from pymetal.codegen.names import FUNCTIONS, RESERVED

# From the Metal Shading Language specification: functions, types and macros of <metal_stdlib> that a person may well
# use as a name, and words of C++.
WRITTEN = """
    abs acos acosh all any array as_type asin asinh atan atan2 atanh atomic_int bfloat bool2 buffer ceil char4 clamp clz
    constant copysign cos cosh cospi cross ctz default device distance divide dot exp exp10 exp2 fabs fdim float2 floor
    fma fmax fmed3 fmin fmod fract fragment frexp half half2 ilogb INFINITY int3 int8_t intersection isfinite isinf
    isnan kernel ldexp length log log10 log2 long2 M_PI_F MAXFLOAT mad24 max median3 mesh metal min mix modf mulhi NAN
    nan nextafter normalize object ordered packed_float3 patch popcount pow powr precise quad_sum rint rotate round
    rsqrt sampler saturate select short2 sign signbit simd_sum sin sincos sinh sinpi size_t smoothstep sqrt step
    tan tanh template texture2d thread threadgroup trunc uchar uint uint2 uint64_t ulong unordered ushort vertex visible
    void zeta sinc digamma polygamma gcd erf lgamma erfinv log1p expm1 igamma i0 bessel_j0_forward floor_divide
    remainder mul div powi conj c10 std at T params out main register signed unsigned struct union typename virtual
    volatile auto catch char const double enum explicit export extern float friend goto inline int long namespace new
    operator private protected public short sizeof static switch this throw typedef using bitand bitor compl xor not_eq
    FLT_MAX INT_MAX HUGE_VALF FP_NAN NULL CHAR_BIT assert offsetof shift_left shift_right remainder_ T_ float_
""".split()  # noqa: SIM905 - a list of words reads better as words
FOREIGN = ["größe", "été", "naïve", "π", "θ", "变量", "ñ", "Ω_1", "_x", "__y", "_Z", "a__b", "x_", "B"]
HEADERS = [*Path(torch.__file__).parent.glob("include/c10/metal/*.h"), *Path(host.__file__).parent.glob("shim/*")]
MACROS = {name for path in HEADERS for name in re.findall(r"^\s*#\s*define\s+(\w+)", path.read_text(), re.M)}
NAMES = sorted({*WRITTEN, *MACROS, *FOREIGN, *RESERVED, *FUNCTIONS} - set(keyword.kwlist))
SKIPPED = {"_p"}


def sources(number: int, name: str) -> str:
    """Functors in which `name` has every role."""
    return f"""
def named_{number}():
    @_p.func
    def inner_{number}({name}: _p.T) -> _p.T:
        return {name} * 2

    @_p.func
    def variables_{number}(aa: _p.T, bb: _p.T) -> _p.T:
        {name} = aa + bb
        if aa > bb:
            {name} += 1
        for _ in range(2):
            {name} = {name} * 2
        return {name}

    @_p.func
    def loops_{number}(aa: _p.T) -> _p.T:
        for {name} in range(1, 4):
            aa += {name}
        return aa

    @_p.binary(dtypes=torch.float32)
    def f{number}({name}: _p.T, bb: _p.T) -> _p.T:
        return variables_{number}({name}, bb) + loops_{number}({name}) + inner_{number}(bb)

    return f{number}


def called_{number}():
    @_p.func
    def {name}(aa: _p.T) -> _p.T:
        return aa + 3

    @_p.binary(dtypes=torch.float32)
    def g{number}(aa: _p.T, bb: _p.T) -> _p.T:
        return {name}(aa) * {name}(bb + {name}(aa))

    return g{number}


def indexed_{number}():
    {name} = (2.0, 3.0, 5.0)

    @_p.binary(dtypes=torch.float32)
    def h{number}(aa: _p.T, bb: _p.T) -> _p.T:
        total = aa
        for k in range(3):
            total = total * bb + {name}[k]
        return total

    return h{number}
"""


def named(a: float, b: float) -> float:
    return (a + b + (a > b)) * 4 + (a + 6) + b * 2


def called(a: float, b: float) -> float:
    return (a + 3) * (b + a + 6)


def indexed(a: float, b: float) -> float:
    for w in (2.0, 3.0, 5.0):
        a = a * b + w
    return a


ROLES = {"named": named, "called": called, "indexed": indexed}
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_every_name_in_every_role(part: int, tmp_path: Path) -> None:
    names = [n for n in NAMES if n not in SKIPPED][part::PARTS]
    text = "".join(sources(number, name) for number, name in enumerate(names))
    module = toolbox.load(tmp_path, text, "import torch\nimport pymetal as _p\n\n")
    programs, wanted = [], []
    a, b = torch.tensor([1.0, 4.0, -2.0]), torch.tensor([3.0, 0.5, -7.0])
    for number, name in enumerate(names):
        for role, function in ROLES.items():
            functor = getattr(module, f"{role}_{number}")()
            programs.append((name, role, differential.Program(functor.text.source, "float32", functor)))
            wanted.append([function(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)])
    with toolbox.unoptimized():
        library = differential.compiled([p for _, _, p in programs])
    for index, ((name, role, program), expected) in enumerate(zip(programs, wanted, strict=True)):
        out = torch.empty_like(a)
        getattr(library, f"run_{index}_float")(out, a, b)
        assert out.tolist() == expected, (name, role)
        assert program.functor.reference(a, b).tolist() == expected, (name, role)
        assert program.functor.text.source.isascii()


def test_names_that_become_one_stay_two(tmp_path: Path) -> None:
    """`float_` is what `float` is renamed to, `u00e9` what é is spelled as."""
    text = (
        "@pymetal.binary(dtypes='floating')\ndef f(half: T, half_: T) -> T:\n    é = half * 2\n    u00e9 = half_ * 3\n"
        "    kernel = é + u00e9\n    kernel_ = kernel + half\n    return kernel * kernel_ - half_\n"
    )
    functor = toolbox.load(tmp_path, text).f
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([5.0, 7.0])
    wanted = [(x * 2 + y * 3) * (x * 2 + y * 3 + x) - y for x, y in ((1.0, 5.0), (2.0, 7.0))]
    assert functor(a, b).tolist() == wanted


def test_helpers_of_two_functors_do_not_meet(tmp_path: Path) -> None:
    """Both files define what is called `scale`; each functor has its own."""
    for factor in (2, 5):
        text = (
            f"@pymetal.func\ndef scale(x: T) -> T:\n    return x * {factor}\n\n\n"
            "@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return scale(x) + 1\n"
        )
        functor = toolbox.load(tmp_path, text).f
        assert functor(torch.tensor([3.0])).tolist() == [3 * factor + 1]


def test_comments_are_ascii(tmp_path: Path) -> None:
    text = '@pymetal.unary\ndef f(x: T) -> T:\n    """Größe → naïve */ ½ \\\\"""\n    return x\n'
    functor = toolbox.load(tmp_path, text).f
    assert functor.metal_source.isascii()
    host.compile_shader(functor.metal_source)
