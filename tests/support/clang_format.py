"""clang-format with the whole of PyTorch's style, to compare emitted text with."""

from __future__ import annotations

import json
import re
import subprocess

from pymetal.codegen.format import find_clang_format

# The major release of PyTorch's linter, with which the files that tests compare with were formatted.
RELEASE = 19

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


def release() -> int:
    """The major release of the installed clang-format."""
    tool = find_clang_format()
    assert tool is not None
    return tool.release[0]


def clang_format(text: str) -> str:
    """`text` as clang-format formats it with PyTorch's style."""
    tool = find_clang_format()
    assert tool is not None
    return subprocess.run(
        [tool.path, "--assume-filename=kernel.metal", f"--style={json.dumps(STYLE)}"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout


def assert_formatted_text(actual: str, expected: str) -> None:
    """Compares emitted text with a file that clang-format 19 formatted: by bytes under 19, by tokens under others."""
    if release() == RELEASE:
        assert actual == expected
    else:
        assert tokens(actual) == tokens(expected)


def tokens(text: str) -> list[str]:
    """The tokens of Metal text, without comments and the backslashes that continue a line."""
    return re.findall(r"\w+|[^\w\s]", re.sub(r"^\s*//.*|\\\n", "", text, flags=re.MULTILINE))
