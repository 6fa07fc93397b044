"""clang-format with PyTorch's style, as the judge of `pymetal.codegen.layout`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

# pytorch/.clang-format, as far as it concerns Metal; the options it leaves out are those of LLVM's style.
STYLE: dict[str, object] = {
    "AccessModifierOffset": -1,
    "AlignAfterOpenBracket": "AlwaysBreak",
    "AlignConsecutiveAssignments": False,
    "AlignConsecutiveDeclarations": False,
    "AlignEscapedNewlinesLeft": True,
    "AlignOperands": False,
    "AlignTrailingComments": False,
    "AllowAllParametersOfDeclarationOnNextLine": False,
    "AllowShortBlocksOnASingleLine": False,
    "AllowShortCaseLabelsOnASingleLine": False,
    "AllowShortFunctionsOnASingleLine": "Empty",
    "AllowShortIfStatementsOnASingleLine": False,
    "AllowShortLoopsOnASingleLine": False,
    "AlwaysBreakAfterReturnType": "None",
    "AlwaysBreakBeforeMultilineStrings": True,
    "AlwaysBreakTemplateDeclarations": True,
    "BinPackArguments": False,
    "BinPackParameters": False,
    "BreakBeforeBinaryOperators": "None",
    "BreakBeforeBraces": "Attach",
    "BreakBeforeTernaryOperators": True,
    "BreakConstructorInitializersBeforeComma": False,
    "BreakStringLiterals": False,
    "ColumnLimit": 80,
    "CommentPragmas": "^ IWYU pragma:",
    "CompactNamespaces": False,
    "ConstructorInitializerAllOnOneLineOrOnePerLine": True,
    "ConstructorInitializerIndentWidth": 4,
    "ContinuationIndentWidth": 4,
    "Cpp11BracedListStyle": True,
    "DerivePointerAlignment": False,
    "IncludeCategories": [
        {"Regex": r"^<.*\.h(pp)?>", "Priority": 1},
        {"Regex": "^<.*", "Priority": 2},
        {"Regex": ".*", "Priority": 3},
    ],
    "IndentCaseLabels": True,
    "IndentWidth": 2,
    "IndentWrappedFunctionNames": False,
    "KeepEmptyLinesAtTheStartOfBlocks": False,
    "MaxEmptyLinesToKeep": 1,
    "NamespaceIndentation": "None",
    "PenaltyBreakBeforeFirstCallParameter": 1,
    "PenaltyBreakComment": 300,
    "PenaltyBreakFirstLessLess": 120,
    "PenaltyBreakString": 1000,
    "PenaltyExcessCharacter": 1000000,
    "PenaltyReturnTypeOnItsOwnLine": 2000000,
    "PointerAlignment": "Left",
    "ReflowComments": True,
    "SortIncludes": True,
    "SpaceAfterCStyleCast": False,
    "SpaceBeforeAssignmentOperators": True,
    "SpaceBeforeParens": "ControlStatements",
    "SpaceInEmptyParentheses": False,
    "SpacesBeforeTrailingComments": 1,
    "Standard": "Cpp11",
    "TabWidth": 8,
    "UseTab": "Never",
}


@cache
def _executable() -> str | None:
    beside = Path(sys.executable).parent / "clang-format"
    return str(beside) if beside.exists() else shutil.which("clang-format")


def available() -> bool:
    """Whether there is a clang-format to ask."""
    return _executable() is not None


@cache
def release() -> int:
    """Which release of clang-format there is."""
    command = _executable()
    assert command is not None
    text = subprocess.run([command, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    found = re.search(r"version (\d+)", text)
    assert found is not None
    return int(found[1])


def clang_format(text: str) -> str:
    """`text` as clang-format lays it out."""
    command = _executable()
    assert command is not None
    return subprocess.run(
        [command, "--assume-filename=kernel.metal", f"--style={json.dumps(STYLE)}"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
