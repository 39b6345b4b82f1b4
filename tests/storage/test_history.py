"""The history of runs: a line per run, whole or not at all; and its trend on the page."""

from __future__ import annotations

from multiprocessing import get_context
from pathlib import Path

import msgspec
import pytest

import troth
from troth import demo
from troth.core.errors import UserError
from troth.core.result import Result
from troth.report.page.history import build_history
from troth.report.page.model import Chart, Grid, Text
from troth.storage.history import HistoryEntry, read_history, record_run


def score(rule: str = "exact") -> Result:
    return troth.agent(demo.path("agents/hasty.jsonl"), metrics="pass^1,failed_calls", resamples=1, rule=rule)


def test_runs_are_added_in_order(tmp_path: Path) -> None:
    path, result = tmp_path / "history.jsonl", score()
    for label in ("a", "b"):
        entry = record_run(path, result, label=label, verdicts={"pass^1": "worse"})
    entries = read_history(path)
    assert [one.label for one in entries] == ["a", "b"]
    assert entries[1] == entry
    assert entry.scores["pass^1"].value == result["pass^1"].value
    assert (entry.system, entry.task, entry.verdicts) == ("hasty", "agent score", {"pass^1": "worse"})
    result.save(tmp_path / "run")
    assert record_run(path, tmp_path / "run").scores == entry.scores
    assert len(path.read_bytes().splitlines()) == 3
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_a_line_without_its_end_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    record_run(path, score(), label="a")
    path.write_bytes(path.read_bytes().rstrip())
    record_run(path, score(), label="b")
    assert [one.label for one in read_history(path)] == ["a", "b"]


@pytest.mark.parametrize("content", [b'{"time": 1}\n', b"no history\n", b'{"time": "x", "tas'])
def test_another_file_is_not_written_to(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"history.jsonl: is not a history of troth: line 1: "):
        record_run(path, score())
    assert path.read_bytes() == content
    with pytest.raises(UserError, match="its folder does not exist"):
        record_run(tmp_path / "nowhere/history.jsonl", score())
    with pytest.raises(UserError, match="'other' has no score to record"):
        record_run(tmp_path / "new.jsonl", score(), system="other")


def add(path: str) -> None:
    for _ in range(5):
        record_run(path, score())


def test_processes_do_not_lose_each_others_runs(tmp_path: Path) -> None:
    path = str(tmp_path / "history.jsonl")
    workers = [get_context("spawn").Process(target=add, args=(path,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert len(read_history(path)) == 10


def test_the_trend_joins_only_runs_of_the_same_recipe(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    for label, rule in (("<b>old</b>", "tau"), ("b", "exact"), ("c", "exact")):
        record_run(path, score(rule=rule), label=label)
    entries = read_history(path)
    section = build_history(entries)
    assert section is not None
    chart, note, grid = section.blocks
    assert isinstance(chart, Chart)
    assert [(row[1], row[2], row[7]) for row in chart.rows] == [("pass^1", 2, "b"), ("pass^1", 3, "c")]
    assert isinstance(note, Text)
    assert note.text == "1 metric: earlier runs with other settings are left out."
    assert isinstance(grid, Grid)
    assert [row[2] for row in grid.rows] == ["<b>old</b>", "b", "c"]
    out = tmp_path / "page.html"
    troth.report(score(), out=out, history=path)
    text = out.read_text(encoding="utf-8")
    assert "Metrics, run by run" in text
    assert "<b>old</b>" not in text
    assert build_history([]) is None


def test_gated_metrics_are_shown(tmp_path: Path) -> None:
    entry = record_run(tmp_path / "h.jsonl", score(), verdicts={"failed_calls": "kept"})
    section = build_history([entry, msgspec.structs.replace(entry, scores={})])
    assert section is not None
    chart = section.blocks[0]
    assert isinstance(chart, Chart)
    assert {row[1] for row in chart.rows} == {"Failed calls"}
    assert isinstance(entry, HistoryEntry)
