"""Ratios and their bootstrap: the same to the last bit, and spread as plain resampling is."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stats.samples import dialogues
from troth.core.errors import UserError
from troth.stats import bootstrap, compare, ratio, resampling

NAN = math.nan
finite = st.floats(-1e6, 1e6, allow_nan=False)


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
    assert set(sparse[~np.isnan(sparse)].tolist()) == {1.0}
    assert np.isnan(bootstrap([0, 0], [0, 0], resamples=10)).all()
    assert np.isnan(bootstrap(np.zeros((0, 2)), np.zeros((0, 2)), resamples=3)).all()


def test_percentiles_cover_the_truth_as_often_as_they_should() -> None:
    # One column is one simulated test set of 200 dialogues.
    num, den = dialogues(200, 1000, seed=5)
    low, high = np.quantile(bootstrap(num, den, resamples=1000), [0.025, 0.975], axis=0)
    assert 0.92 < ((low <= 2 / 3) & (high >= 2 / 3)).mean() < 0.98


def test_misuse() -> None:
    with pytest.raises(ValueError, match="shape"):
        bootstrap([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="shape"):
        bootstrap(np.zeros((2, 2, 2)), np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match="finite"):
        bootstrap([NAN], [1])
    with pytest.raises(ValueError, match="same dialogues"):
        compare([1, 2], [1, 2], [1], [1])
    with pytest.raises(UserError, match="resamples"):
        bootstrap([1], [1], resamples=0)
    with pytest.raises(UserError, match="seed"):
        bootstrap([1], [1], seed=-1)


def test_draws_within_strata() -> None:
    """Every resample has as many of each stratum as there are, and each dialogue is drawn as often as any other."""
    times = np.concatenate(list(resampling.draws(7, resamples=4000, seed=1, strata=[2, 5])))
    assert (times[:, :2].sum(axis=1) == 2).all()
    assert (times[:, 2:].sum(axis=1) == 5).all()
    assert times.mean(axis=0) == pytest.approx(np.ones(7), abs=0.06)
    assert np.corrcoef(times[:, 0], times[:, 2])[0, 1] == pytest.approx(0, abs=0.05)  # each stratum for itself
    (whole,) = resampling.draws(7, resamples=5, seed=1)
    assert (whole == next(resampling.draws(7, resamples=5, seed=1, strata=[7]))).all()
    with pytest.raises(ValueError, match="strata of 8 dialogues in all do not fit 7"):
        next(resampling.draws(7, resamples=1, seed=0, strata=[3, 5]))
