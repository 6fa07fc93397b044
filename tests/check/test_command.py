"""The command: its words, its numbers for programs, its exit codes; the registered form; other headers; the page."""

from __future__ import annotations

import html
import html.parser
import json
import re
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
import written

import pymetal
from examples.addcmul import addcmul
from examples.smooth_l1 import smooth_l1
from pymetal import dtypes
from pymetal.check import registered, registration_checks
from pymetal.check.releases import HeadersError, against_headers, open_headers
from pymetal.check.report import highlighted
from pymetal.cli import check as command
from pymetal.cli import main

FILE = str(Path(written.__file__))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["check", FILE, *arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_clean(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--only", "product", "--part", "accuracy", "--part", "lint", "--dtype", "float16")
    assert code == 0
    assert "1 functor, 0 findings" in out
    assert "float16" in out
    assert err == ""  # no bar where there is no terminal


def test_findings(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--only", "rest", "--only", "share", "--part", "lint", "--quiet")
    assert code == 1
    assert out.count("PC024") == 1  # the other one is allowed
    code, out, _ = run(capsys, "--only", "share", "--part", "lint")
    assert (code, "1 allowed by comments" in out) == (0, True)


def test_the_body_that_serves_the_dtype_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--only", "halved", "--part", "accuracy", "--dtype", "int32", "--json")
    (found,) = json.loads(out)["functors"][0]["findings"]
    lines = Path(FILE).read_text(encoding="utf-8").splitlines()
    assert found["code"] == "PC006"
    assert lines[found["line"] - 1] == "def halved(x: Integral) -> Integral:"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--only", "early", "--part", "accuracy", "--json")
    (functor,) = json.loads(out)["functors"]
    assert code == 1
    (row,) = functor["accuracy"]
    assert (row["dtype"], row["exhaustive"], row["meaning"]["reference"]) == (
        "float16",
        False,
        "its own formula in float64",
    )
    assert row["early"]["count"] > 0
    assert {"PC007"} <= {f["code"] for f in functor["findings"]}
    assert all(Path(f["file"]).name == "written.py" for f in functor["findings"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--only", "produkt"), "did you mean 'product'"),
        (("--dtype", "float61"), "did you mean 'float16'"),
        (("--scalar", "beta"), "not NAME=NUMBER"),
        (("--scalar", "beta=1"), "no functor has 'beta'"),
        (("--max-ulp", "nan"), "must be at least 0, not 'nan'"),
        (("--max-ulp=-1",), "must be at least 0, not '-1'"),
        (("--max-ulp", "two"), "must be at least 0, not 'two'"),
        (("--samples", "0"), "must be a whole number of at least 1, not '0'"),
        (("--samples=-3",), "must be a whole number of at least 1, not '-3'"),
        (("--torch-headers", "nowhere"), "there is no c10/metal/indexing.h in nowhere"),
    ],
)
def test_wrong_use(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str) -> None:
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert words in err


def test_registered_form() -> None:
    found = registration_checks.check_registered_form(smooth_l1, [dtypes.float16])
    assert found.findings == ()
    assert found.kernels == len(found.forms) == 12
    assert found.names == 36


def test_headers_that_are_too_old_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration_checks, "installed_release", lambda: (2, 14))
    (found,) = registration_checks.check_registered_form(addcmul, [dtypes.float32]).findings
    assert found.kind.code == "PC014"
    assert found.message == "needs torch 2.15: REGISTER_TERNARY_ALPHA_OP is not in the headers of torch 2.14"


def test_a_missing_kernel_and_other_bits_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    names, run = registered.kernel_names, registered.run

    def off(*args: Any, **keywords: Any) -> torch.Tensor:
        result = run(*args, **keywords)
        result.view(-1)[17] += 1
        return result

    monkeypatch.setattr(registered, "kernel_names", lambda f: [*names(f), "smooth_l1_dense_float_ulong"])
    monkeypatch.setattr(registered, "run", off)
    monkeypatch.setattr(registered, "forms", lambda f: ["dense"])
    found = registration_checks.check_registered_form(smooth_l1, [dtypes.float32])
    assert [f.slug for f in found.findings] == ["form-missing", "form-differs"]
    assert "smooth_l1_dense_float_ulong" in found.findings[0].message
    assert "; 1 element" in found.findings[1].message


def test_names_of_upstream_are_known() -> None:
    from examples.aten import load

    found = registration_checks.clashes(load()["hypot"])
    assert found is not None
    assert found[0] == "hypot_dense_float_float"
    assert registration_checks.clashes(written.product) is None
    slugs = [f.slug for f in registration_checks.check_registered_form(load()["hypot"], [], replaces=False).findings]
    assert slugs == ["clash"]
    assert registration_checks.check_registered_form(load()["hypot"], [], replaces=True).findings == ()


def test_other_headers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A copy of the installed headers that says it is an older release, with a macro of that release missing."""
    include = Path(torch.__file__).parent / "include"
    target = tmp_path / "torch" / "include"
    shutil.copytree(include / "c10" / "metal", target / "c10" / "metal")
    (tmp_path / "version.txt").write_text("2.13.7\n")
    headers = open_headers(tmp_path)
    assert (headers.release, headers.version) == ("2.13.7", (2, 13))
    assert against_headers([smooth_l1], headers)[0].ok
    code, out, _ = run(capsys, "--only", "product", "--torch-headers", str(tmp_path))
    assert (code, "product: torch 2.13.7: 39 kernels" in out) == (0, True)
    indexing = target / "c10" / "metal" / "indexing.h"
    text = indexing.read_text(encoding="utf-8")
    indexing.write_text(
        text.replace("#define REGISTER_BINARY_ALPHA_OP(", "#define REGISTER_NOTHING("), encoding="utf-8"
    )
    (broken,) = against_headers([smooth_l1], headers)
    assert not broken.ok
    assert "does not compile" in broken.why
    with pytest.raises(HeadersError, match="there is no"):
        open_headers(tmp_path / "torch" / "include" / "c10")


def test_functions_of_a_kernel_are_coloured() -> None:
    """A definition at the start of the text takes pygments another way than a struct does."""
    text = "inline half f(const device bfloat* x) {\n  return half(x[0]); // one\n}\n"
    body = highlighted(text)
    assert '<span class="kt">half</span>' in body
    assert '<span class="kt">bfloat</span>' in body
    assert html.unescape(re.sub("<[^>]+>", "", body)) == text


def test_what_is_no_python_is_packaged() -> None:
    text = (Path(pymetal.__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    patterns = re.findall('"([^"]+)"', text.split("\npymetal = [")[1].split("]")[0])
    package = Path(pymetal.__file__).parent
    others = {p for p in package.rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")}
    assert others == {p for pattern in patterns for p in package.glob(pattern)}


class _Page(html.parser.HTMLParser):
    """What a page refers to, and whether its elements close."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    code, _, err = run(
        capsys, "--only", "product", "--only", "strict", "--part", "accuracy", "--dtype", "float32", "--report",
        str(tmp_path / "report"),
    )  # fmt: skip
    assert code == 1
    assert "report: " in err
    text = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)
    assert page.open == []
    assert all(link.startswith(("data:image/png;base64,", "#")) for link in page.links)
    assert sum(link.startswith("data:") for link in page.links) == 4  # two functors, light and dark
    assert "http" not in text
    assert "<script" not in text
    assert "prefers-color-scheme: dark" in text
    for word in ("product_functor", "PC001", "max_ulp is 0.1", "float32"):
        assert word in text


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs headless Chromium")
def test_the_page_in_a_browser(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Chromium draws the page without a network: the document that it has in the end holds the pictures, loaded."""
    pytest.importorskip("matplotlib")
    folder = tmp_path / "report"
    run(capsys, "--only", "product", "--part", "accuracy", "--dtype", "float16", "--report", str(folder))
    page = folder / "index.html"
    script = "<script>document.title = [...document.images].map(i => i.naturalWidth).join()</script></body>"
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", script), encoding="utf-8")
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"--user-data-dir={tmp_path}/profile",
         page.as_uri()], capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    title = done.stdout.split("<title>")[1].split("</title>")[0]
    assert all(int(width) > 500 for width in title.split(","))


@pytest.mark.parametrize(("terminal", "quiet", "delay", "shown"), [
    (True, False, 0.0, True), (True, True, 0.0, False), (False, False, 0.0, False), (True, False, 60.0, False),
])  # fmt: skip
def test_bars(
    terminal: bool, quiet: bool, delay: float, shown: bool, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """On terminals, after a while, and not with --quiet."""
    monkeypatch.setattr("pymetal.cli.check._DELAY", delay)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("rich.console.Console.is_terminal", property(lambda self: terminal))
    with command.progress(2, quiet) as step:
        step("first thing")
        for timer in [t for t in threading.enumerate() if isinstance(t, threading.Timer) and delay == 0]:
            timer.join()
        step("second thing")
    err = capsys.readouterr().err
    assert ("second thing" in err) == shown
    assert (err != "") == shown


def test_several_results_are_checked_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "several.py"
    path.write_text(
        "import pymetal\nfrom pymetal import T\n\n@pymetal.unary(dtypes=pymetal.float32)\n"
        "def frexp(x: T) -> tuple[T, pymetal.int32]:\n    return x, pymetal.int32(0)\n",
        encoding="utf-8",
    )
    assert main(["check", str(path), "--part", "accuracy", "--json"]) == 1
    first, second = json.loads(capsys.readouterr().out)["functors"]
    assert (first["functor"], second["functor"]) == ("frexp_0", "frexp_1")
    against = [f["accuracy"][0]["against"]["reference"] for f in (first, second)]
    assert against == ["torch.frexp[0] in float64", "torch.frexp[1]"]
    assert first["findings"]
    assert second["findings"]
