"""A PyTorch checkout: its files as text with the edits so far on top, and the paths of upstream's files."""

from __future__ import annotations

import ast
import difflib
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from pymetal.errors import PyMetalError
from pymetal.upstream import transaction
from pymetal.upstream.edit import Edit, Patch
from pymetal.upstream.git import texts_at

NATIVE = "aten/src/ATen/native"
YAML = f"{NATIVE}/native_functions.yaml"
TAGS = f"{NATIVE}/tags.yaml"
KERNELS = f"{NATIVE}/mps/kernels"
OPERATIONS = f"{NATIVE}/mps/operations"
METAL_HEADERS = "c10/metal"
INDEXING = f"{METAL_HEADERS}/indexing.h"
LIBRARY_HEADERS = (f"{NATIVE}/mps/MetalShaderLibrary.h", f"{NATIVE}/mps/OperationUtils.h")
COMMON_MPS = "torch/testing/_internal/common_mps.py"
OPINFO_FILES = ("torch/testing/_internal/common_methods_invocations.py", "torch/testing/_internal/opinfo")
INDUCTOR_MPS = "torch/_inductor/codegen/mps.py"
DERIVATIVES = "tools/autograd/derivatives.yaml"
FALLBACK_OPS = "torchgen/aoti/fallback_ops.py"
SHIMS = "torch/csrc/inductor/aoti_torch/generated"

# What makes a folder a checkout that pymetal can edit.
_NEEDED = (YAML, TAGS, KERNELS, OPERATIONS, INDEXING)
# Folders that hold no source of PyTorch's own.
_SKIPPED = frozenset({".git", "third_party", "build", "node_modules", "__pycache__", ".venv", "venv", "dist"})


