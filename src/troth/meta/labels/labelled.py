"""A metric's scores against labels, on all responses and on many resamplings of their documents at once.

AUROC and both correlations are not ratios of sums, so each resampling has to be measured again. With the scores sorted
once, a resampling is a row of weights (how often each response's document was drawn), and all three measures follow
from the weights of positives and negatives at each distinct score. Documents are drawn as everywhere (`stats.draws`):
the same draws for every metric, which makes differences paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from troth import stats
from troth.core.metric import Metric
from troth.core.parts import Floats, Ints, Mask
from troth.stats.estimates import Resampling

AUROC = Metric(
    "auroc", "AUROC", "how often a supported response scores above an unsupported one", scale="number",
    unit="response", top=1.0, compute=stats.auroc,
)  # fmt: skip
SPEARMAN = Metric(
    "spearman", "Spearman", "rank correlation of the scores with the labels", scale="number", unit="response",
    low=-1.0, top=1.0, compute=stats.spearman,
)  # fmt: skip
PEARSON = Metric(
    "pearson", "Pearson", "linear correlation of the scores with the labels", scale="number", unit="response",
    low=-1.0, top=1.0, compute=stats.pearson,
)  # fmt: skip
RANKING = (SPEARMAN, PEARSON, AUROC)  # in the order of the paper's table 3


@dataclass(frozen=True)
class Labelled:
    """Scores with labels, 0 or 1, and the document (by number) of each response."""

    scores: Floats
    labels: Floats
    units: Ints

    def __len__(self) -> int:
        return len(self.scores)

    def take(self, chosen: Mask | Ints) -> Labelled:
        return Labelled(self.scores[chosen], self.labels[chosen], self.units[chosen])

    def measures(self) -> list[float | None]:
        """The measures of `RANKING`; None where one is undefined."""
        return [measure.compute(self.scores, self.labels) for measure in RANKING]

    @cached_property
    def _sorted(self) -> tuple[Ints, Floats, Ints, Floats]:
        """Units and labels by score, where each distinct score begins, and the distinct scores."""
        order = np.argsort(self.scores, kind="stable")
        values, first = np.unique(self.scores[order], return_index=True)
        return self.units[order], self.labels[order], first, values

    def measure_resamples(self, times: Floats) -> Floats:
        """The measures with each document taken as often as `times` says, one row per resampling; NaN if undefined."""
        units, labels, first, values = self._sorted
        if not len(units):
            return np.full((len(times), len(RANKING)), np.nan)
        weight = times[:, units]
        every = np.add.reduceat(weight, first, axis=1)
        positive = np.add.reduceat(weight * labels, first, axis=1)
        return np.column_stack([*_correlations(every, positive, values), _auroc(every, positive)])


def _auroc(every: Floats, positive: Floats) -> Floats:
    negative = every - positive
    below = np.cumsum(negative, axis=1) - negative / 2  # of a tie, half counts as below
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    return _divide((positive * below).sum(axis=1), pairs)


def _correlations(every: Floats, positive: Floats, values: Floats) -> Iterator[Floats]:
    """Spearman's, then Pearson's. Ranks of two labels are a linear function of them, so only scores need ranking."""
    count = every.sum(axis=1, keepdims=True)
    ranks = np.cumsum(every, axis=1) - (every - 1) / 2
    flat = (every > 0).sum(axis=1) < 2  # everything that was drawn has one score
    for x in (ranks, np.broadcast_to(values, every.shape)):
        # Centred first, or the squares of large scores would swamp their differences.
        centred = x - _divide((every * x).sum(axis=1, keepdims=True), count)
        variance = (every * centred**2).sum(axis=1)
        share = _divide(positive.sum(axis=1), count[:, 0])
        together = (positive * centred).sum(axis=1)
        spread = np.sqrt(variance * count[:, 0] * share * (1 - share))
        yield np.where(flat, np.nan, np.clip(_divide(together, spread), -1, 1))


def _divide(above: Floats, below: Floats) -> Floats:
    quotient: Floats = np.divide(above, below, out=np.full(np.broadcast(above, below).shape, np.nan), where=below > 0)
    return quotient


def resample(cells: Sequence[Labelled], documents: int, how: Resampling) -> list[Floats]:
    """The measures of each cell on the same resamplings of the documents: (resamples, measures)."""
    blocks = [
        [cell.measure_resamples(times) for cell in cells]
        for times in stats.draws(documents, resamples=how.resamples, seed=how.seed)
    ]
    return [np.concatenate(column) for column in zip(*blocks, strict=True)]


def assign_bins(scores: Floats, count: int) -> Ints:
    """The number of the bin, from 0, that each score is in, of `count` bins of equal size. Equal scores share a bin."""
    _, index, size = np.unique(scores, return_inverse=True, return_counts=True)
    middle = np.cumsum(size) - size / 2
    numbers: Ints = np.minimum(count - 1, (middle * count / max(len(scores), 1)).astype(np.int64))
    return numbers[index]
