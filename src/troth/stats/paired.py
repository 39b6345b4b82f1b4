"""Paired comparison of two systems on the same dialogues: the difference, its interval, and two tests.

- Paired bootstrap: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapters 6 and 13.
- Approximate randomisation: Noreen (1989); for scores of text, Riezler and Maxwell (2005).
- Holm, A Simple Sequentially Rejective Multiple Test Procedure (1979).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from troth.stats.intervals import check_confidence, interval
from troth.stats.resampling import SWAPS, TIE, Array, columns, divide, on_grid, ratio, resampled, words


@dataclass(frozen=True)
class Comparison:
    """System B against system A on one metric; NaN where the metric is undefined for either."""

    difference: float  # B - A
    low: float
    high: float
    p_bootstrap: float
    p_randomization: float
    dialogues: int


def compare(
    num_a: ArrayLike,
    den_a: ArrayLike,
    num_b: ArrayLike,
    den_b: ArrayLike,
    *,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> list[Comparison]:
    """B - A on the same dialogues, one comparison per metric, with two p-values that answer different questions.

    The paired bootstrap estimates *how large* the difference is on other dialogues of this kind: it gives the interval,
    and `p_bootstrap` is that interval read as a test, twice the smaller share of resampled differences on either side
    of 0 (percentile method). It leans on the sample standing for the population, and is a little too bold when there
    are few dialogues. Approximate randomisation tests *whether the labels A and B matter at all*: if the systems were
    exchangeable, swapping their results in any dialogue would change nothing, so `p_randomization` is the share of
    random swaps that give a difference at least as large as the one seen. It holds for any number of dialogues, but
    says nothing about size. Both are two-sided and count the observed data as one more draw, so that none is ever 0.
    """
    check_confidence(confidence)
    pair = paired(num_a, den_a, num_b, den_b)
    difference = ratio(num_b, den_b) - ratio(num_a, den_a)
    drawn = resampled(pair, difference_of, resamples=resamples, seed=seed)
    low, high = interval(drawn, confidence=confidence)
    below, above = (drawn <= 0).sum(axis=0), (drawn >= 0).sum(axis=0)  # NaN is neither
    p_bootstrap = np.minimum(1, 2 * (np.minimum(below, above) + 1) / ((~np.isnan(drawn)).sum(axis=0) + 1))
    p_swaps = _randomization(pair, resamples=resamples, seed=seed)
    table = np.column_stack([difference, low, high, p_bootstrap, p_swaps])
    table[np.isnan(difference)] = np.nan
    return [Comparison(d, lo, hi, p, q, len(pair.num_a)) for d, lo, hi, p, q in table.tolist()]


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values in the order given. NaN (no test was possible) stays NaN and is not counted."""
    if any(p < 0 or p > 1 for p in p_values):
        raise ValueError("p-values must lie between 0 and 1")
    adjusted = [math.nan] * len(p_values)
    order = sorted((i for i, p in enumerate(p_values) if not math.isnan(p)), key=lambda i: p_values[i])
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


class Pair(NamedTuple):
    """Numerators and denominators of two systems, (D, M) each, a row for each dialogue."""

    num_a: Array
    den_a: Array
    num_b: Array
    den_b: Array


def paired(num_a: ArrayLike, den_a: ArrayLike, num_b: ArrayLike, den_b: ArrayLike) -> Pair:
    """The sums of both systems, rounded so that all further sums are exact."""
    a, b = columns(num_a, den_a), columns(num_b, den_b)
    if a[0].shape != b[0].shape:
        raise ValueError(f"both systems must have the same dialogues and metrics, not {a[0].shape} and {b[0].shape}")
    (num_one, num_two), (den_one, den_two) = on_grid(a[0], b[0]), on_grid(a[1], b[1])
    return Pair(num_one, den_one, num_two, den_two)


def difference_of(num_a: Array, den_a: Array, num_b: Array, den_b: Array) -> Array:
    """B - A from sums of numerators and denominators."""
    return divide(num_b, den_b) - divide(num_a, den_a)


def _randomization(pair: Pair, *, resamples: int, seed: int) -> Array:
    """The share of random swaps of A and B, in each dialogue with probability 1/2, with a difference at least as large.

    Swaps are counted in blocks; none is kept.
    """
    count, metrics = pair.num_a.shape
    num_a, den_a, num_b, den_b = (side.sum(axis=0) for side in pair)
    num_change, den_change = pair.num_b - pair.num_a, pair.den_b - pair.den_a
    seen = np.abs(difference_of(num_a, den_a, num_b, den_b)) - TIE
    extreme, defined = np.zeros(metrics), np.zeros(metrics)
    width, items = (count + 63) // 64, max(count, 4 * metrics)
    for block in words(stream=SWAPS, seed=seed, resamples=resamples, width=width, items=items):
        bits = np.unpackbits(block.view(np.uint8), axis=1, count=count).astype(np.float64)
        num, den = bits @ num_change, bits @ den_change
        swapped = np.abs(difference_of(num_a + num, den_a + den, num_b - num, den_b - den))
        extreme += (swapped >= seen).sum(axis=0)  # NaN is not
        defined += (~np.isnan(swapped)).sum(axis=0)
    return (extreme + 1) / (defined + 1)
