"""Questions and courtesies: what claims nothing has no part in a response's value."""

from __future__ import annotations

import pytest

from troth.core.records import Grounded
from troth.grounding.doubts import doubted_words
from troth.grounding.entailment import SentenceEntailment
from troth.grounding.faith import make_faith
from troth.models.fake import FakeNli
from troth.models.protocols import Entailment
from troth.serve.faithfulness import find_sentences
from troth.text.courtesies import claims_nothing

DOCUMENT = "The premium plan has 50 seats. It costs 20 dollars a month."


@pytest.mark.parametrize("sentence", [
    "Would you like me to book it?", "Is there anything else I can help you with?", "Do you know when it won?",
    "what is it about ?", "And what about it?", "Hi, do you watch football?", "Do you know that?", "Okay.", "Ha!",
    "You are welcome!", "Thank you for asking.", "Have a great day!", "Yes I do .", "I agree.", "That’s great!", "…",
    "Let me know if you need anything else.", "Feel free to ask.", "If you have any other questions, let me know!",
    "Don't hesitate to reach out.", "Glad I could help!", "I'm sorry to hear that.", "Enjoy your stay!", "No kidding.",
    "I'm here to help.", "Need anything else?", "Want me to book it?", "For how many people?", "How about you?",
    "At what time would you like to go?", "Anything else?", "Have you heard of it?", "Do you know about them?",
    "Which one do you prefer?", "Is the price okay for you?", "Who is he?", "Sure, what time works for you?",
    "Here is what I found:", "According to the document:", "Would you like to hear more?", "Below are the steps:",
    "I could not find this in the documents.", "Sorry, the document does not say anything about refunds.",
])  # fmt: skip
def test_questions_and_courtesies_claim_nothing(sentence: str) -> None:
    assert claims_nothing(sentence)


@pytest.mark.parametrize("sentence", [
    "Did you know that it won in 1998?", "Do you know that Paris is the capital?", "It costs 50 dollars, okay?",
    "Yes, it has 5 seats, would you like one?", "The plan costs a lot, do you want it?", "It is not true.",
    "Sure, 50 seats.", "No, it closes at 5.", "The plan is great.", "You can reset passwords.", "That's Lisbon.",
    "Ja, es hat 50 Sitze?", "50.", "Didn't you know that it closed?", "Did you hear that it closed?", "Can't you go?",
    "Have you heard that Kay built it?", "Are you aware that it closed?", "Isn't it amazing that it closed?",
    "Can you believe it sold millions of copies?", "Wasn't it founded by Kay?", "Will Smith was born there, right?",
    "Any plan includes seats for all, okay?", "When you upgrade, you get more seats, okay?",
    "How about the Ritz, it has a pool?", "Did you know about many people died there?", "It's this evening.",
    "You can go at any time.", "You can't have any.", "No, you can't.", "It is very bad for you.", "It's at night.",
    "Do you know any member can leave?", "Is it true that it closed?", "Enjoy your stay in the tower of Lisbon.",
    "Thank you for your order from Lisbon.", "I love the Ritz.",
    "Here is the price: 50 euros.", "The premium plan has seats:", "Here is Berlin: it is big.",
    "I can't find my way.",
])  # fmt: skip
def test_in_doubt_a_sentence_claims_something(sentence: str) -> None:
    assert not claims_nothing(sentence)


def test_a_text_that_repeats_courtesies_is_decided() -> None:
    for phrase in ("don't hesitate to ", "feel free to ask ", "let me know if you need "):
        assert not claims_nothing(phrase * 60 + "z " * 20)  # never decided by patterns alone


def test_a_fact_of_a_question_is_not_out_of_place() -> None:
    document, question = (
        "The premium plan has 50 seats. The free plan has five seats.",
        "Does the premium plan have five seats?",
    )
    assert not any(word.unsupported for word in doubted_words(document, question))
    told = f"The free plan has five seats. {question}"
    assert "out of place" not in " ".join(make_faith(FakeNli(rule)).explain(Grounded("x", document, told)))


def test_their_words_are_never_unsupported() -> None:
    words = doubted_words(DOCUMENT, "The premium plan has 80 seats. Would you like another venue?")
    assert [word.text for word in words if word.unsupported] == ["80"]


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
    assert SentenceEntailment(FakeNli(rule)).explain(item)[0] == "no claim: Sure!"
