"""Files that appear whole or not at all, and whose fault it is if they do not."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from troth.core.errors import UserError
from troth.storage import files, runs
from troth.storage.claims import Claim


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with files.new_file(str(out)) as file:
        file.write(b"some")
        assert not out.exists()
        assert len(names(tmp_path)) == 1
    assert out.read_bytes() == b"some"
    assert names(tmp_path) == ["out"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(out.stat().st_mode) == 0o666 & ~umask  # as any new file, not a private one


def test_two_at_once_in_one_process(tmp_path: Path) -> None:
    """The second one to be done does not overwrite the first, and nothing is left of it."""
    out = tmp_path / "out"

    def both() -> None:
        with files.new_file(str(out)) as first:
            first.write(b"first")
            with files.new_file(str(out)) as second:
                second.write(b"second")

    with pytest.raises(UserError, match="out: exists already"):
        both()
    assert out.read_bytes() == b"second"
    assert names(tmp_path) == ["out"]


def test_what_came_meanwhile_stays_where_there_are_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unable(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", unable)
    with files.new_file(str(tmp_path / "a")) as file:
        file.write(b"a")
    assert (tmp_path / "a").read_bytes() == b"a"
    with pytest.raises(UserError, match="exists already"), files.new_file(str(tmp_path / "b")):
        (tmp_path / "b").write_bytes(b"other")
    assert (tmp_path / "b").read_bytes() == b"other"
    assert names(tmp_path) == ["a", "b"]


def test_the_blocks_own_errors_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"), files.new_file(str(tmp_path / "out")):
        Path("nowhere").read_bytes()
    assert names(tmp_path) == []


@pytest.mark.parametrize("size", [10, 1_000_000], ids=["at the end", "within"])
def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    real = files._Raw

    class Full(real):  # type: ignore[misc, valid-type]
        def __init__(self, *_: object) -> None:
            super().__init__("/dev/full", "wb")

    if not Path("/dev/full").exists():
        pytest.skip("the system has no device that is always full")
    monkeypatch.setattr(files, "_Raw", Full)
    told = "out: cannot be written: No space left on device"
    with pytest.raises(UserError, match=told), files.new_file(str(tmp_path / "out")) as file:
        file.write(b"x" * size)
    assert names(tmp_path) == []


def test_a_folder_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unable(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "_Raw", unable)
    with (
        pytest.raises(UserError, match=r"out: cannot be written: Permission denied \(is there room"),
        files.new_file(str(tmp_path / "out")),
    ):
        pass


def test_a_name_as_long_as_may_be(tmp_path: Path) -> None:
    with files.new_file(str(tmp_path / ("n" * 255))) as file:
        file.write(b"x")
    with pytest.raises(UserError, match="cannot be written: File name too long"):
        files.check_new(str(tmp_path / ("n" * 256)))


# -- processes that were killed ----------------------------------------------------------------------------------------

KILLED = """
import os, sys, signal
from troth.storage import files, runs
from troth.storage.claims import Claim
kind, out = sys.argv[1:]
with getattr(files, kind)(out) as part:
    if kind == "new_folder":
        (part / "deep").mkdir()
        (part / "deep" / "file").write_text("half")
    else:
        part.write(b"half")
    print("begun", flush=True)
    sys.stdin.read()
"""


def begun(kind: str, out: Path) -> subprocess.Popen[str]:
    """A process that is writing."""
    command = [sys.executable, "-c", KILLED, kind, str(out)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


@pytest.mark.parametrize("kind", ["new_file", "new_folder"])
def test_leftovers_of_killed_processes_are_removed(tmp_path: Path, kind: str) -> None:
    with begun(kind, tmp_path / "killed") as killed, begun(kind, tmp_path / "alive") as alive:
        killed.kill()
        killed.wait()
        assert len(names(tmp_path)) == 2
        theirs = [".troth-notes", ".troth-0123456789abcdef.part.txt", ".troth-0123456789abcdefg.part"]
        for name in theirs:
            (tmp_path / name).write_text("of the user")
        (tmp_path / ".troth-0123456789abcdef.part").symlink_to(tmp_path / ".troth-notes")
        with files.new_file(str(tmp_path / "next")) as file:
            file.write(b"whole")
        (living,) = set(names(tmp_path)) - {"next", ".troth-0123456789abcdef.part", *theirs}
        assert living.endswith(".part"), "what a living process is writing stays"
        alive.communicate("")
        assert alive.returncode == 0
    assert set(names(tmp_path)) == {"next", "alive", ".troth-0123456789abcdef.part", *theirs}
    assert (tmp_path / ".troth-notes").read_text() == "of the user"


@pytest.fixture
def two_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on systems that cannot swap two folders."""

    def absent(_: object) -> None:
        raise OSError

    monkeypatch.setattr("ctypes.CDLL", absent)


