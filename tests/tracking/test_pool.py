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
from troth.tracking import pool
from troth.tracking.score import dst


@pytest.fixture(autouse=True)
def _share_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "WORTH_IT", 1)


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
    return result.scores, result.systems[0].counts


@pytest.mark.parametrize("seeds", [(0, 0), (0, 1)], ids=["aligned", "dialogues in other files"])
@pytest.mark.parametrize("workers", [2, 3, 5, 50])
def test_workers_move_no_figure(tmp_path: Path, seeds: tuple[int, int], workers: int) -> None:
    gold = write(tmp_path / "gold", spread(dialogues("gold"), 5, seeds[0]))
    pred = write(tmp_path / "pred", spread(dialogues("hasty")[3:], 5, seeds[1]))  # three are missing
    expected = scores(gold, pred, 1)
    assert expected[1].missing_dialogues == 3
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
    with pytest.raises(UserError, match=rf"dialogues_002.json: dialogue {pred_items[0]['dialogue_id']}: comes twice"):
        scores(gold, pred, workers)
    pred = write(tmp_path / "broken", [pred_items[:8], pred_items[8:16], pred_items[16:]])
    for name in ("dialogues_002.json", "dialogues_001.json"):
        (Path(pred) / name).write_text("[{")
        with pytest.raises(UserError, match=rf"{name}: broken JSON"):  # the first one in reading order
            scores(gold, pred, workers)


def test_a_killed_worker_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gold = write(tmp_path / "gold", spread(dialogues("gold"), 4, 0))
    pred = write(tmp_path / "pred", spread(dialogues("hasty"), 4, 0))
    monkeypatch.setattr(pool, "_child", lambda *_: os._exit(9))
    with pytest.raises(UserError, match="a worker was ended from outside"):
        scores(gold, pred, 2)


def test_shares_are_whole_and_about_equal(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for number, size in enumerate((10, 10, 100, 10, 10, 60)):
            (tmp_path / folder / f"{number}.json").write_text("x" * size)
    for workers in (2, 3, 6, 9):
        shares = pool._shares(str(tmp_path / "a"), str(tmp_path / "b"), workers)
        assert len(shares) == min(workers, 6)
        assert [Path(f).name for gold, _ in shares for f in gold or ()] == [f"{n}.json" for n in range(6)]
        assert all(gold for gold, _ in shares)
    two = pool._shares(str(tmp_path / "a"), str(tmp_path / "b"), 2)
    assert [len(gold or ()) for gold, _ in two] == [3, 3]
