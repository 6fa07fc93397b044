"""The elementwise part of `torch.nn.functional.smooth_l1_loss`: a scalar parameter and a branch."""

import torch
from torch.nn.functional import smooth_l1_loss

import pymetal
from pymetal import T, metal


@pymetal.binary(dtypes="floating")
def smooth_l1(x: T, target: T, *, beta: float = 1.0) -> T:
    """Quadratic within `beta` of the target, linear beyond it."""
    z = metal.fabs(float(x) - float(target))
    return 0.5 * z * z / beta if z < beta else z - 0.5 * beta


def main() -> None:
    """Runs it on a million elements, on the GPU of an Apple machine or else on the host device, and compares."""
    device = "mps" if torch.backends.mps.is_available() else "cpu"
    x, y = (torch.randn(2, 1_000_000) * 3).to(device)
    result = smooth_l1(x, y, beta=0.5)
    print(smooth_l1.metal_source)
    print(smooth_l1.jit_source(x, y, beta=0.5))
    exact = smooth_l1_loss(x.cpu().double(), y.cpu().double(), reduction="none", beta=0.5)
    theirs = smooth_l1_loss(x, y, reduction="none", beta=0.5)
    error, torch_error = ((r.cpu().double() - exact).abs().max().item() for r in (result, theirs))
    print(f"smooth_l1: {result.numel():,} elements on {device}")
    print(f"largest error {error:.2g}, of torch's float32 operator {torch_error:.2g}")


if __name__ == "__main__":
    main()
