"""Schema sensitivity by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.robustness.sensitivity import variation


@pytest.mark.parametrize(
    ("values", "zero", "skip"),
    [
        ([1, 1, 1, 1, 1], 0.0, 0.0),
        ([1, 0, 0, 0, 0], math.sqrt(5), math.sqrt(5)),  # 2.236
        ([1, 1, 1, 1, 0], math.sqrt(0.2) / 0.8, math.sqrt(0.2) / 0.8),
        ([0, 0, 0, 0, 0], 0.0, None),
        ([0.5, 1.0], math.sqrt(0.125) / 0.75, math.sqrt(0.125) / 0.75),
    ],
)
def test_by_hand(values: list[float], zero: float, skip: float | None) -> None:
    column = np.array(values, dtype=float)[:, None]
    assert variation(column)[0] == pytest.approx(zero)
    found = variation(column, "skip")[0]
    assert math.isnan(found) if skip is None else found == pytest.approx(skip)


@given(st.lists(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=5, max_size=5), min_size=1, max_size=20))
def test_order_of_variants_changes_nothing_and_scale_neither(units: list[list[float]]) -> None:
    values = np.array(units).T
    assert variation(values) == pytest.approx(variation(values[::-1]))
    assert variation(values) == pytest.approx(variation(values / 2))
    assert (variation(values) >= 0).all()
    assert (variation(values) <= math.sqrt(5) + 1e-12).all()


def test_one_variant_has_no_variation() -> None:
    with pytest.raises(ValueError, match="one variant"):
        variation(np.ones((1, 3)))
