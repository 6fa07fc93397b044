"""A run becomes one HTML page that needs nothing else: no network, no script, pictures inside, light and dark."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from pymetal.check.findings import Finding
from pymetal.check.measure import Measurement
from pymetal.check.report import highlight, plots
from pymetal.check.run import Checked
from pymetal.check.table import count, operands, wrong

_STYLE = """
:root { color-scheme: light dark; --text: #22272e; --back: #ffffff; --soft: #f4f6f8; --line: #d7dce2; --muted: #57606a;
  --good: #1a7f37; --bad: #b42318; --link: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --text: #d5dae0; --back: #15191e; --soft: #1e242b; --line: #3a424c;
  --muted: #98a2ad; --good: #4ac26b; --bad: #ff8a80; --link: #79b8ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p { margin: .35rem 0; } .muted { color: var(--muted); } a { color: var(--link); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .87rem; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
td.text { white-space: normal; overflow-wrap: anywhere; min-width: 7.5rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; }
.finding { border-left: 3px solid var(--bad); background: var(--soft); padding: .5rem .8rem; margin: .6rem 0; }
.finding pre { margin: .3rem 0; } pre { overflow-x: auto; font: .83rem/1.45 ui-monospace, monospace; }
pre.code { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .8rem; }
figure { margin: .4rem 0 1rem; } figure img { width: 100%; height: auto; } figcaption { font-size: .85rem; }
img.dark { display: none; }
@media (prefers-color-scheme: dark) { img.dark { display: inline; } img.light { display: none; } }
details > summary { cursor: pointer; margin: .6rem 0; }
"""


def page(results: Sequence[Checked], title: str, progress: Callable[[str], None] = lambda what: None) -> str:
    """The whole page; `progress` is called before each functor."""
    light, dark = highlight.styles()
    found = sum(len(r.findings) for r in results)
    verdict = '<span class="good">clean</span>' if not found else f'<span class="bad">{count(found, "finding")}</span>'
    modes = " and ".join(sorted({m.numerics for r in results for m in r.measurements} or {"apple"}))
    sections = []
    for result in results:
        progress(f"report, {result.functor.name}")
        sections.append(_functor(result))
    body = "\n".join(sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>pymetal check: {html.escape(title)}</title>
<style>{_STYLE}{light}
@media (prefers-color-scheme: dark) {{
{dark}
}}
</style>
</head>
<body><main>
<h1>pymetal check: {html.escape(title)}</h1>
<p>{count(len(results), "functor")}, {verdict}.
<span class="muted">torch {html.escape(torch.__version__)}, host device, {modes} numerics.</span></p>
{_contents(results)}
{body}
</main></body>
</html>
"""


def _contents(results: Sequence[Checked]) -> str:
    rows = "".join(
        f'<tr><td><a href="#{r.functor.name}">{r.functor.name}</a></td>'
        f'<td class="number">{len(r.measurements)}</td><td class="number">{_largest(r)}</td>'
        f"<td>{_state(r)}</td></tr>"
        for r in results
    )
    head = '<tr><th>functor</th><th class="number">dtypes</th><th class="number">max ulp</th><th>state</th></tr>'
    return f'<div class="wide"><table>{head}{rows}</table></div>'


def _largest(result: Checked) -> str:
    return f"{max((m.meaning.max_ulp for m in result.measurements), default=0.0):.3g}"


def _state(result: Checked) -> str:
    if not result.findings:
        return '<span class="good">clean</span>'
    codes = ", ".join(dict.fromkeys(f.kind.code for f in result.findings))
    return f'<span class="bad">{codes}</span>'


def _functor(result: Checked) -> str:
    functor = result.functor
    parts = [f'<section><h2 id="{functor.name}">{functor.name}</h2>']
    if functor.doc:
        words = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(functor.doc))
        parts.append(f"<p>{words}</p>")
    parts += [_finding(f) for f in result.findings]
    parts += [f'<p class="muted">{html.escape(note)}.</p>' for note in result.notes]
    if result.silenced:
        codes = ", ".join(dict.fromkeys(f.kind.code for f in result.silenced))
        parts.append(f'<p class="muted">Allowed by comments: {codes}.</p>')
    if result.measurements:
        parts.append(_accuracy(result.measurements))
        parts += [_figure(m) for m in result.measurements]
    if result.form is not None:
        form = result.form
        parts.append(
            f"<h3>Registered form</h3><p>{form.kernels} of {form.names} kernels run beside the call, "
            f"in the forms {html.escape(', '.join(form.kinds))}.</p>"
        )
    parts.append(f"<h3>Metal</h3>{highlight.metal(functor.functor_source)}")
    whole = highlight.metal(functor.metal_source)
    parts.append(f"<details><summary>The whole .metal file</summary>{whole}</details></section>")
    return "\n".join(parts)


def _finding(found: Finding) -> str:
    where = f"{Path(found.span.file).name}:{found.span.line}: " if found.span else ""
    at = f" ({', '.join(found.dtypes)})" if found.dtypes else ""
    line = f"<pre>{html.escape(found.span.caret())}</pre>" if found.span else ""
    return (
        f'<div class="finding"><strong>{html.escape(where)}{found.kind.code}</strong>{html.escape(at)}: '
        f'{html.escape(found.message)}{line}<p class="muted">{html.escape(found.hint)}</p></div>'
    )


_COLUMNS = ("dtype", "elements", "max ulp", "mean ulp", "at", "against", "max ulp", "torch's own", "wrong")


def _accuracy(rows: Sequence[Measurement]) -> str:
    head = "".join(f"<th{_class(i)}>{name}</th>" for i, name in enumerate(_COLUMNS))
    body = "".join(
        f"<tr>{''.join(f'<td{_class(i)}>{cell}</td>' for i, cell in enumerate(_cells(r)))}</tr>" for r in rows
    )
    return f'<h3>Accuracy</h3><div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _class(column: int) -> str:
    return ' class="number"' if column in (1, 2, 3, 6, 7) else ' class="text"' if column else ""


def _cells(row: Measurement) -> list[str]:
    mine, theirs = row.meaning, row.against
    bad = wrong(row)
    return [
        row.dtype, f"{row.samples:,}{' (all)' if row.exhaustive else ''}", f"{mine.max_ulp:.3g}",
        f"{mine.mean_ulp:.3g}", html.escape(operands(mine)),
        "" if theirs is None else html.escape(theirs.witness.removesuffix(" in float64")),
        "" if theirs is None else f"{theirs.max_ulp:.3g}", "" if row.torch_max is None else f"{row.torch_max:.3g}",
        f'<span class="bad">{bad}</span>' if bad else '<span class="good">nothing</span>',
    ]  # fmt: skip


def _figure(measured: Measurement) -> str:
    if not plots.available():
        return ""
    pictures = plots.plot(measured)
    if not pictures:
        return ""
    words = f"{measured.functor} at {measured.dtype}: error over the operands"
    images = "".join(f'<img class="{look}" alt="{html.escape(words)}" src="{data}">' for look, data in pictures.items())
    one = len(measured.trace.operands) == 1
    said = [f"{measured.dtype}."]
    if one:
        said.append(f"The dashed line is the limit, {measured.meaning.limit:g} ulp.")
    if bool(measured.trace.errors.isinf().any()):
        said.append(f"{'Crosses' if one else 'Orange'}: another kind of value (NaN, infinity, sign of zero).")
    return f'<figure>{images}<figcaption class="muted">{" ".join(said)}</figcaption></figure>'
