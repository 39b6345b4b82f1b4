"""U-F1, BLEU and ROUGE-L of a response against its document: values by hand, and the code that they come from."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import sacrebleu
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from troth.grounding import overlap as grounding
from troth.grounding.metrics import Unscored
from troth.readers import grounded

METRICS = (grounding.u_f1, grounding.bleu, grounding.rouge_l, grounding.coverage)
TEXT = st.text(alphabet="aAbB eEx.,!'é3\n", max_size=40)

NLP = spacy.blank("en")
ROUGE = RougeScorer(["rougeL"], use_stemmer=True)


def authors_f1(document: str, response: str) -> float:
    """The function that PMI-Faith's authors took from Q2's, with rules in place of the model."""
    gold, pred = (
        [token.text.lower() for token in NLP(text) if not token.is_stop and not token.is_punct]
        for text in (document.lower(), response)
    )
    same = (Counter(gold) & Counter(pred)).total()
    if same == 0:
        return 0.0
    precision, recall = same / len(pred), same / len(gold)
    return 2 * precision * recall / (precision + recall)


def authors_bleu(document: str, response: str) -> float:
    return sacrebleu.corpus_bleu([response], [[document.lower()]]).score / 100


def authors_rouge(document: str, response: str) -> float:
    return float(ROUGE.score(document, response)["rougeL"].fmeasure)


@pytest.mark.parametrize(
    ("document", "response", "value"),
    [
        ("", "", 0.0),
        ("", "Crayons", 0.0),
        ("Crayons are red.", "Skis are long.", 0.0),  # the stop word "are" is no overlap
        ("Yes, it is.", "Yes, it is!", 2 / 2),  # of these only "yes" is a word here
        ("It is.", "It is!", 0.0),  # nothing is left
        ("CRAYONS are Red", "crayons", 2 * 1 / (2 + 1)),
        ("red red wine", "Red wine wine", 2 * 2 / (3 + 3)),  # multisets
    ],
)
def test_u_f1(document: str, response: str, value: float) -> None:
    assert grounding.u_f1(document, response) == pytest.approx(value)


@pytest.mark.parametrize(
    ("document", "response", "value"),
    [
        ("The skis were very long.", "the skis were very long.", 1.0),
        ("The skis were very long.", "The skis were very long.", (1 / 3) ** 0.25),  # "The" is not "the"
        ("the skis were very long.", "crayons!", 0.0),
        ("a b c", "a b c", 0.0),  # no four-gram, and no effective order that would pass over it
    ],
)
def test_bleu(document: str, response: str, value: float) -> None:
    assert grounding.bleu(document, response) == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize(
    ("document", "response", "value"),
    [
        ("", "word", 0.0),
        ("Running dogs, barking.", "dog barks run", 2 * 2 / 6),  # dog bark
        ("Running quickly, barking!", "runs quick barks", 2 * 2 / 6),  # run bark; "quickly" is "quickli"
        ("one two three four five", "one three five", 2 * 3 / 8),
        ("one two three", "three two one", 2 * 1 / 6),
    ],
)
def test_rouge_l(document: str, response: str, value: float) -> None:
    assert grounding.rouge_l(document, response) == pytest.approx(value)
    assert grounding.rouge_l(document, response) == pytest.approx(authors_rouge(document, response))


@given(TEXT, TEXT)
@settings(max_examples=150, deadline=None)
def test_as_the_code_that_it_comes_from(document: str, response: str) -> None:
    assert grounding.u_f1(document, response) == pytest.approx(authors_f1(document, response), abs=1e-12)
    assert grounding.bleu(document, response) == pytest.approx(authors_bleu(document, response), abs=1e-12)
    assert grounding.rouge_l(document, response) == pytest.approx(authors_rouge(document, response), abs=1e-12)
    values = [metric(document, response) for metric in METRICS]
    assert all(isinstance(value, Unscored) or 0 <= value <= 1 for value in values)


@pytest.mark.shared
def test_as_that_code_on_real_data(shared: Path) -> None:
    for item in list(grounded.read(str(shared / "data/begin/topicalchat/begin_dev_tc.tsv")))[:60]:
        pair = (item.document, item.response)
        assert grounding.u_f1(*pair) == pytest.approx(authors_f1(*pair), abs=1e-12)
        assert grounding.bleu(*pair) == pytest.approx(authors_bleu(*pair), abs=1e-12)
        assert grounding.rouge_l(*pair) == pytest.approx(authors_rouge(*pair), abs=1e-12)


@pytest.mark.parametrize(
    ("document", "response", "expected"),
    [
        ("Skis are long. Snow is white.", "Skis are long.", 1.0),  # what is left out is no fault
        ("Skis are long.", "Long skiing!", 1.0),  # stemmed
        ("Skis are long.", "Skis are short, short and wide.", 2 / 6),  # every word counts, as often as it is said
        ("Skis are long.", "Crayons", 0.0),
        ("", "Skis", 0.0),
    ],
)
def test_coverage(document: str, response: str, expected: float) -> None:
    assert grounding.coverage(document, response) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["?!", "早餐供应到十点。", "до десяти"])
def test_coverage_of_a_response_without_words_that_it_knows(text: str) -> None:
    assert isinstance(grounding.coverage(text, text), Unscored)
