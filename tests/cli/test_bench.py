"""`pymetal bench`: what it measures, against what, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from pymetal import dtypes
from pymetal.cli import bench, main
from pymetal.cli.bench import inputs

FILE = str(Path(__file__).parents[2] / "examples" / "atan2.py")


@pytest.mark.host
def test_rows(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert bench._SIDES == (4, 256, 1024, 4096)
    monkeypatch.setattr(bench, "_SIDES", (4, 256))
    assert main(["bench", FILE, "--dtype", "float16", "--seconds", "0.001", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {(row["layout"], row["elements"]) for row in rows} == {
        (layout, 4**n) for layout in ("contiguous", "transposed", "broadcast") for n in (2, 8)
    }
    for row in rows:
        assert row["functor"] == "atan2"
        assert row["dtype"] == "float16"
        assert row["ratio"] == pytest.approx(row["torch_us"] / row["functor_us"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dtype", "float64"], "atan2 is not registered for 'float64'; it is for float32"),
        (["--dtype", "float33"], "'float33'"),
        (["--against", "torch.atan3"], "--against torch.atan3: there is no 'atan3'"),
        (["--only", "atan"], "did you mean 'atan2'?"),
    ],
)
def test_wrong_use(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", FILE, *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "broadcast"])
@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.int8, dtypes.bool_], ids=str)
def test_inputs(layout: str, dtype: dtypes.DType) -> None:
    first, last = inputs(2, dtype, 8, layout, "cpu")
    assert first.dtype == last.dtype == dtype.torch
    assert first.is_contiguous()
    assert torch.broadcast_shapes(first.shape, last.shape) == (8, 8)
    assert (last.is_contiguous(), last.shape == first.shape) == {
        "contiguous": (True, True),
        "transposed": (False, True),
        "broadcast": (True, False),
    }[layout]
