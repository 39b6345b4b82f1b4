"""The gate: verdicts on simulated systems, and never a pass on nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from tests.stats.samples import Array, dialogues
from troth.core.errors import UserError
from troth.stats import gate

NAN = math.nan


def shifted(count: int, change: float, *, seed: int = 14) -> tuple[Array, Array, Array]:
    """Base, new and turns: the new system differs from the base by `change` on average, and by noise."""
    num, den = dialogues(count, 1, seed=seed)
    noise = np.random.default_rng(seed + 1).normal(change, 0.1, num.shape)
    return num, num + noise * den, den


@pytest.mark.parametrize(
    ("change", "margin", "verdict"),
    [
        (-0.1, 0.005, "worse"),
        (-0.1, 0, "worse"),
        (-0.1, 0.2, "not worse"),
        (0.0, 0.03, "not worse"),
        (0.1, 0, "not worse"),
        (0.0, 0.001, "undecided"),
        (-0.02, 0.02, "undecided"),
    ],
)
def test_verdicts(change: float, margin: float, verdict: str) -> None:
    base, new, den = shifted(400, change)
    result = gate(base, den, new, den, margin=margin)
    assert result.verdict == verdict
    assert (result.margin, result.dialogues) == (margin, 400)
    assert result.low <= result.difference <= result.high
    assert (result.high < -margin, result.low >= -margin) == (verdict == "worse", verdict == "not worse")
    assert (result.needed is not None or result.reason is not None) == (verdict == "undecided")


def test_bounds_by_hand() -> None:
    # Dialogues of one turn: 2 of 50 are lost, 1 is won. The difference is -0.02, and s² = (3 - 50 * 0.02²) / 49.
    base, new = np.ones(50), np.ones(50)
    base[0], new[1], new[2] = 0, 0, 0
    found = gate(base, np.ones(50), new, np.ones(50), margin=0.005)
    t, variance = scipy.stats.t.ppf(0.95, 49), (3 - 50 * 0.02**2) / 49
    assert found.high == pytest.approx(-0.02 + t * math.sqrt(variance / 50))
    cubes = (2 * (-0.98) ** 3 + 1.02**3 + 47 * 0.02**3) / 50
    skewed = -0.02 - t * math.sqrt(variance / 50) + cubes / variance * (t**2 + 2) / 150
    at_most = 1 / 50 - scipy.stats.beta.ppf(0.95, 3, 48)  # two losses of fifty: at most 12.06% of all dialogues
    assert found.low == pytest.approx(min(skewed, at_most))
    assert found.low == pytest.approx(0.02 - 0.1206, abs=1e-4)
    assert (found.verdict, found.dialogues) == ("undecided", 50)


def test_a_loss_that_few_dialogues_hold() -> None:
    # The same loss on average and the same deviation, from a few large losses or from a few large gains.
    few = np.r_[np.full(40, -0.5), np.full(360, 0.05)]
    worse, better = few - few.mean() - 0.01, few.mean() - few - 0.01
    low = [gate(np.full(400, 0.5), np.ones(400), 0.5 + x, np.ones(400), margin=0.005).low for x in (worse, better)]
    assert low[0] < low[1]
    t, pulls = scipy.stats.t.ppf(0.95, 399), worse + 0.01
    plain = -0.01 - t * pulls.std(ddof=1) / 20
    assert low[0] == pytest.approx(plain + (pulls**3).mean() / pulls.var(ddof=1) * (t**2 + 2) / 1200)
    assert low[1] == pytest.approx(plain)


@pytest.mark.parametrize(("count", "verdict"), [(2, "undecided"), (590, "undecided"), (600, "not worse")])
def test_equal_scores_are_no_evidence_unless_they_are_many(count: int, verdict: str) -> None:
    num, den = dialogues(count, 1, seed=15)
    result = gate(num, den, num, den, margin=0.005)
    assert (result.verdict, result.difference, result.high) == (verdict, 0, 0)
    # The smallest n with 1 - 0.05^(1/n) <= 0.005.
    assert result.needed == (598 if verdict == "undecided" else None)


@pytest.mark.parametrize(("lost", "verdict"), [(0.006, "worse"), (0.005, "undecided"), (0.004, "undecided")])
def test_dialogues_that_are_all_alike(lost: float, verdict: str) -> None:
    # No spread at all, and in floating point 0.995 - 1 is below -0.005.
    result = gate(np.ones(30), np.ones(30), np.full(30, 1 - lost), np.ones(30), margin=0.005)
    assert result.verdict == verdict


def test_a_few_broken_dialogues_behind_small_changes() -> None:
    # One turn in ten changes either way, and the new system breaks one dialogue in fifty: worse by two points. With 50
    # dialogues a third of all samples hold no broken one.
    rng = np.random.default_rng(3)
    passed = 0
    for _ in range(300):
        den = rng.poisson(6, 50) + 2.0
        shared, own = (
            rng.binomial(den.astype(int) * 9 // 10, 0.9),
            [rng.binomial(den.astype(int) // 10 + 1, 0.9) * 1.0 for _ in "ab"],
        )
        base, new = np.minimum(shared + own[0], den), np.minimum(shared + own[1], den)
        new[rng.random(50) < 0.02 / 0.9] = 0
        passed += gate(base, den, new, den, margin=0.02).verdict == "not worse"
    assert passed / 300 < 0.07


def test_the_number_that_would_decide() -> None:
    base, new, den = shifted(200, 0.0)
    found = gate(base, den, new, den, margin=0.004)
    assert found.verdict == "undecided"
    assert found.needed is not None
    pulls = (new - base - (new.sum() - base.sum()) / den.sum() * den) / den.sum()
    s = math.sqrt(200 * 200 / 199 * float((pulls**2).sum()))
    assert found.needed == math.ceil(((1.644854 + 0.842) * s / 0.004) ** 2)
    # Systems that are equal, with as many dialogues: four times in five it decides.
    decided = 0
    for seed in range(100):
        base, new, den = shifted(found.needed, 0.0, seed=1000 + seed)
        decided += gate(base, den, new, den, margin=0.004).verdict == "not worse"
    assert 70 <= decided <= 90


def test_the_observed_difference_does_not_move_the_number() -> None:
    base, new, den = shifted(200, 0.0)
    one, other = (gate(base, den, new + shift * den, den, margin=0.004) for shift in (0.0, -0.003))
    assert one.difference != other.difference
    assert one.needed == pytest.approx(other.needed, rel=0.01)


def test_no_number_of_dialogues() -> None:
    num, den = dialogues(50, 1, seed=15)
    nothing = gate(num, den, num, den, margin=0)
    assert (nothing.verdict, nothing.needed) == ("undecided", None)
    assert "larger margin" in (nothing.reason or "")
    near = gate(np.ones(4000), np.ones(4000), np.tile([1.0, 0.9], 2000), np.ones(4000), margin=0.0505)
    assert (near.verdict, near.needed) == ("undecided", None)
    assert "close to the margin" in (near.reason or "")


def test_numbers_that_are_no_shares() -> None:
    values = np.linspace(-4, 4, 50)
    assert gate(values, np.ones(50), values, np.ones(50), margin=0.4).verdict == "undecided"
    assert gate(values, np.ones(50), values, np.ones(50), margin=0.5).verdict == "not worse"  # 8 * (1 - 0.05^(1/50))
    flat = gate(np.full(50, 7.0), np.ones(50), np.full(50, 7.0), np.ones(50), margin=0.1)
    assert (flat.verdict, flat.needed) == ("undecided", None)
    assert "same value" in (flat.reason or "")


def test_dialogues_without_a_unit_do_not_count() -> None:
    num = np.array([1.0, 1.0] + [0.0] * 98)
    result = gate(num, num, num, num, margin=0.1)
    assert (result.verdict, result.dialogues, result.needed) == ("undecided", 2, 29)


@pytest.mark.parametrize("side", [[], [1.0], [1.0, 0.0, 0.0], [0.0, 0.0], [NAN, 1.0]])
def test_a_gate_on_nothing(side: list[float]) -> None:
    with pytest.raises(UserError):
        gate(side, side, side, side, margin=0.1)


@pytest.mark.parametrize(
    ("margin", "confidence", "says"), [(-0.1, 0.95, "margin"), (NAN, 0.95, "margin"), (0, 0.5, "confidence")]
)
def test_gate_options(margin: float, confidence: float, says: str) -> None:
    with pytest.raises(UserError, match=says):
        gate([1, 1], [1, 1], [1, 1], [1, 1], margin=margin, confidence=confidence)


def test_a_gate_is_on_one_metric() -> None:
    two = np.ones((5, 2))
    with pytest.raises(ValueError, match="one metric"):
        gate(two, two, two, two, margin=0)


@given(st.integers(0, 10_000), st.floats(-0.1, 0.1), st.floats(0, 0.1))
def test_a_wider_margin_never_makes_it_worse(seed: int, change: float, margin: float) -> None:
    base, new, den = shifted(40, change, seed=seed)
    order = ["worse", "undecided", "not worse"]
    verdicts = [gate(base, den, new, den, margin=m).verdict for m in (margin, margin + 0.02)]
    assert order.index(verdicts[0]) <= order.index(verdicts[1])


def test_a_large_observed_loss_takes_few_dialogues() -> None:
    """A quarter of the points lost over 12 tasks: hundreds of tasks are not needed to show it."""
    base, new = np.ones(12), np.r_[np.zeros(4), np.ones(8)]
    base[-1] = 0.0
    found = gate(base, np.ones(12), new, np.ones(12), margin=0.02)
    assert found.verdict == "undecided"
    assert found.difference == pytest.approx(-0.25)
    assert found.needed is not None
    assert 12 < found.needed < 50
