"""One notion of a supported word: by every way that the product shows words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.grounding.doubts import doubted_words
from troth.grounding.facts import check_facts
from troth.grounding.words import judge_words, word_by_word
from troth.models.fake import FakeLm
from troth.storage.explorer import ResponseView

RETURNS = "Items can be returned within 30 days. They must be unopened. A return costs 14.90 EUR. We close at 17:00."
WRONG = "Items can also be opened and returned within 60 days. A return costs 19.90 EUR."


def unsupported(document: str, response: str) -> list[str]:
    return [word.text for word in judge_words(document, response) if word.support == "unsupported"]


def test_wrong_facts_are_unsupported() -> None:
    assert {"opened", "60", "19.90"} <= set(unsupported(RETURNS, WRONG))
    assert unsupported(RETURNS, RETURNS) == []


@pytest.mark.parametrize(
    ("document", "response", "expected"),
    [
        ("We close at 17:00.", "We close at 5 pm.", []),  # the same fact in another form
        ("It takes two weeks.", "It takes 2 weeks.", []),
        ("Pay within 30 days.", "Pay within 60 days.", ["60"]),  # of "60 days", the number
        ("She lives in New York.", "She lives in New York City.", ["City."]),  # of a name, what is not there
    ],
)
def test_facts_decide_about_their_words(document: str, response: str, expected: list[str]) -> None:
    assert unsupported(document, response) == expected


def test_words_agree_with_the_facts() -> None:
    """No fact that is found has an unsupported word, and no number that is not found has only supported ones."""
    response = f"{WRONG} We close at 5 pm. You have 30 days."
    words = doubted_words(RETURNS, response)
    for fact in check_facts(RETURNS, response):
        own = [word.unsupported for word in words if word.start < fact.end and fact.start < word.end]
        assert any(own) is not fact.found, fact


@given(st.text(max_size=60), st.text(max_size=60))
def test_words_of_any_text_are_all_there(document: str, response: str) -> None:
    words = doubted_words(document, response)
    assert len(words) == len(response.split())
    assert all(0 <= word.doubt <= 1 for word in words)
    (row,) = word_by_word([ResponseView("s", "a", document, response)], FakeLm())
    assert len(row.words) == (len(words) if document.strip() else 0)
