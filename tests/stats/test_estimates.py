"""From parts to scores: which interval a metric gets, and what is said where there is none."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from troth.core.metric import Metric
from troth.core.parts import Parts
from troth.core.score import Score
from troth.stats import bootstrap, intervals, ratio
from troth.stats.estimates import Cell, Resampling, estimates, score_cells

SHARE = Metric("jga", "JGA")
NUMBER = Metric("logs", "Logs", scale="number")
SPREAD = Metric("ss", "Sensitivity", scale="percent", better="lower", top=math.sqrt(5))
HOW = Resampling(200, 0)


def parts(values: dict[str, list[float]]) -> Parts:
    """One unit for each value of each dialogue."""
    keys = [(name, turn, "") for name, row in values.items() for turn, _ in enumerate(row)]
    return Parts.from_fractions([(value, 1.0) for row in values.values() for value in row], keys)


def score(metric: Metric, values: dict[str, list[float]], how: Resampling = HOW) -> Score:
    (found,) = score_cells("s", [Cell(metric, parts(values))], list(values), how)
    return found


MANY = {f"d{n}": [1.0, 1.0, float(n % 3 > 0), float(n % 2)] for n in range(40)}


def test_a_share_has_wilsons_interval_whatever_the_seed() -> None:
    found = score(SHARE, MANY)
    num = [sum(row) for row in MANY.values()]
    (expected,) = intervals.share(num, np.full(40, 4.0))
    assert (found.value, found.low, found.high) == (sum(num) / 160, expected.low, expected.high)
    assert found.interval_note is None
    assert score(SHARE, MANY, Resampling(1, 9)) == found


def test_a_number_has_the_expanded_percentile() -> None:
    values = {name: [3 * x - 5 + 0.017 * place**2 for x in row] for place, (name, row) in enumerate(MANY.items())}
    found = score(NUMBER, values)
    num, den = np.array([sum(values[name]) for name in sorted(values)]), np.full(40, 4.0)
    samples = bootstrap(num, den, resamples=intervals.enough_resamples(40, 200))
    (expected,) = intervals.expanded_percentile(ratio(num, den), samples, 40)
    assert (found.low, found.high) == (expected.low, expected.high)
    assert score(NUMBER, values, Resampling(200, 1)) != found


def test_a_bound_makes_a_share_of_any_mean() -> None:
    values = {name: [2 * x for x in row] for name, row in MANY.items()}
    found = score(SPREAD, values)
    (expected,) = intervals.share([sum(row) for row in values.values()], np.full(40, 4.0), top=math.sqrt(5))
    assert (found.low, found.high) == (expected.low, expected.high)


def test_what_is_called_a_share_and_is_none() -> None:
    found = score(SHARE, {name: [3 * x - 1 for x in row] for name, row in MANY.items()})
    assert found.low is not None
    assert found.low < (found.value or 0) < (found.high or 0)
    assert (found.high or 0) > 1


@pytest.mark.parametrize("metric", [SHARE, NUMBER, SPREAD])
def test_one_dialogue(metric: Metric) -> None:
    found = score(metric, {"a": [1.0, 0.0, 1.0], "b": []})
    assert (found.low, found.high, found.n) == (None, None, 3)
    assert found.value == pytest.approx(2 / 3)
    assert (found.reason, found.interval_note) == (None, "an interval needs two dialogues or more")


def test_no_dialogue() -> None:
    found = score(SHARE, {"a": [], "b": []})
    assert (found.value, found.low, found.high, found.n) == (None, None, None, 0)
    assert (found.reason, found.interval_note) == ("no unit to score", None)


@pytest.mark.parametrize(
    ("wrong", "note"),
    [
        (0, "none of 20 dialogues is below 100%"),
        (1, "only 1 of 20 dialogues is below 100%"),
        (9, "only 9 of 20 dialogues are below 100%"),
        (10, None),
        (12, "only 8 of 20 dialogues are above 0%"),
        (20, "none of 20 dialogues is above 0%"),
    ],
)
def test_few_errors(wrong: int, note: str | None) -> None:
    assert score(SHARE, {str(n): [float(n >= wrong)] for n in range(20)}).interval_note == note


def test_all_of_a_few_are_not_blamed() -> None:
    cells = {str(n): [0.5] for n in range(7)}
    assert score(SHARE, cells).interval_note == "the interval rests on 7 dialogues only"


def test_documents_are_called_so() -> None:
    cell = Cell(SHARE, parts({"a": [1.0], "b": [1.0]}))
    (documents,) = score_cells("s", [cell], ["a", "b"], HOW._replace(cluster="document"))
    assert documents.interval_note == "none of 2 documents is below 100%"


def test_dialogues_without_a_unit_are_not_drawn() -> None:
    values = {name: [3 * x - 5 for x in row] for name, row in MANY.items()}
    alone = score(NUMBER, values)
    cell = Cell(NUMBER, parts(values))
    (among,) = score_cells("s", [cell], [*values, *(f"e{n}" for n in range(100))], HOW)
    assert among == alone
    # A cell beside it, over other dialogues, changes nothing either.
    other = Cell(NUMBER, parts({"d0": [1.0], "d1": [2.0], "d2": [5.0]}), group="service:x")
    assert next(iter(score_cells("s", [cell, other], list(values), HOW))) == alone


def test_order_changes_nothing() -> None:
    values = {name: [3 * x - 5 for x in row] for name, row in MANY.items()}
    backwards = dict(reversed(values.items()))
    cells = [Cell(NUMBER, parts(values)), Cell(SHARE, parts(MANY))]
    again = [Cell(NUMBER, parts(backwards)), Cell(SHARE, parts(dict(reversed(MANY.items()))))]
    assert list(score_cells("s", cells, list(values), HOW)) == list(score_cells("s", again, list(backwards), HOW))


def test_groups_that_hold_nothing_are_left_out() -> None:
    cells = [Cell(SHARE, parts({"a": []}), group="seen"), Cell(SHARE, parts(MANY))]
    assert [one.group for one in score_cells("s", cells, ["a", *MANY], HOW)] == ["all"]


def test_units_that_stand_several_times_in_the_denominator() -> None:
    cell = Cell(SHARE, parts(MANY), shared=2)
    assert [one.n for one in score_cells("s", [cell, replace(cell, shared=1, n=7)], list(MANY), HOW)] == [80, 7]


def test_estimates_are_shares_where_they_can_be() -> None:
    one, two = estimates([parts(MANY), parts({"a": [-3.0], "b": [2.0], "c": [4.0]})], [*MANY, "a", "b", "c"], HOW)
    assert one.low is not None
    assert 0 < one.low < (one.value or 0)
    assert two.low is not None
    assert two.low < -3
    assert estimates([], ["a"], HOW) == []


RANGES = {  # of metrics that are not shares: the lowest and the highest value
    "bertscore": (-1.0, 1.0), "jga_drop": (-1.0, math.inf), "auroc": (0.0, 1.0), "spearman": (-1.0, 1.0),
    "pearson": (-1.0, 1.0), "fleiss_kappa": (-1.0, 1.0), "ece": (0.0, 1.0),
}  # fmt: skip


def test_bounded_metrics_declare_their_range() -> None:
    from troth.grounding.bertscore import BERTSCORE
    from troth.meta.labels.labelled import AUROC, PEARSON, SPEARMAN
    from troth.meta.labels.measures import CALIBRATION_ERROR
    from troth.meta.people.raters import KAPPA
    from troth.robustness.metrics import JGA, derive_variants

    drop = derive_variants(JGA, ["v1"]).drop
    known = (BERTSCORE, drop, AUROC, SPEARMAN, PEARSON, KAPPA, CALIBRATION_ERROR)
    assert {metric.name: metric.range for metric in known} == RANGES
    assert SHARE.range == (0.0, 1.0)
    assert SPREAD.range == (0.0, math.sqrt(5))
    assert NUMBER.range == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        (Metric("bertscore", "BERTScore", scale="number", low=-1.0, top=1.0), 0.9),
        (Metric("bertscore", "BERTScore", scale="number", low=-1.0, top=1.0), -0.9),
        (Metric("drop", "Drop", scale="percent", low=-1.0), -0.9),
        (Metric("calls", "Calls", scale="number", top=math.inf), 0.1),
        (Metric("calls", "Calls", scale="number", top=math.inf).stored, 0.1),
    ],
)
def test_an_interval_stays_in_the_range_of_its_metric(metric: Metric, value: float) -> None:
    """Two dialogues a little apart: Student's t alone reaches far beyond."""
    found = score(metric, {"a": [value - 0.05], "b": [value + 0.05]})
    free = score(NUMBER, {"a": [value - 0.05], "b": [value + 0.05]})
    low, high = metric.range
    assert free.low is not None
    assert free.high is not None
    assert free.low < low or free.high > high
    assert (found.low, found.high) == (max(free.low, low), min(free.high, high))
    assert found.value == free.value


CHANGE = Metric("jga_drop", "Change", scale="percent", low=-1.0)


@pytest.mark.parametrize(("right", "wide"), [(2, True), (30, False)])
def test_a_change_relative_to_almost_nothing_has_no_interval(right: int, wide: bool) -> None:
    """Of 40 dialogues, the original is right in a few or in most, and the variants in others."""
    before = [float(n < right) for n in range(40)]
    after = [float(n % 2) for n in range(40)]
    keys = [(f"d{n}", 0, "") for n in range(40)]
    change = Parts.from_fractions([(new - old, old) for old, new in zip(before, after, strict=True)], keys)
    cells = [Cell(CHANGE, change, relative=relative) for relative in (True, False)]
    found, plain = score_cells("s", cells, [name for name, _, _ in keys], HOW)
    assert found.value == plain.value == pytest.approx(20 / right - 1)
    assert plain.low is not None
    assert (found.low is None) == (found.high is None) == wide
    assert ("wider than 100 points" in (found.interval_note or "")) == wide
