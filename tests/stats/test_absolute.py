"""The absolute gate: verdicts, bounds, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from troth.core.errors import UserError
from troth.stats import intervals, level_gate


@pytest.mark.parametrize(
    ("right", "at_least", "verdict"),
    [
        (100, 0.95, "reached"),
        (100, 0.99, "undecided"),
        (80, 0.95, "missed"),
        (93, 0.95, "undecided"),
        (0, 0.1, "missed"),
    ],
)
def test_shares(right: int, at_least: float, verdict: str) -> None:
    num = np.r_[np.ones(right), np.zeros(100 - right)]
    found = level_gate(num, np.ones(100), at_least=at_least)
    assert found.verdict == verdict
    (bounds,) = intervals.share(num, np.ones(100), confidence=0.9)
    assert (found.low, found.high) == bounds[:2], "one-sided at 95%: the ends of the 90% interval"


def test_any_other_number() -> None:
    num = np.array([1.0, 2.0, 3.0, 4.0])
    found = level_gate(num, np.ones(4), at_least=0.0, top=None)
    reach = 2.3534 * np.sqrt(num.var(ddof=1) / 4)
    assert (found.low, found.high) == pytest.approx((2.5 - reach, 2.5 + reach), abs=1e-3)
    assert found.verdict == "reached"
    assert level_gate(-num, np.ones(4), at_least=0.0, top=None).verdict == "missed"


@pytest.mark.parametrize("value", [2.5, 0.1, -3.0])
def test_equal_values_decide_nothing(value: float) -> None:
    """Without spread there is no bound, however far the level is."""
    for at_least in (value - 2, value, value + 2):
        found = level_gate([value * d for d in (1, 2, 7)], [1.0, 2.0, 7.0], at_least=at_least, top=None)
        assert (found.verdict, found.low, found.high, found.reason) == (
            "undecided",
            None,
            None,
            intervals.no_spread("dialogue"),
        )


def test_refused() -> None:
    with pytest.raises(UserError, match="two or more scored dialogues, not 1"):
        level_gate([1.0, 0.0], [1.0, 0.0], at_least=0.5)
    with pytest.raises(UserError, match="not a number"):
        level_gate([1.0, np.nan], [1.0, 1.0], at_least=0.5)
    with pytest.raises(UserError, match="confidence"):
        level_gate([1.0, 1.0], [1.0, 1.0], at_least=0.5, confidence=1.0)


def test_how_often_it_errs() -> None:
    """At a true value of exactly the level, each wrong verdict comes in at most about 5 of 100 cases."""
    rng = np.random.default_rng(7)
    verdicts = [level_gate((rng.random(60) < 0.8).astype(float), np.ones(60), at_least=0.8).verdict for _ in range(600)]
    assert verdicts.count("missed") < 0.08 * 600
    assert verdicts.count("reached") < 0.08 * 600
