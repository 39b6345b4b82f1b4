"""BLEU against gold utterances, by sacreBLEU: corpus BLEU from counts that are summed over any responses.

Each response is kept as its ten counts (n-grams matched and tried for n = 1 to 4, both lengths). The score of a corpus,
of a group and of a resampled corpus is sacreBLEU's of the summed counts. Values are fractions, like every score here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from troth import stats

ORDERS = 4
MISSING = 'sacrebleu is not installed: pip install "troth[text]"'

Counts = NDArray[np.float64]  # a row a response: 4 matched, 4 tried, length of the response, length of gold


class Interval(NamedTuple):
    value: float
    low: float
    high: float


def available() -> bool:
    from importlib.util import find_spec

    return find_spec("sacrebleu") is not None


def signature() -> str:
    """sacreBLEU's own, for one reference."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU()
    metric.corpus_score(["a"], [["a"]])  # until something is scored, the number of references is not known
    return str(metric.get_signature())


def counts(responses: Sequence[str], gold: Sequence[str]) -> Counts:
    """The counts of each response against its gold utterance."""
    from sacrebleu.metrics.bleu import BLEU

    # Effective order moves the score of a sentence, which is not used, and none of its counts.
    metric = BLEU(effective_order=True)
    made = np.zeros((len(responses), 2 * ORDERS + 2))
    for row, response, reference in zip(made, responses, gold, strict=True):
        score = metric.sentence_score(response, [reference])
        row[:] = [*score.counts, *score.totals, score.sys_len, score.ref_len]
    return made


def bleu(summed: Sequence[float]) -> float:
    """Corpus BLEU of summed counts, from 0 to 1."""
    from sacrebleu.metrics.bleu import BLEU

    whole = [round(count) for count in summed]
    matched, tried = whole[:ORDERS], whole[ORDERS : 2 * ORDERS]
    score = float(BLEU.compute_bleu(matched, tried, whole[-2], whole[-1], smooth_method="exp").score)
    return min(1.0, score / 100)  # rounding brings a perfect score a little above


def interval(by_dialogue: Counts, *, resamples: int = 1000, seed: int = 0) -> Interval:
    """BLEU of counts summed per dialogue (dialogues in the order of their ids), with its percentile interval.

    A group's counts are 0 for dialogues that are not of it. A resample that draws none of the group has no BLEU and is
    left out, as for every ratio; the bounds are NaN if all are such.
    """
    if not len(by_dialogue):
        raise ValueError("no dialogue to score")
    # Sums over one and the same draw as every ratio's: means of the counts, times how many are drawn.
    drawn = stats.bootstrap(by_dialogue, np.ones_like(by_dialogue), resamples=resamples, seed=seed) * len(by_dialogue)
    low, high = stats.interval([bleu(row) if row[-1] else math.nan for row in drawn.tolist()])
    return Interval(bleu(by_dialogue.sum(axis=0).tolist()), float(low[0]), float(high[0]))
