"""Medians over runs, slack between systems, and which checkpoint to keep."""

from __future__ import annotations

from pathlib import Path
from statistics import stdev

import msgspec
import pytest

from troth import stats
from troth.core.errors import UserError
from troth.core.groups import ALL
from troth.core.metric import Metric
from troth.core.result import Result
from troth.core.score import Score
from troth.robustness.checkpoints import medians, pick
from troth.robustness.metrics import CJGA, CJGA_ALL, COREF_JGA, JGA, NOHF, on_set

DECLARED = {metric.name: metric for metric in (JGA, CJGA, CJGA_ALL, COREF_JGA, NOHF)}


def metric(name: str) -> Metric:
    base, _, variant = name.partition(":")
    return on_set(DECLARED[base], variant)


def run(system: str = "s", **values: float) -> Result:
    names = {name.replace("__", ":"): value for name, value in values.items()}
    scores = [Score(system, name, ALL, value, None, None, 10, {}) for name, value in names.items()]
    return Result("robust checkdst", scores, [metric(name) for name in names])


def test_median_and_its_error() -> None:
    found = medians([run(jga=0.5), run(jga=0.6), run(jga=0.9), run("other", jga=0.1)]).medians
    assert [(m.system, m.metric, m.median, m.runs) for m in found][:2] == [
        ("s", "jga", 0.6, 3),
        ("other", "jga", 0.1, 1),
    ]
    assert found[0].error == stats.median_and_error([0.5, 0.6, 0.9]).error
    assert found[1].error is None


def test_the_papers_error_is_the_standard_error_of_the_runs() -> None:
    """CheckDST, table 2: "the median ± standard error over five runs"."""
    values = (0.624, 0.621, 0.626, 0.625, 0.619)
    found = medians([run(jga=value) for value in values], error="se")
    assert found.medians[0].median == 0.624
    assert found.medians[0].error == pytest.approx(stdev(values) / 5**0.5)
    assert found.error == "standard error"
    usual = medians([run(jga=value) for value in values])
    assert usual.error == "half of the 95% interval"
    assert usual.medians[0].error == pytest.approx(2.776 * 1.2533 * stdev(values) / 5**0.5, rel=1e-3)
    assert medians([run(jga=0.5)], error="se").medians[0].error is None
    with pytest.raises(UserError, match="error cannot be 'sd'"):
        medians([run(jga=0.5)], error="sd")


TABLE_2 = {  # medians of CheckDST's table 2
    "TripPy": (62.4, 36.8, 55.2, 44.5, 3.3, 100, 100),
    "ConvBERT-DG": (62.0, 36.0, 54.9, 46.9, 2.5, 100, 100),
    "SimpleTOD": (55.5, 29.4, 84.6, 70.8, 21.6, 93.6, 78.2),
    "BART-DST": (61.1, 38.1, 79.8, 71.6, 19.8, 95.9, 71.6),
    "SOLOIST": (60.7, 35.6, 82.8, 70.1, 15.4, 95.8, 66.2),
    "MUPPET-DST": (59.4, 31.6, 87.1, 74.1, 7.0, 95.8, 60.6),
    "PrefineDST": (61.8, 37.1, 84.5, 75.7, 19.8, 95.7, 73.4),
}
COLUMNS = ("jga", "coref_jga", "cjga:PI", "cjga:SDI", "cjga:NED", "nohf", "nohf:NED")


def test_slack_between_systems_ranks_them_as_table_3() -> None:
    names = [name.replace(":", "__") for name in COLUMNS]
    runs = [
        run(system, cjga_all__PI=0.5, **{name: value / 100 for name, value in zip(names, row, strict=True)})
        for system, row in TABLE_2.items()
    ]
    table = medians(runs)
    assert [column.name for column in table.columns] == [*COLUMNS, "slack"]
    slack = {one.system: 100 * one.median for one in table.medians if one.metric == "slack"}
    order = ["PrefineDST", "BART-DST", "SimpleTOD", "SOLOIST", "MUPPET-DST", "ConvBERT-DG", "TripPy"]  # table 3
    assert sorted(slack, key=lambda system: slack[system]) == order
    assert slack["PrefineDST"] == pytest.approx((0.6 + 1.0 + 2.6 + 0 + 1.8 + 4.3 + 26.6) / 7)
    best, worst = ({(one.system, one.metric) for one in side} for side in (table.best, table.worst))
    assert ("TripPy", "jga") in best
    assert ("SimpleTOD", "jga") in worst
    assert {("TripPy", "nohf"), ("ConvBERT-DG", "nohf")} <= best
    assert ("PrefineDST", "slack") in best
    assert ("TripPy", "slack") in worst


