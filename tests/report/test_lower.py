"""Metrics of which less is better: nothing may take the higher value for the better one."""

from __future__ import annotations

import pytest

from tests.report.make import result
from troth.core.groups import ALL, Group
from troth.core.metric import Metric
from troth.core.score import Score
from troth.core.table import score_tables
from troth.report.compare import compare, gate
from troth.stats.contests import unbeaten

SER = Metric("ser", "Slot error rate", better="lower")
PLUGIN = Metric("service_f1", "A metric whose name begins like SER")


@pytest.mark.parametrize(
    ("base", "new", "verdict"), [(10, 150, "worse"), (150, 10, "not worse"), (40, 40, "undecided")]
)
def test_a_gate_on_slot_errors(base: int, new: int, verdict: str) -> None:
    outcome = gate(result("a", SER, base), result("b", SER, new), metric="ser", margin=0.01)
    assert outcome.verdict == verdict
    assert outcome.difference == pytest.approx((new - base) / 200)
    assert outcome.low is not None
    assert outcome.high is not None
    assert outcome.low <= outcome.difference <= outcome.high
    assert (outcome.base_value, outcome.value, outcome.better) == (base / 200, new / 200, "lower")


@pytest.mark.parametrize(("base", "new", "verdict"), [(10, 150, "not worse"), (150, 10, "worse")])
def test_a_name_says_nothing_of_the_direction(base: int, new: int, verdict: str) -> None:
    sides = result("a", PLUGIN, base), result("b", PLUGIN, new)
    assert gate(*sides, metric="service_f1", margin=0.01).verdict == verdict
    (difference,) = compare(*sides, metrics="service_f1")
    assert difference.better == "higher"


def test_the_least_error_is_best_in_a_table() -> None:
    values = {"jga": ("higher", 0.2, 0.5), "ser": ("lower", 0.2, 0.5), "service_f1": ("higher", 0.2, 0.5)}
    scores = [
        Score(system, metric, ALL, value, value - 0.01, value + 0.01, 9, {}, better=better)  # type: ignore[arg-type]
        for metric, (better, *both) in values.items()
        for system, value in zip("ab", both, strict=True)
    ]
    (table,) = score_tables(scores, best=unbeaten(scores))
    best = {table.rows[row][0]: table.columns[column] for row, column in table.best}
    assert best == {"jga": "b", "ser": "a", "service_f1": "b"}


def test_metrics_that_are_no_trackers_are_all_shown() -> None:
    """A table by group shows trackers' headline metrics; a run that has none of them shows what it has."""

    def score(metric: str) -> Score:
        return Score("a", metric, Group("kind", "x"), 0.5, 0.4, 0.6, 9, {})

    others = ["bleu", "ser", "sgsacc", "sgsacc_plain", "sgsacc_gated"]
    (table,) = score_tables([score(metric) for metric in others], headline=["jga", "aga"])
    assert table.columns == ("kind", "n", *others)
    assert table.rows == (("x", "9", *["50.00 (40.00 … 60.00)"] * 5),)
    (table,) = score_tables([score(metric) for metric in [*others, "jga"]], headline=["jga", "aga"])
    assert table.columns == ("kind", "n", "jga")
