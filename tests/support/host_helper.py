"""Small kernels for the tests of the host device."""

from __future__ import annotations

import torch

from pymetal import host

METAL = {
    torch.float32: "float", torch.float16: "half", torch.bfloat16: "bfloat", torch.int64: "long", torch.int32: "int",
    torch.int16: "short", torch.int8: "char", torch.uint8: "uchar", torch.bool: "bool", torch.complex64: "float2",
    torch.complex32: "half2", torch.uint16: "ushort", torch.uint32: "uint", torch.uint64: "ulong",
}  # fmt: skip


def compile_expression(
    expression: str, inputs: list[torch.dtype], output: torch.dtype, preamble: str = "", numerics: str | None = None
) -> host.ShaderLibrary:
    """A library whose kernel ``f`` stores `expression` of the scalars a, b, c of each thread."""
    names = "abc"[: len(inputs)]
    parameters = "".join(
        f", device const {METAL[dtype]}* {name}_ [[buffer({i + 1})]]"
        for i, (name, dtype) in enumerate(zip(names, inputs, strict=True))
    )
    loads = "".join(f"{METAL[dtype]} {name} = {name}_[i]; " for name, dtype in zip(names, inputs, strict=True))
    source = (
        f"#include <metal_stdlib>\nusing namespace metal;\n{preamble}\n"
        f"kernel void f(device {METAL[output]}* out [[buffer(0)]]{parameters}, "
        f"uint i [[thread_position_in_grid]]) {{ {loads} out[i] = {expression}; }}\n"
    )
    return host.compile_shader(source, numerics=numerics)


def evaluate(
    expression: str, *inputs: torch.Tensor, output: torch.dtype, preamble: str = "", numerics: str | None = None
) -> torch.Tensor:
    """The expression of a, b, c, for each element."""
    library = compile_expression(expression, [t.dtype for t in inputs], output, preamble, numerics)
    out = torch.zeros(inputs[0].numel(), dtype=output)
    library.f(out, *inputs)
    return out
