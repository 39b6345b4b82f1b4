"""The rules that make the training pairs of the entailment models."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from training.nli.bindings import bindings
from training.nli.chat import BEFORE, OWN, OWN_BEFORE, chat_pairs
from training.nli.claims import fused, shortened, swapped, window
from training.nli.data import Pair
from training.nli.documents import detokenised, is_kept_apart
from training.nli.statements import statement
from training.nli.words import labelled_words, mark_pairs

DOCUMENT = "Normandy is a region in France. Rollo led the Norse until 927. William was crowned in 1066 by Aldred."


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("In what country is Normandy located?", "France", "Normandy is located in France."),
        ("Who led the Norse?", "Rollo", "Rollo led the Norse."),
        ("When was William crowned?", "1066", "William was crowned in 1066."),
        ("What is the name of the region?", "Normandy", "The name of the region is Normandy."),
        ("How many people live in Paris?", "Two million", "Two million people live in Paris."),
        ("Why did they leave?", "war", None),
        ("What was it that the settlers there did?", "farm", None),
        ("", "", None),
    ],
)
def test_question_and_answer_become_a_statement(question: str, answer: str, expected: str | None) -> None:
    assert statement(question, answer, DOCUMENT) == expected


def test_detokenised() -> None:
    assert detokenised("He ( born 1950 ) did n't say `` no '' , ever .") == 'He (born 1950) didn\'t say "no", ever.'
    assert detokenised("") == ""


def test_made_up_claims_have_a_true_and_a_wrong_one_of_each_document() -> None:
    pairs = list(bindings(random.Random(1), 200))
    for right, wrong in zip(pairs[::2], pairs[1::2], strict=True):
        assert (right.label, wrong.label) == ("entailment", "contradiction")
        assert right.premise == wrong.premise
        assert right.hypothesis != wrong.hypothesis
        assert right.hypothesis.rstrip(".").lower() in right.premise.lower()
        assert wrong.hypothesis.rstrip(".").lower() not in wrong.premise.lower()


def test_swaps_use_a_fact_of_the_document_and_are_not_said_there() -> None:
    (right, wrong) = swapped(DOCUMENT, "Rollo led the Norse until 927.", random.Random(0))
    assert (right.hypothesis, right.label) == ("Rollo led the Norse until 927.", "entailment")
    assert wrong.label == "unsupported"
    assert wrong.hypothesis not in DOCUMENT
    assert list(swapped("It rains.", "It rains.", random.Random(0))) == []


def test_shorter_and_longer_claims() -> None:
    rng = random.Random(0)
    assert (
        shortened("The river (a long one) flows through the old town.", rng) == "The river flows through the old town."
    )
    assert shortened("The river flows.", rng) is None
    assert fused("It rains.", "The sun is gone.") == "It rains, and the sun is gone."


def test_windows_hold_their_sentence() -> None:
    parts = [f"Sentence number {i} stands here." for i in range(9)]
    assert all(parts[at] in window(parts, at, random.Random(at)) for at in range(9))


def test_what_is_kept_apart_is_a_part() -> None:
    apart = sum(is_kept_apart(f"page {i}", 2) for i in range(1000))
    assert 400 < apart < 600


def test_words_that_differ_from_a_right_claim_are_not_supported() -> None:
    rows: list[dict[str, Any]] = [
        {"premise": "p", "hypothesis": "The pool opens at 9 am.", "label": "entailment", "from": "rule:supported"},
        {"premise": "p", "hypothesis": "The pool opens at 5 pm.", "label": "contradiction", "from": "rule:date"},
        {"premise": "p", "hypothesis": "Nobody ever swims here.", "label": "neutral", "from": "rule:absent"},
        {"premise": "q", "hypothesis": "The pool opens at 5 pm.", "label": "contradiction", "from": "rule:date"},
        {"premise": "p", "hypothesis": "The pool opens at 5 pm.", "label": "contradiction", "from": "mnli"},
    ]
    mark_pairs(rows)
    wrong = rows[1]["hypothesis"]
    assert rows[0]["words"] == []
    assert [wrong[start:end] for start, end in rows[1]["words"]] == ["5", "pm."]
    assert not any("words" in row for row in rows[2:]), "no right claim is like it, or its source is another"


def test_labels_of_people_are_found_in_the_text() -> None:
    text = "It was built in 1920 (by Kay)."
    tokens = ["It", "was", "built", "in", "1920", "(", "by", "Kay", ")", "."]
    spans = labelled_words(tokens, [False] * 4 + [True] + [False] * 2 + [True, False, False], text)
    assert spans is not None
    assert [text[start:end] for start, end in spans] == ["1920", "Kay"]
    assert labelled_words(["That"], [True], text) is None


def test_chat_is_supported_only_where_nothing_is_added_to_the_claim() -> None:
    claims = [
        Pair(f"Premise {i}.", f"The river number {i} flows through town {i}.", "entailment", "rule") for i in range(50)
    ]
    pairs = list(chat_pairs(claims, random.Random(0), 400))
    assert {pair.label for pair in pairs} == {"entailment", "unsupported", "neutral"}
    for pair in pairs:
        number = pair.premise.removeprefix("Premise ").removesuffix(".")
        own = [line for line in (*OWN, *OWN_BEFORE) if line in pair.hypothesis]
        told = re.findall(r"river number (\d+) flows", pair.hypothesis)
        asked = pair.hypothesis.endswith("?") and not pair.hypothesis.startswith("Did you know that ")
        asked = asked or pair.hypothesis.startswith("I wonder whether ")
        assert (pair.label == "entailment") == (told == [number] and not own and not asked), pair
        assert (pair.label == "neutral") == (asked or not told), pair


def test_chat_keeps_the_words_of_the_claim() -> None:
    claim = Pair("A text.", "Rollo led the Norse until 927.", "entailment", "rule")
    for pair in chat_pairs([claim], random.Random(1), 60):
        if pair.label == "entailment":
            around = pair.hypothesis.replace("Rollo led the Norse until 927", "|").split("|")
            assert len(around) == 2
            assert around[0] in BEFORE
            assert around[1] in (".", "?")
