"""Grid, means, bounds and the pick: the arithmetic of a sweep, without a model."""

from __future__ import annotations

import pytest

from troth.core.errors import UserError
from troth.core.signature import recipe_text
from troth.grounding.graded import MetricValues
from troth.grounding.metrics import METRICS, Unscored
from troth.grounding.pmi import PMI_FAITH
from troth.systems.decoding import sweep
from troth.systems.decoding.sweep import Key, PlainBounds


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
    [([3.0, None, 1.0, 2.0], PlainBounds(1.0, 3.0)), ([2.0, 2.0], None), ([None], None), ([], None)],
)
def test_bounds_are_those_of_plain_decoding(plain: list[float | None], expected: PlainBounds | None) -> None:
    assert sweep.plain_bounds(plain) == expected


def test_nothing_is_clipped() -> None:
    values = MetricValues(PMI_FAITH, {"lm": "x"}, [1.0, 2.0, 5.0, -1.0, Unscored("no words")])
    made = sweep.normalise(values, PlainBounds(1.0, 3.0), {"low": "1"})
    assert made.numbers == [0.0, 0.5, 2.0, -1.0, None]
    assert (made.metric.name, made.metric.of) == ("pmi_faith, normalised", "pmi_faith")
    assert recipe_text(made.recipe) == "lm:x|low:1"


@pytest.mark.parametrize(
    ("names", "expected"), [(["nli", "pmi_faith"], "pmi_faith"), (["u_f1", "nli"], "u_f1"), ([], None)]
)
def test_the_paper_s_metric_judges_wherever_it_stands(names: list[str], expected: str | None) -> None:
    found = sweep.judge([METRICS.load(name) for name in names])
    assert (None if found is None else found.name) == expected
