"""Measures on resampled documents equal the plain ones of the resampled data, and draws equal everyone's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from troth import stats
from troth.meta.labels.labelled import RANKING, Labelled, assign_bins, resample
from troth.stats.estimates import Resampling

ROW = st.tuples(st.integers(-3, 3).map(lambda n: n / 2), st.integers(0, 1), st.integers(0, 4))


def labelled(rows: list[tuple[float, int, int]]) -> Labelled:
    scores, labels, units = (np.array(column) for column in zip(*rows, strict=True))
    return Labelled(scores.astype(float), labels.astype(float), units.astype(np.int64))


@given(st.lists(ROW, min_size=1, max_size=25), st.integers(0, 9), st.floats(-1e6, 1e6), st.floats(1e-3, 1e3))
@settings(deadline=None)
def test_weights_are_repetitions(rows: list[tuple[float, int, int]], seed: int, shift: float, scale: float) -> None:
    data = labelled([(shift + scale * score, label, unit) for score, label, unit in rows])
    (times,) = stats.draws(5, resamples=6, seed=seed)
    for row, found in zip(times, data.measure_resamples(times), strict=True):
        repeated = data.take(np.repeat(np.arange(len(data)), row[data.units].astype(int)))
        expected = repeated.measures() if len(repeated) else [None] * len(RANKING)
        for wanted, value in zip(expected, found.tolist(), strict=True):
            if wanted is None:
                assert np.isnan(value)
            else:
                assert value == pytest.approx(wanted, abs=1e-6)


def test_draws_are_those_of_the_bootstrap() -> None:
    for documents in (1, 2, 7):
        weights = np.arange(documents, dtype=float)
        sums = stats.bootstrap(weights, np.ones(documents), resamples=200, seed=3)[:, 0] * documents
        times = np.concatenate(list(stats.draws(documents, resamples=200, seed=3)))
        assert times.shape == (200, documents)
        assert (times.sum(axis=1) == documents).all()
        assert times @ weights == pytest.approx(sums)


def test_all_cells_see_the_same_draws() -> None:
    rng = np.random.default_rng(0)
    data = Labelled(rng.random(60), rng.integers(0, 2, 60).astype(float), rng.integers(0, 20, 60))
    one, two = resample([data, data], 20, Resampling(50, 1))
    assert np.array_equal(one, two)
    low, high = np.nanquantile(one, [0.025, 0.975], axis=0)
    assert all(low[i] <= value <= high[i] for i, value in enumerate(data.measures()) if value is not None)


def test_nothing_to_measure() -> None:
    empty = Labelled(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))
    (found,) = resample([empty], 3, Resampling(4))
    assert np.isnan(found).all()
    assert np.isnan(resample([empty], 0, Resampling(4))[0]).all()


def test_bins() -> None:
    assert assign_bins(np.arange(10.0), 5).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert len(set(assign_bins(np.array([1.0] * 7 + [2.0]), 4).tolist())) == 2, "equal scores share a bin"
    assert assign_bins(np.zeros(0), 5).tolist() == []
