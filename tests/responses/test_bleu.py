"""BLEU from summed counts is sacreBLEU's own."""

from __future__ import annotations

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from troth.responses import bleu as overlap
from troth.stats.estimates import Resampling

WORDS = st.lists(st.sampled_from(["the", "cat", "sat", "on", "a", "mat", "."]), max_size=9).map(" ".join)


@given(st.lists(st.tuples(WORDS, WORDS.filter(bool)), min_size=1, max_size=6))
def test_counts_give_corpus_bleu(pairs: list[tuple[str, str]]) -> None:
    responses, gold = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    ours = overlap.bleu(overlap.count_ngrams(responses, gold).sum(axis=0).tolist())
    assert 100 * ours == pytest.approx(sacrebleu.corpus_bleu(responses, [gold]).score, abs=1e-9)


def test_perfect_is_one_and_empty_is_zero() -> None:
    texts = ["the cat sat on the mat", "which area do you want ?"]
    perfect = overlap.count_ngrams(texts, texts)
    assert overlap.bleu(perfect.sum(axis=0).tolist()) == 1.0
    assert overlap.bleu(overlap.count_ngrams(["", ""], texts).sum(axis=0).tolist()) == 0.0
    found = overlap.estimate(perfect, ["a", "b"], Resampling(20))
    assert found[:4] == (1.0, None, None, 2)  # two perfect dialogues do not make every dialogue perfect
    assert "same value" in (found.note or "")


def test_the_interval_is_over_dialogues() -> None:
    good, bad = overlap.count_ngrams(
        ["the cat sat on the mat", "nothing"], ["the cat sat on the mat", "the cat sat on the mat"]
    )
    names = [str(number) for number in range(20)]
    value, low, high, n, note = overlap.estimate(np.stack([good, bad] * 10), names, Resampling(200))
    assert value is not None
    assert low is not None
    assert high is not None
    assert 0 < low < value < high < 1
    assert (n, note) == (20, None)
    again = overlap.estimate(np.stack([bad, good] * 10), names[::-1], Resampling(200))
    assert again == (value, low, high, n, note)


def test_signature() -> None:
    rules = overlap.signature_rules()
    assert list(rules) == ["nrefs", "case", "eff", "tok", "smooth", "version"]
    assert [rules[name] for name in ("nrefs", "case", "eff", "tok", "smooth")] == ["1", "mixed", "no", "13a", "exp"]


def test_one_dialogue_has_no_interval() -> None:
    perfect = overlap.count_ngrams(["the cat sat on the mat"] * 2, ["the cat sat on the mat"] * 2)
    found = overlap.estimate(perfect, ["b", "b"], Resampling(200))
    assert found == (1.0, None, None, 2, "an interval needs two dialogues or more")


def test_nothing_said_is_a_bleu_of_zero_and_not_left_out() -> None:
    good, empty = overlap.count_ngrams(["the cat sat on the mat", ""], ["the cat sat on the mat"] * 2)
    found = overlap.estimate(np.stack([good, empty]), ["a", "b"], Resampling(200))
    assert (found.low, found.high) == (0.0, 1.0)
