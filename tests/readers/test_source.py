"""Bytes from files, archives, pipes and devices: limits, and pipes that are read once."""

from __future__ import annotations

import gzip
import io
import os
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from troth import demo, readers
from troth.cli import declared
from troth.core.errors import UserError
from troth.grounding import calibration
from troth.meta.people import sheets
from troth.perturb.schemas import calls
from troth.readers import source, unpack
from troth.tracking import feed
from troth.tracking.score import dst

GOLD, HASTY = (Path(demo.path(name)) for name in ("gold", "hasty"))
DIALOGUES = (GOLD / "dialogues_001.json").read_bytes()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that are reached quickly."""
    monkeypatch.setattr(unpack, "LARGEST", 4_000_000)
    monkeypatch.setattr(unpack, "HARMLESS", 100_000)


def _zip(*members: tuple[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return data.getvalue()


BOMB = b" " * 3_000_000
BOMBS = {
    "a.json.gz": gzip.compress(BOMB),
    "a.json": gzip.compress(BOMB),
    "a.zip": _zip(("a.json", BOMB)),
    "many.zip": _zip(*((f"{i}.json", b'{"":1}' + b" " * 90_000) for i in range(40))),
    "nested.zip": _zip(("a.json.gz", gzip.compress(BOMB))),
    "large.json": b" " * 4_000_001,
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.usefixtures("small")
def test_archive_bombs(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / name
    file.write_bytes(BOMBS[name])
    with pytest.raises(UserError, match=r"holds more than .* MB once it is read \(TROTH_INPUT_LIMIT=20GB allows more"):
        list(source.documents(str(file)))
    monkeypatch.setenv("TROTH_INPUT_LIMIT", "20MB")
    assert sum(len(document.data) for document in source.documents(str(file))) >= 3_000_000


@pytest.mark.parametrize("limit", ["", "1MB"])
def test_an_archive_that_is_no_bomb(tmp_path: Path, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROTH_INPUT_LIMIT", limit)
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(DIALOGUES))
    (tmp_path / "a.zip").write_bytes(_zip(("a.json", DIALOGUES), ("b.json.gz", gzip.compress(DIALOGUES))))
    assert [d.data for d in source.documents(str(tmp_path / "a.json.gz"))] == [DIALOGUES]
    assert [d.data for d in source.documents(str(tmp_path / "a.zip"))] == [DIALOGUES] * 2


@pytest.mark.usefixtures("small")
def test_devices_without_an_end() -> None:
    if not os.path.exists("/dev/zero"):
        pytest.skip("needs /dev/zero")
    with pytest.raises(UserError, match="/dev/zero: holds more than 4 MB"):
        readers.detect("/dev/zero")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
@pytest.mark.parametrize("read", [calibration.load, sheets.detect_study, calls.load, declared._read_lines])
def test_a_device_in_place_of_a_file_that_an_option_names(
    read: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TROTH_INPUT_LIMIT", "4MB")
    with pytest.raises(UserError, match="/dev/zero: holds more than 4 MB"):
        read("/dev/zero")


class Pipes:
    """Makes pipes that hold some bytes, as a shell's `<(cat FILE)`; each can be read once."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0

    def __call__(self, data: bytes) -> str:
        self.count += 1
        path = str(self.folder / f"pipe{self.count}")
        os.mkfifo(path)
        self.fill(path, data)
        return path

    def fill(self, path: str, data: bytes) -> None:
        threading.Thread(target=lambda: Path(path).write_bytes(data), daemon=True).start()


@pytest.fixture
def pipes(tmp_path: Path) -> Pipes:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    return Pipes(tmp_path)


def test_pipes_are_read_once(pipes: Pipes) -> None:
    """Recognised and read, by every process that needs them."""
    gold, pred = pipes(DIALOGUES), pipes(gzip.compress((HASTY / "dialogues_001.json").read_bytes()))
    schema = str(GOLD / "schema.json")
    expected = dst(str(GOLD), str(HASTY), metrics="jga")["jga"].value
    assert readers.detect(gold) == "sgd"
    assert dst(gold, pred, metrics="jga", schema=schema)["jga"].value == expected


def test_a_pipe_that_is_filled_again(pipes: Pipes) -> None:
    """What was read of a pipe is not taken for what comes later."""
    path = pipes(b"one")
    assert source.first(path).data == source.first(path).data == b"one"
    pipes.fill(path, b"two")
    time.sleep(0.2)  # until the writer is there
    assert source.first(path).data == source.first(path).data == b"two"


def test_processes_do_not_share_a_pipe(pipes: Pipes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two readers of one pipe would get a part of it each."""
    monkeypatch.setattr(feed, "WORTH_IT", 1)
    hasty, schema = str(HASTY / "dialogues_001.json"), str(GOLD / "schema.json")
    expected = dst(str(GOLD), hasty, metrics="jga")
    got = dst(pipes(DIALOGUES), f"a={hasty}", f"b={hasty}", metrics="jga", schema=schema, workers=2)
    assert [score.value for score in got.scores if score.group == "all"] == [expected["jga"].value] * 2
