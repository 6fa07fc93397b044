"""All checks of a functor, one after the other, as one value that is printed, drawn or read by a program."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

import torch

from pymetal.accuracy.budget import unserved
from pymetal.check.findings import Finding, allowed, merged
from pymetal.check.lint import lint
from pymetal.check.measure import Measurement, measure
from pymetal.check.operands import default_scalars, fitting
from pymetal.check.outcomes import Place
from pymetal.check.references import rounded_scalars
from pymetal.check.registration_checks import Form, check_form
from pymetal.check.torch_operators import AgainstError, Operator, find_operator
from pymetal.check.verdicts import judge
from pymetal.dtypes import DType
from pymetal.runtime.operation import Operation

PARTS = ("accuracy", "form", "lint")
_HALVES = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Options:
    """What to check, and how."""

    parts: tuple[str, ...] = PARTS
    dtypes: tuple[str, ...] | None = None  # torch's names; None for all registered ones
    against: str | None = None
    max_ulp: float | None = None  # in place of the decorator's
    scalars: dict[str, Any] = field(default_factory=dict)
    scale: int = 1  # of the number of random samples
    replaces: bool = False  # the functors take the place of upstream's own


@dataclass(frozen=True)
class CheckResult:
    """What was found about one functor."""

    functor: Operation
    measurements: tuple[Measurement, ...]
    form: Form | None
    findings: tuple[Finding, ...]
    silenced: tuple[Finding, ...]
    notes: tuple[str, ...] = ()  # what was not compared

    def as_json(self) -> dict[str, Any]:
        """Plain values for `json.dumps`; NaN and infinity as words."""
        return {
            "functor": self.functor.name,
            "accuracy": [_plain(m) for m in self.measurements],
            "form": None if self.form is None else {
                "kernels": self.form.kernels, "names": self.form.names, "kinds": list(self.form.kinds)
            },
            "findings": [_finding(f) for f in self.findings],
            "allowed": [_finding(f) for f in self.silenced],
            "notes": list(self.notes),
        }  # fmt: skip


Progress = Callable[[str, int, int], None]  # what is being done, how many steps are done, of how many


def elements(functor: Operation, options: Options) -> list[DType]:
    """The dtypes to check, in the order of registration."""
    return [d for d in functor.ir.domain if options.dtypes is None or d.name.rstrip("_") in options.dtypes]


def steps(functor: Operation, options: Options) -> int:
    """How many steps `check` reports."""
    return (len(elements(functor, options)) if "accuracy" in options.parts else 0) + sum(
        p in options.parts for p in ("form", "lint")
    )


def check(functor: Operation, options: Options, progress: Callable[[str], None] = lambda what: None) -> CheckResult:
    """Runs the checks.

    Args:
        progress: called before each step with what it is.

    Raises:
        AgainstError: `options.against` names nothing, or what cannot stand beside the functor at any dtype.
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
    operator = find_operator(functor.name, options.against)
    if "accuracy" in options.parts:
        prepare(functor, chosen, options)
        for element in chosen:
            progress(f"{functor.name}, {element.name.rstrip('_')}")
            budget = options.max_ulp if options.max_ulp is not None else budget_of(functor, element)
            measurement = measure(
                functor, element, operator, budget=budget, scalars=options.scalars, scale=options.scale
            )
            measured.append(measurement)
            widened = functor.opmath or functor.caller.compute(element).torch not in _HALVES
            found += judge(functor, measurement, widens=widened)
        notes += useless_budgets(functor)
        notes += not_compared(functor.name, operator, measured, named=options.against is not None)
    form = None
    if "form" in options.parts:
        progress(f"{functor.name}, registered form")
        form = check_form(functor, chosen, replaces=options.replaces)
        found += form.findings
    if "lint" in options.parts:
        progress(f"{functor.name}, text")
        found += lint(functor)
    every = merged(found)
    silenced = tuple(f for f in every if allowed(functor, f))
    return CheckResult(
        functor, tuple(measured), form, tuple(f for f in every if f not in silenced), silenced, tuple(notes)
    )


def not_compared(
    functor: str, operator: Operator | None, measured: Sequence[Measurement], *, named: bool
) -> Iterator[str]:
    """What has to be known lest "0 findings" be read as "equal to torch".

    Args:
        named: the user named the operator.

    Raises:
        AgainstError: the user did, and it stands beside the functor at no dtype.
    """
    if operator is None:
        yield f"no torch operator was compared: {functor}; name one with --against"
        return
    reasons: dict[str, list[str]] = {}
    for each in measured:
        if each.unused is not None:
            reasons.setdefault(each.unused, []).append(each.dtype)
    if measured and all(each.unused is not None for each in measured):
        said = "; ".join(reasons)
        if named:
            raise AgainstError(
                f"--against {operator.name} cannot stand beside {functor}: {said}",
                hint="It is called with the functor's operands, and its scalars by keyword; --only picks functors.",
            )
        yield f"no torch operator was compared: {functor}; {operator.name} was asked, but {said}"
        return
    for reason, names in reasons.items():
        yield f"{operator.name} was not compared with {functor} at {', '.join(names)}: {reason}"


def budget_of(functor: Operation, element: DType) -> float | None:
    """The decorator's `max_ulp=` at a dtype."""
    return None if functor.max_ulp is None else functor.max_ulp.get(element)


def useless_budgets(functor: Operation) -> Iterator[str]:
    """Budgets for dtypes that the functor does not have; more may have been added after the decorator was read."""
    if names := unserved(functor.max_ulp_spec, functor.ir.domain):
        yield f"{functor.name} is not registered for {', '.join(names)}, of which its max_ulp= speaks"


def prepare(functor: Operation, chosen: Sequence[DType], options: Options) -> None:
    """Compiles the kernels of all dtypes at once: the compiler is another process, and there are several cores."""

    def compile_(element: DType) -> None:
        scalars = fitting(functor, element, default_scalars(functor, options.scalars))
        operands = [torch.zeros(2, dtype=torch.float32).to(element.torch)] * functor.arity.inputs
        functor(*operands, **rounded_scalars(functor, element, scalars))

    with ThreadPoolExecutor(4) as pool:
        # The numerics mode is the context's.
        for future in [pool.submit(copy_context().run, compile_, element) for element in chosen]:
            future.result()


def _plain(value: Any) -> Any:
    """Dataclasses as dicts, without tensors."""
    if isinstance(value, Measurement):
        names = [n for n in value.__dataclass_fields__ if n != "trace"]
        return {n: _plain(getattr(value, n)) for n in names}
    if isinstance(value, Place):
        return {"operands": _plain(value.operands), "got": _plain(value.got), "wanted": _plain(value.wanted)}
    if hasattr(value, "__dataclass_fields__"):
        return {n: _plain(getattr(value, n)) for n in value.__dataclass_fields__}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    return str(value) if isinstance(value, complex) else value


def _finding(found: Finding) -> dict[str, Any]:
    span = found.span
    return {
        "code": found.kind.code, "kind": found.slug, "functor": found.functor, "dtypes": list(found.dtypes),
        "message": found.message, "hint": found.hint, "file": span.file if span else None,
        "line": span.line if span else None, "column": span.column + 1 if span else None,
    }  # fmt: skip
