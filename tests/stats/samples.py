"""Simulated dialogues for the tests of statistics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def dialogues(count: int, columns: int, *, seed: int, mean: float = 2 / 3) -> tuple[Array, Array]:
    """Right turns and turns: dialogues differ in length and in how hard they are."""
    rng = np.random.default_rng(seed)
    turns = rng.poisson(6, (count, columns)) + 2
    right = rng.binomial(turns, rng.beta(6 * mean, 6 * (1 - mean), (count, columns)))
    return right.astype(np.float64), turns.astype(np.float64)
