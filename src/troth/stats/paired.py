"""Paired comparison of two systems on the same dialogues: the difference, its interval, and two tests.

- Paired bootstrap: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapters 6 and 13.
- Approximate randomisation: Noreen (1989); for scores of text, Riezler and Maxwell (2005).
- Holm, A Simple Sequentially Rejective Multiple Test Procedure (1979).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from troth.stats.intervals import check_confidence, interval
from troth.stats.resampling import SWAPS, TIE, Array, columns, divide, on_grid, ratio, resampled_sums, words


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
    a, b = paired_parts(num_a, den_a, num_b, den_b)
    difference = ratio(num_b, den_b) - ratio(num_a, den_a)
    drawn = resampled_differences(a, b, resamples=resamples, seed=seed)
    low, high = interval(drawn, confidence=confidence)
    below, above = (drawn <= 0).sum(axis=0), (drawn >= 0).sum(axis=0)  # NaN is neither
    p_bootstrap = np.minimum(1, 2 * (np.minimum(below, above) + 1) / ((~np.isnan(drawn)).sum(axis=0) + 1))
    swapped, observed = _swapped_differences(a, b, resamples=resamples, seed=seed)
    extreme = (np.abs(swapped) >= np.abs(observed) - TIE).sum(axis=0)
    p_swaps = (extreme + 1) / ((~np.isnan(swapped)).sum(axis=0) + 1)
    table = np.column_stack([difference, low, high, p_bootstrap, p_swaps])
    table[np.isnan(difference)] = np.nan
    return [Comparison(d, lo, hi, p, q, len(a)) for d, lo, hi, p, q in table.tolist()]


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


def paired_parts(num_a: ArrayLike, den_a: ArrayLike, num_b: ArrayLike, den_b: ArrayLike) -> tuple[Array, Array]:
    """The parts of both systems, (D, 2M) each, on one grid."""
    a, b = np.hstack(columns(num_a, den_a)), np.hstack(columns(num_b, den_b))
    if a.shape != b.shape:
        raise ValueError(f"both systems must have the same dialogues and metrics, not {a.shape} and {b.shape}")
    a, b = on_grid(a, b)
    return a, b


def resampled_differences(a: Array, b: Array, *, resamples: int, seed: int) -> Array:
    """B - A on each resample of the dialogues, (resamples, M)."""
    sums = resampled_sums(np.hstack([a, b]), resamples=resamples, seed=seed)
    num_a, den_a, num_b, den_b = np.hsplit(sums, 4)
    return divide(num_b, den_b) - divide(num_a, den_a)


def _swapped_differences(a: Array, b: Array, *, resamples: int, seed: int) -> tuple[Array, Array]:
    """Differences after swapping A and B in each dialogue with probability 1/2, and the one observed."""
    count, metrics = a.shape[0], a.shape[1] // 2
    total_a, total_b, change = a.sum(axis=0), b.sum(axis=0), b - a
    blocks = [np.zeros((0, a.shape[1]))]
    for block in words(stream=SWAPS, seed=seed, resamples=resamples, width=(count + 63) // 64, items=count):
        bits = np.unpackbits(block.view(np.uint8), axis=1, count=count)
        blocks.append(bits.astype(np.float64) @ change)
    moved = np.concatenate(blocks)
    new_a, new_b = total_a + moved, total_b - moved
    swapped = divide(new_b[:, :metrics], new_b[:, metrics:]) - divide(new_a[:, :metrics], new_a[:, metrics:])
    observed = divide(total_b[:metrics], total_b[metrics:]) - divide(total_a[:metrics], total_a[metrics:])
    return swapped, observed
