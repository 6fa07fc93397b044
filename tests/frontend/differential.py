"""Random functors computed three times: by the reference, by their Metal text on the host device, and by Python.

Each is also called once with a number, or a 0-dim tensor of another dtype, for one of its operands; of the functors of
floats half are then decorated with `opmath=True`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import grammar
import scalars
import toolbox
import torch

from pymetal import host
from pymetal.codegen.metal_file import headers
from pymetal.dtypes import wrap
from pymetal.functor import Functor

DTYPES = {
    "floating": (torch.float32, torch.float16, torch.bfloat16),
    "integral": (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8),
    "bool": (torch.bool,),
    "complex": (torch.complex64, torch.complex32),
    "float32": (torch.float32,),
    "int8": (torch.int8,),
}
METAL = {
    torch.float32: "float", torch.float16: "half", torch.bfloat16: "bfloat", torch.int64: "long", torch.int32: "int",
    torch.int16: "short", torch.int8: "char", torch.uint8: "uchar", torch.bool: "bool",
    torch.complex64: "float2",
    torch.complex32: "half2",
}  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A random functor."""

    text: str
    kind: str
    functor: Functor
    opmath: Functor | None = None  # the same with opmath=True, for the calls

    @property
    def called(self) -> Functor:
        return self.opmath or self.functor

    @property
    def dtypes(self) -> tuple[torch.dtype, ...]:
        return DTYPES[self.kind]


class Mismatch(AssertionError):
    """Two of the three do not agree, or one of them failed."""

    def __init__(self, program: Program | str, what: str) -> None:
        text = program if isinstance(program, str) else f"{program.text}\n{program.functor.text.source}"
        super().__init__(f"{what}\n{text}")

    def of(self, seed: int) -> Mismatch:
        """This one, with the seed that shows it again."""
        self.args = (f"seed {seed}: {self.args[0]}",)
        return self


def inputs(dtype: torch.dtype, count: int) -> list[torch.Tensor]:
    """Pairs of edge values and random ones; of complex types, small integers, whose products are exact."""
    if dtype.is_complex:
        parts = torch.randint(-3, 4, (4, count), generator=torch.Generator().manual_seed(0)).float()
        return [torch.complex(*parts[:2]).to(dtype), torch.complex(*parts[2:]).to(dtype)]
    a, b = toolbox.operands(dtype, 2, 20)
    chosen = torch.randperm(len(a), generator=torch.Generator().manual_seed(0))[:count]
    return [a[chosen].contiguous(), b[chosen].contiguous()]


warnings.filterwarnings("ignore", message="ComplexHalf support is experimental")
INPUTS = {dtype: inputs(dtype, 24) for dtypes in DTYPES.values() for dtype in dtypes}


def write(folder: Path, seed: int) -> Program:
    """The functor of a seed: of ten, four compute with floats, four with integers, two with truth values and complex.

    Raises:
        Mismatch: it is refused, although it is well-typed.
    """
    kind = grammar.KINDS[(0, 0, 0, 0, 1, 1, 1, 1, 2, 3)[seed % 10]]
    text = grammar.Writer(seed, kind).text()
    try:
        functor = toolbox.load(folder, text, grammar.PRELUDE).f
        if kind != "floating" or seed % 3 == 0:
            return Program(text, kind, functor)
        head, binary, body = text.rpartition('@pymetal.binary(dtypes="floating"')
        return Program(
            text, kind, functor, toolbox.load(folder, f"{head}{binary}, opmath=True{body}", grammar.PRELUDE).f
        )
    except Exception as error:
        raise Mismatch(text, f"{type(error).__name__}: {error}") from error


def compiled(programs: Sequence[Program]) -> Any:
    """All programs as one library, with a kernel for each program and dtype."""
    wanted = sorted({h for p in programs for h in headers(p.functor.ir)})
    parts = [*(f"#include <{h}>\n" for h in wanted), "#include <metal_stdlib>\nusing namespace metal;\n"]
    for index, program in enumerate(programs):
        # Helpers of helpers, inlined in nested loops, take clang minutes.
        text = program.functor.text.source.replace("inline ", "__attribute__((noinline)) inline ")
        parts.append(f"namespace program_{index} {{\n{text}}}\n")
        for dtype in program.dtypes:
            type_ = METAL[dtype]
            parts.append(
                f"kernel void run_{index}_{type_}(device {type_}* out [[buffer(0)]], "
                f"device const {type_}* a [[buffer(1)]], device const {type_}* b [[buffer(2)]], "
                "uint i [[thread_position_in_grid]]) {\n"
                f"  out[i] = program_{index}::{program.functor.name}_functor{{}}(a[i], b[i]);\n}}\n"
            )
    library = host.compile_shader("\n".join(parts), numerics="ieee")
    library.prepare(dir(library))  # all kernels in one run of the compiler
    return library


