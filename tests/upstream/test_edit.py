"""A patch is written whole or not at all, whatever happens in between, and only where it may be."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trees
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pymetal.errors import PyMetalError
from pymetal.upstream import transaction
from pymetal.upstream.checkout import Checkout, newline_of, with_endings_of
from pymetal.upstream.edit import Edit, Patch


def patch(root: Path) -> Patch:
    """Two files edited, two made, one of them in new folders."""
    edits = [
        Edit("a.txt", (root / "a.txt").read_bytes(), b"new a\n"),
        Edit("sub/b.txt", (root / "sub/b.txt").read_bytes(), b"new b\r\n"),
        Edit("sub/c.txt", None, b"made\n"),
        Edit("deep/er/d.txt", None, b"made too"),
    ]
    return Patch.of(root, edits)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with two files."""
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_bytes(b"old a\n")
    (folder / "sub/b.txt").write_bytes(b"old b\r\nsecond\r\n")
    (folder / "sub/b.txt").chmod(0o755)
    return folder


def test_all_files_are_written(root: Path) -> None:
    assert patch(root).apply() == ("a.txt", "deep/er/d.txt", "sub/b.txt", "sub/c.txt")
    assert {n: c for n, (c, _) in trees.snapshot(root).items()} == {
        "a.txt": b"new a\n", "sub/b.txt": b"new b\r\n", "sub/c.txt": b"made\n", "deep/er/d.txt": b"made too",
    }  # fmt: skip
    assert stat.S_IMODE((root / "sub/b.txt").stat().st_mode) == 0o755
    assert stat.S_IMODE((root / "sub/c.txt").stat().st_mode) == 0o644


def test_an_empty_patch_writes_nothing(root: Path) -> None:
    old = (root / "a.txt").read_bytes()
    empty = Patch.of(root, [Edit("a.txt", old, old)])
    assert not empty
    assert empty.diff() == ""
    assert empty.apply() == ()


def test_a_file_that_changed_since_is_left_alone(root: Path) -> None:
    late = patch(root)
    (root / "sub/b.txt").write_bytes(b"somebody's")
    before = trees.snapshot(root)
    with pytest.raises(PyMetalError, match=r"sub/b\.txt changed since the patch was computed"):
        late.apply()
    assert trees.snapshot(root) == before


def test_git_applies_the_diff(root: Path) -> None:
    wanted = patch(root)
    diff = wanted.diff().encode()
    other = root.parent / "other"
    subprocess.run(["cp", "-rp", root, other], check=True)
    subprocess.run(["git", "apply", "--unidiff-zero", "-"], input=diff, cwd=other, check=True)
    wanted.apply()
    contents = {n: c for n, (c, _) in trees.snapshot(root).items()}
    assert {n: c for n, (c, _) in trees.snapshot(other).items()} == contents


# --- killed half-way -------------------------------------------------------------------------------------------------

