"""Grid, means, bounds and the pick: the arithmetic of a sweep, without a model."""

from __future__ import annotations

import pytest

from troth.core.errors import UserError
from troth.grounding import sweep
from troth.grounding.metrics import METRICS
from troth.grounding.sweep import PlainBounds, SettingMeans


def test_the_grid_is_by_p() -> None:
    assert sweep.grid([0, 1], [0.5, 1, 0.5]) == [(0, 0.5), (1, 0.5), (0, 1), (1, 1)]


def test_pick_takes_the_highest_sum() -> None:
    cells = [
        SettingMeans(0.0, 1.0, {"f": 0.5, "r": 0.4}, {}),
        SettingMeans(0.5, 1.0, {"f": 0.6, "r": 0.4}, {}),
        SettingMeans(1.0, 1.0, {"f": 0.9, "r": None}, {}),
    ]
    assert sweep.pick(cells, ("f", "r")) == cells[1]
    assert sweep.pick(cells[2:], ("f", "r")) is None


def test_means_leave_out_what_has_no_value() -> None:
    made = sweep.means((0.5, 0.6), {"f": [1.0, None, 2.0], "r": [None]})
    assert made == SettingMeans(0.5, 0.6, {"f": 1.5, "r": None}, {"f": 2, "r": 0})


@pytest.mark.parametrize(("alphas", "ps"), [([], [1.0]), ([0.5], []), ([-1.0], [1.0]), ([0.5], [0.0])])
def test_no_grid(alphas: list[float], ps: list[float]) -> None:
    with pytest.raises(UserError):
        sweep.grid(alphas, ps)


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        ([3.0, None, 1.0, 2.0], PlainBounds(1.0, 3.0)),
        ([2.0, 2.0], None),
        ([None], None),
        ([], None),
    ],
)
def test_bounds_are_those_of_plain_decoding(plain: list[float | None], expected: PlainBounds | None) -> None:
    assert sweep.bounds(plain) == expected


def test_nothing_is_clipped() -> None:
    assert sweep.normalised([1.0, 2.0, 5.0, -1.0, None], PlainBounds(1.0, 3.0)) == [0.0, 0.5, 2.0, -1.0, None]


def test_without_bounds_nothing_is_normal() -> None:
    assert sweep.normalised([1.0, None], None) == [None, None]


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["nli", "pmi_faith"], "pmi_faith"), (["u_f1", "nli"], "u_f1"), ([], None)],
)
def test_the_paper_s_metric_judges_wherever_it_stands(names: list[str], expected: str | None) -> None:
    assert sweep.judge([METRICS.load(name) for name in names]) == expected
