"""Correlation, AUROC and agreement, with SciPy as the outside reference."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from troth.core.errors import UserError
from troth.stats import auroc, fleiss_kappa, pearson, spearman

small = st.integers(-3, 3).map(float)
finite = st.floats(-1e6, 1e6, allow_nan=False)


def pairs(values: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[list[float], list[float]]]:
    return st.lists(st.tuples(values, values), min_size=1, max_size=30).map(
        lambda rows: ([x for x, _ in rows], [y for _, y in rows])
    )


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
