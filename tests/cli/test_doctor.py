"""`pymetal doctor`: the self-test of a device finds what is wrong and says so, and the cache is cleared."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import device_cases
import mps_stand_in
import pytest
import torch
from mps_stand_in import StandIn

from pymetal.cli import main
from pymetal.host.cache import default_cache
from pymetal.host.device import HostDevice
from pymetal.runtime import device

TEXT = """
import pymetal
from pymetal import T, metal


@pymetal.binary(dtypes=("floating", pymetal.int32))
def blend(a: T, b: T) -> T:
    return a * 3 - b


@pymetal.unary(dtypes=(pymetal.float32, pymetal.bool_), promotion="int_to_float")
def wave(a: T) -> T:
    return metal.precise.sin(a)
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "some.py"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


@pytest.fixture
def on_mps() -> Iterator[StandIn]:
    """MPS tensors are tensors of the stand-in, and come back to the CPU from its memory."""
    with mps_stand_in.installed() as stand_in:
        plain_to, plain_cpu = torch.Tensor.to, torch.Tensor.cpu

        def to(tensor: torch.Tensor, *args: Any, **keywords: Any) -> torch.Tensor:
            if args and isinstance(args[0], torch.device) and args[0].type == "mps":
                return stand_in.put(tensor)
            return plain_to(tensor, *args, **keywords)

        def cpu(tensor: torch.Tensor) -> torch.Tensor:
            return stand_in.get(tensor) if tensor.device == mps_stand_in.STAND_IN else plain_cpu(tensor)

        runner = device.find_device(mps_stand_in.STAND_IN)
        with (
            mock.patch.object(torch.Tensor, "to", to),
            mock.patch.object(torch.Tensor, "cpu", cpu),
            mock.patch.dict(device._used, {"mps": runner}),
        ):
            yield stand_in


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["doctor", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_mps(on_mps: StandIn, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--device", "mps", "--functors", file)
    assert (code, err) == (0, "")
    rows = out.splitlines()
    assert [row.split()[0] for row in rows[:-1]] == ["blend", "wave"]
    assert all(row.endswith("ok") for row in rows[:-1])
    assert rows[-1] == "2 functors on mps, 0 wrong"
    assert len(on_mps.calls) == 2 * 4 + 1 + 2 * 2 + 1  # two layouts of each dtype, and a large one of the first
    assert on_mps.calls[2].threads == (-(-300_001 // 4),)


def test_host(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--device", "host", "--functors", file)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "2 functors on host, 0 wrong"


def test_every_example(capsys: pytest.CaptureFixture[str]) -> None:
    """The examples that stand alone; those of ATen are compared elsewhere, and the same way."""
    folder = Path(__file__).parents[2] / "examples"
    files = [str(p) for p in sorted(folder.glob("*.py")) if p.stem != "__init__"]
    with device_cases.batched() as (batch, _):  # all kernels are compiled together, in the second run
        for batch.collecting in (True, False):
            code, out, _ = run(capsys, "--device", "host", "--json", "--functors", *files)
    report = json.loads(out)
    assert code == 0
    assert {Path(f).name for f in files} == {row["file"] for row in report["functors"]}
    assert all(row["problem"] is None for row in report["functors"])
    assert all(0 <= row["error"] <= 64 for row in report["functors"])


def test_the_examples_are_found() -> None:
    from pymetal.cli.self_test import examples_folder

    assert (examples_folder() / "atan2.py").is_file()


WRONG: dict[str, tuple[Callable[[str], str], str]] = {
    "another result": (lambda s: s.replace("sin(", "cos("), "off by"),
    "does not compile": (lambda s: s.replace("sin(", "no_such_thing("), "MetalSyntaxError"),
    "a result that is NaN": (lambda s: re.sub(r"precise::sin\(\w+\)", "NAN", s), "off by inf"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_device_that_computes_wrong(name: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    change, problem = WRONG[name]
    plain = HostDevice.compile
    wrong = mock.patch.object(HostDevice, "compile", lambda self, source: plain(self, change(source)))
    with wrong:
        code, out, _ = run(capsys, "--device", "host", "--functors", file)
        rows = out.splitlines()
        assert code == 1
        assert rows[0].endswith("ok")
        assert "WRONG  float32: " in rows[1]
        assert problem in rows[1]
        assert rows[-1] == "2 functors on host, 1 wrong"
        code, out, _ = run(capsys, "--device", "host", "--json", "--functors", file)
    report = json.loads(out)
    assert code == 1
    assert report["device"] == "host"
    assert [row["functor"] for row in report["functors"]] == ["blend", "wave"]
    assert [row["dtypes"] for row in report["functors"]] == [4, 2]
    assert report["functors"][0]["problem"] is None
    assert problem in report["functors"][1]["problem"]


def test_a_device_that_is_missing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if not torch.backends.mps.is_available():
        code, out, err = run(capsys, "--device", "mps")
        assert (code, out, err) == (1, "", "this torch has no MPS device\n")
        code, out, _ = run(capsys, "--device", "mps", "--json")
        assert code == 1
        assert json.loads(out) == {"device": "mps", "problem": "this torch has no MPS device", "functors": []}
    monkeypatch.setenv("PYMETAL_CXX", "/nowhere/clang++")
    code, _, err = run(capsys, "--device", "host")
    assert (code, err) == (1, "the host device has no C++ compiler\n")


def test_wrong_use(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--device", "cuda")[0] == 2
    assert run(capsys, "--functors", file)[0] == 2
    assert run(capsys, "--device", "host", "--functors", "/nowhere.py")[0] == 2


def test_clear_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYMETAL_CACHE_DIR", str(tmp_path / "cache"))
    cache = default_cache()
    cache.put("a" * 40, "so", b"x" * 3_000_000)
    held = cache.size()
    assert held > 3_000_000
    code, out, err = run(capsys, "--clear-cache")
    assert (code, err) == (0, "")
    assert out == f"cache     {tmp_path / 'cache'}: {held / 2**20:.1f} MiB removed\n"
    assert cache.size() == 0
    assert not [f for f in os.listdir(cache.root) if f.endswith(".so")]
    code, out, _ = run(capsys, "--clear-cache", "--json")
    assert json.loads(out) == {"cache": str(tmp_path / "cache"), "freed_bytes": 0}
