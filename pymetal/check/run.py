"""Runs all checks of a functor; the result is printed, drawn, or read by a program as JSON."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import torch

from pymetal.accuracy.budget import unserved
from pymetal.check.deviations import measure
from pymetal.check.findings import Finding, allowed, merged
from pymetal.check.lint import lint
from pymetal.check.measurement import Measurement, verdicts
from pymetal.check.operands import scalars_for
from pymetal.check.registration_checks import RegisteredForm, check_registered_form
from pymetal.check.torch_operators import AgainstError, Operator, find_operator
from pymetal.dtypes import DType
from pymetal.runtime.operation import Operation

PARTS = ("accuracy", "form", "lint")


@dataclass(frozen=True)
class Options:
    """What to check, and how."""

    parts: tuple[str, ...] = PARTS
    dtypes: tuple[str, ...] | None = None  # torch's names; None for all registered ones
    against: str | None = None
    max_ulp: float | None = None  # in place of the decorator's
    scalars: dict[str, Any] = field(default_factory=dict)
    scale: int = 1  # of the number of random samples
    replaces: bool = False  # the functors replace upstream's own


@dataclass(frozen=True)
class CheckResult:
    """What was found about one functor."""

    functor: Operation
    measurements: tuple[Measurement, ...]
    registered: RegisteredForm | None
    findings: tuple[Finding, ...]
    silenced: tuple[Finding, ...]
    notes: tuple[str, ...] = ()  # what was not compared

    def as_json(self) -> dict[str, Any]:
        """Plain values for `json.dumps`; NaN and infinity as words."""
        return {
            "functor": self.functor.name,
            "accuracy": _plain(self.measurements),
            "form": _plain(self.registered),
            "findings": [_finding(f) for f in self.findings],
            "allowed": [_finding(f) for f in self.silenced],
            "notes": list(self.notes),
        }


def _plain(value: Any) -> Any:
    """Dataclasses as dicts of what their repr shows, tuples as lists, numbers that JSON lacks as strings."""
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.repr}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value) if isinstance(value, complex) else value


def _finding(found: Finding) -> dict[str, Any]:
    span = found.span
    return {
        "code": found.kind.code, "kind": found.slug, "functor": found.functor, "dtypes": list(found.dtypes),
        "message": found.message, "hint": found.hint, "file": span.file if span else None,
        "line": span.line if span else None, "column": span.column + 1 if span else None,
    }  # fmt: skip


def elements(functor: Operation, options: Options) -> list[DType]:
    """The dtypes to check, in the order of registration."""
    return [d for d in functor.ir.domain if options.dtypes is None or d.name.rstrip("_") in options.dtypes]


def steps(functor: Operation, options: Options) -> int:
    """How many steps `check` reports."""
    return sum(len(elements(functor, options)) if part == "accuracy" else 1 for part in set(options.parts))


def check(functor: Operation, options: Options, progress: Callable[[str], None] = lambda what: None) -> CheckResult:
    """Runs the checks.

    Args:
        progress: called before each step with what it is.

    Raises:
        AgainstError: `options.against` names nothing, or what cannot be compared with the functor at any dtype.
        PyMetalError: the functor cannot be run here.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "ComplexHalf support is experimental")
        return _check(functor, options, progress)


def _check(functor: Operation, options: Options, progress: Callable[[str], None]) -> CheckResult:
    chosen = elements(functor, options)
    found: list[Finding] = []
    measured: list[Measurement] = []
    notes: list[str] = []
    operator = _operator(functor, options)
    if "accuracy" in options.parts:
        _compile(functor, chosen, options)
        for element in chosen:
            progress(f"{functor.name}, {element.name.rstrip('_')}")
            declared = None if functor.max_ulp is None else functor.max_ulp.get(element)
            budget = declared if options.max_ulp is None else options.max_ulp
            measured.append(
                measure(functor, element, operator, budget=budget, scalars=options.scalars, scale=options.scale)
            )
            widens = functor.opmath or not functor.caller.compute(element).is_half
            found += verdicts(functor, measured[-1], widens=widens)
        # More dtypes may have been added after the decorator was read.
        if names := unserved(functor.max_ulp_spec, functor.ir.domain):
            notes.append(f"{functor.name} is not registered for {', '.join(names)}, which its max_ulp= names")
        notes += _not_compared(functor.name, operator, measured, chosen_by_user=options.against is not None)
    registered = None
    if "form" in options.parts:
        progress(f"{functor.name}, registered form")
        registered = check_registered_form(functor, chosen, replaces=options.replaces)
        found += registered.findings
    if "lint" in options.parts:
        progress(f"{functor.name}, text")
        found += lint(functor)
    every = merged(found)
    silenced = tuple(f for f in every if allowed(functor, f))
    findings = tuple(f for f in every if f not in silenced)
    return CheckResult(functor, tuple(measured), registered, findings, silenced, tuple(notes))


def _operator(functor: Operation, options: Options) -> Operator | None:
    """The operator to compare with; for one of several results, that of the functor's own name, and its element."""
    index = functor.signature.index
    if index is None:
        return find_operator(functor.name, options.against)
    found = find_operator(functor.name.removesuffix(f"_{index}"), options.against)
    return None if found is None else replace(found, name=f"{found.name}[{index}]", index=index)


def _compile(functor: Operation, chosen: Sequence[DType], options: Options) -> None:
    """Compiles the kernels of all dtypes at once: the compiler is another process, and there are several cores."""

    def compile_one(element: DType) -> None:
        operands = [torch.zeros(2, dtype=torch.float32).to(element.torch)] * functor.arity.inputs
        functor(*operands, **scalars_for(functor, element, options.scalars))

    with ThreadPoolExecutor(4) as pool:
        # The numerics mode is the context's.
        for future in [pool.submit(copy_context().run, compile_one, element) for element in chosen]:
            future.result()


def _not_compared(
    functor: str, operator: Operator | None, measured: Sequence[Measurement], *, chosen_by_user: bool
) -> Iterator[str]:
    """Notes on what was not compared, lest "0 findings" be read as "equal to torch".

    Raises:
        AgainstError: the user chose an operator that cannot be compared with the functor at any dtype.
    """
    if operator is None:
        yield f"no torch operator was compared with {functor}: none has its name; choose one with --against"
        return
    reasons: dict[str, list[str]] = {}
    for each in measured:
        if each.unused is not None:
            reasons.setdefault(each.unused, []).append(each.dtype)
    if measured and all(each.unused is not None for each in measured):
        every = "; ".join(reasons)
        if chosen_by_user:
            raise AgainstError(
                f"--against {operator.name} cannot be compared with {functor}: {every}",
                hint="It is called with the functor's operands, and its scalars by keyword; --only picks functors.",
            )
        yield f"no torch operator was compared with {functor}: {operator.name} cannot be, {every}"
        return
    for reason, names in reasons.items():
        yield f"{operator.name} was not compared with {functor} at {', '.join(names)}: {reason}"
