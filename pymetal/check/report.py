"""The results of a run as one HTML page that needs nothing else: no network, no script, no files."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jinja2
import torch
from markupsafe import Markup
from pygments import highlight  # type: ignore[import-untyped,unused-ignore]
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped,unused-ignore]
from pygments.lexers import CppLexer  # type: ignore[import-untyped,unused-ignore]
from pygments.token import Keyword, Name  # type: ignore[import-untyped,unused-ignore]

from pymetal.check import plots
from pymetal.check.findings import Finding
from pymetal.check.run import CheckResult
from pymetal.check.table import accuracy_cells, counted

_TEMPLATE = Path(__file__).parent / "data" / "report.html"
_METAL_TYPES = frozenset({
    "half", "bfloat", "uchar", "ushort", "uint", "ulong", "device", "constant", "thread", "threadgroup", "kernel",
    "enable_if_t", "is_floating_point_v", "is_integral_v", "float2", "half2",
})  # fmt: skip


def page(results: Sequence[CheckResult], title: str, progress: Callable[[str], None] = lambda what: None) -> str:
    """The whole page; `progress` is called before each functor."""
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {
        "counted": counted, "codes": _codes, "marked_up": _marked_up, "place": _place, "cells": accuracy_cells,
        "pictures": plots.plot, "highlighted": highlighted,
    }  # fmt: skip

    def announced() -> Iterator[CheckResult]:
        for result in results:
            progress(f"report, {result.functor.name}")
            yield result

    light, dark = (_styles(style) for style in ("friendly", "github-dark"))
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        title=title, results=results, sections=announced(), found=sum(len(r.findings) for r in results), light=light,
        dark=dark, torch_version=torch.__version__,
        modes=" and ".join(sorted({m.numerics for r in results for m in r.measurements} or {"apple"})),
    )  # fmt: skip


def _codes(findings: Iterable[Finding]) -> str:
    """The numbers of findings, each once."""
    return ", ".join(dict.fromkeys(f.kind.code for f in findings))


def _place(finding: Finding) -> str:
    return f"{Path(finding.span.file).name}:{finding.span.line}: " if finding.span else ""


def _marked_up(text: str) -> Markup:
    """A docstring with its `code`."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text)))


class _MetalLexer(CppLexer):  # type: ignore[misc]
    """C++ with Metal's own types."""

    def get_tokens_unprocessed(self, text: str, *rest: Any, **keywords: Any) -> Any:
        for index, token, value in super().get_tokens_unprocessed(text, *rest, **keywords):
            yield index, Keyword.Type if token in Name and value in _METAL_TYPES else token, value


def highlighted(text: str) -> Markup:
    """Metal text as HTML, coloured by pygments, which rich depends on."""
    return Markup(f'<pre class="code">{highlight(text, _MetalLexer(), HtmlFormatter(nowrap=True))}</pre>')


def _styles(style: str) -> Markup:
    """The colours of a pygments style as CSS, without background and line numbers."""
    rules: str = HtmlFormatter(style=style).get_style_defs(".code")
    return Markup("\n".join(line for line in rules.splitlines() if line.startswith(".code .")))
