"""`torch.addcmul` as a functor: ternary, with a scalar parameter, for floats and integers."""

import torch

import pymetal
from pymetal import T


@pymetal.ternary(dtypes=("floating", "integral"))
def addcmul(base: T, a: T, b: T, *, value: T = 1) -> T:
    """base + value * a * b."""
    return base + value * a * b


def main() -> None:
    """Runs it on a million elements, on the GPU of an Apple machine or else on the host device, and compares."""
    device = "mps" if torch.backends.mps.is_available() else "cpu"
    x, y, z = torch.randn(3, 1_000_000).to(device)
    result = addcmul(x, y, z, value=0.5)
    print(addcmul.metal_source)
    print(addcmul.jit_source(x, y, z, value=0.5))
    exact = torch.addcmul(x.cpu().double(), y.cpu().double(), z.cpu().double(), value=0.5)
    theirs = torch.addcmul(x, y, z, value=0.5)
    error, torch_error = ((r.cpu().double() - exact).abs().max().item() for r in (result, theirs))
    print(f"addcmul: {result.numel():,} elements on {device}")
    print(f"largest error {error:.2g}, of torch's float32 operator {torch_error:.2g}")


if __name__ == "__main__":
    main()
