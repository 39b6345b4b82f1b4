"""Runs on disk: whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from troth import demo
from troth.core.errors import UserError
from troth.core.score import Score
from troth.storage import runs as store
from troth.tracking.score import dst

SCORE = Score("s", "jga", "all", 0.5, 0.4, 0.6, 2, "JGA|n:2")
ROWS = pl.DataFrame({"system": ["s"], "metric": ["jga"], "dialogue": ["d"], "num": [1.0], "den": [2.0]})


def save(out: Path, score: Score = SCORE) -> None:
    store.save(
        str(out), command="dst", arguments={"gold": "g"}, scores=[score], rows=ROWS, counts={"s": {"dialogues": 1}}
    )


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    save(tmp_path / "new" / "run")
    run = store.load(str(tmp_path / "new" / "run"))
    assert run.scores == [SCORE]
    assert run.versions["troth"]
    assert store.rows(str(tmp_path / "new" / "run")).equals(ROWS)
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["run"]


def test_a_run_is_replaced_as_a_whole(tmp_path: Path) -> None:
    save(tmp_path / "run")
    save(tmp_path / "run", Score("s", "jga", "all", 0.7, 0.6, 0.8, 2, "JGA|n:2"))
    assert store.load(str(tmp_path / "run")).scores[0].value == 0.7
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("broken", ["write_parquet", "exchange"])
def test_a_crash_leaves_the_old_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    save(tmp_path / "run")

    def crash(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pl.DataFrame if broken == "write_parquet" else store, broken, crash)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / "run", Score("s", "jga", "all", 0.7, 0.6, 0.8, 2, "JGA|n:2"))
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
