"""BLEU against gold utterances, by sacreBLEU: corpus BLEU from counts that are summed over any responses.

Each response is kept as its ten counts (n-grams matched and tried for n = 1 to 4, both lengths). The score of a corpus,
of a group and of a resampled corpus is sacreBLEU's score of the summed counts. Values are fractions, as everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from troth import stats
from troth.stats.estimates import Estimate, Resampling

ORDERS = 4
MISSING = 'sacrebleu is not installed: pip install "troth[text]"'

Counts = NDArray[np.float64]  # a row per response: 4 matched, 4 tried, length of the response, length of gold


def available() -> bool:
    """Whether sacreBLEU is installed."""
    from importlib.util import find_spec

    return find_spec("sacrebleu") is not None


def rules() -> dict[str, str]:
    """sacreBLEU's own signature for one reference, by rule: nrefs, case, eff, tok, smooth, version."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU()
    metric.corpus_score(["a"], [["a"]])  # until something is scored, the number of references is not known
    return dict(part.split(":", 1) for part in str(metric.get_signature()).split("|"))


def counts(responses: Sequence[str], gold: Sequence[str]) -> Counts:
    """The counts of each response against its gold utterance."""
    from sacrebleu.metrics.bleu import BLEU

    # Effective order changes the score of a sentence, which is not used, and none of its counts.
    metric = BLEU(effective_order=True)
    table = np.zeros((len(responses), 2 * ORDERS + 2))
    for row, response, reference in zip(table, responses, gold, strict=True):
        score = metric.sentence_score(response, [reference])
        row[:] = [*score.counts, *score.totals, score.sys_len, score.ref_len]
    return table


def bleu(summed: Sequence[float]) -> float:
    """Corpus BLEU of summed counts, from 0 to 1."""
    from sacrebleu.metrics.bleu import BLEU

    whole = [round(count) for count in summed]
    matched, tried = whole[:ORDERS], whole[ORDERS : 2 * ORDERS]
    score = float(BLEU.compute_bleu(matched, tried, whole[-2], whole[-1], smooth_method="exp").score)
    return min(1.0, score / 100)  # rounding brings a perfect score a little above


def estimate(counts: Counts, dialogues: Sequence[str], every: Sequence[str], how: Resampling) -> Estimate:
    """Corpus BLEU of some responses with its percentile interval over dialogues.

    `dialogues`: the dialogue of each response. `every`: all dialogues that are resampled, whatever their order. A
    resample that draws none of these responses has no BLEU and is left out, as for every ratio.
    """
    place = {name: code for code, name in enumerate(sorted(set(every)))}
    summed = np.zeros((len(place), counts.shape[1]))
    np.add.at(summed, [place[name] for name in dialogues], counts)
    # The same draws as for every ratio: means of the counts, times how many dialogues are drawn.
    drawn = stats.bootstrap(summed, np.ones_like(summed), resamples=how.resamples, seed=how.seed) * len(summed)
    low, high = stats.interval([bleu(row) if row[-1] else math.nan for row in drawn.tolist()])
    bounds = [None if math.isnan(bound[0]) else float(bound[0]) for bound in (low, high)]
    return Estimate(bleu(summed.sum(axis=0).tolist()), bounds[0], bounds[1], len(counts))
