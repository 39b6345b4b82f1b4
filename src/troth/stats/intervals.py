"""Intervals: the range in which the true value of a metric is expected to lie.

Percentile interval: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from troth.core.errors import UserError
from troth.stats.correlation import vector
from troth.stats.resampling import Array


class Interval(NamedTuple):
    low: Array
    high: Array


class MedianError(NamedTuple):
    median: float
    error: float | None  # None for a single run


def interval(samples: ArrayLike, *, confidence: float = 0.95) -> Interval:
    """The percentile interval of each column of `samples`; undefined resamples are left out, NaN if all are."""
    check_confidence(confidence)
    table = np.asarray(samples, dtype=np.float64)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise ValueError(f"samples must have shape (resamples,) or (resamples, M), not {table.shape}")
    tail = (1 - confidence) / 2
    bounds = np.full((2, table.shape[1]), np.nan)
    for column in range(table.shape[1]):
        defined = table[~np.isnan(table[:, column]), column]
        if defined.size:
            bounds[:, column] = np.quantile(defined, [tail, 1 - tail])
    return Interval(bounds[0], bounds[1])


def check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise UserError(f"the confidence must lie between 0 and 1, not {confidence}", hint="0.95 is usual")


def median_and_error(values: ArrayLike) -> MedianError:
    """Median over several runs (seeds, prompts), with the standard error of their mean: sd (n - 1) over root n."""
    runs = vector(values, "values")
    if runs.size == 0:
        raise ValueError("no values: a median needs at least one run")
    error = float(runs.std(ddof=1)) / math.sqrt(runs.size) if runs.size > 1 else None
    return MedianError(float(np.median(runs)), error)
