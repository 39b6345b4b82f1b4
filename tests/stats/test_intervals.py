"""Intervals: numbers worked by hand, laws, and simulated truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from troth.core.errors import UserError
from troth.stats import bootstrap, correlation, intervals, median_and_error
from troth.stats.intervals import Bounds

Array = NDArray[np.float64]
NONE = (None, None)
parts = st.integers(1, 9).flatmap(lambda den: st.tuples(st.integers(0, den), st.just(den)))
dialogues = st.lists(parts, min_size=2, max_size=25)


def ends(bounds: Bounds) -> tuple[float, float]:
    assert bounds.low is not None
    assert bounds.high is not None
    return bounds.low, bounds.high


def split(rows: list[tuple[int, int]]) -> tuple[Array, Array]:
    table = np.array(rows, dtype=np.float64)
    return table[:, 0], table[:, 1]


# --- shares ---


def wilson(share: float, size: float, t: float) -> tuple[float, float]:
    """The roots x of (share - x)^2 = t^2 x (1 - x) / size, which is how Wilson found his interval."""
    a, b, c = 1 + t * t / size, -(2 * share + t * t / size), share * share
    root = math.sqrt(b * b - 4 * a * c)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def test_a_share_by_hand() -> None:
    # Four dialogues of four turns, with 4, 4, 2 and 2 right: r = 12/16 = 0.75, and each is off by 1 from r times 4.
    # v = 4/3 * 4 / 16^2 = 1/48, so n = 0.1875 * 48 = 9. Two dialogues hold an error: 1/n* = (2/9 + 1/4) / 3.
    (found,) = intervals.share([4, 4, 2, 2], [4, 4, 4, 4])
    t = scipy.stats.t.ppf(0.975, 3)
    assert ends(found) == pytest.approx(wilson(0.75, 3 / (2 / 9 + 1 / 4), t), rel=1e-12)
    assert ends(found) == pytest.approx((0.2238, 0.9690), abs=1e-4)


def test_nothing_wrong_is_not_certainty() -> None:
    # The effective size is the number of dialogues, and Wilson's interval at 1 is from D / (D + t^2) to 1.
    (found,) = intervals.share(np.full(20, 7.0), np.full(20, 7.0))
    assert ends(found) == pytest.approx((20 / (20 + scipy.stats.t.ppf(0.975, 19) ** 2), 1))
    assert ends(found)[0] == pytest.approx(0.8203, abs=1e-4)
    (none,) = intervals.share(np.zeros(20), np.full(20, 7.0))
    assert ends(none) == pytest.approx((0, 1 - ends(found)[0]))


def test_means_of_grades_are_as_wide_as_student_s_t() -> None:
    """Not as wide as those of counts: grades of similar size tell more than answers that are right or wrong."""
    rng = np.random.default_rng(4)
    den = rng.integers(1, 8, 30).astype(float)
    num = den * rng.normal(0.65, 0.08, 30)
    r = num.sum() / den.sum()
    half = scipy.stats.t.ppf(0.975, 29) * math.sqrt(30 / 29 * ((num - r * den) ** 2).sum()) / den.sum()
    (found,) = intervals.share(num, den, graded=True)
    low, high = ends(found)
    assert 2 * half < high - low < 1.1 * 2 * half
    (counts,) = intervals.share(np.round(num), den)
    assert ends(counts)[1] - ends(counts)[0] > 3 * half


def test_equal_grades_say_nothing_about_their_spread() -> None:
    (found,) = intervals.share(np.full(20, 0.3) * 3, np.full(20, 3.0), graded=True)
    low, high = ends(found)
    assert low < 0.2
    assert high > 0.4


def test_grades_of_which_few_are_low_stay_wide() -> None:
    """Where the loss comes from two dialogues of thirty, their spread says little, and the interval stays wide."""
    num = np.full(30, 0.999)
    num[:2] = 0.3, 0.5
    (found,) = intervals.share(num, np.ones(30), graded=True)
    low, _ = ends(found)
    half = scipy.stats.t.ppf(0.975, 29) * num.std(ddof=1) / math.sqrt(30)
    assert low < num.mean() - 1.3 * half


def test_an_auroc_near_1_keeps_to_what_independent_pairs_say() -> None:
    scores, labels = [1, 2, 3, 4, 5, 6.5, 6, 7, 8, 9, 10, 11], [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    low, high = ends(intervals.auroc(scores, labels, list(range(12))))
    area = correlation.auroc(scores, labels) or 0
    assert low >= scipy.stats.beta.ppf(0.025, 6 * area, 6 * (1 - area) + 1) - 1e-9
    assert low < area < high <= 1


@pytest.mark.parametrize(
    ("num", "den", "reason"),
    [([], [], "no dialogue is scored"), ([3], [4], "two dialogues or more"), ([0, 3, 0], [0, 4, 0], "two dialogues")],
)
def test_no_interval_without_two_dialogues(num: list[float], den: list[float], reason: str) -> None:
    (found,) = intervals.share(num, den)
    assert found[:2] == NONE
    assert reason in (found.reason or "")


@given(dialogues, st.sampled_from([0.8, 0.95, 0.99]))
def test_laws_of_shares(rows: list[tuple[int, int]], confidence: float) -> None:
    num, den = split(rows)
    (found,) = intervals.share(num, den, confidence=confidence)
    low, high = ends(found)
    value = num.sum() / den.sum()
    assert 0 <= low <= value <= high <= 1
    assert low < high
    (other,) = intervals.share(den - num, den, confidence=confidence)  # errors for successes
    assert ends(other) == pytest.approx((1 - high, 1 - low), abs=1e-9)
    (order,) = intervals.share(num[::-1], den[::-1], confidence=confidence)
    assert ends(order) == pytest.approx((low, high))
    more = np.append(num, 0), np.append(den, 0)  # a dialogue that has no unit says nothing
    assert intervals.share(*more, confidence=confidence) == [found]
    (twice,) = intervals.share(np.tile(num, 2), np.tile(den, 2), confidence=confidence)
    assert ends(twice)[1] - ends(twice)[0] < high - low
    (surer,) = intervals.share(num, den, confidence=confidence + 0.005)
    assert ends(surer)[1] - ends(surer)[0] > high - low


def test_longer_dialogues_of_one_kind_add_nothing() -> None:
    # Each dialogue is all right or all wrong, so ten turns of it say what one says.
    outcome = np.array([1.0, 1, 0, 1, 1, 0, 1, 1])
    (short,), (long,) = intervals.share(outcome, np.ones(8)), intervals.share(outcome * 10, np.full(8, 10.0))
    assert ends(long) == pytest.approx(ends(short))


def test_units_that_are_not_alike_add_much() -> None:
    (alike,) = intervals.share([10, 0] * 10, [10, 10] * 10)
    (mixed,) = intervals.share([6, 4] * 10, [10, 10] * 10)
    assert ends(mixed)[1] - ends(mixed)[0] < (ends(alike)[1] - ends(alike)[0]) / 2


def test_a_mean_below_a_known_top_is_a_share_of_it() -> None:
    num, den = np.array([3.0, 1, 0, 2]), np.array([2.0, 2, 1, 3])
    (half,), (whole,) = intervals.share(num / 2, den), intervals.share(num, den, top=2)
    assert ends(whole) == pytest.approx([2 * end for end in ends(half)])


def test_shares_side_by_side() -> None:
    num, den = np.array([[1.0, 0], [2, 3], [0, 1]]), np.array([[2.0, 0], [2, 3], [1, 4]])
    assert intervals.share(num, den) == [*intervals.share(num[:, 0], den[:, 0]), *intervals.share(num[:, 1], den[:, 1])]
    before = num.copy()
    intervals.share(num, den)
    np.testing.assert_array_equal(num, before)


@pytest.mark.parametrize("num", [[3.0, 1], [-1.0, 1]])
def test_what_is_no_share(num: list[float]) -> None:
    with pytest.raises(ValueError, match="between 0 and"):
        intervals.share(num, [2, 2])


# --- expanded percentile ---


@pytest.mark.parametrize("count", [5, 6, 10, 20, 200])
def test_the_tail_of_an_expanded_percentile(count: int) -> None:
    expected = scipy.stats.norm.cdf(-math.sqrt(count / (count - 1)) * scipy.stats.t.ppf(0.975, count - 1))
    assert intervals.expanded_tail(count) == pytest.approx(expected, rel=1e-9)
    assert intervals.expanded_tail(count) < 0.025
    assert intervals.enough_resamples(count, 1000) == max(1000, math.ceil(10 / expected))


def test_expanded_percentile() -> None:
    samples = np.arange(10_001.0)
    (found,) = intervals.expanded_percentile(5000, samples, 20)
    tail = intervals.expanded_tail(20)
    assert ends(found) == pytest.approx((10_000 * tail, 10_000 * (1 - tail)))
    two = intervals.expanded_percentile(
        [5000, 5000], np.column_stack([samples, np.where(samples % 2, samples, np.nan)]), [20, 100]
    )
    assert two[0] == found
    assert ends(two[1])[0] > ends(found)[0]
    (held,) = intervals.expanded_percentile(-7, samples, 20)  # the value itself is always in its interval
    assert held.low == -7


@pytest.mark.parametrize("values", [[1.0, 3, 4, 8], [2.0, 3], [1.0, 1, 2, 2, 3, 3, 2, 2]])
def test_few_dialogues_have_students_t(values: list[float]) -> None:
    count, mean = len(values), float(np.mean(values))
    drawn = bootstrap(values, np.ones(count), resamples=50_000)
    (found,) = intervals.expanded_percentile(mean, drawn, count)
    low, high = scipy.stats.t.interval(0.95, count - 1, loc=mean, scale=scipy.stats.sem(values))
    assert ends(found) == pytest.approx((low, high), rel=0.02)
    assert intervals.enough_resamples(4, 1000) == 1000


def test_many_dialogues_have_percentiles_alone() -> None:
    drawn = np.r_[np.zeros(9999), 1000.0]  # one wild resample moves a standard error, and no percentile
    assert ends(intervals.expanded_percentile(0, drawn, 10)[0]) == (0, 0)
    assert ends(intervals.expanded_percentile(0, drawn, 9)[0])[1] > 10


@pytest.mark.parametrize(
    ("value", "samples", "count", "reason"),
    [
        (1.0, [1.0, 2.0], 1, "two dialogues or more"),
        (1.0, [1.0, 2.0], 0, "no dialogue"),
        (math.nan, [1.0, 2.0], 9, "not defined"),
        (1.0, [math.nan], 9, "not defined"),
        (1.0, [1.0, 1.0], 9, "same value"),
    ],
)
def test_no_expanded_percentile(value: float, samples: list[float], count: int, reason: str) -> None:
    (found,) = intervals.expanded_percentile(value, samples, count)
    assert found[:2] == NONE
    assert reason in (found.reason or "")


def test_expanded_misuse() -> None:
    with pytest.raises(ValueError, match="each column"):
        intervals.expanded_percentile([1, 2], np.zeros((5, 3)), 4)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, math.nan])
def test_confidence_out_of_range(confidence: float) -> None:
    for call in (
        lambda: intervals.share([1, 2], [2, 2], confidence=confidence),
        lambda: intervals.expanded_percentile(1, [1.0, 2.0], 9, confidence=confidence),
        lambda: intervals.auroc([1, 2], [0, 1], [0, 1], confidence=confidence),
        lambda: median_and_error([1, 2], confidence=confidence),
    ):
        with pytest.raises(UserError, match="between 0 and 1"):
            call()


# --- AUROC ---


def responses(count: int, *, seed: int) -> tuple[Array, Array, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    documents = np.sort(rng.integers(0, count, 4 * count))
    labels = (rng.random(4 * count) < 0.4).astype(np.float64)
    return np.round(rng.normal(0, 1, 4 * count) + labels, 1), labels, documents


def test_the_jackknife_of_an_auroc() -> None:
    scores, labels, documents = responses(12, seed=1)
    whole = correlation.auroc(scores, labels)
    assert whole is not None
    logits = []
    for one in np.unique(documents):
        area = correlation.auroc(scores[documents != one], labels[documents != one])
        assert area is not None
        logits.append(math.log(area / (1 - area)))
    count = len(logits)
    error = math.sqrt((count - 1) / count * sum((x - np.mean(logits)) ** 2 for x in logits))
    parts = []  # of the variance: from the positives and from the negatives, each with its degrees of freedom
    for label in (0, 1):
        own, other = scores[labels == label], scores[labels != label]
        wins = np.array([(x > other).mean() + (x == other).mean() / 2 for x in own])
        held = documents[labels == label]
        pulls = [(wins[held == one] - wins.mean()).sum() / len(own) for one in set(held.tolist())]
        parts.append((np.square(pulls).sum() * len(pulls) / (len(pulls) - 1), len(pulls) - 1))
    degrees = sum(v for v, _ in parts) ** 2 / sum(v**2 / d for v, d in parts)
    half = scipy.stats.t.ppf(0.975, degrees) * error
    centre = math.log(whole / (1 - whole))
    expected = [1 / (1 + math.exp(-(centre + side * half))) for side in (-1, 1)]
    assert ends(intervals.auroc(scores, labels, documents)) == pytest.approx(expected, rel=1e-9)


def test_an_auroc_without_spread_has_no_interval() -> None:
    scores, labels, documents = [1.0] * 8, [0, 1] * 4, [0, 0, 1, 1, 2, 2, 3, 3]
    assert intervals.auroc(scores, labels, documents) == (None, None, intervals.no_spread("document"))


def test_laws_of_an_auroc() -> None:
    scores, labels, documents = responses(15, seed=2)
    low, high = ends(intervals.auroc(scores, labels, documents))
    assert 0 < low < (correlation.auroc(scores, labels) or 0) < high < 1
    assert ends(intervals.auroc(-scores, labels, documents)) == pytest.approx((1 - high, 1 - low))
    assert ends(intervals.auroc(scores, 1 - labels, documents)) == pytest.approx((1 - high, 1 - low))
    assert ends(intervals.auroc(scores * 3 + 1, labels, [f"d{d}" for d in documents])) == pytest.approx((low, high))
    apart = np.concatenate([documents, documents + 100])
    twice = ends(intervals.auroc(np.tile(scores, 2), np.tile(labels, 2), apart))
    assert twice[1] - twice[0] < high - low


def test_a_perfect_auroc_has_a_lower_bound() -> None:
    scores, labels, documents = [1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5]
    bound = 0.05 ** (1 / 3)  # three pairs without a common document, all of them ranked rightly
    assert ends(intervals.auroc(scores, labels, documents)) == pytest.approx((bound, 1))
    assert ends(intervals.auroc(np.negative(scores), labels, documents)) == pytest.approx((0, 1 - bound))


@pytest.mark.parametrize(
    ("labels", "documents", "reason"),
    [
        ([1, 1, 1], [0, 1, 2], "a positive and a negative"),
        ([0, 1, 0], [0, 1, 2], "two documents"),
        ([0, 1, 1], [0, 0, 0], "two"),
    ],
)
def test_no_interval_of_an_auroc(labels: list[int], documents: list[int], reason: str) -> None:
    found = intervals.auroc([0.1, 0.7, 0.3], labels, documents)
    assert found[:2] == NONE
    assert reason in (found.reason or "")


# --- medians ---


def test_median_by_hand() -> None:
    # s = 1 for 1, 2, 3; t of 2 degrees is 4.302653.
    assert median_and_error([3, 1, 2]) == pytest.approx((2, 4.302653 * 1.2533 / math.sqrt(3)), abs=1e-6)
    assert median_and_error([3, 1, 2], confidence=0.5).error == pytest.approx(
        0.816497 * 1.2533 / math.sqrt(3), abs=1e-6
    )
    assert median_and_error([0.7]) == (0.7, None)
    with pytest.raises(ValueError, match="no values"):
        median_and_error([])


def test_spread_between_strata_is_not_counted() -> None:
    """Half of the dialogues were chosen for being right, half for being wrong: that adds nothing to chance."""
    strata = [0] * 40 + [1] * 40
    right = [10] * 38 + [0] * 40 + [10] * 2
    (within,) = intervals.share(right, [10] * 80, strata=strata)
    (across,) = intervals.share(right, [10] * 80)
    widths = [(one.high or 0) - (one.low or 0) for one in (within, across)]
    assert 0 < widths[0] < 0.6 * widths[1]
    assert intervals.share(right, [10] * 80, strata=[3] * 80) == [across]
