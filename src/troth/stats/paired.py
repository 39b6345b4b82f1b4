"""Paired comparison of two systems on the same dialogues: the difference, its interval, and two tests.

- Interval: the linearised difference of two ratios, with the t distribution over dialogues; widened where few dialogues
  have changed (`difference_bounds`).
- Paired bootstrap: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapters 6 and 13.
- Randomisation: Noreen (1989); for scores of text, Riezler and Maxwell (2005).
- Holm, A Simple Sequentially Rejective Multiple Test Procedure (1979).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from troth.stats import quantiles
from troth.stats.intervals import Bounds, check_confidence, is_share
from troth.stats.resampling import SWAPS, TIE, Array, divide, on_grid, random_words, ratio, resample, to_columns

FEW = 10  # below this many dialogues the p-value of the bootstrap is too small, and not given
EXACT = 12  # up to this many dialogues that differ, all swaps are counted instead of random ones
NEVER = 5  # with at most this many dialogues that differ, no p-value of all swaps is below 0.05: 2 / 2^5 is 0.0625


@dataclass(frozen=True)
class Comparison:
    """System B against system A on one metric. Difference and p are NaN where the metric is undefined for either."""

    difference: float  # B - A
    low: float | None  # None: fewer than two dialogues
    high: float | None
    p_bootstrap: float | None  # None: fewer than ten dialogues, for which it would be too small
    p_randomization: float
    dialogues: int
    note: str | None = None  # what these dialogues cannot show


class PairedSums(NamedTuple):
    """Numerators and denominators of two systems, (D, M) each, a row for each dialogue."""

    num_a: Array
    den_a: Array
    num_b: Array
    den_b: Array

    def metric(self, column: int) -> PairedSums:
        """The sums of one metric, (D,) each, over the dialogues in which either system has a unit."""
        mine = [side[:, column] for side in self]
        scored = (mine[1] != 0) | (mine[3] != 0)
        return PairedSums(*(side[scored] for side in mine))


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

    The randomisation test asks *whether the labels A and B matter at all*: if the systems were exchangeable, swapping
    their results in any dialogue would change nothing, so `p_randomization` is the share of swaps that give a
    difference at least as large as the one seen. All swaps are counted where at most twelve dialogues differ, else
    random ones. It holds for any number of dialogues, but says nothing about size.

    The paired bootstrap asks *how large* the difference is on other dialogues of this kind: `p_bootstrap` is twice the
    smaller share of resampled differences on either side of 0. It takes the sample for the population, and is not given
    for fewer than ten dialogues. Both are two-sided and count the observed data, so that none is ever 0.
    """
    check_confidence(confidence)
    pair = paired(num_a, den_a, num_b, den_b)
    difference = ratio(num_b, den_b) - ratio(num_a, den_a)
    drawn = resample(pair, difference_of, resamples=resamples, seed=seed)
    below, above = (drawn <= 0).sum(axis=0), (drawn >= 0).sum(axis=0)  # NaN is neither
    p_bootstrap = np.minimum(1, 2 * (np.minimum(below, above) + 1) / ((~np.isnan(drawn)).sum(axis=0) + 1))
    p_swaps = _randomization(pair, resamples=resamples, seed=seed)
    made = []
    for column, (value, p, q) in enumerate(
        zip(difference.tolist(), p_bootstrap.tolist(), p_swaps.tolist(), strict=True)
    ):
        if math.isnan(value):
            made.append(Comparison(math.nan, None, None, None, math.nan, len(pair.num_a)))
            continue
        change = Change.from_sums(pair.metric(column))
        low, high, _ = difference_bounds(change, confidence=confidence)
        shown = p if change.dialogues >= FEW else None
        made.append(Comparison(value, low, high, shown, q, len(pair.num_a), _note(change)))
    return made


def _note(change: Change) -> str | None:
    differ = int((change.shifts != 0).sum())
    if differ > NEVER:
        return None
    where = "no dialogue" if differ == 0 else "one dialogue" if differ == 1 else f"{differ} dialogues"
    return f"the systems differ in {where}: a p-value below 0.05 takes at least {NEVER + 1}"


@dataclass(frozen=True)
class Change:
    """How one metric changes from A to B: overall, and dialogue by dialogue."""

    difference: float  # B - A
    pulls: Array  # how far each dialogue pulls the difference from its value: the linearised ratios of sums
    shifts: Array  # each dialogue's part in the difference, which is their mean
    span: float  # the largest possible change of a dialogue: 1 for shares, else as far as dialogues lie apart

    @classmethod
    def from_sums(cls, pair: PairedSums) -> Change:
        """The change in one metric (`PairedSums.metric`)."""
        count = len(pair.num_a)
        num_a, den_a, num_b, den_b = (float(side.sum()) for side in pair)
        a, b = num_a / den_a, num_b / den_b
        pulls = count * ((pair.num_b - b * pair.den_b) / den_b - (pair.num_a - a * pair.den_a) / den_a)
        shifts = count * (pair.num_b / den_b - pair.num_a / den_a)
        shifts[np.abs(shifts) < TIE] = 0
        return cls(b - a, pulls, shifts, _span(pair))

    @property
    def dialogues(self) -> int:
        return len(self.shifts)

    @property
    def deviation(self) -> float:
        """The standard deviation between dialogues."""
        return math.sqrt(float(self.pulls @ self.pulls) / (self.dialogues - 1))

    @property
    def error(self) -> float:
        """The standard error of the difference."""
        return self.deviation / math.sqrt(self.dialogues)


