"""The launch kernels of the JIT: a functor over dense or strided operands, for the dtypes of one call.

pymetal brings its own because those of `c10/metal/indexing.h` change their arguments between torch releases under the
same names. Buffers are bound in this order: output, inputs, scalars, and for the strided kernel sizes, strides, ndim.
"""

from __future__ import annotations

from dataclasses import dataclass

from pymetal.codegen.text import convert
from pymetal.dtypes import DType, Kind, bfloat16, bool_, complex64, float16, float32, int64

DENSE = "dense"
STRIDED = "strided"


@dataclass(frozen=True)
class LaunchKey:
    """The dtypes for which a pair of launch kernels is made."""

    inputs: tuple[DType, ...]  # as stored
    compute: DType  # what the functor is called with
    returned: DType  # what the functor returns
    output: DType  # as stored
    scalars: tuple[DType, ...]  # what the functor takes
    params: str | None = None  # the struct in which several scalars travel

    @property
    def bound_scalars(self) -> tuple[DType, ...]:
        """What the scalars are bound as: `compile_shader` binds Python numbers as long or float, and nothing else."""
        return tuple(bound_as(d) for d in self.scalars)


def bound_as(scalar: DType) -> DType:
    """The type in which a scalar of `scalar` type is bound."""
    match scalar.kind:
        case Kind.FLOATING:
            return float32
        case Kind.COMPLEX:
            return complex64
        case Kind.BOOL | Kind.SIGNED | Kind.UNSIGNED:
            return int64


def launch_kernels(functor: str, key: LaunchKey) -> str:
    """The dense and the strided kernel of `functor` for the dtypes of `key`."""
    return _kernel(functor, key, DENSE) + "\n" + _kernel(functor, key, STRIDED)


def _kernel(functor: str, key: LaunchKey, form: str) -> str:
    count = len(key.inputs)
    arguments = [f"device {key.output.metal}* out"]
    arguments += [f"device const {d.metal}* in{i}" for i, d in enumerate(key.inputs)]
    arguments += [f"constant {d.metal}& s{i}" for i, d in enumerate(key.bound_scalars)]
    if form == STRIDED:
        arguments += ["constant long* sizes", "constant long* strides", "constant long& ndim"]
    bound = ",\n    ".join(f"{a} [[buffer({i})]]" for i, a in enumerate(arguments))
    at = ["i"] * (count + 1) if form == DENSE else [f"at{k}" for k in range(count + 1)]
    values = [_converted(f"in{i}[{at[i + 1]}]", d, key.compute) for i, d in enumerate(key.inputs)]
    scalars = [_converted(f"s{i}", b, d) for i, (b, d) in enumerate(zip(key.bound_scalars, key.scalars, strict=True))]
    if key.params is not None:
        scalars = [f"{key.params}{{{', '.join(scalars)}}}"]
    call = f"{functor}_functor{{}}({', '.join([*values, *scalars])})"
    body = "" if form == DENSE else _offsets(count + 1)
    body += f"  out[{at[0]}] = {_converted(call, key.returned, key.output)};\n"
    return f"kernel void {form}(\n    {bound},\n    uint i [[thread_position_in_grid]]) {{\n{body}}}\n"


def _offsets(operands: int) -> str:
    """The element offsets of a thread, from sizes and strides that list the fastest dimension first."""
    lines = [f"  long at{k} = 0;" for k in range(operands)]
    lines += ["  uint rest = i;", "  for (long d = 0; d < ndim; d++) {", "    const uint size = uint(sizes[d]);"]
    lines += ["    const long position = rest % size;", "    rest /= size;"]
    lines += [f"    at{k} += position * strides[d * {operands} + {k}];" for k in range(operands)]
    return "".join(f"{line}\n" for line in [*lines, "  }"])


def _converted(text: str, source: DType, target: DType) -> str:
    """A value of `source` type as `target`, with torch's meaning for complex numbers."""
    if source == target:
        return text
    if target.kind is Kind.COMPLEX and source.kind is not Kind.COMPLEX:
        part = "float" if target == complex64 else "half"
        return f"{target.metal}({convert(f'float({text})', part)}, 0)"
    if target == bool_ and source.kind is Kind.FLOATING:
        return f"({text} != 0)"
    if {source, target} == {float16, bfloat16}:
        text = f"float({text})"
    return convert(text, target.metal)
