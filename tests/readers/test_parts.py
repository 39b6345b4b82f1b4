"""Large files of JSON Lines are read in parts: the same dialogues, little memory, errors with their lines."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import troth
from troth import readers
from troth.core.errors import UserError
from troth.readers import source, unpack
from troth.tracking.join import Join

PART = 2_000  # bytes


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "PART_SIZE", PART)


def rows(dialogues: int = 60, turns: int = 3, words: int = 1) -> list[dict[str, object]]:
    return [
        {"dialogue": f"d{d}", "turn": t, "user": "leeds " * words, "state": {"Hotels_1": {"city": f"city {d % 7}"}}}
        for d in range(dialogues)
        for t in range(turns)
    ]


def written(path: Path, lines: list[dict[str, object]], pack: Callable[[bytes], bytes] = bytes) -> str:
    path.write_bytes(pack(b"\n".join(json.dumps(line).encode() for line in lines)))
    return str(path)


@pytest.mark.parametrize(("ending", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)])
def test_parts_have_the_dialogues_of_the_whole(tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]) -> None:
    path = written(tmp_path / f"gold.jsonl{ending}", rows(), pack)
    whole = [item for _, items in readers.batches(path) for item in items]
    parts = [items for _, items in readers.batches(path, parts=True)]
    assert [item for items in parts for item in items] == whole
    assert len(parts) > 5
    assert max(map(len, parts)) < 20


def test_scores_are_those_of_the_whole_and_no_side_runs_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gold has ten times the bytes of the predictions; neither waits in memory as a whole."""
    gold, pred = written(tmp_path / "gold.jsonl", rows(words=50)), written(tmp_path / "pred.jsonl", rows())
    most = 0
    add = Join.add_gold

    def watched(self: Join, *batch: object) -> object:
        nonlocal most
        yield from add(self, *batch)  # type: ignore[arg-type]
        most = max(most, len(self.golds) + len(self.preds))

    monkeypatch.setattr(Join, "add_gold", watched)
    in_parts = troth.dst(gold, pred, resamples=1)
    assert 0 < most < 30
    monkeypatch.setattr(source, "PART_SIZE", 10**9)
    whole = troth.dst(gold, pred, resamples=1)
    assert [(s.metric, s.value) for s in in_parts.scores] == [(s.metric, s.value) for s in whole.scores]
    assert most == 60


def test_predictions_in_another_order_are_still_found(tmp_path: Path) -> None:
    gold, pred = written(tmp_path / "gold.jsonl", rows()), written(tmp_path / "pred.jsonl", rows()[::-1])
    assert troth.dst(gold, pred, resamples=1)["jga"].value == 1


def test_an_error_names_the_line_of_the_file(tmp_path: Path) -> None:
    lines = rows()
    lines[150]["turn"] = "second"
    with pytest.raises(UserError, match="line 151"):
        list(readers.batches(written(tmp_path / "gold.jsonl", lines), parts=True))


def test_a_dialogue_whose_turns_lie_far_apart_is_an_error(tmp_path: Path) -> None:
    lines = [line for turn in range(3) for line in rows() if line["turn"] == turn]
    path = written(tmp_path / "gold.jsonl", lines)
    with pytest.raises(UserError, match="dialogue d0: turn 0 is missing"):
        troth.dst(path, path, resamples=1)


def test_one_dialogue_longer_than_a_part_stays_whole(tmp_path: Path) -> None:
    path = written(tmp_path / "gold.jsonl", rows(dialogues=2, turns=200))
    assert [len(items) for _, items in readers.batches(path, parts=True)] == [1, 1]


def test_a_bomb_is_refused_while_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "HARMLESS", 100_000)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b" " * 10**8))
    with pytest.raises(UserError, match="holds more than"):
        list(readers.batches(str(path), parts=True))


@pytest.mark.parametrize("between", [b"\n", b"\n\n", b"\r\n", b"\r\n\r\n"])
@pytest.mark.parametrize("part", range(300, 420, 7))
def test_blank_lines_and_any_size_of_parts(
    tmp_path: Path, between: bytes, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_bytes(between.join(json.dumps(line).encode() for line in rows(dialogues=5)) + 3 * between)
    whole = list(readers.read(str(path)))
    monkeypatch.setattr(source, "PART_SIZE", part)
    assert [item for _, items in readers.batches(str(path), parts=True) for item in items] == whole


def test_a_small_packed_file_is_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "PART_SIZE", 10**6)
    lines = rows()[::-1]  # in any order
    plain, packed = written(tmp_path / "a.jsonl", lines), written(tmp_path / "b.jsonl.gz", lines, gzip.compress)
    assert [items for _, items in readers.batches(packed, parts=True)] == [list(readers.read(plain))]
    alone = written(tmp_path / "c.jsonl.gz", rows(1, 1), gzip.compress)
    assert len(list(readers.batches(alone, parts=True))) == 1


