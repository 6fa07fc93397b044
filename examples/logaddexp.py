"""`torch.logaddexp` as a functor: branches, and half and bfloat computed at float precision."""

import math

import torch

import pymetal
from pymetal import T, metal


@pymetal.binary(dtypes="floating", opmath=True)
def logaddexp(a: T, b: T) -> T:
    """log(exp(a) + exp(b)), without overflow: the larger operand is taken out of the logarithm."""
    larger = a if a > b else b
    gap = metal.fabs(a - b)
    if math.isnan(gap):  # a NaN, or two infinities of one sign
        return a + b
    return larger + math.log1p(math.exp(-gap))


def main() -> None:
    """Runs it on a million elements, on the GPU of an Apple machine or else on the host device, and compares."""
    device = "mps" if torch.backends.mps.is_available() else "cpu"
    x, y = (torch.randn(2, 1_000_000) * 3).to(device)
    result = logaddexp(x, y)
    print(logaddexp.metal_source)
    print(logaddexp.jit_source(x, y))
    exact = torch.logaddexp(x.cpu().double(), y.cpu().double())
    theirs = torch.logaddexp(x, y)
    error, torch_error = ((r.cpu().double() - exact).abs().max().item() for r in (result, theirs))
    print(f"logaddexp: {result.numel():,} elements on {device}")
    print(f"largest error {error:.2g}, of torch's float32 operator {torch_error:.2g}")


if __name__ == "__main__":
    main()
