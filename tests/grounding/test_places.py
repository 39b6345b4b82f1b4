"""Facts that stand where the document has others."""

from __future__ import annotations

import pytest

from tests.limits import processor_limit
from troth.grounding.doubts import doubted_words
from troth.grounding.places import MISPLACED, rate_places

PLANS = "The premium plan has 50 seats. The free plan has 5 seats. Support answers within two days."
PEOPLE = "Ada Lovelace wrote to Charles Babbage in 1842. Babbage was born in London, Lovelace's mother in Durham."


@pytest.mark.parametrize(
    ("document", "right", "wrong", "text", "other"),
    [
        (PLANS, "The free plan has 5 seats.", "The free plan has 50 seats.", "50", "5"),
        (PLANS, "The premium plan has 50 seats.", "The premium plan has 5 seats.", "5", "50"),
        (PEOPLE, "Babbage was born in London.", "Babbage was born in Durham.", "Durham", "London"),
    ],
)
def test_a_fact_in_the_place_of_another_fits_less(document: str, right: str, wrong: str, text: str, other: str) -> None:
    assert all(fact.fit >= 0 for fact in rate_places(document, right))
    worst = min(rate_places(document, wrong), key=lambda fact: fact.fit)
    assert (worst.text, worst.other) == (text, other)
    assert wrong[worst.start : worst.end] == text
    assert worst.fit < MISPLACED
    marked = [word.text.strip(".") for word in doubted_words(document, wrong) if word.unsupported]
    assert marked == [text]
    assert not any(word.unsupported for word in doubted_words(document, right))


def test_roles_exchanged_fit_less() -> None:
    right, wrong = ("Ada Lovelace wrote to Charles Babbage.", "Charles Babbage wrote to Ada Lovelace.")
    assert min(one.fit for one in rate_places(PEOPLE, wrong)) < min(one.fit for one in rate_places(PEOPLE, right))


def test_facts_without_a_rival_or_that_the_document_lacks_say_nothing() -> None:
    assert rate_places("The plan has 50 seats.", "The plan has 50 seats.") == []
    assert rate_places(PLANS, "The plan has 70 seats.") == []
    assert rate_places("", "The plan has 50 seats.") == rate_places(PLANS, "") == []
    assert rate_places("Rooms: 5 days, 50 seats.", "5 days.") == []  # of another kind: no rival


def test_names_that_share_a_word_are_two_names() -> None:
    document = "John Smith built the tower in Rome. John Adams painted the church in Rome."
    (worst, *_) = sorted(rate_places(document, "John Adams built the tower."), key=lambda fact: fact.fit)
    assert (worst.text, worst.other) == ("John Adams", "John Smith")
    assert worst.fit < MISPLACED


def test_a_year_is_no_rival_of_a_weekday() -> None:
    document = "The shop opened on Monday in March 2019 and closed in 2021."
    others = [one.other for one in rate_places(document, "The shop closed in 2021, and opened in March 2019.")]
    assert "Monday" not in others


def test_the_document_itself_fits() -> None:
    for document in (PLANS, PEOPLE):
        assert not any(word.unsupported for word in doubted_words(document, document))


def test_a_table_of_numbers_takes_bounded_time() -> None:
    document = " ".join(f"row {number} has {number * 7} units" for number in range(20_000))
    claim = " ".join(str(number) for number in range(5_000))
    with processor_limit():  # 0.4 seconds; without limits of the search, many minutes
        assert 0 < len(rate_places(document, claim)) <= 40
