"""One row per kind of finding: its number, what it says, and the way out; and the comments that allow one.

Numbers never change their meaning; a new kind takes the next free one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pymetal.errors import Span
from pymetal.frontend.source import Source
from pymetal.runtime.operation import Operation


@dataclass(frozen=True)
class Kind:
    """A kind of finding."""

    number: int
    message: str
    hint: str

    @property
    def code(self) -> str:
        """The number as it is shown and searched for."""
        return f"PC{self.number:03d}"


KINDS: dict[str, Kind] = {
    # accuracy
    "budget": Kind(
        1, "{error} ulp from {reference} at {at}; max_ulp is {limit}",
        "Compute in float (opmath=True), rearrange the formula, or declare a larger max_ulp.",
    ),
    "inaccurate": Kind(
        2, "{error} ulp from {reference} at {at}; {count} of {total} elements differ by more than {limit} ulp",
        "Find the step that loses digits, or declare the error: max_ulp={{torch.{dtype}: {declare}}}.",
    ),
    "nan": Kind(
        3, "either the result or {reference} is NaN, and the other is not, at {at}; {elements}", "{way}"
    ),
    "infinity": Kind(
        4, "either the result or {reference} is infinite, and the other is not, at {at}; {elements}",
        "Look at the largest intermediate value there.",
    ),
    "zero": Kind(
        5, "a zero with another sign than {reference}, at {at}; {elements}",
        "metal.copysign(result, x) keeps the sign; x + 0 loses it.",
    ),
    "integer": Kind(
        6, "another integer than {reference}, at {at}; {count} of {total} elements",
        "Integers have no tolerance. Do not convert them to float, and look at overflow.",
    ),
    "overflow": Kind(
        7, "early rounding: an intermediate value overflows and the exact result does not, at {at}; {elements}",
        "{way}",
    ),
    # registered form
    "form-compile": Kind(10, "the registered form does not compile: {error}", "Report it: pymetal generated the text."),
    "form-missing": Kind(
        11, "upstream's host code can launch {kernel}, and no registration makes that kernel",
        "Register the dtype, or call the functor through another stub.",
    ),
    "form-differs": Kind(
        12, "kernel {kernel} and a call of the functor give different bits at {at}; {elements}",
        "The registration macro computes something else. Report it if the functor was written for this dtype.",
    ),
    "clash": Kind(
        13, "{kernel} is the name of one of upstream's own kernels (torch {release})",
        "All kernels of torch share one library: rename the functor, or replace upstream's.",
    ),
    "release": Kind(
        14, "needs torch {since}: {name} is not in the headers of torch {release}",
        "Check it with --torch-headers of that release, or write out what is missing."
    ),
    # the text
    "int-through-float": Kind(
        20, "an integer is converted to {type}, which holds 24 bits of it, on the way to an integer result",
        "Compute on the integers: //, %, abs, min and max keep them.",
    ),
    "float-equality": Kind(
        21, "floats are compared with `{symbol}`: NaN is not equal to itself, and takes the other branch",
        "Test math.isnan first, or compare with < and >.",
    ),
    "fast": Kind(
        22, "{name} can have large errors, and does not handle NaN and infinity",
        "Use metal.precise.{base}, as upstream does.",
    ),
    "half-arithmetic": Kind(
        23, "{count} roundings to {narrow} in one result", "{way}"
    ),
    "integer-division": Kind(
        24, "the divisor can be zero, and Metal does not define integer division by zero",
        "Test it: `a // b if b != 0 else 0`.",
    ),
    "dead-branch": Kind(
        25, "this {what} was not taken for any of the elements tried, of any dtype", "Remove it, or correct the test."
    ),
    "nan-dropped": Kind(
        26, "NaN is not propagated as in {reference}, at {at}; {elements}",
        "Return it first: `if math.isnan(x): return x`; metal.fmax and metal.fmin drop it, max and min keep it.",
    ),
    "reimplementation": Kind(
        27, "{name} is a reimplementation of metal.c10.{function}{difference}",
        "Call metal.c10.{function}, or say why not and allow it."
    ),
}  # fmt: skip
_ALLOW = re.compile(r"#\s*pymetal:\s*allow=\s*([\d,\s]+)")


@dataclass(frozen=True)
class Finding:
    """Something to look at before a functor is sent."""

    functor: str
    slug: str
    message: str
    hint: str
    span: Span | None = None
    dtypes: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """Its row."""
        return KINDS[self.slug]

    def __str__(self) -> str:
        where = f"{self.span}: " if self.span else ""
        at = f" ({', '.join(self.dtypes)})" if self.dtypes else ""
        lines = [f"{where}{self.kind.code}: {self.functor}{at}: {self.message}"]
        if self.span:
            lines.append(self.span.caret())
        return "\n".join([*lines, f"    {self.hint}"])


def finding(
    slug: str, functor: Operation, span: Span | None = None, dtypes: tuple[str, ...] = (), **fields: object
) -> Finding:
    """A finding of row `slug`, its templates filled in."""
    kind = KINDS[slug]
    if isinstance(number := fields.get("count"), int):
        fields["elements"] = "1 element" if number == 1 else f"{number} elements"
    place = span if span is not None else definition(functor, dtypes[0] if dtypes else None)
    return Finding(functor.name, slug, kind.message.format(**fields), kind.hint.format(**fields), place, dtypes)


def definition(functor: Operation, dtype: str | None = None) -> Span:
    """The line of the functor's `def`; of the body that serves a dtype."""
    source = functor.bodies[0].source
    served = (o for o in functor.ir.overloads if any(d.name.rstrip("_") == dtype for d in o.domain))
    for first in (first_span(overload.function.body) for overload in served):
        for body in functor.bodies if first is not None else ():
            lines = range(body.source.first_line, body.source.first_line + len(body.source.lines))
            if first is not None and first.line in lines and body.source.file == first.file:
                source = body.source
    whole = source.span(source.node)
    column = len(whole.text) - len(whole.text.lstrip())
    return replace(whole, column=column, end_line=whole.line, end_column=len(whole.text.rstrip()))


def first_span(nodes: Iterable[object]) -> Span | None:
    """The place of the first statement or expression that has one."""
    return next((span for node in nodes if (span := getattr(node, "span", None)) is not None), None)


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Joins findings that differ in their dtype alone; the message is that of the first."""
    found: dict[tuple[str, str, str], Finding] = {}
    for each in findings:
        key = (each.functor, each.slug, str(each.span))
        first = found.setdefault(key, each)
        if first is not each:
            both = dict.fromkeys((*first.dtypes, *each.dtypes))
            found[key] = replace(first, dtypes=tuple(both))
    return sorted(found.values(), key=lambda f: (f.span.line if f.span else 0, f.kind.number))


def allowed(functor: Operation, finding: Finding) -> bool:
    """Whether a comment `# pymetal: allow=N` silences it: on its lines, the line above, or the functor's head."""
    return any(finding.kind.number in _allowed_numbers(body.source, finding.span) for body in functor.bodies)


def _allowed_numbers(source: Source, span: Span | None) -> set[int]:
    first = source.first_line
    lines = set(range(first, source.node.body[0].lineno + first - 1))  # decorator, def, parameters
    if span is not None and span.file == source.file:
        lines |= set(range(span.line - 1, span.end_line + 1))
    texts = [source.lines[line - first] for line in lines if 0 <= line - first < len(source.lines)]
    matches = [match for text in texts if (match := _ALLOW.search(text))]
    return {int(number) for match in matches for number in match[1].replace(",", " ").split()}
