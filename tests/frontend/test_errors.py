# ruff: noqa: E501 - messages are as long as they are
"""Messages in full that docs/refusals.md does not show: other suggestions and hints, decorators, sources, missing tools.

`EXPECTTEST_ACCEPT=1 pytest tests/frontend/test_errors.py` rewrites the messages; read the difference before you keep it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import toolbox
import torch
from expecttest import assert_expected_inline

from pymetal import DeviceError, PyMetalError, ToolchainError

PRELUDE = "from __future__ import annotations; import math, torch, pymetal; from pymetal import Floating, T, metal\n"


class Refused:
    """Decorates a functor that cannot become Metal, and has the message."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, text: str, error: type[Exception] = SyntaxError) -> str:
        with pytest.raises(PyMetalError) as caught:
            toolbox.load(self.folder, text, PRELUDE)
        assert isinstance(caught.value, error), type(caught.value)
        return self.plain(str(caught.value))

    def plain(self, message: str) -> str:
        """The message with the name of the file in the place of its path, and without trailing blanks."""
        return re.sub(r"\S*written_\d+\.py", "functor.py", message)


@pytest.fixture
def refused(tmp_path: Path) -> Refused:
    return Refused(tmp_path)


class TestSignatures:
    def test_too_few_parameters(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.binary
def f(a: T) -> T:
    return a
""",
            TypeError,
        )
        assert_expected_inline(
            message,
            """\
functor.py:3:1: PM003: @pymetal.binary takes a function with 2 tensor parameters but f has 1
    def f(a: T) -> T:
    ^^^^^^^^^^^^^^^^^
    Scalars are annotated float, int or bool, have a number as default, or come after `*`. For another number of tensors use @pymetal.unary or @pymetal.ternary.""",
        )

    def test_star_star_kwargs(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary
def f(a: T, **rest: T) -> T:
    return a
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:3:15: PM004: f takes `**kwargs`: a kernel has a fixed number of arguments
    def f(a: T, **rest: T) -> T:
                  ^^^^^^^
    Name each parameter.""",
        )

    def test_misspelled_annotation(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary
def f(a: pymetal.flaot32) -> T:
    return a
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:3:10: PM012: pymetal has no 'flaot32'; did you mean pymetal.float32?
    def f(a: pymetal.flaot32) -> T:
             ^^^^^^^^^^^^^^^
    dir(pymetal) lists what it has.""",
        )

    def test_int_annotation(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary
def f(a: int) -> T:
    return a
""",
            TypeError,
        )
        assert_expected_inline(
            message,
            """\
functor.py:3:10: PM020: int has no size in Metal
    def f(a: int) -> T:
             ^^^
    Write pymetal.int32 or pymetal.int64, or T for the element type.""",
        )

    def test_quoted_nonsense(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary
def f(a: 'T T') -> T:
    return a
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:3:10: PM006: 'T T' is not a type that pymetal knows
    def f(a: 'T T') -> T:
             ^^^^^
    Allowed: T, Real, Floating, Integral, Signed, Unsigned, Complex, bool, float, pymetal dtypes, ComplexOf[T], RealOf[T], OpMath[T].""",
        )

    def test_result_is_not_bool(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(promotion='always_bool')
def f(x: T) -> T:
    return x > 0
""",
            TypeError,
        )
        assert_expected_inline(
            message,
            """\
functor.py:3:16: PM010: promotion='always_bool' gives a result of type torch.bool for torch.float32, torch.float16, torch.bfloat16 but the annotation is T (torch.float32, torch.float16, torch.bfloat16)
    def f(x: T) -> T:
                   ^
    Make them agree: `-> bool`.""",
        )


