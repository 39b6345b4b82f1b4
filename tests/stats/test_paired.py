"""Two systems on the same dialogues: intervals, p-values, Holm's correction."""

from __future__ import annotations

import math
import tracemalloc
from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from tests.stats.samples import dialogues
from troth.stats import bootstrap, compare, holm, ratio

NAN = math.nan


def test_identical_systems() -> None:
    # No dialogue has changed. With 97.5% confidence on each side, no more than this share of dialogues would change:
    share = 1 - 0.025 ** (1 / 50)
    num, den = dialogues(50, 2, seed=6)
    for result in compare(num / 3, den, num / 3, den, resamples=200):
        assert (result.difference, result.p_bootstrap, result.p_randomization, result.dialogues) == (0, 1, 1, 50)
        assert (result.low, result.high) == pytest.approx((-share, share))
        assert result.note == "the systems differ in no dialogue: a p-value below 0.05 takes at least 6"


def test_an_interval_by_hand() -> None:
    # Four dialogues of two turns: A has 1, 1, 2, 0 right, B 2, 1, 1, 2. Differences 1, 0, -1, 2 of 8 turns: 0.25.
    # Around their mean of 0.5: 0.5, -0.5, -1.5, 1.5, squares 5; se = root of (4/3 * 5) over 8 = 0.32275.
    (found,) = compare([1, 1, 2, 0], [2, 2, 2, 2], [2, 1, 1, 2], [2, 2, 2, 2], resamples=20)
    half = scipy.stats.t.ppf(0.975, 3) * math.sqrt(4 / 3 * 5) / 8
    assert half == pytest.approx(3.182446 * 0.322749, abs=1e-5)
    assert (found.difference, found.low, found.high) == pytest.approx((0.25, 0.25 - half, 0.25 + half))


def test_few_losses_widen_an_interval() -> None:
    # One of 20 dialogues is lost altogether: at most 24.87% of all are (Clopper and Pearson), 5.1% by the t interval.
    (found,) = compare(np.ones(20), np.ones(20), np.r_[0, np.ones(19)], np.ones(20), resamples=20)
    assert found.difference == pytest.approx(-0.05)
    assert found.low == pytest.approx(-scipy.stats.beta.ppf(0.975, 2, 19))
    assert found.low == pytest.approx(-0.2487, abs=1e-4)
    # None is gained, which up to 16.84% may be: this less the loss that was seen.
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 20) - 0.05)


def test_the_interval_is_that_of_the_bootstrap_where_there_are_many() -> None:
    num_a, den_a = dialogues(900, 2, seed=7)
    num_b, den_b = dialogues(900, 2, seed=8, mean=0.72)
    results = compare(num_a, den_a, num_b, den_b, resamples=4000, seed=3)
    drawn = bootstrap(num_b, den_b, resamples=4000, seed=3) - bootstrap(num_a, den_a, resamples=4000, seed=3)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    assert [one.low for one in results] == pytest.approx(low.tolist(), abs=0.002)
    assert [one.high for one in results] == pytest.approx(high.tolist(), abs=0.002)
    assert [one.difference for one in results] == (ratio(num_b, den_b) - ratio(num_a, den_a)).tolist()


def test_numbers_that_are_no_shares() -> None:
    # Nothing has changed, and dialogues lie between -3 and 5: what a dialogue can lose or gain is 8.
    values = np.array([-3.0, 5, 1, 0, 2, 2])
    (found,) = compare(values, np.ones(6), values, np.ones(6), resamples=20)
    bound = 8 * (1 - 0.025 ** (1 / 6))
    assert (found.low, found.high) == pytest.approx((-bound, bound))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=20))
def test_laws_of_a_difference(rows: list[tuple[int, int]]) -> None:
    a, b = (np.array(side, dtype=np.float64) for side in zip(*rows, strict=True))
    den = np.full(len(rows), 4.0)
    (there,), (back,) = compare(a, den, b, den, resamples=20), compare(b, den, a, den, resamples=20)
    assert there.low is not None
    assert there.high is not None
    assert there.low <= there.difference <= there.high
    assert there.low < there.high or len(rows) * 4 == abs((b - a).sum())  # else everything was lost, or gained
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low))
    (more,) = compare(np.tile(a, 2), np.tile(den, 2), np.tile(b, 2), np.tile(den, 2), resamples=20)
    assert more.low is not None
    assert more.low >= there.low


def test_the_other_way_round() -> None:
    num_a, den = dialogues(60, 1, seed=9)
    num_b = np.minimum(num_a + np.random.default_rng(0).integers(0, 2, num_a.shape), den)
    (there,) = compare(num_a, den, num_b, den, resamples=300)
    (back,) = compare(num_b, den, num_a, den, resamples=300)
    assert there.low is not None
    assert there.high is not None
    assert (back.difference, back.low, back.high) == pytest.approx((-there.difference, -there.high, -there.low))
    assert (back.p_bootstrap, back.p_randomization) == (there.p_bootstrap, there.p_randomization)


def test_a_clear_difference() -> None:
    num, den = dialogues(200, 1, seed=10)
    (result,) = compare(num * 0.8, den, num, den, resamples=999)
    assert result.low is not None
    assert result.low > 0
    assert result.note is None
    assert result.p_bootstrap == pytest.approx(2 / 1000)
    assert result.p_randomization == pytest.approx(1 / 1000)


