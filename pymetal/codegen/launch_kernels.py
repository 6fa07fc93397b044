"""The launch kernels of the JIT: a functor over dense or strided operands, for the dtypes of one call.

pymetal brings its own because those of `c10/metal/indexing.h` change their arguments between torch releases under the
same names. Operands of other dtypes than the functor's are converted where they are loaded, the result where it is
stored, and a broadcast operand is read with stride zero: nothing is copied first.

Buffers are bound in this order: outputs, operands, scalars; then for the dense kernel of several elements a thread the
element count, and for a strided kernel the strides, and from four dimensions on the sizes and their number.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from pymetal.codegen.expressions import convert
from pymetal.dtypes import DType, Kind, bool_, complex64, float32, int64, real_of

KERNEL = "launch"
PER_THREAD = 4  # elements of a thread of the dense kernel for large tensors on a GPU, as upstream's ILP_PER_THREAD


class Role(enum.Enum):
    """How a kernel reads an operand."""

    ELEMENT = "at the thread's own offset"
    SINGLE = "one element for all threads"
    NUMBER = "bound by value"


@dataclass(frozen=True)
class Form:
    """Which kernel: dense for rank 0, else strided; rank 4 stands for four dimensions and more.

    Attributes:
        inner: for the output and each operand in memory, whether neighbours along the fastest dimension are neighbours
            in memory, or one element; None if for some they are neither.
    """

    rank: int
    roles: tuple[Role, ...]
    per_thread: int = 1
    inner: tuple[bool, ...] | None = None


@dataclass(frozen=True)
class LaunchKey:
    """What a launch kernel is made for."""

    form: Form
    inputs: tuple[DType, ...]  # as stored, or as bound
    compute: DType  # what the functor is called with
    returned: tuple[DType, ...]  # what the functor of each result returns
    outputs: tuple[DType, ...]  # as stored
    scalars: tuple[DType, ...]  # what the functor takes
    params: tuple[str, ...] = ()  # for each result, the struct in which several scalars travel
    via: tuple[DType, ...] = ()  # what each input is converted to before `compute`; empty: nothing else

    @property
    def bound_scalars(self) -> tuple[DType, ...]:
        """What the scalars are bound as."""
        return tuple(bound_as(d) for d in self.scalars)


def bound_as(scalar: DType) -> DType:
    """The type in which a number of `scalar` type is bound.

    `compile_shader` binds Python numbers as long or float, and nothing else; complex ones travel as two floats.
    """
    match scalar.kind:
        case Kind.FLOATING:
            return float32
        case Kind.COMPLEX:
            return complex64
        case Kind.BOOL | Kind.SIGNED | Kind.UNSIGNED:
            return int64


def launch_kernel(functors: Sequence[str], key: LaunchKey) -> str:
    """The kernel for `key`, of the functor of each result; all outputs have the same strides."""
    form = key.form
    arguments = [f"device {d.metal}* {out}" for d, out in zip(key.outputs, _outputs(key), strict=True)]
    for i, (dtype, role) in enumerate(zip(key.inputs, form.roles, strict=True)):
        by_value = role is Role.NUMBER
        stored = "uchar" if dtype == bool_ else dtype.metal  # a byte of bool memory may have any value
        arguments.append(f"constant {dtype.metal}& in{i}" if by_value else f"device const {stored}* in{i}")
    arguments += [f"constant {d.metal}& s{i}" for i, d in enumerate(key.bound_scalars)]
    if form.rank:
        # The host device takes `strides` for a sign that accesses are scattered, which is not worth a vector loop.
        arguments.append(f"constant long* {'strides' if form.inner is None else 'steps'}")
        arguments += ["constant long* sizes", "constant long& ndim"] if form.rank > 3 else []
    elif form.per_thread > 1:
        arguments.append("constant long& count")
    position = ("uint i", "uint i", "uint2 p", "uint3 p", "uint3 p")[form.rank]
    bound = ",\n    ".join(f"{a} [[buffer({i})]]" for i, a in enumerate(arguments))
    body = _strided(functors, key) if form.rank else _dense(functors, key)
    return f"kernel void {KERNEL}(\n    {bound},\n    {position} [[thread_position_in_grid]]) {{\n{body}}}\n"


def _outputs(key: LaunchKey) -> list[str]:
    return ["out"] if len(key.outputs) == 1 else [f"out{k}" for k in range(len(key.outputs))]


def _store(functors: Sequence[str], key: LaunchKey, out: str, offsets: list[str]) -> list[str]:
    """The statements that compute one element; `offsets` has one index for each operand that is in memory."""
    at = iter(offsets)
    values = []
    for i, (dtype, role) in enumerate(zip(key.inputs, key.form.roles, strict=True)):
        value = f"in{i}" if role is Role.NUMBER else f"in{i}[{next(at)}]"
        if dtype == bool_ and role is not Role.NUMBER:
            value = f"bool({value})"
        via = key.via[i] if key.via else dtype
        values.append(_converted(_converted(value, dtype, via), via, key.compute))
    pairs = zip(key.bound_scalars, key.scalars, strict=True)
    scalars = [_converted(f"s{i}", bound, dtype) for i, (bound, dtype) in enumerate(pairs)]
    results = []
    for k, functor in enumerate(functors):
        bound = [f"{key.params[k]}{{{', '.join(scalars)}}}"] if key.params else scalars
        call = f"{functor}_functor{{}}({', '.join([*values, *bound])})"
        results.append(_converted(call, key.returned[k], key.outputs[k]))
    if len(results) == 1:
        return [f"out[{out}] = {results[0]};"]
    # All are computed before the first is stored: what they have in common is then computed once.
    types = (d.metal for d in key.outputs)
    lines = [f"const {type_} r{k} = {result};" for k, (type_, result) in enumerate(zip(types, results, strict=True))]
    return [*lines, *(f"{name}[{out}] = r{k};" for k, name in enumerate(_outputs(key)))]


def _dense(functors: Sequence[str], key: LaunchKey) -> str:
    indices = ["0" if role is Role.SINGLE else "i" for role in key.form.roles if role is not Role.NUMBER]
    if key.form.per_thread == 1:
        return "".join(f"  {line}\n" for line in _store(functors, key, "i", indices))
    indices = ["0" if index == "0" else "k" for index in indices]
    store = "".join(f"    {line}\n" for line in _store(functors, key, "k", indices))
    return (
        f"  const long first = long(i) * {key.form.per_thread};\n"
        f"  const long end = metal::min(first + {key.form.per_thread}, count);\n"
        f"  for (long k = first; k < end; k++) {{\n{store}  }}\n"
    )


def _strided(functors: Sequence[str], key: LaunchKey) -> str:
    """The first dimensions are the grid's; the third grid dimension also counts those beyond the third."""
    rank, operands = key.form.rank, 1 + sum(role is not Role.NUMBER for role in key.form.roles)
    components = ["i"] if rank == 1 else [f"p.{axis}" for axis in "xyz"[: min(rank, 3)]]
    table = "strides" if key.form.inner is None else "steps"

    def offset(k: int, dims: int) -> str:
        terms = []
        for d, position in enumerate(components[:dims]):
            if d == 0 and key.form.inner is not None:
                terms += [f"long({position})"] if key.form.inner[k] else []
            else:
                terms.append(f"{position} * {table}[{d * operands + k}]")
        return " + ".join(terms) or "0"

    if rank < 4:
        lines = [f"const long at{k} = {offset(k, rank)};" for k in range(operands)]
    else:
        lines = [f"long at{k} = {offset(k, 2)};" for k in range(operands)]
        lines += ["long rest = p.z;", "for (long d = 2; d < ndim; d++) {", "  const long position = rest % sizes[d];"]
        lines += ["  rest /= sizes[d];"]
        lines += [f"  at{k} += position * {table}[d * {operands} + {k}];" for k in range(operands)]
        lines.append("}")
    lines += _store(functors, key, "at0", [f"at{k}" for k in range(1, operands)])
    return "".join(f"  {line}\n" for line in lines)


def _converted(text: str, source: DType, target: DType) -> str:
    """A value of `source` type as `target`, with torch's meaning for complex numbers."""
    if source == target:
        return text
    if target.kind is Kind.COMPLEX:
        if source.kind is Kind.COMPLEX:
            return convert(text, target.metal)
        return f"{target.metal}({convert(f'float({text})', real_of(target).metal)}, 0)"
    if target == bool_ and source.kind is Kind.COMPLEX:
        return f"({text}.x != 0 || {text}.y != 0)"
    if target == bool_ and source.kind is Kind.FLOATING:
        return f"({text} != 0)"
    if source.is_half and target.is_half:
        text = f"float({text})"
    return convert(text, target.metal)