def replace_folder(out: Path, content: str) -> None:
    with files.replaced_folder(str(out), lambda _: None) as part:
        (part / "file").write_text(content)


class _KilledError(BaseException):
    """Stands for the end of the process: no handler of ours is run."""


@pytest.mark.usefixtures("two_steps")
@pytest.mark.parametrize("after", [1, 2, 3])
def test_the_old_folder_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Wherever the process is killed: before the first rename, between the two, or before the old one is removed."""
    out = tmp_path / "run"
    replace_folder(out, "old")
    count, rename, rmtree = 0, Path.rename, shutil.rmtree

    def counted(one: Path, other: Path) -> Path:
        nonlocal count
        count += 1
        if count == after:
            raise _KilledError
        return rename(one, other)

    def killed(path: Path, *args: Any, **kwargs: Any) -> None:
        if after == 3 and str(path).endswith(".old") and path.exists():
            raise _KilledError
        rmtree(path, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", counted)
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(_KilledError):
            replace_folder(out, "new")
    assert out.exists() == (after != 2)
    runs.is_run(str(out))
    assert (out / "file").read_text() == ("new" if after == 3 else "old")
    replace_folder(out, "newer")
    assert (out / "file").read_text() == "newer"
    assert names(tmp_path) == ["run"]


@pytest.mark.usefixtures("two_steps")
def test_a_failed_second_step_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, rename = tmp_path / "run", Path.rename
    replace_folder(out, "old")

    def fails(one: Path, other: Path) -> Path:
        if one.name.endswith(".part"):
            raise OSError(5, "Input/output error")
        return rename(one, other)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(UserError, match="Input/output error"):
        replace_folder(out, "new")
    assert (out / "file").read_text() == "old"
    assert names(tmp_path) == ["run"]


@pytest.mark.parametrize("out", ["loop", "loop/run", "a\0b", "\udcff"])
def test_names_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    if out == "\udcff":  # any bytes are a name on Linux; the line that names it can be printed
        files.check_replaceable(out, lambda _: None)
        return
    with pytest.raises(UserError) as error:
        files.check_replaceable(out, lambda _: None)
    assert str(error.value).isprintable()
    assert not runs.is_run(out)


def test_a_folder_is_claimed_once(tmp_path: Path) -> None:
    """A process that was killed while it wrote the record has left a part, which is nobody's."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / f".troth-{'0' * 16}.part").touch()
    mine = Claim("plan.json", "a run", {"data": "a1", "seed": 0}, {"path": "old"})
    mine.make(folder)
    Claim("plan.json", "a run", mine.identity, {"path": "new"}).make(folder)
    assert json.loads((folder / "plan.json").read_bytes()) == {"path": "new", "data": "a1", "seed": 0}
    with pytest.raises(
        UserError, match=r"holds a run with another data and seed \(name another folder to start anew\)"
    ):
        Claim("plan.json", "a run", {"data": "b2", "seed": 1}).make(folder)
    assert os.listdir(folder) == ["plan.json"]
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "notes.txt").touch()
    (tmp_path / "file").touch()
    for name in ("thesis", "file"):
        with pytest.raises(UserError, match="exists and is not a run"):
            mine.make(tmp_path / name)


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc which file is open")
def test_everything_is_on_the_disk_before_it_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that loses its power must not find a name without its content."""
    events: list[str] = []
    fsync = os.fsync

    def synced(descriptor: int) -> None:
        events.append(f"sync {os.path.basename(os.readlink(f'/proc/self/fd/{descriptor}'))}")
        fsync(descriptor)

    def moving(name: str) -> Any:
        move = getattr(os, name)

        def moved(*paths: Any, **options: Any) -> Any:
            events.append(f"move {os.path.basename(paths[1])}")
            return move(*paths, **options)

        return moved

    monkeypatch.setattr(os, "fsync", synced)
    for name in ("link", "replace", "rename"):
        monkeypatch.setattr(os, name, moving(name))
    with files.new_file(str(tmp_path / "new")) as file:
        file.write(b"1")
    assert [event.split()[0] for event in events] == ["sync", "move", "sync"]
    assert events[1:] == ["move new", f"sync {tmp_path.name}"]
    events.clear()
    with files.replaced_file(str(tmp_path / "new"), lambda _: None) as file:
        file.write(b"2")
    assert [event.split()[0] for event in events] == ["sync", "move", "sync"]
    events.clear()
    with files.new_folder(str(tmp_path / "folder")) as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "a").write_bytes(b"1")
        (folder / "b").write_bytes(b"2")
    assert {"sync a", "sync b", "sync inner"} <= set(events)
    assert events[-1] == f"sync {tmp_path.name}"
