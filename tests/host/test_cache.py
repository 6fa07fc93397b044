"""The disk cache: privacy, atomic writes, checksums, eviction and the fallback folder."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import stat
import sys
import time
from pathlib import Path

import platformdirs
import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from pymetal import DeviceError, atomic
from pymetal.host import build
from pymetal.host.cache import Cache, default_cache, default_folder


def test_what_is_put_is_got(tmp_path: Path) -> None:
    store = Cache(tmp_path / "c")
    key = store.key("a", b"b")
    assert store.get(key, "so") is None
    path = store.put(key, "so", b"data")
    assert store.get(key, "so") == path
    assert path.read_bytes() == b"data"
    store.put(key, "so", b"other")
    assert path.read_bytes() == b"other"
    store.put_json(key, {"x": [1, 2]})
    assert store.get_json(key) == {"x": [1, 2]}
    assert not list(store.root.glob("tmp-*"))


def test_keys_depend_on_every_part_and_on_where_parts_end() -> None:
    keys = [Cache.key("ab", "c"), Cache.key("a", "bc"), Cache.key("abc"), Cache.key("ab", b"c", ""), Cache.key()]
    assert len(set(keys)) == 5
    assert Cache.key("ab", "c") == Cache.key(b"ab", "c")


@pytest.mark.parametrize("content", [b"", b"dat", b"data2", b"DATA"])
def test_changed_bytes_are_not_an_entry(content: bytes, tmp_path: Path) -> None:
    store = Cache(tmp_path / "c")
    path = store.put("k", "so", b"data")
    path.write_bytes(content)
    assert store.get("k", "so") is None


@pytest.mark.parametrize("sums", [None, b"", b"\xff\xfe", b"0" * 64])
def test_a_missing_or_wrong_sum_is_not_an_entry(sums: bytes | None, tmp_path: Path) -> None:
    store = Cache(tmp_path / "c")
    path = store.put("k", "so", b"data")
    beside = path.with_name(path.name + ".sum")
    if sums is None:
        beside.unlink()
    else:
        beside.write_bytes(sums)
    assert store.get("k", "so") is None
    store.put("k", "so", b"data")
    assert store.get("k", "so") == path


def test_json_that_is_not_an_object_is_not_an_entry(tmp_path: Path) -> None:
    store = Cache(tmp_path / "c")
    store.put("k", "json", b"[1]")
    assert store.get_json("k") is None
    store.put("k", "json", b"{")
    assert store.get_json("k") is None


def test_files_and_folder_are_private(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        store = Cache(tmp_path / "deep" / "c")
        path = store.put("k", "json", b"{}")
    finally:
        os.umask(old)
    assert stat.S_IMODE(store.root.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(mode: int, tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    store = Cache(folder)
    assert store.is_temporary
    assert store.root != folder
    assert stat.S_IMODE(store.root.stat().st_mode) == 0o700
    store.put("k", "so", b"x")
    assert list(folder.iterdir()) == []


def test_a_folder_of_someone_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "c"
    store = Cache(folder)
    store.put("k", "so", b"x")
    real = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: real + 1)
    assert store.get("k", "so") is None
    assert Cache(folder).is_temporary


def test_a_link_to_a_folder_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert Cache(tmp_path / "link").is_temporary


def test_a_place_that_cannot_be_written_falls_back(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Cache(tmp_path / "file" / "c")
    assert store.is_temporary
    store.put("k", "so", b"x")
    assert store.get("k", "so") is not None


def test_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYMETAL_CACHE_DIR", str(tmp_path / "named"))
    assert default_folder() == tmp_path / "named"
    assert default_cache() is default_cache()
    assert default_cache().root == tmp_path / "named"
    monkeypatch.delenv("PYMETAL_CACHE_DIR")
    monkeypatch.setattr(platformdirs, "PlatformDirs", Unix)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_folder() == tmp_path / "xdg" / "pymetal"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "pymetal"
    monkeypatch.setattr(platformdirs, "PlatformDirs", MacOS)
    assert default_folder() == tmp_path / "Library" / "Caches" / "pymetal"


def test_no_home_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYMETAL_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda folder: folder)  # as where there is no home
    store = Cache(default_folder())
    assert store.is_temporary
    assert store.get("k", "so") is None


def test_files_that_a_killed_process_left_go_in_time(tmp_path: Path) -> None:
    store = Cache(tmp_path / "c", limit=2000)
    fresh, stale = store.root / "tmp-fresh", store.root / "tmp-stale"
    for path in (fresh, stale):
        path.write_bytes(bytes(1500))
    os.utime(stale, (1, 1))
    store.put("k", "so", bytes(1000))
    assert fresh.exists()
    assert not stale.exists()
    folder = store.root / "tmp-folder"
    folder.mkdir()
    os.utime(folder, (1, 1))
    store.clear()
    assert not folder.exists()


def test_size_and_clear(tmp_path: Path) -> None:
    store = Cache(tmp_path / "c")
    assert store.size() == 0
    store.put("k", "so", b"x" * 1000)
    assert store.size() == 1064
    assert store.clear() == 1064
    assert store.size() == 0
    assert store.get("k", "so") is None


def test_the_least_recently_used_entries_go_first(tmp_path: Path) -> None:
    store = Cache(tmp_path / "c", limit=5000)
    now = time.time()
    for n in range(4):
        path = store.put(f"k{n}", "so", bytes(1000))
        for file in (path, path.with_name(path.name + ".sum")):
            os.utime(file, (now - 100 + n, now - 100 + n))
    assert store.get("k0", "so") is not None  # k0 is the most recent now, k1 the least
    store.put("k4", "so", bytes(1000))
    assert store.size() <= 5000
    assert store.get("k1", "so") is None
    assert store.get("k0", "so") is not None
    assert store.get("k4", "so") is not None


def test_the_entry_just_written_stays_even_if_it_is_too_large(tmp_path: Path) -> None:
    store = Cache(tmp_path / "c", limit=10)
    store.put("k", "so", bytes(1000))
    assert store.get("k", "so") is not None


def test_limit_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = Cache(tmp_path / "c")
    monkeypatch.setenv("PYMETAL_CACHE_BYTES", "1500")
    store.put("k0", "so", bytes(1000))
    store.put("k1", "so", bytes(1000))
    assert store.get("k0", "so") is None
    monkeypatch.setenv("PYMETAL_CACHE_BYTES", "many")
    store.put("k2", "so", bytes(1000))
    assert store.get("k1", "so") is not None


def test_scratch_folders_do_not_stay(tmp_path: Path) -> None:
    store = Cache(tmp_path / "c")

    def fail() -> None:
        with store.scratch() as folder:
            (folder / "x").write_text("y")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(store.root.iterdir()) == []


def hammer(folder: str, seed: int) -> None:
    store = Cache(Path(folder))
    for n in range(100):
        path = store.get(f"k{n % 5}", "so")
        if path is not None:
            assert len(set(path.read_bytes())) <= 1
        store.put(f"k{n % 5}", "so", bytes([seed]) * 4096)


def test_many_processes_write_the_same_entries(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=hammer, args=(str(tmp_path / "c"), seed)) for seed in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    store = Cache(tmp_path / "c")
    assert not list(store.root.glob("tmp-*"))


def test_a_folder_that_cannot_be_used_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PYMETAL_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="cannot keep a private folder at .*file: compiled kernels are kept"):
        cache = default_cache()
    assert cache.is_temporary
    assert default_cache() is cache  # and warnings are errors here


def test_a_folder_that_vanished_is_made_anew(tmp_path: Path) -> None:
    store = Cache(tmp_path / "c")
    for write in (lambda: store.put(store.key("a"), "so", b"data"), lambda: store.scratch().__enter__()):
        shutil.rmtree(store.root)
        write()
        assert stat.S_IMODE(store.root.stat().st_mode) == 0o700


def test_a_relative_folder_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYMETAL_CACHE_DIR", "kernels")
    assert default_folder() == tmp_path / "kernels"


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pymetal writes, and where the compiler does."""
    store = Cache(tmp_path / "c")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic, "write_new", full)
    wanted = re.escape(f"compiled kernels cannot be kept at {store.root}: No space left on device\nFree space there")
    with pytest.raises(DeviceError, match=wanted):
        store.put(store.key("a"), "so", b"data")
    message = "error: unable to open output file: No space left on device"
    compiler = (sys.executable, "-c", f"import sys; sys.exit({message!r})")
    with pytest.raises(DeviceError, match=wanted):
        build._run(compiler, None, "", store)
