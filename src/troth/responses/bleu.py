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
from troth.core.extras import install_command
from troth.core.score import Estimate
from troth.stats import intervals
from troth.stats.estimates import Resampling

ORDERS = 4
MISSING = f"sacrebleu is not installed: {install_command('text')}"

Counts = NDArray[np.float64]  # a row per response: 4 matched, 4 tried, length of the response, length of gold


def is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("sacrebleu") is not None


def signature_rules() -> dict[str, str]:
    """sacreBLEU's own signature for one reference, by rule: nrefs, case, eff, tok, smooth, version."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU()
    metric.corpus_score(["a"], [["a"]])  # until something is scored, the number of references is not known
    return dict(part.split(":", 1) for part in str(metric.get_signature()).split("|"))


def count_ngrams(responses: Sequence[str], gold: Sequence[str]) -> Counts:
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


def estimate(counts: Counts, dialogues: Sequence[str], how: Resampling) -> Estimate:
    """Corpus BLEU of responses with its interval over dialogues (`dialogues`: the dialogue of each response)."""
    names = sorted(set(dialogues))
    code_of = {name: code for code, name in enumerate(names)}
    summed = np.zeros((len(names), counts.shape[1]))
    np.add.at(summed, [code_of[name] for name in dialogues], counts)
    value = bleu(summed.sum(axis=0).tolist())
    resamples = intervals.enough_resamples(len(names), how.resamples)
    # Means of the counts, times how many dialogues are drawn.
    drawn = stats.bootstrap(summed, np.ones_like(summed), resamples=resamples, seed=how.seed) * len(names)
    samples = [bleu(row) if row[-1] else math.nan for row in drawn.tolist()]
    (bounds,) = intervals.expanded_percentile(value, samples, len(names))
    low, high = (None if end is None else min(max(end, 0.0), 1.0) for end in (bounds.low, bounds.high))
    return Estimate(value, low, high, len(counts), bounds.reason)