def test_a_part_without_predictions_is_not_taken_for_one(tmp_path: Path) -> None:
    """Where some lines of a file have predictions, a dialogue without is a missing prediction, in any part."""
    lines = [line | ({"pred": line["state"]} if number < 90 else {}) for number, line in enumerate(rows())]
    path = written(tmp_path / "both.jsonl", lines)
    assert troth.dst(path, resamples=1)["jga"].value == 0.5
    gold = written(tmp_path / "gold.jsonl", rows())
    assert troth.dst(gold, path, resamples=1)["jga"].value == 0.5
    late = written(tmp_path / "late.jsonl", lines[::-1])
    with pytest.raises(UserError, match="the first prediction is after line"):
        troth.dst(gold, late, resamples=1)


def test_other_formats_are_read_whole(tmp_path: Path) -> None:
    """Only lines that name their dialogue can be cut; CheckDST's lines may come in any order, under another key."""
    lines = [line | {"state": {"hotel": {"area": "north"}}} for line in rows()]
    gold, other = written(tmp_path / "gold.jsonl", lines), tmp_path / "checkdst.jsonl"
    readers.convert(gold, other, "checkdst")
    other.write_text("".join(reversed(other.read_text().splitlines(keepends=True))))
    assert len(list(source.documents(str(other), parts=True))) > 1
    assert len(list(readers.batches(str(other), parts=True))) == 1


def test_the_whole_is_read_where_the_whole_is_needed(tmp_path: Path) -> None:
    path = written(tmp_path / "gold.jsonl", rows())
    assert source.first(path).data == Path(path).read_bytes()
    assert len(source.first_part(path).data) < PART


def test_a_stray_prediction_does_not_make_gold_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stray = [rows(1, 1)[0] | {"dialogue": "stray"}]
    gold, pred = written(tmp_path / "gold.jsonl", rows()), written(tmp_path / "pred.jsonl", stray + rows())
    waiting: list[int] = []
    add = Join.add_gold

    def watched(self: Join, *batch: object) -> object:
        yield from add(self, *batch)  # type: ignore[arg-type]
        waiting.append(len(self.golds))

    monkeypatch.setattr(Join, "add_gold", watched)
    troth.dst(gold, pred, resamples=1, common=True)
    assert max(waiting) < 30


def test_the_limit_of_the_environment_holds_for_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "gold.jsonl", rows())
    monkeypatch.setenv("TROTH_INPUT_LIMIT", "1KB")
    with pytest.raises(UserError, match="holds more than 0 MB"):
        list(readers.batches(path, parts=True))


@pytest.mark.filterwarnings("ignore:.*filesystem.*:UserWarning")
def test_files_of_storages_are_read_in_parts(tmp_path: Path) -> None:
    """Their files can be read and sought, and no more: `readline` takes no number of bytes there."""
    fsspec = pytest.importorskip("fsspec", reason="needs the extra 'remote'")
    pytest.importorskip("upath", reason="needs the extra 'remote'")
    content = Path(written(tmp_path / "gold.jsonl", rows())).read_bytes()

    class Storage(fsspec.AbstractFileSystem):  # type: ignore[misc,name-defined]
        protocol = "parts"

        def info(self, path: str, **_: object) -> dict[str, object]:
            return {"name": path, "size": len(content), "type": "file"}

        def ls(self, path: str, detail: bool = True, **_: object) -> list[object]:
            return [self.info(path)] if detail else [path]

        def _open(self, path: str, mode: str = "rb", **_: object) -> object:
            class File(fsspec.spec.AbstractBufferedFile):  # type: ignore[misc,name-defined]
                def _fetch_range(self, start: int, end: int) -> bytes:
                    return content[start:end]

            return File(self, path, mode, size=len(content))

    fsspec.register_implementation("parts", Storage, clobber=True)
    parts = [items for _, items in readers.batches("parts://bucket/gold.jsonl", parts=True)]
    assert len(parts) > 5
    assert [item for items in parts for item in items] == list(readers.read(str(tmp_path / "gold.jsonl")))