# A process that forks one to be killed for each line "ACTION STEPS ROOT" that it reads: torch is imported once.
CRASHING = """
import os, signal, sys
sys.path[:0] = sys.argv[1:]
from pathlib import Path
from test_edit import patch
from pymetal.upstream import transaction

def guard(name, left):
    real = getattr(os, name)
    def call(*args, **kwargs):
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        return real(*args, **kwargs)
    setattr(os, name, call)

for line in sys.stdin:
    action, steps, root = line.rstrip().split(" ", 2)
    child = os.fork()
    if child == 0:
        wanted = patch(Path(root)) if action == "apply" else None
        left = [int(steps)]
        for name in ("replace", "unlink", "fsync", "mkdir", "chmod", "open", "rmdir"):
            guard(name, left)
        wanted.apply(force=True) if wanted else transaction.recover(Path(root))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Crasher:
    """Runs the transaction in processes that are killed before one of their steps."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", CRASHING, *(str(Path(p).parent) for p in (__file__, trees.__file__))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, root: Path, steps: int, action: str = "apply") -> bool:
        """True if the process was killed, False if it ended before."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{action} {steps} {root}\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        assert code in (0, -signal.SIGKILL)
        return code != 0

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


@pytest.fixture(scope="module")
def crash() -> Iterator[Crasher]:
    """The process that is killed again and again."""
    crasher = Crasher()
    yield crasher
    crasher.close()


HALF_WAY = 36  # steps: some files are written, some are not


def test_killed_between_any_two_writes_the_tree_is_whole(root: Path, crash: Crasher) -> None:
    before = trees.snapshot(root)
    wanted = dict(before)
    wanted.update({e.path: (e.new, before.get(e.path, (b"", 0o644))[1]) for e in patch(root).edits})
    seen = set()
    for steps in range(200):
        killed = crash(root, steps)
        half = trees.snapshot(root)
        seen.add(sum(half.get(p, (b"",))[0] == c for p, (c, _) in wanted.items()))
        transaction.recover(root)
        now = trees.snapshot(root)
        assert now in (before, wanted), f"killed before step {steps}"
        if now == wanted:
            break
    assert seen == {0, 1, 2, 3, 4}, "every number of written files has been interrupted"
    assert steps > 30
    assert not killed or steps > HALF_WAY
    assert not list(root.rglob(".*pymetal*"))
    assert (root / "deep/er").is_dir()


def test_a_kill_while_undoing_is_undone(root: Path, crash: Crasher) -> None:
    before = trees.snapshot(root)
    for steps in range(100):
        assert crash(root, HALF_WAY)
        assert trees.snapshot(root) != before
        killed = crash(root, steps, "recover")
        transaction.recover(root)
        assert trees.snapshot(root) == before
        assert not (root / "deep").exists()
        if not killed:
            break
    assert steps > 5


def test_the_next_run_undoes_an_interrupted_one(new_tree: Path, crash: Crasher) -> None:
    before = trees.snapshot(new_tree)
    (new_tree / "a.txt").write_bytes(b"old a\n")
    (new_tree / "sub").mkdir()
    (new_tree / "sub/b.txt").write_bytes(b"old b\n")
    assert crash(new_tree, HALF_WAY)
    assert (new_tree / transaction.JOURNAL).exists()
    Checkout.open(new_tree)
    (new_tree / "a.txt").unlink()
    (new_tree / "sub/b.txt").unlink()
    assert trees.snapshot(new_tree) == before


def test_edits_made_after_an_interruption_survive(root: Path, crash: Crasher) -> None:
    assert crash(root, HALF_WAY)
    (root / "a.txt").write_bytes(b"the user's\n")
    with pytest.raises(PyMetalError, match=r"interrupted, and these files were edited since: a\.txt"):
        transaction.recover(root)
    assert (root / "a.txt").read_bytes() == b"the user's\n"
    assert (root / "sub/b.txt").read_bytes() == b"old b\r\nsecond\r\n"


def test_a_journal_that_is_none_is_refused(root: Path) -> None:
    (root / transaction.JOURNAL).write_text("{}")
    with pytest.raises(PyMetalError, match="is not a journal of pymetal"):
        patch(root).apply()


@pytest.mark.parametrize("failing", range(1, 4))
def test_a_failing_write_puts_everything_back(root: Path, monkeypatch: pytest.MonkeyPatch, failing: int) -> None:
    before = trees.snapshot(root)
    real = os.replace
    calls = 0

    def replace(source: object, target: object) -> None:
        nonlocal calls
        calls += 1
        if calls == failing + 1:
            raise OSError(28, "No space left on device")
        real(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(PyMetalError, match="No space left") as refused:
        patch(root).apply()
    assert refused.value.hint == "Nothing was changed."
    assert trees.snapshot(root) == before


def test_a_file_that_cannot_be_put_back_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full, and stays so: the journal waits for the next run."""
    before = trees.snapshot(root)
    real, real_unlink = os.replace, os.unlink

    def replace(source: Path, target: Path) -> None:
        if target.name != transaction.JOURNAL:
            raise OSError(30, "Read-only file system", str(target))
        real(source, target)

    def unlink(path: Path) -> None:
        if path.name == transaction.JOURNAL:
            raise OSError(30, "Read-only file system", str(path))
        real_unlink(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", replace)
        patched.setattr(os, "unlink", unlink)
        with pytest.raises(PyMetalError, match="Read-only file system") as refused:
            patch(root).apply()
    assert "puts the files back first" in str(refused.value)
    transaction.recover(root)
    assert trees.snapshot(root) == before


@pytest.mark.parametrize("folder", ["../outside", "/outside", "sub/../../outside"])
def test_a_journal_removes_no_folder_outside_of_the_tree(root: Path, folder: str) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (root / transaction.JOURNAL).write_text(json.dumps({"folders": [folder], "files": []}))
    with pytest.raises(PyMetalError, match="is not a path below"):
        transaction.recover(root)
    assert outside.is_dir()


def test_two_runs_at_once_are_kept_apart(root: Path) -> None:
    wanted = patch(root)
    with transaction._locked(root), pytest.raises(PyMetalError, match="another run is writing"):
        wanted.apply()


def test_the_lock_leaves_nothing_behind_in_the_tree(root: Path) -> None:
    before = trees.snapshot(root)
    with transaction._locked(root):
        assert trees.snapshot(root) == before


def test_the_writer_loads_without_fcntl() -> None:
    source = "import sys; sys.modules['fcntl'] = None; import pymetal.upstream.planner, pymetal.upstream.transaction"
    subprocess.run([sys.executable, "-c", source], check=True)


# --- where it may write ----------------------------------------------------------------------------------------------


def test_links_out_of_the_tree_are_refused(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "c.txt").write_bytes(b"theirs\n")
    (root / "sub/b.txt").unlink()
    (root / "sub").rmdir()
    (root / "sub").symlink_to(outside)
    wanted = Patch.of(root, [Edit("sub/c.txt", b"theirs\n", b"ours\n")])
    with pytest.raises(PyMetalError, match=r"sub is a symbolic link to .*outside, outside of"):
        wanted.apply()
    assert (outside / "c.txt").read_bytes() == b"theirs\n"


@pytest.mark.parametrize("path", ["../x", "/etc/x", "sub/../../x", "sub//x"])
def test_paths_out_of_the_tree_are_refused(root: Path, path: str) -> None:
    with pytest.raises(PyMetalError, match="is not a path below"):
        Patch.of(root, [Edit(path, None, b"x")]).apply()


def test_a_link_in_place_of_a_file_is_refused(root: Path) -> None:
    (root / "link.txt").symlink_to("a.txt")
    with pytest.raises(PyMetalError, match=r"link\.txt is a symbolic link"):
        Patch.of(root, [Edit("link.txt", b"old a\n", b"x")]).apply()
    with pytest.raises(PyMetalError, match="sub is not a regular file"):
        Patch.of(root, [Edit("sub", None, b"x")]).apply()


def test_uncommitted_changes_are_refused(root: Path) -> None:
    trees.commit(root, "base")
    (root / "a.txt").write_bytes(b"mine\n")
    wanted = patch(root)
    with pytest.raises(PyMetalError, match=r"uncommitted changes in 1 of the files to write:\n    a\.txt"):
        wanted.apply()
    assert (root / "a.txt").read_bytes() == b"mine\n"
    assert wanted.apply(force=True)


def test_changes_elsewhere_do_not_matter(root: Path) -> None:
    (root / "other.txt").write_text("x")
    trees.commit(root, "base")
    (root / "other.txt").write_text("y")
    assert patch(root).apply()


def test_a_file_that_git_does_not_know_is_refused(root: Path) -> None:
    trees.commit(root, "base")
    (root / "sub/e.txt").write_text("untracked")
    with pytest.raises(PyMetalError, match=r"uncommitted changes.*\n    sub/e\.txt"):
        Patch.of(root, [Edit("sub/e.txt", b"untracked", b"x")]).apply()


# --- text ------------------------------------------------------------------------------------------------------------

LINES = st.lists(st.text(st.characters(codec="ascii", exclude_characters="\r\n"), max_size=5), max_size=8)


@given(LINES, LINES, st.lists(st.booleans(), min_size=8, max_size=8))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_line_ends_survive(lines: list[str], more: list[str], returns: list[bool]) -> None:
    original = "".join(line + ("\r\n" if cr else "\n") for line, cr in zip(lines, returns, strict=False))
    plain = original.replace("\r\n", "\n")
    assert with_endings_of(original, plain) == original
    edited = plain + "".join(f"{line}\n" for line in more)
    result = with_endings_of(original, edited)
    assert result.replace("\r\n", "\n") == edited
    if set(returns[: len(lines)]) == {True} and lines:
        assert "\n" not in result.replace("\r\n", "")
    assert newline_of(original) in ("\n", "\r\n")


@pytest.mark.parametrize("path", ["aten/src/ATen/native/native_functions.yaml", "c10/metal/indexing.h"])
def test_a_tree_of_another_shape_is_refused(new_tree: Path, path: str) -> None:
    (new_tree / path).unlink()
    with pytest.raises(PyMetalError) as error:
        Checkout.open(new_tree)
    assert f"missing {path}" in str(error.value)
    assert "found   aten/src/ATen/native/mps/kernels" in str(error.value)


def test_what_is_no_checkout_is_told(new_tree: Path) -> None:
    import torch

    with pytest.raises(PyMetalError, match="This is an installed torch, which has no kernel sources"):
        Checkout.open(Path(torch.__file__).parent)
    with pytest.raises(PyMetalError, match=r"pytorch is one: pass that folder"):
        Checkout.open(new_tree / "aten/src")
    with pytest.raises(PyMetalError, match="is not a folder"):
        Checkout.open(new_tree / "nowhere")
    with pytest.raises(PyMetalError, match="Pass the root of a clone"):
        Checkout.open(new_tree.parent)


def test_bytes_that_are_no_text_survive(new_tree: Path) -> None:
    path = "aten/src/ATen/native/mps/operations/BinaryKernel.mm"
    content = (new_tree / path).read_bytes() + b"// caf\xe9 \xff\n"
    (new_tree / path).write_bytes(content)
    checkout = Checkout.open(new_tree)
    checkout.write(path, checkout.text(path) + "// more\n")
    assert checkout.patch().apply() == (path,)
    assert (new_tree / path).read_bytes() == content + b"// more\n"
