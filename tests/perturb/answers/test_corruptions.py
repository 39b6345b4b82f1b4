"""Minimal corruptions of answers: what each kind changes, and what it leaves alone."""

from __future__ import annotations

import pytest

from troth.core.errors import UserError
from troth.perturb.answers import KINDS, Corruption, corruptions

PLANS = (
    "The premium plan has 50 seats and costs $20 a month. The free plan has 5 seats. "
    "It was launched in 2016, the other in 2011."
)


def texts(document: str, answer: str, kind: str, each: int = 20) -> set[str]:
    return {one.text for one in corruptions(document, answer, kinds=kind, each=each)}


@pytest.mark.parametrize(
    ("kind", "document", "answer", "expected"),
    [
        ("number", PLANS, "The free plan has 5 seats.", {"The free plan has 50 seats."}),
        ("number", PLANS, "The free plan has five seats.", set()),  # digits do not take the place of words
        ("date", PLANS, "The plan was launched in 2016.", {"The plan was launched in 2011."}),
        ("date", "It opens at 9 am, 10 am and 5 pm.", "It opens at 9 am.", set()),  # all are true of it
        ("date", "The pool opens at 9 am and closes at 17:30.", "It opens at 9 am, the pool.",
         {"It opens at 17:30, the pool."}),
        ("number", "Only part 2 of the 7 films was shown to 3 critics.", "Only part 2 of the films was shown.", set()),
        ("name", "Alice Binney met Edwin Smith in Easton, and later Harold Jones there.",
         "In Easton it was Edwin Smith that Alice Binney met.",
         {"In Easton it was Harold Jones that Alice Binney met.",
          "In Easton it was Edwin Smith that Harold Jones met."}),
        ("unit", "The walk takes 90 minutes.", "The walk takes 90 minutes.",
         {"The walk takes 90 hours.", "The walk takes 90 seconds."}),
        ("unit", "The ticket costs $20.", "The ticket costs $20.", {"The ticket costs €20."}),
        ("roles", "In 1950 Alice Binney defeated Edwin Smith.", "It was 1950 when Alice Binney defeated Edwin Smith.",
         {"It was 1950 when Edwin Smith defeated Alice Binney."}),
        ("roles", "Dogs are usually larger than cats.", "Dogs are larger than cats.", {"Cats are larger than dogs."}),
        ("roles", "Alice Binney and Edwin Smith won.", "Yes, Alice Binney and Edwin Smith won.", set()),
        ("negation", "Admins cannot reset passwords.", "Admins cannot reset passwords.",
         {"Admins can reset passwords."}),
        ("negation", "The museum contains crayons.", "The museum contains crayons.",
         {"The museum does not contain crayons."}),
        ("negation", "Crayons are made of wax.", "Crayons are made of wax.", {"Crayons are not made of wax."}),
        ("negation", "Crayons are made of wax.", "Are crayons made of wax?", set()),
        ("quantifier", "All crayons contain wax.", "All crayons contain wax.", {"No crayons contain wax."}),
        ("quantifier", "At least 40 people came.", "At least 40 people came.",
         {"At most 40 people came.", "Fewer than 40 people came."}),
        ("relation", "Sales increased in spring.", "Sales increased that year.",
         {"Sales decreased that year.", "Sales reduced that year."}),
        ("condition", "Students may swim if they pay.", "Students may swim if they pay.",
         {"Students may swim.", "Students will swim if they pay."}),
        ("condition", "Swimming is free when it rains.", "Swimming is free when it rains.", set()),
    ],
)  # fmt: skip
def test_a_kind_changes_what_it_says(kind: str, document: str, answer: str, expected: set[str]) -> None:
    assert texts(document, answer, kind) == expected


def test_a_new_number_is_neither_in_the_answer_nor_in_the_document() -> None:
    made = texts(PLANS, "The premium plan has 50 seats.", "new_number")
    assert made
    assert all(" 50 seats" not in text and " 5 seats" not in text and "20" not in text.split() for text in made)


def test_an_addition_comes_before_the_full_stop() -> None:
    (made,) = corruptions("Crayola makes crayons in Easton.", "Yes, Crayola makes crayons there.", kinds="addition")
    assert made.text.startswith("Yes, Crayola makes crayons there,")
    assert made.text.endswith(".")


def changed(one: Corruption, answer: str) -> str:
    """The answer with the changes of a corruption, by their places alone."""
    text, at = "", 0
    for change in one.changes:
        text += answer[at : change.start] + one.text[change.new_start : change.new_end]
        at = change.end
    return text + answer[at:]


ANSWER = "The premium plan has 50 seats and was launched in 2016. It is not free."


def test_changes_lead_from_the_answer_to_the_corrupted_answer() -> None:
    made = corruptions(PLANS, ANSWER, each=3)
    assert {one.kind for one in made} >= {"date", "negation", "new_number", "addition"}
    for one in made:
        assert changed(one, ANSWER) == one.text != ANSWER


def test_the_seed_decides_and_other_answers_do_not() -> None:
    first = corruptions(PLANS, ANSWER, seed=1, id="a")
    assert first == corruptions(PLANS, ANSWER, seed=1, id="a")
    assert any(first != corruptions(PLANS, ANSWER, seed=seed, id="a") for seed in range(2, 8))
    alone = corruptions(PLANS, ANSWER, kinds="negation", seed=1, id="a")
    assert alone == [one for one in first if one.kind == "negation"]


def test_small_talk_and_empty_texts_have_no_corruption() -> None:
    assert corruptions(PLANS, "That is really great to hear!") == []
    assert corruptions("", "") == []
    assert corruptions(PLANS, "") == []


def test_wrong_use() -> None:
    with pytest.raises(UserError, match="no corruption of answers is called 'nmae'"):
        corruptions(PLANS, ANSWER, kinds="nmae")
    with pytest.raises(UserError, match="must be 1 or more"):
        corruptions(PLANS, ANSWER, each=0)


def test_every_kind_says_what_it_changes() -> None:
    for name in KINDS:
        assert KINDS.load(name).name == name
        assert KINDS.load(name).about