def test_medians_by_family_as_in_figure_4() -> None:
    names = [name.replace(":", "__") for name in COLUMNS]
    rows = {
        system: {name: value / 100 for name, value in zip(names, row, strict=True)} for system, row in TABLE_2.items()
    }
    generative = [system for system in TABLE_2 if system not in ("TripPy", "ConvBERT-DG")]
    families = {"CLS": ["TripPy", "ConvBERT-DG"], "GEN": generative}
    table = medians([run(system, **row) for system, row in rows.items()], families=families)
    found = {(one.system, one.metric): 100 * one.median for one in table.medians if one.family}
    assert [round(found["CLS", name], 2) for name in COLUMNS] == [62.2, 36.4, 55.05, 45.7, 2.9, 100, 100]
    assert [round(found["GEN", name], 2) for name in COLUMNS] == [60.7, 35.6, 84.5, 71.6, 19.8, 95.8, 71.6]
    assert {one.system for one in table.best | table.worst} <= set(TABLE_2)
    assert medians([run(system, **row) for system, row in rows.items()]).best == table.best


def test_what_does_not_differ_beyond_its_error_is_marked_alike() -> None:
    def several(system: str, *values: float) -> list[Result]:
        return [run(system, jga=value, nohf=1.0) for value in values]

    near = [*several("a", 0.60, 0.62, 0.64), *several("b", 0.61, 0.63, 0.65), *several("c", 0.10, 0.11, 0.12)]
    table = medians(near)
    assert {(one.system, one.metric) for one in table.best} >= {("a", "jga"), ("b", "jga")}
    assert {(one.system, one.metric) for one in table.worst} == {("c", "jga"), ("c", "slack")}
    assert not {one.metric for one in table.best | table.worst} & {"nohf"}  # all alike: nothing to mark
    alone = medians(several("a", 0.60, 0.62, 0.64))
    assert not alone.best | alone.worst
    assert [column.name for column in alone.columns] == ["jga", "nohf"]


def test_runs_of_other_tasks_have_their_own_columns() -> None:
    scores = [Score(name, "ss_jga", ALL, value, None, None, 9, {}) for name, value in (("a", 0.2), ("b", 0.5))]
    sensitivity = Metric("ss_jga", "Schema sensitivity of JGA", better="lower", scale="number")
    table = medians([Result("robust sgdx", [score], [sensitivity]) for score in scores])
    assert [column.name for column in table.columns] == ["ss_jga"]
    assert [one.system for one in table.best] == ["a"]


def test_the_least_slack_differs_from_the_best_jga() -> None:
    early = run(jga=0.58, cjga__NED=0.40, nohf=0.97, cjga_all__NED=0.1)
    late = run(jga=0.62, cjga__NED=0.20, nohf=0.95, cjga_all__NED=0.9)
    found = pick({"epoch_1": early, "epoch_10": late})
    assert (found.least_slack, found.best_jga) == ("epoch_1", "epoch_10")
    assert [point.slack for point in found.checkpoints] == pytest.approx([0.04 / 3, 0.22 / 3])
    assert [point.step for point in found.checkpoints] == [1, 10]
    assert found.gains["cjga:NED"] == pytest.approx(-0.2)
    assert found.columns == ["jga", "cjga:NED", "nohf"]


def test_results_and_folders_alike(tmp_path: Path) -> None:
    early, late = run(jga=0.58, nohf=0.97), run(jga=0.62, nohf=0.95)
    for name, result in (("epoch_1", early), ("epoch_2", late)):
        result.save(tmp_path / name)
    folders = [tmp_path / "epoch_1", tmp_path / "epoch_2"]
    assert medians(folders).medians == medians([early, late]).medians
    found = pick(folders)
    assert [point.slack for point in found.checkpoints] == [
        point.slack for point in pick({"a": early, "b": late}).checkpoints
    ]


def test_runs_by_different_recipes_are_not_put_together() -> None:
    runs = [run(nohf=1.0, jga=0.5), run(nohf=0.5, jga=0.5)]
    other = msgspec.structs.replace(runs[1].scores[0], recipe={"nohf": "code"})
    mixed = [runs[0], Result("robust checkdst", [other, *runs[1].scores[1:]], runs[1].metrics)]
    for made in (lambda: medians(mixed), lambda: pick({"a": mixed[0], "b": mixed[1]})):
        with pytest.raises(UserError, match="nohf is scored by different recipes"):
            made()


def test_too_little_to_pick_from() -> None:
    with pytest.raises(UserError, match="two checkpoints"):
        pick({"a": run(jga=1.0, nohf=1.0)})
    with pytest.raises(UserError, match="share no CheckDST metrics"):
        pick({"a": run(jga=1.0), "b": run(jga=1.0)})
