"""`torch.nn.functional.gelu` with the tanh approximation: a unary functor computed in float."""

import math

import torch
from torch.nn.functional import gelu

import pymetal
from pymetal import T, metal

SCALE = math.sqrt(2 / math.pi)


@pymetal.unary(dtypes="floating", opmath=True)
def gelu_tanh(x: T) -> T:
    """x times the normal distribution function, approximated through tanh."""
    return 0.5 * x * (1 + metal.precise.tanh(SCALE * (x + 0.044715 * x * x * x)))


def main() -> None:
    """Runs it on a million elements, on the GPU of an Apple machine or else on the host device, and compares."""
    device = "mps" if torch.backends.mps.is_available() else "cpu"
    x = torch.randn(1_000_000).to(device)
    result = gelu_tanh(x)
    print(gelu_tanh.metal_source)
    print(gelu_tanh.jit_source(x))
    exact = gelu(x.cpu().double(), approximate="tanh")
    theirs = gelu(x, approximate="tanh")
    error, torch_error = ((r.cpu().double() - exact).abs().max().item() for r in (result, theirs))
    print(f"gelu_tanh: {result.numel():,} elements on {device}")
    print(f"largest error {error:.2g}, of torch's float32 operator {torch_error:.2g}")


if __name__ == "__main__":
    main()
