"""Files that appear whole or not at all, and whose fault it is if they do not."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from troth.core.errors import UserError
from troth.storage import files


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
