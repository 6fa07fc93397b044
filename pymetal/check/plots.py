"""Errors over the inputs as pictures: points for one operand, an image for two. PNG, in a light and a dark version."""

from __future__ import annotations

import base64
import importlib.util
import io
import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from pymetal.check.measurement import Measurement

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # type: ignore[import-not-found,unused-ignore]

_LOOKS = {
    "light": {"text": "#22272e", "grid": "#d7dce2", "points": "#1668b8", "limit": "#c2410c", "map": "GnBu"},
    "dark": {"text": "#d5dae0", "grid": "#3a424c", "points": "#63b0f4", "limit": "#fb923c", "map": "viridis"},
}
_CELLS = 48  # of an image's side


def plot(measured: Measurement) -> dict[str, str]:
    """`data:` URLs of a picture, light and dark; none without matplotlib, for complex numbers and for integers."""
    operands, errors = measured.operands, measured.errors
    inexact = measured.result.startswith(("float", "bfloat"))
    if operands[0].is_complex() or not inexact or not len(errors) or importlib.util.find_spec("matplotlib") is None:
        return {}
    return {look: _picture(measured, operands, errors, look) for look in _LOOKS}


def _picture(measured: Measurement, operands: tuple[Tensor, ...], errors: Tensor, look: str) -> str:
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # type: ignore[import-not-found,unused-ignore]
    from matplotlib.figure import Figure  # type: ignore[import-not-found,unused-ignore]

    style: dict[str, Any] = _LOOKS[look]
    figure = Figure(figsize=(8.6, 3.1), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0)
    if len(operands) == 1:
        _points(axes, measured, operands[0], errors, style)
    else:
        image = _image(axes, operands, errors, style)
        bar = figure.colorbar(image, ax=axes, label="largest error, ulp")
        bar.ax.yaxis.label.set_color(style["text"])
        bar.ax.tick_params(colors=style["text"])
        bar.outline.set_edgecolor(style["grid"])
    axes.tick_params(colors=style["text"], labelsize=8)
    for spine in axes.spines.values():
        spine.set_color(style["grid"])
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_color(style["text"])
    data = io.BytesIO()
    figure.savefig(data, format="png", transparent=True)
    return "data:image/png;base64," + base64.b64encode(data.getvalue()).decode("ascii")


def position(x: Tensor) -> Tensor:
    """Where a number stands on an axis: powers of two at equal distances on both sides of zero, which is in the middle.

    The ends are those of the dtype; subnormal numbers are drawn at zero.
    """
    low, high = ends(x.dtype)
    wide = x.double()
    size = wide.abs().clamp(2.0**low, 2.0**high)
    return torch.sign(wide) * (torch.log2(size) - low) / (high - low)


def ends(dtype: torch.dtype) -> tuple[float, float]:
    """The powers of two below the smallest normal number of a dtype and above its largest."""
    if not dtype.is_floating_point:
        return -1, 8 * dtype.itemsize
    info = torch.finfo(dtype)
    return math.log2(info.smallest_normal) - 1, math.ceil(math.log2(info.max))


def _ticks(axes: Axes, which: str, x: Tensor) -> None:
    low, high = ends(x.dtype)
    step = 32 if high - low > 80 else 8
    powers = [p for p in range(-128, 129) if p % step == 0 and low + 0.2 * step < p <= high]
    signs = [1, -1] if bool((x.double() < 0).any()) else [1]
    places = [0.0, *(s * (p - low) / (high - low) for s in signs for p in powers)]
    names = ["0", *(f"{'-' if s < 0 else ''}2$^{{{p}}}$" for s in signs for p in powers)]
    axis = getattr(axes, f"{which}axis")
    axis.set_ticks(places, names)


def _points(axes: Axes, measured: Measurement, x: Tensor, errors: Tensor, style: dict[str, Any]) -> None:
    at, wrong = position(x), errors.isinf()
    shown = errors.isfinite() & x.double().isfinite()
    axes.scatter(at[shown].numpy(), errors[shown].clamp_min(1e-3).numpy(), s=2, alpha=0.35, linewidths=0,
                 color=style["points"], rasterized=True)  # fmt: skip
    if bool(wrong.any()):
        top = float(errors[shown].max()) if bool(shown.any()) else 1.0
        axes.scatter(at[wrong].numpy(), [max(top, 1.0) * 2] * int(wrong.sum()), s=10, marker="x", color=style["limit"])
    axes.axhline(measured.meaning.limit, color=style["limit"], linewidth=1, linestyle="--")
    axes.set_yscale("log")
    axes.set_ylabel("error, ulp")
    axes.set_xlabel("x")
    axes.grid(True, color=style["grid"], linewidth=0.5)
    _ticks(axes, "x", x)


def _image(axes: Axes, operands: tuple[Tensor, ...], errors: Tensor, style: dict[str, Any]) -> Any:
    from matplotlib.colors import ListedColormap, LogNorm  # type: ignore[import-not-found,unused-ignore]

    a, b = operands[0], operands[1]
    usable = a.double().isfinite() & b.double().isfinite() & ~errors.isnan()
    x, y, value = position(a)[usable], position(b)[usable], errors[usable].clamp_min(1e-2)
    low = [float(v.min()) if len(v) else -1.0 for v in (x, y)]
    high = [float(v.max()) if len(v) else 1.0 for v in (x, y)]
    cells = [
        ((v - lo) / max(hi - lo, 1e-9) * (_CELLS - 1)).round().long()
        for v, lo, hi in zip((x, y), low, high, strict=True)
    ]
    grid = torch.full((_CELLS * _CELLS,), float("nan"), dtype=torch.float64)
    flat = cells[1] * _CELLS + cells[0]
    largest = torch.zeros(_CELLS * _CELLS, dtype=torch.float64).scatter_reduce(0, flat, value, "amax")
    grid[flat] = largest[flat]
    numbers = value[value.isfinite()]
    most = float(numbers.max()) if len(numbers) else 1.0
    norm = LogNorm(vmin=0.05, vmax=max(most, 1.0))
    place: dict[str, Any] = {
        "origin": "lower", "aspect": "auto", "interpolation": "nearest",
        "extent": (low[0], high[0], low[1], high[1]),
    }  # fmt: skip
    cells_of = grid.view(_CELLS, _CELLS)
    image = axes.imshow(
        cells_of.masked_fill(cells_of.isinf(), float("nan")).numpy(), norm=norm, cmap=style["map"], **place
    )
    wrong = torch.where(cells_of.isinf(), 1.0, float("nan"))
    axes.imshow(wrong.numpy(), cmap=ListedColormap([style["limit"]]), **place)
    axes.set_xlabel("first operand")
    axes.set_ylabel("second operand")
    _ticks(axes, "x", a)
    _ticks(axes, "y", b)
    return image