class TestNames:
    def test_unknown_name_without_suggestion(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return x * qqqqqq
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:16: PM011: 'qqqqqq' is not defined
        return x * qqqqqq
                   ^^^^^^
    Names are found in the function, around it and in its module, when it is decorated.""",
        )

    def test_unknown_metal_function(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return metal.precise.atan3(x, x)
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:12: PM012: metal.precise has no 'atan3'; did you mean metal.precise.atan?
        return metal.precise.atan3(x, x)
               ^^^^^^^^^^^^^^^^^^^
    dir(metal.precise) lists what it has.""",
        )

    def test_unknown_metal_function_without_suggestion(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return metal.qqqqqq(x)
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:12: PM012: metal has no 'qqqqqq'
        return metal.qqqqqq(x)
               ^^^^^^^^^^^^
    dir(metal) lists what it has.""",
        )

    def test_unknown_math_function(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return math.expp(x)
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:12: PM012: math has no 'expp'; did you mean math.exp?
        return math.expp(x)
               ^^^^^^^^^
    dir(math) lists what it has.""",
        )

    def test_unsupported_math_function(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return math.erfc_not_there(x)
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:12: PM012: math has no 'erfc_not_there'
        return math.erfc_not_there(x)
               ^^^^^^^^^^^^^^^^^^^
    dir(math) lists what it has.""",
        )

    def test_a_string_is_no_value(self, refused: Refused) -> None:
        message = refused(
            """\
NAME = 'x'
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return x * NAME
""",
            TypeError,
        )
        assert_expected_inline(
            message,
            """\
functor.py:5:16: PM013: 'NAME' is a str and has no value in a functor
        return x * NAME
                   ^^^^
    A body can use numbers, dtypes, metal.*, functions of math and Python functions.""",
        )

    def test_attribute_of_a_value(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return x.size
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:12: PM032: `.size` of a value cannot become Metal
        return x.size
               ^^^^^^
    Values have `.real` and `.imag` only.""",
        )

    def test_a_class_is_not_callable(self, refused: Refused) -> None:
        message = refused(
            """\
class Helper: pass

@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return Helper(x)
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:6:12: PM015: 'Helper' is the class Helper and cannot be called in a functor
        return Helper(x)
               ^^^^^^
    A body calls metal.*, functions of math and torch that have Metal text, dtypes and Python functions.""",
        )


class TestCalls:
    def test_too_many_arguments(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return metal.exp(x, x)
""",
            TypeError,
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:12: PM017: metal.exp takes 1 argument but 2 were given
        return metal.exp(x, x)
               ^^^^^^^^^^^^^^^
    Call it as metal.exp(x).""",
        )

    def test_keyword_argument(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return metal.atan2(x, other=x)
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:27: PM018: metal.atan2 takes no keyword arguments in a functor
        return metal.atan2(x, other=x)
                              ^^^^^^^
    Pass 'other' by position.""",
        )

    def test_double_star(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return metal.exp(**x)
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:22: PM019: arguments cannot be unpacked with `*` in a functor
        return metal.exp(**x)
                         ^^^
    Write them one by one.""",
        )

    def test_cast_without_argument(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return T()
""",
            TypeError,
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:12: PM017: T takes 1 argument but 0 were given
        return T()
               ^^^
    Call it as T(x).""",
        )


class TestStatements:
    def test_unreachable_after_branches(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    if x > 0:
        return x
    else:
        return -x
    return x
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:8:5: PM029: this statement is never reached
        return x
        ^^^^^^^^
    Remove it.""",
        )

    def test_unset_in_an_elif(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    if x > 0:
        y = x
    elif x < 0:
        pass
    else:
        y = 1
    return x + y
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:10:16: PM014: 'y' may have no value here: it is assigned on some paths only
        return x + y
                   ^
    Assign it before the branch, or on every path.""",
        )

    def test_declared_without_value(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    y: T
    return x
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:5: PM030: cannot assign to a name without a value in a functor
        y: T
        ^^^^
    Assign to plain names, one at a time.""",
        )


class TestExpressions:
    def test_bytes_value(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return b'x'
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:12: PM033: b'x' is not a value that Metal can compute with
        return b'x'
               ^^^^
    Use numbers, True or False.""",
        )

    def test_value_of_and_is_a_number(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return x > 1 and x + 1
""",
            TypeError,
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:22: PM023: the value of `and` is one of its operands and this one is T (torch.float32, torch.float16, torch.bfloat16)
        return x > 1 and x + 1
                         ^^^^^
    Write `x + 1 if x > 1 else x > 1` for the operand that Python returns, or `bool(x > 1) and bool(x + 1)` for a truth value.""",
        )

    def test_walrus_that_may_not_be_evaluated(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    return x if x > 0 and (y := x * 2) > 3 else -x
"""
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:28: PM032: `:=` where it may not be evaluated cannot become Metal
        return x if x > 0 and (y := x * 2) > 3 else -x
                               ^^^^^^^^^^
    Assign 'y' on a line of its own.""",
        )


