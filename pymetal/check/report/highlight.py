"""Metal text as HTML with its words coloured by pygments, which rich brings along."""

from __future__ import annotations

from typing import Any

from pygments import highlight  # type: ignore[import-untyped,unused-ignore]
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped,unused-ignore]
from pygments.lexers import CppLexer  # type: ignore[import-untyped,unused-ignore]
from pygments.token import Keyword, Name  # type: ignore[import-untyped,unused-ignore]

_WORDS = frozenset({
    "half", "bfloat", "uchar", "ushort", "uint", "ulong", "device", "constant", "thread", "threadgroup", "kernel",
    "enable_if_t", "is_floating_point_v", "is_integral_v", "float2", "half2",
})  # fmt: skip


class _Metal(CppLexer):  # type: ignore[misc]
    """C++ with Metal's own words."""

    def get_tokens_unprocessed(self, text: str, *rest: Any, **keywords: Any) -> Any:
        for index, token, value in super().get_tokens_unprocessed(text, *rest, **keywords):
            yield index, Keyword.Type if token in Name and value in _WORDS else token, value


def metal(text: str) -> str:
    """The text inside `<pre class="code">`."""
    body: str = highlight(text, _Metal(), HtmlFormatter(nowrap=True))
    return f'<pre class="code">{body}</pre>'


def styles() -> tuple[str, str]:
    """The rules for the colours, light and dark."""
    light, dark = (HtmlFormatter(style=s).get_style_defs(".code") for s in ("friendly", "github-dark"))
    return _kept(light), _kept(dark)


def _kept(rules: str) -> str:
    """Rules for words only: background and line numbers are the page's."""
    return "\n".join(line for line in rules.splitlines() if line.startswith(".code ."))
