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
from troth.readers import source
from troth.tracking.join import Join

PART = 2_000  # bytes


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_PART", PART)


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
    in_parts = troth.dst(gold, pred, resamples=0)
    assert 0 < most < 30
    monkeypatch.setattr(source, "_PART", 10**9)
    whole = troth.dst(gold, pred, resamples=0)
    assert [(s.metric, s.value) for s in in_parts.scores] == [(s.metric, s.value) for s in whole.scores]
    assert most == 60


def test_predictions_in_another_order_are_still_found(tmp_path: Path) -> None:
    gold, pred = written(tmp_path / "gold.jsonl", rows()), written(tmp_path / "pred.jsonl", rows()[::-1])
    assert troth.dst(gold, pred, resamples=0)["jga"].value == 1


def test_an_error_names_the_line_of_the_file(tmp_path: Path) -> None:
    lines = rows()
    lines[150]["turn"] = "second"
    with pytest.raises(UserError, match="line 151"):
        list(readers.batches(written(tmp_path / "gold.jsonl", lines), parts=True))


def test_a_dialogue_whose_turns_lie_far_apart_is_an_error(tmp_path: Path) -> None:
    lines = [line for turn in range(3) for line in rows() if line["turn"] == turn]
    path = written(tmp_path / "gold.jsonl", lines)
    with pytest.raises(UserError, match=r"d0|duplicate|turn"):
        troth.dst(path, path, resamples=0)


def test_one_dialogue_longer_than_a_part_stays_whole(tmp_path: Path) -> None:
    path = written(tmp_path / "gold.jsonl", rows(dialogues=2, turns=200))
    assert [len(items) for _, items in readers.batches(path, parts=True)] == [1, 1]


def test_a_bomb_is_refused_while_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "HARMLESS", 100_000)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b" " * 10**8))
    with pytest.raises(UserError, match="holds more than"):
        list(readers.batches(str(path), parts=True))


def test_responses_in_parts_are_those_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[dict[str, object]] = [
        {"id": f"r{i}", "document": f"Room {i} is on floor {i % 9}.", "response": f"Room {i}."} for i in range(200)
    ]
    path = written(tmp_path / "answers.jsonl", lines)
    parts = troth.ground(path, metrics="coverage", resamples=0)
    monkeypatch.setattr(source, "_PART", 10**9)
    assert parts.rows().equals(troth.ground(path, metrics="coverage", resamples=0).rows())
