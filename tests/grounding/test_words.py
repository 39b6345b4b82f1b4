"""One notion of a supported word: by every way that the product shows words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import troth
from troth.core.records import Grounded
from troth.grounding.doubts import doubted_words
from troth.grounding.facts import check_facts
from troth.grounding.words import judge_words, word_by_word
from troth.models.fake import FakeLm
from troth.report.page.grounding import mark_unsupported
from troth.storage.explorer import ClaimSupport, ResponseView

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


# -- with what the model says of words ---------------------------------------------------------------------------------


def claim(sentence: str, *doubts: float) -> ClaimSupport:
    return ClaimSupport(sentence, "supported", 0.9, 0.05, 0.05, "", doubts=doubts)


def test_the_model_s_doubt_has_its_share() -> None:
    document = "The hall was built of stone. It opens daily."
    response = "The hall was built of wood. It opens daily."
    by_rules = {word.text: word.doubt for word in doubted_words(document, response)}
    told = (claim("The hall was built of wood.", 0, 0, 0, 0, 0, 0.1), claim("It opens daily.", 0, 0.7, 0))
    words = {word.text: word for word in doubted_words(document, response, told)}
    assert words["wood."].doubt == pytest.approx(0.3 * by_rules["wood."] + 0.7 * 0.1)
    assert words["opens"].doubt == pytest.approx(0.3 * by_rules["opens"] + 0.7 * 0.7)
    assert [word.text for word in words.values() if word.unsupported] == []


def test_numbers_that_are_not_there_are_marked_whatever_the_model_says() -> None:
    document = "The premium plan has 50 seats. It costs $20 a month."
    sentence = "The premium plan has 80 seats."
    words = doubted_words(document, sentence, [claim(sentence, 0, 0, 0, 0, 0, 0)])
    assert [word.text for word in words if word.unsupported] == ["80"]


def test_another_number_of_words_is_not_used() -> None:
    document, response = "The hall was built of stone.", "The hall was built of wood."
    assert doubted_words(document, response, [claim(response, 1, 1)]) == doubted_words(document, response)


def test_the_page_and_the_service_have_the_words_of_faith() -> None:
    pytest.importorskip("onnxruntime")
    item = Grounded(
        "1", "The museum was opened in 1987 by Anna Lind.", "The museum was opened in 1987 by Peter Brandt."
    )
    result = troth.ground(responses=[item], metrics="faith", cache=None)
    (view,) = result.explorer().responses
    assert len(view.claims[0].doubts) == len(item.response.split())
    (row,) = word_by_word([view])
    marked = [word.text for word in row.words if word.support == "unsupported"]
    assert "Peter" in marked
    assert [piece.text for piece in mark_unsupported(view) if piece.mark == "!"] == marked
