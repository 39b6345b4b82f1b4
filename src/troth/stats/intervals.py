"""Intervals: the range in which the true value of a metric is expected to lie, from the spread between dialogues.

- Shares: Wilson's interval (1927) with the t distribution and an effective sample size, after Korn and Graubard (1998)
  and Dean and Pagano (2015), who have it for clustered surveys. Where few dialogues hold an error, the effective size
  is drawn towards the number of dialogues (`share`): this is ours, and the reason is in docs/statistics.md.
- Means of graded values (between 0 and a bound, not counts): the same formula, whose effective size may then be larger
  than the number of units, so that it is close to the interval of Student's t wherever that one can be trusted.
- Other numbers: the expanded percentile interval of the bootstrap (Hesterberg, What Teachers Should Know about the
  Bootstrap, 2015). For very few dialogues it is not narrower than Student's t (this is ours, too).
- AUROC: the jackknife over documents on the logit scale, with the degrees of freedom of Welch and Satterthwaite, and
  never beyond the exact interval for as many independent pairs as there are documents with a positive and a negative.
- Medians over runs: the standard error of a median is 1.2533 times that of a mean.

All need two dialogues or more: one says nothing about how much dialogues differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from troth.core.errors import UserError
from troth.stats import correlation, quantiles
from troth.stats.correlation import vector
from troth.stats.resampling import Array, to_columns

FEW = 10  # below this many dialogues, an expanded percentile is at least as wide as the interval of Student's t
REACHED = 5  # from this many dialogues on, resamples can be extreme enough for an expanded percentile
BEYOND = 10  # resamples that should lie beyond each end of an interval
MEDIAN = 1.2533  # standard error of a median over that of a mean, for normal values: the root of pi / 2


class Bounds(NamedTuple):
    """Both ends of an interval, or the reason why there is none."""

    low: float | None
    high: float | None
    reason: str | None = None


class MedianError(NamedTuple):
    """A median over runs, and its error: half of an interval, or a standard error."""

    median: float
    error: float | None  # None for a single run


def share(
    num: ArrayLike,
    den: ArrayLike,
    *,
    top: float = 1.0,
    confidence: float = 0.95,
    strata: ArrayLike | None = None,
    cluster: str = "dialogue",
    graded: bool = False,
) -> list[Bounds]:
    """Wilson's interval of each share, for dialogues whose units resemble each other.

    `num` and `den` are sums per dialogue, of shape (D,) or (D, M). `top` is the largest possible value of a unit: the
    mean of any units between 0 and `top` is a share of it. `strata`: the stratum of each dialogue, where they were
    drawn by strata: only differences within a stratum then count as spread. `cluster`: what reasons call a dialogue.

    The variance v of the ratio r between dialogues is that of n = r(1 - r)/v independent units. It is estimated well
    only where many dialogues hold an error: where k dialogues do, 1/n is averaged with 1/D, the value for dialogues
    whose units are all alike, with the weights k and 1. Right and wrong may change places. `graded`: units have grades
    between 0 and `top` rather than being right or wrong; k is then the effective number of dialogues that the loss
    comes from, and the weights are k and 1 - k/D: with losses of equal size nothing is averaged.
    """
    check_confidence(confidence)
    n, d = to_columns(num, den)
    place = np.zeros(len(n), dtype=np.int64) if strata is None else np.unique(strata, return_inverse=True)[1]
    shares = (_share(n[:, m] / top, d[:, m], place, confidence, cluster, graded) for m in range(n.shape[1]))
    return [one if one.low is None or one.high is None else Bounds(one.low * top, one.high * top) for one in shares]


def _share(num: Array, den: Array, strata: NDArray[np.int64], confidence: float, cluster: str, graded: bool) -> Bounds:
    num, den, strata = num[den > 0], den[den > 0], strata[den > 0]
    dialogues, total = len(den), float(den.sum())
    reason = _too_few(dialogues, cluster)
    if reason is not None:
        return Bounds(None, None, reason)
    if not is_share(num, den):
        raise ValueError("a share's numerators lie between 0 and its denominators")
    r = min(float(num.sum()) / total, 1.0)
    spread = r * (1 - r)
    variance = _spread(num - r * den, strata) / total**2
    if not graded or variance <= 1e-16 * spread:  # grades that are all equal do not show their spread
        erring, weight = float(count_erring(num, den)), 1.0
        size = min(spread / variance, total) if variance > 0 and spread > 0 else total
    else:
        erring = min(_effective_count((den - num) / den), _effective_count(num / den))
        weight, size = max(0.0, 1 - erring / dialogues), spread / variance
    size = (erring + weight) / (erring / size + weight / dialogues)
    t2 = quantiles.t((1 + confidence) / 2, dialogues - 1) ** 2
    centre = (r + t2 / (2 * size)) / (1 + t2 / size)
    half = math.sqrt(t2 * spread / size + (t2 / size) ** 2 / 4) / (1 + t2 / size)
    # Rounding may put an end a little beyond 0, 1, or the share itself.
    return Bounds(max(0.0, min(centre - half, r)), min(1.0, max(centre + half, r)))


def _spread(pulls: Array, strata: NDArray[np.int64]) -> float:
    """The variance of a sum of independent pulls, as they differ within their strata."""
    sizes = np.bincount(strata)
    if sizes.size == 1:  # their mean is 0, but for rounding
        return pulls.size / (pulls.size - 1) * float((pulls**2).sum())
    means = np.bincount(strata, pulls) / np.maximum(sizes, 1)
    # A stratum of one dialogue shows no spread of its own; its distance from 0 is taken.
    apart = np.where(sizes[strata] > 1, pulls - means[strata], pulls)
    return float((sizes[strata] / np.maximum(sizes[strata] - 1, 1) * apart**2).sum())


def is_share(num: Array, den: Array) -> bool:
    """Whether every numerator is between 0 and its denominator, except for rounding."""
    slack = 1e-9 * np.abs(den)
    return bool(((num >= -slack) & (num <= den + slack)).all())


def count_erring(num: Array, den: Array) -> int:
    """The number of dialogues that hold an error, or of those that hold a success, whichever is smaller."""
    slack = 1e-9 * np.abs(den)
    return min(int((num < den - slack).sum()), int((num > slack).sum()))


def _effective_count(losses: Array) -> float:
    """How many dialogues losses come from: all of them if the losses are equal, one if the others have none."""
    positive = np.maximum(losses, 0.0)
    return float(positive.sum() ** 2 / (positive**2).sum()) if positive.any() else 0.0


def expanded_percentile(
    values: ArrayLike,
    samples: ArrayLike,
    dialogues: int | Sequence[int],
    *,
    confidence: float = 0.95,
    cluster: str = "dialogue",
) -> list[Bounds]:
    """The expanded percentile interval of each column of `samples`; undefined resamples are left out.

    `values` are the values on the dialogues themselves; `dialogues` is how many of them there are, for all columns or
    for each. Resamples of few dialogues are never extreme enough: below ten dialogues, the interval is at least the
    value ± t standard errors of the bootstrap.
    """
    check_confidence(confidence)
    table = np.asarray(samples, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    centres = np.atleast_1d(np.asarray(values, dtype=np.float64)).tolist()
    counts = [dialogues] * len(centres) if isinstance(dialogues, int) else list(dialogues)
    if table.ndim != 2 or not table.shape[1] == len(centres) == len(counts):
        raise ValueError(f"there must be a value and a number of dialogues for each column, not {len(centres)}")
    columns_of = zip(centres, table.T, counts, strict=True)
    return [
        _expanded(value, column[~np.isnan(column)], count, confidence, cluster) for value, column, count in columns_of
    ]


def _expanded(value: float, samples: Array, dialogues: int, confidence: float, cluster: str) -> Bounds:
    reason = _too_few(dialogues, cluster)
    if reason is None and (math.isnan(value) or not samples.size):
        reason = "the metric is not defined"
    if reason is None and samples.min() == samples.max():
        reason = no_spread(cluster)
    if reason is not None:
        return Bounds(None, None, reason)
    tail = expanded_tail(dialogues, confidence)
    low, high = np.quantile(samples, [tail, 1 - tail]).tolist()
    half = 0.0
    if dialogues < FEW:
        error = float(samples.std()) * math.sqrt(dialogues / (dialogues - 1))
        half = quantiles.t((1 + confidence) / 2, dialogues - 1) * error
    return Bounds(min(low, value - half), max(high, value + half))


def expanded_tail(dialogues: int, confidence: float = 0.95) -> float:
    """The share of resamples beyond each end of an expanded percentile interval: below 0.025, the fewer dialogues.

    A normal distribution with this tail, scaled down as the bootstrap of D dialogues is, has the tail of Student's t.
    """
    expand = math.sqrt(dialogues / (dialogues - 1))
    return quantiles.normal_tail(expand * quantiles.t((1 + confidence) / 2, dialogues - 1))


def enough_resamples(dialogues: int, resamples: int, confidence: float = 0.95) -> int:
    """The number of resamples that an expanded percentile needs, if it is more than `resamples`."""
    if dialogues < REACHED:
        return resamples
    return max(resamples, math.ceil(BEYOND / expanded_tail(dialogues, confidence)))


def auroc(scores: ArrayLike, labels: ArrayLike, documents: ArrayLike, *, confidence: float = 0.95) -> Bounds:
    """The interval of an AUROC, by leaving out each document in turn, on the logit scale.

    The degrees of freedom are those of Welch and Satterthwaite, from the documents with a positive and those with a
    negative. As many pairs as the fewer of these can be drawn without a common document: the exact interval of a share
    (Clopper and Pearson) for this many pairs holds for any distribution, and no end lies beyond it. At 1 (and at 0),
    where leaving out a document changes nothing, the interval is its one-sided bound.
    """
    check_confidence(confidence)
    values, truth, places = vector(scores, "scores"), vector(labels, "labels"), np.asarray(documents)
    area = correlation.auroc(values, truth)
    if area is None:
        return Bounds(None, None, "AUROC needs a positive and a negative")
    holding = min(len(np.unique(places[truth == label])) for label in (0, 1))
    if holding < 2:
        return Bounds(None, None, "an interval needs two documents or more with a positive, and with a negative")
    if area in (0, 1):
        bound = 1 - quantiles.share_at_most(0, holding, confidence)
        return Bounds(bound, 1.0) if area == 1 else Bounds(0.0, 1 - bound)
    areas = _leave_one_out(values, truth, places)
    logits = np.log(areas / (1 - areas))
    if np.ptp(logits) < 1e-12:  # all scores are equal, for example
        return Bounds(None, None, no_spread("document"))
    error = math.sqrt((len(logits) - 1) * float(logits.var()))
    half = quantiles.t((1 + confidence) / 2, _degrees(values, truth, places)) * error
    centre = math.log(area / (1 - area))
    low, high = ((1 + math.tanh(end / 2)) / 2 for end in (centre - half, centre + half))  # back from the logit scale
    right, wrong, tail = holding * area, holding * (1 - area), (1 - confidence) / 2
    return Bounds(
        max(low, quantiles.beta(tail, right, wrong + 1)), min(high, quantiles.beta(1 - tail, right + 1, wrong))
    )


def _degrees(values: Array, truth: Array, places: NDArray[Any]) -> float:
    """Degrees of freedom of an AUROC's variance, which has a part from positives and one from negatives."""
    ranks = correlation.ranks(values)
    variances, degrees = [], []
    for label in (1, 0):
        own = truth == label
        beaten = (ranks[own] - correlation.ranks(values[own])) / (~own).sum()  # share of the other class that is lower
        _, place = np.unique(places[own], return_inverse=True)
        pulls = np.bincount(place, beaten - beaten.mean()) / own.sum()
        degrees.append(len(pulls) - 1)
        variances.append(len(pulls) / degrees[-1] * float((pulls**2).sum()))
    if not sum(variances):
        return float(min(degrees))
    return float(sum(variances) ** 2 / sum(v**2 / d for v, d in zip(variances, degrees, strict=True)))


