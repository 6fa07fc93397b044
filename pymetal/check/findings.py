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
        1, "{error} ulp off {witness}, and max_ulp is {limit}, at {at}",
        "Compute in float (opmath=True), rearrange the formula, or declare what it keeps.",
    ),
    "inaccurate": Kind(
        2, "{error} ulp off {witness} at {at}; {count} of {total} elements are more than {limit} off",
        "Find the step that loses digits, or declare the error: max_ulp={{torch.{dtype}: {declare}}}.",
    ),
    "nan": Kind(
        3, "NaN where {witness} has a number, or a number where it has NaN, at {at}; {elements}", "{way}"
    ),
    "infinity": Kind(
        4, "infinite where {witness} is not, or the other way round, at {at}; {elements}",
        "Look at the largest intermediate value there.",
    ),
    "zero": Kind(
        5, "a zero of the wrong sign beside {witness}, at {at}; {elements}",
        "metal.copysign(result, x) keeps the sign; x + 0 loses it.",
    ),
    "integer": Kind(
        6, "another integer than {witness} has, at {at}; {count} of {total} elements",
        "Integers have no tolerance. Keep them out of float, and look at overflow.",
    ),
    "overflow": Kind(
        7, "early rounding: an intermediate value overflows where the result does not, at {at}; {elements}",
        "{way}",
    ),
    # form
    "form-compile": Kind(10, "the registered form does not compile: {error}", "Report it: the text is pymetal's."),
    "form-missing": Kind(
        11, "upstream's host code can ask for {kernel}, and the registrations make no such kernel",
        "Register the dtype, or call the functor through another stub.",
    ),
    "form-differs": Kind(
        12, "kernel {kernel} has other bits than the call of the functor has, at {at}; {elements}",
        "The registration macro computes otherwise. Report it if the dtypes are the functor's own.",
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
        20, "an integer goes through {type}, which holds 24 bits of it, to an integer result",
        "Compute on the integers: //, %, abs, min and max keep them.",
    ),
    "float-equality": Kind(
        21, "floats are compared by `{symbol}`: a NaN is unequal to itself, so that it takes the other way",
        "Test math.isnan first, or compare with < and >.",
    ),
    "fast": Kind(
        22, "{name} may be off by much, and ignores NaN and infinity",
        "Use metal.precise.{base}; upstream uses fast maths nowhere else.",
    ),
    "half-arithmetic": Kind(
        23, "{count} roundings to {narrow} in one result", "{way}"
    ),
    "integer-division": Kind(
        24, "the divisor can be zero, and Metal does not say what an integer divided by zero is",
        "Test it: `a // b if b != 0 else 0`.",
    ),
    "dead-branch": Kind(
        25, "this {what} runs for no element of any dtype, of all that were tried", "Remove it, or correct the test."
    ),
    "nan-dropped": Kind(
        26, "NaN does not come through as {witness} has it, at {at}; {elements}",
        "Return it first: `if math.isnan(x): return x`; metal.fmax and metal.fmin drop it, max and min keep it.",
    ),
    "reimplementation": Kind(
        27, "{name} is a reimplementation of metal.c10.{function}{difference}",
        "Call metal.c10.{function}, or say why not and allow it."
    ),
}  # fmt: skip
BY_NUMBER = {kind.number: (slug, kind) for slug, kind in KINDS.items()}
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
    for overload in functor.ir.overloads:
        served = any(d.name.rstrip("_") == dtype for d in overload.domain)
        first = next((s for stmt in overload.function.body if (s := getattr(stmt, "span", None))), None)
        for body in functor.bodies if served and first is not None else ():
            last = body.source.first_line + len(body.source.lines)
            if first is not None and body.source.first_line <= first.line < last and body.source.file == first.file:
                source = body.source
    whole = source.span(source.node)
    column = len(whole.text) - len(whole.text.lstrip())
    return replace(whole, column=column, end_line=whole.line, end_column=len(whole.text.rstrip()))


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Those that differ in their dtype alone as one, with the words of the first."""
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
    sources = [body.source for body in functor.bodies]
    return any(_allows(source, finding) for source in sources)


def _allows(source: Source, finding: Finding) -> bool:
    number, first = finding.kind.number, source.first_line
    body = source.node.body[0].lineno + first - 1
    lines = set(range(first, max(first, body)))  # decorator, def, parameters
    if finding.span is not None and finding.span.file == source.file:
        lines |= set(range(finding.span.line - 1, finding.span.end_line + 1))
    for line in lines:
        at = line - first
        match = _ALLOW.search(source.lines[at]) if 0 <= at < len(source.lines) else None
        if match and number in {int(n) for n in match[1].replace(",", " ").split()}:
            return True
    return False
