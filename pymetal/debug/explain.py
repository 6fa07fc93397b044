"""A call's plan in words: what the operands meet in, which kernel is launched, on what grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pymetal.codegen.launch_kernels import Role
from pymetal.runtime.dispatch import Planned
from pymetal.runtime.plan import Operand, Plan


def explain(planned: Planned) -> str:
    """The plan of a call in words."""
    operands, plan, key = planned.operands, planned.plan, planned.key
    lines = [f"{planned.name} on {planned.device}"]
    for i, (operand, role, stored) in enumerate(zip(operands, plan.form.roles, key.inputs, strict=True)):
        lines.append(f"  operand {i}: {_operand(operand)}; read as {stored.metal}, {role.value}")
    shape = tuple(plan.shape)
    layout = "contiguous" if plan.strides is None else f"strides {plan.strides}"
    lines.append(f"  they meet in {_name(plan.element)}; computed in {_name(key.compute)}")
    for k, output in enumerate(key.outputs):
        number = f" {k}" if len(key.outputs) > 1 else ""
        lines.append(f"  result{number}: {_name(output)} {shape}, {layout}")
    if key.scalars:
        lines.append(f"  scalars: {', '.join(d.metal for d in key.scalars)}")
    if not plan.grid:
        return "\n".join([*lines, "  nothing is launched: the result is empty"])
    lines.append(f"  kernel: {_kernel(plan)}")
    lines.append(f"  grid: {' x '.join(map(str, plan.grid))} threads")
    if plan.form.rank:
        lines.append(f"  dimensions, the fastest first: sizes {plan.sizes}, steps {_steps(plan, operands)}")
    return "\n".join(lines)


def _name(dtype: Any) -> str:
    return str(dtype.name).rstrip("_")


def _operand(operand: Operand) -> str:
    if operand.dtype is None:
        return f"a Python {type(operand.number).__name__}"
    strides = "" if not operand.shape else f", strides {operand.strides}"
    return f"{str(operand.dtype).removeprefix('torch.')} {operand.shape}{strides}"


def _kernel(plan: Plan) -> str:
    if plan.form.rank == 0:
        return "dense"
    inner = plan.form.inner
    close = "" if inner is None else ", neighbours of the fastest dimension are neighbours in memory, or one element"
    rank = plan.form.rank
    words = {1: "1 dimension", 4: "4 dimensions and more"}.get(rank, f"{rank} dimensions")
    return f"strided, {words}{close}"


def _steps(plan: Plan, operands: Sequence[Operand]) -> list[list[int]]:
    count = 1 + sum(role is not Role.NUMBER for role in plan.form.roles)
    return [plan.steps[i : i + count] for i in range(0, len(plan.steps), count)]
