"""Writes `docs/gallery.md`: one line for each functor of the gallery.

    python tools/gallery_table.py            # measure and write
    python tools/gallery_table.py --check    # exit 1 if the table lacks a functor, or has one too many

A line has the lines of Python and of Metal, the dtypes, whether the registrations are upstream's, and the worst error
in units in the last place over the inputs of `examples.aten.catalogue`, measured on the host device with IEEE numerics.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "gallery.md"
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support"), str(ROOT / "tests" / "gallery")]

import support  # noqa: E402
import toolbox  # noqa: E402

import pymetal  # noqa: E402
from examples import unimplemented  # noqa: E402
from examples.aten import by_file  # noqa: E402
from examples.aten.bounds import bound  # noqa: E402
from examples.aten.catalogue import CATALOGUE  # noqa: E402
from examples.aten.registrations import DIFFERENCES  # noqa: E402

HEAD = """\
# The gallery

PyTorch's elementwise Metal kernels, written in pymetal: `examples/aten/`. This page is written by
`python tools/gallery_table.py`.

Lines are those of the functor with all its overloads, without docstrings, comments and blank lines; of Metal, those of
its struct and of the helpers that it needs, without its registrations. The error is the largest one that was found, in
units in the last place of the result's dtype (half a unit is correct rounding); for integers "exact". `~` after the
registrations marks a functor that differs from upstream's, which the last column explains.
"""
WORDS = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int16": "i16",
    "uint8": "u8", "int8": "i8", "bool_": "bool", "complex64": "c64", "complex32": "c32",
}  # fmt: skip
GROUPS = (
    ("i64 i32 i16 u8 i8 bool", "ints bool"), ("i64 i32 i16 u8 i8", "ints"), ("f32 f16 bf16", "floats"),
    ("c64 c32", "complex"),
)  # fmt: skip


def python_lines(functor: pymetal.Functor) -> int:
    """The lines of all bodies of a functor, without docstrings and comments."""
    path = Path(sys.modules[functor.__module__].__file__ or "")
    count = 0
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == functor.name:
            node.body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
            count += len(ast.unparse(node).splitlines())
    return count


def metal_lines(functor: pymetal.Functor) -> int:
    """The lines of the functor's text, without comments and blank lines."""
    lines = (line.strip() for line in functor.functor_source.splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


def dtypes(functor: pymetal.Functor) -> str:
    """The registered dtypes in short."""
    text = " ".join(WORDS[d.name] for d in functor.ir.domain)
    for long, short in GROUPS:
        text = text.replace(long, short)
    return text


def worst(functor: pymetal.Functor) -> str:
    """The largest error of each kind of result."""
    row = CATALOGUE[functor.name]
    errors: dict[str, float] = {}
    with toolbox.batch("ieee"):
        calls = []
        for dtype in support.registered(functor):
            operands = support.inputs(row, dtype, functor.arity.inputs)
            scalars = support.scalars_at(functor, dtype, row.scalars)
            functor.jit_source(*operands, **scalars)
            calls.append((dtype, operands, scalars))
        for dtype, operands, scalars in calls:
            result = support.result_dtype(functor, dtype)
            kind = (
                "complex" if dtype.is_complex or result.is_complex else "float" if result is torch.float32 else "half"
            )
            if not (result.is_floating_point or result.is_complex):
                kind = "exact"
            found = float(support.measure(row, functor, operands, scalars).max())
            errors[kind] = max(errors.get(kind, 0.0), found)
    assert errors.get("exact", 0.0) == 0, functor.name
    if not any(errors.values()):
        return "exact"
    return ", ".join(
        f"{errors[k]:.2g}" + (f" {k}" if k != "float" else "") for k in ("float", "half", "complex") if k in errors
    )


def line(functor: pymetal.Functor, *, upstream: bool) -> str:
    """One row of a table."""
    name = functor.name
    difference = DIFFERENCES.get(name) if upstream else None
    same = "" if not upstream else "~" if difference else "yes"
    notes = "; ".join(filter(None, [difference.why if difference else "", bound(name).why]))
    cells = (f"`{name}`", python_lines(functor), metal_lines(functor), dtypes(functor), same, worst(functor), notes)
    return f"| {' | '.join(map(str, cells))} |\n"


def text() -> str:
    """The page."""
    parts = [HEAD]
    title = "| functor | Python | Metal | dtypes | registered as upstream | worst error | notes |\n"
    title += "|---|---:|---:|---|---|---|---|\n"
    for file, functors in by_file().items():
        parts.append(f"\n## {file}\n\n{title}" + "".join(line(f, upstream=True) for f in functors.values()))
    others = [f for f in unimplemented.FUNCTORS if f.__module__.startswith("examples.unimplemented")]
    parts.append(
        "\n## Without a Metal kernel upstream\n\n`heaviside` and `laguerre_polynomial_l`, above, and these of "
        f"`examples/unimplemented/`.\n\n{title}" + "".join(line(f, upstream=False) for f in others)
    )
    return "".join(parts)


def missing() -> set[str]:
    """Functors that only one of the table and the gallery has."""
    shown = set(re.findall(r"^\| `(\w+)` \|", TARGET.read_text(encoding="utf-8"), re.MULTILINE))
    return (
        shown
        ^ {name for functors in by_file().values() for name in functors}
        ^ (set(unimplemented.load()) - {"heaviside", "laguerre_polynomial_l"})
    )


def main(arguments: list[str]) -> int:
    """Writes or checks."""
    if arguments == ["--check"]:
        return int(bool(missing()))
    warnings.filterwarnings("ignore", message="ComplexHalf support")
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