def _leave_one_out(values: Array, truth: Array, places: NDArray[Any]) -> Array:
    """The AUROC without each document, kept half a pair away from 0 and 1."""
    _, place = np.unique(places, return_inverse=True)
    good, bad = truth == 1, truth == 0
    ranks, inner = correlation.ranks(values), _ranks_within(values, place)
    wins = np.empty(len(values))  # pairs that each response takes part in and that are ranked rightly
    wins[good] = ranks[good] - correlation.ranks(values[good])
    wins[bad] = good.sum() - (ranks[bad] - correlation.ranks(values[bad]))
    # A document takes its pairs along; those between two of its own responses are counted twice.
    twice = inner[good] - _ranks_within(values[good], place[good])
    positives, negatives = np.bincount(place, good), np.bincount(place, bad)
    lost = np.bincount(place, wins) - np.bincount(place[good], twice, minlength=len(positives))
    pairs = (positives.sum() - positives) * (negatives.sum() - negatives)
    areas: Array = (wins[good].sum() - lost) / pairs
    return np.clip(areas, 0.5 / pairs, 1 - 0.5 / pairs)


def _ranks_within(values: Array, group: NDArray[np.int64]) -> Array:
    """Ranks from 1 within each group, ties sharing their average."""
    _, code = np.unique(values, return_inverse=True)
    _, place, size = np.unique(group * (len(values) + 1) + code, return_inverse=True, return_counts=True)
    sizes = np.bincount(group)
    before = (np.cumsum(sizes) - sizes)[group]  # in groups that come earlier
    ranks: Array = (np.cumsum(size) - (size - 1) / 2)[place] - before
    return ranks


