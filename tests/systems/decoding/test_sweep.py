"""Grid, means, bounds and the pick: the arithmetic of a sweep, without a model."""

from __future__ import annotations

import pytest

from troth.core.errors import UserError
from troth.core.signature import recipe_text
from troth.grounding.graded import MetricValues
from troth.grounding.metrics import METRICS, Unscored
from troth.grounding.pmi import PMI_FAITH
from troth.systems.decoding import sweep
from troth.systems.decoding.sweep import Key, MetricRange


def test_the_grid_is_by_p() -> None:
    assert sweep.grid([0, 1], [0.5, 1, 0.5]) == [(0, 0.5), (1, 0.5), (0, 1), (1, 1)]


def test_pick_takes_the_highest_sum() -> None:
    means = {Key(0.0, 1.0): (0.5, 0.4), Key(0.5, 1.0): (0.6, 0.4), Key(1.0, 1.0): (0.9, None)}
    assert sweep.pick(means) == Key(0.5, 1.0)
    assert sweep.pick({Key(1.0, 1.0): (0.9, None)}) is None


@pytest.mark.parametrize(("alphas", "ps"), [([], [1.0]), ([0.5], []), ([-1.0], [1.0]), ([0.5], [0.0])])
def test_no_grid(alphas: list[float], ps: list[float]) -> None:
    with pytest.raises(UserError):
        sweep.grid(alphas, ps)


@pytest.mark.parametrize(
    ("plain", "expected"),
    [([3.0, None, 1.0, 2.0], MetricRange(1.0, 3.0)), ([2.0, 2.0], None), ([None], None), ([], None)],
)
def test_bounds_are_those_of_plain_decoding(plain: list[float | None], expected: MetricRange | None) -> None:
    assert sweep.plain_range(plain) == expected


def test_nothing_is_clipped() -> None:
    values = MetricValues(PMI_FAITH, {"lm": "x"}, [1.0, 2.0, 5.0, -1.0, Unscored("no words")])
    made = sweep.normalise(values, MetricRange(1.0, 3.0), {"low": "1"})
    assert made.numbers == [0.0, 0.5, 2.0, -1.0, None]
    assert (made.metric.name, made.metric.of) == ("pmi_faith, normalised", "pmi_faith")
    assert recipe_text(made.recipe) == "lm:x|low:1"


@pytest.mark.parametrize(
    ("names", "expected"), [(["nli", "pmi_faith"], "pmi_faith"), (["u_f1", "nli"], "u_f1"), ([], None)]
)
def test_the_paper_s_metric_judges_wherever_it_stands(names: list[str], expected: str | None) -> None:
    found = sweep.judge([METRICS.load(name) for name in names])
    assert (None if found is None else found.name) == expected


@pytest.mark.parametrize(
    "numbers", [[1.0], [1.0, 1.0], [2.0, 1.0], [0.0, float("inf")], [float("nan"), 1.0], [1.0, 2.0, 3.0]]
)
def test_a_range_has_two_ends(numbers: list[float]) -> None:
    with pytest.raises(UserError, match="range cannot be"):
        sweep.sweep("unread", sweep.SweepSettings(range=numbers))


def test_the_range_decides_what_the_rule_picks() -> None:
    """Means of PMI-Faith and ROUGE-L: a narrow range weighs faithfulness more than a wide one."""
    means = {Key(0.0, 1.0): (0.84, 0.096), Key(0.5, 0.9): (2.187, 0.075), Key(1.0, 0.75): (2.313, 0.051)}

    def picked(low: float, high: float) -> Key | None:
        return sweep.pick({key: ((faith - low) / (high - low), rouge) for key, (faith, rouge) in means.items()})

    assert picked(0.0, 3.0) == Key(1.0, 0.75)
    assert picked(-2.069, 4.334) == Key(0.5, 0.9)  # table 9
    assert picked(-100.0, 100.0) == Key(0.0, 1.0)