class TestTypes:
    def test_no_common_type(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='integral')
def f(x: T) -> T:
    return T(pymetal.uint64(x) + x)
""",
            TypeError,
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:14: PM022: torch.uint64 and T (torch.int64, torch.int32, torch.int16, torch.int8) have no common type
        return T(pymetal.uint64(x) + x)
                 ^^^^^^^^^^^^^^^^^^^^^
    Convert one of them: float(x), T(x), pymetal.int64(x).""",
        )

    def test_constant_negative(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes=torch.uint8)
def f(x: T) -> T:
    return x if x > 5 else -1
""",
            TypeError,
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:28: PM026: -1 does not fit torch.uint8
        return x if x > 5 else -1
                               ^^
    Write `T(pymetal.int32(-1))` for its low bits.""",
        )

    def test_annotated_variable_too_narrow(self, refused: Refused) -> None:
        message = refused(
            """\
@pymetal.unary(dtypes='floating')
def f(x: T) -> T:
    y: pymetal.int32 = x
    return T(y)
""",
            TypeError,
        )
        assert_expected_inline(
            message,
            """\
functor.py:4:5: PM025: 'y' is torch.int32 and cannot be assigned a value of type T (torch.float32, torch.float16, torch.bfloat16)
        y: pymetal.int32 = x
        ^^^^^^^^^^^^^^^^^^^^
    Convert the value, or use another name for it.""",
        )


class TestDecorators:
    def test_dtypes_word(self, refused: Refused) -> None:
        message = refused("@pymetal.unary(dtypes='floatng')\ndef f(x: T) -> T:\n    return x\n", PyMetalError)
        assert_expected_inline(
            message,
            """\
dtypes= does not take 'floatng'; did you mean 'floating'?
Allowed: "floating", "integral", "bool", "complex", or dtypes that Metal has: torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8, torch.bool, torch.complex64, torch.complex32, torch.uint64, torch.uint32, torch.uint16.""",
        )

    def test_dtypes_that_metal_lacks(self, refused: Refused) -> None:
        message = refused(
            "@pymetal.unary(dtypes=(torch.float32, torch.float64))\ndef f(x: T) -> T:\n    return x\n", PyMetalError
        )
        assert message.splitlines()[0].startswith("dtypes= does not take torch.float64")

    def test_dtypes_empty(self, refused: Refused) -> None:
        message = refused("@pymetal.unary(dtypes=())\ndef f(x: T) -> T:\n    return x\n", PyMetalError)
        assert_expected_inline(message, """dtypes= is empty: a functor needs at least one element type""")

    def test_promotion_word(self, refused: Refused) -> None:
        message = refused("@pymetal.unary(promotion='int2float')\ndef f(x: T) -> T:\n    return x\n", PyMetalError)
        assert_expected_inline(
            message,
            """\
promotion= does not take 'int2float'; did you mean 'int_to_float'?
Allowed: 'default', 'no_opmath', 'int_to_float', 'always_bool', 'complex_to_float', 'bool_to_long'.""",
        )

    def test_promotion_of_another_type(self, refused: Refused) -> None:
        message = refused("@pymetal.unary(promotion=3)\ndef f(x: T) -> T:\n    return x\n", PyMetalError)
        assert message.startswith("promotion= does not take 3\n")

    def test_unknown_keyword(self, tmp_path: Path) -> None:
        with pytest.raises(TypeError, match="promote"):
            toolbox.load(tmp_path, "@pymetal.unary(promote='default')\ndef f(x: T) -> T:\n    return x\n", PRELUDE)


