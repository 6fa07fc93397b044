"""How torch tests an operator: its OpInfos, and the decorators in them that expect a failure on MPS."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass

from pymetal.upstream.checkout import OPINFO_FILES, Checkout, parse_python

_DECORATOR = re.compile(r"expectedFailureMPS\w*|skipMPS\w*|skipIfMPS\w*")
_INFO = re.compile(r"(?:OpInfo|\w*UfuncInfo|\w*ShapeFuncInfo)")


@dataclass(frozen=True)
class Decorator:
    """An expected failure or a skip on MPS in an operator's OpInfo."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class OpInfo:
    """Where an operator is described for testing."""

    op: str
    key: str  # name and variant, as `common_mps.py` writes them
    path: str
    line: int
    end: int
    autograd: bool = True  # whether its gradients are tested


def opinfo_keys(checkout: Checkout, ops: Collection[str]) -> list[OpInfo]:
    """The OpInfos of operators, by aten name: `special_erfcx` is `special.erfcx`, `silu` `nn.functional.silu`."""
    found = []
    for path in _opinfo_files(checkout):
        text = checkout.text(path)
        if not any(op.removeprefix("special_") in text for op in ops):
            continue
        for node in ast.walk(parse_python(path, text)):
            if not (isinstance(node, ast.Call) and _INFO.fullmatch(_called(node)) and node.args):
                continue
            name = node.args[0]
            if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
                continue
            options = {k.arg: k.value.value for k in node.keywords if k.arg and isinstance(k.value, ast.Constant)}
            aten = options.get("aten_name") or name.value.replace("nn.functional.", "").replace(".", "_")
            if aten in ops:
                key = name.value + str(options.get("variant_test_name") or "")
                autograd = options.get("supports_autograd") is not False
                found.append(OpInfo(str(aten), key, path, node.lineno, node.end_lineno or node.lineno, autograd))
    return found


def decorators(checkout: Checkout, infos: Collection[OpInfo]) -> list[Decorator]:
    """The decorators in these OpInfos that expect a failure on MPS, or skip it."""
    found = []
    for path in {info.path for info in infos}:
        text = checkout.text(path)
        lines = text.split("\n")
        for node in ast.walk(parse_python(path, text)):
            word = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            about = isinstance(node, ast.Call) and any(
                k.arg == "device_type" and isinstance(k.value, ast.Constant) and k.value.value == "mps"
                for k in node.keywords
            )
            if not (_DECORATOR.fullmatch(word) or about):
                continue
            line = getattr(node, "lineno", 0)
            if any(i.path == path and i.line <= line <= i.end for i in infos):
                end = getattr(node, "end_lineno", None) or line
                shown = " ".join(text.strip() for text in lines[line - 1 : end])
                found.append(Decorator(path, line, shown.replace("( ", "(").replace(", )", ")")))
    return sorted(set(found), key=lambda d: (d.path, d.line))


def _opinfo_files(checkout: Checkout) -> list[str]:
    found: list[str] = []
    for path in OPINFO_FILES:
        found += [path] if path.endswith(".py") and checkout.exists(path) else checkout.files(path, ".py")
    return found


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