def python(program: Program, dtype: torch.dtype, given: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """What Python computes, one pair of operands after the other, and where all implementations agree on it."""
    names = scalars.names(str(dtype).removeprefix("torch."))
    names.update(grammar.TABLES, LIMIT=5, HALF=0.5)
    exec(compile("from __future__ import annotations\n" + program.text, "<program>", "exec", dont_inherit=True), names)
    body = names[program.functor.name]
    a, b = (scalars.numbers(t) for t in given)
    values, exact = [], []
    for x, y in zip(a, b, strict=True):
        before = scalars.Complex.rounding
        values.append(body(x, y))
        exact.append(scalars.Complex.rounding == before)
    return scalars.tensor(values, dtype), torch.tensor(exact)


def compare(program: Program, run: Callable[[torch.dtype, list[torch.Tensor]], torch.Tensor]) -> None:
    """Compares the three for every dtype of a program; `run` computes it on the host device.

    Raises:
        Mismatch: two differ.
    """
    for dtype in program.dtypes:
        given = INPUTS[dtype]
        try:
            wanted, exact = python(program, dtype, given)
            reference = program.functor.reference(*given)
            _assert_equal(run(dtype, given), reference, exact, given)
        except Exception as error:
            raise Mismatch(program, f"text against reference, {dtype}: {error!r}") from error
        try:
            _assert_equal(reference, wanted, exact, given)
        except Exception as error:
            raise Mismatch(program, f"reference against Python, {dtype}: {error!r}") from error


# What is passed for an operand: numbers, and 0-dim tensors of dtypes that give way to those of the kind.
NUMBERS: dict[str, tuple[Any, ...]] = {
    "floating": (
        0.1, -2.5, 3, True, 2049, 65519.9, 70000, 524288.0, 2.0**64, -(2.0**70), 1e300, 2**63, 2**64 - 1, -(2**63),
        float("inf"), float("-inf"), float("nan"), 1e-30,
    ),
    "integral": (0, 1, -1, 3, True, 255, -129, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63)),
    "bool": (True, False),
    "complex": (2, -1.5, 1j, 2 - 1j, True),
}  # fmt: skip
NUMBERS["float32"], NUMBERS["int8"] = NUMBERS["floating"], NUMBERS["integral"]
ZERO_DIM = {
    "floating": (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool),
    "integral": (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
    "bool": (torch.bool,),
    "complex": (torch.complex64, torch.complex32, torch.float32, torch.int64, torch.bool),
}


def mixed(program: Program, seed: int) -> tuple[torch.dtype, list[Any], list[torch.Tensor]]:
    """A dtype, the operands of a call, one of them a number or of no dimensions; and the values that they mean."""
    random = Random(seed)
    dtype = random.choice(program.dtypes)
    place, number = random.randrange(2), random.choice(NUMBERS[program.kind])
    value: Any = number
    if random.random() < 0.5:
        of = random.choice(ZERO_DIM[program.kind])
        if of.is_complex:
            value = torch.tensor(number, dtype=torch.complex128).to(of)
        elif of.is_floating_point:
            value = torch.tensor(number.real, dtype=torch.float64).to(of)
        else:
            kept = int(number.real) if abs(number) < 1 << 64 else 5
            value = torch.tensor(wrap(kept, of), dtype=of)
    compute = torch.float32 if program.opmath else dtype
    if isinstance(value, torch.Tensor):
        single = value.float() if value.dtype is torch.float64 else value
    elif program.kind == "integral":
        single = torch.tensor(wrap(value, dtype), dtype=dtype)
    else:
        wide = torch.complex128 if isinstance(value, complex) else torch.float64
        single = torch.tensor(value, dtype=wide).to(torch.complex64 if isinstance(value, complex) else torch.float32)
    given: list[Any] = list(INPUTS[dtype])
    meant = [t.to(compute) for t in given]
    given[place] = value
    if compute is torch.complex32:
        single = single.to(torch.complex64)
    meant[place] = single.to(compute).expand(meant[1 - place].shape).contiguous()
    return dtype, given, meant


def compare_mixed(program: Program, seed: int) -> None:
    """Compares a call, the reference and Python for operands as `mixed` makes them.

    Raises:
        Mismatch: two differ.
    """
    dtype, given, meant = mixed(program, seed)
    shown = next(o for o in given if not isinstance(o, torch.Tensor) or not o.dim())
    try:
        wanted, exact = python(program, meant[0].dtype, meant)
        reference = program.called.reference(*given)
        _assert_equal(program.called(*given), reference, exact, meant)
        _assert_equal(reference, wanted.to(dtype), exact, meant)
    except Exception as error:
        how = "opmath=True, " if program.opmath else ""
        raise Mismatch(program, f"{how}{dtype} with {shown!r}: {error!r}") from error


def _assert_equal(actual: torch.Tensor, expected: torch.Tensor, where: torch.Tensor, given: list[torch.Tensor]) -> None:
    assert actual.dtype == expected.dtype
    if actual.is_complex():
        for part in ("real", "imag"):
            a, b = (getattr(t.to(torch.complex64), part)[where] for t in (actual, expected))
            toolbox.assert_equal(a, b, [t.to(torch.complex64)[where] for t in given])
    else:
        toolbox.assert_equal(actual, expected, given)


def check(folder: Path, seeds: Sequence[int]) -> Iterator[Mismatch]:
    """Writes, compiles and compares the programs of `seeds`; what disagrees."""
    programs = []
    for seed in seeds:
        try:
            programs.append((seed, write(folder, seed)))
        except Mismatch as mismatch:
            yield mismatch.of(seed)
    library = compiled([p for _, p in programs])
    for index, (seed, program) in enumerate(programs):

        def run(dtype: torch.dtype, given: list[torch.Tensor], index: int = index) -> torch.Tensor:
            out = torch.empty_like(given[0])
            getattr(library, f"run_{index}_{METAL[dtype]}")(out, *given)
            return out

        try:
            compare(program, run)
        except Mismatch as mismatch:
            yield mismatch.of(seed)
    with toolbox.batch("ieee"):
        for seed, program in programs:
            program.called.jit_source(*mixed(program, seed)[1])
        for seed, program in programs:
            try:
                compare_mixed(program, seed)
            except Mismatch as mismatch:
                yield mismatch.of(seed)
