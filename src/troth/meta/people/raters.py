"""Agreement of annotators among each other: Fleiss' kappa, with an interval over dialogues or documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from troth import stats
from troth.core.metric import Metric
from troth.core.score import Estimate, Score, make_score
from troth.meta.people.sheets import Answers
from troth.stats import intervals
from troth.stats.estimates import Resampling
from troth.stats.resampling import Array, divide, resample

PEOPLE = "people"
KAPPA = Metric("fleiss_kappa", "Fleiss' kappa", "agreement of the annotators beyond chance", scale="number",
               unit="pair", low=-1.0, top=1.0)  # fmt: skip


class RatedItem(NamedTuple):
    """The answers of all annotators to one question about one item."""

    answers: Answers
    cluster: str  # dialogue or document, the unit of resampling
    stratum: int = 0  # of a stratified sheet


def kappa(
    items: Sequence[RatedItem], categories: Sequence[str], how: Resampling, recipe: Any, metric: Metric = KAPPA
) -> Score:
    """Fleiss' kappa with the expanded percentile interval; clusters are drawn within their strata."""
    raters = len(items[0].answers)

    def score(value: float | None, reason: str | None, bounds: intervals.Bounds) -> Score:
        estimate = Estimate(value, bounds.low, bounds.high, len(items), bounds.reason)
        return make_score(PEOPLE, metric, estimate, recipe, reason=reason)

    nothing = intervals.Bounds(None, None)
    if raters < 2:
        return score(None, "one annotator has nobody to agree with", nothing)
    counts = np.array([[item.answers.count(category) for category in categories] for item in items], dtype=np.float64)
    value = stats.fleiss_kappa(counts)
    if value is None:
        return score(None, "all answers are the same", nothing)
    order = sorted({(item.stratum, item.cluster) for item in items})
    index_of = {cluster: number for number, cluster in enumerate(order)}
    sums = np.zeros((len(order), 2 + len(categories)))
    within = ((counts**2).sum(axis=1) - raters) / (raters * (raters - 1))
    np.add.at(sums, np.array([index_of[item.stratum, item.cluster] for item in items]),
              np.column_stack([np.ones(len(items)), within, counts]))  # fmt: skip

    def resampled_kappa(total: Array) -> Array:
        seen, shares = total[:, 1] / total[:, 0], total[:, 2:] / total[:, [0]] / raters
        chance = (shares**2).sum(axis=1)
        # A resample in which everybody says the same has no kappa.
        return divide(seen - chance, np.where(chance < 1 - stats.TIE, 1 - chance, 0))

    sizes = [sum(stratum == other for other, _ in order) for stratum in sorted({other for other, _ in order})]
    resamples = intervals.enough_resamples(len(order), how.resamples) if len(order) > 1 else how.resamples
    drawn = resample([sums], resampled_kappa, resamples=resamples, seed=how.seed, strata=sizes)
    return score(value, None, intervals.expanded_percentile(value, drawn, len(order))[0])