class TestSources:
    def test_lambda(self, refused: Refused) -> None:
        message = refused("f = pymetal.unary(lambda x: x)\n", TypeError)
        assert_expected_inline(
            message,
            """\
a lambda cannot be a functor: it has no name to give the kernel and no place for annotations
Write it as a `def` in a file.""",
        )

    def test_builtin(self, refused: Refused) -> None:
        message = refused("f = pymetal.unary(math.sin)\n", TypeError)
        assert_expected_inline(
            message,
            """\
pymetal decorates Python functions, not builtin_function_or_method objects
Write a `def` with one annotated parameter for each tensor and decorate that.""",
        )

    def test_class(self, refused: Refused) -> None:
        message = refused("@pymetal.unary\nclass f:\n    pass\n", TypeError)
        assert_expected_inline(
            message,
            """\
pymetal decorates Python functions, not type objects
Write a `def` with one annotated parameter for each tensor and decorate that.""",
        )

    def test_partial(self, refused: Refused) -> None:
        message = refused("import functools\nf = pymetal.unary(functools.partial(max, 0))\n", TypeError)
        assert message.startswith("pymetal decorates Python functions, not partial objects\n")

    def test_functor_twice(self, refused: Refused) -> None:
        message = refused("@pymetal.unary\n@pymetal.unary\ndef f(x: T) -> T:\n    return x\n", TypeError)
        assert message.startswith("pymetal decorates Python functions, not Functor objects\n")

    def test_no_source(self, refused: Refused) -> None:
        text = 'exec(compile("def f(x: T) -> T: return x", "<made up>", "exec", dont_inherit=True))\nf = pymetal.unary(f)\n'
        message = refused(text, TypeError)
        assert_expected_inline(
            message,
            """\
the source of f cannot be found (could not get source code)
pymetal reads the text of a function: put it in a .py file or a notebook cell. exec(), .pyc files alone, a pipe into `python`, and the prompt before Python 3.13 keep no text.""",
        )

    def test_coroutine(self, refused: Refused) -> None:
        message = refused("@pymetal.unary\nasync def f(x: T) -> T:\n    return x\n")
        assert_expected_inline(
            message,
            """\
functor.py:3:1: PM031: an `async def` cannot become Metal
    async def f(x: T) -> T:
    ^^^^^^^^^^^^^^^^^^^^^^^
    A functor computes one value from its arguments and has no side effects.""",
        )

    def test_generator(self, refused: Refused) -> None:
        message = refused("@pymetal.unary\ndef f(x: T) -> T:\n    y = yield x\n    return y\n")
        assert_expected_inline(
            message,
            """\
functor.py:4:9: PM032: `yield` cannot become Metal
        y = yield x
            ^^^^^^^
    Use `return`.""",
        )


class TestTools:
    """What is missing on the machine, and how to get it."""

    text = "@pymetal.unary(dtypes='floating')\ndef f(x: T) -> T:\n    return x * 3.0625 + {}\n"

    @pytest.mark.host
    def test_named_compiler_is_not_there(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        functor = toolbox.load(tmp_path, self.text.format(1), PRELUDE).f
        monkeypatch.setenv("PYMETAL_CXX", "/nowhere/clang++")
        with pytest.raises(ToolchainError) as caught:
            functor(torch.ones(3))
        assert isinstance(caught.value, RuntimeError)
        assert_expected_inline(
            str(caught.value),
            """\
PYMETAL_CXX is '/nowhere/clang++', which is not an executable
unset PYMETAL_CXX for the compilers that pymetal finds by itself; or install one with: pip install 'torch-pymetal[host]'""",
        )

    @pytest.mark.host
    def test_no_compiler_at_all(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        functor = toolbox.load(tmp_path, self.text.format(2), PRELUDE).f
        monkeypatch.delenv("PYMETAL_CXX", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr("pymetal.host.toolchain._zig", lambda: None)
        with pytest.raises(ToolchainError) as caught:
            functor(torch.ones(3))
        message = str(caught.value)
        assert message.startswith("the host device needs clang 18 or newer. Looked for: PYMETAL_CXX, clang++")
        assert message.endswith("install one with: pip install 'torch-pymetal[host]'")
        # What needs no compiler goes on.
        assert functor.reference(torch.ones(3)).tolist() == [5.0625] * 3
        assert "struct f_functor" in functor.metal_source

    def test_other_devices(self, tmp_path: Path) -> None:
        functor = toolbox.load(tmp_path, self.text.format(3), PRELUDE).f
        with pytest.raises(DeviceError) as caught:
            functor(torch.ones(3, device="meta"))
        assert_expected_inline(
            str(caught.value),
            """\
pymetal has no device for meta tensors
Use mps tensors, or cpu tensors, which the host device computes with the same Metal text.""",
        )
