"""Imports go one way: a module imports from earlier stages only, and there is no cycle, lazy imports included."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pymetal"

# From the first stage to the last. A name stands for a module or for all modules of a package, the longest match
# counts; modules of one line may import each other, as long as there is no cycle.
ORDER: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("dtypes",),
    ("ir",),
    ("terms",),
    ("ops",),
    ("arity", "promotion"),
    ("intrinsics", "facts"),
    ("frontend",),
    ("meaning", "accuracy"),
    ("codegen",),
    ("codegen.upstream",),
    ("runtime.cache", "runtime.numerics", "runtime.debug"),
    ("runtime.toolchain", "runtime.metal_text"),
    ("runtime",),  # how the host device compiles and binds
    ("runtime.host",),
    ("runtime.plan",),
    ("runtime.explain",),
    ("runtime.device",),
    ("runtime.host_device", "runtime.mps"),
    ("runtime.overlap",),
    ("runtime.jit",),
    ("runtime.call",),
    ("runtime.trace",),  # a debug build of a functor
    ("functor", "helper"),
    ("runtime.registered",),  # runs functors, in the form that upstream's host code launches
    ("files", "torch_op", "decorators"),
    ("check",),
    ("cli",),
    ("", "__main__"),  # the package's own __init__
)

# Imports inside functions that go up, and why.
ALLOWED = {
    ("runtime.device", "runtime.host_device"): "the one place that knows every device picks one by name",
    ("runtime.device", "runtime.mps"): "the one place that knows every device picks one by name",
    ("codegen.upstream.toolchain_checks", "runtime.host"): "compiles the text that was placed in a checkout",
    ("cli", ""): "`--version` prints pymetal.__version__",
    ("cli.doctor", ""): "`doctor` prints pymetal.__version__",
    ("cli.self_test", ""): "finds the examples beside the package",
}

Graph = Mapping[str, Mapping[str, bool]]  # module -> imported module -> whether inside a function


def rank(module: str) -> int:
    """The place of a module in ORDER."""
    best = max(
        ((len(name), at) for at, names in enumerate(ORDER) for name in names if _belongs(module, name)), default=None
    )
    assert best is not None, f"{module} has no place in ORDER"
    return best[1]


def _belongs(module: str, name: str) -> bool:
    return module == name or (name != "" and module.startswith(f"{name}."))


def read_graph() -> dict[str, dict[str, bool]]:
    """Who imports whom under pymetal/, by names without the leading `pymetal.`; annotations-only imports count too."""
    files = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {module: _imports(path, set(files)) for module, path in files.items()}


def _imports(path: Path, known: set[str]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for node, lazy in _walk(ast.parse(path.read_text(encoding="utf-8")), False):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            base = node.module or ""
            # `from package import x` imports the module package.x if there is one, else the package.
            names = [
                f"{base}.{a.name}" if f"{base}.{a.name}".removeprefix("pymetal.") in known else base
                for a in node.names
            ]  # fmt: skip
        for name in names:
            if name == "pymetal" or name.startswith("pymetal."):
                target = name.removeprefix("pymetal").removeprefix(".")
                assert target in known, f"{path} imports {name}, which is not there"
                found[target] = found.get(target, True) and lazy
    return found


def _walk(node: ast.AST, lazy: bool) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        yield child, lazy
        yield from _walk(child, lazy or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))


def upward(graph: Graph) -> list[str]:
    """The imports that do not go down ORDER."""
    return [
        f"{module} imports {target}" + (" inside a function" if lazy else "")
        for module, targets in sorted(graph.items())
        for target, lazy in sorted(targets.items())
        if rank(target) > rank(module) and not (lazy and (module, target) in ALLOWED)
    ]


def cycle(graph: Graph) -> list[str] | None:
    """A way from a module to itself, or None. Allowed lazy imports do not count."""
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str] | None:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return None
        for target, lazy in graph[module].items():
            if lazy and (module, target) in ALLOWED:
                continue
            if found := visit(target, [*path, module]):
                return found
        done.add(module)
        return None

    return next((found for module in graph if (found := visit(module, []))), None)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return read_graph()


def test_every_import_goes_down(graph: Graph) -> None:
    assert upward(graph) == []


def test_no_cycle(graph: Graph) -> None:
    assert cycle(graph) is None


def test_allowed_imports_are_there(graph: Graph) -> None:
    """The list of exceptions shrinks when the code does."""
    for module, target in ALLOWED:
        assert graph[module].get(target) is True, f"{module} no longer imports {target}: take it off the list"


def test_every_module_has_a_place(graph: Graph) -> None:
    assert len(graph) > 40
    for module in graph:
        rank(module)


def test_the_checks_see_what_they_are_for(graph: Graph) -> None:
    bad = {**graph, "ir": {**graph["ir"], "ops": True}, "frontend.source": {"frontend.lower": False}}
    assert upward(bad) == ["ir imports ops inside a function"]
    found = cycle(bad)
    assert found is not None
    assert found[0] == found[-1]
    with pytest.raises(AssertionError, match="no place"):
        rank("somewhere_else")


def test_importing_pymetal_leaves_the_rest_alone() -> None:
    """The host device, the command line and torch's own reference implementations load when they are used."""
    late = ["pymetal.runtime.host", "pymetal.runtime.build", "pymetal.cli", "torch._prims_common", "rich"]
    code = f"""
import sys, torch
before = set(sys.modules)
import pymetal
print([m for m in {late} if m in sys.modules and m not in before])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