def check_confidence(confidence: float) -> None:
    """Refuses a confidence that is not between 0 and 1."""
    if not 0 < confidence < 1:
        raise UserError(f"the confidence must lie between 0 and 1, not {confidence}", hint="0.95 is usual")


def median_and_error(values: ArrayLike, *, confidence: float = 0.95) -> MedianError:
    """The median over several runs (seeds, prompts), with the half-width of its interval: t · 1.2533 · s / √n."""
    check_confidence(confidence)
    runs = vector(values, "values")
    if runs.size == 0:
        raise ValueError("no values: a median needs at least one run")
    half = None
    if runs.size > 1:
        spread = float(runs.std(ddof=1)) / math.sqrt(runs.size)
        half = quantiles.t((1 + confidence) / 2, runs.size - 1) * MEDIAN * spread
    return MedianError(float(np.median(runs)), half)


def median_and_standard_error(values: ArrayLike) -> MedianError:
    """The median over several runs with their standard error, s / √n, as CheckDST's tables print it."""
    runs = vector(values, "values")
    if runs.size == 0:
        raise ValueError("no values: a median needs at least one run")
    error = float(runs.std(ddof=1)) / math.sqrt(runs.size) if runs.size > 1 else None
    return MedianError(float(np.median(runs)), error)


def _too_few(count: int, cluster: str) -> str | None:
    if count >= 2:
        return None
    return f"an interval needs two {cluster}s or more" if count else f"no {cluster} is scored"


def no_spread(cluster: str) -> str:
    return f"every {cluster} gives the same value, so their spread is unknown"