def _span(pair: PairedSums) -> float:
    if is_share(pair.num_a, pair.den_a) and is_share(pair.num_b, pair.den_b):
        return 1.0
    values = np.concatenate([divide(pair.num_a, pair.den_a), divide(pair.num_b, pair.den_b)])
    return float(np.nanmax(values) - np.nanmin(values))


def difference_bounds(change: Change, *, confidence: float = 0.95) -> Bounds:
    """The two-sided interval of a difference.

    It is difference ± t standard errors, and at least so wide that it holds what follows if the true share of
    dialogues that lose (or gain) is the largest that fits the number seen. Where no dialogue has changed, this alone
    tells twenty dialogues from two thousand.
    """
    if change.dialogues < 2:
        return Bounds(None, None, "an interval needs two dialogues or more")
    level = (1 + confidence) / 2
    half = quantiles.t(level, change.dialogues - 1) * change.error
    low = min(change.difference - half, worst_case(change.shifts, change.span, level))
    high = max(change.difference + half, -worst_case(-change.shifts, change.span, level))
    return Bounds(low, high)


def worst_case(shifts: Array, span: float, confidence: float) -> float:
    """The mean shift if as many dialogues lose as Clopper and Pearson's upper bound allows.

    They lose as much as those that were seen to lose and one more, which loses all that can be lost: a sample may well
    lack the few dialogues that a system breaks altogether.
    """
    losses, gains = -shifts[shifts < 0], shifts[shifts > 0]
    loss = (float(losses.sum()) + span) / (losses.size + 1)
    return float(gains.sum()) / len(shifts) - quantiles.share_at_most(losses.size, len(shifts), confidence) * loss


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


def paired(num_a: ArrayLike, den_a: ArrayLike, num_b: ArrayLike, den_b: ArrayLike) -> PairedSums:
    """The sums of both systems, rounded so that all further sums are exact."""
    a, b = to_columns(num_a, den_a), to_columns(num_b, den_b)
    if a[0].shape != b[0].shape:
        raise ValueError(f"both systems must have the same dialogues and metrics, not {a[0].shape} and {b[0].shape}")
    (num_one, num_two), (den_one, den_two) = on_grid(a[0], b[0]), on_grid(a[1], b[1])
    return PairedSums(num_one, den_one, num_two, den_two)


def difference_of(num_a: Array, den_a: Array, num_b: Array, den_b: Array) -> Array:
    """B - A from sums of numerators and denominators."""
    return divide(num_b, den_b) - divide(num_a, den_a)


def _randomization(pair: PairedSums, *, resamples: int, seed: int) -> Array:
    """The p-value of each metric: the share of swaps of A and B that give a difference at least as large."""
    differ = ((pair.num_a != pair.num_b) | (pair.den_a != pair.den_b)).sum(axis=0)
    few = differ <= EXACT
    p = np.empty(len(few))
    p[few] = [of_all_swaps(PairedSums(*(side[:, [column]] for side in pair))) for column in np.flatnonzero(few)]
    if not few.all():
        rest = pair if not few.any() else PairedSums(*(side[:, ~few] for side in pair))
        p[~few] = _of_random_swaps(rest, resamples=resamples, seed=seed)
    return p


def of_all_swaps(pair: PairedSums) -> float:
    """Of one metric, over all choices of dialogues to swap; the ones that are equal need not be."""
    differ = ((pair.num_a != pair.num_b) | (pair.den_a != pair.den_b))[:, 0]
    count = int(differ.sum())
    bits = (np.arange(2**count)[:, None] >> np.arange(count) & 1).astype(np.float64)
    swaps = _Swaps(pair)
    apart = swaps.differences(bits, differ)[:, 0]
    return float((apart >= swaps.seen[0]).sum() / (~np.isnan(apart)).sum()) if len(pair.num_a) else math.nan


def _of_random_swaps(pair: PairedSums, *, resamples: int, seed: int) -> Array:
    """Of each metric, with each dialogue swapped or not at random. Swaps are counted in blocks; none is kept."""
    count, metrics = pair.num_a.shape
    swaps = _Swaps(pair)
    extreme, defined = np.zeros(metrics), np.zeros(metrics)
    width, items = (count + 63) // 64, max(count, 4 * metrics)
    for block in random_words(stream=SWAPS, seed=seed, resamples=resamples, width=width, items=items):
        apart = swaps.differences(np.unpackbits(block.view(np.uint8), axis=1, count=count).astype(np.float64))
        extreme += (apart >= swaps.seen).sum(axis=0)  # NaN is not
        defined += (~np.isnan(apart)).sum(axis=0)
    return (extreme + 1) / (defined + 1)


class _Swaps:
    """Differences of two systems after their results are swapped in some dialogues, without regard to sign."""

    def __init__(self, pair: PairedSums) -> None:
        self._totals = [side.sum(axis=0) for side in pair]
        self._num, self._den = pair.num_b - pair.num_a, pair.den_b - pair.den_a
        self.seen = np.abs(difference_of(*self._totals)) - TIE

    def differences(self, swapped: Array, among: NDArray[np.bool_] | slice = slice(None)) -> Array:
        """A row for each row of `swapped`, which has 1 for a dialogue that is swapped and 0 for one that is not."""
        num_a, den_a, num_b, den_b = self._totals
        num, den = swapped @ self._num[among], swapped @ self._den[among]
        return np.abs(difference_of(num_a + num, den_a + den, num_b - num, den_b - den))