class Checkout:
    """The files of one checkout.

    Text is read and written here as `str` in which every line ends as it does on disk, so that files with carriage
    returns and bytes that are no UTF-8 survive.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.recovered: list[str] = []  # files that an interrupted run had changed
        self._edited: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._created: set[str] = set()  # not there before the edits, whatever is on the disk since
        self._hidden: set[str] = set()
        self._listings: dict[str, tuple[str, ...]] = {}

    @classmethod
    def open(cls, root: str | os.PathLike[str]) -> Checkout:
        """The checkout in the folder `root`; undoes an interrupted run of pymetal first.

        Raises:
            PyMetalError: the folder is not a checkout of a shape that pymetal knows.
        """
        folder = Path(os.path.realpath(root))
        if not folder.is_dir():
            raise PyMetalError(f"{root} is not a folder", hint="Pass the root of a PyTorch checkout.")
        missing = [name for name in _NEEDED if not (folder / name).exists()]
        if missing:
            raise PyMetalError(_not_a_checkout(folder, missing), hint=_hint(folder))
        checkout = cls(folder)
        checkout.recovered = transaction.recover(folder)
        return checkout

    def exists(self, path: str) -> bool:
        """True for a file or folder of the checkout, or a file that an edit makes."""
        return path in self._edited or (path not in self._hidden and (self.root / path).exists())

    def text(self, path: str) -> str:
        """The text of a file, with the edits so far.

        Raises:
            PyMetalError: there is no such file, or it is reached through a symbolic link.
        """
        if path in self._edited:
            return self._edited[path]
        return self._original(path)

    def original(self, path: str) -> str | None:
        """The text of a file without edits; None if there is no such file."""
        if path in self._created or not (self.root / path).exists():
            return None
        return self._original(path)

    def _original(self, path: str) -> str:
        if path not in self._texts:
            file = transaction.check_inside(self.root, path)
            try:
                self._texts[path] = file.read_bytes().decode("utf-8", "surrogateescape")
            except FileNotFoundError:
                raise PyMetalError(f"{path} is not in {self.root}") from None
        return self._texts[path]

    def containing(self, words: Collection[str], *suffixes: str) -> list[str]:
        """The files of the whole tree in which one of `words` occurs; the others are not kept in memory."""
        wanted = [word.encode() for word in words]
        found = []
        for path in self.files(".", *suffixes):
            content = self._edited[path].encode("utf-8", "replace") if path in self._edited else None
            if content is None:
                content = (self.root / path).read_bytes()
            if any(word in content for word in wanted):
                found.append(path)
        return found

    def write(self, path: str, text: str) -> None:
        """Makes `text` the text of a file; nothing reaches the disk before the patch is applied."""
        if path not in self._edited and not (self.root / path).exists():
            self._created.add(path)
        self._edited[path] = text

    def plain(self, path: str) -> str:
        """The text of a file with line feeds only, for `write_plain`.

        Raises:
            PyMetalError: see `text`.
        """
        return self.text(path).replace("\r\n", "\n")

    def write_plain(self, path: str, text: str) -> None:
        """Makes `text`, which has line feeds only, the text of a file, with the line ends that the file has now."""
        self.write(path, with_endings_of(self.text(path), text) if self.exists(path) else text)

    def hide(self, path: str) -> None:
        """Treats a file of the disk as if it were not there."""
        self._edited.pop(path, None)
        self._hidden.add(path)

    def files(self, folder: str, *suffixes: str) -> list[str]:
        """The files below `folder` whose names end in one of `suffixes`, in order; links are not followed."""
        inside = "" if folder == "." else f"{folder}/"
        found = {p for p in self._edited if p.startswith(inside) and p.endswith(suffixes)}
        found.update(p for p in self._walk(folder) if p.endswith(suffixes) and p not in self._hidden)
        return sorted(found)

    def _walk(self, folder: str) -> tuple[str, ...]:
        if folder not in self._listings:
            self._listings[folder] = tuple(self._walked(folder))
        return self._listings[folder]

    def _walked(self, folder: str) -> Iterator[str]:
        base = self.root / folder
        for at, folders, names in os.walk(base):
            folders[:] = sorted(d for d in folders if d not in _SKIPPED and not os.path.islink(os.path.join(at, d)))
            inside = os.path.relpath(at, self.root).replace(os.sep, "/")
            for name in names:
                if not os.path.islink(os.path.join(at, name)):
                    yield f"{inside}/{name}" if inside != "." else name

    @property
    def changed(self) -> list[str]:
        """The files that differ from the disk."""
        return sorted(p for p, text in self._edited.items() if text != self.original(p))

    def changed_since(self, commit: str) -> dict[str, str | None]:
        """The Metal and Objective-C++ files that differ from `commit`, each with its text then; None for a new file.

        Raises:
            PyMetalError: git is missing, the folder is no repository, or there is no such commit.
        """
        texts = texts_at(self.root, commit, KERNELS, OPERATIONS)
        return {p: text for p, text in texts.items() if p.endswith((".metal", ".mm")) and (self.root / p).exists()}

    def at_commit(self, commit: str) -> Checkout:
        """The checkout as it was at a commit: its sources then, and none that came later.

        Raises:
            PyMetalError: git is missing, the folder is no repository, or there is no such commit.
        """
        then = Checkout(self.root)
        for path, text in texts_at(self.root, commit, NATIVE, METAL_HEADERS, "torch/testing").items():
            if text is None:
                then.hide(path)
            else:
                then.write(path, text)
        return then

    def patch(self) -> Patch:
        """The edits so far, as a patch."""
        edits = []
        for path, text in self._edited.items():
            old = self.original(path)
            edits.append(Edit(path, None if old is None else _encode(old), _encode(text)))
        return Patch.of(self.root, edits)


def newline_of(text: str) -> str:
    """The line end that most lines of `text` have."""
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def with_endings_of(original: str, edited: str) -> str:
    """`edited`, which has line feeds only, with the line ends of `original`: line by line, new lines as most."""
    if "\r\n" not in original:
        return edited
    before, after = original.split("\n"), edited.split("\n")
    plain = [line.removesuffix("\r") for line in before]
    most = "\r" if newline_of(original) == "\r\n" else ""
    result = []
    for tag, i1, _, j1, j2 in difflib.SequenceMatcher(None, plain, after, autojunk=False).get_opcodes():
        result += [before[i1 + j - j1] if tag == "equal" else after[j] + most for j in range(j1, j2)]
    if after[-1] == "":  # what follows the last line end is no line
        result[-1] = ""
    return "\n".join(result)


def line_of(text: str, position: int) -> int:
    """The line, counted from 1, of a position in `text`."""
    return text.count("\n", 0, position) + 1


def parse_python(path: str, text: str) -> ast.Module:
    """The syntax tree of a Python file.

    Raises:
        PyMetalError: the file is not Python of this version.
    """
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise PyMetalError(f"{path}:{error.lineno}: Python cannot read this file: {error.msg}") from error


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _not_a_checkout(folder: Path, missing: list[str]) -> str:
    rows = "".join(f"\n    {'missing' if name in missing else 'found  '} {name}" for name in _NEEDED)
    return f"{folder} is not a PyTorch checkout that pymetal can edit; it looked for{rows}"


def _hint(folder: Path) -> str:
    for parent in folder.parents:
        if all((parent / name).exists() for name in _NEEDED):
            return f"{parent} is one: pass that folder."
    if (folder / "_C").exists() or ((folder / "version.py").exists() and folder.name == "torch"):
        return "This is an installed torch, which has no kernel sources: pass a clone of the pytorch repository."
    if (folder / NATIVE).is_dir():
        return "MPS kernels are Metal files beside c10/metal since torch 2.7: check out that release or a later one."
    return "Pass the root of a clone of the pytorch repository."