@pytest.mark.parametrize("equal", [0, 30])
def test_randomisation_against_every_swap(equal: int) -> None:
    # Dialogues in which the systems are equal change nothing, however many they are.
    rng = np.random.default_rng(11)
    den_a, den_b = rng.integers(1, 5, (2, 8)).astype(float)
    num_a, num_b = rng.binomial(4, 0.4, 8) * 1.0, rng.binomial(4, 0.6, 8) * 1.0
    extra = 2.0 * equal
    seen = abs((num_b.sum() + equal) / (den_b.sum() + extra) - (num_a.sum() + equal) / (den_a.sum() + extra))
    extreme = 0
    for swap in product([False, True], repeat=8):
        new_num_a, new_num_b = np.where(swap, num_b, num_a) + equal / 8, np.where(swap, num_a, num_b) + equal / 8
        new_den_a, new_den_b = np.where(swap, den_b, den_a) + extra / 8, np.where(swap, den_a, den_b) + extra / 8
        extreme += abs(new_num_b.sum() / new_den_b.sum() - new_num_a.sum() / new_den_a.sum()) >= seen - 1e-12
    ones, twos = np.ones(equal), np.full(equal, 2.0)
    sides = (np.r_[num_a, ones], np.r_[den_a, twos], np.r_[num_b, ones], np.r_[den_b, twos])
    (result,) = compare(*sides, resamples=20)
    assert result.p_randomization == extreme / 2**8
    # Beside a metric with more dialogues that differ, which takes random swaps.
    many = [np.column_stack([side, rng.random(8 + equal)]) for side in sides]
    assert compare(*many, resamples=20)[0].p_randomization == extreme / 2**8


@pytest.mark.parametrize("differ", [1, 5, 6, 12, 13])
def test_the_smallest_p_value(differ: int) -> None:
    # B wins wherever the systems differ: of all swaps, only none and all of them are as extreme.
    base, new = np.zeros(40), np.r_[np.ones(differ), np.zeros(40 - differ)]
    (result,) = compare(base, np.ones(40), new, np.ones(40), resamples=50_000)
    assert result.p_randomization == pytest.approx(2 / 2**differ, abs=0 if differ <= 12 else 2e-4)
    assert (result.note is not None) == (differ <= 5) == (result.p_randomization > 0.05)


@pytest.mark.parametrize(("count", "shown"), [(2, False), (9, False), (10, True)])
def test_the_bootstrap_has_no_p_value_for_few_dialogues(count: int, shown: bool) -> None:
    rng = np.random.default_rng(count)
    (result,) = compare(rng.random(count), np.ones(count), rng.random(count), np.ones(count), resamples=200)
    assert (result.p_bootstrap is not None) == shown
    empty = np.zeros(20)  # dialogues without a unit do not count
    padded = [np.r_[side, empty] for side in (rng.random(count), np.ones(count), rng.random(count), np.ones(count))]
    (result,) = compare(*padded, resamples=200)
    assert (result.p_bootstrap is not None) == shown


def test_p_values_are_uniform_when_nothing_differs() -> None:
    # One column is one pair of systems that are equally good; wrong on different dialogues.
    num_a, den_a = dialogues(120, 600, seed=12)
    num_b, den_b = dialogues(120, 600, seed=13)
    results = compare(num_a, den_a, num_b, den_b, resamples=500)
    for p in (np.array([r.p_bootstrap for r in results]), np.array([r.p_randomization for r in results])):
        assert 0.02 < (p <= 0.05).mean() < 0.09
        assert 0.43 < (p <= 0.5).mean() < 0.57
        assert scipy.stats.kstest(p, "uniform").statistic < 0.07


def test_undefined_comparison() -> None:
    (result,) = compare([0, 0], [0, 0], [1, 1], [1, 1], resamples=20)
    assert all(map(math.isnan, (result.difference, result.p_randomization)))
    assert (result.low, result.high, result.p_bootstrap, result.dialogues) == (None, None, None, 2)
    (single,) = compare([1], [2], [2], [2], resamples=20)
    assert (single.difference, single.low, single.high, single.p_randomization) == (0.5, None, None, 1)
    (nothing,) = compare([], [], [], [], resamples=20)
    assert math.isnan(nothing.difference)
    assert nothing.dialogues == 0


@pytest.mark.parametrize(("count", "metrics", "resamples"), [(4000, 8, 1000), (20_000, 2, 200), (5, 100, 10_000)])
def test_comparing_takes_little_memory(count: int, metrics: int, resamples: int) -> None:
    # Beside two copies of the parts and the resampled differences, blocks of one size, whatever is compared.
    num_a, den = dialogues(count, metrics, seed=16)
    num_b, _ = dialogues(count, metrics, seed=17)
    tracemalloc.start()
    try:
        compare(num_a, den, np.minimum(num_b, den), den, resamples=resamples)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 12e6 + 8 * (6 * count + 1.5 * resamples) * metrics


@pytest.mark.parametrize(
    ("given_p", "expected"),
    [
        ([], []),
        ([0.03], [0.03]),
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # Holm by hand: 4*.005, 3*.01, 2*.03, max(.06, .04)
        ([0.5, 0.6], [1.0, 1.0]),
        ([0.02, NAN, 0.04], [0.04, NAN, 0.04]),
    ],
)
def test_holm_table(given_p: list[float], expected: list[float]) -> None:
    assert holm(given_p) == pytest.approx(expected, nan_ok=True)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0, 1))
def test_holm_rejects_what_the_procedure_rejects(p_values: list[float], level: float) -> None:
    adjusted = holm(p_values)
    # Holm as he wrote it: from the smallest up, stop at the first that is above level / (tests left).
    rejected: set[int] = set()
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[i] * (len(p_values) - rank) > level:
            break
        rejected.add(i)
    assert {i for i, p in enumerate(adjusted) if p <= level} == (rejected if level < 1 else set(range(len(p_values))))
    assert all(a >= p for a, p in zip(adjusted, p_values, strict=True))
    assert all(p <= 1 for p in adjusted)


def test_holm_misuse() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, 1.5])
