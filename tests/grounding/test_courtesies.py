"""Questions and courtesies: what claims nothing has no part in a response's value."""

from __future__ import annotations

import pytest

from troth.core.records import Grounded
from troth.grounding.courtesies import claims_nothing
from troth.grounding.entailment import SentenceEntailment
from troth.grounding.faith import make_faith
from troth.models.fake import FakeNli
from troth.models.protocols import Entailment
from troth.serve.faithfulness import find_sentences

DOCUMENT = "The premium plan has 50 seats. It costs 20 dollars a month."


@pytest.mark.parametrize("sentence", [
    "Would you like me to book it?", "Is there anything else I can help you with?", "Do you know when it won?",
    "what is it about ?", "And what about the price?", "Hi, do you watch football?", "Do you know that?", "Okay.",
    "You are welcome!", "Thank you for asking.", "Have a great day!", "Yes I do .", "I agree.", "That’s great!", "…",
])  # fmt: skip
def test_questions_and_courtesies_claim_nothing(sentence: str) -> None:
    assert claims_nothing(sentence)


@pytest.mark.parametrize("sentence", [
    "Did you know that it won in 1998?", "Do you know that Paris is the capital?", "It costs 50 dollars, okay?",
    "Yes, it has 5 seats, would you like one?", "The plan costs 50 dollars, do you want it?", "It is not true.",
    "Sure, 50 seats.", "No, it closes at 5.", "The plan is great.", "You can reset passwords.", "That's Lisbon.",
    "Ja, es hat 50 Sitze?", "50.", "Great news for all of you and me, it is really so very very good.",
])  # fmt: skip
def test_in_doubt_a_sentence_claims_something(sentence: str) -> None:
    assert not claims_nothing(sentence)


def rule(premise: str, hypothesis: str) -> Entailment:
    sure = 0.9 if hypothesis in premise else 0.05
    return Entailment(sure, 0.95 - sure, 0.05)


def test_they_have_no_part_in_the_value_of_a_response_that_claims_something() -> None:
    claim = "The premium plan has 50 seats."
    bare, polite = (Grounded("x", DOCUMENT, text) for text in (claim, f"Sure! {claim} Would you like to book it?"))
    for grader in (SentenceEntailment(FakeNli(rule)), make_faith(FakeNli(rule))):
        assert grader.score([bare]) == grader.score([polite])
    (other,) = SentenceEntailment(FakeNli(rule)).score([Grounded("x", DOCUMENT, "Sure! Would you like to book it?")])
    assert other == 0.05, "alone they count: nothing is claimed, and nothing supported"


def test_they_are_shown_as_no_claim_and_are_no_finding() -> None:
    faith = make_faith(FakeNli(rule))
    item = Grounded("x", DOCUMENT, "Sure! The basic plan has 80 seats. Would you like to book it?")
    claims = faith.claims(item)
    assert [claim.verdict for claim in claims] == ["no claim", claims[1].verdict, "no claim"]
    assert [found.sentence for found in find_sentences(claims, False)] == ["The basic plan has 80 seats."]
    assert faith.explain(item)[0] == "no claim: Sure!"
