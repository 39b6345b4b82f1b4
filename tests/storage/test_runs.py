"""Runs on disk: whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from troth import demo
from troth.core.errors import UserError
from troth.core.groups import ALL
from troth.core.metric import Metric
from troth.core.parts import Parts, lazy_rows
from troth.core.result import Note, Result
from troth.core.score import Score
from troth.storage import files
from troth.storage import runs as store
from troth.storage.runs import open as open_run
from troth.tracking.score import dst

SCORE = Score("s", "jga", ALL, 0.5, 0.4, 0.6, 2, {})
ROWS = pl.DataFrame({"system": ["s"], "metric": ["jga"], "dialogue": ["d"], "num": [1.0], "den": [2.0]})


def save(out: Path, score: Score = SCORE) -> None:
    jga = Metric("jga", "Joint goal accuracy", compute=len)
    counts = {"s": {"dialogues": 1}}
    Result("dst", [score], [jga], counts, [Note("a note")], arguments={"gold": "g"}, make_rows=lambda: ROWS).save(out)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    save(tmp_path / "new" / "run")
    run = store.load(str(tmp_path / "new" / "run"))
    assert run.scores == [SCORE]
    assert run.versions["troth"]
    assert store.rows(str(tmp_path / "new" / "run")).equals(ROWS)
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["run"]


def test_a_run_opens_as_the_result_that_was_saved(tmp_path: Path) -> None:
    """Metrics without their functions, which no file can hold."""
    result = dst(demo.path("gold"), demo.path("hasty"), demo.path("sturdy"), by="service", resamples=5)
    result.save(tmp_path / "run")
    opened = open_run(tmp_path / "run")
    assert opened.scores == result.scores
    assert opened.metrics == [metric.stored for metric in result.metrics]
    assert (opened.task, opened.counts, opened.notes) == (result.task, result.counts, result.notes)
    assert opened.rows().equals(result.rows())
    assert list(opened.explorer().dialogues) == list(result.explorer().dialogues)
    assert opened["jga"] == result["jga"]
    assert opened.metric("jga").title == "Joint goal accuracy"
    assert repr(opened) == repr(result)


def test_a_result_reads_well() -> None:
    result = dst(demo.path("gold"), demo.path("hasty"), by="service,slot", resamples=5)
    assert repr(result).startswith("troth dst: ")
    assert len(repr(result).splitlines()) <= 42
    assert len(repr(result)) < 6000
    assert result._repr_html_().count("<table>") == len(result.tables())
    hostile = dst(demo.path("gold"), f"<i>x={demo.path('hasty')}", resamples=5)._repr_html_()
    assert ("<i>x" in hostile, "&lt;i&gt;x" in hostile) == (False, True)


@pytest.mark.parametrize(("layout", "what"), [(1, "an older troth"), (99, "a newer troth")])
def test_a_run_of_another_layout_is_refused(tmp_path: Path, layout: int, what: str) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"command": "dst", "scores": [], "layout": layout}))
    with pytest.raises(UserError, match=f"written by {what}"):
        open_run(tmp_path)


def test_a_changed_number_is_noticed(tmp_path: Path) -> None:
    save(tmp_path / "run")
    file = tmp_path / "run" / "run.json"
    file.write_text(file.read_text().replace("0.5", "0.6", 1))
    with pytest.raises(UserError, match="does not match its digest"):
        open_run(tmp_path / "run")


def test_a_run_of_another_version_keeps_its_signatures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It opens, and its numbers do not claim to be made by this version."""
    save(tmp_path / "run")
    monkeypatch.setattr("troth.core.score.__version__", "99.0")
    assert open_run(tmp_path / "run").scores == [SCORE]
    assert Score("s", "jga", ALL, 0.5, 0.4, 0.6, 2, {}).signature.endswith("|v:99.0")


def test_a_run_is_replaced_as_a_whole(tmp_path: Path) -> None:
    save(tmp_path / "run")
    save(tmp_path / "run", Score("s", "jga", ALL, 0.7, 0.6, 0.8, 2, {}))
    assert store.load(str(tmp_path / "run")).scores[0].value == 0.7
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("broken", ["write_parquet", "exchange"])
def test_a_crash_leaves_the_old_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    save(tmp_path / "run")

    def crash(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pl.DataFrame if broken == "write_parquet" else files, broken, crash)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / "run", Score("s", "jga", ALL, 0.7, 0.6, 0.8, 2, {}))
    assert store.load(str(tmp_path / "run")).scores == [SCORE]
    assert store.rows(str(tmp_path / "run")).equals(ROWS)
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_what_is_not_a_run_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("x")
    for name in ("mine", "file"):
        with pytest.raises(UserError, match="not a run of troth"):
            save(tmp_path / name)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"layout": 99}', b"\xff", b'{"scores": [1]}'])
def test_a_broken_run_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(UserError, match=r"run\.json"):
        store.load(str(tmp_path))


def test_rows_sum_to_the_scores() -> None:
    result = dst(demo.path("gold"), demo.path("hasty"), demo.path("sturdy"), resamples=1)
    sums = result.rows().group_by("system", "metric").agg(pl.col("num").sum(), pl.col("den").sum())
    values = {(system, metric): num / den for system, metric, num, den in sums.iter_rows()}
    assert len(values) == len(result.scores) == 2 * len(result.metrics)
    for score in result.scores:
        assert values[score.system, score.metric] == pytest.approx(score.value, abs=1e-12)


def test_rows_are_written_while_they_are_made(tmp_path: Path) -> None:
    """One metric at a time, so that a large corpus need not fit into memory; an error on the way leaves the old run."""
    ones = [Parts.from_fractions([(1, 2)], [("d", 0, "Hotels_1")]).frame("s", name) for name in ("jga", "aga")]
    whole = Result("dst", [SCORE], [], make_rows=lambda: lazy_rows(lambda: iter(ones)))
    whole.save(tmp_path / "run")
    assert store.rows(str(tmp_path / "run")).equals(pl.concat(ones))
    assert whole.rows().equals(pl.concat(ones))

    def crash() -> Iterator[pl.DataFrame]:
        yield ones[0]
        raise UserError("lost")

    with pytest.raises(UserError, match="lost"):
        Result("dst", [SCORE], [], make_rows=lambda: lazy_rows(crash)).save(tmp_path / "run")
    assert store.rows(str(tmp_path / "run")).equals(pl.concat(ones))
