"""Medians over runs, and which checkpoint to keep."""

from __future__ import annotations

import msgspec
import pytest

from troth.core.errors import UserError
from troth.core.score import Score
from troth.robustness.checkpoints import medians, pick
from troth.storage.runs import Run


def run(system: str = "s", **values: float) -> Run:
    scores = [
        Score(system, name.replace("__", ":"), "all", value, None, None, 10, "") for name, value in values.items()
    ]
    return Run("robust checkdst", {}, {}, {}, scores)


def test_median_and_standard_error() -> None:
    found = medians([run(jga=0.5), run(jga=0.6), run(jga=0.9), run("other", jga=0.1)])
    assert [(m.system, m.metric, m.median, m.runs) for m in found] == [("s", "jga", 0.6, 3), ("other", "jga", 0.1, 1)]
    assert found[0].error == pytest.approx(0.2081666 / 3**0.5, abs=1e-6)
    assert found[1].error is None


def test_the_least_slack_differs_from_the_best_jga() -> None:
    early = run(jga=0.58, cjga__NED=0.40, nohf=0.97, cjga_all__NED=0.1)
    late = run(jga=0.62, cjga__NED=0.20, nohf=0.95, cjga_all__NED=0.9)
    found = pick([("epoch_1", early), ("epoch_10", late)])
    assert (found.least_slack, found.best_jga) == ("epoch_1", "epoch_10")
    assert [point.slack for point in found.checkpoints] == pytest.approx([0.04 / 3, 0.22 / 3])
    assert [point.step for point in found.checkpoints] == [1, 10]
    assert found.gains["cjga:NED"] == pytest.approx(-0.2)


def test_runs_by_different_recipes_are_not_put_together() -> None:
    runs = [run(nohf=1.0, jga=0.5), run(nohf=0.5, jga=0.5)]
    other = msgspec.structs.replace(runs[1].scores[0], signature="NOHF|nohf:code|n:9|v:1")
    mixed = [runs[0], msgspec.structs.replace(runs[1], scores=[other, *runs[1].scores[1:]])]
    for made in (lambda: medians(mixed), lambda: pick([("a", mixed[0]), ("b", mixed[1])])):
        with pytest.raises(UserError, match="nohf is scored by different recipes"):
            made()


def test_too_little_to_pick_from() -> None:
    with pytest.raises(UserError, match="two checkpoints"):
        pick([("a", run(jga=1.0, nohf=1.0))])
    with pytest.raises(UserError, match="share no CheckDST metrics"):
        pick([("a", run(jga=1.0)), ("b", run(jga=1.0))])
