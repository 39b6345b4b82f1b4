"""Shares of a corpus scored apart and merged: no figure moves, and errors come out as from one process."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from troth import demo
from troth.core.errors import UserError
from troth.tracking import feed
from troth.tracking.score import dst


@pytest.fixture(autouse=True)
def _share_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "WORTH_IT", 1)


def dialogues(side: str) -> list[dict[str, Any]]:
    return json.loads((Path(demo.path(side)) / "dialogues_001.json").read_text())  # type: ignore[no-any-return]


def write(folder: Path, groups: list[list[dict[str, Any]]]) -> str:
    folder.mkdir()
    for number, group in enumerate(groups):
        (folder / f"dialogues_{number:03d}.json").write_text(json.dumps(group))
    return str(folder)


def spread(items: list[dict[str, Any]], files: int, seed: int) -> list[list[dict[str, Any]]]:
    items = items[:]
    random.Random(seed).shuffle(items)
    return [items[i::files] for i in range(files)]


def scores(gold: str, pred: str, workers: int) -> Any:
    schema = str(Path(demo.path("gold")) / "schema.json")
    result = dst(gold, f"s={pred}", schema=schema, by=("service", "slot", "turn"), workers=workers)
    return result.scores, result.counts["s"]


@pytest.mark.parametrize("seeds", [(0, 0), (0, 1)], ids=["aligned", "dialogues in other files"])
@pytest.mark.parametrize("workers", [2, 3, 5, 50])
def test_workers_move_no_figure(tmp_path: Path, seeds: tuple[int, int], workers: int) -> None:
    gold = write(tmp_path / "gold", spread(dialogues("gold"), 5, seeds[0]))
    pred = write(tmp_path / "pred", spread(dialogues("hasty")[3:], 5, seeds[1]))  # three are missing
    expected = scores(gold, pred, 1)
    assert expected[1]["missing_dialogues"] == 3
    assert scores(gold, pred, workers) == expected


@pytest.mark.parametrize("workers", [1, 3])
def test_errors_of_any_share_are_told(tmp_path: Path, workers: int) -> None:
    gold_items, pred_items = dialogues("gold"), dialogues("hasty")
    gold = write(tmp_path / "gold", [gold_items[:8], gold_items[8:16], gold_items[16:]])
    stray = {**pred_items[0], "dialogue_id": "demo_99"}
    pred = write(tmp_path / "stray", [pred_items[:8], pred_items[8:16], [*pred_items[16:], stray]])
    with pytest.raises(UserError, match=r"dialogues_002.json: dialogue demo_99: predicted, but gold has no such"):
        scores(gold, pred, workers)
    pred = write(tmp_path / "twice", [pred_items[:8], pred_items[8:16], [*pred_items[16:], pred_items[0]]])
    with pytest.raises(UserError, match=r"dialogues_002.json: dialogue figure_1: duplicate dialogue id"):
        scores(gold, pred, workers)
    pred = write(tmp_path / "broken", [pred_items[:8], pred_items[8:16], pred_items[16:]])
    for name in ("dialogues_002.json", "dialogues_001.json"):
        (Path(pred) / name).write_text("[{")
        with pytest.raises(UserError, match=rf"{name}: broken JSON"):  # the first one in reading order
            scores(gold, pred, workers)


def test_a_killed_worker_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gold = write(tmp_path / "gold", spread(dialogues("gold"), 4, 0))
    pred = write(tmp_path / "pred", spread(dialogues("hasty"), 4, 0))
    parent, score = os.getpid(), feed._score
    monkeypatch.setattr(feed, "_score", lambda *share: score(*share) if os.getpid() == parent else os._exit(9))
    with pytest.raises(UserError, match="a worker process was killed"):
        scores(gold, pred, 2)


def test_shares_are_whole_and_about_equal(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for number, size in enumerate((10, 10, 100, 10, 10, 60)):
            (tmp_path / folder / f"{number}.json").write_text("x" * size)
    for workers in (2, 3, 6, 9):
        shares = cuts(tmp_path, workers)
        assert len(shares) == min(workers, 6)
        assert [number for cut in shares for number in range(6)[cut]] == list(range(6))
        assert all(range(6)[cut] for cut in shares)
    assert cuts(tmp_path, 2) == [slice(0, 3), slice(3, 6)]


def cuts(folder: Path, workers: int) -> list[slice]:
    systems = [feed.Predictions(feed.DialogueSource(str(folder / "b")), list)]
    return [
        share.files or slice(None) for share in feed._shares(feed.DialogueSource(str(folder / "a")), systems, workers)
    ]


def test_systems_are_shared_out_where_files_cannot_be(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold", [dialogues("gold")])
    preds = [write(tmp_path / name, [[one] for one in dialogues(name)]) for name in ("hasty", "sturdy")]
    systems = [feed.Predictions(feed.DialogueSource(pred), list) for pred in (*preds, *preds)]
    shares = feed._shares(feed.DialogueSource(gold), systems, 2)
    assert [share.systems for share in shares] == [range(2), range(2, 4)]
    schema = str(Path(demo.path("gold")) / "schema.json")
    one, two = (dst(gold, *preds, schema=schema, resamples=20, workers=workers) for workers in (1, 2))
    assert (one.scores, one.counts) == (two.scores, two.counts)


def test_gold_is_read_once_for_all_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from troth import readers

    opened: list[str] = []
    batches = readers.batches

    def counted(path: str, *args: Any, **kwargs: Any) -> Any:
        opened.append(path)
        return batches(path, *args, **kwargs)

    monkeypatch.setattr(readers, "batches", counted)
    dst(demo.path("gold"), demo.path("hasty"), demo.path("sturdy"), resamples=5)
    assert opened.count(demo.path("gold")) == 1


def test_common_dialogues_alone(tmp_path: Path) -> None:
    schema = str(Path(demo.path("gold")) / "schema.json")
    items = dialogues("hasty")
    some = write(tmp_path / "some", [items[2:]])
    stray = write(tmp_path / "stray", [[*items[:-1], {**items[0], "dialogue_id": "demo_99"}]])
    gold = demo.path("gold")
    result = dst(gold, f"a={some}", f"b={stray}", schema=schema, resamples=20, common=True)
    ids = {one["dialogue_id"] for one in items[2:-1]}
    assert {count["dialogues"] for count in result.counts.values()} == {len(ids)}
    assert set(result.rows()["dialogue"]) == ids
    with pytest.raises(UserError, match="gold has no such dialogue"):
        dst(gold, stray, schema=schema)


def test_another_split_is_named_as_such(tmp_path: Path) -> None:
    other = [{**one, "dialogue_id": f"x{number}"} for number, one in enumerate(dialogues("hasty"))]
    pred = write(tmp_path / "other", [other])
    with pytest.raises(UserError, match=rf"0 of {len(other)} dialogue ids are in gold \(do gold and prediction belong"):
        dst(demo.path("gold"), pred)
