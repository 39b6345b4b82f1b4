"""Intervals, paired tests and the gate: tables, laws, simulated truth, and SciPy as the outside reference."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tracemalloc
from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from troth import stats
from troth.core.errors import UserError
from troth.stats import (
    auroc,
    bootstrap,
    compare,
    fleiss_kappa,
    gate,
    holm,
    interval,
    median_and_error,
    pearson,
    ratio,
    resampling,
    spearman,
)
from troth.stats.quantiles import normal as normal_quantile

Array = NDArray[np.float64]
NAN = math.nan

small = st.integers(-3, 3).map(float)
finite = st.floats(-1e6, 1e6, allow_nan=False)


def pairs(values: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[list[float], list[float]]]:
    return st.lists(st.tuples(values, values), min_size=1, max_size=30).map(
        lambda rows: ([x for x, _ in rows], [y for _, y in rows])
    )


def dialogues(count: int, columns: int, *, seed: int, mean: float = 2 / 3) -> tuple[Array, Array]:
    """Right turns and turns: dialogues differ in length and in how hard they are."""
    rng = np.random.default_rng(seed)
    turns = rng.poisson(6, (count, columns)) + 2
    right = rng.binomial(turns, rng.beta(6 * mean, 6 * (1 - mean), (count, columns)))
    return right.astype(np.float64), turns.astype(np.float64)


# --- bootstrap and interval ---


def test_ratio() -> None:
    assert ratio([1, 0, 2], [2, 1, 3]).tolist() == [0.5]
    np.testing.assert_array_equal(ratio([[1, 0], [0, 0]], [[1, 0], [3, 0]]), [0.25, NAN])
    np.testing.assert_array_equal(ratio(np.zeros((0, 2)), np.zeros((0, 2))), [NAN, NAN])


@given(st.lists(st.tuples(finite, st.just(0.0) | st.floats(0.01, 1e6)), min_size=1, max_size=40), st.integers(0, 40))
def test_order_and_shards_do_not_change_a_ratio(rows: list[tuple[float, float]], cut: int) -> None:
    parts = np.array(rows)
    whole = ratio(parts[:, 0], parts[:, 1])
    shuffled = parts[np.random.default_rng(cut).permutation(len(parts))]
    merged = np.concatenate([shuffled[cut:], shuffled[:cut]])
    np.testing.assert_array_equal(ratio(merged[:, 0], merged[:, 1]), whole)


def test_bootstrap_is_one_for_a_seed() -> None:
    num, den = dialogues(300, 3, seed=1)
    before = num.copy(), den.copy()
    first = bootstrap(num, den, resamples=200, seed=5)
    assert first.shape == (200, 3)
    np.testing.assert_array_equal(first, bootstrap(num, den, resamples=200, seed=5))
    assert (first != bootstrap(num, den, resamples=200, seed=6)).mean() > 0.9
    np.testing.assert_array_equal(num, before[0])
    np.testing.assert_array_equal(den, before[1])


def test_bootstrap_stream_is_pinned() -> None:
    # Published intervals must not move with a release of NumPy or of ours.
    drawn = bootstrap([1, 0, 1, 0.5], [1, 1, 1, 1], resamples=4, seed=7)
    assert drawn.ravel().tolist() == [0.125, 0.625, 0.75, 0.5]


def test_neither_chunks_nor_the_number_of_resamples_move_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    num, den = dialogues(101, 2, seed=2)
    whole = bootstrap(num, den, resamples=300)
    np.testing.assert_array_equal(bootstrap(num, den, resamples=50), whole[:50])
    monkeypatch.setattr(resampling, "CHUNK", 101 * 9)
    np.testing.assert_array_equal(bootstrap(num, den, resamples=300), whole)


def test_metrics_are_resampled_alike() -> None:
    num, den = dialogues(80, 4, seed=3)
    whole = bootstrap(num, den, resamples=100)
    for column in range(4):
        np.testing.assert_array_equal(bootstrap(num[:, column], den[:, column], resamples=100)[:, 0], whole[:, column])


@pytest.mark.parametrize("count", [1, 2, 7, 64, 65])
def test_bootstrap_draws_every_dialogue_equally(count: int) -> None:
    # Column j asks for dialogue j alone, so its value is the share of draws that fell on j.
    drawn = bootstrap(np.eye(count), np.ones((count, count)), resamples=4000) * count
    np.testing.assert_allclose(drawn.sum(axis=1), count)
    np.testing.assert_allclose(drawn.mean(axis=0), 1, atol=0.08)
    np.testing.assert_allclose(drawn.var(axis=0), 1 - 1 / count, atol=0.15)


def test_bootstrap_agrees_with_plain_resampling() -> None:
    num, den = dialogues(150, 1, seed=4)
    rng = np.random.default_rng(0)
    plain = [num[i].sum() / den[i].sum() for i in rng.integers(0, 150, (4000, 150))]
    ours = bootstrap(num, den, resamples=4000)
    assert ours.mean() == pytest.approx(np.mean(plain), abs=0.002)
    assert ours.std() == pytest.approx(np.std(plain), rel=0.06)


def test_threads_do_not_change_a_bit() -> None:
    code = (
        "import sys, numpy as np; from troth.stats import bootstrap; r = np.random.default_rng(0);"
        "sys.stdout.write(bootstrap(r.random((999, 9)), r.random((999, 9)) * 7, resamples=300).tobytes().hex())"
    )

    def run(threads: str) -> str:
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
        env = os.environ | dict.fromkeys(names, threads)
        return subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True).stdout

    one = run("1")
    assert one
    assert one == run("2")


def test_undefined_resamples() -> None:
    sparse = bootstrap([1, 0, 0], [1, 0, 0], resamples=500)
    assert 0.2 < np.isnan(sparse).mean() < 0.4  # (2/3)^3
    assert [bound.tolist() for bound in interval(sparse)] == [[1], [1]]
    never = interval(bootstrap([0, 0], [0, 0], resamples=10))
    assert np.isnan(never.low).all()
    assert np.isnan(never.high).all()
    assert np.isnan(bootstrap(np.zeros((0, 2)), np.zeros((0, 2)), resamples=3)).all()


def test_interval_table() -> None:
    low, high = interval(np.arange(101.0), confidence=0.9)
    assert (low[0], high[0]) == pytest.approx((5, 95))
    two = interval(np.column_stack([np.arange(101.0), np.full(101, NAN)]), confidence=0.5)
    np.testing.assert_array_equal(two.low, [25, NAN])
    np.testing.assert_array_equal(two.high, [75, NAN])


def test_interval_covers_the_truth_as_often_as_it_says() -> None:
    # One column is one simulated test set of 200 dialogues.
    num, den = dialogues(200, 1000, seed=5)
    low, high = interval(bootstrap(num, den, resamples=1000))
    assert 0.92 < ((low <= 2 / 3) & (high >= 2 / 3)).mean() < 0.98


@pytest.mark.parametrize("confidence", [0, 1, -0.5, NAN])
def test_confidence_out_of_range(confidence: float) -> None:
    with pytest.raises(UserError, match="between 0 and 1"):
        interval([1.0, 2.0], confidence=confidence)


def test_misuse() -> None:
    with pytest.raises(ValueError, match="shape"):
        bootstrap([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="shape"):
        bootstrap(np.zeros((2, 2, 2)), np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match="finite"):
        bootstrap([NAN], [1])
    with pytest.raises(ValueError, match="same dialogues"):
        compare([1, 2], [1, 2], [1], [1])
    with pytest.raises(ValueError, match="shape"):
        interval(np.zeros((2, 2, 2)))
    with pytest.raises(UserError, match="resamples"):
        bootstrap([1], [1], resamples=0)
    with pytest.raises(UserError, match="seed"):
        bootstrap([1], [1], seed=-1)


# --- compare and holm ---


def test_identical_systems() -> None:
    num, den = dialogues(50, 2, seed=6)
    for result in compare(num / 3, den, num / 3, den, resamples=200):
        assert result == stats.Comparison(0, 0, 0, 1, 1, 50)


def test_comparison_is_the_paired_bootstrap() -> None:
    num_a, den_a = dialogues(90, 2, seed=7)
    num_b, den_b = dialogues(90, 2, seed=8, mean=0.72)
    results = compare(num_a, den_a, num_b, den_b, resamples=400, seed=3)
    drawn = bootstrap(num_b, den_b, resamples=400, seed=3) - bootstrap(num_a, den_a, resamples=400, seed=3)
    low, high = interval(drawn)
    assert [r.low for r in results] == low.tolist()
    assert [r.high for r in results] == high.tolist()
    assert [r.difference for r in results] == (ratio(num_b, den_b) - ratio(num_a, den_a)).tolist()


def test_the_other_way_round() -> None:
    num_a, den = dialogues(60, 1, seed=9)
    num_b = np.minimum(num_a + np.random.default_rng(0).integers(0, 2, num_a.shape), den)
    (there,) = compare(num_a, den, num_b, den, resamples=300)
    (back,) = compare(num_b, den, num_a, den, resamples=300)
    assert (back.difference, back.low, back.high) == pytest.approx((-there.difference, -there.high, -there.low))
    assert (back.p_bootstrap, back.p_randomization) == (there.p_bootstrap, there.p_randomization)


def test_a_clear_difference() -> None:
    num, den = dialogues(200, 1, seed=10)
    (result,) = compare(num * 0.8, den, num, den, resamples=999)
    assert result.low > 0
    assert result.p_bootstrap == pytest.approx(2 / 1000)
    assert result.p_randomization == pytest.approx(1 / 1000)


def test_randomisation_against_every_swap() -> None:
    rng = np.random.default_rng(11)
    den_a, den_b = rng.integers(1, 5, (2, 8)).astype(float)
    num_a, num_b = rng.binomial(4, 0.4, 8) * 1.0, rng.binomial(4, 0.6, 8) * 1.0
    seen = abs(num_b.sum() / den_b.sum() - num_a.sum() / den_a.sum())
    extreme = 0
    for swap in product([False, True], repeat=8):
        new_num_a, new_num_b = np.where(swap, num_b, num_a), np.where(swap, num_a, num_b)
        new_den_a, new_den_b = np.where(swap, den_b, den_a), np.where(swap, den_a, den_b)
        extreme += abs(new_num_b.sum() / new_den_b.sum() - new_num_a.sum() / new_den_a.sum()) >= seen - 1e-12
    (result,) = compare(num_a, den_a, num_b, den_b)
    assert result.p_randomization == pytest.approx(extreme / 2**8, abs=0.02)


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
    assert all(map(math.isnan, (result.difference, result.low, result.p_bootstrap, result.p_randomization)))
    assert result.dialogues == 2
    (nothing,) = compare([], [], [], [], resamples=20)
    assert math.isnan(nothing.difference)
    assert nothing.dialogues == 0


@pytest.mark.parametrize(("count", "metrics", "resamples"), [(4000, 8, 4000), (20_000, 2, 500), (5, 100, 10_000)])
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


# --- gate ---


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
        (0.0, 0.02, "not worse"),
        (0.1, 0, "not worse"),
        (0.0, 0.001, "undecided"),
        (-0.02, 0.02, "undecided"),
    ],
)
def test_verdicts(change: float, margin: float, verdict: str) -> None:
    base, new, den = shifted(400, change)
    result = gate(base, den, new, den, margin=margin, resamples=2000)
    assert result.verdict == verdict
    assert (result.margin, result.dialogues) == (margin, 400)
    assert result.low <= result.difference <= result.high
    assert (result.needed is not None) == (verdict == "undecided")
    assert result.reason is None


def test_identical_systems_pass_any_gate() -> None:
    num, den = dialogues(20, 1, seed=15)
    result = gate(num, den, num, den, margin=0, resamples=500)
    assert result == stats.Gate("not worse", 0, 0, 0, 0, 20)


@pytest.mark.parametrize(("lost", "verdict"), [(0.006, "worse"), (0.005, "not worse"), (0.004, "not worse")])
def test_dialogues_that_are_all_alike(lost: float, verdict: str) -> None:
    # No spread at all, and in floating point 0.995 - 1 is below -0.005.
    result = gate(np.ones(30), np.ones(30), np.full(30, 1 - lost), np.ones(30), margin=0.005, resamples=500)
    assert (result.verdict, result.needed) == (verdict, None)


def test_the_needed_number_decides_and_fewer_do_not() -> None:
    base, new, den = shifted(200, -0.004)
    # A margin close to the difference seen, so that many dialogues are needed.
    margin = 0.002 - float((ratio(new, den) - ratio(base, den))[0])
    first = gate(base, den, new, den, margin=margin)
    assert first.verdict == "undecided"
    assert first.needed is not None
    assert first.needed > 2000
    # More dialogues of the same kind: the same ones again, so that the difference stays as it is.
    for share, verdict in [(0.8, "undecided"), (1.25, "not worse")]:
        times = round(first.needed * share / 200)
        base_n, new_n, den_n = (np.tile(side, (times, 1)) for side in (base, new, den))
        assert gate(base_n, den_n, new_n, den_n, margin=margin, resamples=1000).verdict == verdict


def test_a_difference_on_the_margin_is_never_settled() -> None:
    base, new = np.ones(40), np.tile([1.0, 0.5], 20)
    result = gate(base, np.ones(40), new, np.ones(40), margin=0.25, resamples=500)
    assert (result.verdict, result.needed) == ("undecided", None)
    assert result.reason is not None
    assert "on the margin" in result.reason


def test_a_gate_on_next_to_nothing_does_not_pass() -> None:
    # Equal wherever scored, but one resample in seven has no scored dialogue at all.
    num = np.array([1.0, 1.0] + [0.0] * 98)
    result = gate(num, num, num, num, margin=0.1, resamples=1000)
    assert (result.verdict, result.needed) == ("undecided", None)
    assert result.reason is not None
    assert "too few" in result.reason


@pytest.mark.parametrize("side", [[], [1.0], [1.0, 0.0, 0.0], [0.0, 0.0], [NAN, 1.0]])
def test_a_gate_on_nothing(side: list[float]) -> None:
    with pytest.raises(UserError):
        gate(side, side, side, side, margin=0.1)


@pytest.mark.parametrize(
    ("margin", "confidence", "resamples", "says"),
    [(-0.1, 0.95, 1000, "margin"), (NAN, 0.95, 1000, "margin"), (0, 0.5, 1000, "confidence"), (0, 0.99, 100, "few")],
)
def test_gate_options(margin: float, confidence: float, resamples: int, says: str) -> None:
    with pytest.raises(UserError, match=says):
        gate([1, 1], [1, 1], [1, 1], [1, 1], margin=margin, confidence=confidence, resamples=resamples)


def test_a_gate_is_on_one_metric() -> None:
    two = np.ones((5, 2))
    with pytest.raises(ValueError, match="one metric"):
        gate(two, two, two, two, margin=0)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.floats(-0.1, 0.1), st.floats(0, 0.1))
def test_a_wider_margin_never_makes_it_worse(seed: int, change: float, margin: float) -> None:
    base, new, den = shifted(40, change, seed=seed)
    order = ["worse", "undecided", "not worse"]
    verdicts = [gate(base, den, new, den, margin=m, resamples=200).verdict for m in (margin, margin + 0.02)]
    assert order.index(verdicts[0]) <= order.index(verdicts[1])


# --- medians, correlation, agreement ---


def test_normal_quantile() -> None:
    assert normal_quantile(0.975) == pytest.approx(scipy.stats.norm.ppf(0.975))
    assert normal_quantile(0.5) == 0


def test_median_and_error() -> None:
    assert median_and_error([3, 1, 2]) == pytest.approx((2, 1 / math.sqrt(3)))
    assert median_and_error([0.7]) == (0.7, None)
    with pytest.raises(ValueError, match="no values"):
        median_and_error([])


@pytest.mark.parametrize("values", [small, finite])
def test_correlations_against_scipy(values: st.SearchStrategy[float]) -> None:
    @given(pairs(values))
    def check(sides: tuple[list[float], list[float]]) -> None:
        x, y = sides
        if len(x) < 2 or len(set(x)) == 1 or len(set(y)) == 1:
            assert pearson(x, y) is None
            assert spearman(x, y) is None
            return
        assert spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-9)
        if values is small:  # SciPy warns of near-constant input on wilder numbers
            assert pearson(x, y) == pytest.approx(scipy.stats.pearsonr(x, y).statistic, abs=1e-9)
        assert -1 <= (pearson(x, y) or 0) <= 1

    check()


def test_pearson_keeps_its_digits() -> None:
    assert pearson([1e-200, 2e-200, 3e-200], [1e200, 2e200, 3e200]) == pytest.approx(1)
    assert pearson([0.1] * 3, [1, 2, 3]) is None


@given(st.lists(st.tuples(small, st.booleans()), min_size=1, max_size=30))
def test_auroc_counts_pairs(rows: list[tuple[float, bool]]) -> None:
    good, bad = [s for s, label in rows if label], [s for s, label in rows if not label]
    found = auroc([s for s, _ in rows], [label for _, label in rows])
    if not good or not bad:
        assert found is None
    else:
        wins = sum((g > b) + 0.5 * (g == b) for g in good for b in bad)
        assert found == pytest.approx(wins / (len(good) * len(bad)))


def test_fleiss_kappa() -> None:
    # Fleiss (1971) as worked on Wikipedia: 10 items, 14 raters, 5 categories.
    table = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    assert fleiss_kappa(table) == pytest.approx(0.20993, abs=1e-5)
    assert fleiss_kappa([[3, 0], [0, 3]]) == 1
    assert fleiss_kappa([[3, 0], [3, 0]]) is None
    assert fleiss_kappa(np.zeros((0, 3))) is None
    with pytest.raises(UserError, match="same number of raters"):
        fleiss_kappa([[3, 0], [1, 1]])


@pytest.mark.parametrize("function", [pearson, spearman, auroc])
def test_sides_of_different_length(function: object) -> None:
    assert callable(function)
    with pytest.raises(ValueError, match="same length"):
        function([0, 1, 1], [0, 1])
