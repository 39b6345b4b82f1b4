"""Metrics of which less is better: nothing may take the higher value for the better one."""

from __future__ import annotations

import numpy as np
import pytest

from troth.core.score import Score
from troth.report import compare, tables


def side(name: str, wrong: int) -> compare.Side:
    errors = np.zeros(200)
    errors[:wrong] = 1.0
    return compare.Side(name, tuple(map(str, range(200))), {"ser": (errors, np.ones(200))}, {"ser": "SER"}, {})


@pytest.mark.parametrize(
    ("base", "new", "verdict"), [(10, 150, "worse"), (150, 10, "not worse"), (40, 40, "not worse")]
)
def test_a_gate_on_slot_errors(base: int, new: int, verdict: str) -> None:
    found = compare.gate(side("a", base), side("b", new), "ser", margin=0.01)
    assert found.verdict == verdict
    assert found.difference == pytest.approx((new - base) / 200)
    assert found.low <= found.difference <= found.high


def test_the_least_error_is_best_in_a_table() -> None:
    def score(system: str, metric: str, value: float) -> Score:
        return Score(system, metric, "all", value, value - 0.01, value + 0.01, 9, metric)

    scores = [score(s, m, v) for m in ("jga", "ser") for s, v in (("a", 0.2), ("b", 0.5))]
    (table,) = tables.of_scores(scores)
    best = {table.rows[row][0]: table.columns[column] for row, column in table.best}
    assert best == {"jga": "b", "ser": "a"}


def test_metrics_that_are_no_trackers_are_all_shown() -> None:
    """A table by group shows trackers' headline metrics; a run that has none of them shows what it has."""

    def score(metric: str) -> Score:
        return Score("a", metric, "kind:x", 0.5, 0.4, 0.6, 9, metric)

    others = ["bleu", "ser", "sgsacc", "sgsacc_plain", "sgsacc_gated"]
    (table,) = tables.of_scores([score(metric) for metric in others])
    assert table.columns == ("kind", "n", *others)
    assert table.rows == (("x", "9", *["50.00 ±10.00"] * 5),)
    (table,) = tables.of_scores([score(metric) for metric in [*others, "jga"]])
    assert table.columns == ("kind", "n", "jga")
