"""The refusals: one row for each, with its number, its message, and a hint how to change the functor.

A number never changes its meaning; a new refusal takes the next free one. Messages and hints are templates, filled in
where the refusal is raised.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass

from pymetal.dtypes import DType
from pymetal.errors import FunctorSyntaxError, FunctorTypeError, PyMetalError, Span


@dataclass(frozen=True)
class Refusal:
    """A reason why a function cannot become Metal."""

    number: int
    message: str
    hint: str = "{hint}"  # by default what the place that refuses says
    error: type[PyMetalError] = FunctorSyntaxError
    by_dtype: bool = False  # the body may have a meaning at other dtypes

    @property
    def code(self) -> str:
        """The number as messages and the documentation show it."""
        return f"PM{self.number:03d}"


def _type(number: int, message: str, hint: str = "{hint}", *, by_dtype: bool = False) -> Refusal:
    return Refusal(number, message, hint, FunctorTypeError, by_dtype)


_at_dtype = functools.partial(_type, by_dtype=True)


REFUSALS: dict[str, Refusal] = {
    # signatures
    "missing-annotation": Refusal(1, "parameter {name!r} of {functor} has no annotation"),
    "missing-result": Refusal(2, "{functor} has no result annotation", "Write `-> T`, or `-> bool` for a test."),
    "parameter-count": _type(
        3, "@pymetal.{arity} takes a function with {wanted} but {functor} has {found}",
        "Scalars are annotated float, int or bool, have a number as default, or come after `*`. For another number of "
        "tensors use {others}.",
    ),
    "variadic": Refusal(4, "{functor} takes {what}: a kernel has a fixed number of arguments", "Name each parameter."),
    "tensor-default": Refusal(
        5, "tensor parameter {name!r} has a default", "Write `{parameter}`{scalar}."
    ),
    "annotation": Refusal(
        6, "{found} is not a type that pymetal knows{near}",
        "Allowed: T, Real, Floating, Integral, Signed, Unsigned, Complex, bool, float, pymetal dtypes, ComplexOf[T], "
        "RealOf[T], OpMath[T].",
    ),
    "element-annotation": Refusal(
        59, "{name!r} is {found}: a tensor parameter must have the element type itself",
        "Annotate it with T, Real, Floating, Integral, Signed, Unsigned, Complex or a dtype; {found} is for results, "
        "scalars, variables and casts.",
    ),
    "mixed-elements": _type(
        7, "{name!r} is {found} but {first!r} is {wanted}: a functor has one element type",
        "Give them the same annotation.",
    ),
    "no-dtypes": _type(
        8, "{annotation} admits none of the dtypes of dtypes=({dtypes})", "Change the annotation or dtypes=."
    ),
    "scalar-default": _type(9, "default {value!r} of {name!r} is not a number",
        "Scalar parameters are numbers: a limit that may be absent is `{name}: float = math.inf`, a choice is "
        "`{name}: bool = False`."),
    "result-type": _type(
        10, "promotion={promotion!r} gives a result of type {wanted}{at} but the annotation is {found}",
        "Make them agree: {hint}.",
    ),
    # names
    "unknown-name": Refusal(11, "{name!r} is not defined{near}"),
    "unknown-attribute": Refusal(12, "{module} has no {name!r}{near}"),
    "not-a-value": _type(
        13, "{name!r} is {what} and has no value in a functor",
        "A body can use numbers, dtypes, metal.*, functions of math and Python functions.",
    ),
    "unset": Refusal(
        14, "{name!r} may have no value here: it is {when}"),
    "not-callable": Refusal(
        15, "{name!r} is {what} and cannot be called in a functor"),
    "undecorated": Refusal(
        16, "{name!r} cannot be called here: {reason}"
    ),
    # calls
    "argument-count": _type(17, "{name} takes {wanted} but {found}"),
    "keyword-argument": Refusal(18, "{name} takes no keyword arguments in a functor"),
    "starred": Refusal(19, "arguments cannot be unpacked with `*` in a functor", "Write them one by one."),
    "int-cast": _type(
        20, "int has no size in Metal", "Write pymetal.int32 or pymetal.int64, or T for the element type."
    ),
    # types
    "operand-kind": _at_dtype(21, "{op} is not defined for {type} operands{at}"),
    "no-common-type": _at_dtype(
        22, "{a} and {b} have no common type{at}", "Convert one of them: float(x), T(x), pymetal.int64(x)."
    ),
    "not-bool": _at_dtype(
        23, "{what} is one of its operands and this one is {type}",
        "Write `{operand}` for the operand that Python returns, or `{truth}` for a truth value.",
    ),
    "return-type": _at_dtype(24, "this returns {found} but the result type is {wanted}"),
    "assign-type": _at_dtype(
        25, "{name!r} is {wanted} and cannot be assigned a value of type {found}",
        "Convert the value, or use another name for it.",
    ),
    "does-not-fit": _at_dtype(26, "{value} does not fit {dtype}"),
    # statements
    "missing-return": Refusal(27, "{functor} can end without a `return`", "Return a value on every path."),
    "bare-return": Refusal(28, "`return` without a value", "Return the result of the functor."),
    "unreachable": Refusal(29, "this statement is never reached", "Remove it."),
    "target": Refusal(30, "cannot assign to {what} in a functor", "Assign to plain names, one at a time."),
    "statement": Refusal(31, "{what} cannot become Metal"),
    "expression": Refusal(32, "{what} cannot become Metal"),
    "constant": Refusal(33, "{what} is not a value that Metal can compute with", "Use numbers, True or False."),
    "operator": Refusal(34, "operator `{symbol}` cannot become Metal"),
    "complex-to-real": _at_dtype(35, "a complex number cannot be cast to {type}", "Use z.real, z.imag or abs(z)."),
    "empty-body": Refusal(36, "{functor} has no body", "Return a value."),
    "recursion": Refusal(38, "{name!r} calls itself but Metal has no recursion", "Write a loop."),
    "python-error": _type(39, "{op} of these numbers fails: {error}", "Change the numbers."),
    "table": Refusal(
        40, "{name} is not a tuple of {what}",
        "Tables are tuples of ints and floats: `COEFFICIENTS = (1.0, 0.5)` outside the functor.",
    ),
    "table-index": _type(
        41, "{what} the {size} elements of {name}",
        "Index with a constant, or with the variable of `for i in range(...)` whose bounds are constants inside it.",
    ),
    "as-type": _at_dtype(
        42, "the bits of {source} cannot be read as {target}", "Both types must have the same width, and not be bool."
    ),
    "argument-type": _at_dtype(
        43, "{name} takes {wanted} here but this is {found}", "Convert it: float(x), T(x), pymetal.int64(x)."
    ),
    "callee-dtype": _at_dtype(
        44, "{name} has no body for {dtype}{reason}", "It serves {served}. Convert the argument, or narrow dtypes=."
    ),
    "loop": Refusal(45, "{what} cannot become Metal"),
    "range-type": _at_dtype(46, "range() takes integers but this is {type}", "Convert it to an integer."),
    "assertion": _at_dtype(48, "assertion fails{at}: {text}"),
    "unpack": _type(49, "cannot unpack {found} into {wanted}", "Write as many names as values."),
    "overlap": _type(
        50, "two bodies serve {dtype}: this one and the one at {other}",
        "Narrow one annotation, so that it is a subset of the other.",
    ),
    "overload-signature": _type(
        51, "this body takes {found} but {functor} takes {wanted}", "Give it the same parameters."
    ),
    "no-parameters": Refusal(53, "{functor} has no parameters", "Use a number in place of the function."),
    "hidden-element": _type(
        55, "{found} does not determine the element type: Metal deduces it from a parameter of the type itself",
        "Annotate a parameter with the element type: `z: Complex` with `RealOf[T]`, or use complex64 and float.",
    ),
    "too-deep": Refusal(
        56, "an expression of {functor} is {what}",
        "Assign parts of it to variables; shorten a table of coefficients.",
    ),
    "missing-overload": _type(
        58, "dtypes= contains {dtypes} but no body of {functor} serves it",
        "Add a body for it with @{functor}.overload, or narrow dtypes=.",
    ),
    "result-tuple": Refusal(
        65, "`{found}` does not name the types of several results",
        "Write the type of each, from 2 to {most}: `-> tuple[T, T]`.",
    ),
    "result-count": _type(66, "this returns {found} but the annotation of {functor} has {wanted}"),
    "static-loop": _type(52, "{what} in a loop {over}"),
    "table-size": _type(
        57, "{name} has {size} numbers but an array of constants has at most {most}", "Pass a tensor, or compute them."
    ),
}  # fmt: skip


def _newer(name: str) -> list[type[ast.AST]]:
    """The class of `ast` with this name, if this version of Python has it."""
    found = getattr(ast, name, None)
    return [] if found is None else [found]


_COLLECTION = "A functor computes with numbers. Use one variable for each."
_ITERATED = "Pass it to sum(), min(), max(), any() or all(), or loop over it."
_PATTERN = "Match one number with numbers, or write `if` / `elif` / `else`."
_NO_EFFECT = "A functor computes one value from its arguments and has no side effects."

# What messages call each class of Python's ast, and what to write instead. A class that is neither here nor handled is
# refused by the name of the class: nothing is ever dropped.
CONSTRUCTS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Attribute: ("an attribute", "Values have `.real` and `.imag`, to be read."),
    ast.AsyncFor: ("an `async for` loop", _NO_EFFECT),
    ast.AsyncFunctionDef: ("an `async def`", _NO_EFFECT),
    ast.AsyncWith: ("an `async with` block", _NO_EFFECT),
    ast.Await: ("`await`", _NO_EFFECT),
    ast.ClassDef: ("a class definition", _NO_EFFECT),
    ast.Delete: ("`del`", "Remove it: variables end with the functor."),
    ast.Dict: ("a dict", _COLLECTION),
    ast.DictComp: ("a dict comprehension", _COLLECTION),
    ast.FormattedValue: ("an f-string", _COLLECTION),
    ast.FunctionDef: ("a nested function", "Define it outside."),
    ast.GeneratorExp: ("a generator expression", _ITERATED),
    ast.Global: ("`global`", _NO_EFFECT),
    ast.Import: ("`import`", "Import at the top of the module."),
    ast.ImportFrom: ("`import`", "Import at the top of the module."),
    ast.JoinedStr: ("an f-string", _COLLECTION),
    ast.Lambda: ("a lambda", "Write the expression itself."),
    ast.List: ("a list", _COLLECTION),
    ast.ListComp: ("a list comprehension", _ITERATED),
    ast.MatchClass: ("a pattern of a class", _PATTERN),
    ast.MatchMapping: ("a pattern of a mapping", _PATTERN),
    ast.MatchSequence: ("a pattern of a sequence", _PATTERN),
    ast.NamedExpr: ("`:=`", "Assign on a line of its own."),
    ast.Nonlocal: ("`nonlocal`", _NO_EFFECT),
    ast.Raise: ("`raise`", "Return NaN, or check arguments where the functor is called."),
    ast.Set: ("a set", _COLLECTION),
    ast.SetComp: ("a set comprehension", _COLLECTION),
    ast.Slice: ("a slice", _COLLECTION),
    ast.Starred: ("`*` unpacking", _COLLECTION),
    ast.Subscript: ("subscription", "A functor sees one element of each tensor, as a number."),
    ast.Try: ("`try`", "Nothing can be raised in a functor. Test the values instead."),
    ast.Tuple: ("a tuple", _COLLECTION),
    # From Python 3.11 and 3.12 on.
    **dict.fromkeys(_newer("TryStar"), ("`except*`", "Nothing can be raised in a functor.")),
    **dict.fromkeys(_newer("TypeAlias"), ("a type alias", "Name types outside the functor.")),
    ast.With: ("a `with` block", _NO_EFFECT),
    ast.Yield: ("`yield`", "Use `return`."),
    ast.YieldFrom: ("`yield from`", "Use `return`."),
}

SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.UAdd: "+", ast.USub: "-", ast.Not: "not", ast.Invert: "~", ast.And: "and", ast.Or: "or",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def refusal(slug: str, span: Span | None, **fields: object) -> PyMetalError:
    """The error of row `slug`; `fields` fill in its templates, in which `at` and `near` may be left empty."""
    row, fields = REFUSALS[slug], {"at": "", "near": "", **fields}
    fields = {name: value.torch if isinstance(value, DType) else value for name, value in fields.items()}
    message = f"{row.code}: {row.message.format(**fields)}"
    error = row.error(message, span, row.hint.format(**fields) or None)
    error.by_dtype = row.by_dtype
    return error


# Refused anywhere in a body, in a branch that is compiled away as well. Without the constructs that are handled, or
# refused with a message of their own, where they stand.
_REFUSED_ANYWHERE = frozenset(CONSTRUCTS) - {
    ast.Attribute, ast.FormattedValue, ast.GeneratorExp, ast.List, ast.ListComp, ast.Slice, ast.Starred, ast.Subscript,
    ast.Tuple,
}  # fmt: skip


def is_refused(node: ast.AST) -> bool:
    """True for a construct that is refused anywhere in a body."""
    return any(class_ in _REFUSED_ANYWHERE for class_ in type(node).__mro__)


def construct(node: ast.AST) -> tuple[str, str]:
    """What messages call `node`, and what to write instead."""
    for class_ in type(node).__mro__:
        if class_ in CONSTRUCTS:
            return CONSTRUCTS[class_]
    return f"`{type(node).__name__}`", "Use assignments, `if`, `return`, arithmetic, comparisons and calls."
