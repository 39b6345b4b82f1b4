"""What a page shows of several and of many systems: what is tested, groups of units, tables with a row per system."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.report.make import GOLD, HASTY, STURDY, answered, copied, perturbed, result
from tests.report.test_page import charts, grids
from troth.core.metric import Metric
from troth.core.result import Result
from troth.report import page
from troth.report.page.names import open_runs
from troth.report.page.responses import FEWER
from troth.tracking.score import dst

SER = Metric("ser", "Slot error rate", better="lower")


def grouped(name: str, right: int) -> Result:
    """A system whose metric is also given by seen and unseen domains, with a coverage that derives from it."""
    made = result(name, SER, right)
    (whole,) = made.scores
    derived = SER.derive("coverage:ser", title="Coverage", better="higher")
    more = [msgspec.structs.replace(whole, group=group) for group in ("seen_domain", "unseen_domain")]
    cover = msgspec.structs.replace(whole, metric=derived.name)
    rows = made.rows()
    both = rows.vstack(rows.with_columns(metric=rows["metric"].replace("ser", derived.name)))
    return replace(made, scores=[whole, *more, cover], metrics=[SER, derived], make_rows=lambda: both)


def test_groups_of_several_systems_are_rows_without_marks() -> None:
    made = page.build(open_runs([grouped("a", 150), grouped("b", 10)]))
    table = grids(made)["nlg"]
    assert [row[0] for row in table.rows] == [
        "Slot error rate", "Slot error rate, seen domain", "Slot error rate, unseen domain", "Coverage",
    ]  # fmt: skip
    assert table.columns == ["metric", "b", "a"]  # the best first
    assert [place for place in table.best if place[0] in (1, 2)] == []
    assert (0, 1) in table.best
    assert "Only overall values are tested" in table.note
    alone = grids(page.build(open_runs([grouped("a", 150)])))["nlg"]
    assert alone.columns == ["metric", "all", "seen domain", "unseen domain"]


def test_what_derives_from_a_metric_of_the_run_is_not_tested() -> None:
    made = page.build(open_runs([grouped("a", 150), grouped("b", 10)]))
    (contest,) = made.sections[0].contests
    assert contest.metrics == ["ser"]
    assert contest.tests == {"a": 1, "b": 1}


def test_headline_metrics_are_tested(tmp_path: Path) -> None:
    both = dst(GOLD, HASTY, STURDY, profile="trade", resamples=10)
    (contest,) = page.build(open_runs([both])).sections[0].contests
    assert contest.metrics == ["jga", "aga", "fga@0.5", "turn_match"]


@pytest.mark.parametrize("number", [2, 5])
def test_the_table_of_perturbed_sets(tmp_path: Path, number: int) -> None:
    """Of a few systems a row per set and system, of many a row per system."""
    runs = copied(perturbed(tmp_path / "run"), [f"s{place}" for place in range(number)])
    table = grids(page.build(open_runs(runs)))["checkdst"]
    if number == 2:
        assert [row[:2] for row in table.rows] == [[s, f"s{i}"] for s in ("original", "SDI") for i in range(2)]
    else:
        assert [row[0] for row in table.rows] == [f"s{i}" for i in range(5)]
        assert table.columns[:2] == ["system", "Joint goal accuracy"]
        assert "cJGA under SDI" in table.columns
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_many_systems_have_fewer_charts_of_slots(tmp_path: Path) -> None:
    run = answered(tmp_path / "nlg")
    few = charts(page.build(open_runs([run])))["sgsacc-slot"]
    assert not few.panel
    assert len({row[1] for row in few.rows}) > FEWER
    copies = [run, *(str(shutil.copytree(run, tmp_path / f"nlg{number}")) for number in (2, 3))]
    many = charts(page.build(open_runs(copies)))["sgsacc-slot"]
    assert (many.panel, many.y) == ("slot", "system")
    assert len({row[1] for row in many.rows}) == FEWER
    assert many.title == f"SGSAcc by slot, the {FEWER} worst"
