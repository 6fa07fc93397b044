"""The rooms of `pymetal/`: how large each is, what it imports, and whether every import goes down the list.

`python tools/rooms.py` prints the table and exits with 1 if an import goes up the list or around in a circle.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "pymetal"

# From what everything uses to what uses everything: a module imports from its own row and from rows above it.
ROOMS: tuple[tuple[str, ...], ...] = (
    ("errors", "atomic"),
    ("dtypes",),
    ("arity", "promotion"),
    ("ir",),
    ("ops",),
    ("frontend",),
    ("semantics",),
    ("codegen",),
    ("runtime",),
    ("host",),
    ("debug",),
    ("accuracy",),
    ("upstream",),
    ("check",),
    ("functor", "helper", "decorators", "intrinsics", "files"),
    ("",),  # the package's own __init__
    ("cli",),
    ("__main__",),
)

Graph = Mapping[str, Mapping[str, bool]]  # module -> imported module -> whether inside a function


def room(module: str) -> str:
    """The first part of a module's name."""
    return module.partition(".")[0]


def rank(module: str) -> int:
    """The row of a module's room."""
    found = next((at for at, names in enumerate(ROOMS) if room(module) in names), None)
    if found is None:
        raise LookupError(f"{module} is in no room of tools/rooms.py")
    return found


def read_graph(package: Path = PACKAGE) -> dict[str, dict[str, bool]]:
    """Who imports whom, by names without the leading `pymetal.`; imports for annotations only count too."""
    files = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {module: _imports(path, set(files)) for module, path in files.items()}


def _imports(path: Path, known: set[str]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for node, lazy in _walk(ast.parse(path.read_text(encoding="utf-8")), False):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            # `from package import x` imports the module package.x if there is one, else the package.
            paths = [f"{base}.{alias.name}" for alias in node.names]
            names = [name if name.removeprefix("pymetal.") in known else base for name in paths]
        for name in names:
            if name == "pymetal" or name.startswith("pymetal."):
                target = name.removeprefix("pymetal").removeprefix(".")
                if target not in known:
                    raise LookupError(f"{path} imports {name}, which is not there")
                found[target] = found.get(target, True) and lazy
    return found


def _walk(node: ast.AST, lazy: bool) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        yield child, lazy
        yield from _walk(child, lazy or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))


def upward(graph: Graph) -> list[str]:
    """The imports that go up the list of rooms, those inside functions too."""
    return [
        f"{module} imports {target}" + (" inside a function" if lazy else "")
        for module, targets in sorted(graph.items())
        for target, lazy in sorted(targets.items())
        if rank(target) > rank(module)
    ]


def cycle(graph: Graph) -> list[str] | None:
    """A way from a module to itself, or None."""
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str] | None:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return None
        for target in graph[module]:
            if found := visit(target, [*path, module]):
                return found
        done.add(module)
        return None

    return next((found for module in graph if (found := visit(module, []))), None)


def table(graph: Graph, package: Path = PACKAGE) -> str:
    """One line for each room: files and lines of Python, lines of other text, and the rooms that it imports from."""
    lines = [f"{'room':<12} {'files':>5} {'Python':>7} {'other':>6}  imports from"]
    totals = [0, 0, 0]
    for name in (name for row in ROOMS for name in row):
        modules = [module for module in graph if room(module) == name]
        folder = package / name
        paths = [p for p in folder.rglob("*") if p.is_file()] if name and folder.is_dir() else []
        paths = paths or [folder / "__init__.py" if not name else folder.with_suffix(".py")]
        python = sum(_lines(p) for p in paths if p.suffix == ".py")
        other = sum(_lines(p) for p in paths if p.suffix not in (".py", ".pyc"))
        targets = {room(target) for module in modules for target in graph[module]} - {name}
        uses = " ".join(sorted((t or "pymetal" for t in targets), key=lambda t: rank("" if t == "pymetal" else t)))
        lines.append(f"{name or 'pymetal':<12} {len(modules):>5} {python:>7} {other:>6}  {uses}")
        totals = [a + b for a, b in zip(totals, (len(modules), python, other), strict=True)]
    return "\n".join([*lines, f"{'all':<12} {totals[0]:>5} {totals[1]:>7} {totals[2]:>6}"])


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def main() -> int:
    """Prints the table and what is wrong."""
    graph = read_graph()
    print(table(graph))
    wrong = upward(graph)
    if circle := cycle(graph):
        wrong.append("a circle: " + " -> ".join(circle))
    print("\n".join(wrong) if wrong else "every import goes down this list, and none around in a circle")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
