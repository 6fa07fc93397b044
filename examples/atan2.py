"""`torch.atan2` as a functor: a float overload, and one that takes integers to float."""

import torch

import pymetal
from pymetal import T, metal


@pymetal.binary(promotion="int_to_float")
def atan2(a: T, b: T) -> T:
    """Angle of the point (b, a), in radians."""
    return metal.precise.atan2(a, b)


def main() -> None:
    """Runs it on a million elements, on the GPU of an Apple machine or else on the host device, and compares."""
    device = "mps" if torch.backends.mps.is_available() else "cpu"
    x, y = (torch.randn(2, 1_000_000) * 3).to(device)
    result = atan2(x, y)
    print(atan2.metal_source)
    print(atan2.jit_source(x, y))
    exact = torch.atan2(x.cpu().double(), y.cpu().double())
    theirs = torch.atan2(x, y)
    error, torch_error = ((r.cpu().double() - exact).abs().max().item() for r in (result, theirs))
    print(f"atan2: {result.numel():,} elements on {device}")
    print(f"largest error {error:.2g}, of torch's float32 operator {torch_error:.2g}")


if __name__ == "__main__":
    main()
