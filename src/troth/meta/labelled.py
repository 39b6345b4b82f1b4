"""A metric's scores against labels, on all responses and on many resamplings of their documents at once.

AUROC and both correlations are no ratios of sums, so each resampling has to be scored anew. With the scores sorted
once, a resampling is a row of weights (how often each response's document was drawn), and all three follow from the
weights of positives and negatives at each distinct score. Documents are drawn as everywhere (`stats.bootstrap`): the
same draw for every metric, which makes differences paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from troth import stats
from troth.stats import Array

MEASURES = ("spearman", "pearson", "auroc")  # in the order of the paper's table 3

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Labelled:
    """Scores with labels, 0 or 1, and the document (by number) that each response is from."""

    scores: Array
    labels: Array
    units: Places

    def __len__(self) -> int:
        return len(self.scores)

    def take(self, chosen: NDArray[np.bool_] | Places) -> Labelled:
        return Labelled(self.scores[chosen], self.labels[chosen], self.units[chosen])

    def measures(self) -> dict[str, float | None]:
        found = (stats.spearman, stats.pearson, stats.auroc)
        return {name: measure(self.scores, self.labels) for name, measure in zip(MEASURES, found, strict=True)}

    @cached_property
    def _sorted(self) -> tuple[Places, Array, Places, Array]:
        """Units and labels by score, where each distinct score begins, and these scores."""
        order = np.argsort(self.scores, kind="stable")
        values, first = np.unique(self.scores[order], return_index=True)
        return self.units[order], self.labels[order], first, values

    def drawn(self, times: Array) -> Array:
        """The measures with each document taken as often as `times` says, a row a resampling; NaN where undefined."""
        units, labels, first, values = self._sorted
        if not len(units):
            return np.full((len(times), len(MEASURES)), np.nan)
        weight = times[:, units]
        every = np.add.reduceat(weight, first, axis=1)
        positive = np.add.reduceat(weight * labels, first, axis=1)
        return np.column_stack([*_correlations(every, positive, values), _auroc(every, positive)])


def _auroc(every: Array, positive: Array) -> Array:
    negative = every - positive
    below = np.cumsum(negative, axis=1) - negative / 2  # of a tie, half counts as below
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    return _divided((positive * below).sum(axis=1), pairs)


def _correlations(every: Array, positive: Array, values: Array) -> Iterator[Array]:
    """Spearman's, then Pearson's. Ranks of two labels are a line through them, so only the scores need ranking."""
    count = every.sum(axis=1, keepdims=True)
    ranks = np.cumsum(every, axis=1) - (every - 1) / 2
    flat = (every > 0).sum(axis=1) < 2  # all that was drawn has one score
    for x in (ranks, np.broadcast_to(values, every.shape)):
        # Centred first, or the squares of large scores would drown their differences.
        centred = x - _divided((every * x).sum(axis=1, keepdims=True), count)
        variance = (every * centred**2).sum(axis=1)
        share = _divided(positive.sum(axis=1), count[:, 0])
        together = (positive * centred).sum(axis=1)
        spread = np.sqrt(variance * count[:, 0] * share * (1 - share))
        yield np.where(flat, np.nan, np.clip(_divided(together, spread), -1, 1))


def _divided(above: Array, below: Array) -> Array:
    found: Array = np.divide(above, below, out=np.full(np.broadcast(above, below).shape, np.nan), where=below > 0)
    return found


def resampled(cells: Sequence[Labelled], documents: int, *, resamples: int, seed: int) -> list[Array]:
    """Each cell's measures on the same resamplings of the documents, (resamples, measures)."""
    made: list[list[Array]] = [[] for _ in cells]
    for times in draws(documents, resamples=resamples, seed=seed):
        for mine, cell in zip(made, cells, strict=True):
            mine.append(cell.drawn(times))
    return [np.concatenate(mine) if mine else np.zeros((0, len(MEASURES))) for mine in made]


def draws(documents: int, *, resamples: int, seed: int) -> Iterator[Array]:
    """How often each document is drawn, a row a resampling: those of `stats.bootstrap` for the same seed."""
    if documents:
        yield from stats.draws(documents, resamples=resamples, seed=seed)


# -- bins --------------------------------------------------------------------------------------------------------------


def bins(scores: Array, count: int) -> Places:
    """Which of `count` bins of equal size each score falls into, from 0. Equal scores share a bin."""
    _, place, size = np.unique(scores, return_inverse=True, return_counts=True)
    middle = np.cumsum(size) - size / 2
    found: Places = np.minimum(count - 1, (middle * count / max(len(scores), 1)).astype(np.int64))
    return found[place]
